// expect: gangsched: the hook for point::pre_enqueue has the wrong type; expected: status pre_enqueue\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::pre_enqueue>;
  bool pre_enqueue(const pod_info&) const { return true; }
};

profile made{priority_sort{}, mine{}};
