#include "gangsched/queues/kueue/entry_order.hpp"

#include <algorithm>
#include <numeric>

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE void order_classically(std::span<const cycle_entry> entries, const workload_table& workloads,
                                        std::vector<std::uint32_t>& order) {
  order.resize(entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const cycle_entry &one = entries[a], &other = entries[b];
    if (one.flavors.borrowing != other.flavors.borrowing) return one.flavors.borrowing < other.flavors.borrowing;
    const workload_record &who = workloads[one.workload], &against = workloads[other.workload];
    if (who.priority != against.priority) return who.priority > against.priority;
    if (who.created != against.created) return who.created < against.created;
    const int by_uid = who.uid.compare(against.uid);
    return by_uid != 0 ? by_uid < 0 : a < b;
  });
}

GANGSCHED_INLINE fair_tournament::fair_tournament(quota_ledger& on, const workload_table& workloads)
    : on_(&on), workloads_(&workloads), cohorts_(on.of().tree().size()) {
  listed_.reserve(cohorts_.size());  // so that a cohort marked as listed is in it
}

GANGSCHED_INLINE fair_tournament::contestant fair_tournament::rate(queue_index node, std::uint32_t entry) const {
  const cycle_entry& one = entries_[entry];
  const quota_ledger::trial trial{*on_};
  on_->add(one.queue, one.flavors.usage);
  return {entry, on_->borrows_any(node, one.flavors.usage), on_->share(node)};
}

GANGSCHED_INLINE bool fair_tournament::goes_before(const contestant& a, const contestant& b) const {
  if (a.borrows != b.borrows) return b.borrows;
  if (const int order = compare(a.share, b.share); order != 0) return order < 0;
  const workload_record& one = (*workloads_)[entries_[a.entry].workload];
  const workload_record& other = (*workloads_)[entries_[b.entry].workload];
  if (one.priority != other.priority) return one.priority > other.priority;
  return one.created != other.created ? one.created < other.created : one.uid < other.uid;
}

GANGSCHED_INLINE void fair_tournament::begin(std::span<const cycle_entry> entries) {
  for (const queue_index node : listed_) {
    cohort_state& state = cohorts_[node];
    state.queues.clear();
    state.cohorts.clear();
    state.is_stale = true;
    state.is_listed = false;
  }
  listed_.clear();
  entries_ = entries;
  taken_.assign(entries.size(), 0);
  first_left_ = 0;
  const queue_tree& tree = on_->of().tree();
  for (std::uint32_t entry = 0; entry < entries.size(); ++entry) {
    queue_index node = tree.parent(entries[entry].queue);
    if (node == no_queue) continue;
    cohorts_[node].queues.push_back(rate(entries[entry].queue, entry));
    while (!cohorts_[node].is_listed) {
      cohorts_[node].is_listed = true;
      listed_.push_back(node);
      const queue_index parent = tree.parent(node);
      if (parent == no_queue) break;
      cohorts_[parent].cohorts.push_back(node);
      node = parent;
    }
  }
  for (const queue_index node : listed_) {
    cohort_state& state = cohorts_[node];
    std::sort(state.cohorts.begin(), state.cohorts.end());
    // What is compared of a queue is its own: it stays as it is until the queue's entry is taken.
    std::sort(state.queues.begin(), state.queues.end(), [&](const contestant& a, const contestant& b) {
      return goes_before(b, a) || (!goes_before(a, b) && a.entry > b.entry);
    });
  }
}

GANGSCHED_INLINE std::uint32_t fair_tournament::best_below(queue_index cohort) {
  cohort_state& state = cohorts_[cohort];
  if (!state.is_stale) return state.best.entry;
  contestant best;
  for (const queue_index below : state.cohorts)
    if (best_below(below) != none && (best.entry == none || goes_before(cohorts_[below].best, best)))
      best = cohorts_[below].best;
  if (!state.queues.empty() && (best.entry == none || goes_before(state.queues.back(), best)))
    best = state.queues.back();
  const bool is_root = on_->of().tree().parent(cohort) == no_queue;  // its share is compared with no other
  state.best = best.entry == none || is_root ? best : rate(cohort, best.entry);
  state.is_stale = false;
  return state.best.entry;
}

GANGSCHED_INLINE std::uint32_t fair_tournament::next() {
  while (first_left_ < taken_.size() && taken_[first_left_] != 0) ++first_left_;
  if (first_left_ == taken_.size()) return none;
  const queue_tree& tree = on_->of().tree();
  const queue_index root = tree.root_of(entries_[first_left_].queue);
  std::uint32_t winner = first_left_;
  if (root != entries_[winner].queue) {
    winner = best_below(root);
    // Whether it is admitted or not, the caller may change the usage of its queue: everything above is computed again.
    cohorts_[tree.parent(entries_[winner].queue)].queues.pop_back();
    for (queue_index node = tree.parent(entries_[winner].queue); node != no_queue; node = tree.parent(node))
      cohorts_[node].is_stale = true;
  }
  taken_[winner] = 1;
  return winner;
}

GANGSCHED_INLINE void fair_tournament::describe(std::uint32_t of, tournament& made) const {
  const queue_tree& tree = on_->of().tree();
  made.root = tree.root_of(entries_[of].queue);
  made.winner = entries_[of].workload;
  made.shares.clear();
  for (std::uint32_t entry = 0; entry < entries_.size(); ++entry) {
    const cycle_entry& one = entries_[entry];
    if (tree.root_of(one.queue) != made.root || (taken_[entry] != 0 && entry != of)) continue;
    const quota_ledger::trial trial{*on_};
    on_->add(one.queue, one.flavors.usage);
    for (queue_index node = one.queue; tree.parent(node) != no_queue; node = tree.parent(node))
      made.shares.push_back({tree.parent(node), one.workload, on_->share(node).weighted()});
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
