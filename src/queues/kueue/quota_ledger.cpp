#include "gangsched/queues/kueue/quota_ledger.hpp"

#include <iterator>

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE quota_ledger::quota_ledger(const configuration& of) : of_(&of), frs_(of.fr_count()) {
  const queue_tree& tree = of.tree();
  cells_.resize(tree.size() * frs_);
  own_.resize(tree.size() * frs_);
  borrowers_.resize(tree.size() * frs_, 0);
  lendable_.resize(tree.size() * of.resource_count());

  std::vector<std::vector<fr_index>> provided(tree.size());
  for (auto node = tree.top_down().rbegin(); node != tree.top_down().rend(); ++node) {
    std::vector<fr_index>& here = provided[*node];
    for (const configuration::own_quota& one : of.quotas(*node)) {
      here.push_back(one.of);
      own_[at(*node, one.of)] = one.amounts;
    }
    for (const queue_index child : tree.children(*node))
      here.insert(here.end(), provided[child].begin(), provided[child].end());
    std::sort(here.begin(), here.end());
    here.erase(std::unique(here.begin(), here.end()), here.end());
    for (const fr_index one : here) gather(*node, one);
  }
  for (const std::vector<fr_index>& here : provided) {
    first_provided_.push_back(static_cast<std::uint32_t>(provided_.size()));
    provided_.insert(provided_.end(), here.begin(), here.end());
  }
  first_provided_.push_back(static_cast<std::uint32_t>(provided_.size()));
  for (const queue_index root : tree.roots())
    for (resource_index resource = 0; resource < of.resource_count(); ++resource) gather_lendable(root, resource);
}

GANGSCHED_INLINE void quota_ledger::gather(queue_index node, fr_index of) {
  cell& here = cells_[at(node, of)];
  const quota& own = own_[at(node, of)];
  here.subtree = own.nominal;
  here.borrowing_limit = own.borrowing_limit;
  if (!of_->is_queue(node)) {
    here.usage = 0;
    std::uint32_t& borrowers = borrowers_[at(node, of)];
    borrowers = 0;
    for (const queue_index child : of_->tree().children(node)) {
      const cell& below = cells_[at(child, of)];
      here.subtree = sum(here.subtree, difference(below.subtree, below.kept));
      here.usage = sum(here.usage, std::max<std::int64_t>(0, difference(below.usage, below.kept)));
      borrowers += below.usage > below.subtree ? 1 : 0;
    }
  }
  here.kept =
      own.lending_limit == unlimited ? 0 : std::max<std::int64_t>(0, difference(here.subtree, own.lending_limit));
}

GANGSCHED_INLINE void quota_ledger::gather_lendable(queue_index root, resource_index resource) {
  if (of_->is_queue(root)) return;
  std::vector<queue_index> cohorts{root};
  for (std::size_t next = 0; next < cohorts.size(); ++next) {
    const queue_index node = cohorts[next];
    std::int64_t& all = lendable_[node * of_->resource_count() + resource];
    all = 0;
    for (const fr_index one : provided(root))
      if (of_->resource_of(one) == resource) all = sum(all, potential(node, one));
    for (const queue_index child : of_->tree().children(node))
      if (!of_->is_queue(child)) cohorts.push_back(child);
  }
}

GANGSCHED_INLINE std::int64_t quota_ledger::available(queue_index node, fr_index of) const {
  const cell& here = cells_[at(node, of)];
  const queue_index parent = of_->tree().parent(node);
  if (parent == no_queue) return difference(here.subtree, here.usage);
  std::int64_t from_parent = available(parent, of);
  if (here.borrowing_limit != unlimited) {
    const std::int64_t stored = difference(here.subtree, here.kept);
    const std::int64_t used = std::max<std::int64_t>(0, difference(here.usage, here.kept));
    from_parent = std::min(from_parent, sum(difference(stored, used), here.borrowing_limit));
  }
  return sum(left_of_kept(here), from_parent);
}

GANGSCHED_INLINE std::int64_t quota_ledger::potential(queue_index node, fr_index of) const {
  const cell& here = cells_[at(node, of)];
  const queue_index parent = of_->tree().parent(node);
  if (parent == no_queue) return here.subtree;
  return std::min(sum(here.kept, potential(parent, of)), sum(here.subtree, here.borrowing_limit));
}

