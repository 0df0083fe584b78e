// expect: gangsched: the plugin lists point::group_preempt but has no hook for it \(misspelt\?\); expected: victim_plan group_preempt\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::group_preempt>;
  victim_plan group_preemption(trial&, const group_view&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
