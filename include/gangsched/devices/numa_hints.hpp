#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// NUMA cells of one node: bit i is the cell with the i-th lowest id.
using cell_mask = std::uint16_t;
inline constexpr unsigned max_numa_cells = 16;

/// The number of cells in @p cells.
[[nodiscard]] constexpr unsigned cell_count(cell_mask cells) noexcept {
  return static_cast<unsigned>(std::popcount(cells));
}
/// The mask of cells 0 … @p cells - 1.
[[nodiscard]] constexpr cell_mask all_cells(unsigned cells) noexcept {
  return static_cast<cell_mask>((1u << cells) - 1);
}
/// The mask of one cell.
[[nodiscard]] constexpr cell_mask one_cell(unsigned cell) noexcept { return static_cast<cell_mask>(1u << cell); }

/// kubelet's topologyManagerPolicy.
enum class numa_policy : unsigned char { none, best_effort, restricted, single_numa_node };
/// kubelet's topologyManagerScope: one merge for each container in order, or one for the whole pod.
enum class numa_scope : unsigned char { container, pod };

/// The cells that a resource could come from. "Preferred": no smaller number of cells would ever do.
struct numa_hint {
  cell_mask cells = 0;  ///< 0: any
  bool preferred = false;
  friend bool operator==(const numa_hint&, const numa_hint&) noexcept = default;
};

/// All hints for one resource. An empty list means that the resource is not available; one without preference has no list at all.
using numa_hint_list = std::vector<numa_hint>;

/// Distances between cells, row by row, as the firmware's SLIT has them (10 is the cell itself).
struct numa_distances {
  unsigned cells = 0;
  std::vector<std::uint32_t> values;

  [[nodiscard]] std::uint32_t at(unsigned from, unsigned to) const noexcept { return values[from * cells + to]; }
  /// The sum over all ordered pairs in @p cells, each cell with itself included. Between masks of the same count it orders like the
  /// average that kubelet compares. O(count²)
  [[nodiscard]] GANGSCHED_API std::uint64_t sum(cell_mask cells_in) const noexcept;
};

/// The result of merging hints by a policy: the hint to allocate by, and whether the pod is admitted.
struct numa_verdict {
  numa_hint best;
  bool admitted = false;
  friend bool operator==(const numa_verdict&, const numa_verdict&) noexcept = default;
};

/// Merges @p lists as kubelet's Topology Manager does (policy.go of 1.36): out of every combination of one hint each, the
/// intersections that are not empty compete. Preferred ones, where all hints are preferred and name the same cells, come first and
/// then the narrowest; of the others, the one that is as wide as the most demanding resource needs, then narrower ones, widest
/// first, then wider ones, narrowest first. What is still equal goes by distance, when @p closest is given
/// (prefer-closest-numa-nodes) and the policy is not single_numa_node, then by the lower cells.
///
/// The combinations are never enumerated: O(hints) where something preferred fits, else O(lists · n · 2ⁿ) at worst, n being the
/// highest cell in @p machine plus one.
/// @param machine the cells that the node has
[[nodiscard]] GANGSCHED_API numa_verdict merge_numa_hints(numa_policy policy, cell_mask machine,
                                                          std::span<const numa_hint_list> lists,
                                                          const numa_distances* closest = nullptr);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/numa_hints.cpp"
#endif
