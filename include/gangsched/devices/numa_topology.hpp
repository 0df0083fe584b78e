#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/devices/fixed_set.hpp"
#include "gangsched/devices/numa_hints.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// One logical CPU as the node reports it. Core numbers must be different across the whole node.
struct numa_cpu {
  std::uint32_t id = 0;
  std::uint32_t core = 0;
  std::uint32_t socket = 0;
  /// The last-level cache it shares; kubelet takes the socket's number where none is reported.
  std::uint32_t uncore_cache = 0;
};

/// Huge pages of one size in one cell.
struct numa_hugepages {
  std::uint64_t page_bytes = 0;
  std::uint64_t bytes = 0;  ///< what containers may have: all pages of this size less what the system reserves
};

/// One NUMA cell as the node reports it.
struct numa_cell {
  std::uint32_t id = 0;
  std::vector<numa_cpu> cpus;             ///< empty: memory only
  std::uint64_t memory_bytes = 0;         ///< what containers may have: without huge pages and what the system reserves
  std::vector<numa_hugepages> hugepages;  ///< at most one entry a size
  std::vector<std::uint32_t> distances;   ///< to every cell by ascending id, 10 … 254; all cells have them or none
};

/// CPUs that share a core, a socket, a cell or a cache.
struct cpu_group {
  std::uint32_t id = 0;
  cpu_set cpus;
};

/// The topology of a node: its CPUs, cores, sockets, caches, NUMA cells and their memory. Immutable.
///
/// Cells are known by index from here on, in ascending order of their ids; cell_mask uses the same indexes.
class GANGSCHED_API numa_topology {
 public:
  /// The position of a CPU. Numbers are indexes into the lists below, no_place for an id without a CPU.
  struct place {
    std::uint32_t core = no_place, socket = no_place, cell = no_place, uncore_cache = no_place;
  };
  static constexpr std::uint32_t no_place = ~std::uint32_t{0};

  /// @param cells in any order
  /// @return the layout, or an error that names "NUMA topology" and a field such as "cells[1].cpus[0].id": more than
  ///   max_numa_cells cells or none, a cell or a CPU twice, a CPU id of cpu_set::capacity or more, no CPU at all, a core in two
  ///   sockets, cells or caches, distances for another number of cells, below 10, above 254, not symmetric or only of some cells, a
  ///   page size of zero or twice, more than 2^56 bytes of memory. O(CPUs · log CPUs)
  [[nodiscard]] static result<numa_topology> build(std::span<const numa_cell> cells);

  [[nodiscard]] unsigned cell_number() const noexcept { return static_cast<unsigned>(cells_.size()); }
  [[nodiscard]] cell_mask machine() const noexcept { return all_cells(cell_number()); }
  /// The cells that have CPUs.
  [[nodiscard]] cell_mask cells_with_cpus() const noexcept { return with_cpus_; }
  /// Cells, sockets, cores, caches by ascending id. A core's id is its lowest CPU, as in kubelet; a memory-only cell has no CPUs.
  [[nodiscard]] std::span<const cpu_group> cells() const noexcept { return cells_; }
  [[nodiscard]] std::span<const cpu_group> sockets() const noexcept { return sockets_; }
  [[nodiscard]] std::span<const cpu_group> cores() const noexcept { return cores_; }
  [[nodiscard]] std::span<const cpu_group> uncore_caches() const noexcept { return caches_; }

  [[nodiscard]] const cpu_set& cpus() const noexcept { return cpus_; }
  [[nodiscard]] unsigned cpu_number() const noexcept { return cpu_number_; }
  [[nodiscard]] const place& of(unsigned cpu) const noexcept { return places_[cpu]; }
  /// All CPUs of @p cells.
  [[nodiscard]] cpu_set cpus_in(cell_mask cells) const noexcept;
  /// All CPUs that share a core with one of @p cpus.
  [[nodiscard]] cpu_set whole_cores(const cpu_set& cpus) const noexcept;

  /// CPUs divided by cores, sockets, caches, rounded down: kubelet assumes that all are of the same size.
  [[nodiscard]] unsigned cpus_per_core() const noexcept { return cpu_number_ / static_cast<unsigned>(cores_.size()); }
  [[nodiscard]] unsigned cpus_per_socket() const noexcept {
    return cpu_number_ / static_cast<unsigned>(sockets_.size());
  }
  [[nodiscard]] unsigned cpus_per_uncore_cache() const noexcept {
    return cpu_number_ / static_cast<unsigned>(caches_.size());
  }

  /// Empty when the cells had none.
  [[nodiscard]] const numa_distances& distances() const noexcept { return distances_; }
  /// The kinds of memory on the node: entry 0 is ordinary memory and 0 here, the others are page sizes in bytes, ascending.
  [[nodiscard]] std::span<const std::uint64_t> memory_kinds() const noexcept { return memory_kinds_; }
  /// Bytes of memory kind @p kind that containers may have in cell @p cell.
  [[nodiscard]] std::uint64_t memory(unsigned cell, std::size_t kind) const noexcept {
    return memory_[cell * memory_kinds_.size() + kind];
  }

 private:
  std::vector<cpu_group> cells_, sockets_, cores_, caches_;
  std::vector<place> places_;
  cpu_set cpus_;
  unsigned cpu_number_ = 0;
  cell_mask with_cpus_ = 0;
  numa_distances distances_;
  std::vector<std::uint64_t> memory_kinds_, memory_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/numa_topology.cpp"
#endif
