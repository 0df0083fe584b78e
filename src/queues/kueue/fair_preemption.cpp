#include <algorithm>
#include <tuple>

#include "gangsched/queues/kueue/preemptor.hpp"

// Preemption with fair sharing (pkg/scheduler/preemption/preemption.go, fairsharing/): queues whose share is largest give first, as long
// as a strategy says that this makes shares more alike.

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// Which queue is to give a workload next. From the root down it is the child with the largest share, with the preemptor's workload added
/// and without those that are gone. A child that does not borrow any more is left out for good, but for the preemptor's own queue and the
/// cohorts above it.
class preemptor::fair_targets {
 public:
  fair_targets(const preemptor& of, std::vector<row_t> candidates)
      : of_(&of),
        tree_(&of.on_->of().tree()),
        candidates_(std::move(candidates)),
        ranges_(tree_->size()),
        left_out_(tree_->size(), false) {
    std::sort(candidates_.begin(), candidates_.end(), [&](row_t a, row_t b) {
      const queue_index of_a = queue_of(a), of_b = queue_of(b);
      return of_a != of_b ? of_a < of_b : of_->goes_before(a, b);
    });
    for (std::size_t at = 0; at < candidates_.size(); ++at) {
      range& here = ranges_[queue_of(candidates_[at])];
      if (here.next == here.end) here.next = at;
      here.end = at + 1;
    }
  }

  /// A queue with a candidate; `no_queue` when none has to give any more.
  queue_index next() {
    const queue_index own = of_->wants_->queue, root = tree_->root_of(own);
    if (root == own) return left_out_[own] || !has(own) ? no_queue : own;
    while (!left_out_[root])
      if (const queue_index found = descend(root); found != no_queue) return found;
    return no_queue;
  }
  [[nodiscard]] bool has(queue_index queue) const { return ranges_[queue].next < ranges_[queue].end; }
  row_t pop(queue_index queue) { return candidates_[ranges_[queue].next++]; }
  void leave_out(queue_index queue) { left_out_[queue] = true; }

 private:
  struct range {
    std::size_t next = 0, end = 0;
  };
  [[nodiscard]] queue_index queue_of(row_t workload) const { return (*of_->workloads_)[workload].queue; }

  queue_index descend(queue_index cohort) {
    for (;;) {
      queue_index queue = no_queue, below = no_queue;
      dominant_share of_queue{.unweighted = -1}, of_below{.unweighted = -1};
      for (const queue_index child : tree_->children(cohort)) {
        if (left_out_[child]) continue;
        const dominant_share share = of_->on_->share(child);
        if (!of_->on_->of().is_queue(child)) {
          if (!share.borrows && !tree_->is_within(of_->wants_->queue, child)) {
            left_out_[child] = true;
          } else if (const int order = compare(share, of_below);
                     order > 0 || (order == 0 && tree_->name_rank(child) < tree_->name_rank(below))) {
            of_below = share;
            below = child;
          }
          continue;
        }
        if ((!share.borrows && child != of_->wants_->queue) || !has(child)) {
          left_out_[child] = true;
          continue;
        }
        const int order = compare(share, of_queue);
        if (order > 0 ||
            (order == 0 && of_->goes_before(candidates_[ranges_[child].next], candidates_[ranges_[queue].next]))) {
          of_queue = share;
          queue = child;
        }
      }
      if (queue == no_queue && below == no_queue) {
        left_out_[cohort] = true;
        return no_queue;
      }
      if (compare(of_below, of_queue) < 0) return queue;
      cohort = below;
    }
  }

  const preemptor* of_;
  const queue_tree* tree_;
  std::vector<row_t> candidates_;  ///< by queue, the first to go first
  std::vector<range> ranges_;      ///< by node
  std::vector<bool> left_out_;     ///< by node
};

