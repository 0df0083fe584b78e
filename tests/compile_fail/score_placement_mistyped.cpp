// expect: gangsched: the hook for point::score_placement has the wrong type; expected: std::int64_t score_placement\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::score_placement>;
  std::int64_t score_placement(const group_view&, const placement_view&) const { return 0; }
};

profile made{priority_sort{}, mine{}};
