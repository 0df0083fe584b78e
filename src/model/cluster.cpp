#include "gangsched/model/cluster.hpp"

#include <algorithm>
#include <span>

#include "gangsched/core/is_among.hpp"
#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/node_claims.hpp"
#include "gangsched/model/node_records.hpp"
#include "gangsched/model/requests.hpp"
#include "gangsched/model/tell.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {

static_assert(change_log::largest_bound == cluster_options::most_log_bound);

GANGSCHED_INLINE cluster::cluster(const cluster_options& options)
    : cluster_questions(std::make_unique<model::cluster_state>(options.log_bound, options.semantics)) {
  state_->devices.answer_by(options.device_matcher);
  state_->assigned.attempts_after = options.attempts_after;
  state_->keeps_specs = options.keep_specs;
}
GANGSCHED_INLINE cluster::cluster(cluster&&) noexcept = default;
GANGSCHED_INLINE cluster& cluster::operator=(cluster&&) noexcept = default;
GANGSCHED_INLINE cluster::~cluster() = default;
GANGSCHED_INLINE cluster::cluster(std::unique_ptr<model::cluster_state> state) noexcept
    : cluster_questions(std::move(state)) {}

GANGSCHED_INLINE result<cluster> cluster::fork() const {
  const model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "cluster");
  if (state.undo.recording()) return error{errc::busy, "cluster", "", "a transaction is open on it"};
  return detail::copy_of(state);
}

namespace detail {

GANGSCHED_INLINE cluster copy_of(const model::cluster_state& state) {
  return cluster{std::make_unique<model::cluster_state>(state)};
}

GANGSCHED_INLINE void set_allocatable(model::cluster_state& state, row_t row, std::span<const amount> amounts) {
  for (resource_kind kind = 0; kind < state.kinds.count(); ++kind) {
    const auto found = std::find_if(amounts.begin(), amounts.end(), [&](const amount& a) { return a.kind == kind; });
    const std::int64_t value = found == amounts.end() ? 0 : found->value;
    if (state.nodes.allocatable.at(row, kind) != value) state.nodes.allocatable.set(row, kind, value);
  }
}

}  // namespace detail

GANGSCHED_INLINE result<void> cluster::reserve(const cluster_size& expected) {
  GANGSCHED_TELL(reserve, reserve(expected), expected);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "cluster");
  const auto make_room = [](auto& table, std::uint32_t rows) {
    table.rows.reserve(rows);
    table.by_name.reserve(rows);
  };
  make_room(state.nodes, expected.nodes);
  make_room(state.pods, expected.pods);
  make_room(state.groups, expected.groups);
  state.nodes.grow(expected.nodes, state.kinds.count());
  state.pods.grow(expected.pods);
  state.groups.grow(expected.groups);
  state.log.reserve();
  return {};
}

GANGSCHED_INLINE result<node_id> cluster::add_node(const node_spec& spec) {
  GANGSCHED_TELL(add_node, add_node(spec), spec);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, detail::object_name("node", "", spec.name));
  state.collection.run_if_due();
  call_mark whole{state};
  if (auto wrong = check(spec)) return std::move(*wrong);
  const std::string object = detail::object_name("node", "", spec.name);
  if (state.nodes.find(state.names, spec.name) != no_row)
    return error{errc::duplicate, object, "name", "exists already"};
  auto allocatable = to_integers(spec.allocatable, object, "allocatable");
  if (!allocatable) return std::move(allocatable).error();
  auto devices = detail::read_devices(state, spec, object);
  if (!devices) return std::move(devices).error();
  auto record = detail::make_node_record(state, spec, *allocatable, std::move(*devices));

  model::node_table& nodes = state.nodes;
  const row_t row = nodes.rows.take();
  nodes.grow(row + 1, state.kinds.count());
  state.columns.grow(scope_number::nodes, row + 1);
  nodes.arrival.set(row, state.next_arrival());
  detail::set_allocatable(state, row, record->allocatable);
  nodes.by_name.insert(record->name, {}, row);
  state.nodes.tree.add(row, record->labels);
  nodes.total.set(0, nodes.total[0] + 1);
  state.nodes.images.add(record->images);
  nodes.set_record(row, std::move(record));
  state.devices.mark_devices(row);
  state.counting.node_came(row);
  state.queued.node_changed(row);
  state.topologies.settle();
  state.changed({.kind = change_kind::node_added, .facets = reads::everything, .row = row});
  whole.keep();
  return node_id{row, nodes.rows.generation(row)};
}

