#include "gangsched/engine/group_limits.hpp"

#include <algorithm>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE std::uint64_t group_limits::with_node(row_t group) const {
  std::uint64_t sum = 0;
  state_->groups.each_below(group, [&](row_t row) {
    sum += std::uint64_t{state_->groups.assumed[row]} + state_->groups.bound[row];
    return true;
  });
  return sum;
}

GANGSCHED_INLINE std::optional<std::uint64_t> group_limits::by_ratios(row_t group) const {
  std::optional<std::uint64_t> limit;
  for (const group_ratio& one : state_->groups.record[group]->spec.ratios) {
    if (!gangsched::detail::names_group(*state_, one.to)) continue;
    const std::uint64_t in_step =
        with_node(one.to.row) * static_cast<std::uint64_t>(one.mine) / static_cast<std::uint64_t>(one.theirs);
    limit = std::min(limit.value_or(in_step + 1), in_step + 1);
  }
  if (limit) limit = std::max<std::uint64_t>(*limit, state_->groups.min_count(group));
  return limit;
}

GANGSCHED_INLINE bool group_limits::reached(row_t group) const {
  const gang* policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
  std::optional<std::uint64_t> most = by_ratios(group);
  if (policy != nullptr && policy->max_count) {
    const auto maximum = static_cast<std::uint64_t>(*policy->max_count);
    most = std::min(most.value_or(maximum), maximum);
  }
  return most && with_node(group) >= *most;
}

GANGSCHED_INLINE std::string group_limits::explain(row_t group) const {
  bool some_wait = false;
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod])
    some_wait = some_wait || entities_->wants_node(pod);
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

}  // namespace gangsched::inline GANGSCHED_ABI::engine
