#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include "gangsched/kube/manifests.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// How many of their pods disruption budgets let go, as the disruption controller counts them while pods come and go. Budgets and labels of
/// pods do not change.
class budget_counts {
 public:
  /// How a pod counts for its budgets.
  struct standing {
    bool expected = false;  ///< its controller wants it, or the one that comes instead
    bool healthy = false;
    friend bool operator==(standing, standing) = default;
  };

  /// @p of has to outlive it. O(budgets).
  explicit budget_counts(const manifests& of);

  /// A pod that comes last of all; it does not count yet. O(budgets that have one of its labels first in their selector).
  void add(const pod_manifest& pod);
  /// The pod may count otherwise than before.
  void note(std::size_t pod) {
    if (!of_pod_[pod].empty()) noted_.push_back(pod);
  }
  /// Everything counts as @p now(pod) says from now on, and to that what statuses of budgets say refers. O(noted pods).
  template <class Now>
  void begin(const Now& now) {
    count(now);
    for (counts& one : counts_) one.at_start = one.spare(), one.is_new = true;
  }
  /// Counts the pods that were noted as @p now(pod) says, and calls changed(budget, allowed) for each budget that allows another number
  /// than it was called with last. O(noted pods · their budgets).
  template <class Now, class Changed>
  void settle(const Now& now, const Changed& changed) {
    count(now);
    for (const std::size_t i : std::exchange(stale_, {})) {
      counts& one = counts_[i];
      one.is_stale = false;
      const std::int32_t allowed = one.allowed();
      if (!std::exchange(one.is_new, false) && allowed == one.told) continue;
      one.told = allowed;
      changed(i, allowed);
    }
  }

 private:
  struct counts {
    const disruption_budget_manifest* of;
    std::int64_t expected = 0, healthy = 0;
    std::int64_t at_start = 0;  ///< spare then
    std::int32_t told = 0;
    bool is_stale = true, is_new = true;

    /// How many healthy pods are not needed; below 0: so many are missing.
    [[nodiscard]] std::int64_t spare() const { return healthy - healthy_pods_wanted(*of, expected); }
    [[nodiscard]] std::int32_t allowed() const;
  };
  using part = std::tuple<std::string, std::string, std::string>;  // namespace, label, value

  void find(const part& where, const pod_manifest& pod, std::vector<std::size_t>& to) const;
  void set(std::size_t pod, standing now);
  template <class Now>
  void count(const Now& now) {
    for (const std::size_t pod : std::exchange(noted_, {})) set(pod, now(pod));
  }

  std::map<part, std::vector<std::size_t>> by_label_;  // budgets, by the first label of their selectors
  std::vector<counts> counts_;
  std::vector<std::vector<std::size_t>> of_pod_;  // budgets
  std::vector<standing> standings_;               // of pods
  std::vector<std::size_t> noted_, stale_;        // pods; budgets
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
