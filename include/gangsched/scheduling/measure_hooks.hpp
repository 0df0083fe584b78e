#pragma once
#include "gangsched/framework/kernel_table.hpp"
#include "gangsched/scheduling/observer.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The same profile, whose hooks tell @p to when they run (`observer::hook_ran`) and for how long; it decides the same. A wrapper around
/// each plugin does it: a profile that is not measured pays nothing. A filter or a score that is asked about many nodes at once runs once.
/// Not told: what hooks say beside verdicts and scores (keys, capacities, words), and the queue sort. @p to lives as long as any copy of
/// the table. O(plugins).
[[nodiscard]] GANGSCHED_API kernel_table measure_hooks(kernel_table table, observer& to);

/// The profile as it was before `measure_hooks`, attached as it is now; another one as it is. O(plugins).
[[nodiscard]] GANGSCHED_API kernel_table unmeasured_hooks(kernel_table table);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/scheduling/measure_hooks.cpp"
#endif
