#pragma once
#include <cstdint>

#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A device, or a part of one, that a pod has; or exclusive CPUs, or memory in NUMA cells. A shared device is followed by what is used of
/// its capacities.
struct device_grant {
  enum class form : std::uint8_t { gpu, share, replica, mig, other, cpus, memory, capacity };

  form kind = form::gpu;
  /// Which of the pod's requests it is for (`counted_request`: GPUs that a resource of the pod counts); of CPUs and memory: of its
  /// containers, init containers first.
  std::uint8_t request = 0;
  /// Its index among the node's GPUs, or among its other devices; of CPUs: the cell; of memory: a bit for each cell that it is in.
  std::uint16_t device = 0;
  /// Of a share; of CPUs: the first that `amount` is about; of memory: its kind on the node; of a capacity: which of the device's, by name.
  std::int32_t milli = 0;
  /// Of a MIG instance: its first memory slice; of CPUs: the pod's `cpu_exclusive_policy`, if it has one; of a share under
  /// `gpu_memory_rule::as_asked`: the hundredths of memory that it asked by.
  std::int32_t mig_start = -1;
  symbol mig_profile = {};  ///< and its profile
  /// Of a share: MiB of memory; of another device: units, or of its capacity; of CPUs: bit i for `milli` + i; of memory: bytes.
  std::int64_t amount = 0;

  [[nodiscard]] constexpr bool is_gpu() const noexcept { return kind < form::other; }
  /// CPUs or memory of a container, not a device.
  [[nodiscard]] constexpr bool of_container() const noexcept { return kind == form::cpus || kind == form::memory; }
  /// CPUs: one grant is about 64 numbers in one cell.
  [[nodiscard]] constexpr std::uint64_t cpu_mask() const noexcept { return static_cast<std::uint64_t>(amount); }
  friend bool operator==(const device_grant&, const device_grant&) = default;
};
inline constexpr std::uint8_t counted_request = 255;

}  // namespace gangsched::inline GANGSCHED_ABI
