#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/framework/disruption.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/policies/group_need.hpp"
#include "gangsched/policies/victim_units.hpp"

/// Jobs in the terms of FairShare: single pods, and trees of groups.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// A job's place in the order of its queue: a tree of groups is one job, and keeps its place when its pods are recreated.
struct job_rank {
  explicit job_rank(const pod_info& pod) {
    if (const auto group = pod.group())
      *this = job_rank{*group};
    else
      priority = pod.priority(), arrival = pod.arrival();
  }
  explicit job_rank(const group_view& group)
      : priority(tree_priority(group)), arrival(group.root().arrival()), tree(group.root().row()) {}

  std::int32_t priority = 0;
  std::uint64_t arrival = 0;
  row_t tree = no_row;  ///< the root of its groups
};

/// The key of a job that waits for room. O(depth).
inline std::int32_t priority_of_one(const pod_info& pod) {
  const auto group = pod.group();
  return group ? group->root().spec().priority.value_or(pod.priority()) : pod.priority();
}

/// Whether the gang lacks members of the pod's role. O(members) if it has minimums by role.
inline bool lacks_role(const group_view& group, const pod_info& pod) {
  if (!group.is_gang()) return false;
  for (const role_minimum& one : group.policy()->roles) {
    if (one.role != pod.role()) continue;
    std::int32_t running = 0;
    group.each_member([&](const pod_info& member) { running += member.node() && member.role() == one.role ? 1 : 0; });
    return running < one.min_count;
  }
  return false;
}

/// Whether the pod is beyond its group's minimum, in a group that is disrupted as a whole. O(groups).
inline bool grows_a_whole(const pod_info& pod) {
  const std::optional<group_view> top = disrupted_with(pod);
  if (!top) return false;
  group_view group = *pod.group();
  if (group.assumed() + group.bound() >= group.min_count()) return !lacks_role(group, pod);
  while (group.id() != top->id()) {
    if (is_on_nodes(group)) return false;
    group = *group.parent();
    std::uint32_t running = 0;
    group.each_child([&](const group_view& child) { running += is_on_nodes(child) ? 1 : 0; });
    if (running >= group.min_count()) return true;
  }
  return false;
}

/// Units in the order of eviction: the minimum of a gang comes after all of its surplus, and not while some of that stays.
[[nodiscard]] inline std::vector<std::uint32_t> with_surplus(const std::vector<victim_unit>& units,
                                                             std::vector<std::uint32_t> order) {
  std::map<group_id, std::size_t> surplus, seen;
  for (const victim_unit& one : units)
    if (one.goes_with) ++surplus[one.goes_with];
  if (surplus.empty()) return order;
  std::map<group_id, std::uint32_t> rest;
  std::vector<std::uint32_t> made;
  for (const std::uint32_t i : order) {
    const victim_unit& one = units[i];
    const bool whole = !one.group || surplus.find(one.group) == surplus.end() || seen[one.group] == surplus[one.group];
    if (!whole) {
      rest[one.group] = i;
      continue;
    }
    made.push_back(i);
    if (!one.goes_with || ++seen[one.goes_with] != surplus[one.goes_with]) continue;
    if (const auto left = rest.find(one.goes_with); left != rest.end()) made.push_back(left->second);
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
