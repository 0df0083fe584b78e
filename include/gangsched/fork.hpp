#pragma once
#include "gangsched/scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The result of `scheduler::fork`: copies of the cluster and the scheduler with the same ids and attempts. Changes here do not affect the
/// original. The two share no mutable data, so each may run on its own thread; each has its own texts and specs.
///
/// @code
/// auto trial = scheduler.fork();                      // result<forked>
/// trial->cluster.add_node(another);                   // what if?
/// while (auto cycle = trial->scheduler.schedule_cycle(now)) count(cycle);
/// scheduler = std::move(trial->scheduler);            // take it over: the scheduler first, which stands on the cluster; or let it go
/// cluster = std::move(trial->cluster);
/// @endcode
struct forked {
  gangsched::cluster cluster;
  gangsched::scheduler scheduler;
};

namespace detail {

/// As `scheduler::fork`, but the copy, and copies of it, make no room: whoever fits nowhere waits, and evicts nobody. What is nominated
/// already is kept.
[[nodiscard]] GANGSCHED_API result<forked> fork_without_evictions(const scheduler& of);

}  // namespace detail
}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/fork.cpp"
#endif
