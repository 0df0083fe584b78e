// expect: gangsched: the plugin lists point::filter but has no hook for it \(misspelt\?\); expected: status filter\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  status fliter(const pod_view&, node_view<reads::labels>) const { return {}; }
};

profile made{priority_sort{}, mine{}};
