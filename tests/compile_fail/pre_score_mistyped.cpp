// expect: gangsched: the hook for point::pre_score has the wrong type; expected: status pre_score\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::pre_score>;
  void pre_score(const pod_view&) const {}
};

profile made{priority_sort{}, mine{}};
