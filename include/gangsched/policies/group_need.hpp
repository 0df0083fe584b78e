#pragma once
#include <algorithm>
#include <cstdint>

#include "gangsched/framework/views.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Whether a pod of it or of a group below is on a node. O(groups).
inline bool is_on_nodes(const group_view& group) {
  bool any = group.assumed() + group.bound() > 0;
  group.each_child([&](const group_view& child) { any = any || is_on_nodes(child); });
  return any;
}

/// Calls visit(pod_info) for the waiting pods that a group needs at least to start: of each gang in its tree the first ones up to its
/// minimum, members with a node counted; of each other group one. O(members).
template <class Visit>
void each_needed_pod(const group_view& group, const Visit& visit) {
  std::uint32_t left = group.spec().composite ? 0 : group.min_count();
  left -= std::min(left, group.assumed() + group.bound());
  if (!group.is_gang()) left = std::max(left, 1u);
  group.each_member([&](const pod_info& member) {
    if (left == 0 || member.state() != pod_state::pending || member.terminating()) return;
    --left;
    visit(member);
  });
  group.each_child([&](const group_view& child) { each_needed_pod(child, visit); });
}

}  // namespace gangsched::inline GANGSCHED_ABI
