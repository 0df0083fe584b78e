// expect: filter_bound.* goes with filter_block
#include "gangsched/framework/profile.hpp"

struct bounded {
  static constexpr std::string_view name = "Bounded";
  using points = gangsched::implements<gangsched::point::filter>;
  [[nodiscard]] gangsched::status filter(const gangsched::pod_view&,
                                         gangsched::node_view<gangsched::reads::usage>) const {
    return {};
  }
  [[nodiscard]] gangsched::block_verdict filter_bound(const gangsched::pod_view&,
                                                      const gangsched::amount_block&) const {
    return {};
  }
};
static_assert(gangsched::detail::keeps_contract<bounded>());
