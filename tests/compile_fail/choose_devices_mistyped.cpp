// expect: gangsched: the hook for point::choose_devices has the wrong type; expected: device_rules choose_devices\b
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::choose_devices>;
  device_rules choose_devices(node_view<reads::devices>) const { return {}; }  // whose devices, for whom
};

profile made{priority_sort{}, mine{}};
