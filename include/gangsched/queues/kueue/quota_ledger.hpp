#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/queues/kueue/configuration.hpp"
#include "gangsched/queues/kueue/dominant_share.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// An amount of a resource in a flavor.
struct fr_amount {
  fr_index of;
  std::int64_t amount;
  friend bool operator==(const fr_amount&, const fr_amount&) = default;
};

/// Quota and usage of every node (queue or cohort), for each resource in each flavor, in one array by node and fr_index.
///
/// A node has the subtree quota S: its own nominal quota plus what its children do not keep. It keeps max(0, S - lending limit), and its
/// parent sees the rest of S. Of the node's usage U the parent sees max(0, U - kept). (Kueue 0.19, pkg/cache/scheduler/resource_node.go, to
/// the last unit, also where amounts overflow.)
class GANGSCHED_API quota_ledger {
 public:
  /// Quotas as in @p of, and no usage. @p of has to outlive it. O(nodes × flavor-resources).
  explicit quota_ledger(const configuration& of);

  [[nodiscard]] const configuration& of() const noexcept { return *of_; }

  [[nodiscard]] const quota& own(queue_index node, fr_index of) const { return own_[at(node, of)]; }
  /// S above.
  [[nodiscard]] std::int64_t subtree_quota(queue_index node, fr_index of) const { return cells_[at(node, of)].subtree; }
  [[nodiscard]] std::int64_t kept(queue_index node, fr_index of) const { return cells_[at(node, of)].kept; }
  [[nodiscard]] std::int64_t usage(queue_index node, fr_index of) const { return cells_[at(node, of)].usage; }
  /// What the node or a node below it has quota of, ascending.
  [[nodiscard]] std::span<const fr_index> provided(queue_index node) const {
    return std::span{provided_}.subspan(first_provided_[node], first_provided_[node + 1] - first_provided_[node]);
  }

  /// What the node may still use, within its cohorts' room and all borrowing limits; negative if they are exceeded. O(depth).
  [[nodiscard]] std::int64_t available(queue_index node, fr_index of) const;
  /// The same, at least 0.
  [[nodiscard]] std::int64_t room(queue_index queue, fr_index of) const {
    return std::max<std::int64_t>(0, available(queue, of));
  }
  /// What it could use if nothing ran. O(depth).
  [[nodiscard]] std::int64_t potential(queue_index node, fr_index of) const;
  /// Whether it would use more than S with @p more.
  [[nodiscard]] bool borrows_with(queue_index node, fr_index of, std::int64_t more) const {
    const cell& one = cells_[at(node, of)];
    return one.subtree < sum(one.usage, more);
  }

  /// How many of its children use more than their quota.
  [[nodiscard]] std::uint32_t borrowing_children(queue_index node, fr_index of) const {
    return borrowers_[at(node, of)];
  }

  struct fitting_subtree {
    std::uint32_t height;  ///< 0: the queue alone
    bool below_root;       ///< it is not the whole tree
  };
  /// The smallest subtree with room for @p amount; the whole tree if none has it. O(depth).
  [[nodiscard]] fitting_subtree lowest_that_fits(queue_index queue, fr_index of, std::int64_t amount) const;

  /// What the node borrows as a part of what its parent may have; empty for roots. O(flavor-resources provided).
  [[nodiscard]] dominant_share share(queue_index node) const;
  /// Whether it borrows any resource of @p requested with an amount above 0; false for roots. O(requested).
  [[nodiscard]] bool borrows_any(queue_index node, std::span<const fr_amount> requested) const;

  /// Changes the usage of a queue, and of its cohorts as far as it reaches them. O(depth). An amount may be negative only in `add`, as in
  /// Kueue: then only the queue's own usage shrinks.
  void add(queue_index queue, fr_index of, std::int64_t amount);
  void remove(queue_index queue, fr_index of, std::int64_t amount);
  void add(queue_index queue, std::span<const fr_amount> all) {
    for (const fr_amount& one : all) add(queue, one.of, one.amount);
  }
  void remove(queue_index queue, std::span<const fr_amount> all) {
    for (const fr_amount& one : all) remove(queue, one.of, one.amount);
  }

  /// Changes a quota of a node that has one of this resource in this flavor. O(children of the nodes above it + the nodes of its tree).
  /// Error: `unknown`, `out_of_range` (negative), naming the node; also while a trial is open: `wrong_state`.
  result<void> set_quota(queue_index node, fr_index of, const quota& amounts);

  /// Changes of usage during its life are undone when it is destroyed. Trials may be nested. O(changes).
  class trial {
   public:
    explicit trial(quota_ledger& on) noexcept : on_(&on), from_(on.undo_.size()) { ++on.trials_; }
    trial(const trial&) = delete;
    trial& operator=(const trial&) = delete;
    ~trial() { on_->end_trial(from_); }

   private:
    quota_ledger* on_;
    std::size_t from_;
  };

 private:
  struct cell {
    std::int64_t subtree = 0, kept = 0, usage = 0, borrowing_limit = unlimited;
  };
  struct change {
    queue_index node;
    fr_index of;
    std::int64_t usage;  ///< before
  };

  [[nodiscard]] std::size_t at(queue_index node, fr_index of) const { return node * frs_ + of; }
  [[nodiscard]] std::int64_t left_of_kept(const cell& one) const {
    return std::max<std::int64_t>(0, difference(one.kept, one.usage));
  }
  void put_usage(queue_index node, fr_index of, std::int64_t to) noexcept {
    cell& here = cells_[at(node, of)];
    const bool did_borrow = here.usage > here.subtree, borrows = to > here.subtree;
    here.usage = to;
    if (did_borrow == borrows) return;
    if (const queue_index parent = of_->tree().parent(node); parent != no_queue)
      borrowers_[at(parent, of)] += borrows ? 1u : ~0u;
  }
  void set_usage(queue_index node, fr_index of, std::int64_t to) {
    if (trials_ > 0) undo_.push_back({node, of, cells_[at(node, of)].usage});
    put_usage(node, of, to);
  }
  void end_trial(std::size_t from) noexcept;
  /// S, kept and U of a node from its own quota and its children; a queue's usage stays.
  void gather(queue_index node, fr_index of);
  void gather_lendable(queue_index root, resource_index resource);

  const configuration* of_;
  std::size_t frs_;
  std::vector<cell> cells_;
  std::vector<std::uint32_t> borrowers_;  ///< children with a usage above their S
  std::vector<quota> own_;
  std::vector<fr_index> provided_;
  std::vector<std::uint32_t> first_provided_;  ///< by node, and the end
  std::vector<std::int64_t> lendable_;  ///< by node and resource: what children of the node may have in all flavors
  std::vector<change> undo_;
  std::uint32_t trials_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/quota_ledger.cpp"
#endif
