#pragma once
#include <algorithm>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/model/fwd.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

struct viewed_tables;

/// What somebody said of when he has to start and how long he should wait, by himself or through his groups (docs/deadlines.md).
struct time_limits {
  instant latest_start = instant::max();  ///< for his deadline; the last instant: he has none
  instant max_wait = instant::max();      ///< the same

  /// By when he should start who entered the queue then.
  [[nodiscard]] instant start_by(instant entered) const noexcept {
    return max_wait == instant::max() ? latest_start : std::min(latest_start, later_by(entered, max_wait));
  }
};

/// Of a pod. O(depth of its group), O(1) while nobody in the cluster says anything.
[[nodiscard]] GANGSCHED_API time_limits limits_of_pod(const viewed_tables& tables, row_t pod) noexcept;
/// Of a group that starts as one: the least of its pods, and those of groups below it, that have no node. O(members), or O(1) as above.
[[nodiscard]] GANGSCHED_API time_limits limits_of_group(const viewed_tables& tables, row_t group) noexcept;

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/time_limits.cpp"
#endif
