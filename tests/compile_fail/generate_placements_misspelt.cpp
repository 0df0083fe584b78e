// expect: gangsched: the plugin lists point::generate_placements but has no hook for it .*; expected: status generate_placements\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::generate_placements>;
  status generate_placement(const group_view&, const cluster_view&, const placement_sink&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
