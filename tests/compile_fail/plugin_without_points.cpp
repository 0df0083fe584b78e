// expect: gangsched: a plugin needs `using points = gangsched::implements<
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
};

profile made{priority_sort{}, mine{}};
