// expect: gangsched: the plugin lists point::queue_order but has no hook for it \(misspelt\?\); expected: std::int64_t queue_of\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::queue_order>;
  std::int64_t queue_for(const pod_info&) const { return 0; }
  bool queue_less(const queue_head&, const queue_head&, const cluster_view&) const { return false; }
};

profile made{priority_sort{}, mine{}};
