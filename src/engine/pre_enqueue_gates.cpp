#include "gangsched/engine/pre_enqueue_gates.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE bool pre_enqueue_gates::rejects_pod(row_t pod) {
  const row_t group = state_->pods.group[pod];
  return (group != no_row && state_->groups.record[state_->groups.root(group)]->expected) || hooks_reject(pod);
}

GANGSCHED_INLINE bool pre_enqueue_gates::hooks_reject(row_t pod) {
  static_cast<void>(state_->class_of(pod));
  for (const plugin_entry& plugin : entities_->profile_of(pod).hooks(point::pre_enqueue)) {
    if (!plugin.pre_enqueue(plugin.self.get(), pod_info{*state_, pod}).ok()) return true;
  }
  return false;
}

GANGSCHED_INLINE bool pre_enqueue_gates::rejects_all_members(row_t group) {
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
    if (entities_->wants_node(pod) && !rejects_pod(pod)) return false;
  }
  return true;
}

/// The member that was the reason last time is asked first: while a gang fills up, every arrival costs one question, not one per member.
GANGSCHED_INLINE bool pre_enqueue_gates::rejects_group(row_t root) {
  if (entities_->members_enter_singly()) return rejects_all_members(root);
  if (rejected_member_.size() <= root) rejected_member_.resize(std::max(root + 1, state_->groups.rows.room()), no_row);
  const row_t last = rejected_member_[root];
  const bool still = last != no_row && state_->pods.alive(last) && entities_->wants_node(last) &&
                     entities_->entity_of(last) == entity{root, true};
  if (still && rejects_pod(last)) return true;
  const bool expected = state_->groups.record[root]->expected;
  const bool open = state_->groups.each_below(root, [&](row_t group) {
    for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
      if (!entities_->wants_node(pod) || (!expected && !hooks_reject(pod))) continue;
      rejected_member_[root] = pod;
      return false;
    }
    return true;
  });
  if (open) open_ = root;
  return !open;
}

GANGSCHED_INLINE saved_gates pre_enqueue_gates::save() const {
  saved_gates made;
  for (row_t group = 0; group < rejected_member_.size(); ++group) {
    if (rejected_member_[group] != no_row) made.rejected_members.emplace_back(group, rejected_member_[group]);
  }
  made.open = open_;
  return made;
}

GANGSCHED_INLINE std::optional<error> pre_enqueue_gates::restore(const saved_gates& from) {
  std::vector<row_t> made(state_->groups.rows.count(), no_row);
  for (const auto& [group, pod] : from.rejected_members) {
    if (group >= made.size() || pod >= state_->pods.rows.count()) return model::damaged("gates");
    made[group] = pod;
  }
  rejected_member_ = std::move(made);
  open_ = from.open;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
