#pragma once
#include <optional>
#include <span>
#include <vector>

#include "gangsched/devices/numa_container.hpp"
#include "gangsched/devices/numa_hints.hpp"
#include "gangsched/devices/numa_topology.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What is left of a node's memory, as kubelet's Memory Manager tracks it.
struct memory_state {
  struct cell {
    memory_amounts free;
    std::uint32_t assignments = 0;  ///< how many grants touch the cell, one for each kind of memory
    cell_mask group = 0;            ///< the cells that grants here span together; the cell alone when it has none
    friend bool operator==(const cell&, const cell&) = default;
  };
  std::vector<cell> cells;
  friend bool operator==(const memory_state&, const memory_state&) = default;
};

/// The memory of an empty node.
[[nodiscard]] GANGSCHED_API memory_state make_memory_state(const numa_topology& topology);

/// Memory of ended containers that later ones reuse, in the same cells only.
class GANGSCHED_API reusable_memory {
 public:
  [[nodiscard]] std::uint64_t of(cell_mask cells, std::size_t kind) const noexcept;
  /// A container that ends (an init container) leaves at least @p bytes.
  void leave(cell_mask cells, const memory_amounts& bytes);
  /// A container that stays used @p bytes.
  void use(cell_mask cells, const memory_amounts& bytes);

 private:
  struct entry {
    cell_mask cells;
    memory_amounts bytes;
  };
  std::vector<entry> entries_;
};

/// Memory that a container was given in @p cells together.
struct memory_grant {
  cell_mask cells = 0;  ///< 0: nothing was asked for
  /// Bit k: kind k was asked for, and counts as an assignment even when no bytes of it are left.
  std::uint32_t kinds = 0;
  memory_amounts bytes;
  friend bool operator==(const memory_grant&, const memory_grant&) = default;
};

/// The cells that @p wanted could come from, by kubelet's static policy: a single cell that is in no group, or cells that are unused
/// or are a group already; groups are the same or disjoint. Preferred are as few cells as an empty node would need. The list is for
/// each kind of memory asked for. Where it is empty kubelet offers no hints at all, and refuses when it allocates.
/// O(2ⁿ · kinds) for n cells
[[nodiscard]] GANGSCHED_API numa_hint_list memory_hints(const numa_topology& topology, const memory_state& state,
                                                        const reusable_memory& reusable, const memory_amounts& wanted);

/// Gives @p wanted by @p hint (cells 0: the best hint of its own), widened to the best own hint that contains it when it has too
/// little, and takes it out of @p state, lowest cell first. Nothing, and no change, where kubelet refuses: no such hint, none as
/// preferred as the one given, or a group that would overlap another.
/// @param whole_groups kubelet gives one cell out of a group of several where that has enough (best-effort, when CPUs are only there),
///   and then which cell is in what group depends on the order in which all of it came and went. If true, the hint is widened instead:
///   the same is admitted, groups stay the same or disjoint, and grants tell all there is to know
[[nodiscard]] GANGSCHED_API std::optional<memory_grant> allocate_memory(const numa_topology& topology,
                                                                        memory_state& state,
                                                                        const reusable_memory& reusable,
                                                                        const memory_amounts& wanted, numa_hint hint,
                                                                        bool whole_groups = false);

/// Puts a grant back, lowest cell first, as kubelet does: into whichever cells of the group have some in use.
GANGSCHED_API void release_memory(const numa_topology& topology, memory_state& state, const memory_grant& grant);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/memory_manager.cpp"
#endif
