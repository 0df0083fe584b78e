// expect: gangsched: the plugin lists point::score but has no hook for it \(misspelt\?\); expected: std::int64_t score\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::score>;
  std::int64_t socre(const pod_view&, node_view<reads::usage>) const { return 0; }
};

profile made{priority_sort{}, mine{}};
