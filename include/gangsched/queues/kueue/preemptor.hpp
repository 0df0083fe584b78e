#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/queues/kueue/fair_sharing.hpp"
#include "gangsched/queues/kueue/flavor_assigner.hpp"
#include "gangsched/queues/kueue/local_usage.hpp"
#include "gangsched/queues/kueue/workload_table.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// Why a workload is preempted.
enum class preemption_reason : std::uint8_t {
  in_queue,                 ///< for a more important one of its queue
  reclamation,              ///< for a queue nearer to its quota (InCohortReclamation)
  fair_sharing,             ///< for a queue with a smaller share (InCohortFairSharing)
  reclaim_while_borrowing,  ///< for a more important one that borrows (InCohortReclaimWhileBorrowing)
};

struct preemption_target {
  row_t workload;
  preemption_reason reason;
  friend bool operator==(const preemption_target&, const preemption_target&) = default;
};

/// The preemptor, and what it needs.
struct preemption_request {
  queue_index queue;
  std::int32_t priority;
  instant created;
  std::span<const fr_amount> usage;    ///< everything that has to fit
  std::span<const fr_index> short_of;  ///< what is lacking: candidates use some of that
};

/// Finds workloads to preempt for another one (Kueue 0.19, pkg/scheduler/preemption). Trial changes of the ledger are undone.
class GANGSCHED_API preemptor {
 public:
  /// All have to outlive it. @p usage: of local queues, for queues that go by it.
  preemptor(quota_ledger& on, const workload_table& workloads, fair_sharing_options sharing,
            const local_usage* usage = nullptr)
      : on_(&on), workloads_(&workloads), sharing_(sharing), usage_(usage) {}

  /// Writes the workloads that must be preempted for @p wants to @p found; none if that would not help. The set is minimal in Kueue's
  /// order. O(candidates + those tried × (log candidates + usage × depth)), with fair sharing × children of the cohorts.
  void find(const preemption_request& wants, std::vector<preemption_target>& found);

  /// Whether preemption can make room for an amount of one resource in one flavor, and how high the workload then borrows.
  oracle_answer simulate(const preemption_request& who, fr_index of, std::int64_t amount);

 private:
  class fair_targets;
  enum class variant : std::uint8_t { hierarchical, by_priority_borrowing, by_priority, same_queue };
  struct candidate {
    row_t workload;
    variant how;
    queue_index ancestor;  ///< the lowest cohort that it and the preemptor are in
  };

  void find_classical();
  void find_fair();

  // Shared by both.
  [[nodiscard]] bool policy_allows(const workload_record& other, victim_policy policy) const;
  [[nodiscard]] bool uses_what_is_short(const workload_record& other) const;
  /// Whether the node stays within its quota of everything that is lacking.
  [[nodiscard]] bool is_within_nominal(queue_index node) const;
  /// Whether a child of the cohort borrows any of that.
  [[nodiscard]] bool has_borrowing_children(queue_index cohort) const;
  /// Whether @p a goes before @p b.
  [[nodiscard]] bool goes_before(row_t a, row_t b) const;
  [[nodiscard]] bool fits(bool may_borrow) const;
  /// Removes the workload for the rest of the trial.
  void take(row_t workload, preemption_reason reason);
  /// Puts back the workloads whose usage need not be freed.
  void put_back(bool may_borrow);

  void collect_classical();
  /// Whether @p a is preempted before @p b, of classical candidates.
  [[nodiscard]] bool is_before(const candidate& a, const candidate& b) const;
  /// The candidate that is preempted after @p at others. O(log candidates) the first time, O(1) then.
  [[nodiscard]] const candidate& candidate_at(std::size_t at);
  void collect_below(queue_index cohort, queue_index ancestor, queue_index skip, bool is_nearer);
  void collect_queue(queue_index queue, queue_index ancestor, bool is_nearer);
  [[nodiscard]] variant classify(const workload_record& other, bool is_nearer) const;
  [[nodiscard]] bool is_valid(const candidate& one, bool may_borrow) const;
  bool try_classical(bool may_borrow);

  void collect_fair(std::vector<row_t>& into);
  bool run_first_strategy(fair_targets& targets, std::vector<row_t>& refused);
  bool run_second_strategy(fair_targets& targets);
  [[nodiscard]] bool fits_once_added() const;

  quota_ledger* on_;
  const workload_table* workloads_;
  fair_sharing_options sharing_;
  const local_usage* usage_;
  // Of the current search for targets:
  const preemption_request* wants_ = nullptr;
  std::vector<preemption_target>* found_ = nullptr;
  std::vector<candidate> candidates_;  ///< a heap, followed by those taken off it, the first one last
  std::size_t in_heap_ = 0;
  std::vector<fr_amount> left_;
  std::vector<queue_index> nodes_;
  std::vector<preemption_target> simulated_;
};

/// An oracle about one workload.
class workload_oracle final : public preemption_oracle {
 public:
  workload_oracle(preemptor& by, queue_index queue, std::int32_t priority, instant created)
      : by_(&by), who_{queue, priority, created, {}, {}} {}
  oracle_answer ask(fr_index of, std::int64_t amount) override { return by_->simulate(who_, of, amount); }

 private:
  preemptor* by_;
  preemption_request who_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/classical_preemption.cpp"
#include "gangsched/src/queues/kueue/fair_preemption.cpp"
#include "gangsched/src/queues/kueue/preemptor.cpp"
#endif
