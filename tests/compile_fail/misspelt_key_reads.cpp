// expect: gangsched: the plugin has .filter_reads., which (nothing calls|nobody reads): is .filter_key_reads. meant\?
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  std::int64_t filter_key(const pod_view&, node_view<reads::labels>) const { return 0; }
  void filter_reads(const pod_view&, key_reads&) const {}
  void finish_filter(const pod_view&, std::span<filtered_group>) const {}
};

inline const profile made{priority_sort{}, mine{}};
