#pragma once
#include <algorithm>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/model/fwd.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

struct viewed_tables;

/// The latest start of a pod or group, and its longest wait, by its own spec or by groups above it (docs/deadlines.md).
struct time_limits {
  instant latest_start = instant::max();  ///< to meet its deadline; instant::max(): no deadline
  instant max_wait = instant::max();      ///< instant::max(): no limit

  /// The latest start if it entered the queue at @p entered.
  [[nodiscard]] instant start_by(instant entered) const noexcept {
    return max_wait == instant::max() ? latest_start : std::min(latest_start, later_by(entered, max_wait));
  }
};

/// The limits of a pod. O(depth of its group); O(1) while no pod or group in the cluster has any.
[[nodiscard]] GANGSCHED_API time_limits limits_of_pod(const viewed_tables& tables, row_t pod) noexcept;
/// For a group that starts as one: the least of its pending, not terminating pods, groups below included. O(members), or O(1) as above.
[[nodiscard]] GANGSCHED_API time_limits limits_of_group(const viewed_tables& tables, row_t group) noexcept;
/// The longest expected run time of those pods; 0: none is known. O(members).
[[nodiscard]] GANGSCHED_API instant run_time_of_group(const viewed_tables& tables, row_t group) noexcept;

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/time_limits.cpp"
#endif
