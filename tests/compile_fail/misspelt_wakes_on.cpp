// expect: gangsched: the plugin has .wake_on., which (nothing calls|nobody reads): is .wakes_on. meant\?
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::requeue>;
  static constexpr events wake_on = events::anything;
  hint requeue(const event&, const pod_view&) const { return hint::skip; }
};

inline const profile made{priority_sort{}, mine{}};
