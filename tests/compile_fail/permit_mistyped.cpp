// expect: gangsched: the hook for point::permit has the wrong type; expected: permit_verdict permit\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::permit>;
  status permit(const reservation&, permit_room&) { return {}; }
};

profile made{priority_sort{}, mine{}};
