#pragma once
#include <optional>

#include "gangsched/devices/numa_topology.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Which of a node's free CPUs a request of @p wanted gets: kubelet's takeByTopologyNUMAPacked (cpu_assignment.go of 1.36). Whole
/// sockets and cells first (whichever is larger), then whole cores, then threads, always from what has least left; ties go to the
/// lower id.
/// @param spread skip whole cores, and go through the CPUs of a socket by id (distribute-cpus-across-cores)
/// @param by_uncore_cache before cores, take whole caches, then a part of one that can hold the rest
///   (prefer-align-cpus-by-uncorecache)
/// @return the CPUs, or nothing when @p available has fewer. O(CPUs² / 64) at worst
[[nodiscard]] GANGSCHED_API std::optional<cpu_set> take_cpus_packed(const numa_topology& topology,
                                                                    const cpu_set& available, unsigned wanted,
                                                                    bool spread, bool by_uncore_cache);

/// The same evenly over as few cells as possible: kubelet's takeByTopologyNUMADistributed (distribute-cpus-across-numa, KEP 2902).
/// What does not divide goes where the free CPUs of all cells deviate least afterwards. Falls back to packing.
/// @param group CPUs are handed out in groups of so many; 1, or the threads of a core
/// @return the CPUs, or nothing when @p available has fewer, or where kubelet's bookkeeping fails. It tries sets of cells by number:
///   exponential in the cells, as in kubelet
[[nodiscard]] GANGSCHED_API std::optional<cpu_set> take_cpus_distributed(const numa_topology& topology,
                                                                         const cpu_set& available, unsigned wanted,
                                                                         unsigned group, bool spread);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/cpu_assignment.cpp"
#endif
