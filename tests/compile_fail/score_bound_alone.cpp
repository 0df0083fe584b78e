// expect: score_bound.* goes with score_block
#include "gangsched/framework/profile.hpp"

// A bound of what is rated block by block, and no such rating.
struct bounded {
  static constexpr std::string_view name = "Bounded";
  using points = gangsched::implements<gangsched::point::score>;
  [[nodiscard]] std::int64_t score(const gangsched::pod_view&, gangsched::node_view<gangsched::reads::usage>) const {
    return 0;
  }
  [[nodiscard]] double score_bound(const gangsched::pod_view&, const gangsched::amount_block&) const { return 0; }
};
static_assert(gangsched::detail::keeps_contract<bounded>());
