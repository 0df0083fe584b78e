#include <algorithm>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/cluster_checks.hpp"

// Gangs some of whose members still run although too few are left (gang::stale_after; volcano-kai-yunikorn 2, stalegangeviction).
namespace gangsched::engine {

/// Something happened to the group: those at or above it that mind are looked at.
GANGSCHED_INLINE void core::shake(row_t group) {
  for (; group != no_row && state_->groups.alive(group); group = state_->groups.parent[group]) {
    const gang* policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
    if (policy == nullptr || !policy->stale_after) continue;
    if (shaken_.empty() || shaken_.back() != group) shaken_.push_back(group);
  }
}

/// Whether members with nodes, or groups below that have enough themselves, are as many as the group needs. O(members).
GANGSCHED_INLINE bool core::has_enough(row_t group) const {
  const group_table& groups = state_->groups;
  const gang* policy = std::get_if<gang>(&groups.record[group]->spec.policy);
  std::int64_t there = 0;
  if (groups.record[group]->spec.composite) {
    for (row_t child = groups.first_child[group]; child != no_row; child = groups.next_sibling[child]) there += has_enough(child);
    return there >= (policy != nullptr ? policy->min_count : 1);
  }
  std::vector<std::int64_t> roles(policy != nullptr ? policy->roles.size() : 0);
  for (row_t pod = groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
    if (state_->pods.node[pod] == no_row || state_->pods.terminating[pod]) continue;
    ++there;
    for (std::size_t i = 0; i < roles.size(); ++i) roles[i] += policy->roles[i].role == state_->pods.record[pod]->role;
  }
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (roles[i] < policy->roles[i].min_count) return false;
  }
  return there >= (policy != nullptr ? policy->min_count : 1);
}

GANGSCHED_INLINE bool core::is_stale(row_t group) const {
  if (state_->groups.record[group]->spec.done) return false;
  bool runs = false;
  entities_.each_member(group, [&](row_t pod) { runs = runs || (state_->pods.state[pod] == pod_state::bound && !state_->pods.terminating[pod]); });
  return runs && !has_enough(group);
}

/// A host that did not listen is told again, but not without end at one instant.
GANGSCHED_INLINE instant core::due_of(const stale_gang& one, instant after) noexcept {
  return later_by(one.since, one.told ? std::max(after, instant{std::chrono::seconds{1}}) : after);
}

GANGSCHED_INLINE void core::evict_stale() {
  const auto known = [&](row_t group) {
    return std::find_if(stale_.begin(), stale_.end(), [&](const stale_gang& one) { return one.group.row == group; });
  };
  std::sort(shaken_.begin(), shaken_.end());
  shaken_.erase(std::unique(shaken_.begin(), shaken_.end()), shaken_.end());
  for (const row_t group : shaken_) {
    const auto found = known(group);
    if (!state_->groups.alive(group) || !is_stale(group)) {
      if (found != stale_.end()) stale_.erase(found);
    } else if (const group_id id{group, state_->groups.rows.generation(group)}; found == stale_.end()) {
      stale_.push_back({id, now_, false});
    } else if (found->group != id) {
      *found = {id, now_, false};
    }
  }
  shaken_.clear();
  std::erase_if(stale_, [&](stale_gang& one) {
    const row_t group = one.group.row;
    if (!gangsched::detail::names_group(*state_, one.group)) return true;
    const gang* policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
    if (policy == nullptr || !policy->stale_after) return true;
    if (const instant due = due_of(one, *policy->stale_after); now_ < due || due == instant::max()) return false;
    if (!is_stale(group)) return true;
    constexpr const char* why = "its gang has had fewer members than its minimum for too long";
    std::vector<row_t> members;
    entities_.each_member(group, [&](row_t pod) { members.push_back(pod); });
    for (const row_t pod : members) evict({pod, state_->pods.rows.generation(pod)}, why);
    one.since = now_;
    one.told = true;
    return false;
  });
}

/// When the next of them has been so for long enough.
GANGSCHED_INLINE std::optional<instant> core::next_stale() const {
  std::optional<instant> next;
  for (const stale_gang& one : stale_) {
    if (!gangsched::detail::names_group(*state_, one.group)) continue;
    const gang* policy = std::get_if<gang>(&state_->groups.record[one.group.row]->spec.policy);
    if (policy == nullptr || !policy->stale_after) continue;
    const instant due = due_of(one, *policy->stale_after);
    next = std::min(next.value_or(due), due);
  }
  return next;
}

}  // namespace gangsched::engine
