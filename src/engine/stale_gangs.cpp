#include "gangsched/engine/stale_gangs.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void stale_gangs::group_changed(row_t group) {
  for (; group != no_row && state_->groups.alive(group); group = state_->groups.parent[group]) {
    const gang* policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
    if (policy == nullptr || !policy->stale_after) continue;
    if (!changed_.empty() && changed_.back() == group) continue;
    constexpr std::size_t few = 64;
    if (changed_.size() > few + 2 * std::size_t{state_->groups.rows.count()}) drop_repeated();  // recheck is not called
    changed_.push_back(group);
  }
}

/// Whether members with nodes, or groups below that have enough themselves, are as many as the group needs. O(members).
GANGSCHED_INLINE bool stale_gangs::has_enough(row_t group) const {
  const model::group_table& groups = state_->groups;
  const gang* policy = std::get_if<gang>(&groups.record[group]->spec.policy);
  std::int64_t there = 0;
  if (groups.record[group]->spec.composite) {
    for (row_t child = groups.first_child[group]; child != no_row; child = groups.next_sibling[child])
      there += has_enough(child);
    return there >= (policy != nullptr ? policy->min_count : 1);
  }
  std::vector<std::int64_t> roles(policy != nullptr ? policy->roles.size() : 0);
  for (row_t pod = groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
    if (state_->pods.node[pod] == no_row || state_->pods.terminating[pod]) continue;
    ++there;
    for (std::size_t i = 0; i < roles.size(); ++i)
      roles[i] += policy->roles[i].role == state_->pods.record[pod]->details->role;
  }
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (roles[i] < policy->roles[i].min_count) return false;
  }
  return there >= (policy != nullptr ? policy->min_count : 1);
}

GANGSCHED_INLINE bool stale_gangs::is_stale(row_t group) const {
  if (state_->groups.record[group]->spec.done) return false;
  bool runs = false;
  entities_->each_member(group, [&](row_t pod) {
    runs = runs || (state_->pods.state[pod] == pod_state::bound && !state_->pods.terminating[pod]);
  });
  return runs && !has_enough(group);
}

GANGSCHED_INLINE std::optional<instant> stale_gangs::limit_of(const stale_gang& one) const noexcept {
  if (!gangsched::detail::names_group(*state_, one.group)) return std::nullopt;
  const gang* policy = std::get_if<gang>(&state_->groups.record[one.group.row]->spec.policy);
  return policy == nullptr ? std::nullopt : policy->stale_after;
}

GANGSCHED_INLINE instant stale_gangs::due_time(const stale_gang& one, instant limit) noexcept {
  return later_by(one.since, one.evicted ? std::max(limit, instant{std::chrono::seconds{1}}) : limit);
}

GANGSCHED_INLINE void stale_gangs::drop_repeated() {
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
}

GANGSCHED_INLINE void stale_gangs::look_at_changed(instant now) {
  drop_repeated();
  for (const row_t group : changed_) {
    const auto found =
        std::find_if(all_.begin(), all_.end(), [&](const stale_gang& one) { return one.group.row == group; });
    if (!state_->groups.alive(group) || !is_stale(group)) {
      if (found != all_.end()) all_.erase(found);
    } else if (const group_id id{group, state_->groups.rows.generation(group)}; found == all_.end()) {
      all_.push_back({id, now, false});
    } else if (found->group != id) {
      *found = {id, now, false};
    }
  }
  changed_.clear();
}

GANGSCHED_INLINE std::vector<group_id> stale_gangs::due(instant now) {
  std::vector<group_id> found;
  std::erase_if(all_, [&](stale_gang& one) {
    const std::optional<instant> limit = limit_of(one);
    if (!limit) return true;
    if (const instant when = due_time(one, *limit); now < when || when == instant::max()) return false;
    if (!is_stale(one.group.row)) return true;
    one.since = now;
    one.evicted = true;
    found.push_back(one.group);
    return false;
  });
  return found;
}

GANGSCHED_INLINE std::optional<instant> stale_gangs::next_due() const {
  std::optional<instant> next;
  for (const stale_gang& one : all_) {
    const std::optional<instant> limit = limit_of(one);
    if (!limit) continue;
    const instant when = due_time(one, *limit);
    next = std::min(next.value_or(when), when);
  }
  return next;
}

GANGSCHED_INLINE saved_stale stale_gangs::save() const {
  saved_stale made{changed_, {}};
  for (const stale_gang& one : all_) made.all.push_back({one.group, one.since, one.evicted});
  return made;
}

GANGSCHED_INLINE std::optional<error> stale_gangs::restore(const saved_stale& from) {
  const slots& rows = state_->groups.rows;
  for (const row_t group : from.changed) {
    if (group >= rows.count()) return model::damaged("gangs that may be stale");
  }
  std::vector<stale_gang> made;
  for (const saved_stale_gang& one : from.all) {
    if (!gangsched::detail::had(rows, one.group)) return model::damaged("stale gangs");
    made.push_back({one.group, one.since, one.evicted});
  }
  changed_ = from.changed;
  all_ = std::move(made);
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
