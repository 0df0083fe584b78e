#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/hived/buddy_cells.hpp"
#include "gangsched/queues/hived/cell_layout.hpp"
#include "gangsched/queues/hived/journal.hpp"
#include "gangsched/queues/hived/virtual_cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

/// By node: whether it may be used. Null: every one.
using node_choice = const std::vector<bool>*;

/// Virtual cells for which no physical cell was found.
struct unmapped_cells {
  std::uint32_t level = 0;
  std::uint32_t count = 0;
};

/// Which physical cell each virtual cell is bound to. A root cell is bound while a group uses a device in it, or while it is pinned or
/// doomed. A cell below is bound while a group uses a device in it, or while it is bad, so that its virtual cluster can avoid it. At any
/// moment all cells that virtual clusters are due are available together (VC safety). All changes go through a journal.
class GANGSCHED_API cell_binding {
 public:
  /// Binds the pinned cells. Errors: `out_of_range` for the first virtual cluster whose cells cannot be had besides those of the ones
  /// before it, with the type and how many are missing; `malformed` for a pinned cell that another one is part of.
  static result<cell_binding> make(std::shared_ptr<const cell_layout> layout);

  [[nodiscard]] const cell_layout& layout() const noexcept { return *layout_; }
  [[nodiscard]] const buddy_cells& physical() const noexcept { return physical_; }
  [[nodiscard]] const virtual_cluster& cluster(std::uint32_t index) const { return clusters_[index]; }
  [[nodiscard]] cell_index bound(cell_index virtual_one) const { return cluster_of(virtual_one).bound(virtual_one); }
  /// By level: free cells that no virtual cluster is due. No number is negative. O(levels · virtual clusters).
  void spare(std::uint32_t chain, std::vector<std::int32_t>& out) const;

  /// Finds physical devices for virtual devices of one chain. Bound devices keep theirs. Below a bound root, the cells with the fewest
  /// opportunistic devices are taken first. Other roots come from the buddy allocator: from the lowest level with a free cell or, if none
  /// there can be used, from a higher level while all virtual clusters still get their due. Bad nodes and nodes outside @p nodes are never
  /// taken, except where bound already. New roots are bound and taken at once. @return what is missing, if anything: then roll back.
  std::optional<unmapped_cells> map(std::span<const cell_index> devices, node_choice nodes, journal& log,
                                    std::vector<cell_index>& out);

  /// Gives an unused device to @p priority: as the virtual device @p as, binding cells as needed, or opportunistically if that is `none`.
  void allocate(cell_index device, cell_index as, std::int32_t priority, journal& log);
  /// Releases it; what is not used any more is unbound.
  void release(cell_index device, journal& log);
  void set_user(cell_index device, std::int32_t to, journal& log) { physical_.set_user(device, to, log); }
  void set_heir(cell_index device, std::int32_t to, journal& log) { physical_.set_heir(device, to, log); }
  void set_bad(cell_index device, bool to, journal& log);

  /// To be called after a change, for each chain that it touched. Binds bad cells to the virtual clusters that have them; dooms cells of a
  /// virtual cluster that is due more than is healthy (if the others keep their due); frees those that need not be doomed.
  void settle(std::uint32_t chain, journal& log);

 private:
  /// A virtual cell that has to be bound: a vertex in the tree of such cells.
  struct vertex {
    cell_index cell = none;
    cell_index chosen = none;
    std::vector<std::uint32_t> children = {};
  };

  explicit cell_binding(std::shared_ptr<const cell_layout> layout);
  result<void> pin(const virtual_view& view);
  result<void> check_safety();

  [[nodiscard]] const virtual_cluster& cluster_of(cell_index cell) const {
    return clusters_[layout_->virtual_at(cell).cluster];
  }
  [[nodiscard]] virtual_cluster& cluster_of(cell_index cell) { return clusters_[layout_->virtual_at(cell).cluster]; }
  void bind(cell_index cell, cell_index as, journal& log);
  void unbind(cell_index cell, journal& log);
  void unbind_below(cell_index cell, journal& log);
  void take_root(cell_index cell, cell_index as, journal& log);
  void give_root(cell_index cell, journal& log);
  void loosen(cell_index device, journal& log);
  void show_bad(cell_index cell, journal& log);
  void leave_to_healthy(std::uint32_t chain, std::uint32_t level, virtual_cluster& cluster, journal& log);
  void doom(std::uint32_t chain, std::uint32_t level, virtual_cluster& cluster, journal& log);
  [[nodiscard]] cell_index bad_to_give(std::uint32_t chain, std::uint32_t level);
  [[nodiscard]] cell_index unbound_root(std::uint32_t chain, std::uint32_t level, const virtual_cluster& cluster) const;

  void grow_tree(std::span<const cell_index> devices, std::vector<cell_index>& out, std::vector<std::uint32_t>& roots);
  [[nodiscard]] bool is_usable(cell_index cell, node_choice nodes) const;
  [[nodiscard]] std::vector<cell_index> usable(std::span<const cell_index> among, node_choice nodes) const;
  [[nodiscard]] std::vector<cell_index> usable_below(cell_index cell, node_choice nodes) const;
  bool fit(std::uint32_t at, cell_index cell, node_choice nodes);
  bool match(std::span<const std::uint32_t> vertices, std::span<const cell_index> among, node_choice nodes);
  bool search(std::uint32_t at, std::span<const cell_index> among, node_choice nodes);
  bool allocate_buddy(std::uint32_t at, node_choice nodes);
  void bind_tree(std::uint32_t at, journal& log);

  std::shared_ptr<const cell_layout> layout_;
  buddy_cells physical_;
  std::vector<virtual_cluster> clusters_;
  std::vector<cell_index> new_roots_;      ///< bound, or unbound, since the last `settle`
  std::vector<vertex> tree_;               ///< of the last `map`
  std::vector<std::int32_t> vertex_of_;    ///< by virtual cell
  std::vector<std::int32_t> due_, spare_;  ///< by level, while asked for
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/hived/cell_binding.cpp"
#include "gangsched/src/queues/hived/cell_mapping.cpp"
#endif
