#pragma once
#include <cstddef>
#include <cstdint>

#include "gangsched/core/instant.hpp"
#include "gangsched/core/tie_rule.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Who wakes when a change can help the rejected pods of one class.
enum class wake_rule : std::uint8_t {
  one_per_class,  ///< the first of them; each success wakes the next, a failure stops the chain (default)
  all,            ///< all of them
  hints,  ///< kube-scheduler's: each pod whose rejecting plugins' `requeue` hooks say so, whether it fits or not
};

/// Who ends backoffs and the stay of pods that wait too long for a change.
enum class timer_rule : std::uint8_t {
  by_now,   ///< schedule_cycle, permit and pop (default)
  by_host,  ///< `flush_backoff` and `flush_unschedulable` only, as kube-scheduler's two timers do
};

/// What happens when an incomplete gang finds no room because incomplete gangs after it hold it in the permit room. Gangs with running
/// members come first, then those of higher priority, then the older ones.
enum class hold_rule : std::uint8_t {
  older_first,  ///< it takes their reservations back, the last one's first, until it fits (default)
  timers_only,  ///< both hold until their timeout, as in kube-scheduler
};

/// Which entities have nodes reserved that have no room yet, while others that do not delay them may start.
enum class backfill_rule : std::uint8_t {
  none,          ///< nobody: whoever fits starts, however long others have waited (default)
  easy,          ///< the first in the order of the queue of those that found no room (EASY: Lifka, JSSPP 1995)
  conservative,  ///< everybody who found no room
};

/// Negative times count as 0.
struct scheduler_options {
  std::uint64_t seed = 0;  ///< of uniform ties
  tie_rule ties = tie_rule::uniform;
  instant initial_backoff = std::chrono::seconds{1};  ///< doubles with every failure …
  /// … up to this. A group's backoff ends early at room that the whole group may fit in. Under `wake_rule::hints`, as in kube-scheduler, it
  /// does not, and its bound is this times the square root of how many members wait. 0 turns backoff off: a rejected entity is tried at the
  /// next change that can help, one whose attempt ended in an error as soon as time moves.
  instant max_backoff = std::chrono::seconds{10};
  /// Ends of backoffs are rounded down to a multiple of this, and hold until that window is over; pods whose backoffs end in the
  /// same window are tried early in the order of the queue. kube-scheduler's window is a second; 0 for exact ends.
  instant backoff_window{0};
  instant unschedulable_timeout =
      std::chrono::minutes{5};  ///< a rejected pod is tried again after more than this even if nothing changed
  timer_rule timers = timer_rule::by_now;
  wake_rule wake = wake_rule::one_per_class;
  hold_rule holds = hold_rule::older_first;
  /// How many nodes may be tried in vain for a mixed gang or a tree that cannot be placed one after another; 0: it is refused at once. Of
  /// the check which members' amounts go together on which nodes, 256 steps count as one node tried.
  std::uint64_t search_budget = 10'000;
  /// An entity that finds no room, but would once running pods end as expected (`pod_spec::expected_run_time`), gets the nodes that it fits
  /// on first reserved from that time on, as nominations (`cluster::reserved_from`). Others start there only if they are expected to end
  /// before, or fit beside it; higher priorities are not bound. A pod that has run longer than expected may end at any moment.
  backfill_rule backfill = backfill_rule::none;
  /// An entity that has waited longer than this, and of which no time of room is known, gets nodes reserved at once: those from which the
  /// least has to go. No other pod enters them until it starts. For one at a time, the first in the order of the queue.
  instant max_overtake = instant::max();
  /// How long victims of preemption may stay after they were told (`decision_kind::notice`), to end by themselves or to save their work.
  /// Then they are evicted, unless the pods that they make room for have found other room or are gone (`decision_kind::withdraw`). 0: they
  /// are evicted at once.
  instant eviction_notice{0};
  /// Class indexes kept; the least recently used goes. Each takes about 25 bytes a node. 0: 64, and of fewer than 100,000 nodes as many
  /// more as take no more memory than those would, up to 512.
  std::size_t indexed_classes = 0;
  /// A class index is built of so many nodes at a time (at least 1), to bound how long a call takes; until it is whole, pods are placed on
  /// the same nodes without it. It is built at once for pods placed among given nodes only, and where all nodes are asked.
  std::size_t indexed_at_once = 32'768;
  /// Every reject says how many nodes gave which reason (`scheduler::why`), without asking again. Costs one more call of the rejecting
  /// filter whenever a node changes that an indexed class cannot use, and a text or two per reject.
  bool count_reasons = false;
  bool check_hooks =
      false;  ///< debug: re-evaluate every cached verdict and score each cycle; differences are contract errors
};

/// @p base with a queue that moves pods as kube-scheduler's does.
[[nodiscard]] inline scheduler_options with_kube_queue(scheduler_options base = {}) {
  base.wake = wake_rule::hints;
  base.backoff_window = std::chrono::seconds{1};
  return base;
}

struct queue_counts {
  std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0;
  std::size_t waiting = 0;    ///< pods in the permit room
  std::size_t in_flight = 0;  ///< popped by the host
};

struct engine_statistics {
  std::uint64_t cycles = 0;              ///< entities handled
  std::uint64_t decisions = 0;           ///< nodes picked or found missing; numbers the tie-breaks
  std::uint64_t index_builds = 0;        ///< class indexes built from nothing
  std::uint64_t rows_evaluated = 0;      ///< (class, node) pairs whose local hooks were run again
  std::uint64_t opaque_evaluations = 0;  ///< calls of opaque hooks
  std::uint64_t scans = 0;               ///< picks that looked at every candidate
  std::uint64_t search_steps = 0;        ///< nodes tried by complete searches for groups
  std::uint64_t wake_ups = 0;            ///< entities moved out of the unschedulable pool by a change
  std::uint64_t observer_errors = 0;     ///< calls of an observer that threw
  std::uint64_t reservations = 0;        ///< nodes reserved for a pod or group that found no room
  std::uint64_t late_reservations = 0;   ///< put off, because somebody ran longer than expected or nodes went
};

}  // namespace gangsched::inline GANGSCHED_ABI
