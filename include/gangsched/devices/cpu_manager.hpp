#pragma once
#include <optional>

#include "gangsched/devices/cpu_assignment.hpp"
#include "gangsched/devices/numa_hints.hpp"
#include "gangsched/devices/numa_topology.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// kubelet's cpuManagerPolicy and its options, by their names there.
struct cpu_policy {
  bool is_static = false;  ///< false: the policy none, without exclusive CPUs
  bool full_pcpus_only = false;
  bool distribute_cpus_across_numa = false;
  bool align_by_socket = false;
  bool distribute_cpus_across_cores = false;
  bool strict_cpu_reservation = false;
  bool prefer_align_cpus_by_uncorecache = false;

  /// The settings with which kubelet refuses to start: options that exclude each other, align_by_socket with single_numa_node or with more
  /// sockets than cells. The error names "CPU manager policy" and the option.
  [[nodiscard]] GANGSCHED_API result<void> check(const numa_topology& topology, numa_policy numa) const;
};

/// The shared and the reserved CPUs of a node.
struct cpu_pool {
  cpu_set shared;    ///< CPUs that no container has exclusively: all other containers run there
  cpu_set reserved;  ///< the system's, never exclusive to a container; in `shared` too unless the reservation is strict

  /// CPUs available for exclusive use.
  [[nodiscard]] cpu_set available() const noexcept { return shared - reserved; }
};

/// The pool of an empty node. An error that names "CPU manager policy" and "reserved" for CPUs that the node does not have.
[[nodiscard]] GANGSCHED_API result<cpu_pool> make_cpu_pool(const numa_topology& topology, const cpu_policy& policy,
                                                           const cpu_set& reserved);

/// The result of full_pcpus_only; rejections are kubelet's SMTAlignmentError.
enum class smt_alignment : unsigned char {
  fits,
  not_whole_cores,    ///< not a multiple of the threads of a core
  too_few_free_cores  ///< fewer CPUs free on cores that nothing is reserved on
};
[[nodiscard]] GANGSCHED_API smt_alignment check_smt_alignment(const numa_topology& topology, const cpu_policy& policy,
                                                              const cpu_pool& pool, unsigned cpus);

/// The cells that @p wanted exclusive CPUs could come from: every set of cells with enough of @p available and @p reusable that
/// has all of @p reusable. Preferred are those of as many cells as an empty node would need (or as many sockets, with
/// align_by_socket). O(2ⁿ) for n cells with CPUs
[[nodiscard]] GANGSCHED_API numa_hint_list cpu_hints(const numa_topology& topology, const cpu_policy& policy,
                                                     const cpu_set& available, const cpu_set& reusable,
                                                     unsigned wanted);

/// The @p wanted CPUs that kubelet's static policy picks out of @p allocatable: first in @p affinity (0: anywhere), with
/// align_by_socket in its sockets, then in the rest. Nothing when there are not enough.
[[nodiscard]] GANGSCHED_API std::optional<cpu_set> allocate_cpus(const numa_topology& topology,
                                                                 const cpu_policy& policy, const cpu_set& allocatable,
                                                                 cell_mask affinity, unsigned wanted);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/cpu_manager.cpp"
#endif
