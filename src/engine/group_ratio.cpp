#include <algorithm>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/cluster_checks.hpp"

// Groups that grow in step: how many members may have a node by what the others have, and who is queued again when those have more.
namespace gangsched::engine {

/// Members with a node, of the group and of all below it.
GANGSCHED_INLINE std::uint64_t core::with_node(row_t group) const {
  std::uint64_t sum = 0;
  state_->groups.each_below(group, [&](row_t row) {
    sum += std::uint64_t{state_->groups.assumed[row]} + state_->groups.bound[row];
    return true;
  });
  return sum;
}

/// The most members that may have a node: by each ratio one more than are in step with the other group, and never less than the minimum.
GANGSCHED_INLINE std::optional<std::uint64_t> core::ratio_limit(row_t group) const {
  std::optional<std::uint64_t> limit;
  for (const group_ratio& one : state_->groups.record[group]->spec.ratios) {
    if (!gangsched::detail::names_group(*state_, one.to)) continue;
    const std::uint64_t in_step = with_node(one.to.row) * static_cast<std::uint64_t>(one.mine) / static_cast<std::uint64_t>(one.theirs);
    limit = std::min(limit.value_or(in_step + 1), in_step + 1);
  }
  if (limit) limit = std::max<std::uint64_t>(*limit, state_->groups.min_count(group));
  return limit;
}

/// Whether the group of pods may not have more members with a node, however much room there is.
GANGSCHED_INLINE bool core::is_full(row_t group) const {
  const gang* policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
  std::optional<std::uint64_t> most = ratio_limit(group);
  if (policy != nullptr && policy->max_count) {
    const auto maximum = static_cast<std::uint64_t>(*policy->max_count);
    most = std::min(most.value_or(maximum), maximum);
  }
  return most && with_node(group) >= *most;
}

/// Groups of the tree that have members whom only a ratio keeps back are tried again when it lets more of them go.
GANGSCHED_INLINE void core::note_ratios(row_t root) {
  state_->groups.each_below(root, [&](row_t group) {
    const std::optional<std::uint64_t> limit = ratio_limit(group);
    if (!limit) return true;
    const group_id id{group, state_->groups.rows.generation(group)};
    std::erase_if(held_back_, [&](const held_back& one) { return one.group.row == group; });
    std::uint64_t wanted = 0;
    for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
      if (entities_.wants_node(pod) || state_->pods.node[pod] != no_row) ++wanted;
    }
    if (wanted > *limit) held_back_.push_back({id, *limit});
    return true;
  });
}

/// Groups whose ratios allow more than when they were tried last. O(groups kept back).
GANGSCHED_INLINE void core::ask_ratios() {
  std::vector<row_t> roots;
  std::erase_if(held_back_, [&](const held_back& one) {
    const row_t group = one.group.row;
    if (!gangsched::detail::names_group(*state_, one.group)) return true;
    const std::optional<std::uint64_t> limit = ratio_limit(group);
    if (limit && *limit <= one.limit) return false;
    roots.push_back(state_->groups.root(group));
    return true;
  });
  for (const row_t root : roots) {
    queue_.wake({root, true}, now_);
    requeue_group(root);
  }
}

/// What a ratio does to the group now, in words: for explanations.
GANGSCHED_INLINE std::string core::ratio_note(row_t group) const {
  bool some_wait = false;
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) some_wait = some_wait || entities_.wants_node(pod);
  for (const group_ratio& one : state_->groups.record[group]->spec.ratios) {
    if (!gangsched::detail::names_group(*state_, one.to)) continue;
    const std::uint64_t mine = with_node(group), theirs = with_node(one.to.row);
    const auto share = [](std::uint64_t count, std::int32_t by) { return count * static_cast<std::uint64_t>(by); };
    const std::uint64_t least = state_->groups.min_count(group);
    if (mine < least || share(mine, one.theirs) <= share(theirs, one.mine)) continue;
    const std::string name = '"' + state_->groups.record[one.to.row]->spec.name + '"';
    const std::string ratio = std::to_string(one.mine) + " to " + std::to_string(one.theirs);
    const std::uint64_t most = std::max(least, share(theirs, one.mine) / static_cast<std::uint64_t>(one.theirs) + 1);
    if (mine > most) return std::to_string(mine - most) + " of its members are above " + ratio + " with " + name;
    if (some_wait) return "waiting for more members of " + name + ", " + ratio;
  }
  return {};
}

}  // namespace gangsched::engine
