#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/policies/group_victims.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Which pods to evict so that a group fits (KEP-5710, workload-aware preemption).
///
/// Victims are units: the pods of the highest group above a pod with disruption `all`, else the pod. A unit of lower priority than the
/// group's tree may be evicted; a unit's priority is that of its tree. All of them are taken off, and the group's cycle is run once; if it
/// fails, none is evicted. Then units are put back, those first whose eviction violates a disruption budget, most important first
/// (priority; groups of groups, groups, pods; more pods; the earlier start; the earlier arrival), each if the members still fit where they
/// are. Every placed member is nominated. There is no second round while victims terminate on nodes that members are nominated to.
///
/// `surplus`: members of a gang above its minimum are units of their own; the rest is one unit, evicted only after them.
/// `gang::desired_count`: no room is made for members above it.
///
/// A group with full_domain::move that lacks members of its minimum though some run, and finds no other victims, may move: its own running
/// members are the victims if more of its members than now would then run. Its waiting members are nominated; the evicted ones start with
/// them once they are pending pods again.
///
/// Beyond Kubernetes, unless rule::kubernetes: of several placements it takes the one whose victims cost least (broken budgets, highest
/// priority, the host's `lost_work`, groups disturbed, pods), and Kubernetes' own on ties; and no victim could be put back in the end
/// without reducing how many members fit anywhere (as far as a search of 65,536 placements of members can tell). If members differ, no
/// other victims cost less, as far as that search tells, where at most 24 units can be among the best.
/// kube_release::v1_36: the whole cycle is run anew for each unit; pods alone have their own priority, those of any group rank above
/// others; a unit is charged to budgets up to the first that has no room; groups with a topology never preempt; one member with
/// preemption policy Never forbids it.
class group_preemption {
 public:
  static constexpr std::string_view name = "GroupPreemption";
  using points = implements<point::group_preempt>;
  static constexpr bool ignores_group_identity = true;

  enum class rule : std::uint8_t { least_disruption, kubernetes };
  using work = work_of_pod;

  group_preemption() = default;
  explicit group_preemption(rule chosen, work lost = {}) : rule_(chosen), lost_work_(std::move(lost)) {}
  /// Arguments: `rule`, LeastDisruption or Kubernetes.
  [[nodiscard]] GANGSCHED_API static result<group_preemption> from(const argument& args);

  /// O(pods) removals, and a cycle of the group; beyond Kubernetes O(log pods) cycles for each placement, and one for each victim.
  [[nodiscard]] GANGSCHED_API victim_plan group_preempt(trial& attempt, const group_view& group) const;

 private:
  struct search;
  rule rule_ = rule::least_disruption;
  work lost_work_;
};

static_assert(group_preempt_plugin<group_preemption>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/group_preemption.cpp"
#endif
