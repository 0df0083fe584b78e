// expect: gangsched: a plugin needs `static constexpr std::string_view name`
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  using points = implements<point::filter>;
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
};

profile made{priority_sort{}, mine{}};
