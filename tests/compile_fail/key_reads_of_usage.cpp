// expect: gangsched: void score_key_reads\(const pod_view&, \[const data&,\] key_reads&\) const goes with a score_key
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::score>;
  std::int64_t score_key(const pod_view&, node_view<reads::usage>) const { return 0; }
  void score_key_reads(const pod_view&, key_reads&) const {}
  void finish_score(const pod_view&, std::span<scored_group>) const {}
};

inline const profile made{priority_sort{}, mine{}};
