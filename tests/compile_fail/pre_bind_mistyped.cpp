// expect: gangsched: the hook for point::pre_bind has the wrong type; expected: status pre_bind\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::pre_bind>;
  status pre_bind(const reservation&) { return {}; }
};

profile made{priority_sort{}, mine{}};
