#include "gangsched/queues/kueue/admission_cycle.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE admission_cycle::admission_cycle(quota_ledger& on, workload_table& workloads, const shape_pool& shapes,
                                                  const admission_options& options, const local_usage* usage)
    : on_(&on),
      workloads_(&workloads),
      shapes_(&shapes),
      options_(options),
      assigner_(on, options.fair_sharing.enabled),
      preemptor_(on, workloads, options.fair_sharing, usage),
      tournament_(on, workloads) {}

GANGSCHED_INLINE void admission_cycle::begin() noexcept {
  ++cycle_;
  count_ = 0;
  order_.clear();
  issued_.clear();
  tournaments_.clear();
  victims_.clear();
}

GANGSCHED_INLINE void admission_cycle::nominate(row_t workload, shape_index shape,
                                                std::span<const std::uint32_t> begin_with) {
  if (count_ == entries_.size()) entries_.emplace_back();
  cycle_entry& entry = entries_[count_++];
  entry.workload = workload;
  entry.queue = (*workloads_)[workload].queue;
  entry.shape = shape;
  entry.result = entry_result::pending;
  entry.reason = requeue_reason::not_requeued;
  entry.forgets_flavors = false;
  look_for_flavors(entry, begin_with, nullptr);
}

GANGSCHED_INLINE bool admission_cycle::would_do(const cycle_entry& entry, const assignment& made,
                                                std::vector<preemption_target>& targets) {
  targets.clear();
  if (made.mode != fit_mode::preempt) return made.mode == fit_mode::fit;
  // Pods are counted when the workload is admitted, not when others go for it.
  const configuration& of = on_->of();
  const resource_index pods = of.find_resource("pods");
  needs_.clear();
  short_of_.clear();
  for (const chosen_flavor& one : made.flavors) {
    const fr_index what = of.find_fr(one.flavor, one.resource);
    if (one.amount > 0 && one.resource != pods) count_in(needs_, what, one.amount);
    if (one.mode == fit_mode::preempt && std::find(short_of_.begin(), short_of_.end(), what) == short_of_.end())
      short_of_.push_back(what);
  }
  const workload_record& who = (*workloads_)[entry.workload];
  preemptor_.find({entry.queue, who.priority, who.created, needs_, short_of_}, targets);
  return !targets.empty();
}

GANGSCHED_INLINE void admission_cycle::look_for_flavors(cycle_entry& entry, std::span<const std::uint32_t> begin_with,
                                                        const assignment* pinned) {
  const workload_shape& shape = (*shapes_)[entry.shape];
  const workload_record& who = (*workloads_)[entry.workload];
  workload_oracle oracle{preemptor_, entry.queue, who.priority, who.created};
  assigner_.assign(shape, {}, begin_with, oracle, entry.flavors, pinned);
  if (would_do(entry, entry.flavors, entry.targets)) return;
  if (options_.partial_admission && reduce_counts(entry, begin_with, pinned)) return;
  entry.targets.clear();
}

GANGSCHED_INLINE bool admission_cycle::reduce_counts(cycle_entry& entry, std::span<const std::uint32_t> begin_with,
                                                     const assignment* pinned) {
  const workload_shape& shape = (*shapes_)[entry.shape];
  std::int64_t all = 0;
  for (const workload_shape::pod_set& one : shape.pod_sets) all += one.full_count - one.min_count;
  if (all == 0) return false;
  const workload_record& who = (*workloads_)[entry.workload];
  workload_oracle oracle{preemptor_, entry.queue, who.priority, who.created};
  // The smallest cut that would do, if every larger one does, too.
  bool found = false;
  for (std::int64_t low = 0, high = all + 1; low < high;) {
    const std::int64_t cut = (low + high) / 2;
    counts_.clear();
    for (const workload_shape::pod_set& one : shape.pod_sets)
      counts_.push_back(one.full_count -
                        static_cast<std::int32_t>(std::int64_t{one.full_count - one.min_count} * cut / all));
    assigner_.assign(shape, counts_, begin_with, oracle, trying_, pinned);
    if (!would_do(entry, trying_, trying_targets_)) {
      low = cut + 1;
      continue;
    }
    high = cut;
    found = true;
    std::swap(entry.flavors, trying_);
    std::swap(entry.targets, trying_targets_);
  }
  return found;
}

GANGSCHED_INLINE void admission_cycle::run(admission_gate gate) {
  gate_ = gate;
  const quota_ledger::trial trial{*on_};
  if (victim_of_.size() < workloads_->rows()) victim_of_.resize(workloads_->rows(), 0);
  if (!options_.fair_sharing.enabled) {
    order_classically(entries(), *workloads_, order_);
    for (const std::uint32_t at : order_) process(entries_[at]);
    return;
  }
  tournament_.begin(entries());
  for (std::uint32_t at = tournament_.next(); at != none; at = tournament_.next()) {
    if (options_.describe_tournaments) tournament_.describe(at, tournaments_.emplace_back());
    order_.push_back(at);
    process(entries_[at]);
  }
}

