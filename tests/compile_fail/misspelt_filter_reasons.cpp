// expect: gangsched: the plugin has .filterReasons., which (nothing calls|nobody reads): is .filter_reasons. meant\?
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
  void filterReasons(const pod_view&, node_view<reads::labels>, std::vector<status>&) const {}
};

inline const profile made{priority_sort{}, mine{}};
