#include "gangsched/engine/entity_view.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE const kernel_table& entity_view::profile_of_group(row_t group) const noexcept {
  const kernel_table* found = nullptr;
  state_->groups.each_below(group, [&](row_t row) {
    row_t member = state_->groups.first[row];
    while (member != no_row && !has_profile(member)) member = state_->pods.next_in_group[member];
    if (member != no_row) found = &profile_of(member);
    return found == nullptr;
  });
  return found == nullptr ? profiles_->front() : *found;
}

GANGSCHED_INLINE bool entity_view::is_scheduled_as_one(row_t group) const noexcept {
  const gang* policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
  return policy == nullptr || policy->mode == gang_mode::group_cycle || state_->groups.parent[group] != no_row;
}

GANGSCHED_INLINE std::int32_t entity_view::group_priority(row_t group) const {
  if (const auto& own = state_->groups.record[group]->spec.priority) return *own;
  std::optional<std::int32_t> most;
  each_member(group, [&](row_t pod) {
    const std::int32_t its = state_->classes[state_->pods.cls[pod]].priority;
    most = std::max(most.value_or(its), its);
  });
  return most.value_or(0);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
