#pragma once
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
#include "gangsched/model/fwd.hpp"
#include "gangsched/policies/node_victims.hpp"
#include "gangsched/policies/overuse_watch.hpp"
#include "gangsched/queues/koordinator/elastic_quota.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Koordinator's ElasticQuota on the queues of the cluster (docs/queues/koordinator.md): which pods may run within the runtime quota, and
/// which pods of the same quota are preempted.
///
/// Every queue is a quota: `guaranteed` of all nodes together is its min, `limit` its max, `weights` its shared weight (if empty: as max);
/// with a lending limit of 0 for everything guaranteed it does not lend. Compared are resources that some limit names, the first 64. Pods
/// without a queue belong to the default quota: nothing limits them, and what they use is not shared. Queues that are closed or missing,
/// and queues below them, admit no pod.
///
/// The filter rejects by the runtime quota in the present state, in trials too. Victims are less important preemptible pods of the same
/// quota, put back as long as the pod fits and its quota has room for it; nodes are compared as by DefaultPreemption, which it replaces in
/// a profile. Requests and uses are the cluster's own counts: O(queues · resources + nodes) per call, and O(pods) for pods that are not
/// preemptible.
class elastic_quota_policy {
 public:
  static constexpr std::string_view name = "ElasticQuota";
  static constexpr bool reads_queues = true;
  static constexpr bool ignores_group_identity = true;
  using points = implements<point::admission, point::filter, point::post_filter, point::group_preempt>;

  struct options {
    queues::koordinator::quota_options quotas = {};
    /// Pods with this label and the value "false" are not preemptible.
    std::string preemptible_label = "quota.scheduling.koordinator.sh/preemptible";
  };
  elastic_quota_policy() = default;
  explicit elastic_quota_policy(options chosen) : options_(std::move(chosen)) {}
  /// Arguments: of Koordinator's ElasticQuotaArgs enableRuntimeQuota, enableCheckParentQuota and enableMinQuotaScale.
  [[nodiscard]] GANGSCHED_API static result<elastic_quota_policy> from(const argument& args);

  [[nodiscard]] GANGSCHED_API status admit(const pod_view& pod, const cluster_view& cluster) const;
  [[nodiscard]] GANGSCHED_API status admit(const group_view& group, const cluster_view& cluster) const;

  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::nothing>) const { return 0; }
  GANGSCHED_API void finish_filter(const pod_info& pod, const cluster_view& cluster,
                                   std::span<filtered_group> groups) const;
  [[nodiscard]] bool filter_idle(const pod_view& pod) const { return !pod.in_queue(); }
  /// If a preemptible pod may not run, no other pod of its class may.
  [[nodiscard]] bool filter_by_class(const pod_info& pod) const { return is_preemptible(pod); }

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API victim_plan group_preempt(trial& attempt, const group_view& group) const;

  /// The quotas' verdict on a pod in the present state; `fits` for a pod without a quota.
  [[nodiscard]] GANGSCHED_API queues::koordinator::quota_verdict check(const pod_info& pod,
                                                                       const cluster_view& cluster) const;
  /// The quotas in the present state, refreshed, numbered in the order of `cluster_view::each_queue`. Valid until the next call.
  [[nodiscard]] GANGSCHED_API const queues::koordinator::elastic_quotas& quotas(const cluster_view& cluster) const;

  /// Overuse revocation, which upstream is off by default: returns the pods to evict because their quota exceeded its runtime quota at each
  /// call for longer than the watch's delay; by quota, numbered as in `quotas`, most important first. They are
  /// `queues::koordinator::pods_to_revoke` of the running pods that belong to the quota itself; terminating pods already count as gone. The
  /// host calls it between cycles, every few seconds, and evicts the pods. If memory runs out, the watch is unchanged. O(queues · resources
  /// + nodes + pods).
  [[nodiscard]] GANGSCHED_API std::vector<pod_id> to_revoke(const cluster& of, instant now, overuse_watch& watch) const;
  [[nodiscard]] GANGSCHED_API std::vector<pod_id> to_revoke(const cluster_view& of, instant now,
                                                            overuse_watch& watch) const;

 private:
  struct books;
  struct rule;
  struct search;
  [[nodiscard]] books& read(const cluster_view& cluster, const pod_info* who = nullptr) const;
  [[nodiscard]] GANGSCHED_API bool is_preemptible(const pod_info& pod) const;
  [[nodiscard]] queues::koordinator::elastic_quotas with_non_preemptible(const cluster_view& cluster) const;

  options options_;
  remembered<books> books_ = {};  ///< the quotas as of the last call
};

static_assert(admission_plugin<elastic_quota_policy> && filter_plugin<elastic_quota_policy>);
static_assert(post_filter_plugin<elastic_quota_policy> && group_preempt_plugin<elastic_quota_policy>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/elastic_quota.cpp"
#endif
