#pragma once
#include "gangsched/scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What `scheduler::fork` returns: copies of the cluster and the scheduler with the same ids and attempts. Changes here do not show in the
/// original. The two share nothing that changes, so each may run on its own thread; texts and specs that one hands out are its own.
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
