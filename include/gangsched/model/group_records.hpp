#pragma once
#include <memory>
#include <optional>
#include <string>

#include "gangsched/core/result.hpp"
#include "gangsched/model/state.hpp"

/// What a cluster stores of a checked group spec, and the trees of groups. @p object names the group in errors.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// Whether @p spec is valid at the group's place in its tree; @p row is no_row if it is new. O(depth + groups right below).
[[nodiscard]] GANGSCHED_API std::optional<error> check_tree(const model::cluster_state& state, row_t row,
                                                            const group_spec& spec, const std::string& object);
/// Whether the groups that @p spec names beside its parent exist.
[[nodiscard]] GANGSCHED_API std::optional<error> check_references(const model::cluster_state& state,
                                                                  const group_spec& spec, const std::string& object);
/// A record that names the queue of the spec.
[[nodiscard]] GANGSCHED_API std::unique_ptr<const model::group_record> make_group_record(model::cluster_state& state,
                                                                                         const group_spec& spec,
                                                                                         symbol ns);
/// A new group, in no tree.
[[nodiscard]] GANGSCHED_API row_t make_group(model::cluster_state& state,
                                             std::unique_ptr<const model::group_record> record);
/// @p parent: no_row takes the group out of its tree. O(siblings that arrived later).
GANGSCHED_API void set_parent(model::group_table& groups, row_t row, row_t parent);
/// Replaces the record of the group.
[[nodiscard]] GANGSCHED_API result<void> put_group(model::cluster_state& state, row_t row,
                                                   std::unique_ptr<const model::group_record> record,
                                                   const std::string& object);
/// @pre it has no members and no groups below.
GANGSCHED_API void erase_group(model::cluster_state& state, row_t row);

}  // namespace gangsched::inline GANGSCHED_ABI::detail

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/group_records.cpp"
#endif
