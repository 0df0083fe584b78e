#pragma once
#include "gangsched/framework/points.hpp"

namespace gangsched {

/// A gang starts with its minimum or not at all (kube-workloads 3).
///
/// Enters the queue when it has as many members as it needs, running ones included. In a group cycle: 1.37's PlacementFeasible. In
/// permit mode, as in 1.35 and 1.36: members that have a node wait until so many have one, then all are let go at once; those who
/// come later go at once, and a member whose time is up is taken back alone.
class gang_scheduling {
 public:
  static constexpr std::string_view name = "GangScheduling";
  using points = implements<point::pre_enqueue, point::permit, point::placement_feasible>;

  [[nodiscard]] status pre_enqueue(const pod_info& pod) const {
    const std::optional<group_view> group = pod.group();
    if (!group || group->members() >= group->min_count()) return status::success();
    return status::unresolvable("waiting for minCount pods from a gang to appear in scheduling queue");
  }

  /// O(1), and O(members) once the minimum is there.
  permit_verdict permit(const reservation& placed, permit_room& room) {
    const std::optional<group_view> group = placed.pod.group();
    const gang* policy = group ? std::get_if<gang>(&group->spec().policy) : nullptr;
    if (policy == nullptr || policy->mode == gang_mode::group_cycle) return {};
    if (group->assumed() + group->bound() < group->min_count())
      return {status::wait("waiting for minCount pods from a gang to be scheduled"), policy->timeout};
    group->each_member([&](const pod_info& member) {
      if (member.state() == pod_state::assumed) room.allow(member.id());  // of a pod that does not wait: nothing
    });
    return {};
  }

  [[nodiscard]] status placement_feasible(const group_view& group, const group_progress& progress) const {
    const std::uint64_t least = group.min_count();
    if (std::uint64_t{progress.scheduled} + progress.remaining < least)
      return status::unschedulable("minCount cannot be satisfied");
    if (progress.scheduled < least) return status::wait("minCount is not yet satisfied");
    return status::success();
  }
};

static_assert(pre_enqueue_plugin<gang_scheduling> && permit_plugin<gang_scheduling> &&
              placement_feasible_plugin<gang_scheduling>);

}  // namespace gangsched
