#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/devices/cpu_manager.hpp"
#include "gangsched/devices/device_manager.hpp"
#include "gangsched/devices/memory_manager.hpp"
#include "gangsched/devices/numa_container.hpp"
#include "gangsched/devices/numa_hints.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The settings of a node's kubelet, and the node's topology, which must outlive it.
struct numa_node {
  const numa_topology* topology = nullptr;
  numa_policy policy = numa_policy::none;
  numa_scope scope = numa_scope::container;
  bool prefer_closest = false;  ///< prefer-closest-numa-nodes: the topology must have distances
  cpu_policy cpu;
  bool static_memory = false;  ///< memoryManagerPolicy Static
  std::vector<device_kind> devices;
  bool whole_groups = false;  ///< as allocate_memory's argument
};

/// What a node has left. Copy it to try something.
struct numa_state {
  cpu_pool cpus;
  memory_state memory;
  std::vector<device_set> free_devices;  ///< one for each kind of numa_node::devices
};

struct numa_pod {
  bool guaranteed = false;                 ///< its QoS class; other pods have only their devices aligned
  std::vector<numa_container> containers;  ///< init containers and sidecars first, in the pod's order
};

/// Why a kubelet would reject a pod.
enum class numa_refusal : unsigned char {
  none,
  topology_affinity,  ///< the policy does not accept the best hint
  smt_alignment,      ///< full_pcpus_only: not whole cores, or not enough of them
  devices,            ///< the hint was fine, but not so many devices are free
  cpus,
  memory  ///< likewise; also a group of cells that would overlap another
};
/// The reason as a pod's status has it: "TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError", "".
[[nodiscard]] GANGSCHED_API std::string_view to_string(numa_refusal reason) noexcept;

/// What one container gets.
struct numa_grant {
  numa_hint hint;       ///< the hint that it was allocated by; cells 0: no preference
  cpu_set cpus;         ///< its exclusive CPUs; empty: it runs on the shared ones
  memory_grant memory;  ///< what of it is booked on this container once later ones have used an init container's again
  std::vector<device_set> devices;  ///< by numa_node::devices
};

struct numa_admission {
  bool admitted = false;
  numa_refusal reason = numa_refusal::none;
  std::size_t container = 0;       ///< the one that was rejected
  std::vector<numa_grant> grants;  ///< one for each container; empty when rejected
  numa_state after;                ///< what is left; the state given, when rejected
};

/// A device plugin's preferred allocation: which @p wanted devices of kind @p kind a container gets, with allocate_devices' arguments. Must
/// have all of @p reusable first, and as many of those free in @p affinity as that has.
using numa_device_choice = std::function<std::optional<device_set>(
    std::size_t kind, const device_set& free, const device_set& reusable, cell_mask affinity, unsigned wanted)>;

/// Chooses CPUs instead of the CPU Manager: @p wanted out of @p available, near @p affinity (0: anywhere).
using numa_cpu_choice =
    std::function<std::optional<cpu_set>(const cpu_set& available, cell_mask affinity, unsigned wanted)>;

/// Whether the kubelet of @p node would admit @p pod with what @p state has left, and what it would assign: Topology Manager, then Device,
/// CPU and Memory Manager of 1.36, container by container. Only the choice between equal devices differs (the lowest, or by @p choice) from
/// a kubelet whose device plugin has its own.
[[nodiscard]] GANGSCHED_API numa_admission numa_admit(const numa_node& node, const numa_state& state,
                                                      const numa_pod& pod, const numa_device_choice& choice = {},
                                                      const numa_cpu_choice& cpus = {});

/// The state of an empty node; the error is make_cpu_pool's.
[[nodiscard]] GANGSCHED_API result<numa_state> make_numa_state(const numa_node& node, const cpu_set& reserved);

/// Returns what a pod had, once all its containers are gone.
GANGSCHED_API void numa_release(const numa_node& node, numa_state& state, std::span<const numa_grant> grants);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/numa_admit.cpp"
#endif
