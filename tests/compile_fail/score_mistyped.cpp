// expect: gangsched: the hook for point::score has the wrong type; expected: std::int64_t score\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::score>;
  double score(const pod_view&, node_view<reads::usage>) const { return 0; }
};

profile made{priority_sort{}, mine{}};
