#pragma once
#include "gangsched/framework/kernel_table.hpp"
#include "gangsched/scheduling/observer.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Returns the same profile with hooks that tell @p to when they ran (`observer::hook_ran`) and for how long; it decides the same. Each
/// plugin gets a wrapper, so a profile that is not measured pays nothing. A filter or a score that is asked about many nodes at once runs
/// once. Not told: what hooks say beside verdicts and scores (keys, capacities, words), queue sort and queue order. @p to must live as long
/// as any copy of the table. O(plugins).
[[nodiscard]] GANGSCHED_API kernel_table measure_hooks(kernel_table table, observer& to);

/// The profile as it was before `measure_hooks`, attached as it is now; a profile that is not measured is returned as it is. O(plugins).
[[nodiscard]] GANGSCHED_API kernel_table unmeasured_hooks(kernel_table table);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/scheduling/measure_hooks.cpp"
#endif
