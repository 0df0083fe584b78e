// expect: gangsched: the plugin lists point::admission but has no hook for it \(misspelt\?\); expected: status admit\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::admission>;
  status admits(const pod_info&, const cluster_view&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
