#include "gangsched/model/state.hpp"

#include <algorithm>

#include "gangsched/model/canonical.hpp"
#include "gangsched/model/requests.hpp"

namespace gangsched {

GANGSCHED_INLINE std::optional<symbol> node_record::label(symbol key) const noexcept {
  const auto found = std::lower_bound(labels.begin(), labels.end(), key,
                                      [](const label_symbols& label, symbol wanted) { return label.key < wanted; });
  if (found == labels.end() || found->key != key) return std::nullopt;
  return found->value;
}

GANGSCHED_INLINE std::string group_record::bytes() const {
  std::string out;
  canonical::put(out, expected);
  canonical::put(out, spec.name);
  canonical::put(out, spec.ns);
  canonical::put(out, spec.policy.index());
  if (const gang* policy = std::get_if<gang>(&spec.policy)) {
    canonical::put(out, policy->min_count);
    canonical::put(out, policy->desired_count);
    canonical::put(out, policy->max_count);
    for (const role_minimum& one : policy->roles) canonical::put(out, one.role), canonical::put(out, one.min_count);
    canonical::put(out, policy->mode);
    canonical::put(out, policy->timeout.count());
    canonical::put(out, policy->atomic);
    canonical::put(out, policy->match);
    canonical::put(out, policy->strict);
    canonical::put(out, policy->stale_after.has_value()), canonical::put(out, policy->stale_after.value_or(instant::zero()).count());
  }
  const auto put_id = [&](group_id id) { canonical::put(out, id.row), canonical::put(out, id.generation); };
  canonical::put(out, spec.composite);
  put_id(spec.parent);
  canonical::put(out, spec.workload);
  canonical::put(out, spec.priority);
  canonical::put(out, spec.preemption);
  canonical::put(out, spec.topology.within);
  canonical::put(out, spec.topology.or_anywhere);
  for (const topology_slice& one : spec.topology.slices) canonical::put(out, one.key), canonical::put(out, one.size);
  canonical::put(out, spec.topology.spread_key);
  canonical::put(out, spec.topology.spread_most);
  canonical::put(out, spec.topology.choice);
  canonical::put(out, spec.topology.when_full);
  canonical::put(out, spec.disruption);
  for (const group_dependency& one : spec.start_after) put_id(one.on), canonical::put(out, one.until);
  for (const group_affinity& one : spec.affinity) put_id(one.to), canonical::put(out, one.key), canonical::put(out, one.apart);
  for (const group_ratio& one : spec.ratios) put_id(one.to), canonical::put(out, one.mine), canonical::put(out, one.theirs);
  canonical::put(out, spec.done);
  canonical::put(out, spec.cookie);
  return out;
}
GANGSCHED_INLINE node_table::node_table(undo_log& undo)
    : rows(undo),
      record(undo),
      inventory(undo),
      allocatable(undo),
      used(undo),
      devices(undo),
      first_pod(undo, no_row),
      first_nominated(undo, no_row),
      next_wanted(undo, no_row),
      prev_wanted(undo, no_row),
      first_wanted(undo, no_row),
      arrival(undo),
      ports(undo),
      by_name(undo),
      total(undo) {
  first_wanted.grow(1);
  total.grow(1);
}

GANGSCHED_INLINE pod_table::pod_table(undo_log& undo)
    : rows(undo),
      record(undo, words),
      state(undo, words),
      terminating(undo, words),
      preempted(undo, words),
      claim(undo, words),
      cls(undo, words),
      cls_epoch(undo, words),
      node(undo, words),
      nominated(undo, words),
      group(undo, words),
      next_on_node(undo, words),
      prev_on_node(undo, words),
      next_nominated(undo, no_row),
      prev_nominated(undo, no_row),
      attempt(undo),
      next_in_group(undo, words),
      prev_in_group(undo, words),
      arrival(undo, words),
      by_name(undo) {}

GANGSCHED_INLINE group_table::group_table(undo_log& undo)
    : rows(undo),
      record(undo),
      first(undo, no_row),
      last(undo, no_row),
      members(undo),
      assumed(undo),
      bound(undo),
      satisfied(undo),
      parent(undo, no_row),
      first_child(undo, no_row),
      last_child(undo, no_row),
      next_sibling(undo, no_row),
      prev_sibling(undo, no_row),
      children(undo),
      arrival(undo),
      by_name(undo),
      composite_by_name(undo) {}

GANGSCHED_INLINE cluster_state::cluster_state(std::size_t log_bound, const kube_semantics& whose)
    : semantics(whose),
      log(log_bound),
      nodes(undo),
      images(undo),
      pods(undo),
      priorities(undo),
      claims(undo),
      resource_claims(undo),
      groups(undo),
      classes(undo),
      topologies(undo),
      choices(undo),
      counters(undo),
      namespaces(undo),
      priority_classes(undo),
      budgets(undo),
      services(undo),
      controllers(undo),
      arrivals(undo) {
  for (const std::string_view name : {"cpu", "memory", "ephemeral-storage", "pods", "cpu (scored)", "memory (scored)"}) {
    kind_names.push_back(names.keep(name));
  }
  arrivals.grow(1);
}

GANGSCHED_INLINE std::optional<resource_kind> cluster_state::find_kind(std::string_view name) const {
  const std::optional<symbol> wanted = names.find(name);
  if (!wanted) return std::nullopt;
  const auto found = std::find(kind_names.begin(), kind_names.end(), *wanted);
  if (found == kind_names.end()) return std::nullopt;
  return static_cast<resource_kind>(found - kind_names.begin());
}

GANGSCHED_INLINE resource_kind cluster_state::kind_of(std::string_view name) {
  if (const std::optional<resource_kind> known = find_kind(name)) return *known;
  const symbol named = names.intern(name);
  ++kinds_made_;
  if (!free_kinds_.empty()) {  // its amounts are 0 everywhere
    const resource_kind kind = free_kinds_.back();
    free_kinds_.pop_back();
    kind_names[kind] = named;
    return kind;
  }
  nodes.allocatable.grow(nodes.rows.count(), kind_count() + 1);
  nodes.used.grow(nodes.rows.count(), kind_count() + 1);
  kind_names.push_back(named);
  return kind_count() - 1;
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
  const bool shares = !cls.claims.empty();
  if (nodes.inventory[node] != nullptr) {
    if (pods.claim[pod] == nullptr || shares) static_cast<void>(claim_devices(pod, node));
    count_devices(pod, node, +1);
  }
  if (shares) count_users(pod, node, +1);
  count_claims(pod, +1);
  on_nodes.put(pod, node);
}

GANGSCHED_INLINE void cluster_state::take_off_node(row_t pod, removal how) {
  const row_t node = pods.node[pod];
  const pod_class& cls = classes[class_of(pod)];
  count_pod(pod, node, -1, how);
  for (const host_port& port : cls.ports) nodes.ports.remove(node, port);
  count_devices(pod, node, -1);  // it keeps the claim, and so can be put back as it was
  if (!cls.claims.empty()) count_users(pod, node, -1);
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
  if (to == pod_state::bound) {  // from now on its claims last as long as their users
    for (const resource_claim_id claim : classes[pods.cls[pod]].claims) {
      if (resource_claims.kept[claim.row]) resource_claims.kept.set(claim.row, false);
    }
  }
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
  drop_claim(pod);
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

GANGSCHED_INLINE void node_table::grow(row_t to, resource_kind kinds) {
  record.grow(to), inventory.grow(to), first_pod.grow(to), first_nominated.grow(to), next_wanted.grow(to), prev_wanted.grow(to);
  arrival.grow(to), ports.grow(to), allocatable.grow(to, kinds), used.grow(to, kinds);
}

GANGSCHED_INLINE void pod_table::grow(row_t to) {
  if (to <= grown) return;
  const row_t room = to + to / 8;
  words.resize(room);
  next_nominated.grow(room), prev_nominated.grow(room), attempt.grow(room);
  grown = room;
}

GANGSCHED_INLINE void group_table::grow(row_t to) {
  for (column<row_t>* one : {&first, &last, &parent, &first_child, &last_child, &next_sibling, &prev_sibling}) one->grow(to);
  for (column<std::uint32_t>* one : {&members, &assumed, &bound, &children}) one->grow(to);
  record.grow(to), arrival.grow(to), satisfied.grow(to);
}

GANGSCHED_INLINE void node_table::set_record(row_t row, std::unique_ptr<const node_record> to) {
  inventory.set(row, to != nullptr && to->devices ? to->devices->inventory.get() : nullptr);
  record.set(row, std::move(to));
}

/// A node enters or leaves the list of those that pods are nominated to.
GANGSCHED_INLINE void node_table::want(row_t node, bool wanted) {
  const row_t first = first_wanted[0];
  const row_t next = wanted ? first : next_wanted[node];
  const row_t prev = wanted ? no_row : prev_wanted[node];
  if (wanted) {
    next_wanted.set(node, next);
    prev_wanted.set(node, no_row);
    first_wanted.set(0, node);
  } else if (prev == no_row) {
    first_wanted.set(0, next);
  } else {
    next_wanted.set(prev, next);
  }
  if (next != no_row) prev_wanted.set(next, wanted ? node : prev);
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
