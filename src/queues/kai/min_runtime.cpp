#include "gangsched/queues/kai/min_runtime.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

namespace detail {

/// The first time that is set from @p queue upwards.
[[nodiscard]] inline instant first_set(const queue_tree& tree, const std::vector<std::optional<instant>>& times,
                                       queue_index queue, instant otherwise) {
  for (; queue != no_queue; queue = tree.parent(queue))
    if (queue < times.size() && times[queue]) return *times[queue];
  return otherwise;
}

}  // namespace detail

GANGSCHED_INLINE instant preempt_min_runtime(const queue_tree& tree, const min_runtimes& of, queue_index victim) {
  return detail::first_set(tree, of.preempt, victim, of.default_preempt);
}

GANGSCHED_INLINE instant reclaim_min_runtime(const queue_tree& tree, const min_runtimes& of, queue_index reclaimer,
                                             queue_index victim) {
  queue_index from = victim;
  if (of.method == reclaim_protection::common_ancestor) {
    const queue_index common = tree.common_ancestor(reclaimer, victim);
    while (from != common && tree.parent(from) != common) from = tree.parent(from);
  }
  return detail::first_set(tree, of.reclaim, from, of.default_reclaim);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai
