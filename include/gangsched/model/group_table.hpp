#pragma once
#include <string>
#include <variant>

#include "gangsched/core/config.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/group_spec.hpp"
#include "gangsched/model/name_index.hpp"
#include "gangsched/model/slots.hpp"

/// The groups of a cluster: a row each, with members and place in the tree as lists through the rows, and counts of members by state.
namespace gangsched::inline GANGSCHED_ABI::model {

struct group_record {
  group_spec spec;
  symbol ns;
  bool expected = false;  ///< it was not added yet, or was removed before its members: only its name is known
  row_t queue = no_row;   ///< that it names
  /// All of it, canonical.
  [[nodiscard]] GANGSCHED_API std::string bytes() const;
  GANGSCHED_API void digest_into(digest& out) const;
};

struct group_table {
  explicit group_table(undo_log& undo);

  slots rows;
  object_column<group_record> record;
  column<row_t> first, last;                      ///< members in order of arrival
  column<std::uint32_t> members, assumed, bound;  ///< pending = members − assumed − bound
  column<bool> satisfied;                         ///< its minimum had nodes once, and a member ran
  column<row_t> parent, first_child, last_child, next_sibling, prev_sibling;  ///< children in order of arrival
  column<std::uint32_t> children;
  column<std::uint64_t> arrival;  ///< order of add_group
  name_index by_name, composite_by_name;

  [[nodiscard]] const name_index& names_of(bool composite) const noexcept {
    return composite ? composite_by_name : by_name;
  }
  [[nodiscard]] name_index& names_of(bool composite) noexcept { return composite ? composite_by_name : by_name; }
  /// The root of the tree that the group is in. O(depth).
  [[nodiscard]] row_t root(row_t row) const noexcept {
    while (parent[row] != no_row) row = parent[row];
    return row;
  }
  /// Calls visit(row) for the group and every group below it, parents first, until it returns false.
  template <class Visit>
  bool each_below(row_t row, Visit&& visit) const {
    if (!visit(row)) return false;
    for (row_t child = first_child[row]; child != no_row; child = next_sibling[child]) {
      if (!each_below(child, visit)) return false;
    }
    return true;
  }

  GANGSCHED_API void grow(row_t to);
  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && record[row] != nullptr; }
  /// Members, or child groups, that must be placed together: the gang's minimum count, 1 for a basic group.
  [[nodiscard]] std::uint32_t min_count(row_t row) const noexcept {
    const gang* policy = std::get_if<gang>(&record[row]->spec.policy);
    return policy != nullptr ? static_cast<std::uint32_t>(policy->min_count) : 1;
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/group_table.cpp"
#endif
