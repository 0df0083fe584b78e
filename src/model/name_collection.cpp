#include <algorithm>
#include <span>

#include "gangsched/model/mark_names.hpp"
#include "gangsched/model/state.hpp"

// What was interned or numbered and is named by nothing any more goes.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// What is named, as far as names and kinds go: their marks.
struct names_in_use {
  model::cluster_state& state;
  std::vector<bool> kinds;

  void mark(symbol name) noexcept { state.names.mark(name); }
  void mark_kinds(std::span<const amount> amounts) noexcept {
    for (const amount& one : amounts) kinds[one.kind] = true;
  }
  void mark(const pod_class& cls) noexcept {
    detail::mark(state.names, cls);
    mark_kinds(cls.requests), mark_kinds(cls.score_requests);
    for (const container_needs& one : cls.containers) mark_kinds(one.requests);
    for (const container_bounds& one : cls.bounds) mark_kinds(one.requests), mark_kinds(one.limits);
    mark_kinds(cls.overhead);
  }
  void mark(const model::node_record& node) noexcept {
    mark(node.name);
    for (const label_symbols& one : node.labels) detail::mark(state.names, one);
    for (const taint_symbols& one : node.taints) detail::mark(state.names, one);
    for (const image_symbols& one : node.images) mark(one.name);
    for (const symbol one : node.features) mark(one);
    for (const volume_limit& one : node.volume_limits) mark(one.driver);
    mark_kinds(node.allocatable);
    if (!node.devices) return;  // (The ledger has its inventory.)
    for (const auto& [kind, demand] : node.devices->counted) kinds[kind] = true, detail::mark(state.names, demand);
    for (const resource_kind kind : node.devices->memory_kinds) kinds[kind] = true;
  }
  void mark(const pod_disks& disks) noexcept {
    for (const pod_disks::disk& one : disks.disks) mark(one.id);
    detail::mark(state.names, disks.exclusive_claims);
    for (const pod_disks::attachment& one : disks.attachments) mark(one.driver), mark(one.id);
  }
  void mark(const model::resource_claim_record& claim) noexcept {
    mark(claim.ns);
    for (const device_demand& one : claim.devices) detail::mark(state.names, one);
    for (const device_match& one : claim.matches) detail::mark(state.names, one);
  }
  void mark(const model::queue_record& queue) noexcept {
    for (const queue_amounts& one : queue.quotas) {
      mark_kinds(one.guaranteed), mark_kinds(one.limit), mark_kinds(one.borrowing_limit), mark_kinds(one.lending_limit);
      for (const auto& [kind, weight] : one.weights) kinds[kind] = true;
    }
  }
  template <class Table>
  void mark_namespaces(const Table& table) noexcept {
    for (row_t row = 0; row < table.rows.count(); ++row) {
      if (table.record[row] != nullptr) mark(table.record[row]->ns);
    }
  }
  void mark_records() noexcept {
    for (row_t row = 0; row < state.nodes.rows.count(); ++row) {
      if (state.nodes.alive(row)) mark(*state.nodes.record[row]);
    }
    for (row_t row = 0; row < state.devices.resource_claims.rows.count(); ++row) {
      if (state.devices.resource_claims.record[row] != nullptr) mark(*state.devices.resource_claims.record[row]);
    }
    state.rooms.each([&](const model::held_room_record& room) {
      mark(room.owner);
      for (const model::held_room_record::part& one : room.parts) mark_kinds(one.amounts);
    });
    for (row_t row = 0; row < state.queues.rows.count(); ++row) {
      if (state.queues.alive(row)) mark(*state.queues.record[row]);
    }
    for (row_t row = state.queues.flavors.first[0]; row != no_row; row = state.queues.flavors.next[row])
      detail::mark(state.names, state.queues.flavors.record[row]->labels);
    mark_namespaces(state.groups), mark_namespaces(state.named.budgets), mark_namespaces(state.named.services),
        mark_namespaces(state.named.controllers);
  }
  /// (A pod's class has all of its names but those of its volumes and its priority class.)
  void mark_pods() noexcept {
    for (row_t row = 0; row < state.pods.rows.count(); ++row) {
      if (!state.pods.alive(row)) continue;
      const model::pod_details& details = *state.pods.record[row]->details;
      state.names.mark(details.priority_class);
      if (details.disks != nullptr) mark(*details.disks);
    }
  }
};

[[nodiscard]] constexpr std::size_t next_limit(std::size_t least, std::size_t live) noexcept {
  return least > live ? least : live;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

/// @pre no transaction is open
GANGSCHED_INLINE void name_collection::run() {
  constexpr limits least;
  bool any = false;
  state_.classes.sweep();
  state_.assigned.priorities.sweep();
  state_.nodes.tree.sweep();

  detail::names_in_use used{state_, std::vector<bool>(state_.kinds.count())};
  std::vector<bool> used_counters(state_.counters.size()), used_topologies(state_.topologies.size()),
      used_choices(state_.choices.size());
  std::fill_n(used.kinds.begin(), kinds::first_other, true);

  used.mark_records();
  bool own_names = state_.pods.name_classes;
  for (class_id id = 0; id < state_.classes.size(); ++id) {
    if (!state_.classes.has_pods(id)) continue;
    const pod_class& cls = state_.classes[id];
    used.mark(cls);
    own_names = own_names || cls.volumes.disks || cls.volumes.attachments;
    for (const counter_id one : cls.counters.named) used_counters[one] = true;
    for (const counter_id one : cls.counters.matched) used_counters[one] = true;
  }
  if (own_names) used.mark_pods();

  for (counter_id id = 0; id < state_.counters.size(); ++id) {
    if (!used_counters[id]) continue;
    used_topologies[state_.counters.spec(id).topology] = true;
    used_choices[state_.counters.spec(id).nodes] = true;
  }
  const struct announcement {  // also if a sweep throws half-way
    name_collection& mine;
    bool& any;
    ~announcement() {
      if (any) ++mine.freed, mine.state_.topologies.move_plan_epoch();
    }
  } announced{*this, any};
  any |= state_.counters.sweep(used_counters, state_.names);
  any |= state_.topologies.sweep(used_topologies, state_.names);
  any |= state_.choices.sweep(used_choices, state_.names);

  state_.devices.sweep();
  const model::resource_kinds::swept left = state_.kinds.sweep(used.kinds);
  any |= left.freed;
  const interner::swept swept = state_.names.sweep();
  any |= swept.freed != 0;
  if (state_.tuples.size() != 0 && (state_.tuples.size() >= limits_.tuples || always))
    state_.tuples.clear(), any = true;
  limits_ = {.names = detail::next_limit(least.names, swept.live),
             .counters = detail::next_limit(least.counters, state_.counters.known()),
             .topologies = detail::next_limit(least.topologies, state_.topologies.known()),
             .choices = detail::next_limit(least.choices, state_.choices.known()),
             .kinds = detail::next_limit(least.kinds, left.live),
             .expressions = detail::next_limit(least.expressions, state_.devices.expressions()),
             .priorities = detail::next_limit(least.priorities, 2 * state_.assigned.priorities.known())};
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
