#pragma once
#include "gangsched/framework/normalize.hpp"
#include "gangsched/framework/past.hpp"
#include "gangsched/framework/pod_part.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Rejects nodes with an untolerated NoSchedule or NoExecute taint. Score: 100 − 100·count/max, with the count of untolerated
/// PreferNoSchedule taints (kube-scheduler's TaintToleration). Never skipped: without any such taints every node gets 100.
class taint_toleration {
 public:
  static constexpr std::string_view name = "TaintToleration";
  static constexpr std::int64_t default_weight = 3;
  using points = implements<point::requeue, point::filter, point::score>;
  static constexpr bool reads_population = false;
  static constexpr events wakes_on = events::node_added | events::node_taints | events::pod_tolerations;

  using tolerating = pod_part<pod_reads::tolerations>;

  /// Woken by a node whose taints it tolerates now, and did not before; by any toleration of its own.
  [[nodiscard]] hint requeue(const event& e, const pod_info& pod) const {
    if (e.new_node == nullptr) return e.own ? hint::queue : hint::skip;
    const bool was = e.old_node == nullptr || repelled(pod, e.old_node->taints());
    return was && !repelled(pod, e.new_node->taints()) ? hint::queue : hint::skip;
  }
  [[nodiscard]] status filter(const tolerating& pod, node_view<reads::taints> node) const {
    return repelled(pod, node.taints()) ? status::unresolvable("node(s) had untolerated taint(s)") : status::success();
  }

  /// The number of PreferNoSchedule taints that the pod does not tolerate.
  [[nodiscard]] std::int64_t score(const tolerating& pod, node_view<reads::taints> node) const {
    std::int64_t untolerated = 0;
    for (const taint_symbols& taint : node.taints())
      untolerated += taint.effect == taint_effect::prefer_no_schedule && !pod.tolerates(taint);
    return untolerated;
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const { normalize(groups, better::lower); }

 private:
  static bool repelled(const tolerating& pod, std::span<const taint_symbols> taints) {
    for (const taint_symbols& taint : taints)
      if (taint.effect != taint_effect::prefer_no_schedule && !pod.tolerates(taint)) return true;
    return false;
  }
};

static_assert(requeue_plugin<taint_toleration> && filter_plugin<taint_toleration> && score_plugin<taint_toleration>);

}  // namespace gangsched::inline GANGSCHED_ABI
