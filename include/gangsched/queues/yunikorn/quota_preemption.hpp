#pragma once
#include <map>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

/// Whether a queue uses more of some type than its maximum, what is to go already included.
[[nodiscard]] GANGSCHED_API bool is_over_max(const partition& queues, queue_index queue);

/// Who goes so that a queue is within its maximum again (YuniKorn's quota change preemption, 1.8), in the order in which they were chosen.
/// What is to be freed is what the queue has above its maximum, at most what it or a queue above it has above its guarantee, where some
/// have one: a guarantee that is used exactly, or not used up, bounds nothing. A queue hands that down by what those below it have above
/// their guarantees, in whole units, rounded down; one with a guarantee of other types only gives nothing. In each leaf go, of those that
/// hold something of it, first who neither opted out nor leads an application, then who opted out, then who leads; of these first who
/// holds most types of that and fewest else, in percent; then by priority (the lowest first), the hour in which they came (the newest
/// first) and size (the smallest first); who would free more than is left to free stays. So the queue may stay a little above its maximum.
/// O(allocations below · (log allocations + depth)).
[[nodiscard]] GANGSCHED_API std::vector<ask_index> over_quota_victims(const partition& queues, queue_index queue);

/// Since when queues have been above their maximum: after `queue_settings::quota_preemption_delay` it is time for somebody to go.
class GANGSCHED_API quota_watch {
 public:
  /// Queues whose time it is at @p now, none below another; of those the delay begins anew. One that is above its maximum again after it
  /// was not begins anew, too. Queues are told apart by their names, so that it may be asked about a partition made anew. O(queues) where
  /// some have a delay.
  [[nodiscard]] std::vector<queue_index> due(const partition& queues, instant now);
  /// When the next one is due as it was last asked; `instant::max()` without one.
  [[nodiscard]] instant next() const;

 private:
  std::map<std::string, instant> due_at_;  ///< by name of the queue
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/yunikorn/quota_preemption.cpp"
#endif
