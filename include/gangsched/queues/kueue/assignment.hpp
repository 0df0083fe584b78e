#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/queues/kueue/quota_ledger.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// What a workload needs before it can have a flavor, from the worst.
enum class fit_mode : std::uint8_t {
  no_fit,        ///< no preemption could help now
  preempt,       ///< needs preemption; whether any is possible is checked later
  deferred_fit,  ///< others are already being preempted for another workload, and then there is room for both
  fit,
};

/// A flavor for a resource of a pod set.
struct chosen_flavor {
  resource_index resource;
  flavor_index flavor;
  fit_mode mode;
  std::uint32_t borrowing;  ///< height of the smallest subtree that has the room; 0: the queue itself
  std::int64_t amount;      ///< for all pods
};

/// A flavor that was tried for a pod set: the worst result over the resources requested of it.
struct flavor_attempt {
  flavor_index flavor;
  fit_mode mode;
  std::uint32_t borrowing;
};

/// Flavors for a workload. Data of pod sets is in one list for all of them, so that the lists can be reused.
struct assignment {
  struct pod_set {
    std::int32_t count = 0;                             ///< pods that the flavors are for
    std::uint32_t first_flavor = 0, last_flavor = 0;    ///< in `flavors`; none if the pod set has none
    std::uint32_t first_attempt = 0, last_attempt = 0;  ///< in `attempts`, sorted by the names of the flavors
  };
  fit_mode mode = fit_mode::no_fit;  ///< the worst over the pod sets
  std::uint32_t borrowing = 0;       ///< the greatest over their flavors
  std::vector<pod_set> pod_sets;     ///< up to the first that gets no flavors
  std::vector<chosen_flavor> flavors;
  std::vector<flavor_attempt> attempts;
  std::vector<fr_amount> usage;  ///< of all pod sets together, amounts of 0 too
  /// By pod set and resource group of the queue: the flavor with which the next search begins; 0 if all have been tried.
  std::vector<std::uint32_t> next_flavor;

  [[nodiscard]] std::span<const chosen_flavor> flavors_of(const pod_set& one) const {
    return std::span{flavors}.subspan(one.first_flavor, one.last_flavor - one.first_flavor);
  }
  [[nodiscard]] std::span<const flavor_attempt> attempts_of(const pod_set& one) const {
    return std::span{attempts}.subspan(one.first_attempt, one.last_attempt - one.first_attempt);
  }
  /// Whether a search stopped before the last flavor.
  [[nodiscard]] bool has_pending_flavors() const {
    return std::any_of(next_flavor.begin(), next_flavor.end(), [](std::uint32_t next) { return next != 0; });
  }
};

/// Adds to the amount of @p of in @p all, which need not have it. O(all).
inline void count_in(std::vector<fr_amount>& all, fr_index of, std::int64_t amount) {
  for (fr_amount& one : all) {
    if (one.of != of) continue;
    one.amount = sum(one.amount, amount);
    return;
  }
  all.push_back({of, amount});
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
