#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/canonical_selectors.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/spec_path.hpp"
#include "gangsched/model/tell.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Adds or replaces the record of a name; returns its row.
template <class Record, class Spec>
row_t set_named(model::named_table<Record>& table, const Spec& spec) {
  row_t row = table.by_name.find({}, spec.name);
  if (row == no_row) {
    row = table.rows.take();
    table.record.grow(row + 1);
    table.by_name.insert({}, spec.name, row);
  }
  table.record.set(row, std::make_unique<Record>(Record{spec}));
  return row;
}

/// The same for names in a namespace.
template <class Record>
void set_in_namespace(model::named_table<Record>& table, symbol ns, std::string_view name, Record made) {
  row_t row = table.by_name.find(ns, name);
  if (row == no_row) {
    row = table.rows.take();
    table.record.grow(row + 1);
    table.by_name.insert(ns, name, row);
  }
  table.record.set(row, std::make_unique<Record>(std::move(made)));
}

/// Whether the record of the name satisfies @p same: then an update says nothing new.
template <class Record, class Same>
bool has_named(const model::named_table<Record>& table, std::string_view name, symbol ns, const Same& same) {
  const row_t row = table.by_name.find(ns, name);
  return row != no_row && same(table.record[row]->spec);
}

/// False if nothing has the name.
template <class Record>
bool remove_named(model::named_table<Record>& table, std::string_view name, symbol ns = {}) {
  const row_t row = table.by_name.find(ns, name);
  if (row == no_row) return false;
  table.by_name.erase(ns, name);
  table.record.set(row, nullptr);
  table.rows.give_back(row);
  return true;
}

}  // namespace detail

GANGSCHED_INLINE result<void> cluster::set_namespace(const namespace_spec& spec) {
  GANGSCHED_TELL(set_namespace, set_namespace(spec), spec);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, detail::object_name("namespace", "", spec.name));
  state.collection.run_if_due();
  call_mark whole{state};
  if (auto wrong = check(spec)) return std::move(*wrong);
  const auto same = [&](const namespace_spec& has) { return has.labels == spec.labels; };
  if (detail::has_named(state.named.namespaces, spec.name, {}, same)) return {};
  const symbol ns = state.names.intern(spec.name);
  state.counting.relabel_namespace(ns, spec.labels, [&] { detail::set_named(state.named.namespaces, spec); });
  state.changed({.kind = change_kind::namespace_changed});
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::remove_namespace(std::string_view name) {
  GANGSCHED_TELL(remove_namespace, remove_namespace(name), name);
  model::cluster_state& state = *state_;
  const std::string object = detail::object_name("namespace", "", name);
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  call_mark whole{state};
  if (state.named.namespaces.by_name.find({}, name) == no_row)
    return error{errc::unknown, object, "name", "no such namespace"};
  const symbol ns = state.names.intern(name);
  state.counting.relabel_namespace(ns, {},
                                   [&] { static_cast<void>(detail::remove_named(state.named.namespaces, name)); });
  state.changed({.kind = change_kind::namespace_changed});
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::set_service(const service_spec& spec) {
  GANGSCHED_TELL(set_service, set_service(spec), spec);
  GANGSCHED_REFUSE_IN_HOOK(*state_, detail::object_name("service", spec.ns, spec.name));
  state_->collection.run_if_due();
  call_mark whole{*state_};
  if (auto wrong = check(spec)) return std::move(*wrong);
  const symbol ns = state_->names.intern(spec.ns);
  const auto same = [&](const service_spec& has) { return has.selector == spec.selector; };
  if (detail::has_named(state_->named.services, spec.name, ns, same)) return {};
  detail::set_in_namespace(state_->named.services, ns, spec.name, model::service_record{spec, ns});
  if (!state_->counting.default_spread.empty()) state_->classes.move_epoch();
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::remove_service(std::string_view ns, std::string_view name) {
  GANGSCHED_TELL(remove_service, remove_service(ns, name), ns, name);
  const std::string object = detail::object_name("service", ns, name);
  GANGSCHED_REFUSE_IN_HOOK(*state_, object);
  state_->collection.run_if_due();
  call_mark whole{*state_};
  const std::optional<symbol> known = state_->names.find(ns);
  if (!known || !detail::remove_named(state_->named.services, name, *known)) {
    return error{errc::unknown, object, "name", "no such service"};
  }
  if (!state_->counting.default_spread.empty()) state_->classes.move_epoch();
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::set_controller(const controller_spec& spec) {
  GANGSCHED_TELL(set_controller, set_controller(spec), spec);
  GANGSCHED_REFUSE_IN_HOOK(*state_, detail::controller_object(spec.kind, spec.ns, spec.name));
  state_->collection.run_if_due();
  call_mark whole{*state_};
  if (auto wrong = check(spec)) return std::move(*wrong);
  const symbol ns = state_->names.intern(spec.ns);
  const std::string key = model::controller_key(spec.kind, spec.name);
  const auto same = [&](const controller_spec& has) {
    return canonical::bytes(has.selector) == canonical::bytes(spec.selector);
  };
  if (detail::has_named(state_->named.controllers, key, ns, same)) return {};
  detail::set_in_namespace(state_->named.controllers, ns, key, model::controller_record{spec, ns});
  if (!state_->counting.default_spread.empty()) state_->classes.move_epoch();
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::remove_controller(controller_kind kind, std::string_view ns,
                                                         std::string_view name) {
  GANGSCHED_TELL(remove_controller, remove_controller(kind, ns, name), kind, ns, name);
  const std::string object = detail::controller_object(kind, ns, name);
  GANGSCHED_REFUSE_IN_HOOK(*state_, object);
  state_->collection.run_if_due();
  call_mark whole{*state_};
  const std::optional<symbol> known = state_->names.find(ns);
  if (!known || !detail::remove_named(state_->named.controllers, model::controller_key(kind, name), *known)) {
    return error{errc::unknown, object, "name", "no such controller"};
  }
  if (!state_->counting.default_spread.empty()) state_->classes.move_epoch();
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::set_priority_class(const priority_class_spec& spec) {
  GANGSCHED_TELL(set_priority_class, set_priority_class(spec), spec);
  GANGSCHED_REFUSE_IN_HOOK(*state_, detail::object_name("priority class", "", spec.name));
  call_mark whole{*state_};
  if (auto wrong = check(spec)) return std::move(*wrong);
  detail::set_named(state_->named.priority_classes, spec);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::remove_priority_class(std::string_view name) {
  GANGSCHED_TELL(remove_priority_class, remove_priority_class(name), name);
  const std::string object = detail::object_name("priority class", "", name);
  GANGSCHED_REFUSE_IN_HOOK(*state_, object);
  call_mark whole{*state_};
  if (!detail::remove_named(state_->named.priority_classes, name)) {
    return error{errc::unknown, object, "name", "no such priority class"};
  }
  whole.keep();
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI
