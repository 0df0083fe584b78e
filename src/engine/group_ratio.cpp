#include <algorithm>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/cluster_checks.hpp"

// Groups that grow in step: who is queued again when the others have more.
namespace gangsched::engine {

/// Groups of the tree that have members whom only a ratio keeps back are tried again when it lets more of them go.
GANGSCHED_INLINE void core::note_ratios(row_t root) {
  state_->groups.each_below(root, [&](row_t group) {
    const std::optional<std::uint64_t> limit = limits_.by_ratios(group);
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
  std::erase_if(held_back_, [&](held_back& one) {
    const row_t group = one.group.row;
    if (!gangsched::detail::names_group(*state_, one.group)) return true;
    const std::optional<std::uint64_t> limit = limits_.by_ratios(group);
    if (limit && *limit <= one.limit) return false;
    if (limit && limits_.reached(group)) {  // not far enough: it has more than the other group is in step with by now
      one.limit = *limit;
      return false;
    }
    roots.push_back(state_->groups.root(group));
    return true;
  });
  for (const row_t root : roots) {
    queue_.wake({root, true}, now_);
    requeue_group(root);
  }
}

}  // namespace gangsched::engine
