#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/queues/kueue/quota_ledger.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

using workload_id = id<struct kueue_workload_tag>;

/// What the order of workloads, and the rules of preemption, depend on.
struct workload_record {
  std::string name;
  std::string uid;
  queue_index queue = no_queue;
  std::uint32_t local = 0;  ///< its local queue, where those count
  std::int32_t priority = 0;
  instant created = {};
  // Of an admitted one:
  bool admitted = false;
  bool evicted = false;  ///< its eviction was requested and is not complete: it still uses its quota
  bool away = false;     ///< not a candidate, because a trial has removed it
  instant reserved_at = {};
  std::vector<fr_amount> usage = {};  ///< of every resource in its flavors, amounts of 0 too
};

/// Workloads by row, and the admitted ones of each queue.
class GANGSCHED_API workload_table {
 public:
  explicit workload_table(std::size_t nodes = 0) : admitted_(nodes), of_queue_(nodes) {}

  [[nodiscard]] workload_id add(workload_record record);
  /// @pre the workload has no quota
  void erase(row_t row) noexcept;
  [[nodiscard]] bool knows(workload_id id) const noexcept {
    return id.row < records_.size() && generations_[id.row] == id.generation && live_[id.row] != 0;
  }
  [[nodiscard]] workload_id id_of(row_t row) const noexcept { return {row, generations_[row]}; }
  /// All rows are below this.
  [[nodiscard]] row_t rows() const noexcept { return static_cast<row_t>(records_.size()); }
  [[nodiscard]] std::size_t size() const noexcept { return records_.size() - free_.size(); }

  [[nodiscard]] const workload_record& operator[](row_t row) const noexcept { return records_[row]; }
  void set_evicted(row_t row, bool evicted) noexcept { records_[row].evicted = evicted; }
  void set_away(row_t row, bool away) noexcept { records_[row].away = away; }
  /// @pre it is in no queue
  void set_created(row_t row, instant created) noexcept { records_[row].created = created; }

  /// Records that a workload has its quota. The ledger is the caller's. O(usage).
  void admit(row_t row, instant at, std::span<const fr_amount> usage) {
    make_room(row, usage.size());
    note_admitted(row, at, usage);
  }
  /// admit() in two parts: first what allocates, then the rest.
  void make_room(row_t row, std::size_t amounts);
  void note_admitted(row_t row, instant at, std::span<const fr_amount> usage) noexcept;
  /// Records that its quota was released. O(1).
  void withdraw(row_t row) noexcept;
  /// The admitted workloads of @p queue, in no order.
  [[nodiscard]] std::span<const row_t> admitted(queue_index queue) const { return admitted_[queue]; }

 private:
  std::vector<workload_record> records_;
  std::vector<std::uint32_t> generations_;
  std::vector<char> live_;
  std::vector<std::uint32_t> place_;  ///< in its queue's list
  std::vector<row_t> free_;
  std::vector<std::vector<row_t>> admitted_;  ///< by node of the tree
  std::vector<std::size_t> of_queue_;         ///< likewise: how many there are
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/workload_table.cpp"
#endif
