#include <algorithm>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/cluster_checks.hpp"

// Pod groups under kube_release::v1_36, where pods are queued one by one and the group is what is pending of them when one is popped.
namespace gangsched::engine {

/// Members that may enter, by priority, then by their first entry into the queue. The member that completes the minimum enters first,
/// then those that waited for it, then each as it comes.
GANGSCHED_INLINE void core::order_as_entered(row_t group, std::vector<row_t>& members) {
  std::erase_if(members, [&](row_t pod) { return gates_.rejects_pod(pod); });
  if (entered_.size() < state_->pods.rows.count()) entered_.resize(state_->pods.rows.count());
  row_t completing = state_->groups.first[group];
  for (std::uint32_t i = 1; i < state_->groups.min_count(group) && completing != no_row; ++i) {
    completing = state_->pods.next_in_group[completing];
  }
  const auto enter = [&](row_t pod) {
    if (entered_[pod] == 0) entered_[pod] = ++entries_;
  };
  if (std::find(members.begin(), members.end(), completing) != members.end()) enter(completing);
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
    if (std::find(members.begin(), members.end(), pod) != members.end()) enter(pod);
  }
  const auto key = [&](row_t pod) { return std::pair{-std::int64_t{state_->classes[state_->pods.cls[pod]].priority}, entered_[pod]}; };
  std::sort(members.begin(), members.end(), [&](row_t a, row_t b) { return key(a) < key(b); });
}

/// Without preemption of the group as one, members preempt for themselves.
GANGSCHED_INLINE bool core::preempts_by_pod(row_t group) const {
  if (!entities_.members_enter_singly()) return false;
  const kernel_table& table = entities_.profile_of_group(group);
  const bool placements = !table.at(point::generate_placements).empty() && !state_->groups.record[group]->spec.topology.within.empty();
  return table.at(point::group_preempt).empty() && !table.at(point::post_filter).empty() && !placements;
}

/// The node that a member would have after its victims; or none. Victims stay where they are until the cycle is over, so that the
/// next member may need more of them.
GANGSCHED_INLINE row_t core::make_member_room(row_t pod) {
  bool keep = true;
  const victim_plan plan = ask_for_room(pod, keep);
  if (!plan.verdict.ok() || !gangsched::detail::names_node(*state_, plan.nominated)) {
    if (!keep) by_pod_.helpless.push_back(pod);
    return no_row;
  }
  for (const pod_id victim : plan.victims) {
    if (std::find(by_pod_.victims.begin(), by_pod_.victims.end(), victim) == by_pod_.victims.end()) by_pod_.victims.push_back(victim);
  }
  by_pod_.made.push_back({{pod, state_->pods.rows.generation(pod)}, plan.nominated});
  return plan.nominated.row;
}

/// A group that needs somebody to go waits as a whole.
GANGSCHED_INLINE void core::wait_for_members(status& verdict) {
  if (by_pod_.made.empty() || !verdict.ok()) return;
  verdict = status::unschedulable("pod group is waiting for preemption to complete");
  by_pod_.waits = true;
  by_pod_.placed.clear();
  for (const member_place& one : placed_) by_pod_.placed.push_back(as_assignment(one));
}

/// The victims go in any case, also if the group does not fit without them.
GANGSCHED_INLINE bool core::evict_for_members(row_t group) {
  const members_room room = std::exchange(by_pod_, {});
  for (const assignment& one : room.made) clear_nominations(one.pod.row, one.node.row);
  if (room.waits) {
    nominate_members(group, room.placed);
    park_group(group, ~std::uint64_t{0});
  } else {
    for (const row_t pod : room.helpless) state_->nominate(pod, no_row);
    for (const assignment& one : room.made) state_->nominate(one.pod.row, no_row);
  }
  for (const pod_id victim : room.victims) evict(victim);
  return room.waits;
}

/// Members that found a node before anybody went: only these are nominated.
GANGSCHED_INLINE std::vector<assignment> core::fitting_members(row_t group) {
  const picker::position stood = picker_.where();
  std::vector<assignment> fitting;
  transaction attempt{*state_};
  part whole;
  whole.group = group;
  whole.members = pending_members(group);
  placed_.clear();
  static_cast<void>(try_members(whole, nullptr));
  for (const member_place& one : placed_) fitting.push_back(as_assignment(one));
  discard_members();
  attempt.roll_back();
  picker_.go_back(stood);
  return fitting;
}

}  // namespace gangsched::engine
