// expect: gangsched: the plugin lists point::pre_enqueue but has no hook for it \(misspelt\?\); expected: status pre_enqueue\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::pre_enqueue>;
  status preenqueue(const pod_info&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
