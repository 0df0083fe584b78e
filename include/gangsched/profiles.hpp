#pragma once
#include "gangsched/framework/registry.hpp"

/// Ready-made profiles and the registry of the library's plugins. Lowered once, in src/profiles.cpp.
namespace gangsched::inline GANGSCHED_ABI {

/// The library's plugins by their Kubernetes names: all but Extender, whose callbacks cannot be written as arguments.
[[nodiscard]] GANGSCHED_API plugin_registry builtin_plugins();

namespace profiles {

/// kube-scheduler's default plugins and weights, those of pod groups, GroupPreemption, MigPacking and GpuLinks (docs/plugins.md).
[[nodiscard]] GANGSCHED_API kernel_table kube_default();
/// The same for clusters with queues: FairShare, the library's own policy.
[[nodiscard]] GANGSCHED_API kernel_table with_queues();
/// kube_default with NodeResourcesFit in MostAllocated over cpu, memory and @p resource (weights 1, 1 and 5): packs instead of spreading.
[[nodiscard]] GANGSCHED_API kernel_table bin_packing(std::string_view resource = "nvidia.com/gpu");

}  // namespace profiles
}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/profiles.cpp"
#endif
