// expect: gangsched: the plugin lists point::placement_feasible but has no hook for it .*; expected: status placement_feasible\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::placement_feasible>;
  status placement_feasable(const group_view&, const group_progress&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
