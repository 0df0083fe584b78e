// expect: gangsched: the hook for point::filter has the wrong type
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
  void finish_filter(const pod_view&, std::span<filtered_group>) const {}
};

inline const profile made{priority_sort{}, mine{}};
