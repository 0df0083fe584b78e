#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "gangsched/framework/points.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/remembered.hpp"
#include "gangsched/policies/node_victims.hpp"
#include "gangsched/queues/capacity_scheduling/elastic_quota.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// scheduler-plugins' CapacityScheduling on the queues of the cluster (docs/queues/capacity-scheduling.md): which pods may run, and which
/// pods are preempted for which.
///
/// A queue without children is an elastic quota: `guaranteed` of all nodes together is its min, `limit` its max; no max if it names
/// nothing. Compared are all resources but pods, ephemeral-storage too; of more than 64 those that quotas name come first, after those with
/// fields. Pods without a queue have no quota: nothing limits them, and they preempt only each other. Queues that are closed or missing
/// admit no pod.
///
/// The filter rejects by max and by the sum of mins in the present state, in trials too; it counts nominated pods that go first. Victims of
/// a pod are found node by node by `queues::capacity_scheduling::select_victims`, and nodes are compared as by DefaultPreemption, which it
/// replaces in a profile. Victims of a group are found by `find_group_victims`, under the same rules. What a quota uses is the cluster's
/// own count: O(queues · resources) per call.
class capacity_scheduling_policy {
 public:
  static constexpr std::string_view name = "CapacityScheduling";
  static constexpr bool reads_queues = true;
  static constexpr bool ignores_group_identity = true;
  using points = implements<point::admission, point::filter, point::post_filter, point::group_preempt>;

  [[nodiscard]] GANGSCHED_API status admit(const pod_view& pod, const cluster_view& cluster) const;
  [[nodiscard]] GANGSCHED_API status admit(const group_view& group, const cluster_view& cluster) const;

  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::nothing>) const { return 0; }
  GANGSCHED_API void finish_filter(const pod_info& pod, const cluster_view& cluster,
                                   std::span<filtered_group> groups) const;
  [[nodiscard]] bool filter_idle(const pod_view& pod) const { return !pod.in_queue(); }
  /// Quotas count requests and priorities, which all pods of a class share.
  [[nodiscard]] bool filter_by_class(const pod_info&) const { return true; }

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API victim_plan group_preempt(trial& attempt, const group_view& group) const;

  // The steps of post_filter, in the present state.

  /// The quotas' verdict on a pod; `fits` for a pod without a quota.
  [[nodiscard]] GANGSCHED_API queues::capacity_scheduling::quota_verdict check(const pod_info& pod,
                                                                               const cluster_view& cluster) const;
  /// Finds the victims on one node. Leaves the trial unchanged. Unschedulable if the node has no victims, or too few; error where upstream
  /// has one (`victims_outcome::failed`).
  [[nodiscard]] GANGSCHED_API status dry_run(trial& attempt, const pod_info& pod, node_id node,
                                             node_candidate& out) const;

 private:
  struct books;
  struct rule;
  struct search;
  class quotas_aside;
  [[nodiscard]] books& read(const cluster_view& cluster) const;

  remembered<books> books_ = {};  ///< the quotas as of the last call
};

static_assert(admission_plugin<capacity_scheduling_policy> && filter_plugin<capacity_scheduling_policy>);
static_assert(post_filter_plugin<capacity_scheduling_policy> && group_preempt_plugin<capacity_scheduling_policy>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/capacity_scheduling.cpp"
#endif