GANGSCHED_INLINE bool admission_cycle::has_victim(std::span<const preemption_target> targets) const noexcept {
  return std::any_of(targets.begin(), targets.end(),
                     [&](const preemption_target& one) { return is_victim(one.workload); });
}

GANGSCHED_INLINE bool admission_cycle::fits_at_last(const cycle_entry& entry) {
  const quota_ledger::trial trial{*on_};
  for (const row_t one : victims_) on_->remove((*workloads_)[one].queue, (*workloads_)[one].usage);
  for (const preemption_target& one : entry.targets)
    if (!is_victim(one.workload)) on_->remove((*workloads_)[one.workload].queue, (*workloads_)[one.workload].usage);
  return std::all_of(entry.flavors.usage.begin(), entry.flavors.usage.end(),
                     [&](const fr_amount& one) { return one.amount <= on_->room(entry.queue, one.of); });
}

GANGSCHED_INLINE void admission_cycle::recompute(cycle_entry& entry) {
  const assignment before = entry.flavors;
  {
    struct away_guard {
      workload_table* in;
      const std::vector<row_t>* rows;
      ~away_guard() {
        for (const row_t one : *rows) in->set_away(one, false);
      }
    };
    const quota_ledger::trial trial{*on_};
    const away_guard guard{workloads_, &victims_};
    for (const row_t one : victims_) {
      workloads_->set_away(one, true);
      on_->remove((*workloads_)[one].queue, (*workloads_)[one].usage);
    }
    look_for_flavors(entry, {}, &before);
  }
  if (entry.flavors.mode != fit_mode::fit) return;
  entry.flavors.mode = fit_mode::deferred_fit;
  for (chosen_flavor& one : entry.flavors.flavors) one.mode = fit_mode::deferred_fit;
}

GANGSCHED_INLINE void admission_cycle::reserve(const cycle_entry& entry) {
  for (const fr_amount& one : entry.flavors.usage) {
    const quota& own = on_->own(entry.queue, one.of);
    const std::int64_t used = on_->usage(entry.queue, one.of);
    if (entry.flavors.borrowing == 0) {
      on_->add(entry.queue, one.of, std::max<std::int64_t>(0, std::min(one.amount, difference(own.nominal, used))));
    } else if (own.borrowing_limit == unlimited) {
      on_->add(entry.queue, one.of, one.amount);
    } else {
      on_->add(entry.queue, one.of, std::min(one.amount, difference(sum(own.nominal, own.borrowing_limit), used)));
    }
  }
}

GANGSCHED_INLINE void admission_cycle::process(cycle_entry& entry) {
  if (options_.recompute_overlapping_targets && has_victim(entry.targets)) recompute(entry);
  const fit_mode mode = entry.flavors.mode;
  if (mode == fit_mode::no_fit) {
    entry.reason = requeue_reason::no_fit;
    return;
  }
  if (mode == fit_mode::preempt && entry.targets.empty()) {
    entry.reason = requeue_reason::preemption_no_candidates;
    // A queue that can always reclaim lets others borrow meanwhile.
    if (on_->of().preemption(entry.queue).within_cohort != victim_policy::any) reserve(entry);
    return;
  }
  if (mode == fit_mode::deferred_fit) {
    entry.reason = requeue_reason::pending_preemption;
    entry.forgets_flavors = true;
    on_->add(entry.queue, entry.flavors.usage);
    return;
  }
  if (has_victim(entry.targets) || !fits_at_last(entry)) {
    entry.result = entry_result::skipped;
    entry.reason = requeue_reason::failed_after_nomination;
    return;
  }
  on_->add(entry.queue, entry.flavors.usage);
  if (mode == fit_mode::fit) {
    if (gate_ == admission_gate::closed) {
      entry.result = entry_result::skipped;
      entry.reason = requeue_reason::pods_not_ready;
      return;
    }
    if (gate_ == admission_gate::one) gate_ = admission_gate::closed;
    entry.result = entry_result::admitted;
    return;
  }
  for (const preemption_target& one : entry.targets) {
    victims_.push_back(one.workload);
    victim_of_[one.workload] = cycle_;
    if (!(*workloads_)[one.workload].evicted) issued_.push_back({one.workload, one.reason, entry.workload});
  }
  entry.reason = requeue_reason::pending_preemption;
  entry.forgets_flavors = true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
