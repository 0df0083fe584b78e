// expect: gangsched: the hook for point::post_filter has the wrong type; expected: victim_plan post_filter\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::post_filter>;
  status post_filter(trial&, const pod_info&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
