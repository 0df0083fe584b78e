// expect: gangsched: bool filter_by_class.const pod_info&. const goes with a finish_filter that takes pod_info
#include <cstdint>
#include <span>

#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::filter>;
  std::int64_t filter_key(const pod_view&, node_view<reads::labels>) const { return 0; }
  void finish_filter(const pod_view&, std::span<filtered_group>) const {}
  bool filter_by_class(const pod_info&) const { return true; }
};

inline const profile made{priority_sort{}, mine{}};
