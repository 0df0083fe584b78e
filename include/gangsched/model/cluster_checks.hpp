#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gangsched/core/result.hpp"
#include "gangsched/model/state.hpp"

/// The errors that several calls of a cluster and of a scheduler share.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// @p object: the table's name, with the object's name as the call gave it.
[[nodiscard]] inline error unknown_id(std::string_view object) {
  return {errc::unknown, std::string{object}, "id", "no such object (removed, or of another cluster)"};
}
[[nodiscard]] inline std::string object_name(std::string_view table, std::string_view ns, std::string_view name) {
  std::string text{table};
  text += ' ';
  if (!ns.empty()) (text += ns) += '/';
  return text += name;
}
/// The same, formatted only if there is an error.
struct object_label {
  std::string_view table, ns, name;
  operator std::string() const { return object_name(table, ns, name); }
};
[[nodiscard]] inline bool names_pod(const model::cluster_state& state, pod_id pod) noexcept {
  return state.pods.alive(pod.row) && state.pods.rows.generation(pod.row) == pod.generation;
}
[[nodiscard]] inline bool names_node(const model::cluster_state& state, node_id node) noexcept {
  return state.nodes.alive(node.row) && state.nodes.rows.generation(node.row) == node.generation;
}
[[nodiscard]] inline bool names_group(const model::cluster_state& state, group_id group) noexcept {
  return state.groups.alive(group.row) && state.groups.rows.generation(group.row) == group.generation;
}
/// Whether the object with the id exists, or existed.
template <class Tag>
[[nodiscard]] bool had(const slots& rows, const id<Tag>& one) noexcept {
  return one.row < rows.count() && one.generation <= rows.generation(one.row);
}
/// Calls of a scheduler are made neither inside a hook nor with a transaction open.
[[nodiscard]] inline bool is_busy(const model::cluster_state& state) noexcept {
  return state.in_hook || state.undo.recording();
}
[[nodiscard]] inline std::optional<error> refuse_busy(const model::cluster_state& state) {
  if (state.in_hook) return error{errc::busy, "scheduler", "", "a hook may not call the scheduler that runs it"};
  if (state.undo.recording()) return error{errc::busy, "scheduler", "", "a transaction is open on the cluster"};
  return std::nullopt;
}
[[nodiscard]] inline error usage_overflow(std::string object) {
  return {errc::overflow, std::move(object), "node", "the node's usage would not fit into 64 bits"};
}
/// An expected group is removed with its last member or child.
GANGSCHED_API void forget_if_unwanted(model::cluster_state& state, row_t group);
/// Whether the group, no_row if it is new, can have the ratios of @p spec. O(ratios that can be reached), at most 100,000.
[[nodiscard]] GANGSCHED_API std::optional<error> check_ratios(const model::cluster_state& state, row_t row,
                                                              const group_spec& spec, const std::string& object);
[[nodiscard]] inline std::string pod_text(const model::cluster_state& state, row_t pod) {
  const model::pod_record& record = *state.pods.record[pod];
  return object_name("pod", state.names.text(record.ns), record.name);
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

/// Returns `busy` if a hook calls what would change the cluster under the running engine.
#define GANGSCHED_REFUSE_IN_HOOK(state, object)                                             \
  if ((state).in_hook) {                                                                    \
    return ::gangsched::error{::gangsched::errc::busy, object, "",                          \
                              "a hook may not change the cluster that is being scheduled"}; \
  }                                                                                         \
  static_assert(true)
