#pragma once
#include <cstddef>
#include <cstdint>

#include "gangsched/core/instant.hpp"
#include "gangsched/core/tie_rule.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Which rejected pods of a class are woken by a change that can help them.
enum class wake_rule : std::uint8_t {
  one_per_class,  ///< the first of them; each success wakes the next, a failure stops the chain (default)
  all,            ///< all of them
  hints,  ///< kube-scheduler's rule: each pod whose rejecting plugins' `requeue` hooks return `queue`, whether it fits or not
};

/// Which calls end backoffs, and the stay of pods that have been unschedulable too long.
enum class timer_rule : std::uint8_t {
  by_now,   ///< schedule_cycle, permit and pop, by their `now` (default)
  by_host,  ///< `flush_backoff` and `flush_unschedulable` only, as kube-scheduler's two timers do
};

/// What happens when an incomplete gang finds no room because later incomplete gangs hold it while they wait in permit. Gangs with running
/// members come first, then those of higher priority, then the older ones.
enum class hold_rule : std::uint8_t {
  older_first,  ///< it takes back their reservations, the last gang's first, until it fits (default)
  timers_only,  ///< both keep their reservations until the timeout, as in kube-scheduler
};

/// For which entities without room nodes are reserved, while others that do not delay them may start.
enum class backfill_rule : std::uint8_t {
  none,          ///< none: any entity that fits starts, however long others have waited (default)
  easy,          ///< the first of them in queue order (EASY: Lifka, JSSPP 1995)
  conservative,  ///< all of them (conservative backfilling)
};

/// Negative durations count as 0.
struct scheduler_options {
  std::uint64_t seed = 0;  ///< of the random choice among nodes of equal score
  tie_rule ties = tie_rule::uniform;
  instant initial_backoff = std::chrono::seconds{1};  ///< doubles with every failure …
  /// … up to this. A group's backoff ends early when room appears that the whole group may fit in. Under `wake_rule::hints`, as in
  /// kube-scheduler, it does not, and the bound is this times the square root of the number of waiting members. 0 turns backoff off: a
  /// rejected entity is tried at the next change that can help, and after an error as soon as time moves.
  instant max_backoff = std::chrono::seconds{10};
  /// Ends of backoffs are rounded down to a multiple of this, and take effect when that window is over; pods whose backoffs end in the same
  /// window are tried early in queue order. kube-scheduler's window is a second; 0: exact ends.
  instant backoff_window{0};
  instant unschedulable_timeout = std::chrono::minutes{5};  ///< after more than this a rejected pod is tried anyway
  timer_rule timers = timer_rule::by_now;
  wake_rule wake = wake_rule::one_per_class;
  hold_rule holds = hold_rule::older_first;
  /// How many nodes may be tried in vain for a mixed gang or a tree that cannot be placed member by member; 0: no search, it is rejected at
  /// once, as with more than 256 waiting members. Of the check which members' amounts go together on which nodes, 256 steps count as one.
  std::uint64_t search_budget = 10'000;
  /// An entity that finds no room, but would after running pods end as expected (`pod_spec::expected_run_time`), gets the nodes that it
  /// first fits on reserved from that time on, as nominations (`cluster::reserved_from`). Others may start there if they are expected to
  /// end before, or fit beside it; pods of higher priority always may. A pod that runs longer than expected may end at any moment.
  backfill_rule backfill = backfill_rule::none;
  /// An entity that has waited longer than this, and for which no time of room is known, gets nodes reserved at once: those that need the
  /// least freed. No other pod is placed there until it starts. Applies to one entity at a time, the first in queue order.
  instant max_overtake = instant::max();
  /// How long victims of preemption may stay after their notice (`decision_kind::notice`), to end or to save their work. Then they are
  /// evicted, unless the pods that they make room for have found other room or are gone (`decision_kind::withdraw`). 0: evicted at once.
  instant eviction_notice{0};
  /// Class indexes kept; the least recently used is dropped. Each takes about 25 bytes a node. 0: 64, and below 100,000 nodes as many more
  /// as take no more memory than 64 would take at 100,000 nodes, up to 512.
  std::size_t indexed_classes = 0;
  /// A class index is built for so many nodes per call (at least 1), to bound the time of a call; until it is complete, pods are placed on
  /// the same nodes without it. It is built at once for pods restricted to given nodes, and where a hook is asked about every node.
  std::size_t indexed_at_once = 32'768;
  /// Record for every reject how many nodes gave which reason (`scheduler::why`). Costs one more call of the rejecting filter whenever a
  /// node changes that an indexed class cannot use, and a text or two per reject.
  bool count_reasons = false;
  bool check_hooks = false;  ///< debug: computes what is cached again in each cycle; a difference is a contract error
};

/// @p base with kube-scheduler's rules for the queue: `wake_rule::hints` and a backoff window of a second.
[[nodiscard]] inline scheduler_options with_kube_queue(scheduler_options base = {}) {
  base.wake = wake_rule::hints;
  base.backoff_window = std::chrono::seconds{1};
  return base;
}

/// How many entities each part of the queue has.
struct queue_counts {
  std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0;
  std::size_t waiting = 0;    ///< waiting in permit
  std::size_t in_flight = 0;  ///< popped by the host
};

/// What the engine did since it was made. No decision depends on it.
struct engine_statistics {
  std::uint64_t cycles = 0;              ///< entities handled
  std::uint64_t decisions = 0;           ///< nodes picked or found missing; the number of a decision breaks ties
  std::uint64_t index_builds = 0;        ///< class indexes built from scratch
  std::uint64_t rows_evaluated = 0;      ///< (class, node) pairs whose local hooks were run again
  std::uint64_t opaque_evaluations = 0;  ///< calls of opaque hooks
  std::uint64_t scans = 0;               ///< picks that scanned every candidate
  std::uint64_t search_steps = 0;        ///< nodes tried by complete searches for groups
  std::uint64_t wake_ups = 0;            ///< entities moved out of the unschedulable pods by a change
  std::uint64_t observer_errors = 0;     ///< calls of an observer that threw
  std::uint64_t reservations = 0;        ///< nodes reserved for a pod or group that found no room
  std::uint64_t late_reservations = 0;   ///< put off because a pod ran longer than expected or nodes were removed
};

}  // namespace gangsched::inline GANGSCHED_ABI
