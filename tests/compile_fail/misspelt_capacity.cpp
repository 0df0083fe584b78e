// expect: gangsched: the plugin has .capcity., which (nothing calls|nobody reads): is .capacity. meant\?
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
  std::int64_t capcity(const pod_view&, node_view<reads::labels>) const { return 1; }
};

inline const profile made{priority_sort{}, mine{}};
