#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues {

/// A node on which a search for victims tries removals; the caller implements it. Pods have the numbers that the search was given.
class trial_node {
 public:
  virtual ~trial_node() = default;
  /// The pod leaves the node, or comes back; fits() reflects it from then on.
  virtual void remove(std::uint32_t pod) = 0;
  virtual void put_back(std::uint32_t pod) = 0;
  /// Whether the preemptor fits on the node with the pods there now, and with nominated pods of its priority or a higher one.
  virtual bool fits() = 0;
  /// Whether evicting the pod would violate a disruption budget. Called once for each pod that may be evicted, the most important first:
  /// budgets are used up in that order.
  virtual bool violates_budget(std::uint32_t /*pod*/) { return false; }
};

/// The victims: the pods that could not be put back, after all that may be evicted were removed.
struct victim_list {
  std::vector<std::uint32_t> pods;  ///< in the order in which they were tried
  std::size_t violating =
      0;  ///< how many of them violate a budget, as far as upstream counts: those that did not fit on the node
  bool failed = false;  ///< see put_back
};

/// The order in which pods are put back: first those whose eviction would violate a budget, then the others, in each part the most
/// important first. Calls visit(i) for each i < @p count.
template <class Violates, class Visit>
void in_order_of_put_back(std::size_t count, const Violates& violates, const Visit& visit) {
  for (const bool violating : {true, false})
    for (std::size_t i = 0; i < count; ++i)
      if (violates(i) == violating) visit(i);
}

/// Puts pods back one by one, in the order of in_order_of_put_back, as long as the preemptor fits the node and is not over its quota. A pod
/// that cannot be put back is a victim. If the preemptor is over its quota even without a pod that did not fit, which is possible because
/// of pods that are nominated elsewhere, upstream removes that pod a second time, which is an error there: the search ends, failed.
/// @p trial: a trial_node, and whatever else has to track which pods are there. @p over_quota: whether the preemptor is over its quota now.
/// Source: `reprievePod` of SelectVictimsOnNode, the same in CapacityScheduling and in Koordinator's ElasticQuota.
template <class Trial, class OverQuota>
victim_list put_back(std::span<const std::uint32_t> most_important_first, Trial& trial, OverQuota over_quota) {
  std::vector<char> violates;
  for (const std::uint32_t pod : most_important_first) violates.push_back(trial.violates_budget(pod) ? 1 : 0);
  victim_list made;
  in_order_of_put_back(
      most_important_first.size(), [&](std::size_t i) { return violates[i] != 0; },
      [&](std::size_t i) {
        if (made.failed) return;
        const std::uint32_t pod = most_important_first[i];
        trial.put_back(pod);
        const bool fits = trial.fits();
        if (fits && !over_quota()) return;
        trial.remove(pod);
        made.pods.push_back(pod);
        if (fits) return;
        if (violates[i] != 0) ++made.violating;
        made.failed = over_quota();
      });
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues
