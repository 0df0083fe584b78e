// expect: gangsched: attach has the wrong type; expected: void attach\(column_maker&\)
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
  void attach(column_maker) {}
};

inline const profile made{priority_sort{}, mine{}};
