#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/queues/queue_tree.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

/// Whose minimum run time protects a job from jobs of other queues.
enum class reclaim_protection : unsigned char {
  common_ancestor,  ///< of the queue on the victim's side just below the lowest one above both, or the next above that has one
  own_queue,  ///< of the victim's queue, or the next above that has one
};

/// How long jobs run before they may be victims. By queue; entries beyond a list's end are not set.
struct min_runtimes {
  std::vector<std::optional<instant>> preempt = {};  ///< from jobs of the same queue
  std::vector<std::optional<instant>> reclaim = {};  ///< from jobs of other queues
  instant default_preempt{};                         ///< where no queue on the way up has one
  instant default_reclaim{};
  reclaim_protection method = reclaim_protection::common_ancestor;
};

/// How long a job of this queue is protected from its own queue. O(depth).
[[nodiscard]] GANGSCHED_API instant preempt_min_runtime(const queue_tree& tree, const min_runtimes& of,
                                                        queue_index victim);
/// How long a job of queue @p victim is protected from a job of queue @p reclaimer. In different trees, with `common_ancestor`: as the
/// victim's root says. O(depth).
[[nodiscard]] GANGSCHED_API instant reclaim_min_runtime(const queue_tree& tree, const min_runtimes& of,
                                                        queue_index reclaimer, queue_index victim);

/// Whether a job that runs since @p started is protected at @p now; one that never started is not. An elastic job may still lose what it
/// has beyond its minimum: `keeps_minimum`.
[[nodiscard]] constexpr bool is_protected(std::optional<instant> started, instant min_runtime, instant now) noexcept {
  return started && now < later_by(*started, min_runtime);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kai/min_runtime.cpp"
#endif
