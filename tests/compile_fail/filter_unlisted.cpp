// expect: gangsched: the plugin has a hook for point::filter but does not list that point
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::score>;
  std::int64_t score(const pod_view&, node_view<reads::usage>) const { return 0; }
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
};

profile made{priority_sort{}, mine{}};
