#include "gangsched/model/cluster_queues.hpp"

#include <algorithm>

#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/inside.hpp"
#include "gangsched/model/make_class.hpp"
#include "gangsched/model/tell.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

GANGSCHED_INLINE std::vector<amount> named_amounts(model::cluster_state& state, const resource_list& list) {
  std::vector<amount> made;
  const auto integers = to_integers(list, "queue", "quotas");  // were checked
  for (const auto& [name, value] : *integers) made.push_back({state.kinds.number(name), value});
  return made;
}

/// A queue with the spec, whose flavors are there.
GANGSCHED_INLINE std::unique_ptr<const model::queue_record> make_queue_record(model::cluster_state& state,
                                                                              const queue_spec& spec) {
  auto made = std::make_unique<model::queue_record>(model::queue_record{.spec = spec});
  for (const queue_quota& one : spec.quotas) {
    queue_amounts& amounts = made->quotas.emplace_back();
    if (!one.flavor.empty()) amounts.flavor = state.queues.flavors.by_name.find({}, one.flavor);
    amounts.guaranteed = named_amounts(state, one.guaranteed);
    amounts.limit = named_amounts(state, one.limit);
    amounts.borrowing_limit = named_amounts(state, one.borrowing_limit);
    amounts.lending_limit = named_amounts(state, one.lending_limit);
    for (const auto& [name, weight] : one.weights) amounts.weights.emplace_back(state.kinds.number(name), weight);
  }
  return made;
}

/// Policies go down their trees by calls inside each other: no deeper than the stack bears, and than Kueue has its cohorts.
inline constexpr std::size_t most_queues_above = 1000;

/// How many queues are below each other below this one, at most. O(queues below it).
inline std::size_t levels_below(const model::queue_table& queues, row_t top) {
  std::size_t depth = 0, most = 0;
  for (row_t row = top; row != no_row;) {
    if (queues.first_child[row] != no_row) {
      row = queues.first_child[row];
      most = std::max(most, ++depth);
      continue;
    }
    for (; row != top && queues.next_sibling[row] == no_row; --depth) row = queues.parent[row];
    row = row == top ? no_row : queues.next_sibling[row];
  }
  return most;
}

/// Whether a queue, no_row if it is new, can be as @p spec says. O(size of the spec + depth), and O(queues below it) if its parent changes.
GANGSCHED_INLINE std::optional<error> check_queue(const model::cluster_state& state, row_t row,
                                                  const queue_spec& spec) {
  const model::queue_table& queues = state.queues;
  const auto wrong = [&](errc code, std::string field, std::string why) {
    return error{code, "queue " + spec.name, std::move(field), std::move(why)};
  };
  if (auto malformed = check(spec)) return malformed;
  for (std::size_t i = 0; i < spec.quotas.size(); ++i) {
    const std::string& flavor = spec.quotas[i].flavor;
    if (!flavor.empty() && state.queues.flavors.by_name.find({}, flavor) == no_row)
      return wrong(errc::unknown, "quotas[" + std::to_string(i) + "].flavor", "no such flavor \"" + flavor + "\"");
  }
  const row_t parent = spec.parent.empty() ? no_row : queues.by_name.find({}, spec.parent);
  std::size_t above = spec.parent.empty() || parent != no_row ? 0 : 1;  // one that will be expected has none
  for (row_t up = parent; up != no_row; up = queues.parent[up], ++above) {
    if (up == row) return wrong(errc::malformed, "parent", "\"" + spec.parent + "\" is below the queue itself");
  }
  const bool stays = row != no_row && parent == queues.parent[row] && (parent != no_row || spec.parent.empty());
  if (!stays && above + levels_below(queues, row) > most_queues_above)
    return wrong(errc::malformed, "parent",
                 "a queue would have more than " + std::to_string(most_queues_above) + " others above it");
  for (std::size_t i = 0; i < spec.namespaces.size(); ++i) {
    const row_t taken = queues.by_namespace.find({}, spec.namespaces[i]);
    if (taken == no_row || taken == row) continue;
    return wrong(errc::duplicate, "namespaces[" + std::to_string(i) + "]",
                 "queue " + queues.record[taken]->spec.name + " takes it");
  }
  return std::nullopt;
}

/// The queue has the record and all that follows from it. The namespaces that it takes now, or took, are to be settled.
GANGSCHED_INLINE result<void> put_queue(model::cluster_state& state, row_t row,
                                        std::unique_ptr<const model::queue_record> record) {
  model::queue_table& queues = state.queues;
  const std::string parent = record->spec.parent;
  const std::vector<std::string> before = queues.record[row]->spec.namespaces, after = record->spec.namespaces;
  const row_t old = queues.parent[row];
  const auto overflow = [&](const char* field) {
    return error{errc::overflow, "queue " + queues.record[row]->spec.name, field,
                 "what pods request would not fit into 64 bits"};
  };
  queues.record.set(row, std::move(record));
  const row_t above = parent.empty() ? no_row : state.queued.expect(parent);
  if (above != no_row) state.queued.name(above);
  if (!state.queued.set_parent(row, above)) return overflow("parent");
  if (old != no_row) state.queued.unname(old);
  std::vector<symbol> moved;
  for (const std::string& ns : before) {
    if (std::find(after.begin(), after.end(), ns) != after.end()) continue;
    queues.by_namespace.erase({}, ns);
    moved.push_back(state.names.intern(ns));
  }
  for (const std::string& ns : after) {
    if (std::find(before.begin(), before.end(), ns) != before.end()) continue;
    queues.by_namespace.insert({}, ns, row);
    moved.push_back(state.names.intern(ns));
  }
  if (!state.queued.settle_namespaces(moved)) return overflow("namespaces");
  state.queued.changed(row, true);
  return {};
}

}  // namespace detail

