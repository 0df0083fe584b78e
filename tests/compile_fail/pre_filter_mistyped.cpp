// expect: gangsched: the hook for point::pre_filter has the wrong type; expected: status pre_filter\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::pre_filter>;
  status pre_filter(const pod_info&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
