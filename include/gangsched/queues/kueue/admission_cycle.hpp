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
  /// An entry whose targets go for another one already looks for flavors and targets again, as if those had gone (Kueue's gate
  /// RecomputeAssignmentUponPreemptionTargetsOverlap, off there too); otherwise it is skipped.
  bool recompute_overlapping_targets = false;
  local_usage_options local_usage = {};  ///< of queues that go by it
  pods_ready_options pods_ready = {};
  bool describe_tournaments = false;  ///< writes down the shares that each choice was made by: O(entries²) a cycle
};

/// How many may be admitted in a cycle; others may be asked to go all the same.
enum class admission_gate : std::uint8_t { open, one, closed };

/// A workload that is newly asked to go.
struct issued_preemption {
  row_t workload;
  preemption_reason reason;
  row_t by;
};

/// One scheduling cycle: what becomes of the heads of the queues (Kueue 0.19, pkg/scheduler/scheduler.go). It decides, and changes nothing:
/// what it tries on the ledger is taken back.
class GANGSCHED_API admission_cycle {
 public:
  /// All have to outlive it, but the options.
  admission_cycle(quota_ledger& on, workload_table& workloads, const shape_pool& shapes,
                  const admission_options& options, const local_usage* usage = nullptr);

  /// Forgets the last cycle. Its entries keep their memory.
  void begin() noexcept;
  /// Flavors and targets for the head of a queue, as things are. @p begin_with as for `flavor_assigner::assign`.
  void nominate(row_t workload, shape_index shape, std::span<const std::uint32_t> begin_with);
  /// Takes the entries in their order. Each is judged with the usage of those before it that were admitted, preempt or reserve,
  /// and without all victims so far.
  void run(admission_gate gate = admission_gate::open);

  /// In the order in which they were nominated.
  [[nodiscard]] std::span<const cycle_entry> entries() const noexcept { return {entries_.data(), count_}; }
  /// In which they were taken; trees are independent of each other.
  [[nodiscard]] std::span<const std::uint32_t> order() const noexcept { return order_; }
  [[nodiscard]] std::span<const issued_preemption> preempted() const noexcept { return issued_; }
  [[nodiscard]] std::span<const tournament> tournaments() const noexcept { return tournaments_; }

 private:
  /// Flavors for an entry and, if it needs that, who has to go; with fewer pods if that helps and is allowed.
  void look_for_flavors(cycle_entry& entry, std::span<const std::uint32_t> begin_with, const assignment* pinned);
  /// Whether an assignment would do: it fits, or there are targets.
  bool would_do(const cycle_entry& entry, const assignment& made, std::vector<preemption_target>& targets);
  bool reduce_counts(cycle_entry& entry, std::span<const std::uint32_t> begin_with, const assignment* pinned);
  void process(cycle_entry& entry);
  /// Whether its usage fits once its targets and all victims so far have gone.
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

  // What is written on.
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
