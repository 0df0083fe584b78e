// expect: gangsched: the plugin lists point::requeue but has no hook for it \(misspelt\?\); expected: hint requeue\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::requeue>;
  hint re_queue(const event&, const pod_view&) const { return hint::skip; }
};

profile made{priority_sort{}, mine{}};
