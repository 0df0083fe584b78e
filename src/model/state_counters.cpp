#include <algorithm>

#include "gangsched/model/canonical.hpp"
#include "gangsched/model/state.hpp"

// Keeps counters and classes right while pods, nodes and namespaces change.
namespace gangsched {

GANGSCHED_INLINE const label_map& cluster_state::namespace_labels(symbol ns) const {
  const row_t row = named.namespaces.by_name.find({}, names.text(ns));
  return row == no_row ? no_labels : named.namespaces.record[row]->spec.labels;
}

GANGSCHED_INLINE void cluster_state::catch_up(row_t pod) {
  while (pods.cls_epoch[pod] != classes.epoch()) rekey(pod);  // what it names may come to life by it, and match it
}

GANGSCHED_INLINE void cluster_state::rekey(row_t pod) {
  const class_id old = pods.cls[pod];
  pods.cls_epoch.set(pod, classes.epoch());
  const pod_record& record = *pods.record[pod];
  std::vector<counter_id> matched = counters.matching(record.ns, record.labels, namespace_labels(record.ns));
  std::optional<label_selector> selector;
  if (!default_spread.empty() && classes[old].spread.empty()) {
    selector = default_selector(*this, record.ns, record.labels, record.controller);
  }
  const bool renamed = canonical::bytes(selector) != canonical::bytes(classes[old].default_selector) ||
                       (selector && classes[old].counters.default_spread.size() != default_spread.size());
  if (!renamed && matched == classes[old].counters.matched) return;
  pod_class changed = classes[old];
  if (renamed) {
    changed.default_selector = std::move(selector);
    name_counters(*this, changed);
  }
  match_counters(*this, changed, std::move(matched));
  const class_id now = classes.intern(std::move(changed));
  enter_class(now);  // before it leaves the old one: what both name stays alive
  leave_class(old);
  pods.cls.set(pod, now);
}

GANGSCHED_INLINE void cluster_state::enter_class(class_id cls) {
  if (!classes.add_pod(cls)) return;
  devices.class_came(classes[cls]);
  for (const counter_id id : classes[cls].counters.named) {
    if (!counters.add_user(id)) continue;
    classes.move_epoch();
    fill(id);
  }
}

GANGSCHED_INLINE void cluster_state::leave_class(class_id cls) {
  if (!classes.remove_pod(cls)) return;
  devices.class_left(classes[cls]);
  for (const counter_id id : classes[cls].counters.named) {
    if (counters.remove_user(id)) classes.move_epoch();
  }
}

/// Counts from nothing. Terms need no walk: nobody carries one that no class named.
GANGSCHED_INLINE void cluster_state::fill(counter_id id) {
  const counter_spec& spec = counters.spec(id);
  topologies.follow(spec.topology, nodes);
  choices.follow(spec.nodes, nodes, names);
  counters.clear(id);
  if (spec.spread && spec.topology != node_itself) {
    for (row_t row = 0; row < nodes.rows.count(); ++row) {
      const domain_id domain = topologies.domain(spec.topology, row);
      if (nodes.alive(row) && domain != no_domain && choices.takes(spec.nodes, row))
        counters.add_node(id, domain, true);
    }
  }
  if (spec.what != counts::matching || spec.nobody) return;
  const pod_scope& scope = counters.scope(spec.scope);
  for (row_t row = 0; row < nodes.rows.count(); ++row) {
    const domain_id domain = topologies.domain(spec.topology, row);
    if (domain == no_domain || !choices.takes(spec.nodes, row)) continue;
    for (row_t pod = nodes.first_pod[row]; pod != no_row; pod = pods.next_on_node[pod]) {
      const pod_record& record = *pods.record[pod];
      if (spec.spread && pods.terminating[pod]) continue;
      if (matches(scope, record.ns, record.labels, namespace_labels(record.ns))) counters.add(id, domain, 1);
    }
  }
}

GANGSCHED_INLINE void cluster_state::count_pod(row_t pod, row_t node, std::int32_t by, removal how) {
  for (const counter_id id : classes[pods.cls[pod]].counters.counted) {
    const counter_spec& spec = counters.spec(id);
    if (spec.spread && how == removal::real && (spec.nobody || pods.terminating[pod])) continue;
    const domain_id domain = topologies.domain(spec.topology, node);
    if (domain == no_domain || !choices.takes(spec.nodes, node) || !counters.lives(id)) continue;
    counters.add(id, domain, by);
  }
}

/// Counts all pods of a node, or of a namespace. First all get the classes they should have: a counter that comes to life by that
/// counts them by itself.
GANGSCHED_INLINE void cluster_state::count_all(const std::vector<row_t>& all, std::int32_t by) {
  std::uint32_t epoch = 0;
  do {
    epoch = classes.epoch();
    for (const row_t pod : all) static_cast<void>(class_of(pod));
  } while (epoch != classes.epoch());
  for (const row_t pod : all) count_pod(pod, pods.node[pod], by);
}

GANGSCHED_INLINE void cluster_state::mark_terminating(row_t pod) {
  const row_t node = pods.node[pod];
  if (node != no_row) static_cast<void>(class_of(pod)), count_pod(pod, node, -1);
  pods.terminating.set(pod, true);
  if (node != no_row) count_pod(pod, node, +1);  // affinity counts it all the same
}

GANGSCHED_INLINE void cluster_state::count_node(row_t node, bool came) {
  for (counter_id id = 0; id < counters.size(); ++id) {
    if (!counters.lives(id)) continue;
    const counter_spec& spec = counters.spec(id);
    if (!spec.spread || spec.topology == node_itself) continue;
    const domain_id domain = topologies.domain(spec.topology, node);
    if (domain != no_domain && choices.takes(spec.nodes, node)) counters.add_node(id, domain, came);
  }
}

GANGSCHED_INLINE void cluster_state::node_came(row_t node) {
  topologies.grow(node + 1);
  choices.grow(node + 1);
  topologies.join(node, *nodes.record[node]);
  choices.join(node, *nodes.record[node], names);
  count_node(node, true);
}

GANGSCHED_INLINE void cluster_state::node_leaves(row_t node) {
  count_node(node, false);
  topologies.leave(node);
}

GANGSCHED_INLINE void cluster_state::set_node_record(row_t node, std::unique_ptr<const node_record> record) {
  if (!topologies.moves(node, *record) && !choices.moves(node, *record, names)) {
    nodes.set_record(node, std::move(record));
    return;
  }
  std::vector<row_t> there;
  for (row_t pod = nodes.first_pod[node]; pod != no_row; pod = pods.next_on_node[pod]) there.push_back(pod);
  count_all(there, -1);
  node_leaves(node);
  nodes.set_record(node, std::move(record));
  node_came(node);
  count_all(there, +1);
  topologies.settle();
}

GANGSCHED_INLINE std::vector<row_t> cluster_state::placed_in(symbol ns) const {
  std::vector<row_t> placed;
  for (row_t pod = 0; pod < pods.rows.count(); ++pod) {
    if (pods.alive(pod) && pods.node[pod] != no_row && pods.record[pod]->ns == ns) placed.push_back(pod);
  }
  return placed;
}

GANGSCHED_INLINE std::uint32_t cluster_state::add_default_spread(spread_defaults set) {
  const auto same = [&](const spread_defaults& one) {
    return one.system == set.system && canonical::bytes(one.constraints) == canonical::bytes(set.constraints);
  };
  const auto found = std::find_if(default_spread.begin(), default_spread.end(), same);
  const auto number = static_cast<std::uint32_t>(found - default_spread.begin());
  if (found == default_spread.end()) {
    default_spread.push_back(std::move(set));
    classes.move_epoch();
  }
  return number;
}

}  // namespace gangsched
