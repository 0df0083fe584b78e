#pragma once
#include "gangsched/framework/kernel_table.hpp"
#include "gangsched/scheduling/observer.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Returns the same profile with hooks that report to @p to when they ran and for how long (`observer::hook_ran`). Decisions are the same.
/// Each plugin gets a wrapper, so a profile that is not measured has no overhead. A filter or a score of many nodes at once counts as one
/// call. Not reported: optional hooks beside verdicts and scores (keys, capacities, texts), queue_sort and queue_order. @p to must outlive
/// all copies of the table. O(plugins).
[[nodiscard]] GANGSCHED_API kernel_table measure_hooks(kernel_table table, observer& to);

/// The profile as it was before `measure_hooks`, attached as it is now; a profile that is not measured is returned unchanged. O(plugins).
[[nodiscard]] GANGSCHED_API kernel_table unmeasured_hooks(kernel_table table);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/scheduling/measure_hooks.cpp"
#endif
