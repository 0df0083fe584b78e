// expect: gangsched: bool filter_label_keys\(pod, std::vector<symbol>&\) const goes with a filter
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
  void filter_label_keys(const pod_view&, std::vector<symbol>&) const {}
};

inline const profile made{priority_sort{}, mine{}};
