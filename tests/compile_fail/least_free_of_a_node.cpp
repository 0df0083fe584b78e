// expect: least_free\(const pod_view&, \[const data&\]\) const
#include "gangsched/framework/profile.hpp"

#include <vector>

// What is known of a class must not depend on a node.
struct roomy {
  static constexpr std::string_view name = "Roomy";
  using points = gangsched::implements<gangsched::point::filter>;
  [[nodiscard]] gangsched::status filter(const gangsched::pod_view&,
                                         gangsched::node_view<gangsched::reads::usage>) const {
    return {};
  }
  [[nodiscard]] std::vector<gangsched::amount> least_free(const gangsched::pod_view&,
                                                          gangsched::node_view<gangsched::reads::usage>) const {
    return {};
  }
};
static_assert(gangsched::detail::keeps_contract<roomy>());
