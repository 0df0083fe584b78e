// expect: gangsched: the plugin lists point::pre_bind but has no hook for it \(misspelt\?\); expected: status pre_bind\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::pre_bind>;
  status prebind(const reservation&, decision&) { return {}; }
};

profile made{priority_sort{}, mine{}};
