#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"

/// Virtual clusters made of cells, as HiveD has them: "HiveD: Sharing a GPU Cluster for Deep Learning with Guarantees" (OSDI '20), and
/// github.com/microsoft/hivedscheduler, whose configuration has cellTypes, physicalCells and virtualClusters.
namespace gangsched::inline GANGSCHED_ABI::queues::hived {

/// A cell, physical or virtual (each kind has its own numbers); `none` if there is no cell.
using cell_index = std::int32_t;
inline constexpr cell_index none = -1;

/// What a cell consists of. A type without a record is a device.
struct cell_type {
  std::string name;
  std::string child;           ///< childCellType
  std::uint32_t children = 0;  ///< childCellNumber
  bool is_node = false;        ///< has the devices of one node, and all of them that are of its kind

  friend bool operator==(const cell_type&, const cell_type&) = default;
};

/// A physical cell, with its children.
struct physical_cell {
  std::string type = {};                     ///< only of a top cell; the type of others follows from their parent
  std::string node = {};                     ///< at the level of a node: its name
  std::optional<std::int32_t> device = {};   ///< a device's number in its node; unless set, its index in the cell
  std::string pin = {};                      ///< a name by which a virtual cluster may request this cell
  std::vector<physical_cell> children = {};  ///< empty at a node or below: everything that its type has

  friend bool operator==(const physical_cell&, const physical_cell&) = default;
};

/// The number of cells of a type for a virtual cluster.
struct cell_quota {
  std::string chain = {};  ///< the type of the top cell that they are part of; empty: they are top cells themselves
  std::string type = {};
  std::uint32_t count = 1;

  friend bool operator==(const cell_quota&, const cell_quota&) = default;
};

/// What a virtual cluster is due (virtualCells, pinnedCells).
struct virtual_cluster_spec {
  std::string name = {};
  std::vector<cell_quota> cells = {};
  std::vector<std::string> pins = {};  ///< names of pinned physical cells

  friend bool operator==(const virtual_cluster_spec&, const virtual_cluster_spec&) = default;
};

/// All of HiveD's physicalCluster and virtualClusters.
struct configuration {
  std::vector<cell_type> types = {};
  std::vector<physical_cell> cells = {};
  std::vector<virtual_cluster_spec> clusters = {};

  friend bool operator==(const configuration&, const configuration&) = default;
};

/// The cells of one level of a chain.
struct cell_level {
  std::string type;
  std::uint32_t children = 0;  ///< of each cell; 0 for a device
  std::uint32_t devices = 1;   ///< in each cell
  cell_index first = 0;        ///< they are numbered from here
  cell_index count = 0;
};

/// Top cells of one type, and everything in them. Level 0 are devices.
struct cell_chain {
  std::vector<cell_level> levels;
  std::uint32_t node_level = 0;
  std::size_t first_slot = 0;  ///< where numbers by level of all chains begin for this one
};

/// A cell of a virtual cluster: one that it is due, or a part of such a cell.
struct virtual_cell {
  cell_index parent = none, first_child = none, root = none;
  std::uint32_t chain = 0, level = 0, cluster = 0;
  cell_index pin = none;  ///< of a pinned root: its physical cell
};

/// The cells among which a virtual cluster places the groups of one chain, or of one pinned cell: each in one node, the largest first.
struct virtual_view {
  std::uint32_t chain = 0;
  cell_index pin = none;
  std::vector<cell_index> cells = {}, roots = {};
};

/// A virtual cluster in numbers.
struct virtual_layout {
  std::string name;
  cell_index first = 0, end = 0;  ///< its virtual cells
  std::vector<virtual_view> views;
};

/// A configuration in numbers. Immutable. Queries are O(levels), by name O(log nodes) or O(virtual clusters); numbers have to be valid.
class GANGSCHED_API cell_layout {
 public:
  cell_layout() = default;

  /// Errors name the cell type, node or virtual cluster: `malformed` (an empty name, a type within itself, no level or two levels of
  /// nodes, a cell without the children of its type), `duplicate`, `unknown`, `out_of_range` (2^31 cells or more). Whether the virtual
  /// clusters fit into the cells is not asked here. O(cells · log nodes).
  static result<cell_layout> make(const configuration& from);

  [[nodiscard]] const std::vector<cell_chain>& chains() const noexcept { return chains_; }
  [[nodiscard]] const cell_level& level(std::uint32_t chain, std::uint32_t at) const {
    return chains_[chain].levels[at];
  }
  /// A level of a chain among the levels of all chains, and how many there are.
  [[nodiscard]] std::size_t slot(std::uint32_t chain, std::uint32_t at) const { return chains_[chain].first_slot + at; }
  [[nodiscard]] std::size_t slots() const noexcept { return slots_; }

  [[nodiscard]] std::size_t cells() const noexcept { return chain_of_.size(); }
  [[nodiscard]] std::uint32_t chain_of(cell_index cell) const { return chain_of_[static_cast<std::size_t>(cell)]; }
  [[nodiscard]] std::uint32_t level_of(cell_index cell) const { return level_of_[static_cast<std::size_t>(cell)]; }
  /// `none` for a top cell.
  [[nodiscard]] cell_index parent(cell_index cell) const;
  [[nodiscard]] cell_index first_child(cell_index cell) const;
  [[nodiscard]] cell_index first_device(cell_index cell) const;
  [[nodiscard]] const cell_level& level_at(cell_index cell) const { return level(chain_of(cell), level_of(cell)); }
  [[nodiscard]] std::size_t slot_of(cell_index cell) const { return slot(chain_of(cell), level_of(cell)); }

  [[nodiscard]] const std::vector<std::string>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::optional<std::uint32_t> find_node(std::string_view name) const;
  [[nodiscard]] std::span<const cell_index> devices_of(std::uint32_t node) const { return node_devices_[node]; }
  /// Of a device.
  [[nodiscard]] std::uint32_t node_of(cell_index device) const { return node_of_[static_cast<std::size_t>(device)]; }
  [[nodiscard]] std::int32_t number_of(cell_index device) const { return number_of_[static_cast<std::size_t>(device)]; }

  [[nodiscard]] const std::vector<virtual_layout>& clusters() const noexcept { return clusters_; }
  [[nodiscard]] std::optional<std::uint32_t> find_cluster(std::string_view name) const;
  [[nodiscard]] const virtual_cell& virtual_at(cell_index cell) const {
    return virtual_[static_cast<std::size_t>(cell)];
  }
  [[nodiscard]] cell_index first_virtual_device(cell_index cell) const;
  [[nodiscard]] const std::map<std::string, cell_index, std::less<>>& pins() const noexcept { return pins_; }

 private:
  struct maker;
  std::vector<cell_chain> chains_;
  std::size_t slots_ = 0;
  std::vector<std::uint32_t> chain_of_, level_of_, node_of_;
  std::vector<std::int32_t> number_of_;
  std::vector<std::string> nodes_;
  std::map<std::string, std::uint32_t, std::less<>> node_by_name_;
  std::vector<std::vector<cell_index>> node_devices_;
  std::map<std::string, cell_index, std::less<>> pins_;
  std::vector<virtual_layout> clusters_;
  std::vector<virtual_cell> virtual_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/hived/cell_layout.cpp"
#endif
