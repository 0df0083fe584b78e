// expect: gangsched: the plugin has .relativeToBest., which (nothing calls|nobody reads): is .relative_to_best. meant\?
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::score_placement>;
  static constexpr bool relativeToBest = true;
  std::int64_t score_placement(const group_view&, const placement_view&, std::span<const assignment>) const {
    return 0;
  }
};

inline const profile made{priority_sort{}, mine{}};
