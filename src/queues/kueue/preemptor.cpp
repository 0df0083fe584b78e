#include "gangsched/queues/kueue/preemptor.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE void preemptor::find(const preemption_request& wants, std::vector<preemption_target>& found) {
  wants_ = &wants;
  found_ = &found;
  found.clear();
  if (sharing_.enabled)
    find_fair();
  else
    find_classical();
}

GANGSCHED_INLINE oracle_answer preemptor::simulate(const preemption_request& who, fr_index of, std::int64_t amount) {
  const fr_amount usage{of, amount};
  find({who.queue, who.priority, who.created, {&usage, 1}, {&of, 1}}, simulated_);
  if (simulated_.empty())
    return {preemption_outlook::no_candidates, on_->lowest_that_fits(who.queue, of, amount).height};
  const quota_ledger::trial trial{*on_};
  preemption_outlook outlook = preemption_outlook::reclaim;
  for (const preemption_target& one : simulated_) {
    const workload_record& gone = (*workloads_)[one.workload];
    on_->remove(gone.queue, gone.usage);
    if (gone.queue == who.queue) outlook = preemption_outlook::preempt;
  }
  return {outlook, on_->lowest_that_fits(who.queue, of, amount).height};
}

GANGSCHED_INLINE bool preemptor::policy_allows(const workload_record& other, victim_policy policy) const {
  switch (policy) {
    case victim_policy::never: return false;
    case victim_policy::lower_priority: return other.priority < wants_->priority;
    case victim_policy::lower_or_newer_equal_priority:
      return other.priority < wants_->priority ||
             (other.priority == wants_->priority && wants_->created < other.created);
    case victim_policy::any: break;
  }
  return true;
}

GANGSCHED_INLINE bool preemptor::uses_what_is_short(const workload_record& other) const {
  return std::any_of(other.usage.begin(), other.usage.end(), [&](const fr_amount& one) {
    return std::find(wants_->short_of.begin(), wants_->short_of.end(), one.of) != wants_->short_of.end();
  });
}

GANGSCHED_INLINE bool preemptor::is_within_nominal(queue_index node) const {
  return std::none_of(wants_->short_of.begin(), wants_->short_of.end(),
                      [&](fr_index of) { return on_->borrows_with(node, of, 0); });
}

GANGSCHED_INLINE bool preemptor::has_borrowing_children(queue_index cohort) const {
  return std::any_of(wants_->short_of.begin(), wants_->short_of.end(),
                     [&](fr_index of) { return on_->borrowing_children(cohort, of) > 0; });
}

GANGSCHED_INLINE bool preemptor::goes_before(row_t a, row_t b) const {
  const workload_record &one = (*workloads_)[a], &other = (*workloads_)[b];
  if (one.evicted != other.evicted) return one.evicted;
  const bool is_own = one.queue == wants_->queue, other_is_own = other.queue == wants_->queue;
  if (is_own != other_is_own) return other_is_own;
  if (usage_ != nullptr && one.queue == other.queue && one.local != other.local &&
      on_->of().by_local_usage(one.queue)) {
    const double used = usage_->score(one.local), by_other = usage_->score(other.local);
    if (used != by_other) return used > by_other;
  }
  if (one.priority != other.priority) return one.priority < other.priority;
  if (one.reserved_at != other.reserved_at) return one.reserved_at > other.reserved_at;
  if (const int by_uid = one.uid.compare(other.uid); by_uid != 0) return by_uid < 0;
  return a < b;
}

GANGSCHED_INLINE bool preemptor::fits(bool may_borrow) const {
  return std::all_of(wants_->usage.begin(), wants_->usage.end(), [&](const fr_amount& one) {
    if (!may_borrow && on_->borrows_with(wants_->queue, one.of, one.amount)) return false;
    return one.amount <= on_->room(wants_->queue, one.of);
  });
}

GANGSCHED_INLINE void preemptor::take(row_t workload, preemption_reason reason) {
  const workload_record& gone = (*workloads_)[workload];
  on_->remove(gone.queue, gone.usage);
  found_->push_back({workload, reason});
}

GANGSCHED_INLINE void preemptor::put_back(bool may_borrow) {
  std::vector<preemption_target>& all = *found_;
  for (std::size_t at = all.size() - 1; at-- > 0;) {
    const workload_record& one = (*workloads_)[all[at].workload];
    on_->add(one.queue, one.usage);
    if (fits(may_borrow)) {
      all[at] = all.back();
      all.pop_back();
    } else {
      on_->remove(one.queue, one.usage);
    }
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
