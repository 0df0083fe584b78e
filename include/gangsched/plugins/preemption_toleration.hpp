#pragma once
#include "gangsched/framework/points.hpp"
#include "gangsched/policies/node_victims.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// scheduler-plugins' PreemptionToleration: DefaultPreemption, except that pods of some priority classes are exempt from some preemptors,
/// or for some time (`priority_class_spec::minimum_preemptable`, `toleration_seconds`). In a profile it replaces DefaultPreemption.
///
/// A pod without a priority class is a victim as usual. A pod with one is exempt from preemptors that may not preempt; and from preemptors
/// below the class's minimum for so many seconds from its start: for ever if negative, and until it has started. If its class no longer
/// exists, the pod is no victim (upstream: an error, which ends the search on that node).
///
/// Victims are found node by node and compared as by DefaultPreemption, groups that are evicted as a whole included; such a unit is evicted
/// only if none of its pods is exempt. Nothing is cached, because time passes: O(nodes) trials. When an exemption ends, preemptors that
/// found no victims because of it are tried again (upstream: after five minutes, or when something else helps).
class preemption_toleration {
 public:
  static constexpr std::string_view name = "PreemptionToleration";
  using points = implements<point::post_filter>;

  /// Until when @p victim, a running pod, is exempt from @p preemptor, whatever their priorities are: `instant::min()`: it is not exempt;
  /// `instant::max()`: for ever. Nothing if its class does not exist.
  [[nodiscard]] GANGSCHED_API static std::optional<instant> exempt_until(const pod_info& victim,
                                                                         const pod_info& preemptor,
                                                                         const cluster_view& cluster);

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;
};

static_assert(post_filter_plugin<preemption_toleration>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/preemption_toleration.cpp"
#endif
