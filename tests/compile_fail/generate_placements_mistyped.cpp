// expect: gangsched: the hook for point::generate_placements has the wrong type; expected: status generate_placements\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::generate_placements>;
  status generate_placements(const group_view&, const cluster_view&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
