#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/policies/group_victims.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Which pods have to go so that a group fits (KEP-5710, workload-aware preemption).
///
/// Victims are units: the pods of the highest group above a pod with disruption `all`, else the pod. A unit of lower priority than
/// the group's tree may go; a unit's priority is that of its tree. All of them are taken off, and the group's cycle is run once; if
/// it fails, nobody goes. Then units are put back, those first that a disruption budget has no room for, most important first
/// (priority; groups of groups, groups, pods; more pods; the earlier start; the earlier arrival), each if the members still fit where
/// they are. Every placed member is nominated. No second round while victims terminate on nodes that members are nominated to.
///
/// `surplus`: members of a gang above its minimum are units of their own, the rest is one unit and never goes without them.
/// `gang::desired_count`: members above it are not made room for.
///
/// A group with full_domain::move that lacks members of its minimum though some run, and finds no other victims, may move: its own running
/// members are the victims if more of it than now run would then have room. Its waiting members are nominated; the others start with them
/// when they are pods again that wait.
///
/// Beyond Kubernetes, unless rule::kubernetes: of several placements it takes the one whose victims cost least (broken budgets,
/// highest priority, the host's `lost_work`, groups disturbed, pods), Kubernetes' own where that decides nothing; and no victim can
/// be put back in the end without fewer members finding room anywhere (as far as a search of 65,536 placements of members can
/// tell). If members differ, no other victims cost less at all, as far as that search tells, where at most 24 units can be among
/// the best.
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