GANGSCHED_INLINE quota_ledger::fitting_subtree quota_ledger::lowest_that_fits(queue_index queue, fr_index of,
                                                                              std::int64_t amount) const {
  const queue_tree& tree = of_->tree();
  queue_index node = tree.parent(queue);
  if (node == no_queue) return {0, false};
  if (!borrows_with(queue, of, amount)) return {0, true};
  std::int64_t left = difference(amount, left_of_kept(cells_[at(queue, of)]));
  for (;; node = tree.parent(node)) {
    const bool is_root = tree.parent(node) == no_queue;
    if (is_root || !borrows_with(node, of, left)) return {tree.height(node), !is_root};
    left = difference(left, left_of_kept(cells_[at(node, of)]));
  }
}

GANGSCHED_INLINE dominant_share quota_ledger::share(queue_index node) const {
  dominant_share made{.weight = of_->weight(node)};
  const queue_index parent = of_->tree().parent(node);
  if (parent == no_queue) return made;
  const std::span<const fr_index> all = provided(node);
  for (std::size_t i = 0; i < all.size();) {
    const resource_index resource = of_->resource_of(all[i]);
    std::int64_t borrowed = 0;
    for (; i < all.size() && of_->resource_of(all[i]) == resource; ++i) {
      const cell& one = cells_[at(node, all[i])];
      if (const std::int64_t more = difference(one.usage, one.subtree); more > 0) borrowed = sum(borrowed, more);
    }
    if (borrowed == 0) continue;
    made.borrows = true;
    const std::int64_t lendable = lendable_[parent * of_->resource_count() + resource];
    if (lendable <= 0) continue;
    const double ratio = static_cast<double>(borrowed) * 1000.0 / static_cast<double>(lendable);
    if (ratio > made.unweighted ||
        (ratio == made.unweighted && made.resource != none && of_->resource(resource) < of_->resource(made.resource))) {
      made.unweighted = ratio;
      made.resource = resource;
    }
  }
  return made;
}

GANGSCHED_INLINE bool quota_ledger::borrows_any(queue_index node, std::span<const fr_amount> requested) const {
  if (of_->tree().parent(node) == no_queue) return false;
  const std::span<const fr_index> all = provided(node);
  return std::any_of(requested.begin(), requested.end(), [&](const fr_amount& one) {
    return one.amount > 0 && borrows_with(node, one.of, 0) && std::binary_search(all.begin(), all.end(), one.of);
  });
}

GANGSCHED_INLINE void quota_ledger::add(queue_index queue, fr_index of, std::int64_t amount) {
  for (queue_index node = queue; node != no_queue; node = of_->tree().parent(node)) {
    const std::size_t which = at(node, of);
    const std::int64_t local = left_of_kept(cells_[which]);
    set_usage(node, of, sum(cells_[which].usage, amount));
    if (amount <= local) return;
    amount = difference(amount, local);
  }
}

GANGSCHED_INLINE void quota_ledger::remove(queue_index queue, fr_index of, std::int64_t amount) {
  for (queue_index node = queue; node != no_queue; node = of_->tree().parent(node)) {
    const std::size_t which = at(node, of);
    const std::int64_t above = difference(cells_[which].usage, cells_[which].kept);
    set_usage(node, of, difference(cells_[which].usage, amount));
    if (above <= 0) return;
    amount = std::min(amount, above);
  }
}

GANGSCHED_INLINE void quota_ledger::end_trial(std::size_t from) noexcept {
  while (undo_.size() > from) {
    put_usage(undo_.back().node, undo_.back().of, undo_.back().usage);
    undo_.pop_back();
  }
  --trials_;
}

GANGSCHED_INLINE result<void> quota_ledger::set_quota(queue_index node, fr_index of, const quota& amounts) {
  if (node >= of_->tree().size())
    return error{errc::unknown, "quotas", "node", "there is no queue or cohort " + std::to_string(node)};
  if (of >= of_->fr_count())
    return error{errc::unknown, of_->tree().name(node), "quota",
                 "there is no resource and flavor " + std::to_string(of)};
  const auto wrong = [&](errc code, const char* reason) {
    return error{code, of_->tree().name(node), "quota of " + of_->resource(of_->resource_of(of)), reason};
  };
  const auto all = of_->quotas(node);
  if (std::none_of(all.begin(), all.end(), [&](const configuration::own_quota& one) { return one.of == of; }))
    return wrong(errc::unknown, "it has none in this flavor");
  if (amounts.nominal < 0 || amounts.borrowing_limit < 0 || amounts.lending_limit < 0)
    return wrong(errc::out_of_range, "has a negative amount");
  if (trials_ > 0) return wrong(errc::wrong_state, "a trial is open");
  own_[at(node, of)] = amounts;
  for (queue_index above = node; above != no_queue; above = of_->tree().parent(above)) gather(above, of);
  gather_lendable(of_->tree().root_of(node), of_->resource_of(of));
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
