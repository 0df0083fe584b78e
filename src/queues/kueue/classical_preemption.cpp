#include <algorithm>
#include <tuple>

#include "gangsched/queues/kueue/preemptor.hpp"

// Preemption without fair sharing (pkg/scheduler/preemption/classical): candidates are those over which the preemptor has an advantage
// by its place in the tree, those that its priority lets it preempt, and those of its own queue, in this order.

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE void preemptor::find_classical() {
  collect_classical();
  if (candidates_.empty()) return;
  const auto has = [&](auto&& is) { return std::any_of(candidates_.begin(), candidates_.end(), is); };
  const bool others = has([](const candidate& one) { return one.how != variant::same_queue; });
  const bool nearer = has([](const candidate& one) { return one.how == variant::hierarchical; });
  const bool may_preempt_borrowing = on_->of().preemption(wants_->queue).while_borrowing;
  const auto is_under_nominal = [&] {
    return std::all_of(wants_->short_of.begin(), wants_->short_of.end(), [&](fr_index of) {
      return on_->usage(wants_->queue, of) < on_->own(wants_->queue, of).nominal;
    });
  };
  if (!others || (!may_preempt_borrowing && !is_under_nominal())) {
    try_classical(true);
  } else if (!may_preempt_borrowing && !nearer) {
    if (!try_classical(false)) try_classical(true);
  } else {
    if (!try_classical(true)) try_classical(false);
  }
}

GANGSCHED_INLINE void preemptor::collect_classical() {
  candidates_.clear();
  const queue_tree& tree = on_->of().tree();
  const preemption_rules& rules = on_->of().preemption(wants_->queue);
  collect_queue(wants_->queue, no_queue, false);
  if (rules.within_cohort != victim_policy::never) {
    // Upwards from the queue: what of the usage finds no room in what the node keeps is left to the next. From the first node on that has
    // the room, the preemptor is nearer to the quota than queues outside.
    left_.assign(wants_->usage.begin(), wants_->usage.end());
    const auto has_room = [&](queue_index node) {
      bool all = true;
      for (fr_amount& one : left_) {
        all = all && !on_->borrows_with(node, one.of, one.amount);
        const std::int64_t local =
            std::max<std::int64_t>(0, difference(on_->kept(node, one.of), on_->usage(node, one.of)));
        one.amount = std::max<std::int64_t>(0, difference(one.amount, local));
      }
      return all;
    };
    bool is_nearer = has_room(wants_->queue);
    queue_index below = no_queue;
    for (queue_index node = tree.parent(wants_->queue); node != no_queue; node = tree.parent(node)) {
      collect_below(node, node, below, is_nearer);
      is_nearer = has_room(node) || is_nearer;
      below = node;
    }
  }
  // Mostly the first few will do.
  in_heap_ = candidates_.size();
  std::make_heap(candidates_.begin(), candidates_.end(),
                 [&](const candidate& a, const candidate& b) { return is_before(b, a); });
}

GANGSCHED_INLINE bool preemptor::is_before(const candidate& a, const candidate& b) const {
  const auto rank = [&](const candidate& one) {
    return std::tuple{!(*workloads_)[one.workload].evicted, one.how == variant::hierarchical ? 0
                                                            : one.how == variant::same_queue ? 2
                                                                                             : 1};
  };
  const auto of_a = rank(a), of_b = rank(b);
  return of_a != of_b ? of_a < of_b : goes_before(a.workload, b.workload);
}

GANGSCHED_INLINE const preemptor::candidate& preemptor::candidate_at(std::size_t at) {
  while (candidates_.size() - in_heap_ <= at) {
    std::pop_heap(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(in_heap_),
                  [&](const candidate& a, const candidate& b) { return is_before(b, a); });
    --in_heap_;
  }
  return candidates_[candidates_.size() - 1 - at];
}

GANGSCHED_INLINE void preemptor::collect_below(queue_index cohort, queue_index ancestor, queue_index skip,
                                               bool is_nearer) {
  if (!has_borrowing_children(cohort)) return;
  for (const queue_index child : on_->of().tree().children(cohort)) {
    if (child == skip || child == wants_->queue || is_within_nominal(child)) continue;
    if (on_->of().is_queue(child))
      collect_queue(child, ancestor, is_nearer);
    else
      collect_below(child, ancestor, skip, is_nearer);
  }
}

GANGSCHED_INLINE void preemptor::collect_queue(queue_index queue, queue_index ancestor, bool is_nearer) {
  const preemption_rules& rules = on_->of().preemption(wants_->queue);
  const victim_policy policy = queue == wants_->queue ? rules.within_queue : rules.within_cohort;
  if (policy == victim_policy::never) return;
  for (const row_t row : workloads_->admitted(queue)) {
    const workload_record& other = (*workloads_)[row];
    if (other.away || !policy_allows(other, policy) || !uses_what_is_short(other)) continue;
    candidates_.push_back({row, classify(other, is_nearer), ancestor});
  }
}

GANGSCHED_INLINE preemptor::variant preemptor::classify(const workload_record& other, bool is_nearer) const {
  if (other.queue == wants_->queue) return variant::same_queue;
  if (is_nearer) return variant::hierarchical;
  const preemption_rules& rules = on_->of().preemption(wants_->queue);
  const bool too_important =
      other.priority >= wants_->priority || (rules.max_priority && other.priority > *rules.max_priority);
  return rules.while_borrowing && !too_important ? variant::by_priority_borrowing : variant::by_priority;
}

GANGSCHED_INLINE bool preemptor::is_valid(const candidate& one, bool may_borrow) const {
  if (one.how == variant::same_queue) return true;
  if (may_borrow && one.how == variant::by_priority) return false;
  // Those gone before may have taken its queue, or a cohort above that, back to what it has.
  const queue_tree& tree = on_->of().tree();
  for (queue_index node = (*workloads_)[one.workload].queue; node != one.ancestor; node = tree.parent(node))
    if (is_within_nominal(node)) return false;
  return true;
}

GANGSCHED_INLINE bool preemptor::try_classical(bool may_borrow) {
  const quota_ledger::trial trial{*on_};
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const candidate& one = candidate_at(i);
    if (!is_valid(one, may_borrow)) continue;
    switch (one.how) {
      case variant::same_queue: take(one.workload, preemption_reason::in_queue); break;
      case variant::hierarchical:
      case variant::by_priority: take(one.workload, preemption_reason::reclamation); break;
      case variant::by_priority_borrowing: take(one.workload, preemption_reason::reclaim_while_borrowing); break;
    }
    if (!fits(may_borrow)) continue;
    put_back(may_borrow);
    return true;
  }
  found_->clear();
  return false;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
