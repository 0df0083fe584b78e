#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/capacity_scheduling/elastic_quota.hpp"
#include "gangsched/queues/put_back.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::capacity_scheduling {

enum class victims_outcome : std::uint8_t {
  found,
  none,    ///< no pod may be evicted, or evicting all of them would not help, or none has to be evicted
  failed,  ///< upstream's error: see put_back
};

struct victims {
  victims_outcome outcome = victims_outcome::none;
  std::vector<std::uint32_t> pods = {};  ///< most important first
  std::size_t violating = 0;             ///< how many evictions violate a disruption budget
};

/// Selects the pods to evict from one node for @p pod. Of @p running, the pods on the node, those that may be evicted are removed, the
/// least important first (lower priority, then later start, then later in the list); each counts as gone at once, so that a quota over its
/// min loses no more than that. If the pod then fits, and its quota and all quotas have room for it, they are put back as far as possible.
/// @p quotas has to count @p running and is unchanged afterwards; @p node is left with the victims removed if some were found, else in any
/// state. Errors: those of a pod. O(pods · (log pods + resources)), and two calls of the node for each candidate.
GANGSCHED_API result<victims> select_victims(elastic_quotas& quotas, const quota_pod& pod, const quota_demand& demand,
                                             std::span<const quota_pod> running, trial_node& node);

}  // namespace gangsched::inline GANGSCHED_ABI::queues::capacity_scheduling

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/capacity_scheduling/victims.cpp"
#endif
