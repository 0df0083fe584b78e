#pragma once
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Koordinator's ScarceResourceAvoidance: pods that need no GPU stay off GPU nodes. With D the resource types
/// that the node has and the pod does not request, and I those of them that are scarce: score = 100·(|D| − |I|)/|D|; 100 if D or I is
/// empty. Pod slots are no resource type.
class scarce_resource_avoidance {
 public:
  static constexpr std::string_view name = "ScarceResourceAvoidance";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::score>;

  scarce_resource_avoidance() = default;
  /// With the names of the scarce resources.
  explicit scarce_resource_avoidance(std::vector<std::string> scarce) : scarce_(std::move(scarce)) {}
  /// Arguments: Koordinator's ScarceResourceAvoidanceArgs, `resources: [<name>, …]`.
  [[nodiscard]] GANGSCHED_API static result<scarce_resource_avoidance> from(const argument& args);

  [[nodiscard]] std::int64_t score(const pod_view& pod, node_view<reads::allocatable> node) const {
    std::int64_t unused = 0;
    std::int64_t scarce = 0;
    for (resource_kind kind = 0; kind < node.kind_count(); ++kind) {
      if (kind == kinds::pods || node.allocatable(kind) <= 0 || pod.request(kind) > 0) continue;
      ++unused;
      scarce += is_scarce(pod.kind_name(kind));
    }
    return scarce == 0 ? max_node_score : (unused - scarce) * max_node_score / unused;
  }

 private:
  [[nodiscard]] bool is_scarce(std::string_view resource) const {
    for (const std::string& one : scarce_)
      if (one == resource) return true;
    return false;
  }
  std::vector<std::string> scarce_;
};

static_assert(score_plugin<scarce_resource_avoidance>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/scarce_resource_avoidance.cpp"
#endif
