#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/tight_list.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/fwd.hpp"
#include "gangsched/model/image_table.hpp"
#include "gangsched/model/node_tree.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/port_column.hpp"
#include "gangsched/model/record_index.hpp"
#include "gangsched/model/slots.hpp"

/// The nodes of a cluster: a row each, with the host's spec in its record, and what pods change in columns.
namespace gangsched::inline GANGSCHED_ABI {

struct node_spec;

/// How many volumes of a driver can be attached to a node.
struct volume_limit {
  symbol driver;
  std::int32_t most;
  friend bool operator==(const volume_limit&, const volume_limit&) = default;
};

}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::model {

/// The parts of a node that only the host changes.
struct node_record {
  symbol name;
  bool unschedulable = false;
  tight_list<label_symbols> labels;       ///< by key symbol
  tight_list<taint_symbols> taints;       ///< in the host's order
  tight_list<image_symbols> images;       ///< by name symbol, each name once
  tight_list<symbol> features;            ///< that it declares, ascending, each once
  tight_list<amount> allocatable;         ///< as `to_amounts` has them
  tight_list<resource_kind> beside_spec;  ///< those of `cluster::set_allocatable`, which the spec does not name
  tight_list<volume_limit> volume_limits;
  std::uint64_t cookie = 0;
  std::shared_ptr<const device_record> devices;  ///< null: it has none
  std::shared_ptr<const node_spec> spec;         ///< if it is kept

  /// The value of label @p key, if the node has it. O(log labels).
  [[nodiscard]] GANGSCHED_API std::optional<symbol> label(symbol key) const noexcept;
  [[nodiscard]] std::pair<symbol, std::string_view> key() const noexcept { return {name, {}}; }
  GANGSCHED_API void digest_into(digest& out) const;
};

struct node_table {
  node_table(interner& names, undo_log& undo);

  slots rows;
  object_column<node_record> record;          ///< null: no node in this row
  column<const device_inventory*> inventory;  ///< the record's; null: it has no devices
  matrix_column allocatable;
  matrix_column used;
  matrix_column devices;  ///< in use of them (device_inventory.hpp)
  column<row_t> first_pod;
  column<row_t> first_nominated;  ///< of the pods that are nominated to it
  column<row_t> next_wanted,
      prev_wanted;                ///< among the nodes that pods are nominated to; of rows up to the last that was
  column<row_t> first_wanted;     ///< row 0: the first of them
  column<std::uint64_t> arrival;  ///< order of add_node
  port_column ports;
  node_tree tree;      ///< their order, round robin over zones
  image_table images;  ///< what they list
  record_index<object_column<node_record>> by_name;
  column<std::uint32_t> total;  ///< row 0: nodes there are

  /// The row of the node with that name, or no_row.
  [[nodiscard]] row_t find(symbol name) const noexcept { return by_name.find(name, {}); }
  [[nodiscard]] row_t find(const interner& names, std::string_view name) const {
    const std::optional<symbol> known = names.find(name);
    return known ? find(*known) : no_row;
  }
  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && record[row] != nullptr; }
  void want(row_t node, bool wanted);
  void set_record(row_t row, std::unique_ptr<const node_record> to);
  /// What filters and scores of a node mostly read.
  void prefetch(row_t row) const noexcept {
    record.prefetch(row), inventory.prefetch(row);
    allocatable.prefetch(row, 1), used.prefetch(row, 1), devices.prefetch(row, 16);
  }
  /// Grows every column to at least that length, here and below.
  GANGSCHED_API void grow(row_t to, resource_kind kinds);
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/node_table.cpp"
#endif
