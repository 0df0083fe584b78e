#include "gangsched/engine/dependent_groups.hpp"

#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void dependent_groups::look_again() {
  held_back_.clear();
  starting_.clear();
  for (row_t group = 0; group < state_->groups.rows.count(); ++group) {
    if (starts_after(group)) starting_.push_back(group);
  }
}

GANGSCHED_INLINE void dependent_groups::note(row_t group) {
  if (starts_after(group) && std::find(starting_.begin(), starting_.end(), group) == starting_.end())
    starting_.push_back(group);
}

GANGSCHED_INLINE void dependent_groups::note_ratios(row_t root) {
  state_->groups.each_below(root, [&](row_t group) {
    const std::optional<std::uint64_t> limit = limits_->by_ratios(group);
    if (!limit) return true;
    const group_id id{group, state_->groups.rows.generation(group)};
    std::erase_if(held_back_, [&](const held_back& one) { return one.group.row == group; });
    std::uint64_t wanted = 0;
    for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
      if (entities_->wants_node(pod) || state_->pods.node[pod] != no_row) ++wanted;
    }
    if (wanted > *limit) held_back_.push_back({id, *limit});
    return true;
  });
}

GANGSCHED_INLINE std::vector<row_t> dependent_groups::take_released() {
  std::vector<row_t> roots;
  std::erase_if(held_back_, [&](held_back& one) {
    const row_t group = one.group.row;
    if (!gangsched::detail::names_group(*state_, one.group)) return true;
    const std::optional<std::uint64_t> limit = limits_->by_ratios(group);
    if (limit && *limit <= one.limit) return false;
    if (limit && limits_->reached(group)) {  // not far enough: it has more than the other group is in step with by now
      one.limit = *limit;
      return false;
    }
    roots.push_back(state_->groups.root(group));
    return true;
  });
  return roots;
}

GANGSCHED_INLINE saved_dependents dependent_groups::save() const {
  saved_dependents made{starting_, {}};
  for (const held_back& one : held_back_) made.held_back.emplace_back(one.group, one.limit);
  return made;
}

GANGSCHED_INLINE std::optional<error> dependent_groups::restore(const saved_dependents& from) {
  const slots& rows = state_->groups.rows;
  for (const row_t group : from.starting) {
    if (group >= rows.count()) return model::damaged("groups that start after others");
  }
  std::vector<held_back> back;
  for (const auto& [group, limit] : from.held_back) {
    if (!gangsched::detail::had(rows, group)) return model::damaged("groups that ratios hold back");
    back.push_back({group, limit});
  }
  starting_ = from.starting;
  held_back_ = std::move(back);
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
