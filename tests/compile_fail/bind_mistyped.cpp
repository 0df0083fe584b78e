// expect: gangsched: the hook for point::bind has the wrong type; expected: status bind\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::bind>;
  bool bind(const reservation&, decision&) { return true; }
};

profile made{priority_sort{}, mine{}};