GANGSCHED_INLINE std::optional<queue_id> queue_questions::find(std::string_view name) const {
  const row_t row = state_->queues.by_name.find({}, name);
  if (row == no_row) return std::nullopt;
  return state_->queues.id_of(row);
}

GANGSCHED_INLINE bool queue_questions::contains(queue_id queue) const noexcept {
  return state_->queues.find(queue) != no_row;
}

GANGSCHED_INLINE const queue_spec* queue_questions::spec_of(queue_id queue) const noexcept {
  const row_t row = state_->queues.find(queue);
  return row == no_row || state_->queues.record[row]->expected ? nullptr : &state_->queues.record[row]->spec;
}

GANGSCHED_INLINE std::string_view queue_questions::name_of(queue_id queue) const noexcept {
  const row_t row = state_->queues.find(queue);
  return row == no_row ? std::string_view{} : std::string_view{state_->queues.record[row]->spec.name};
}

GANGSCHED_INLINE std::vector<queue_id> queue_questions::all() const {
  std::vector<queue_id> found;
  state_->queues.each([&](row_t row) { found.push_back(state_->queues.id_of(row)); });
  return found;
}

GANGSCHED_INLINE queue_id queue_questions::queue_of(pod_id pod) const noexcept {
  return detail::names_pod(*state_, pod) ? state_->classes[state_->pods.cls[pod.row]].queue : queue_id{};
}

GANGSCHED_INLINE queue_id queue_questions::queue_of(group_id group) const noexcept {
  return detail::names_group(*state_, group) ? state_->queues.id_of(state_->queued.queue_of_group(group.row))
                                             : queue_id{};
}

namespace detail {

GANGSCHED_INLINE integer_resources amounts_of(const model::cluster_state& state, const matrix_column& amounts,
                                              row_t row) {
  integer_resources made;
  for (resource_kind kind = 0; kind < state.kinds.count(); ++kind) {
    if (const std::int64_t value = amounts.at(row, kind); value != 0)
      made.emplace(std::string{state.kinds.name(kind)}, value);
  }
  return made;
}

}  // namespace detail

GANGSCHED_INLINE queue_usage queue_questions::usage_of(queue_id queue) const {
  const row_t row = state_->queues.find(queue);
  if (row == no_row) return {};
  return {detail::amounts_of(*state_, state_->queues.used, row),
          detail::amounts_of(*state_, state_->queues.requested, row), state_->queues.running[row]};
}

GANGSCHED_INLINE queue_usage queue_questions::usage_of(queue_id queue, std::string_view flavor) const {
  const row_t row = state_->queues.find(queue), its = state_->queues.flavors.by_name.find({}, flavor);
  if (row == no_row || its == no_row) return {};
  return {.used = detail::amounts_of(*state_, *state_->queues.used_of_flavor[its], row)};
}

GANGSCHED_INLINE const flavor_spec* queue_questions::find_flavor(std::string_view name) const noexcept {
  const row_t row = state_->queues.flavors.by_name.find({}, name);
  return row == no_row ? nullptr : &state_->queues.flavors.record[row]->spec;
}

GANGSCHED_INLINE std::string_view queue_questions::flavor_of(node_id node) const noexcept {
  const row_t row = detail::names_node(*state_, node) ? state_->queues.flavors.of[node.row] : no_row;
  return row == no_row ? std::string_view{} : std::string_view{state_->queues.flavors.record[row]->spec.name};
}

GANGSCHED_INLINE result<queue_id> cluster_queues::add(const queue_spec& spec) {
  GANGSCHED_TELL(add_queue, add(spec), spec);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "queue " + spec.name);
  state.collection.run_if_due();
  call_mark whole{state};
  row_t row = state.queues.by_name.find({}, spec.name);
  if (row != no_row && !state.queues.record[row]->expected)
    return error{errc::duplicate, "queue " + spec.name, "name", "exists already"};
  if (auto wrong = detail::check_queue(state, row, spec)) return std::move(*wrong);
  auto record = detail::make_queue_record(state, spec);
  row = state.queued.expect(spec.name);
  if (auto put = detail::put_queue(state, row, std::move(record)); !put) return std::move(put).error();
  whole.keep();
  return state.queues.id_of(row);
}

