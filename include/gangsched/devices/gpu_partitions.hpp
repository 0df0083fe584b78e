#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/devices/links.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// GPUs that an NVSwitch machine can isolate from the others for one tenant.
struct gpu_partition {
  gpu_mask gpus = 0;
  std::int32_t score = 0;  ///< Koordinator's allocationScore, or the tier of the ring bandwidth: higher is better
};

/// Whether GPUs outside partitions may be assigned.
enum class gpu_partition_policy : unsigned char {
  honor,   ///< no
  prefer,  ///< when no partition of the size is free
};

/// The partitions that the fabric manager allows (Koordinator's partition tables). Immutable.
class GANGSCHED_API gpu_partition_table {
 public:
  /// Errors, object "GPU partitions": not 1 … 16 GPUs; and for "partitions[3].gpus" no GPU, a GPU that does not exist, or a set of GPUs
  /// that is a partition already.
  static result<gpu_partition_table> make(std::size_t gpus, std::vector<gpu_partition> partitions);

  /// 8 single GPUs, 4 pairs, 2 quads and all 8, each of neighbours. Which GPUs form a pair differs between machines.
  [[nodiscard]] static gpu_partition_table nvswitch_8();

  [[nodiscard]] std::span<const gpu_partition> partitions() const noexcept {
    return {partitions_.data(), partitions_.size()};
  }

  /// The free partition of @p count GPUs: of those with the highest score the one that leaves the most (`worth`, of partitions no smaller).
  /// Of equal ones the first. 0 if there is none. O(partitions²).
  [[nodiscard]] gpu_mask best(gpu_mask free, unsigned count) const noexcept;

  /// By the policy, and as required; @p sets chooses where partitions do not.
  [[nodiscard]] gpu_mask best(gpu_mask free, unsigned count, gpu_partition_policy policy, const best_sets& sets,
                              const gpu_set_requirement& required = {}) const noexcept;

  /// What the partitions of @p least GPUs and more within @p free are worth: of each size those with the highest score of all of that size,
  /// each of 8 with 10000 times its score, of 4 100 times, of 2 once, as if no score were below 1. O(partitions).
  [[nodiscard]] std::int64_t worth(gpu_mask free, unsigned least = 1) const noexcept;

 private:
  gpu_partition_table() = default;

  template <class Allowed>
  [[nodiscard]] gpu_mask best_of(gpu_mask free, unsigned count, Allowed allowed) const noexcept;

  std::vector<gpu_partition> partitions_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/gpu_partitions.cpp"
#endif