GANGSCHED_INLINE result<void> cluster::update_node(node_id node, const node_spec& spec) {
  GANGSCHED_TELL(update_node, update_node(node, spec), node, spec);
  model::cluster_state& state = *state_;
  const detail::object_label object{"node", {}, spec.name};
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  if (!contains(node)) return detail::unknown_id(std::string{object});
  const model::node_record& before = *state.nodes.record[node.row];
  if (state.names.text(before.name) != spec.name) {
    if (auto wrong = check(spec)) return std::move(*wrong);
    return error{errc::wrong_state, object, "name", "a node cannot be renamed"};
  }
  const detail::known_node known = detail::known_of(state, before, spec);
  const auto changes = [&](reads part) { return !any(known.same & part); };
  if (auto wrong = check(spec, known.right)) return std::move(*wrong);
  if (known.same == detail::parts_of_a_node && before.cookie == spec.cookie && !state.keeps_specs) return {};
  call_mark whole{state};
  integer_resources allocatable;
  if (changes(reads::allocatable)) {
    auto read = to_integers(spec.allocatable, std::string{object}, "allocatable");
    if (!read) return std::move(read).error();
    allocatable = std::move(*read);
  }
  std::optional<device_inventory> devices;
  if (changes(reads::devices)) {
    auto read = detail::read_devices(state, spec, object);
    if (!read) return std::move(read).error();
    devices = std::move(*read);
  }
  auto record = detail::changed_node_record(state, before, spec, known, allocatable, std::move(devices));
  const reads facets = detail::difference(before, *record, known.same);
  if (any(facets & reads::allocatable)) detail::set_allocatable(state, node.row, record->allocatable);
  if (any(facets & reads::labels)) state.nodes.tree.update(node.row, record->labels);
  if (any(facets & reads::images)) state.nodes.images.replace(before.images, record->images);
  const bool moves = any(facets & reads::devices);
  const model::node_claims held = moves ? state.assigned.take_devices(node.row) : model::node_claims{};
  if (any(facets & (reads::labels | reads::taints))) {
    state.counting.set_node_record(node.row, std::move(record));
  } else {
    state.nodes.set_record(node.row, std::move(record));
  }
  if (any(facets & reads::labels)) state.queued.node_changed(node.row);
  if (moves) state.assigned.give_devices(node.row, held);
  if (any(facets)) state.changed({.kind = change_kind::node_updated, .facets = facets, .row = node.row});
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::set_allocatable(node_id node, const resource_list& amounts) {
  GANGSCHED_TELL(set_allocatable, set_allocatable(node, amounts), node, amounts);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "node");
  state.collection.run_if_due();
  call_mark whole{state};
  if (!contains(node)) return detail::unknown_id("node");
  const model::node_record& before = *state.nodes.record[node.row];
  if (auto wrong = check(node_spec{.name = std::string{state.names.text(before.name)}, .allocatable = amounts}))
    return std::move(*wrong);
  const std::string object = detail::object_name("node", "", state.names.text(before.name));
  const auto integers = to_integers(amounts, object, "allocatable");
  if (!integers) return integers.error();
  auto record = std::make_unique<model::node_record>(before);
  for (const auto& [name, has] : *integers) {
    const resource_kind kind = state.kinds.number(name);
    if (detail::amount_of(before, kind) != 0 && !is_among(kind, before.beside_spec))
      return error{errc::wrong_state, object, "allocatable[\"" + std::string{name} + "\"]",
                   "is said by the node's spec"};
    detail::set_beside_spec(state.kinds, *record, {kind, has});
    state.nodes.allocatable.set(node.row, kind, has);
  }
  if (record->allocatable != before.allocatable) {
    state.nodes.set_record(node.row, std::move(record));
    state.changed({.kind = change_kind::node_updated, .facets = reads::allocatable, .row = node.row});
  }
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<std::vector<removed_pod>> cluster::remove_node(node_id node) {
  GANGSCHED_TELL(remove_node, remove_node(node), node);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "node");
  call_mark whole{state};
  if (!contains(node)) return detail::unknown_id("node");
  std::vector<removed_pod> gone;
  std::vector<row_t> held;
  for (row_t pod = state.nodes.first_pod[node.row]; pod != no_row; pod = state.pods.next_on_node[pod]) {
    if (state.pods.state[pod] != pod_state::bound) {
      held.push_back(pod);
      continue;
    }
    const model::pod_record& record = *state.pods.record[pod];
    gone.push_back(
        {{pod, state.pods.rows.generation(pod)}, std::string{state.names.text(record.ns)}, record.name, record.cookie});
  }
  std::sort(gone.begin(), gone.end(), [](const removed_pod& a, const removed_pod& b) { return a.id < b.id; });
  std::sort(held.begin(), held.end());
  for (const row_t pod : held) state.assigned.release(pod);
  for (const removed_pod& one : gone) static_cast<void>(remove_pod(one.id));
  while (state.nodes.first_nominated[node.row] != no_row) {  // nominations to a node that is gone mean nothing
    state.assigned.nominate(state.nodes.first_nominated[node.row], no_row);
  }
  state.rooms.node_leaves(node.row);
  state.queued.node_leaves(node.row);
  state.counting.node_leaves(node.row);
  state.topologies.settle();
  detail::set_allocatable(state, node.row, {});
  static_cast<void>(
      state.devices.take_claims(node.row));  // of claims that pods share, which the host says run elsewhere too
  state.columns.clear(scope_number::nodes, node.row);
  state.nodes.by_name.erase(state.nodes.by_name.key_of(state.nodes.record[node.row]->name, {}), node.row);
  state.nodes.total.set(0, state.nodes.total[0] - 1);
  state.nodes.images.remove(state.nodes.record[node.row]->images);
  state.nodes.set_record(node.row, nullptr);
  state.nodes.rows.give_back(node.row);
  state.nodes.tree.remove(node.row);
  state.changed({.kind = change_kind::node_removed, .facets = reads::everything, .row = node.row});
  whole.keep();
  return gone;
}

}  // namespace gangsched::inline GANGSCHED_ABI
