// expect: gangsched: the plugin lists point::score_placement but has no hook for it .*; expected: std::int64_t score_placement\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::score_placement>;
  std::int64_t placement_score(const group_view&, const placement_view&, std::span<const assignment>) const {
    return 0;
  }
};

profile made{priority_sort{}, mine{}};
