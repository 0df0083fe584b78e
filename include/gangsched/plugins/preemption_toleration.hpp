#pragma once
#include "gangsched/framework/points.hpp"
#include "gangsched/policies/node_victims.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// scheduler-plugins' PreemptionToleration: DefaultPreemption, but pods of some priority classes need not go for everybody, nor at once
/// (`priority_class_spec::minimum_preemptable`, `toleration_seconds`). It stands in a profile instead of DefaultPreemption.
///
/// A pod without a class is a victim as ever; so is one for a preemptor whose priority is at least the class's minimum. For others it is
/// exempt for so many seconds from its start, for ever if they are negative, and while it has not started; and from preemptors that may
/// not preempt. Somebody whose class is gone is nobody's victim (upstream: an error, which ends the search on that node).
///
/// Victims are found node by node as by DefaultPreemption and compared as there (kube-framework 8.5), also groups that go as a whole; a
/// unit goes if none of its pods is exempt. Nothing is remembered, because time passes: O(nodes) trials. When the time of an exemption is
/// over wakes nobody; who waits is tried again after five minutes, or when something else helps.
class preemption_toleration {
 public:
  static constexpr std::string_view name = "PreemptionToleration";
  using points = implements<point::post_filter>;

  enum class exemption : std::uint8_t { none, exempt, unknown_class };
  /// Whether @p victim, which runs, need not go for @p preemptor, whatever their priorities are.
  [[nodiscard]] GANGSCHED_API static exemption exempted(const pod_info& victim, const pod_info& preemptor,
                                                        const cluster_view& cluster, instant now);

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;
};

static_assert(post_filter_plugin<preemption_toleration>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/preemption_toleration.cpp"
#endif
