// expect: filter_block.* goes with a filter that takes node_view<reads::allocatable \| reads::usage>
#include "gangsched/framework/profile.hpp"

// A block has amounts and no labels.
struct labelled {
  static constexpr std::string_view name = "Labelled";
  using points = gangsched::implements<gangsched::point::filter>;
  [[nodiscard]] gangsched::status filter(const gangsched::pod_view&,
                                         gangsched::node_view<gangsched::reads::labels>) const {
    return {};
  }
  [[nodiscard]] bool filter_block(const gangsched::pod_view&, gangsched::filtered_block&) const { return false; }
};
static_assert(gangsched::detail::keeps_contract<labelled>());
