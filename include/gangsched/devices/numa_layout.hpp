#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "gangsched/core/result.hpp"
#include "gangsched/devices/device_spec.hpp"
#include "gangsched/devices/numa_admit.hpp"

/// The state of kubelet's managers on a node, as words that are only added up.
namespace gangsched::inline GANGSCHED_ABI {

/// The NUMA cells of nodes with the same hardware, and how their kubelets are configured.
///
/// Words of a node: a bit for each CPU that is one container's own, 64 a word; the same for those of pods with an exclusive policy (first
/// pcpu_level, then numa_node_level); then for each cell the bytes in use of each kind of
/// memory, and a word on the group it is in. Grants in several cells are booked on the lowest of them: groups are the same or disjoint,
/// so that is what the group uses, and nothing else of it ever matters. The word on the group has 1 for each grant, and the
/// cells of it from bit 24 on: all grants have the same cells, so their mask is the sum divided by how many there are.
struct numa_layout {
  node_numa spec;
  numa_topology topology;
  cpu_pool empty;  ///< of a node without pods
  std::uint32_t cpu_words = 0;

  [[nodiscard]] std::size_t kinds() const noexcept { return topology.memory_kinds().size(); }
  [[nodiscard]] std::uint32_t memory_word(unsigned cell, std::size_t kind) const noexcept {
    return 3 * cpu_words + static_cast<std::uint32_t>(cell * (kinds() + 1) + kind);
  }
  [[nodiscard]] std::uint32_t group_word(unsigned cell) const noexcept { return memory_word(cell, kinds()); }
  [[nodiscard]] std::uint32_t words() const noexcept { return memory_word(topology.cell_number(), 0); }

  /// The cell with this id as a mask; 0 if there is none, as for −1. O(cells).
  [[nodiscard]] GANGSCHED_API cell_mask cell(std::int32_t id) const noexcept;
  /// The CPUs of pods with an exclusive policy. O(CPUs / 64).
  [[nodiscard]] GANGSCHED_API cpu_set exclusive(const std::int64_t* words, cpu_exclusive_policy policy) const;
  /// In the form of numa_admit, without kinds of devices. Valid while the layout does not move.
  [[nodiscard]] GANGSCHED_API numa_node node() const;
  /// What is left, by the node's words from the first of these on; without devices. O(CPUs / 64 + cells · kinds).
  [[nodiscard]] GANGSCHED_API numa_state state(const std::int64_t* words) const;

  static constexpr std::uint64_t group_change(cell_mask cells) noexcept { return 1 + (std::uint64_t{cells} << 24); }
};

/// The resource name of a kind of memory of numa_topology::memory_kinds(): "memory", "hugepages-2Mi".
[[nodiscard]] GANGSCHED_API std::string memory_resource(std::uint64_t page_bytes);

/// Checks @p spec and lays it out; @p object names the node in errors, fields begin with "devices.numa".
[[nodiscard]] GANGSCHED_API result<numa_layout> make_numa_layout(const node_numa& spec, const std::string& object);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/numa_layout.cpp"
#endif
