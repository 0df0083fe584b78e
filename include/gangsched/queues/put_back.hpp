#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues {

/// A node that a search for victims tries things on; the caller's. Its pods are numbered as the search was given them.
class trial_node {
 public:
  virtual ~trial_node() = default;
  /// The pod leaves the node, or comes back: what fits() goes by from now on.
  virtual void remove(std::uint32_t pod) = 0;
  virtual void put_back(std::uint32_t pod) = 0;
  /// Whether the preemptor fits on the node with who is there now, and with pods of its priority or a higher one that are nominated to it.
  virtual bool fits() = 0;
  /// Whether evicting the pod would violate a disruption budget. Asked once for each pod that may be evicted, the most important first:
  /// budgets are used up in that order.
  virtual bool violates_budget(std::uint32_t /*pod*/) { return false; }
};

/// Who is left of those that may be evicted, after all of them were removed and as many as possible put back.
struct victim_list {
  std::vector<std::uint32_t> pods;  ///< in the order in which they were tried
  std::size_t violating =
      0;  ///< how many of them violate a budget, as far as upstream counts: those that did not fit on the node
  bool failed = false;  ///< see put_back
};

/// Puts pods back one by one, those that violate budgets first, and otherwise in the order given, as long as the preemptor fits the
/// node and is not over its quota: who is in the way is a victim. If it is over its quota even without a pod that did not fit, which
/// pods that are nominated elsewhere can bring about, upstream removes that pod a second time, which is an error there: the search
/// ends, failed.
/// @p trial: a trial_node, with whatever else has to know who is there. @p over_quota: whether the preemptor is over its quota then.
/// Source: `reprievePod` of SelectVictimsOnNode, the same in CapacityScheduling and in Koordinator's ElasticQuota.
template <class Trial, class OverQuota>
victim_list put_back(std::span<const std::uint32_t> most_important_first, Trial& trial, OverQuota over_quota) {
  std::vector<char> violates;
  for (const std::uint32_t pod : most_important_first) violates.push_back(trial.violates_budget(pod) ? 1 : 0);
  victim_list made;
  for (const char violating : {char{1}, char{0}}) {
    for (std::size_t i = 0; i < most_important_first.size(); ++i) {
      if (violates[i] != violating) continue;
      const std::uint32_t pod = most_important_first[i];
      trial.put_back(pod);
      const bool fits = trial.fits();
      if (fits && !over_quota()) continue;
      trial.remove(pod);
      made.pods.push_back(pod);
      if (fits) continue;
      if (violating != 0) ++made.violating;
      made.failed = over_quota();
      if (made.failed) return made;
    }
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues
