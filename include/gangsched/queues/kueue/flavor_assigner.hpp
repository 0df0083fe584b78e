#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/queues/kueue/assignment.hpp"
#include "gangsched/queues/kueue/workload_shape.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// Whether preemption can make room for one amount of one resource in one flavor.
enum class preemption_outlook : std::uint8_t {
  no_candidates,
  preempt,  ///< some of the candidates are in the workload's own queue
  reclaim,  ///< all candidates are in other queues
};

struct oracle_answer {
  preemption_outlook outlook;
  std::uint32_t borrowing;  ///< the height of the smallest subtree with the room after the preemption
};

/// Tells whether preemption is possible for the workload that flavors are sought for.
class GANGSCHED_API preemption_oracle {
 public:
  virtual oracle_answer ask(fr_index of, std::int64_t amount) = 0;

 protected:
  ~preemption_oracle() = default;
};

/// Chooses flavors for workloads (Kueue 0.19, pkg/scheduler/flavorassigner). It keeps its buffers between calls, so that later calls need
/// not allocate.
class GANGSCHED_API flavor_assigner {
 public:
  /// @p on has to outlive it. @p fair_sharing: a queue that may reclaim may also preempt while it borrows.
  explicit flavor_assigner(const quota_ledger& on, bool fair_sharing = false) : on_(&on), fair_sharing_(fair_sharing) {}

  /// Looks for flavors for @p shape.
  /// @param counts pods of each pod set, of all with those that have finished; empty: all that have not.
  /// @param begin_with as `assignment::next_flavor` of an earlier search; empty: with the first flavors.
  /// @param pinned if given, only flavors that it has for the pod set and resource are looked at; it must be another one than @p made.
  /// @param made what it chose; what it held is overwritten.
  /// O(pod sets × flavors × (resources × depth + what the oracle takes)).
  void assign(const workload_shape& shape, std::span<const std::int32_t> counts,
              std::span<const std::uint32_t> begin_with, preemption_oracle& oracle, assignment& made,
              const assignment* pinned = nullptr);

 private:
  /// How well a flavor fits, finer than fit_mode.
  enum class grade : std::uint8_t { no_fit, no_candidates, preempt, reclaim, fit };
  struct rating {
    grade how;
    std::uint32_t borrowing;
  };

  [[nodiscard]] static fit_mode mode_of(grade how) noexcept;
  [[nodiscard]] static bool is_better(rating a, rating b, flavor_preference preference) noexcept;
  [[nodiscard]] bool may_try_next(rating one) const noexcept;
  [[nodiscard]] rating rate(fr_index of, std::int64_t amount, preemption_oracle& oracle) const;
  [[nodiscard]] std::int64_t amount_of(const workload_shape::request& one) const;
  /// Flavors for a pod set; false if it gets none.
  bool assign_pod_set(std::size_t number, std::span<const std::uint32_t> begin_with, preemption_oracle& oracle,
                      assignment& made);
  /// A flavor for the resources of a group, into chosen_; returns how well it fits, `no_fit` if there is none.
  grade choose(std::uint32_t group, resource_index first, std::uint32_t begin, preemption_oracle& oracle,
               const assignment& made);
  rating try_flavor(std::uint32_t group, flavor_index flavor, preemption_oracle& oracle, const assignment& made,
                    std::uint32_t& most_borrowing);

  const quota_ledger* on_;
  bool fair_sharing_;
  // The workload of the current call, and its pod set.
  const workload_shape* shape_ = nullptr;
  const workload_shape::pod_set* pods_ = nullptr;
  std::int32_t count_ = 0;
  std::span<const chosen_flavor> pinned_;
  bool is_pinned_ = false;
  // Buffers.
  std::vector<chosen_flavor> chosen_, trying_, of_pod_set_;
  std::vector<flavor_attempt> tried_, of_groups_;
  std::vector<std::uint32_t> done_groups_;
  std::uint32_t next_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/flavor_assigner.cpp"
#endif
