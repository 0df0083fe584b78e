#pragma once
#include "gangsched/core/config.hpp"

/// Policies of pods and nodes for bound CPUs (cpu_binding.hpp).
namespace gangsched::inline GANGSCHED_ABI {

/// How a pod's own CPUs lie on physical cores.
enum class cpu_bind_policy : unsigned char {
  none,            ///< it has no CPUs of its own
  full_pcpus,      ///< whole cores, as few as can be
  spread_by_pcpus  ///< one of each core, as long as there are cores
};

/// Which cells are tried first.
enum class numa_allocate_strategy : unsigned char {
  least_allocated,  ///< those with the most free CPUs
  most_allocated    ///< with the least
};

/// What a pod's own CPUs do not share, if possible, with CPUs of pods of the same policy.
enum class cpu_exclusive_policy : unsigned char {
  none,
  pcpu_level,      ///< no physical core
  numa_node_level  ///< no NUMA cell
};

/// How CPUs of a pod's own are chosen for it.
struct cpu_binding {
  cpu_bind_policy policy = cpu_bind_policy::none;
  bool required = false;  ///< false: if possible
  cpu_exclusive_policy exclusive = cpu_exclusive_policy::none;
  friend bool operator==(const cpu_binding&, const cpu_binding&) noexcept = default;
};

/// The value of `device_grant::mig_start` for CPUs that are bound in this way.
[[nodiscard]] constexpr int exclusive_start(const cpu_binding& how) noexcept {
  const bool apart = how.policy != cpu_bind_policy::none && how.exclusive != cpu_exclusive_policy::none;
  return apart ? static_cast<int>(how.exclusive) : -1;
}

}  // namespace gangsched::inline GANGSCHED_ABI
