#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/queues/kueue/cycle_entry.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// The order of entries without fair sharing: by the height of the subtree that they borrow in, then higher priority, then earlier
/// creation, then by uid, then as they come. O(n log n).
GANGSCHED_API void order_classically(std::span<const cycle_entry> entries, const workload_table& workloads,
                                     std::vector<std::uint32_t>& order);

/// The order of entries with fair sharing: a tournament in each tree, again after each entry. In a cohort its children's best entries are
/// compared, each by the share of that child with the entry's usage: entries that borrow nothing they request first, then the smaller
/// share, then higher priority, then earlier creation, then by uid, then cohorts before queues, in the host's order.
///
/// Only shares on the path of the entry that was taken last change, so only those are computed again.
class GANGSCHED_API fair_tournament {
 public:
  /// Both have to outlive it.
  fair_tournament(quota_ledger& on, const workload_table& workloads);

  /// Begins with @p entries, one of a queue at most. O(n × (depth + log n)).
  void begin(std::span<const cycle_entry> entries);
  /// The next one; `none` at the end. Trees follow each other as their first entries do. O(depth × (cohorts below a node +
  /// flavor-resources)).
  std::uint32_t next();

  /// All shares that the choice of the next entry of @p of 's tree is made by. O(entries × depth).
  void describe(std::uint32_t of, tournament& made) const;

 private:
  struct contestant {
    std::uint32_t entry = none;
    bool borrows = false;  ///< any of what is requested
    dominant_share share;
  };
  struct cohort_state {
    std::vector<contestant> queues;    ///< below it, the best one last
    std::vector<queue_index> cohorts;  ///< below it, that have entries
    contestant best;                   ///< of all below it, by its own share
    bool is_stale = true;
    bool is_listed = false;
  };

  [[nodiscard]] contestant rate(queue_index node, std::uint32_t entry) const;
  [[nodiscard]] bool goes_before(const contestant& a, const contestant& b) const;
  [[nodiscard]] std::uint32_t best_below(queue_index cohort);

  quota_ledger* on_;
  const workload_table* workloads_;
  std::span<const cycle_entry> entries_;
  std::vector<cohort_state> cohorts_;  ///< by node
  std::vector<queue_index> listed_;
  std::vector<char> taken_;
  std::uint32_t first_left_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/entry_order.cpp"
#endif
