#pragma once
#include <map>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

/// Whether a queue uses more of some type than its maximum; allocations that are being preempted count as used.
[[nodiscard]] GANGSCHED_API bool is_over_max(const partition& queues, queue_index queue);

/// Which allocations go so that a queue is within its maximum again (YuniKorn's quota change preemption, 1.9), in the order in which they
/// are chosen. To be freed is what the queue has above its maximum, at most what it or a queue above it has above its guarantee, if any
/// of them has more than its guarantee. A queue hands that down in proportion to what its children have above their guarantees, in whole
/// units, rounded down; a child with a guarantee of other types only gives nothing. Of each leaf go allocations that hold something of
/// it: first those that neither opted out nor lead an application, then those that opted out, then leaders; of these, those with the
/// largest percentage of their types to be freed; then lower priority, later hour of creation, smaller size. An allocation that would
/// free more than is left to free stays, so the queue may stay a little above its maximum. O(allocations below · (log allocations +
/// depth)).
[[nodiscard]] GANGSCHED_API std::vector<ask_index> over_quota_victims(const partition& queues, queue_index queue);

/// Since when queues have been above their maximum: once `queue_settings::quota_preemption_delay` is over, allocations are preempted.
class GANGSCHED_API quota_watch {
 public:
  /// The queues whose delay is over at @p now, none below another; their delay begins again. It also begins again for a queue that exceeds
  /// its maximum again. Queues are identified by name, so that the next call may pass a new partition. O(queues) where some have a delay.
  [[nodiscard]] std::vector<queue_index> due(const partition& queues, instant now);
  /// When the next one is due, as of the last call of `due`; `instant::max()` without one.
  [[nodiscard]] instant next() const;

 private:
  std::map<std::string, instant> due_at_;  ///< by name of the queue
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/yunikorn/quota_preemption.cpp"
#endif
