#include "gangsched/engine/trial_memory.hpp"

#include <algorithm>
#include <numeric>

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The group that the record adds a pod to, changes one of, or takes one from.
GANGSCHED_INLINE row_t trial_memory::group_of(const model::cluster_state& state, const change& record) {
  row_t group = no_row;
  if (record.kind == change_kind::pod_removed)
    group = record.after;
  else if ((record.kind == change_kind::pod_added || record.kind == change_kind::pod_updated) &&
           state.pods.alive(record.row))
    group = state.pods.group[record.row];
  return group != no_row && state.groups.alive(group) ? group : no_row;
}

/// False if so much happened that looking at every node is no more work.
GANGSCHED_INLINE bool trial_memory::replay(const model::cluster_state& state, kept& one, std::vector<row_t>& changed) {
  const change_log& log = state.log;
  const std::uint64_t end = log.committed_end();
  if (log.lost(one.cursor) || log.truncated_since(one.cursor.truncations) < one.cursor.position) return false;
  if (end - one.cursor.position > state.nodes.rows.count()) return false;
  const auto add = [&](row_t node) {
    if (node != no_row) changed.push_back(node);
  };
  std::vector<row_t> trees;  // of groups that lost or got pods: their most important one protects them all
  for (std::uint64_t position = one.cursor.position; position < end; ++position) {
    const change& record = log[position];
    if (const row_t group = group_of(state, record); group != no_row) trees.push_back(state.groups.root(group));
    if (record.kind == change_kind::budget_changed) return false;
    const bool group = record.kind == change_kind::group_added || record.kind == change_kind::group_updated ||
                       record.kind == change_kind::group_removed;
    if (group && state.groups.alive(record.row) &&
        (state.groups.members[record.row] != 0 || state.groups.children[record.row] != 0)) {
      return false;  // what protects its members
    }
    add(record.node());
    if (record.kind == change_kind::pod_nominated) {
      add(record.before);
      add(record.after);
    } else if (record.kind == change_kind::pod_updated && state.pods.alive(record.row)) {
      add(state.pods.nominated[record.row]);  // it may ask for more there
    } else if (record.kind == change_kind::pod_added && state.pods.alive(record.row)) {
      add(state.pods.nominated[record.row]);
    }
  }
  std::sort(trees.begin(), trees.end());
  trees.erase(std::unique(trees.begin(), trees.end()), trees.end());
  for (const row_t root : trees) {
    if (state.groups.record[root]->spec.priority) continue;
    state.groups.each_below(root, [&](row_t group) {
      for (row_t pod = state.groups.first[group]; pod != no_row; pod = state.pods.next_in_group[pod])
        add(state.pods.node[pod]);
      return true;
    });
  }
  return true;
}

GANGSCHED_INLINE std::shared_ptr<void>& trial_memory::recall(const model::cluster_state& state, const class_plan& plan,
                                                             std::uint16_t plugin, std::vector<row_t>& changed) {
  changed.clear();
  auto found = std::find_if(all_.begin(), all_.end(), [&](const kept& one) {
    return one.cls == plan.cls && one.generation == plan.generation && one.plugin == plugin;
  });
  if (found == all_.end()) {
    if (all_.size() < most)
      found = all_.emplace(all_.end());
    else
      found = std::min_element(all_.begin(), all_.end(), [](const kept& a, const kept& b) { return a.used < b.used; });
    *found = {.cls = plan.cls, .generation = plan.generation, .plugin = plugin};
  }
  if (found->data == nullptr || !replay(state, *found, changed)) {
    changed.resize(state.nodes.rows.count());
    std::iota(changed.begin(), changed.end(), row_t{0});
  } else {
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  }
  found->used = ++clock_;
  found->cursor = {state.log.committed_end(), state.log.truncations()};
  return found->data;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
