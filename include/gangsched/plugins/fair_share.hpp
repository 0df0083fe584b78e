#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/remembered.hpp"
#include "gangsched/policies/group_victims.hpp"

namespace gangsched::inline GANGSCHED_ABI {

struct fair_share_books;
struct fair_share_demand;

/// The library's own policy on the queues of the cluster (docs/queues/fair-share.md): which pods may start, in which order queues are
/// served, and which pods are evicted so that a queue gets what it is due.
///
/// It reads a queue's quotas, weight, priority, state, preemption and reclaim rules, lends_running, minimum run times and max_running.
/// Shared are the resources that some quota names, of all nodes or of a flavor's; if none names any, all. Pods stand in queues without
/// children. Pods without a queue are not subject to the policy: they go first, are no victims here, and other plugins may make room for
/// them (DefaultPreemption, GroupPreemption, later in the profile). Queues share what these leave.
///
/// Admission rejects pods over a limit that no victim could help with. The filter applies limits in the present state, by flavor of the
/// node, in trials too. Victims are found like GroupPreemption's, and for a pod on the node where they cost least (broken budgets,
/// priority, lost work, pods); `queues::fair_share::reclaim_plan` decides which may go, and in which order. What a queue is due is
/// recomputed after changes of requests, queues or nodes: O(queues · resources), plus O(nodes + pods) if more than pods were added.
class fair_share_policy {
 public:
  static constexpr std::string_view name = "FairShare";
  static constexpr bool reads_queues = true;
  static constexpr bool ignores_group_identity = true;
  using points =
      implements<point::admission, point::filter, point::queue_order, point::post_filter, point::group_preempt>;

  struct options {
    instant head_start = std::chrono::minutes{10};  ///< waiting worth one step of a queue's priority; above 0
    work_of_pod lost_work = {};                     ///< the work that evicting a running pod would lose
  };
  fair_share_policy() = default;
  /// @pre chosen.head_start > 0
  explicit fair_share_policy(options chosen) : options_(std::move(chosen)) {
    GANGSCHED_ASSERT(options_.head_start > instant::zero());
  }
  /// Arguments: `headStartSeconds`, 1 or more.
  [[nodiscard]] GANGSCHED_API static result<fair_share_policy> from(const argument& args);

  [[nodiscard]] GANGSCHED_API status admit(const pod_info& pod, const cluster_view& cluster) const;
  /// Called for the least that the group needs.
  [[nodiscard]] GANGSCHED_API status admit(const group_view& group, const cluster_view& cluster) const;

  [[nodiscard]] std::int64_t filter_key(const pod_view& pod, node_view<reads::labels> node) const {
    return pod.in_queue() ? std::int64_t{node.flavor().row} : 0;
  }
  GANGSCHED_API void finish_filter(const pod_info& pod, const cluster_view& cluster,
                                   std::span<filtered_group> groups) const;
  [[nodiscard]] bool filter_idle(const pod_view& pod) const { return !pod.in_queue(); }
  /// Of two equal pods the older one may be admitted where it may evict victims that are newer than it.
  [[nodiscard]] bool filter_by_class(const pod_info& pod) const {
    const auto queue = pod.queue();
    return !pod.group() && (!queue || queue->spec().within_queue != queue_preemption::lower_or_newer_equal_priority);
  }
  /// Nor if it counts how long the head of the queue has waited: a pod that is not tried must not become the head.
  [[nodiscard]] GANGSCHED_API bool filter_by_alike_groups(const pod_info& pod, const cluster_view& cluster) const;

  /// The row of the pod's queue; −1 without one.
  [[nodiscard]] std::int64_t queue_of(const pod_info& pod) const {
    const auto queue = pod.queue();
    return queue ? std::int64_t{queue->row()} : -1;
  }
  [[nodiscard]] GANGSCHED_API bool queue_before(const queue_head& a, const queue_head& b,
                                                const cluster_view& cluster) const;

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API victim_plan group_preempt(trial& attempt, const group_view& group) const;

  /// The quota's verdict on the pod, or on the least that its group needs: which limit of which queue, how much is missing, which queues
  /// use more than they are due, and how much would have to end. Empty if it may start. Flavors are ignored.
  [[nodiscard]] GANGSCHED_API std::string admission_words(const pod_info& pod, const cluster_view& cluster) const;

 private:
  struct rule;
  [[nodiscard]] fair_share_books& read(const cluster_view& cluster) const;
  [[nodiscard]] status check(const fair_share_demand& wanted, const cluster_view& cluster, std::int32_t priority,
                             pod_id pod, row_t group_tree) const;
  [[nodiscard]] bool takes_promised(const fair_share_demand& wanted, const cluster_view& cluster, std::int32_t priority,
                                    pod_id pod, row_t tree) const;
  [[nodiscard]] static std::vector<flavor_id> flavors_of(const cluster_view& cluster);
  /// Finds victims on nodes of the flavor.
  [[nodiscard]] victim_plan make_room(trial& attempt, const pod_info& pod, rule& by, flavor_id flavor) const;

  options options_;
  remembered<fair_share_books> books_ = {};  ///< what queues are due, as of the last call
};

static_assert(admission_plugin<fair_share_policy> && filter_plugin<fair_share_policy> &&
              queue_order_plugin<fair_share_policy>);
static_assert(post_filter_plugin<fair_share_policy> && group_preempt_plugin<fair_share_policy>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/fair_share.cpp"
#endif
