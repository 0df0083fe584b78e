// expect: reads no more than filter
#include "gangsched/framework/profile.hpp"

// What is kept until usage changes must not depend on labels.
struct roomy {
  static constexpr std::string_view name = "Roomy";
  using points = gangsched::implements<gangsched::point::filter>;
  [[nodiscard]] gangsched::status filter(const gangsched::pod_view&,
                                         gangsched::node_view<gangsched::reads::usage>) const {
    return {};
  }
  [[nodiscard]] std::int64_t capacity(const gangsched::pod_view&,
                                      gangsched::node_view<gangsched::reads::labels> node) const {
    return node.label("big") ? 8 : 2;
  }
};
static_assert(gangsched::detail::keeps_contract<roomy>());
