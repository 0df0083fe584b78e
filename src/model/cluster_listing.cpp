#include "gangsched/model/cluster_listing.hpp"

#include <algorithm>

#include "gangsched/core/saturating_add.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Those that hosts know of: cpu, memory, ephemeral-storage and pods, then by name.
GANGSCHED_INLINE std::vector<resource_kind> listed_kinds(const model::resource_kinds& all) {
  std::vector<resource_kind> made{kinds::cpu, kinds::memory, kinds::ephemeral_storage, kinds::pods};
  for (resource_kind kind = kinds::first_other; kind < all.count(); ++kind) {
    if (!all.name(kind).empty()) made.push_back(kind);
  }
  std::sort(made.begin() + 4, made.end(), [&](resource_kind a, resource_kind b) { return all.name(a) < all.name(b); });
  return made;
}

}  // namespace detail

GANGSCHED_INLINE node_amounts cluster_listing::amounts() const {
  node_amounts made;
  const std::vector<resource_kind> columns = detail::listed_kinds(state_->kinds);
  for (const resource_kind kind : columns) made.resources.emplace_back(state_->kinds.name(kind));
  for (auto* const total : {&made.total_allocatable, &made.total_requested, &made.total_free})
    total->assign(columns.size(), 0);
  for (row_t row = 0; row < state_->nodes.rows.count(); ++row) {
    if (!state_->nodes.alive(row)) continue;
    made.nodes.push_back({row, state_->nodes.rows.generation(row)});
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::int64_t has = state_->nodes.allocatable.at(row, columns[i]);
      const std::int64_t used = state_->nodes.used.at(row, columns[i]);
      made.allocatable.push_back(has);
      made.requested.push_back(used);
      made.free.push_back(has - used);
      made.total_allocatable[i] = saturating_add(made.total_allocatable[i], has);
      made.total_requested[i] = saturating_add(made.total_requested[i], used);
      made.total_free[i] = saturating_add(made.total_free[i], has - used);
    }
  }
  return made;
}

GANGSCHED_INLINE listed_group cluster_listing::describe(row_t group) const {
  const model::group_table& groups = state_->groups;
  const auto id = [&](row_t row) { return row == no_row ? group_id{} : group_id{row, groups.rows.generation(row)}; };
  listed_group made;
  made.group = id(group);
  made.parent = id(groups.parent[group]);
  made.expected = groups.record[group]->expected;
  made.assumed = groups.assumed[group];
  made.bound = groups.bound[group];
  made.pending = groups.members[group] - made.assumed - made.bound;
  for (row_t pod = groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod])
    made.members.push_back({pod, state_->pods.rows.generation(pod)});
  for (row_t child = groups.first_child[group]; child != no_row; child = groups.next_sibling[child])
    made.children.push_back(id(child));
  return made;
}

GANGSCHED_INLINE std::vector<listed_group> cluster_listing::groups() const {
  std::vector<listed_group> made;
  for (row_t row = 0; row < state_->groups.rows.count(); ++row) {
    if (state_->groups.alive(row)) made.push_back(describe(row));
  }
  return made;
}

GANGSCHED_INLINE std::optional<listed_group> cluster_listing::find(group_id group) const {
  if (!detail::names_group(*state_, group)) return std::nullopt;
  return describe(group.row);
}

GANGSCHED_INLINE std::vector<pod_id> cluster_listing::pods_on(node_id node) const {
  std::vector<pod_id> made;
  if (!detail::names_node(*state_, node)) return made;
  for (row_t pod = state_->nodes.first_pod[node.row]; pod != no_row; pod = state_->pods.next_on_node[pod])
    made.push_back({pod, state_->pods.rows.generation(pod)});
  std::sort(made.begin(), made.end());
  return made;
}

GANGSCHED_INLINE std::vector<pod_id> cluster_listing::nominated_to(node_id node) const {
  std::vector<pod_id> made;
  if (!detail::names_node(*state_, node)) return made;
  for (row_t pod = state_->nodes.first_nominated[node.row]; pod != no_row; pod = state_->pods.next_nominated[pod])
    made.push_back({pod, state_->pods.rows.generation(pod)});
  std::sort(made.begin(), made.end());
  return made;
}

GANGSCHED_INLINE std::optional<pod_spec> cluster_listing::spec_of(pod_id pod) const {
  const model::pod_table& pods = state_->pods;
  if (!detail::names_pod(*state_, pod) || pods.record[pod.row]->details->spec == nullptr) return std::nullopt;
  pod_spec made = *pods.record[pod.row]->details->spec;
  const auto id = [&](row_t row) {
    return row == no_row ? node_id{} : node_id{row, state_->nodes.rows.generation(row)};
  };
  made.node = pods.state[pod.row] == pod_state::bound ? id(pods.node[pod.row]) : node_id{};
  made.nominated_node = id(pods.nominated[pod.row]);
  made.terminating = pods.terminating[pod.row];
  made.preempted = pods.preempted[pod.row];
  return made;
}

GANGSCHED_INLINE std::optional<node_spec> cluster_listing::spec_of(node_id node) const {
  if (!detail::names_node(*state_, node)) return std::nullopt;
  const model::node_record& record = *state_->nodes.record[node.row];
  if (record.spec == nullptr) return std::nullopt;
  node_spec made = *record.spec;
  if (record.devices == nullptr) return made;
  std::size_t at = 0;
  for (auto& gpu : made.devices.gpus) gpu.healthy = !record.devices->unhealthy[at++];
  for (auto& other : made.devices.others) other.healthy = !record.devices->unhealthy[at++];
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
