#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/queues/kueue/entry_order.hpp"
#include "gangsched/queues/kueue/pods_ready.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

struct admission_options {
  fair_sharing_options fair_sharing = {};
  bool partial_admission = true;
  /// An entry whose targets are already preempted for another entry looks for flavors and targets again, as if those were gone (Kueue's
  /// gate RecomputeAssignmentUponPreemptionTargetsOverlap, off there too); otherwise it is skipped.
  bool recompute_overlapping_targets = false;
  local_usage_options local_usage = {};  ///< of queues with by_local_usage
  pods_ready_options pods_ready = {};
  bool describe_tournaments = false;  ///< records the shares by which each entry was chosen: O(entries²) a cycle
};

/// How many workloads may be admitted in a cycle; preemptions are issued anyway.
enum class admission_gate : std::uint8_t { open, one, closed };

/// A workload whose preemption was issued in this cycle.
struct issued_preemption {
  row_t workload;
  preemption_reason reason;
  row_t by;
};

/// One scheduling cycle: the outcome of each queue's head (Kueue 0.19, pkg/scheduler/scheduler.go). It decides, and changes nothing: trial
/// changes of the ledger are undone.
class GANGSCHED_API admission_cycle {
 public:
  /// All arguments but the options have to outlive it.
  admission_cycle(quota_ledger& on, workload_table& workloads, const shape_pool& shapes,
                  const admission_options& options, const local_usage* usage = nullptr);

  /// Forgets the last cycle. Its entries keep their memory.
  void begin() noexcept;
  /// Finds flavors and targets for the head of a queue, in the present state. @p begin_with as for `flavor_assigner::assign`.
  void nominate(row_t workload, shape_index shape, std::span<const std::uint32_t> begin_with);
  /// Processes the entries in their order. Each is judged with the usage of those before it that were admitted, preempt or reserve, and
  /// without all victims so far.
  void run(admission_gate gate = admission_gate::open);

  /// In the order in which they were nominated.
  [[nodiscard]] std::span<const cycle_entry> entries() const noexcept { return {entries_.data(), count_}; }
  /// The order in which they were processed; trees are independent of each other.
  [[nodiscard]] std::span<const std::uint32_t> order() const noexcept { return order_; }
  [[nodiscard]] std::span<const issued_preemption> preempted() const noexcept { return issued_; }
  [[nodiscard]] std::span<const tournament> tournaments() const noexcept { return tournaments_; }

 private:
  /// Finds flavors for an entry and, if needed, targets; with fewer pods if that helps and is allowed.
  void look_for_flavors(cycle_entry& entry, std::span<const std::uint32_t> begin_with, const assignment* pinned);
  /// Whether an assignment is usable: it fits, or there are targets.
  bool would_do(const cycle_entry& entry, const assignment& made, std::vector<preemption_target>& targets);
  bool reduce_counts(cycle_entry& entry, std::span<const std::uint32_t> begin_with, const assignment* pinned);
  void process(cycle_entry& entry);
  /// Whether its usage fits without its targets and all victims so far.
  [[nodiscard]] bool fits_at_last(const cycle_entry& entry);
  void recompute(cycle_entry& entry);
  void reserve(const cycle_entry& entry);
  [[nodiscard]] bool is_victim(row_t workload) const noexcept {
    return workload < victim_of_.size() && victim_of_[workload] == cycle_;
  }
  [[nodiscard]] bool has_victim(std::span<const preemption_target> targets) const noexcept;

  quota_ledger* on_;
  workload_table* workloads_;
  const shape_pool* shapes_;
  admission_options options_;
  flavor_assigner assigner_;
  preemptor preemptor_;
  fair_tournament tournament_;

  std::vector<cycle_entry> entries_;
  std::size_t count_ = 0;
  std::vector<std::uint32_t> order_;
  std::vector<issued_preemption> issued_;
  std::vector<tournament> tournaments_;
  std::vector<row_t> victims_;
  std::vector<std::uint64_t> victim_of_;  ///< by workload: the last cycle in which it was one
  std::uint64_t cycle_ = 0;
  admission_gate gate_ = admission_gate::open;

  // Buffers.
  std::vector<fr_amount> needs_;
  std::vector<fr_index> short_of_;
  std::vector<std::int32_t> counts_;
  assignment trying_;
  std::vector<preemption_target> trying_targets_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/admission_cycle.cpp"
#endif
