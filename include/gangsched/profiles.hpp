#pragma once
#include "gangsched/framework/registry.hpp"
#include "gangsched/plugins/default_preemption.hpp"
#include "gangsched/plugins/gang_scheduling.hpp"
#include "gangsched/plugins/image_locality.hpp"
#include "gangsched/plugins/inter_pod_affinity.hpp"
#include "gangsched/plugins/node_affinity.hpp"
#include "gangsched/plugins/node_name.hpp"
#include "gangsched/plugins/node_ports.hpp"
#include "gangsched/plugins/node_resources_balanced_allocation.hpp"
#include "gangsched/plugins/node_resources_fit.hpp"
#include "gangsched/plugins/node_resources_fit_plus.hpp"
#include "gangsched/plugins/node_unschedulable.hpp"
#include "gangsched/plugins/node_volume_limits.hpp"
#include "gangsched/plugins/pod_topology_spread.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "gangsched/plugins/scarce_resource_avoidance.hpp"
#include "gangsched/plugins/scheduling_gates.hpp"
#include "gangsched/plugins/taint_toleration.hpp"
#include "gangsched/plugins/volume_binding.hpp"
#include "gangsched/plugins/volume_restrictions.hpp"
#include "gangsched/plugins/volume_zone.hpp"

/// Ready-made profiles and the registry of the library's plugins. Lowered once, in src/profiles.cpp.
namespace gangsched {

/// Every plugin of the library by its Kubernetes name.
[[nodiscard]] GANGSCHED_API plugin_registry builtin_plugins();

namespace profiles {

/// kube-scheduler 1.36's default plugins and weights, as far as the library has them, with GangScheduling.
[[nodiscard]] GANGSCHED_API kernel_table kube_default();
/// The same with NodeResourcesFit in MostAllocated over cpu, memory and @p resource (weights 1, 1 and 5): packs instead of spreading.
[[nodiscard]] GANGSCHED_API kernel_table bin_packing(std::string_view resource = "nvidia.com/gpu");

}  // namespace profiles
}  // namespace gangsched

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/profiles.cpp"
#endif