GANGSCHED_INLINE void preemptor::collect_fair(std::vector<row_t>& into) {
  const configuration& of = on_->of();
  const preemption_rules& rules = of.preemption(wants_->queue);
  const auto collect = [&](queue_index queue, victim_policy policy) {
    for (const row_t row : workloads_->admitted(queue)) {
      const workload_record& other = (*workloads_)[row];
      if (!other.away && policy_allows(other, policy) && uses_what_is_short(other)) into.push_back(row);
    }
  };
  if (rules.within_queue != victim_policy::never) collect(wants_->queue, rules.within_queue);
  const queue_index root = of.tree().root_of(wants_->queue);
  if (root == wants_->queue || rules.within_cohort == victim_policy::never) return;
  nodes_.assign(1, root);
  for (std::size_t next = 0; next < nodes_.size(); ++next) {
    const bool some_borrow = has_borrowing_children(nodes_[next]);
    for (const queue_index child : of.tree().children(nodes_[next])) {  // cohorts come before queues
      if (!of.is_queue(child))
        nodes_.push_back(child);
      else if (!some_borrow)
        break;
      else if (child != wants_->queue && !is_within_nominal(child))
        collect(child, rules.within_cohort);
    }
  }
}

GANGSCHED_INLINE bool preemptor::fits_once_added() const {
  const quota_ledger::trial trial{*on_};
  on_->remove(wants_->queue, wants_->usage);
  return fits(true);
}

GANGSCHED_INLINE void preemptor::find_fair() {
  std::vector<row_t> candidates;
  collect_fair(candidates);
  if (candidates.empty()) return;
  const quota_ledger::trial trial{*on_};
  on_->add(wants_->queue, wants_->usage);  // shares are those with the workload
  std::vector<row_t> refused;
  fair_targets targets{*this, std::move(candidates)};
  bool found = run_first_strategy(targets, refused);
  if (!found && sharing_.then_less_than_initial) {
    fair_targets others{*this, std::move(refused)};
    found = run_second_strategy(others);
  }
  if (!found) return found_->clear();
  on_->remove(wants_->queue, wants_->usage);
  put_back(true);
}

namespace detail {

/// The node below @p ancestor that @p queue is in.
inline queue_index below_ancestor(const queue_tree& tree, queue_index queue, queue_index ancestor) {
  while (tree.parent(queue) != ancestor) queue = tree.parent(queue);
  return queue;
}

}  // namespace detail

GANGSCHED_INLINE bool preemptor::run_first_strategy(fair_targets& targets, std::vector<row_t>& refused) {
  const queue_tree& tree = on_->of().tree();
  const queue_index own = wants_->queue;
  const bool stays_within_nominal = is_within_nominal(own);  // then it may take from any queue that borrows
  for (queue_index queue = targets.next(); queue != no_queue; queue = targets.next()) {
    if (queue == own || stays_within_nominal) {
      take(targets.pop(queue), queue == own ? preemption_reason::in_queue : preemption_reason::reclamation);
      if (fits_once_added()) return true;
      continue;
    }
    const queue_index ancestor = tree.common_ancestor(own, queue);
    const queue_index theirs = detail::below_ancestor(tree, queue, ancestor);
    const dominant_share mine = on_->share(detail::below_ancestor(tree, own, ancestor));
    const dominant_share before = on_->share(theirs);
    while (targets.has(queue)) {
      const row_t one = targets.pop(queue);
      bool passes = false;
      if (sharing_.first == fair_strategy::less_than_initial) {
        passes = compare(mine, before) < 0;
      } else {
        const quota_ledger::trial without{*on_};
        on_->remove(queue, (*workloads_)[one].usage);
        passes = compare(mine, on_->share(theirs)) <= 0;
      }
      if (!passes) {
        refused.push_back(one);
        continue;
      }
      take(one, preemption_reason::fair_sharing);
      if (fits_once_added()) return true;
      break;  // shares have changed: it may be another queue's turn
    }
  }
  return false;
}

GANGSCHED_INLINE bool preemptor::run_second_strategy(fair_targets& targets) {
  const queue_tree& tree = on_->of().tree();
  const queue_index own = wants_->queue;
  for (queue_index queue = targets.next(); queue != no_queue; queue = targets.next()) {
    const queue_index ancestor = tree.common_ancestor(own, queue);
    const dominant_share mine = on_->share(detail::below_ancestor(tree, own, ancestor));
    const bool passes = compare(mine, on_->share(detail::below_ancestor(tree, queue, ancestor))) < 0;
    const row_t one = targets.pop(queue);
    if (passes) {
      take(one, preemption_reason::fair_sharing);
      if (fits_once_added()) return true;
    }
    targets.leave_out(queue);
  }
  return false;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
