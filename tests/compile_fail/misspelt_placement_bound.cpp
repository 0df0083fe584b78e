// expect: gangsched: the plugin has .placement_bounds., which (nothing calls|nobody reads): is .placement_bound. meant\?
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::score_placement>;
  std::int64_t score_placement(const group_view&, const placement_view&, std::span<const assignment>) const {
    return 0;
  }
  std::int64_t placement_bounds(const placement_view&, const placement_demand&) const { return 100; }
};

inline const profile made{priority_sort{}, mine{}};
