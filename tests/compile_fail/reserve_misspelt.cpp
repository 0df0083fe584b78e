// expect: gangsched: the plugin lists point::reserve but has no hook for it \(misspelt\?\); expected: status reserve\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::reserve>;
  status resreve(const reservation&) { return {}; }
};

profile made{priority_sort{}, mine{}};
