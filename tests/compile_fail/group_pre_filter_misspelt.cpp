// expect: gangsched: the plugin lists point::group_pre_filter but has no hook for it \(misspelt\?\); expected: status group_pre_filter\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::group_pre_filter>;
  status group_prefilter(const group_view&) const { return {}; }
};

profile made{priority_sort{}, mine{}};
