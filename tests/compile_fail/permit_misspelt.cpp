// expect: gangsched: the plugin lists point::permit but has no hook for it \(misspelt\?\); expected: permit_verdict permit\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::permit>;
  permit_verdict premit(const reservation&, permit_room&) { return {}; }
};

profile made{priority_sort{}, mine{}};
