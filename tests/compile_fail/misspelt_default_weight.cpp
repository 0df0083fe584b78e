// expect: gangsched: the plugin has .defaultWeight., which (nothing calls|nobody reads): is .default_weight. meant\?
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::score>;
  static constexpr std::int64_t defaultWeight = 3;
  std::int64_t score(const pod_view&, node_view<reads::labels>) const { return 0; }
};

inline const profile made{priority_sort{}, mine{}};
