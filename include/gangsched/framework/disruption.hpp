#pragma once
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "gangsched/framework/views.hpp"

/// Which pods are evicted together with a pod, and the importance of such a unit (KEP-5710).
namespace gangsched::inline GANGSCHED_ABI {

/// The group that is evicted as a whole when the pod is: the highest one above it with disruption `all`. O(depth).
[[nodiscard]] inline std::optional<group_view> disrupted_with(const pod_info& pod) {
  std::optional<group_view> found;
  for (std::optional<group_view> up = pod.group(); up; up = up->parent()) {
    if (up->spec().disruption == disruption_mode::all) found = up;
  }
  return found;
}

/// Whether evicting the pod may evict other pods, on other nodes too: the pod is in a group that is disrupted as a whole, or in a gang that
/// is when its surplus is used up. O(depth).
[[nodiscard]] inline bool takes_others_along(const pod_info& pod) {
  return disrupted_with(pod) || (pod.group() && pod.group()->spec().disruption == disruption_mode::surplus);
}

/// The priority of a tree of groups: its root's own, else that of its most important pod.
[[nodiscard]] inline std::int32_t tree_priority(const group_view& group) {
  const group_view root = group.root();
  if (root.spec().priority) return *root.spec().priority;
  std::optional<std::int32_t> most;
  root.each_pod_below([&](const pod_info& pod) { most = std::max(most.value_or(pod.priority()), pod.priority()); });
  return most.value_or(0);
}

/// The priority that protects a running pod: that of its tree of groups, whatever the pod's own; without a group its own. Until 1.36
/// a pod that is disrupted alone is protected by its own.
[[nodiscard]] inline std::int32_t victim_priority(const pod_info& pod) {
  const std::optional<group_view> group = pod.group();
  if (!group) return pod.priority();
  if (pod.semantics().release() < kube_release::v1_37 && group->spec().disruption != disruption_mode::all)
    return pod.priority();
  return tree_priority(*group);
}

/// Whether any pod on a node may have a lower priority, its own or its group's. O(groups).
[[nodiscard]] inline bool anybody_below(const cluster_view& cluster, std::int32_t priority) {
  const std::optional<std::int32_t> lowest = cluster.lowest_priority();
  if (!lowest || *lowest < priority) return lowest.has_value();
  bool any = false;
  cluster.each_group([&](const group_view& group) {
    if (any || group.assumed() + group.bound() == 0) return;
    const std::optional<std::int32_t> own = group.root().spec().priority;  // absent: that of one of its pods
    any = own && *own < priority;
  });
  return any;
}

/// Whether pods accepted by counts(pod_info) have yet to leave the node that the pod is nominated to. O(pods of the node).
template <class Counts>
[[nodiscard]] bool awaits_victims(const pod_info& pod, const Counts& counts) {
  bool any = false;
  if (const std::optional<node_info> node = pod.nominated_node())
    node->each_pod(
        [&](const pod_info& other) { any = any || (other.terminating() && other.preempted() && counts(other)); });
  return any;
}
[[nodiscard]] inline bool awaits_victims(const pod_info& pod) {
  return awaits_victims(pod, [](const pod_info&) { return true; });
}

/// A pod without a start time counts as started now: the youngest. The result can be negated.
[[nodiscard]] inline instant victim_start(const pod_info& pod) {
  return std::max(pod.start_time().value_or(instant::max()), -instant::max());
}

/// The members of a group that are on nodes, most important first: by priority, start and arrival. If a gang's disruption is `surplus`, the
/// first min_count of them are what the gang needs; the others can go one by one.
[[nodiscard]] inline std::vector<pod_info> running_members(const group_view& group) {
  std::vector<pod_info> all;
  group.each_member([&](const pod_info& member) {
    if (member.node()) all.push_back(member);
  });
  std::sort(all.begin(), all.end(), [](const pod_info& a, const pod_info& b) {
    if (a.priority() != b.priority()) return a.priority() > b.priority();
    return victim_start(a) != victim_start(b) ? victim_start(a) < victim_start(b) : a.arrival() < b.arrival();
  });
  return all;
}

/// Whether a group that moves (full_domain::move) is leaving its nodes: it has members on nodes, and all of them terminate. O(members).
[[nodiscard]] inline bool is_moving(const group_view& group) {
  if (group.spec().topology.when_full != full_domain::move) return false;
  bool any = false, all = true;
  group.each_pod_below([&](const pod_info& member) {
    if (member.node()) any = true, all = all && member.terminating();
  });
  return any && all;
}

/// What victims are compared by. A unit is a pod, or pods that are evicted together.
struct victim_rank {
  std::int32_t priority = 0;
  std::uint8_t kind = 0;  ///< 2: groups of groups; 1: groups; 0: pods
  std::uint32_t pods = 1;
  instant start{};            ///< the earliest of its pods
  std::uint64_t arrival = 0;  ///< of its first pod; Kubernetes has the UID

  /// Whether the unit is to be kept before @p other.
  [[nodiscard]] bool more_important(const victim_rank& other) const noexcept {
    if (priority != other.priority) return priority > other.priority;
    if (kind != other.kind) return kind > other.kind;
    if (pods != other.pods) return pods > other.pods;
    return start != other.start ? start < other.start : arrival < other.arrival;
  }
};

/// Disruption budgets, with the disruptions that each still allows.
class open_budgets {
 public:
  explicit open_budgets(const cluster_view& cluster) {
    cluster.each_budget([&](const budget_view& one) { all_.push_back({one, 0}); });
  }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// Resets every budget to the disruptions that it allows.
  void open() {
    for (entry& one : all_) one.allowed = one.budget.spec().disruptions_allowed;
  }
  /// Charges the pod to every budget that covers it, or that covers(budget_view) says does. Returns whether a budget is exceeded.
  bool charge(const pod_info& pod) {
    return charge(pod, [&](const budget_view& one) { return one.covers(pod); });
  }
  template <class Covers>
  bool charge(const pod_info& pod, const Covers& covers) {
    bool violates = false;
    for (entry& one : all_) {
      if (!covers(one.budget) || one.budget.disrupts(pod)) continue;
      if (--one.allowed < 0) violates = true;
    }
    return violates;
  }
  /// Charges the pod up to the first exceeded budget, as kube-scheduler charges units (until 1.36). Returns whether there is one.
  bool charge_to_first(const pod_info& pod) {
    for (entry& one : all_) {
      if (!one.budget.covers(pod) || one.budget.disrupts(pod)) continue;
      if (--one.allowed < 0) return true;
    }
    return false;
  }

 private:
  struct entry {
    budget_view budget;
    std::int64_t allowed;
  };
  std::vector<entry> all_;
};

}  // namespace gangsched::inline GANGSCHED_ABI
