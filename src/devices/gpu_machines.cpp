#include "gangsched/devices/gpu_machines.hpp"

#include <bit>
#include <cstddef>

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// 24 NVLinks, 6 a GPU (DGX-1 V100, hybrid cube mesh).
inline constexpr std::array<std::array<std::uint8_t, 8>, 8> dgx1_v100_nvlinks{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                                               {1, 0, 2, 1, 0, 2, 0, 0},
                                                                               {1, 2, 0, 2, 0, 0, 1, 0},
                                                                               {2, 1, 2, 0, 0, 0, 0, 1},
                                                                               {2, 0, 0, 0, 0, 1, 1, 2},
                                                                               {0, 2, 0, 0, 1, 0, 2, 1},
                                                                               {0, 0, 1, 0, 1, 2, 0, 2},
                                                                               {0, 0, 0, 1, 2, 1, 2, 0}}};

/// What a machine is made of, apart from the NVLinks.
struct gpu_chassis {
  std::size_t gpus = 8;
  std::array<std::uint8_t, max_node_gpus> pcie_group{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
  std::size_t gpus_a_cell = 4;  ///< NUMA cells are blocks of so many
  link_level in_switch = link_level::pix;
  link_level in_cell = link_level::node;
  std::size_t gpus_below_one_bridge = 0;  ///< blocks of so many are connected by switches alone
};

template <class NvLinks>
gpu_topology gpu_topology_from(const gpu_chassis& box, NvLinks nvlinks) {
  std::array<std::uint8_t, max_node_gpus> pcie{}, numa{};
  std::vector<gpu_link> links;
  for (std::size_t a = 0; a < box.gpus; ++a) {
    pcie[a] = box.pcie_group[a];
    numa[a] = static_cast<std::uint8_t>(a / box.gpus_a_cell);
    for (std::size_t b = 0; b < box.gpus; ++b) {
      gpu_link link;
      if (a != b) {
        const std::size_t block = box.gpus_below_one_bridge;
        link.nvlinks = static_cast<std::uint8_t>(nvlinks(a, b));
        if (box.pcie_group[a] == box.pcie_group[b])
          link.path = box.in_switch;
        else if (block > 0 && a / block == b / block)
          link.path = link_level::pxb;
        else if (a / box.gpus_a_cell == b / box.gpus_a_cell)
          link.path = box.in_cell;
      }
      links.push_back(link);
    }
  }
  return {link_matrix::make(box.gpus, links).value(), pcie, numa};
}

inline gpu_topology gpu_topology_of_mesh(const gpu_chassis& box, int nvlinks) {
  return gpu_topology_from(box, [&](std::size_t, std::size_t) { return nvlinks; });
}

}  // namespace detail

GANGSCHED_INLINE gpu_topology make_gpu_topology(gpu_machine machine) {
  detail::gpu_chassis box;
  switch (machine) {
    case gpu_machine::dgx1_p100:
      box.pcie_group = {0, 1, 0, 1, 2, 3, 2, 3};
      box.in_cell = link_level::phb;
      return detail::gpu_topology_from(
          box, [](std::size_t a, std::size_t b) { return a / 4 == b / 4 || a % 4 == b % 4 ? 1 : 0; });
    case gpu_machine::dgx1_v100:
      // The GPUs of a switch (pcie_group) have NVLinks as well, which traffic takes. If the switch counted on top of them, 2-3 would
      // come before 0-3 and 1-2, and leave pairs across the sockets; NVIDIA's static sets for this machine are against that.
      box.in_switch = box.in_cell = link_level::phb;
      return detail::gpu_topology_from(box,
                                       [](std::size_t a, std::size_t b) { return detail::dgx1_v100_nvlinks[a][b]; });
    case gpu_machine::dgx2:
      box.gpus = 16;
      box.gpus_a_cell = 8;
      box.gpus_below_one_bridge = 4;
      return detail::gpu_topology_of_mesh(box, 6);
    case gpu_machine::hgx_a100_4:
    case gpu_machine::nvl72_tray:
      box.gpus = 4;
      box.gpus_a_cell = 2;
      box.pcie_group = {0, 1, 2, 3};
      return detail::gpu_topology_of_mesh(box, machine == gpu_machine::hgx_a100_4 ? 4 : 18);
    case gpu_machine::hgx_a100_8: return detail::gpu_topology_of_mesh(box, 12);
    case gpu_machine::hgx_h100_8:
    case gpu_machine::hgx_b200_8: break;
    case gpu_machine::bridged_pairs:
      return detail::gpu_topology_from(box, [](std::size_t a, std::size_t b) { return a / 2 == b / 2 ? 12 : 0; });
    case gpu_machine::two_quads:
      return detail::gpu_topology_from(box, [](std::size_t a, std::size_t b) { return a / 4 == b / 4 ? 6 : 0; });
  }
  return detail::gpu_topology_of_mesh(box, 18);
}

GANGSCHED_INLINE std::vector<gpu_mask> gpu_groups(std::span<const std::uint8_t> number_of_gpu) {
  GANGSCHED_ASSERT(number_of_gpu.size() <= max_node_gpus);
  std::vector<gpu_mask> groups;
  for (std::size_t gpu = 0; gpu < number_of_gpu.size(); ++gpu) {
    bool found = false;
    for (gpu_mask& group : groups) {
      if (number_of_gpu[static_cast<std::size_t>(std::countr_zero(group))] != number_of_gpu[gpu]) continue;
      group = static_cast<gpu_mask>(group | 1u << gpu);
      found = true;
    }
    if (!found) groups.push_back(static_cast<gpu_mask>(1u << gpu));
  }
  return groups;
}

}  // namespace gangsched::inline GANGSCHED_ABI
