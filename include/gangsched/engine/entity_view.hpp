#pragma once
#include "gangsched/engine/profile_set.hpp"
#include "gangsched/engine/sorted_entities.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Pods and groups as entities of the queue: which profile they use, whether a pod is queued by itself or with its group, how important a
/// group is. Stateless.
class GANGSCHED_API entity_view {
 public:
  entity_view(const model::cluster_state& state, const profile_set& profiles) noexcept
      : state_(&state), profiles_(&profiles) {}

  /// Whether there is a profile for the pod.
  [[nodiscard]] bool has_profile(row_t pod) const noexcept { return find_profile(pod) != nullptr; }
  /// The pod's profile; the first one if there is none for it.
  [[nodiscard]] const kernel_table& profile_of(row_t pod) const noexcept {
    const kernel_table* found = find_profile(pod);
    return found != nullptr ? *found : profiles_->front();
  }
  /// The members of a tree have one scheduler, or are not ours. O(members) at most.
  [[nodiscard]] const kernel_table& profile_of_group(row_t group) const noexcept;
  /// Whether the pod waits for a node and some profile is for it.
  [[nodiscard]] bool wants_node(row_t pod) const noexcept {
    return state_->pods.state[pod] == pod_state::pending && !state_->pods.terminating[pod] && has_profile(pod);
  }
  /// Whether the group's members are scheduled together. Groups in a tree are, whatever their own mode. `no_row`: no.
  [[nodiscard]] bool cycles_as_group(row_t group) const noexcept {
    return group != no_row && is_scheduled_as_one(group);
  }
  /// The entity that stands in the queue for the pod: its tree's root, or itself.
  [[nodiscard]] entity entity_of(row_t pod) const noexcept {
    const row_t group = state_->pods.group[pod];
    return cycles_as_group(group) ? entity{state_->groups.root(group), true} : entity{pod, false};
  }
  /// A group's own priority, else that of its most important member. O(members).
  [[nodiscard]] std::int32_t group_priority(row_t group) const;
  /// Whether the group has fewer members with a node than its minimum. `no_row`: no.
  [[nodiscard]] bool incomplete(row_t group) const noexcept {
    const model::group_table& groups = state_->groups;
    return group != no_row && groups.assumed[group] + groups.bound[group] < groups.min_count(group);
  }
  /// Pod groups as in Kubernetes 1.36 and before: pods are queued one by one, and a group is what is pending of them when one is popped.
  [[nodiscard]] bool members_enter_singly() const noexcept { return state_->semantics.release() < kube_release::v1_37; }

  /// Calls visit(row) for the members of a group and of all groups below it.
  template <class Visit>
  void each_member(row_t group, Visit&& visit) const {
    state_->groups.each_below(group, [&](row_t row) {
      for (row_t pod = state_->groups.first[row]; pod != no_row; pod = state_->pods.next_in_group[pod]) visit(pod);
      return true;
    });
  }
  /// How many of them wait for a node. O(members).
  [[nodiscard]] std::size_t waiting_members(row_t group) const {
    std::size_t waiting = 0;
    each_member(group, [&](row_t pod) { waiting += wants_node(pod) ? 1 : 0; });
    return waiting;
  }

 private:
  [[nodiscard]] bool is_scheduled_as_one(row_t group) const noexcept;
  [[nodiscard]] const kernel_table* find_profile(row_t pod) const noexcept {
    return profiles_->find(state_->classes[state_->pods.cls[pod]]);
  }

  const model::cluster_state* state_;
  const profile_set* profiles_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/entity_view.cpp"
#endif
