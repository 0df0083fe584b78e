#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/remembered.hpp"
#include "gangsched/model/fwd.hpp"
#include "gangsched/policies/yunikorn_books.hpp"
#include "gangsched/queues/yunikorn/quota_preemption.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Apache YuniKorn's policy on the queues of the cluster (docs/queues/yunikorn.md): in which order applications are served, what queues,
/// users and groups may have, and which pods are preempted for a queue that has less than its guarantee.
///
/// It reads a queue's `guaranteed` and `limit` (maximum) of all nodes together, `max_running` (maximum of applications), priority (offset),
/// `lends_running` (false: preemption is disabled) and `reclaim` (never: its pods do not preempt); the rest of YuniKorn's configuration is
/// in `options`. An application is a tree of groups, or a pod without one; its user is the value of a label. Pods stand in queues without
/// children; those without a queue are not subject to the policy, and go first. Of more than 32 resources those that quotas name count
/// first.
///
/// Applications are counted at admission; the filter applies maxima and limits of users in the present state, in trials too. Victims are
/// chosen by `queues::yunikorn::preemptor`, ask by ask. They are evicted only if filters then accept the pod on the node, and for a group
/// only if its whole minimum fits. Books follow changes (`yunikorn_books`); a search for victims of a group copies them. Lowering a maximum
/// evicts no pod: the host calls `over_quota`. For a pod that must run on one node by its name, as those of DaemonSets, pods are evicted
/// there (`required_node_victims`).
class yunikorn_policy {
 public:
  static constexpr std::string_view name = "YuniKorn";
  static constexpr bool reads_queues = true;
  using points = implements<point::queue_sort, point::queue_order, point::admission, point::filter, point::post_filter,
                            point::group_preempt>;
  using options = yunikorn_settings;

  yunikorn_policy() = default;
  explicit yunikorn_policy(options chosen) : options_(std::move(chosen)) {}
  /// Arguments: applicationSortPolicy (fifo, fair or stateaware, which is fifo), applicationSortPriority (enabled or disabled),
  /// priorityFences and preemptionFences, lists of queues, limits, a list of {queue, user or group, maxApplications, maxResources}, and
  /// quotaPreemptionDelays, seconds above 0 by queue.
  [[nodiscard]] GANGSCHED_API static result<yunikorn_policy> from(const argument& args);

  /// By priority, if that is first, then by age.
  [[nodiscard]] bool less(const queued& a, const queued& b) const noexcept {
    if (options_.priority_first && a.priority != b.priority) return a.priority > b.priority;
    return a.arrival < b.arrival;
  }
  /// That of its queue; in fair queues that of its application, if the application has a pod on a node; −1 without a queue.
  [[nodiscard]] GANGSCHED_API std::int64_t queue_of(const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API bool queue_before(const queue_head& a, const queue_head& b,
                                                const cluster_view& cluster) const;

  [[nodiscard]] GANGSCHED_API status admit(const pod_info& pod, const cluster_view& cluster) const;
  [[nodiscard]] GANGSCHED_API status admit(const group_view& group, const cluster_view& cluster) const;

  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::nothing>) const { return 0; }
  GANGSCHED_API void finish_filter(const pod_info& pod, const cluster_view& cluster,
                                   std::span<filtered_group> groups) const;
  [[nodiscard]] bool filter_idle(const pod_view& pod) const { return !pod.in_queue(); }
  /// Users, whose limits apply, are distinguished by a label.
  [[nodiscard]] bool filter_by_class(const pod_info& pod) const { return options_.limits.empty() && !pod.group(); }

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API victim_plan group_preempt(trial& attempt, const group_view& group) const;

  /// The pods to evict because their queue has been above its lowered maximum for as long as `quota_preemption` says
  /// (`queues::yunikorn::over_quota_victims`; the hour in which pods started is ignored). The host calls it between cycles, every few
  /// seconds, and evicts the pods; terminating pods already count as gone, and members of a group that is disrupted as a whole stay. If
  /// memory runs out, the watch is unchanged. O(queues), and where a queue is due O(pods in it · log pods).
  [[nodiscard]] GANGSCHED_API std::vector<pod_id> over_quota(const cluster& of, instant now,
                                                             queues::yunikorn::quota_watch& watch) const;
  [[nodiscard]] GANGSCHED_API std::vector<pod_id> over_quota(const cluster_view& of, instant now,
                                                             queues::yunikorn::quota_watch& watch) const;

 private:
  struct search;
  [[nodiscard]] const yunikorn_books& read(const cluster_view& cluster) const;

  options options_;
  remembered<yunikorn_books> books_ = {};
};

static_assert(queue_sort_plugin<yunikorn_policy> && queue_order_plugin<yunikorn_policy> &&
              admission_plugin<yunikorn_policy> && filter_plugin<yunikorn_policy>);
static_assert(post_filter_plugin<yunikorn_policy> && group_preempt_plugin<yunikorn_policy>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/yunikorn.cpp"
#endif
