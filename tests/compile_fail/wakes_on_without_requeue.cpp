// expect: gangsched: the plugin has .wakes_on., which nobody reads without a hook for point::requeue
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  static constexpr events wakes_on = events::node_labels;
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
};

inline const profile made{priority_sort{}, mine{}};
