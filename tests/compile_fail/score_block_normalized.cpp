// expect: score_block.* and is not normalised
#include "gangsched/framework/profile.hpp"

// Blocks are rated before it is known who else is a candidate.
struct relative {
  static constexpr std::string_view name = "Relative";
  using points = gangsched::implements<gangsched::point::score>;
  [[nodiscard]] std::int64_t score(const gangsched::pod_view&, gangsched::node_view<gangsched::reads::usage>) const {
    return 0;
  }
  void normalize_score(const gangsched::pod_view&, std::span<gangsched::scored_group>) const {}
  [[nodiscard]] bool score_block(const gangsched::pod_view&, gangsched::scored_block&) const { return false; }
};
static_assert(gangsched::detail::keeps_contract<relative>());
