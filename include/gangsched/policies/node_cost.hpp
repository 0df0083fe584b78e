#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>

#include "gangsched/framework/disruption.hpp"
#include "gangsched/framework/views.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The keys by which nodes are compared for preemption, most significant first; lower is better (kube-scheduler:
/// pkg/scheduler/framework/preemption).
struct node_cost {
  /// Added to every priority in a sum, so that fewer victims are better even if their priorities are negative.
  static constexpr std::int64_t priority_offset = std::int64_t{1} << 31;

  std::int64_t violations = 0;
  std::int64_t highest = 0;  ///< priority of the most important victim
  std::int64_t sum = 0;      ///< of priority + priority_offset
  std::int64_t victims = 0;
  std::int64_t late = 0;  ///< minus the earliest start among the victims of highest priority
  friend auto operator<=>(const node_cost&, const node_cost&) = default;
};

/// Of these victims, at least one, a most important one first. @p priority_of: of a pod. O(victims).
template <class PriorityOf>
[[nodiscard]] node_cost cost_of_victims(const cluster_view& cluster, std::span<const pod_id> victims,
                                        std::int64_t violations, const PriorityOf& priority_of) {
  const pod_info first = *cluster.pod(victims.front());
  instant earliest = victim_start(first);
  const std::int32_t highest = priority_of(first);
  node_cost made{violations, highest, 0, static_cast<std::int64_t>(victims.size()), 0};
  for (const pod_id id : victims) {
    const pod_info victim = *cluster.pod(id);
    made.sum += priority_of(victim) + node_cost::priority_offset;
    if (priority_of(victim) == highest) earliest = std::min(earliest, victim_start(victim));
  }
  made.late = -earliest.count();
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
