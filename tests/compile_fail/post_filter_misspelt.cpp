// expect: gangsched: the plugin lists point::post_filter but has no hook for it \(misspelt\?\); expected: victim_plan post_filter\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::post_filter>;
  victim_plan postfilter(trial&, const pod_info&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
