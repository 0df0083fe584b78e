#pragma once
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Prefers the placement that takes most members of the group (KEP-5732, PodGroupPodsCount).
///
/// 100·n/max over the feasible placements, where n counts the members that have a node, also those that had one before. The gang's
/// minimum does not matter.
class pod_group_pods_count {
 public:
  static constexpr std::string_view name = "PodGroupPodsCount";
  using points = implements<point::score_placement>;
  static constexpr bool ignores_group_identity = true;
  static constexpr bool relative_to_best = true;

  /// O(members).
  [[nodiscard]] std::int64_t score_placement(const group_view& group, const placement_view&,
                                             std::span<const assignment>) const {
    std::int64_t count = 0;
    group.each_pod_below([&](const pod_info& member) { count += member.node() ? 1 : 0; });
    return count;
  }
  [[nodiscard]] std::int64_t placement_bound(const placement_view&, const placement_demand& demand) const {
    return std::int64_t{demand.scheduled} + demand.members;
  }
};

static_assert(score_placement_plugin<pod_group_pods_count>);

}  // namespace gangsched::inline GANGSCHED_ABI
