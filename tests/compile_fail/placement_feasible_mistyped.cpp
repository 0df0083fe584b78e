// expect: gangsched: the hook for point::placement_feasible has the wrong type; expected: status placement_feasible\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::placement_feasible>;
  bool placement_feasible(const group_view&, const group_progress&) const { return true; }
};

profile made{priority_sort{}, mine{}};
