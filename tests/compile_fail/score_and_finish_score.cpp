// expect: gangsched: the hook for point::score has the wrong type
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::score>;
  std::int64_t score(const pod_view&, node_view<reads::labels>) const { return 0; }
  void finish_score(const pod_view&, std::span<scored_group>) const {}
};

inline const profile made{priority_sort{}, mine{}};
