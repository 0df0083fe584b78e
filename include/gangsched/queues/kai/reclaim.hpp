#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/kai/queue_shares.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

/// A job that would take from other queues.
struct reclaimer {
  queue_index queue = no_queue;
  amounts request = {};
  bool preemptible = true;
};

/// What is taken at once from a queue: a pod beyond a job's minimum, or all pods that the minimum needs.
struct reclaimee {
  queue_index queue = no_queue;
  amounts held = {};
};

/// Whether @p by may reclaim at all: its queue stays within its fair share with it and, if it is not preemptible, within what it deserves.
/// To be called before a search for victims; `reclaim_plan` does not check it.
[[nodiscard]] GANGSCHED_API bool can_reclaim(const queue_shares& shares, const reclaimer& by);

/// Whether a search for victims has to look at jobs of this queue, judged at the level of comparison, as in 0.17. If @p by's side stays
/// within what it deserves: whether the queue's side holds more than it deserves of a requested resource, or less than that of none (its
/// jobs may be moved). Otherwise: whether the queue's side is above what it may hold. O(depth · resources).
[[nodiscard]] GANGSCHED_API bool may_have_victims(const queue_shares& shares, const reclaimer& by, queue_index queue);

/// Victims of other queues for one job, one after another, and whether the tree allows them. Queues are compared at the level below the
/// lowest queue that is above both; roots are siblings. The shares have to outlive the plan and must not change meanwhile. A plan that is
/// used again allocates nothing.
class GANGSCHED_API reclaim_plan {
 public:
  /// Starts a new plan. @param saturation_multiplier at least 1: by how much more saturated than the reclaimer a queue has to be.
  void begin(const queue_shares& shares, const reclaimer& by, double saturation_multiplier = 1);

  /// Whether another victim of this queue may be taken. At the level of comparison, what is left to the queue's side must be above what it
  /// may hold in some resource (so it keeps its fair share), or above what it deserves in some resource while the reclaimer's side stays
  /// within what that deserves in all. O(depth · resources).
  [[nodiscard]] bool may_take_from(queue_index queue) const;
  /// Takes the victim, without a check. O(depth · resources).
  void take(const reclaimee& victim);

  /// Whether the plan may be carried out. On each level above the reclaimer, for each sibling that gave something and each resource that
  /// was requested or taken there: the reclaimer's side may not be above its fair share and, times the multiplier, as saturated as the
  /// sibling (unless that has no fair share). A job that is not preemptible also stays within what each queue above it deserves.
  [[nodiscard]] bool keeps_balance() const;

 private:
  static constexpr std::uint32_t untouched = ~std::uint32_t{0};

  [[nodiscard]] double remaining(queue_index queue, std::size_t resource) const;

  const queue_shares* shares_ = nullptr;
  queue_index queue_ = no_queue;
  bool preemptible_ = true;
  double multiplier_ = 1;
  std::vector<double> request_;            ///< by resource
  std::vector<queue_index> touched_;       ///< queues that lost something, and all above them
  std::vector<std::uint32_t> place_;       ///< by queue: its index in touched_
  std::vector<double> remaining_;          ///< by index in touched_, then resource: what is left
  std::vector<unsigned char> taken_from_;  ///< by index in touched_, then resource: whether some was taken
};

/// Whether @p by may take all these victims, in this order: each is allowed when it is taken, and the result keeps the balance.
[[nodiscard]] GANGSCHED_API bool may_reclaim(const queue_shares& shares, const reclaimer& by,
                                             std::span<const reclaimee> victims, reclaim_plan& scratch,
                                             double saturation_multiplier = 1);

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kai/reclaim.cpp"
#endif
