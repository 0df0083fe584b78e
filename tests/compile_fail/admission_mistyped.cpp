// expect: gangsched: the hook for point::admission has the wrong type; expected: status admit\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::admission>;
  status admit(const pod_info&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
