// expect: gangsched: the hook for point::group_preempt has the wrong type; expected: victim_plan group_preempt\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::group_preempt>;
  status group_preempt(trial&, const group_view&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
