// expect: gangsched: the plugin lists point::choose_devices but has no hook for it \(misspelt\?\); expected: device_rules choose_devices\b
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::choose_devices>;
  device_rules choose_device(const pod_view&, node_view<reads::devices>) const { return {}; }
};

profile made{priority_sort{}, mine{}};
