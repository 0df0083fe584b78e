#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/tell.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

GANGSCHED_INLINE std::string scope_row_text(const model::cluster_state& state, row_t row) {
  const model::scope_row_record& record = state.columns.record(row);
  return std::string{state.columns.scope_name(record.scope)} += "/" + record.name;
}

GANGSCHED_INLINE result<void> add_column(model::cluster_state& state, scope_number of, std::string_view name) {
  if (!state.columns.find(of, name, column_writer::host))
    state.columns.make(of, name, column_writer::host, state.columns.new_facet());
  return {};
}

GANGSCHED_INLINE error no_name(std::string_view what, const char* field) {
  return {errc::malformed, std::string{what}, field, "has no name"};
}

GANGSCHED_INLINE result<void> set_column(model::cluster_state& state, scope_number of, row_t row,
                                         const std::string& object, std::string_view column, std::int64_t value) {
  const auto found = state.columns.find(of, column, column_writer::host);
  if (!found && state.columns.find(of, column, column_writer::reserve_hooks)) {
    return error{errc::wrong_state, object, "column " + std::string{column}, "is counted by reserve hooks"};
  }
  if (!found) return error{errc::unknown, object, "column " + std::string{column}, "nobody has made it"};
  call_mark whole{state};
  state.columns.set(*found, row, value);
  whole.keep();
  return {};
}

}  // namespace detail

GANGSCHED_INLINE result<void> cluster::add_node_column(std::string_view column) {
  GANGSCHED_TELL(add_node_column, add_node_column(column), column);
  GANGSCHED_REFUSE_IN_HOOK(*state_, "nodes");
  if (column.empty()) return detail::no_name("nodes", "column");
  return detail::add_column(*state_, scope_number::nodes, column);
}

GANGSCHED_INLINE result<void> cluster::add_group_column(std::string_view column) {
  GANGSCHED_TELL(add_group_column, add_group_column(column), column);
  GANGSCHED_REFUSE_IN_HOOK(*state_, "groups");
  if (column.empty()) return detail::no_name("groups", "column");
  return detail::add_column(*state_, scope_number::groups, column);
}

GANGSCHED_INLINE result<void> cluster::add_pod_column(std::string_view column) {
  GANGSCHED_TELL(add_pod_column, add_pod_column(column), column);
  GANGSCHED_REFUSE_IN_HOOK(*state_, "pods");
  if (column.empty()) return detail::no_name("pods", "column");
  return detail::add_column(*state_, scope_number::pods, column);
}

GANGSCHED_INLINE result<void> cluster::add_scope_column(std::string_view scope, std::string_view column) {
  GANGSCHED_TELL(add_scope_column, add_scope_column(scope, column), scope, column);
  const std::string object{scope};
  GANGSCHED_REFUSE_IN_HOOK(*state_, object);
  if (scope.empty() || column.empty()) return detail::no_name(scope, scope.empty() ? "scope" : "column");
  return detail::add_column(*state_, state_->columns.scope(scope), column);
}

GANGSCHED_INLINE result<scope_row_id> cluster::add_scope_row(std::string_view scope, std::string_view row) {
  GANGSCHED_TELL(add_scope_row, add_scope_row(scope, row), scope, row);
  const std::string object{scope};
  GANGSCHED_REFUSE_IN_HOOK(*state_, object);
  if (scope.empty() || row.empty()) return detail::no_name(scope, scope.empty() ? "scope" : "row");
  call_mark whole{*state_};
  const scope_row_id made = state_->columns.id_of(state_->columns.row(state_->columns.scope(scope), row));
  whole.keep();
  return made;
}

GANGSCHED_INLINE result<void> cluster::remove_scope_row(scope_row_id row) {
  GANGSCHED_TELL(remove_scope_row, remove_scope_row(row), row);
  GANGSCHED_REFUSE_IN_HOOK(*state_, "row");
  if (!contains(row)) return detail::unknown_id("row");
  call_mark whole{*state_};
  state_->columns.remove_row(row.row);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::set_column(node_id node, std::string_view column, std::int64_t value) {
  GANGSCHED_TELL(set_node_column, set_column(node, column, value), node, column, value);
  GANGSCHED_REFUSE_IN_HOOK(*state_, "node");
  if (!contains(node)) return detail::unknown_id("node");
  return detail::set_column(*state_, scope_number::nodes, node.row, detail::object_name("node", "", name_of(node)),
                            column, value);
}

GANGSCHED_INLINE result<void> cluster::set_column(group_id group, std::string_view column, std::int64_t value) {
  GANGSCHED_TELL(set_group_column, set_column(group, column, value), group, column, value);
  GANGSCHED_REFUSE_IN_HOOK(*state_, "group");
  if (!contains(group)) return detail::unknown_id("group");
  const std::string object =
      detail::object_name("group", state_->names.text(state_->groups.record[group.row]->ns), name_of(group));
  return detail::set_column(*state_, scope_number::groups, group.row, object, column, value);
}

GANGSCHED_INLINE result<void> cluster::set_column(pod_id pod, std::string_view column, std::int64_t value) {
  GANGSCHED_TELL(set_pod_column, set_column(pod, column, value), pod, column, value);
  GANGSCHED_REFUSE_IN_HOOK(*state_, "pod");
  if (!contains(pod)) return detail::unknown_id("pod");
  const model::pod_record& record = *state_->pods.record[pod.row];
  return detail::set_column(*state_, scope_number::pods, pod.row,
                            detail::object_name("pod", state_->names.text(record.ns), record.name), column, value);
}

GANGSCHED_INLINE result<void> cluster::set_column(scope_row_id row, std::string_view column, std::int64_t value) {
  GANGSCHED_TELL(set_scope_column, set_column(row, column, value), row, column, value);
  GANGSCHED_REFUSE_IN_HOOK(*state_, "row");
  if (!contains(row)) return detail::unknown_id("row");
  return detail::set_column(*state_, state_->columns.record(row.row).scope, row.row,
                            detail::scope_row_text(*state_, row.row), column, value);
}

}  // namespace gangsched::inline GANGSCHED_ABI
