#include "gangsched/queues/kueue/flavor_assigner.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE fit_mode flavor_assigner::mode_of(grade how) noexcept {
  return how == grade::no_fit ? fit_mode::no_fit : how == grade::fit ? fit_mode::fit : fit_mode::preempt;
}

GANGSCHED_INLINE bool flavor_assigner::is_better(rating a, rating b, flavor_preference preference) noexcept {
  if (a.how == grade::no_fit) return false;
  if (b.how == grade::no_fit) return true;
  if ((a.how == grade::no_candidates) != (b.how == grade::no_candidates)) return b.how == grade::no_candidates;
  if (preference == flavor_preference::preemption_over_borrowing)
    return a.borrowing != b.borrowing ? a.borrowing < b.borrowing : a.how > b.how;
  return a.how != b.how ? a.how > b.how : a.borrowing < b.borrowing;
}

GANGSCHED_INLINE bool flavor_assigner::may_try_next(rating one) const noexcept {
  const flavor_fungibility& rules = on_->of().fungibility(shape_->queue);
  if (one.how == grade::no_fit || one.how == grade::no_candidates) return true;
  if (one.how != grade::fit && rules.when_can_preempt == flavor_search::try_next) return true;
  return one.borrowing > 0 && rules.when_can_borrow == flavor_search::try_next;
}

GANGSCHED_INLINE std::int64_t flavor_assigner::amount_of(const workload_shape::request& one) const {
  return product(one.each, count_);
}

GANGSCHED_INLINE flavor_assigner::rating flavor_assigner::rate(fr_index of, std::int64_t amount,
                                                               preemption_oracle& oracle) const {
  const queue_index queue = shape_->queue;
  if (amount > on_->potential(queue, of)) return {grade::no_fit, 0};
  const quota_ledger::fitting_subtree subtree = on_->lowest_that_fits(queue, of, amount);
  if (amount <= on_->room(queue, of)) return {grade::fit, subtree.height};
  const preemption_rules& rules = on_->of().preemption(queue);
  const bool while_borrowing = rules.while_borrowing || (fair_sharing_ && rules.within_cohort != victim_policy::never);
  if (on_->own(queue, of).nominal < amount && !subtree.below_root && !while_borrowing)
    return {grade::no_fit, subtree.height};
  const oracle_answer answer = oracle.ask(of, amount);
  switch (answer.outlook) {
    case preemption_outlook::no_candidates: return {grade::no_candidates, answer.borrowing};
    case preemption_outlook::preempt: return {grade::preempt, answer.borrowing};
    case preemption_outlook::reclaim: break;
  }
  return {grade::reclaim, answer.borrowing};
}

GANGSCHED_INLINE void flavor_assigner::assign(const workload_shape& shape, std::span<const std::int32_t> counts,
                                              std::span<const std::uint32_t> begin_with, preemption_oracle& oracle,
                                              assignment& made, const assignment* pinned) {
  shape_ = &shape;
  is_pinned_ = pinned != nullptr;
  made.mode = fit_mode::fit;
  made.borrowing = 0;
  made.pod_sets.clear();
  made.flavors.clear();
  made.attempts.clear();
  made.usage.clear();
  made.next_flavor.assign(shape.pod_sets.size() * on_->of().groups(shape.queue).size(), 0);
  for (std::size_t number = 0; number < shape.pod_sets.size(); ++number) {
    pods_ = &shape.pod_sets[number];
    count_ = counts.empty() ? pods_->count : workload_shape::scaled(*pods_, counts[number]);
    pinned_ = {};
    if (is_pinned_ && number < pinned->pod_sets.size()) pinned_ = pinned->flavors_of(pinned->pod_sets[number]);
    if (!assign_pod_set(number, begin_with, oracle, made)) break;
  }
}

GANGSCHED_INLINE bool flavor_assigner::assign_pod_set(std::size_t number, std::span<const std::uint32_t> begin_with,
                                                      preemption_oracle& oracle, assignment& made) {
  const configuration& of = on_->of();
  const std::size_t groups = of.groups(shape_->queue).size();
  done_groups_.clear();
  of_pod_set_.clear();
  of_groups_.clear();
  bool failed = false, all_fit = true;
  for (const workload_shape::request& one : shape_->requests_of(*pods_)) {
    const std::uint32_t group = one.of == none ? none : of.group_of(shape_->queue, one.of);
    if (group == none) {
      if (amount_of(one) == 0) continue;
      failed = true;
      break;
    }
    if (std::find(done_groups_.begin(), done_groups_.end(), group) != done_groups_.end()) continue;
    done_groups_.push_back(group);
    const std::size_t place = number * groups + group;
    const grade how = choose(group, one.of, begin_with.empty() ? 0 : begin_with[place], oracle, made);
    of_groups_.insert(of_groups_.end(), tried_.begin(), tried_.end());
    if (chosen_.empty()) {
      failed = true;
      break;
    }
    all_fit = all_fit && how == grade::fit;
    of_pod_set_.insert(of_pod_set_.end(), chosen_.begin(), chosen_.end());
    made.next_flavor[place] = next_;
  }
  if (failed) {
    of_pod_set_.clear();
    std::fill_n(made.next_flavor.begin() + static_cast<std::ptrdiff_t>(number * groups), groups, 0u);
  }

  assignment::pod_set& added = made.pod_sets.emplace_back();
  added.count = count_;
  added.first_flavor = static_cast<std::uint32_t>(made.flavors.size());
  fit_mode mode = failed ? fit_mode::no_fit : fit_mode::fit;
  for (const chosen_flavor& one : of_pod_set_) {
    made.flavors.push_back(one);
    made.borrowing = std::max(made.borrowing, one.borrowing);
    count_in(made.usage, of.find_fr(one.flavor, one.resource), one.amount);
    if (!all_fit)
      mode =
          std::min(mode, one.mode);  // a flavor that was chosen as one that fits counts as one, whatever of it does not
  }
  added.last_flavor = static_cast<std::uint32_t>(made.flavors.size());
  added.first_attempt = static_cast<std::uint32_t>(made.attempts.size());
  std::sort(of_groups_.begin(), of_groups_.end(), [&](const flavor_attempt& a, const flavor_attempt& b) {
    return of.flavor(a.flavor).name < of.flavor(b.flavor).name;
  });
  made.attempts.insert(made.attempts.end(), of_groups_.begin(), of_groups_.end());
  added.last_attempt = static_cast<std::uint32_t>(made.attempts.size());
  made.mode = std::min(made.mode, mode);
  return !failed;
}

GANGSCHED_INLINE flavor_assigner::grade flavor_assigner::choose(std::uint32_t group, resource_index first,
                                                                std::uint32_t begin, preemption_oracle& oracle,
                                                                const assignment& made) {
  const configuration& of = on_->of();
  const std::vector<flavor_index>& flavors = of.groups(shape_->queue)[group].flavors;
  const flavor_preference preference = of.fungibility(shape_->queue).preference;
  chosen_.clear();
  tried_.clear();
  next_ = 0;
  rating best{grade::no_fit, none};
  for (std::uint32_t at = begin; at < flavors.size(); ++at) {
    next_ = at + 1 == flavors.size() ? 0 : at + 1;
    const flavor_index flavor = flavors[at];
    const auto is_this = [&](const chosen_flavor& one) { return one.resource == first && one.flavor == flavor; };
    if (is_pinned_ && std::none_of(pinned_.begin(), pinned_.end(), is_this)) continue;
    if (!pods_->flavors.test(flavor)) {
      tried_.push_back({flavor, fit_mode::no_fit, 0});
      continue;
    }
    std::uint32_t most_borrowing = 0;
    const rating one = try_flavor(group, flavor, oracle, made, most_borrowing);
    tried_.push_back({flavor, mode_of(one.how), most_borrowing});
    const bool stop = !may_try_next(one);
    if (stop || is_better(one, best, preference)) {
      best = one;
      chosen_.swap(trying_);
    }
    if (stop) break;
  }
  return best.how;
}

GANGSCHED_INLINE flavor_assigner::rating flavor_assigner::try_flavor(std::uint32_t group, flavor_index flavor,
                                                                     preemption_oracle& oracle, const assignment& made,
                                                                     std::uint32_t& most_borrowing) {
  const configuration& of = on_->of();
  const flavor_preference preference = of.fungibility(shape_->queue).preference;
  trying_.clear();
  rating worst{grade::fit, 0};
  for (const workload_shape::request& one : shape_->requests_of(*pods_)) {
    if (one.of == none || of.group_of(shape_->queue, one.of) != group) continue;
    const fr_index what = of.find_fr(flavor, one.of);
    const std::int64_t amount = amount_of(one);
    const auto before =
        std::find_if(made.usage.begin(), made.usage.end(), [&](const fr_amount& used) { return used.of == what; });
    const rating here = rate(what, before == made.usage.end() ? amount : sum(before->amount, amount), oracle);
    most_borrowing = std::max(most_borrowing, here.borrowing);
    if (is_better(worst, here, preference)) worst = here;
    if (worst.how != grade::no_fit) trying_.push_back({one.of, flavor, mode_of(here.how), here.borrowing, amount});
  }
  return worst;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
