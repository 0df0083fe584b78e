#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/devices/links.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Machines with known topology, so that hosts and tests need not write matrices.
enum class gpu_machine : unsigned char {
  dgx1_p100,      ///< 8 GPUs, hybrid cube mesh of single NVLinks
  dgx1_v100,      ///< 8 GPUs, hybrid cube mesh of one and two NVLinks
  dgx2,           ///< 16 V100, 6 NVLinks between any two, two baseboards
  hgx_a100_4,     ///< 4 GPUs, a mesh of 4 NVLinks each
  hgx_a100_8,     ///< NVSwitch, 12 NVLinks
  hgx_h100_8,     ///< NVSwitch, 18 NVLinks; H200 as well
  hgx_b200_8,     ///< NVSwitch, 18 NVLinks; B300 as well
  bridged_pairs,  ///< 8 PCIe cards, bridges of 12 NVLinks between 0-1, 2-3, 4-5 and 6-7
  two_quads,      ///< 8 PCIe cards, 6 NVLinks between any two of 0-3 and of 4-7: four-way bridges
  nvl72_tray,     ///< 4 GPUs, 18 NVLinks; the domain reaches beyond the node
};
inline constexpr std::size_t gpu_machines = static_cast<std::size_t>(gpu_machine::nvl72_tray) + 1;

/// The GPUs of a node: their links, and by GPU the number of the PCIe switch and of the NUMA cell.
struct gpu_topology {
  link_matrix links;
  std::array<std::uint8_t, max_node_gpus> pcie_group{};
  std::array<std::uint8_t, max_node_gpus> numa_cell{};
};

/// The topology of a known machine; each call makes it anew.
[[nodiscard]] GANGSCHED_API gpu_topology make_gpu_topology(gpu_machine machine);

/// The GPUs with the same number as masks, in the order of their first GPUs: what gpu_set_requirement takes.
/// @p number_of_gpu: one number for each of at most 16 GPUs.
[[nodiscard]] GANGSCHED_API std::vector<gpu_mask> gpu_groups(std::span<const std::uint8_t> number_of_gpu);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/gpu_machines.cpp"
#endif
