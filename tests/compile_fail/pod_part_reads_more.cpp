// expect: add that to the pod_part it takes
#include "gangsched/framework/pod_part.hpp"
#include "gangsched/framework/profile.hpp"

// What is kept for all who tolerate the same must not depend on their images.
struct imaged {
  static constexpr std::string_view name = "Imaged";
  using points = gangsched::implements<gangsched::point::filter>;
  [[nodiscard]] gangsched::status filter(const gangsched::pod_part<gangsched::pod_reads::tolerations>& pod,
                                         gangsched::node_view<gangsched::reads::labels>) const {
    return pod.images().empty() ? gangsched::status{} : gangsched::status::unschedulable("images");
  }
};
static_assert(gangsched::detail::keeps_contract<imaged>());
