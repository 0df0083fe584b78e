#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/remembered.hpp"
#include "gangsched/queues/volcano/votes.hpp"

namespace gangsched::inline GANGSCHED_ABI {

class volcano_books;

/// Volcano's policy on the queues of the cluster (docs/queues/volcano.md): its actions, and its plugins priority, gang, drf, proportion,
/// capacity, overcommit and conformance in tiers, as its configuration has them.
///
/// A queue without children is a queue of Volcano's: `guaranteed` of all nodes together is deserved, the part of it that is not lent
/// (`lending_limit`) its guarantee, `limit` its capability; weight, priority and `lends_running` (reclaimable) are the queue's; limits of
/// queues above it apply, too. A job is a tree of groups, or a pod without a group. Of more than 13 kinds of devices those that quotas name
/// count first. Pods without a queue are not subject to the policy, go first, and are no victims.
///
/// Admission checks whether a job may start (enqueue). The filter checks what its queue deserves, or the queue's limit, in the present
/// state, in trials too; nominated pods are counted. For a job that finds no nodes other pods of its queue are evicted (preempt), or pods
/// of other queues (reclaim), as far as the plugins of the tiers allow it: node by node, task by task, until it fits, and only if enough of
/// it does. Queues are counted as in `volcano_books`; a search for victims costs O(pods on nodes), and O(tasks · nodes) filter calls.
class volcano_policy {
 public:
  static constexpr std::string_view name = "Volcano";
  static constexpr bool reads_queues = true;
  using points = implements<point::queue_sort, point::queue_order, point::admission, point::filter, point::post_filter,
                            point::group_preempt>;

  struct options {
    /// Volcano's defaults: enqueue, allocate and backfill, with priority and gang before overcommit, drf and proportion.
    queues::volcano::session_options session = defaults();
    bool spares_critical = true;  ///< the plugin conformance: pods of kube-system, and critical ones, are not evicted
    std::string preemptable_label = "volcano.sh/preemptable";  ///< pods whose label is "false" are not evicted
    [[nodiscard]] GANGSCHED_API static queues::volcano::session_options defaults();
  };
  volcano_policy() : volcano_policy(options{}) {}
  /// @pre check(chosen.session) finds nothing.
  GANGSCHED_API explicit volcano_policy(options chosen);
  /// Arguments: those of a volcano-scheduler.conf: `actions`, a text with commas, and `tiers`, each with a list `plugins` of {name,
  /// enablePreemptable, enableReclaimable, enableHierarchy, arguments}. Of predicates, nodeorder and binpack, which other plugins of the
  /// profile stand for, only the name is read.
  [[nodiscard]] GANGSCHED_API static result<volcano_policy> from(const argument& args);

  /// By priority, if that plugin is in a tier, then by age.
  [[nodiscard]] bool less(const queued& a, const queued& b) const noexcept {
    if (by_priority_ && a.priority != b.priority) return a.priority > b.priority;
    return a.arrival < b.arrival;
  }
  /// The number of the pod's queue, or of its job if the job has a pod on a node; −1 without a queue.
  [[nodiscard]] GANGSCHED_API std::int64_t queue_of(const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API bool queue_before(const queue_head& a, const queue_head& b,
                                                const cluster_view& cluster) const;

  [[nodiscard]] GANGSCHED_API status admit(const pod_info& pod, const cluster_view& cluster) const;
  [[nodiscard]] GANGSCHED_API status admit(const group_view& group, const cluster_view& cluster) const;

  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::nothing>) const { return 0; }
  GANGSCHED_API void finish_filter(const pod_info& pod, const cluster_view& cluster,
                                   std::span<filtered_group> groups) const;
  [[nodiscard]] bool filter_idle(const pod_view& pod) const { return !pod.in_queue(); }
  [[nodiscard]] bool filter_by_class(const pod_info& pod) const { return !pod.group(); }

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API victim_plan group_preempt(trial& attempt, const group_view& group) const;

  /// What a queue deserves, has and may have in the present state; an empty account where no plugin of the tiers divides, or there is no
  /// such queue.
  [[nodiscard]] GANGSCHED_API queues::volcano::queue_account account(const queue_view& queue,
                                                                     const cluster_view& cluster) const;

 private:
  struct search;
  [[nodiscard]] volcano_books& read(const cluster_view& cluster) const;
  [[nodiscard]] bool takes(queues::volcano::action one) const;
  [[nodiscard]] status may_enqueue(const pod_info& one, const queue_view& queue, const cluster_view& cluster) const;

  options options_;
  bool by_priority_ = true;
  remembered<volcano_books> books_ = {};
};

static_assert(queue_sort_plugin<volcano_policy> && queue_order_plugin<volcano_policy> &&
              admission_plugin<volcano_policy> && filter_plugin<volcano_policy>);
static_assert(post_filter_plugin<volcano_policy> && group_preempt_plugin<volcano_policy>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/volcano.cpp"
#endif
