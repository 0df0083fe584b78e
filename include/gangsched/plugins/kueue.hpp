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

/// Kueue's policy on the queues of the cluster (docs/queues/kueue.md): which workload may start, on nodes of which flavors, and who has to
/// go for it.
///
/// A workload is a tree of groups, or a pod without a group. It asks for all of its pods. If there is neither quota nor victims for them,
/// it asks for fewer, down to the minimums of its gangs (partial admission). Once some of its pods run, others join one by one. Queues
/// without children are Kueue's queues, the others its cohorts (`kueue_quotas`). Of a queue it reads quotas (guaranteed, limit, borrowing
/// and lending limits), weight, state, heads, flavors, within_queue, reclaim and reclaims_to_borrow. A resource of which no queue has quota
/// is free. Pods without a queue are free of all of this and go first.
///
/// Admission refuses a workload that gets no flavors now or by preemption, and, in a queue with strict heads, one that is not the first
/// that waits. The filter checks the flavor of the node: pods go only to nodes of flavors that are theirs as things stand, in trials
/// too. Victims are Kueue's, whole workloads, if the workload finds nodes once they are gone; if not, they are looked for among those on
/// fewer nodes. Where quota is there and nodes are not, other plugins may make room (DefaultPreemption, GroupPreemption, later in the
/// profile).
class kueue_policy {
 public:
  static constexpr std::string_view name = "Kueue";
  static constexpr bool reads_queues = true;
  using points = implements<point::queue_sort, point::queue_order, point::admission, point::filter, point::post_filter,
                            point::group_preempt>;

  struct options {
    queues::kueue::fair_sharing_options fair_sharing = {};
    /// If false, a gang asks for its minimum, and for each pod above that separately.
    bool partial_admission = true;
    /// Queues in which namespaces that used less in the past go first (admission fair sharing), by what `kueue_local_usage` writes of them.
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
  /// Whose namespace used less, where that counts. Who borrows from nearer, is more important, came earlier; with fair sharing who borrows
  /// nothing that it needs, then whose share is smaller: a queue's with its head, a cohort's as it is; of trees whose quota is used less.
  [[nodiscard]] GANGSCHED_API bool queue_before(const queue_head& a, const queue_head& b,
                                                const cluster_view& cluster) const;

  [[nodiscard]] GANGSCHED_API status admit(const pod_info& pod, const cluster_view& cluster) const;
  [[nodiscard]] GANGSCHED_API status admit(const group_view& group, const cluster_view& cluster) const;
  /// What is missing of which resource in which flavor.
  [[nodiscard]] GANGSCHED_API std::string admission_words(const pod_info& pod, const cluster_view& cluster) const;

  [[nodiscard]] std::int64_t filter_key(const pod_view& pod, node_view<reads::labels> node) const {
    return pod.in_queue() ? std::int64_t{node.flavor().row} : 0;
  }
  GANGSCHED_API void finish_filter(const pod_info& pod, const cluster_view& cluster,
                                   std::span<filtered_group> groups) const;
  [[nodiscard]] bool filter_idle(const pod_view& pod) const { return !pod.in_queue(); }
  /// Of two alike the older one may be let in where others go that are newer than it.
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
  remembered<memory> memory_ = {};  ///< the quotas as the cluster was last
};

static_assert(queue_sort_plugin<kueue_policy> && queue_order_plugin<kueue_policy> && admission_plugin<kueue_policy>);
static_assert(filter_plugin<kueue_policy> && post_filter_plugin<kueue_policy> && group_preempt_plugin<kueue_policy>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/kueue.cpp"
#endif
