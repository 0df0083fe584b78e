// expect: gangsched: the hook for point::requeue has the wrong type; expected: hint requeue\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::requeue>;
  hint requeue(const event&, const pod_info&, int) const { return hint::skip; }
};

profile made{priority_sort{}, mine{}};