GANGSCHED_INLINE result<void> cluster_queues::update(queue_id queue, const queue_spec& spec) {
  GANGSCHED_TELL(update_queue, update(queue, spec), queue, spec);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "queue " + spec.name);
  state.collection.run_if_due();
  call_mark whole{state};
  if (!contains(queue)) return detail::unknown_id("queue " + spec.name);
  const model::queue_record& record = *state.queues.record[queue.row];
  if (record.spec.name != spec.name)
    return error{errc::wrong_state, "queue " + record.spec.name, "name", "a queue cannot be renamed"};
  if (record.expected) return error{errc::wrong_state, "queue " + spec.name, "name", "nobody has added the queue yet"};
  if (auto wrong = detail::check_queue(state, queue.row, spec)) return std::move(*wrong);
  auto made = detail::make_queue_record(state, spec);
  if (made->bytes() == record.bytes()) return {};
  auto put = detail::put_queue(state, queue.row, std::move(made));
  if (put) whole.keep();
  return put;
}

GANGSCHED_INLINE result<void> cluster_queues::remove(queue_id queue) {
  GANGSCHED_TELL(remove_queue, remove(queue), queue);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "queue");
  state.collection.run_if_due();
  call_mark whole{state};
  const queue_spec* const known = spec_of(queue);
  if (known == nullptr) return detail::unknown_id("queue");
  auto expected = std::make_unique<model::queue_record>();
  expected->spec.name = known->name;
  expected->expected = true;
  state.queued.name(queue.row);  // so that it goes at the end, if at all
  if (auto put = detail::put_queue(state, queue.row, std::move(expected)); !put) return put;
  state.queued.unname(queue.row);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster_queues::set_flavor(const flavor_spec& spec) {
  GANGSCHED_TELL(set_flavor, set_flavor(spec), spec);
  model::cluster_state& state = *state_;
  model::flavor_table& flavors = state.queues.flavors;
  GANGSCHED_REFUSE_IN_HOOK(state, "flavor " + spec.name);
  state.collection.run_if_due();
  call_mark whole{state};
  if (auto wrong = check(spec)) return std::move(*wrong);
  row_t row = flavors.by_name.find({}, spec.name);
  auto record =
      std::make_unique<model::flavor_record>(model::flavor_record{spec, to_symbols(state.names, spec.node_labels)});
  if (row != no_row && record->bytes() == flavors.record[row]->bytes()) return {};
  if (row == no_row) {
    row = flavors.rows.make_room();
    flavors.record.grow(row + 1), flavors.next.grow(row + 1);
    flavors.of.grow(state.nodes.rows.count());
    state.queues.add_flavor(row, state.kinds.count());
    static_cast<void>(flavors.rows.take());
    flavors.by_name.insert({}, spec.name, row);
    row_t before = no_row, after = flavors.first[0];
    for (; after != no_row && flavors.record[after]->spec.name < spec.name; after = flavors.next[after]) before = after;
    flavors.next.set(row, after);
    if (before != no_row)
      flavors.next.set(before, row);
    else
      flavors.first.set(0, row);
  }
  flavors.record.set(row, std::move(record));
  state.queued.flavors_changed();
  state.topologies.move_plan_epoch();  // plugins may have kept whose flavor a node is
  state.queued.changed(no_row);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster_queues::remove_flavor(std::string_view name) {
  GANGSCHED_TELL(remove_flavor, remove_flavor(name), name);
  model::cluster_state& state = *state_;
  model::flavor_table& flavors = state.queues.flavors;
  const std::string object = detail::object_name("flavor", "", name);
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  call_mark whole{state};
  const row_t row = flavors.by_name.find({}, name);
  if (row == no_row) return error{errc::unknown, object, "name", "no such flavor"};
  std::optional<error> used;
  state.queues.each([&](row_t queue) {
    const model::queue_record& record = *state.queues.record[queue];
    const auto its = [&](const queue_amounts& one) { return one.flavor == row; };
    if (!used && std::any_of(record.quotas.begin(), record.quotas.end(), its))
      used = error{errc::wrong_state, object, "name", "queue " + record.spec.name + " has quota of it"};
  });
  if (used) return std::move(*used);
  row_t before = no_row;
  for (row_t at = flavors.first[0]; at != row; at = flavors.next[at]) before = at;
  if (before != no_row)
    flavors.next.set(before, flavors.next[row]);
  else
    flavors.first.set(0, flavors.next[row]);
  flavors.next.set(row, no_row);
  state.queued.flavors_changed();
  flavors.by_name.erase({}, name);
  flavors.record.set(row, nullptr);
  flavors.rows.give_back(row);
  state.topologies.move_plan_epoch();
  state.queued.changed(no_row);
  whole.keep();
  return {};
}

GANGSCHED_INLINE cluster_queues cluster::queues() noexcept { return cluster_queues{*state_}; }
GANGSCHED_INLINE queue_questions cluster::queues() const noexcept { return queue_questions{*state_}; }

}  // namespace gangsched::inline GANGSCHED_ABI
