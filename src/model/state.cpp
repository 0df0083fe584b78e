#include "gangsched/model/state.hpp"
#include "gangsched/model/canonical_class.hpp"

// Equal states, equal digests: numbers that depend on what was seen first (names, kinds, classes, counters, domains) stand by what they
// mean.
namespace gangsched::inline GANGSCHED_ABI::detail {

[[nodiscard]] inline std::uint64_t digest_of(const digest& out, const canonical::text_bytes& text) {
  digest one = out.another();
  one.add(text.bytes);
  return one.value();
}

/// By number, of those that there are: what is counted, where.
[[nodiscard]] GANGSCHED_INLINE std::vector<std::uint64_t> digests_of_counters(const digest& out,
                                                                              const model::cluster_state& state) {
  std::vector<std::uint64_t> all(state.counters.size());
  for (counter_id id = 0; id < state.counters.size(); ++id) {
    if (!state.counters.exists(id)) continue;
    const counter_spec& spec = state.counters.spec(id);
    canonical::text_bytes text{out};
    canonical::append(text, spec.what, spec.weight, spec.spread, spec.nobody, spec.topology != node_itself);
    if (spec.topology != node_itself) {
      canonical::append(text, state.topologies.key(spec.topology), state.topologies.absent_is_empty(spec.topology));
    }
    for (const model::pod_query& query : state.counters.scope(spec.scope)) {
      canonical::append(text, query.selector, query.namespaces, query.namespace_selector);
    }
    if (spec.nodes != every_node) {
      const model::node_choice& choice = state.choices.choice(spec.nodes);
      canonical::append(text, choice.keys, choice.node_selector, choice.required, choice.taints, choice.tolerations);
    }
    all[id] = digest_of(out, text);
  }
  return all;
}

/// By number, of those with pods. @p of_counters: with what is derived, which counters match and what services select.
[[nodiscard]] GANGSCHED_INLINE std::vector<std::uint64_t> digests_of_classes(
    const digest& out, const model::cluster_state& state, const std::vector<std::uint64_t>* of_counters = nullptr) {
  std::vector<std::uint64_t> all(state.classes.size());
  for (class_id id = 0; id < state.classes.size(); ++id) {
    if (!state.classes.has_pods(id)) continue;
    const pod_class& cls = state.classes[id];
    canonical::text_bytes text{out};
    canonical::append(text, cls);
    if (of_counters != nullptr) {
      canonical::append(text, cls.default_selector);
      std::uint64_t matched = 0;
      for (const counter_id one : cls.counters.matched) matched += (*of_counters)[one];
      canonical::append(text, matched);
    }
    all[id] = digest_of(out, text);
  }
  return all;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE viewed_tables::viewed_tables(const kube_semantics& whose, queue_table& queues)
    : semantics(whose), nodes(names, undo), kinds(names, nodes, queues), pods(undo), groups(undo), classes(undo) {}
GANGSCHED_INLINE viewed_tables::~viewed_tables() = default;

GANGSCHED_INLINE cluster_state::cluster_state(std::size_t log_bound, const kube_semantics& whose)
    : viewed_tables(whose, queues),
      log(log_bound),
      queues(undo),
      topologies(undo),
      choices(undo),
      counters(undo),
      named(undo, names),
      arrivals(undo) {
  arrivals.grow(1);
}

GANGSCHED_INLINE cluster_state::cluster_state(const cluster_state& from) : cluster_state(0, from.semantics) {
  names.assign(from.names);
  nodes = from.nodes;
  kinds = from.kinds;
  pods = from.pods;
  groups = from.groups;
  classes = from.classes;
  log = from.log;
  queues = from.queues;
  rooms = from.rooms;
  reserved = from.reserved;
  devices = from.devices;  // after nodes
  topologies = from.topologies;
  choices = from.choices;
  counters = from.counters;
  named = from.named;
  counting = from.counting;
  columns = from.columns;
  queued = from.queued;
  assigned = from.assigned;
  collection = from.collection;
  arrivals = from.arrivals;
  keeps_specs = from.keeps_specs;
}

GANGSCHED_INLINE cluster_state::~cluster_state() {
  if (listener != nullptr) listener->end();
}

GANGSCHED_INLINE std::uint64_t cluster_state::digest() const {
  gangsched::digest out{&names, kinds.symbols()};
  // Free rows, and links of rows that stand in no list, do not count: they are set when the row is taken.
  const auto words = [&out](row_t row, const auto&... of) { (out.add(detail::to_word(of[row])), ...); };
  const auto list = [&out](row_t first, const auto& next) {
    for (row_t row = first; row != no_row; row = next[row]) out.add(row);
  };
  nodes.rows.digest_into(out);
  const row_t node_rows = nodes.rows.count();
  for (const column_base* one :
       std::initializer_list<const column_base*>{&nodes.record, &nodes.devices, &nodes.ports, &nodes.by_name}) {
    one->digest_into(out, node_rows);
  }
  for (row_t node = 0; node < node_rows; ++node) {
    if (!nodes.alive(node)) continue;
    words(node, nodes.arrival);
    list(nodes.first_pod[node], pods.next_on_node);
    list(nodes.first_nominated[node], pods.next_nominated);
  }
  list(nodes.first_wanted[0], nodes.next_wanted);
  nodes.allocatable.digest_by_kind(out, node_rows, kinds.count());
  nodes.used.digest_by_kind(out, node_rows, kinds.count());
  columns.digest_into(out);
  nodes.tree.digest_into(out, 0);
  nodes.total.digest_into(out, 1);
  nodes.images.digest_into(out);
  pods.rows.digest_into(out);
  const row_t pod_rows = pods.rows.count();
  for (const column_base* one : std::initializer_list<const column_base*>{&pods.record, &pods.by_name})
    one->digest_into(out, pod_rows);
  const std::vector<std::uint64_t> of_classes = detail::digests_of_classes(out, *this);
  for (row_t pod = 0; pod < pod_rows; ++pod) {
    if (!pods.alive(pod)) continue;
    words(pod, pods.state, pods.terminating, pods.preempted, pods.node, pods.nominated, pods.group, pods.attempt,
          pods.arrival);
    out.add(std::uint64_t{pods.claim[pod] != nullptr});
    if (pods.claim[pod] != nullptr) pods.claim[pod]->digest_into(out);
    out.add(of_classes[pods.cls[pod]]);
    pods.times.digest_into(out, pod);
  }
  groups.rows.digest_into(out);
  const row_t group_rows = groups.rows.count();
  for (const column_base* one :
       std::initializer_list<const column_base*>{&groups.record, &groups.members, &groups.assumed, &groups.bound,
                                                 &groups.children, &groups.by_name, &groups.composite_by_name}) {
    one->digest_into(out, group_rows);
  }
  for (row_t group = 0; group < group_rows; ++group) {
    if (!groups.alive(group)) continue;
    words(group, groups.satisfied, groups.parent, groups.arrival);
    list(groups.first[group], pods.next_in_group);
    list(groups.first_child[group], groups.next_sibling);
  }
  const auto each = [&out](const auto& table) {
    table.rows.digest_into(out);
    table.record.digest_into(out, table.rows.count());
    table.by_name.digest_into(out, 0);
  };
  each(named.namespaces);
  each(named.priority_classes);
  each(named.budgets);
  each(named.services);
  each(named.controllers);
  rooms.digest_into(out);
  reserved.digest_into(out, pod_rows);
  queues.digest_into(out, kinds.count(), node_rows);
  devices.resource_claims.digest_into(out);
  arrivals.digest_into(out, 1);
  out.add(log.end());
  return out.value();
}

GANGSCHED_INLINE std::uint64_t cluster_state::digest_with_derived() const {
  gangsched::digest out{&names, kinds.symbols()};
  out.add(digest());
  for (const column_base* one :
       std::initializer_list<const column_base*>{&nodes.first_pod, &nodes.first_nominated, &nodes.arrival}) {
    one->digest_into(out, nodes.rows.count());
  }
  for (row_t row = nodes.first_wanted[0]; row != no_row; row = nodes.next_wanted[row]) out.add(nodes.prev_wanted[row]);
  for (const column_base* one : std::initializer_list<const column_base*>{
           &pods.state, &pods.terminating, &pods.preempted, &pods.node, &pods.nominated, &pods.group,
           &pods.next_on_node, &pods.prev_on_node, &pods.next_nominated, &pods.prev_nominated, &pods.attempt,
           &pods.next_in_group, &pods.prev_in_group, &pods.arrival}) {
    one->digest_into(out, pods.rows.count());
  }
  for (const column_base* one : std::initializer_list<const column_base*>{
           &groups.first, &groups.last, &groups.satisfied, &groups.parent, &groups.first_child, &groups.last_child,
           &groups.next_sibling, &groups.prev_sibling, &groups.arrival}) {
    one->digest_into(out, groups.rows.count());
  }
  std::vector<bool> counted_by(topologies.size());
  for (counter_id id = 0; id < counters.size(); ++id) {
    if (counters.lives(id)) counted_by[counters.spec(id).topology] = true;
  }
  topologies.digest_into(out, nodes.rows.count(), counted_by);
  const std::vector<std::uint64_t> of_counters = detail::digests_of_counters(out, *this);
  counters.digest_into(out, topologies, of_counters);
  const std::vector<std::uint64_t> of_classes = detail::digests_of_classes(out, *this, &of_counters);
  classes.digest_into(out, of_classes);
  for (row_t pod = 0; pod < pods.rows.count(); ++pod) {
    if (pods.alive(pod)) out.add(of_classes[pods.cls[pod]]);
  }
  pods.cls_epoch.digest_into(out, pods.rows.count());
  return out.value();
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
