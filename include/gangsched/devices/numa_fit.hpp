#pragma once
#include "gangsched/devices/device_fit.hpp"
#include "gangsched/devices/numa_scores.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The result of the node's kubelet for a pod: whether it would admit it (`numa_admit`), and the CPUs and memory of the containers.
///
/// The kubelet's hints cover whole GPUs, which are chosen by their links; shares, replicas and MIG instances, for which a GPU is as many
/// devices as it has room for; and other devices, each as one. They do not cover what only DRA can say (`first_of`, `all`, `admin`):
/// there the kubelet gives no hints either.
///
/// Where CPUs are bound (`device_wants::binding`) the pod as a whole gets them, and memory, from the scheduler: hints are merged as a
/// kubelet with the node's policy does it for whole pods, and `bind_cpus_in` chooses inside them.
/// @param narrowed @p wants, with the devices that are left for each
/// @param own the grants of CPUs and memory
[[nodiscard]] GANGSCHED_API status fit_cells(const device_state& state, const device_wants& wants,
                                             device_wants& narrowed,
                                             boost::container::small_vector<device_grant, 8>& own);

/// How CPUs of a pod are bound on a node: by the node's policy for pods that are Guaranteed or bind CPUs anyway, else by the pod's. Nothing
/// if the pod requires another policy than the node.
[[nodiscard]] GANGSCHED_API std::optional<cpu_binding> binding_on(const node_numa& node, const cpu_binding& of_pod,
                                                                  bool guaranteed) noexcept;

/// A node with NUMA cells and a pod in the terms of NodeResourceTopologyMatch: one zone per cell, by index.
struct numa_zones {
  std::vector<numa_resource> resources;  ///< cpu, the kinds of memory, then one for each want that the kubelet aligns
  std::vector<symbol> devices;  ///< of the last resources: what GPUs are counted by, or the class of other devices
  numa_zone_pod pod;
};
[[nodiscard]] GANGSCHED_API numa_zones zones_of(const device_state& state, const device_wants& wants);

/// Whether the CPUs or memory of @p grant are free.
[[nodiscard]] GANGSCHED_API bool is_free_in_cells(const device_state& state, const device_grant& grant);
/// The contribution of @p grant to the words.
GANGSCHED_API void add_cells_grant(const device_inventory& inventory, const device_grant& grant, device_claim& claim);

/// The best @p count of the GPUs @p free as whole GPUs; 0 if there are too few, or none as close as required. O(1) up to 8 GPUs.
[[nodiscard]] GANGSCHED_API std::uint32_t best_gpus(const device_inventory& inventory, std::uint32_t free,
                                                    std::uint32_t count, const device_demand& demand);
/// How many instances of a MIG profile the GPU has room for; or would have, if empty.
[[nodiscard]] GANGSCHED_API unsigned mig_room(const device_state& state, std::size_t gpu, mig_profile_index profile,
                                              bool empty);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/numa_fit.cpp"
#endif
