#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/is_among.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/remembered.hpp"
#include "gangsched/policies/kueue_local_usage.hpp"
#include "gangsched/queues/kueue/fair_sharing.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Kueue's policy on the queues of the cluster (docs/queues/kueue.md): which workload may start, on nodes of which flavors, and which
/// workloads are preempted for it.
///
/// A workload is a tree of groups, or a pod without a group. It requests quota for all of its pods. If there is neither quota nor victims
/// for them, it requests it for fewer, down to the minimums of its gangs (partial admission). Once some of its pods run, others are
/// admitted one by one. Queues without children are Kueue's queues, the others its cohorts (`kueue_quotas`). Kueue reads a queue's quotas
/// (guaranteed, limit, borrowing and lending limits), weight, state, heads, flavors, within_queue, reclaim and reclaims_to_borrow. A
/// resource without quota in any queue is not limited. Pods without a queue are not subject to the policy and go first.
///
/// Admission rejects a workload that gets no flavors now or by preemption, and, in a queue with strict heads, every workload but the first
/// waiting one. The filter checks the flavor of the node: pods go only to nodes of flavors assigned to their workload in the present state,
/// in trials too. Victims are chosen as by Kueue, whole workloads, if the workload finds nodes without them; if not, victims on fewer nodes
/// are tried. Where there is quota but no room on nodes, other plugins may make room (DefaultPreemption, GroupPreemption, later in the
/// profile).
class kueue_policy {
 public:
  static constexpr std::string_view name = "Kueue";
  static constexpr bool reads_queues = true;
  using points = implements<point::queue_sort, point::queue_order, point::admission, point::filter, point::post_filter,
                            point::group_preempt>;

  struct options {
    queues::kueue::fair_sharing_options fair_sharing = {};
    /// If false, a gang requests quota for its minimum, and separately for each pod above that.
    bool partial_admission = true;
    /// Queues in which namespaces that used less in the past go first (admission fair sharing), as `kueue_local_usage` records it.
    std::vector<std::string> by_local_usage = {};
  };
  kueue_policy() = default;
  explicit kueue_policy(const options& chosen) : options_(chosen) {}
  /// Arguments: `fairSharing` as in Kueue's configuration, with `enable` and one or two `preemptionStrategies`
  /// (LessThanOrEqualToFinalShare, LessThanInitialShare); `partialAdmission`, true or false; `usageBasedQueues`, names.
  [[nodiscard]] GANGSCHED_API static result<kueue_policy> from(const argument& args);

  void attach(column_maker& columns) {
    if (!options_.by_local_usage.empty()) scores_ = columns.scope_column_by_host(kueue_local_queues, kueue_local_score);
  }
  /// By priority, highest first, then age.
  [[nodiscard]] bool less(const queued& a, const queued& b) const noexcept {
    return a.priority != b.priority ? a.priority > b.priority : a.arrival < b.arrival;
  }
  /// The row of the pod's queue, and its namespace if past usage counts there; −1 without a queue.
  [[nodiscard]] std::int64_t queue_of(const pod_info& pod) const {
    const auto queue = pod.queue();
    if (!queue) return -1;
    const bool by_usage = is_among(queue->name(), options_.by_local_usage);
    return std::int64_t{queue->row()} | (by_usage ? (std::int64_t{pod.spec().ns.value} + 1) << 32 : 0);
  }
  /// First less past use of the namespace, where that counts; then nearer borrowing, importance, age; with fair sharing borrowing nothing
  /// needed, then the smaller share (of a queue with its head, of a cohort as it is); between trees the lower use of quota.
  [[nodiscard]] GANGSCHED_API bool queue_before(const queue_head& a, const queue_head& b,
                                                const cluster_view& cluster) const;

  [[nodiscard]] GANGSCHED_API status admit(const pod_info& pod, const cluster_view& cluster) const;
  [[nodiscard]] GANGSCHED_API status admit(const group_view& group, const cluster_view& cluster) const;
  /// The missing amounts, by resource and flavor.
  [[nodiscard]] GANGSCHED_API std::string admission_words(const pod_info& pod, const cluster_view& cluster) const;

  [[nodiscard]] std::int64_t filter_key(const pod_view& pod, node_view<reads::labels> node) const {
    return pod.in_queue() ? std::int64_t{node.flavor().row} : 0;
  }
  GANGSCHED_API void finish_filter(const pod_info& pod, const cluster_view& cluster,
                                   std::span<filtered_group> groups) const;
  [[nodiscard]] bool filter_idle(const pod_view& pod) const { return !pod.in_queue(); }
  /// Of two equal workloads the older one may be admitted where it may preempt victims that are newer than it.
  [[nodiscard]] bool filter_by_class(const pod_info& pod) const {
    const auto queue = pod.queue();
    return !pod.group() && (!queue || queue->spec().within_queue != queue_preemption::lower_or_newer_equal_priority);
  }

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API victim_plan group_preempt(trial& attempt, const group_view& group) const;

 private:
  struct memory;
  struct search;
  [[nodiscard]] memory& read(const cluster_view& cluster) const;
  template <class Asked>
  [[nodiscard]] status admit_one(const Asked& asked, const cluster_view& cluster) const;

  options options_;
  by_host<scope_column> scores_ = {};
  remembered<memory> memory_ = {};  ///< the quotas as of the last call
};

static_assert(queue_sort_plugin<kueue_policy> && queue_order_plugin<kueue_policy> && admission_plugin<kueue_policy>);
static_assert(filter_plugin<kueue_policy> && post_filter_plugin<kueue_policy> && group_preempt_plugin<kueue_policy>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/kueue.cpp"
#endif
