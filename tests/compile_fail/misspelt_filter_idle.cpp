// expect: gangsched: the plugin has .idle_filter., which (nothing calls|nobody reads): is .filter_idle. meant\?
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
  bool idle_filter(const pod_view&) const { return false; }
};

inline const profile made{priority_sort{}, mine{}};
