#pragma once
#include <optional>

#include "gangsched/devices/cpu_bind_policy.hpp"
#include "gangsched/devices/numa_topology.hpp"

/// CPUs that a scheduler assigns to pods, not the kubelet to containers: as in koord-scheduler (its plugin NodeNUMAResource).
namespace gangsched::inline GANGSCHED_ABI {

/// Those of @p available that a required policy can use: CPUs on entirely free cores, or the first free one of each core. O(CPUs)
[[nodiscard]] GANGSCHED_API cpu_set cpus_for(const numa_topology& topology, const cpu_set& available,
                                             cpu_bind_policy policy);

/// The CPUs that pods of one exclusive policy have, and the policy.
struct exclusive_cpus {
  cpu_exclusive_policy policy = cpu_exclusive_policy::none;
  cpu_set others = {};
};

/// The @p wanted CPUs out of @p available: in one cell if one has enough, else in one socket, else from wherever most are free together;
/// each time first apart from @p apart. koord-scheduler's takeCPUs (cpu_accumulator.go) without its sharing of CPUs; a core goes by its
/// lowest CPU.
/// @return nothing when @p available has fewer. O(CPUs · log CPUs)
[[nodiscard]] GANGSCHED_API std::optional<cpu_set> bind_cpus(const numa_topology& topology, const cpu_set& available,
                                                             unsigned wanted, cpu_bind_policy policy,
                                                             numa_allocate_strategy strategy,
                                                             const exclusive_cpus& apart = {});

/// The same in @p cells (0: anywhere): an even share of each, those with the fewest free CPUs first, and the rest wherever it is.
/// @param others the CPUs of pods with the exclusive policy of @p how
/// @return nothing when there are not enough, or a required policy was missed
[[nodiscard]] GANGSCHED_API std::optional<cpu_set> bind_cpus_in(const numa_topology& topology, const cpu_set& available,
                                                                cell_mask cells, unsigned wanted,
                                                                const cpu_binding& how, numa_allocate_strategy strategy,
                                                                const cpu_set& others = {});

/// What so many bound CPUs (in milli) count for on a node with amplified CPU, rounded up, at most the largest amount; @p percent is the
/// ratio in hundredths.
[[nodiscard]] GANGSCHED_API std::int64_t amplified(std::int64_t milli, std::int64_t percent) noexcept;

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/cpu_binding.cpp"
#endif
