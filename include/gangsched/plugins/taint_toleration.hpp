#pragma once
#include "gangsched/framework/normalize.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched {

/// No node with a NoSchedule or NoExecute taint that the pod does not tolerate; and the fewer untolerated PreferNoSchedule taints the
/// better: 100 − 100·count/max (kube-framework 4, TaintToleration). Scored always: without any such taints every node gets 100.
class taint_toleration {
 public:
  static constexpr std::string_view name = "TaintToleration";
  static constexpr std::int64_t default_weight = 3;
  using points = implements<point::filter, point::score>;

  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::taints> node) const {
    for (const taint_symbols& taint : node.taints()) {
      if (taint.effect == taint_effect::prefer_no_schedule || pod.tolerates(taint)) continue;
      return status::unresolvable("node(s) had untolerated taint(s)");
    }
    return status::success();
  }

  /// How many taints would rather not have the pod.
  [[nodiscard]] std::int64_t score(const pod_view& pod, node_view<reads::taints> node) const {
    std::int64_t untolerated = 0;
    for (const taint_symbols& taint : node.taints())
      untolerated += taint.effect == taint_effect::prefer_no_schedule && !pod.tolerates(taint);
    return untolerated;
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const { normalize(groups, better::lower); }
};

static_assert(filter_plugin<taint_toleration> && score_plugin<taint_toleration>);

}  // namespace gangsched
