// expect: gangsched: the plugin has .removePod., which (nothing calls|nobody reads): is .remove_pod. meant\?
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::pre_filter>;
  struct cycle_data {};
  status pre_filter(const pod_info&, const cluster_view&, cycle_data&) const { return {}; }
  status removePod(const pod_info&, cycle_data&, const pod_info&, const node_info&) const { return {}; }
};

inline const profile made{priority_sort{}, mine{}};
