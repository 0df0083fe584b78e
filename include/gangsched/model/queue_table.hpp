#pragma once
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/name_index.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/queue_spec.hpp"
#include "gangsched/model/slots.hpp"

/// The queues of a cluster and the flavors of its nodes: a row each. The host's spec of a queue is in its record, its place in its tree are
/// lists through the rows, and the use of its pods is in columns of amounts.
namespace gangsched::inline GANGSCHED_ABI {

/// A `queue_quota` as integers by kind, for the kinds that it names, in the order of their names.
struct queue_amounts {
  row_t flavor = no_row;  ///< no_row: of all nodes together
  std::vector<amount> guaranteed = {}, limit = {}, borrowing_limit = {}, lending_limit = {};
  std::vector<std::pair<resource_kind, double>> weights = {};

  [[nodiscard]] static std::optional<std::int64_t> find(const std::vector<amount>& among, resource_kind kind) noexcept {
    for (const amount& one : among)
      if (one.kind == kind) return one.value;
    return std::nullopt;
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::model {

struct queue_record {
  queue_spec spec;
  std::vector<queue_amounts> quotas = {};
  bool expected = false;  ///< it was not added yet, or was removed while something named it: only its name is known
  /// All that was said of it, canonical.
  [[nodiscard]] GANGSCHED_API std::string bytes() const;
  GANGSCHED_API void digest_into(digest& out) const;
};

struct flavor_record {
  flavor_spec spec;
  std::vector<label_symbols> labels;  ///< that its nodes have
  [[nodiscard]] GANGSCHED_API std::string bytes() const;
  GANGSCHED_API void digest_into(digest& out) const;
};

/// The flavors, and each node's flavor: the first by name whose labels it has.
struct GANGSCHED_API flavor_table {
  explicit flavor_table(undo_log& undo);

  slots rows;
  object_column<flavor_record> record;
  name_index by_name;
  column<row_t> next;   ///< by name
  column<row_t> first;  ///< row 0: the first by name
  column<row_t> of;     ///< by node

  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && record[row] != nullptr; }
  /// The row of what the id names, or no_row.
  [[nodiscard]] row_t find(flavor_id id) const noexcept {
    return alive(id.row) && rows.generation(id.row) == id.generation ? id.row : no_row;
  }
  [[nodiscard]] flavor_id id_of(row_t row) const noexcept {
    return row == no_row ? flavor_id{} : flavor_id{row, rows.generation(row)};
  }
  /// The flavor of a node with these labels. O(flavors · labels).
  [[nodiscard]] row_t for_labels(std::span<const label_symbols> labels) const noexcept;
  void digest_into(digest& out, row_t nodes) const;
};

/// The pods of one tree of groups that are in one queue, where they count as one job.
struct GANGSCHED_API queue_part_table {
  explicit queue_part_table(undo_log& undo);

  slots rows;
  column<row_t> root, queue;           ///< of groups, of queues
  column<row_t> next;                  ///< of the same tree
  column<std::uint32_t> pods, placed;  ///< how many there are, and on nodes
  column<row_t> first;                 ///< by group, of roots
  column<row_t> of;                    ///< by pod

  /// What groups and pods point at follows from it.
  void digest_into(digest& out) const;
};

struct GANGSCHED_API queue_table {
  explicit queue_table(undo_log& with_undo);
  queue_table& operator=(const queue_table& from);

  slots rows;
  object_column<queue_record> record;
  column<row_t> parent, first_child, last_child, next_sibling, prev_sibling;  ///< siblings by name
  column<row_t> roots;            ///< row 0: the first queue without a parent, row 1: the last
  column<std::uint32_t> named;    ///< how many pods, groups and queues name it
  column<std::uint32_t> running;  ///< groups and single pods of it and those below with a pod on a node
  /// What its pods, and those of queues below, use on nodes; and what they request, on nodes or not.
  matrix_column used, requested;
  std::vector<std::unique_ptr<matrix_column>> used_of_flavor;  ///< by flavor's row, of its nodes only
  name_index by_name, by_namespace;
  flavor_table flavors;
  queue_part_table parts;
  peer<undo_log> undo;

  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && record[row] != nullptr; }
  /// The row of what the id names, or no_row.
  [[nodiscard]] row_t find(queue_id id) const noexcept {
    return alive(id.row) && rows.generation(id.row) == id.generation ? id.row : no_row;
  }
  [[nodiscard]] queue_id id_of(row_t row) const noexcept {
    return row == no_row ? queue_id{} : queue_id{row, rows.generation(row)};
  }
  /// Calls visit(row) for each: parents first, siblings by name. O(queues).
  template <class Visit>
  void each(Visit&& visit) const {
    for (row_t row = roots[0]; row != no_row;) {
      visit(row);
      if (first_child[row] != no_row) {
        row = first_child[row];
        continue;
      }
      while (row != no_row && next_sibling[row] == no_row) row = parent[row];
      if (row != no_row) row = next_sibling[row];
    }
  }
  /// Links it below its parent, or among the roots (no_row), and nothing else.
  void link(row_t row, row_t to);
  void unlink(row_t row);

  /// Grows every column to at least that length, with room for @p kinds of resources.
  void grow(row_t to, resource_kind kinds);
  /// The same for the rows that there are.
  void widen(resource_kind kinds) { grow(rows.count(), kinds); }
  /// Makes a column for a new flavor.
  void add_flavor(row_t flavor, resource_kind kinds);
  void digest_into(digest& out, resource_kind kinds, row_t nodes) const;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/queue_table.cpp"
#endif
