// expect: gangsched: the hook for point::group_pre_filter has the wrong type; expected: status group_pre_filter\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::group_pre_filter>;
  bool group_pre_filter(const group_view&) const { return true; }
};

profile made{priority_sort{}, mine{}};
