// expect: gangsched: the hook for point::filter has the wrong type; expected: status filter\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  bool filter(const pod_view&, node_view<reads::labels>) const { return true; }
};

profile made{priority_sort{}, mine{}};
