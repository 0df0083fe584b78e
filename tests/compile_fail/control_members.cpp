// expect: success
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

// Data, types and private members may have the name of a hook that is not listed.
class mine {
 public:
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  using permit = int;
  enum kinds { post_bind };
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
  int key = 0;
  static constexpr int bind = 0;
  int score = 0, capacity = 0, filter_idle = 0, least_free = 0, normalize_score = 0, attach = 0, add_pod = 0,
      normalise_score = 0;

 private:
  int reserve = 0, pre_bind = 0, unreserve = 0, placement_bound = 0;
  status post_filter() const { return {}; }
};

inline const profile made{priority_sort{}, mine{}};
