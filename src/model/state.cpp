#include "gangsched/model/state.hpp"

#include <algorithm>

#include "gangsched/model/canonical.hpp"
#include "gangsched/model/requests.hpp"

namespace gangsched {

GANGSCHED_INLINE cluster_state::cluster_state(std::size_t log_bound, const kube_semantics& whose)
    : semantics(whose),
      log(log_bound),
      nodes(undo),
      images(undo),
      pods(undo),
      priorities(undo),
      claims(undo),
      groups(undo),
      classes(undo),
      topologies(undo),
      choices(undo),
      counters(undo),
      named(undo),
      arrivals(undo) {
  arrivals.grow(1);
}

GANGSCHED_INLINE bool cluster_state::fits_in_words(row_t node, const pod_class& cls,
                                                   const pod_class* replaced) const noexcept {
  const auto fits = [&](resource_kind kind, std::int64_t more, std::int64_t less) {
    std::int64_t sum = 0;
    return !__builtin_add_overflow(nodes.used.at(node, kind) - less, more, &sum);
  };
  for (const amount& a : cls.requests) {
    if (!fits(a.kind, a.value, replaced != nullptr ? replaced->request(a.kind) : 0)) return false;
  }
  return fits(kinds::scored_cpu, cls.scored_cpu, replaced != nullptr ? replaced->scored_cpu : 0) &&
         fits(kinds::scored_memory, cls.scored_memory, replaced != nullptr ? replaced->scored_memory : 0);
}

GANGSCHED_INLINE void cluster_state::count_usage(row_t node, const pod_class& cls, std::int64_t sign) {
  matrix_column& used = nodes.used;
  for (const amount& a : cls.requests) used.set(node, a.kind, used.at(node, a.kind) + sign * a.value);
  used.set(node, kinds::pods, used.at(node, kinds::pods) + sign);
  used.set(node, kinds::scored_cpu, used.at(node, kinds::scored_cpu) + sign * cls.scored_cpu);
  used.set(node, kinds::scored_memory, used.at(node, kinds::scored_memory) + sign * cls.scored_memory);
}

GANGSCHED_INLINE reads cluster_state::facets_of(const pod_class& cls) noexcept {
  reads facets = reads::usage | reads::pods;
  if (!cls.ports.empty()) facets |= reads::ports;
  // Some node may count devices by a resource that it requests.
  const bool others = !cls.requests.empty() && cls.requests.back().kind >= kinds::first_other;
  const bool own = cls.guaranteed || cls.bind_cpus.policy != cpu_bind_policy::none;
  if (!cls.devices.empty() || !cls.claims.empty() || others || own) facets |= reads::devices;
  if (!cls.claims.empty()) facets |= reads::claims;
  return facets;
}

GANGSCHED_INLINE void placements::put(row_t pod, row_t node) {
  cluster_state& state = *state_;
  pod_table& pods = state.pods;
  const pod_class& cls = state.classes[pods.cls[pod]];
  const bool saved = state.undo.recording();
  if (saved) state.undo.make_room();
  const undo_log::pause words{state.undo};
  state.priorities.add(cls.priority, +1);  // it alone may want memory
  state.count_usage(node, cls, +1);
  if (const row_t next = state.nodes.first_pod[node]; next != no_row) {  // (a pod that is nowhere has no neighbours)
    pods.next_on_node.set(pod, next);
    pods.prev_on_node.set(next, pod);
  }
  state.nodes.first_pod.set(node, pod);
  pods.node.set(pod, node);
  if (saved) state.undo.save(*this, pod, 0, 0);
}

GANGSCHED_INLINE void placements::take_off(row_t pod) {
  cluster_state& state = *state_;
  pod_table& pods = state.pods;
  const row_t node = pods.node[pod];
  const pod_class& cls = state.classes[pods.cls[pod]];
  state.count_usage(node, cls, -1);
  state.priorities.add(cls.priority, -1);
  const row_t next = pods.next_on_node[pod];
  const row_t prev = pods.prev_on_node[pod];
  if (next != no_row) pods.prev_on_node.set(next, prev);
  if (prev != no_row) pods.next_on_node.set(prev, next);
  else state.nodes.first_pod.set(node, next);
  pods.next_on_node.set(pod, no_row);
  pods.prev_on_node.set(pod, no_row);
  pods.node.set(pod, no_row);
}

GANGSCHED_INLINE void placements::restore(row_t pod, std::uint32_t, std::uint64_t) noexcept {
  const undo_log::pause words{state_->undo};
  take_off(pod);
}

GANGSCHED_INLINE void cluster_state::put_on_node(row_t pod, row_t node, removal how) {
  if (const row_t next = nodes.first_pod[node]; next != no_row) pods.prefetch(next);
  const pod_class& cls = classes[class_of(pod)];  // what it counts for
  count_pod(pod, node, +1, how);
  for (const host_port& port : cls.ports) nodes.ports.add(node, port);
  devices.pod_came(pod, cls, node);
  count_claims(pod, +1);
  on_nodes.put(pod, node);
}

GANGSCHED_INLINE void cluster_state::take_off_node(row_t pod, removal how) {
  const row_t node = pods.node[pod];
  const pod_class& cls = classes[class_of(pod)];
  count_pod(pod, node, -1, how);
  for (const host_port& port : cls.ports) nodes.ports.remove(node, port);
  devices.pod_leaves(pod, cls, node);
  count_claims(pod, -1);
  on_nodes.take_off(pod);
}

GANGSCHED_INLINE void cluster_state::count_claims(row_t pod, std::int32_t sign) {
  if (!classes[pods.cls[pod]].volumes.disks) return;
  for (const symbol claim : pods.record[pod]->disks->exclusive_claims) claims.add(claim, sign);
}

GANGSCHED_INLINE void cluster_state::set_pod_state(row_t pod, pod_state to) {
  const pod_state from = pods.state[pod];
  pods.state.set(pod, to);
  if (to == pod_state::bound) devices.pod_runs(classes[pods.cls[pod]]);
  const row_t group = pods.group[pod];
  if (group == no_row) return;
  const auto count = [&](column<std::uint32_t>& counter, pod_state counted) {
    if (from == counted) counter.set(group, counter[group] - 1);
    if (to == counted) counter.set(group, counter[group] + 1);
  };
  count(groups.assumed, pod_state::assumed);
  count(groups.bound, pod_state::bound);
  if (to == pod_state::bound && !groups.satisfied[group] && groups.assumed[group] + groups.bound[group] >= groups.min_count(group)) {
    groups.satisfied.set(group, true);
  }
}

GANGSCHED_INLINE void cluster_state::assume(row_t pod, row_t node) {
  put_on_node(pod, node);
  set_pod_state(pod, pod_state::assumed);
  nominate(pod, no_row);
  pods.attempt.set(pod, static_cast<bind_attempt>(attempts_after + log.end() + 1));  // of the record that follows
  changed({.kind = change_kind::pod_assumed, .facets = facets_of(classes[pods.cls[pod]]), .row = pod, .after = node});
}

GANGSCHED_INLINE void cluster_state::bind(row_t pod) {
  set_pod_state(pod, pod_state::bound);
  changed({.kind = change_kind::pod_bound, .facets = reads::pods, .row = pod, .after = pods.node[pod]});
}

GANGSCHED_INLINE void cluster_state::release(row_t pod) {
  const row_t node = pods.node[pod];
  take_off_node(pod);
  devices.drop_claim(pod);
  set_pod_state(pod, pod_state::pending);
  pods.attempt.set(pod, bind_attempt::none);
  changed({.kind = change_kind::pod_released, .facets = facets_of(classes[pods.cls[pod]]), .row = pod, .before = node});
}

GANGSCHED_INLINE void cluster_state::nominate(row_t pod, row_t node) {
  const row_t before = pods.nominated[pod];
  if (before == node) return;
  set_nominated_node(pod, node);
  log_nomination(pod, before, node);
}

GANGSCHED_INLINE void cluster_state::log_nomination(row_t pod, row_t before, row_t after) {
  constexpr reads all = reads::usage | reads::pods | reads::ports | reads::devices | reads::claims;
  changed({.kind = change_kind::pod_nominated, .facets = all, .row = pod, .before = before, .after = after});
}

GANGSCHED_INLINE void cluster_state::set_nominated_node(row_t pod, row_t node) {
  const row_t before = pods.nominated[pod];
  if (before != no_row) {
    const row_t next = pods.next_nominated[pod];
    const row_t prev = pods.prev_nominated[pod];
    if (next != no_row) pods.prev_nominated.set(next, prev);
    if (prev != no_row)
      pods.next_nominated.set(prev, next);
    else
      nodes.first_nominated.set(before, next);
    if (nodes.first_nominated[before] == no_row) nodes.want(before, false);
  }
  const row_t first = node == no_row ? no_row : nodes.first_nominated[node];
  pods.nominated.set(pod, node);
  pods.next_nominated.set(pod, first);
  pods.prev_nominated.set(pod, no_row);
  if (first != no_row) pods.prev_nominated.set(first, pod);
  if (node == no_row) return;
  if (first == no_row) nodes.want(node, true);
  nodes.first_nominated.set(node, pod);
}

}  // namespace gangsched
