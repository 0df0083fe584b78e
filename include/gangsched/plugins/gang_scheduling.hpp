#pragma once
#include "gangsched/framework/disruption.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A gang starts with its minimum of members or not at all (KEP-4671).
///
/// A gang enters the queue when it has as many members as it needs, running ones included; a tree when enough of the groups right below its
/// root are ready in that sense; neither before the groups that it starts after. In a group cycle 1.37's PlacementFeasible applies, also to
/// minimums by role. In permit mode, as in 1.35 and 1.36, members with a node wait until enough have one, then all are allowed at once.
/// Later members are allowed at once, and a member that times out returns to the queue alone. The match policy says which members count
/// (Koordinator's match-policy); terminating ones do not. A group that moves is not tried before all its members have left their nodes.
class gang_scheduling {
 public:
  static constexpr std::string_view name = "GangScheduling";
  using points = implements<point::pre_enqueue, point::permit, point::group_pre_filter, point::placement_feasible>;
  static constexpr bool ignores_group_identity = true;

  /// O(groups of the tree).
  [[nodiscard]] status pre_enqueue(const pod_info& pod) const {
    const std::optional<group_view> group = pod.group();
    if (!group) return status::success();
    if (group->expected()) return status::unresolvable("waiting for the pod's pod group to appear in scheduling queue");
    if (!may_start(*group)) return status::unresolvable("waiting for the groups that it starts after");
    const group_view root = group->root();
    if (root.row() == group->row()) {
      if (group->members() >= group->min_count()) return status::success();
      return status::unresolvable("waiting for minCount pods from a gang to appear in scheduling queue");
    }
    if (ready_children(root) >= root.min_count()) return status::success();
    return status::unresolvable("waiting for minGroupCount groups of the tree to have their pods");
  }

  /// O(1), and O(members) once the minimum is there.
  permit_verdict permit(const reservation& placed, permit_room& room) {
    const std::optional<group_view> group = placed.pod.group();
    if (group && group->expected())  // removed meanwhile: what its minimum is when it is added again nobody knows
      return {status::wait("waiting for the pod's pod group to appear in scheduling queue"), gang{}.timeout};
    const gang* policy = group && !group->parent() ? group->policy() : nullptr;
    if (policy == nullptr || policy->mode == gang_mode::group_cycle) return {};
    const std::uint32_t running = policy->match == match_policy::only_waiting ? 0 : group->bound();
    const bool satisfied = policy->match == match_policy::once_satisfied && group->satisfied();
    std::uint32_t leaving = 0;
    const auto too_few = [&] { return !satisfied && group->assumed() + running < group->min_count() + leaving; };
    if (!too_few()) {
      group->each_member([&](const pod_info& member) {
        const bool counts =
            member.state() == pod_state::assumed || (running != 0 && member.state() == pod_state::bound);
        leaving += counts && member.terminating() ? 1 : 0;
      });
    }
    if (too_few()) return {status::wait("waiting for minCount pods from a gang to be scheduled"), policy->timeout};
    group->each_member([&](const pod_info& member) {
      if (member.state() == pod_state::assumed) room.allow(member.id());  // no effect on a pod that does not wait
    });
    return {};
  }

  [[nodiscard]] status group_pre_filter(const group_view& group) const {
    return is_moving(group) ? status::unschedulable("waiting for members to leave the domain that the group moves from")
                            : status::success();
  }

  [[nodiscard]] status placement_feasible(const group_view& group, const group_progress& progress) const {
    const std::uint64_t least = group.min_count();
    // Until 1.36 every member is tried.
    const bool early = group.semantics().release() >= kube_release::v1_37;
    if (early && std::uint64_t{progress.scheduled} + progress.remaining < least)
      return status::unschedulable("minCount cannot be satisfied");
    bool enough = progress.scheduled >= least;
    for (const role_progress& role : progress.roles) {
      if (role.scheduled + role.remaining < role.min_count)
        return status::unschedulable("the minimum of a role cannot be satisfied");
      enough = enough && role.scheduled >= role.min_count;
    }
    return enough ? status::success() : status::wait("minCount is not yet satisfied");
  }

 private:
  static bool may_start(const group_view& group) {
    for (const group_dependency& one : group.spec().start_after) {
      const std::optional<group_view> other = group.find(one.on);
      if (!other || other->spec().done) continue;  // a removed group counts as done
      if (one.until == dependency_state::done || !runs(*other)) return false;
    }
    const std::optional<group_view> parent = group.parent();
    return !parent || may_start(*parent);
  }
  static bool runs(const group_view& group) {
    if (!group.spec().composite) return group.bound() >= group.min_count();
    std::uint32_t running = 0;
    group.each_child([&](const group_view& child) { running += runs(child) ? 1 : 0; });
    return running >= group.min_count();
  }
  static std::uint32_t ready_children(const group_view& group) {
    std::uint32_t ready = 0;
    group.each_child([&](const group_view& child) {
      const std::uint32_t there = child.spec().composite ? ready_children(child) : child.members();
      ready += there >= child.min_count() ? 1 : 0;
    });
    return ready;
  }
};

static_assert(pre_enqueue_plugin<gang_scheduling> && permit_plugin<gang_scheduling> &&
              group_pre_filter_plugin<gang_scheduling> && placement_feasible_plugin<gang_scheduling>);

}  // namespace gangsched::inline GANGSCHED_ABI
