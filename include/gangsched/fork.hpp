#pragma once
#include "gangsched/scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What `scheduler::fork` makes: ids and attempts are those of the original, and what is done here does not show there. It shares nothing
/// with the original that changes, so that each may be on a thread of its own; texts and specs that one of them hands out are its own.
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

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/fork.cpp"
#endif
