// expect: gangsched: a profile has at most one plugin with point::queue_order
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::queue_order>;
  std::int64_t queue_of(const pod_info&) const { return 0; }
  bool queue_before(const queue_head&, const queue_head&, const cluster_view&) const { return false; }
};

profile made{priority_sort{}, mine{}, mine{}};
