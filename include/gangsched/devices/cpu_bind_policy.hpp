#pragma once
#include "gangsched/core/config.hpp"

/// What a pod or a node says of CPUs that are bound (cpu_binding.hpp).
namespace gangsched::inline GANGSCHED_ABI {

/// How a pod's own CPUs lie on physical cores.
enum class cpu_bind_policy : unsigned char {
  none,            ///< it has none of its own
  full_pcpus,      ///< whole cores, as few as can be
  spread_by_pcpus  ///< one of each core, as long as there are cores
};

/// Which cells are tried first.
enum class numa_allocate_strategy : unsigned char {
  least_allocated,  ///< those with the most free CPUs
  most_allocated    ///< with the least
};

/// What CPUs of a pod are kept apart from, as far as others will do: those that pods of the same policy have.
enum class cpu_exclusive_policy : unsigned char {
  none,
  pcpu_level,      ///< no core with them
  numa_node_level  ///< no NUMA cell with them
};

struct cpu_binding {
  cpu_bind_policy policy = cpu_bind_policy::none;
  bool required = false;  ///< false: if it can be
  cpu_exclusive_policy exclusive = cpu_exclusive_policy::none;
  friend bool operator==(const cpu_binding&, const cpu_binding&) noexcept = default;
};

/// What `device_grant::mig_start` says of CPUs that are bound so.
[[nodiscard]] constexpr int exclusive_start(const cpu_binding& how) noexcept {
  const bool apart = how.policy != cpu_bind_policy::none && how.exclusive != cpu_exclusive_policy::none;
  return apart ? static_cast<int>(how.exclusive) : -1;
}

}  // namespace gangsched::inline GANGSCHED_ABI
