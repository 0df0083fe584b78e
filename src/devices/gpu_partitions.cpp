#include "gangsched/devices/gpu_partitions.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<gpu_partition_table> gpu_partition_table::make(std::size_t gpus,
                                                                       std::vector<gpu_partition> partitions) {
  if (gpus < 1 || gpus > max_node_gpus) return error{errc::out_of_range, "GPU partitions", "gpus", "not in 1 ... 16"};
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const auto wrong = [&](errc code, std::string reason) {
      return error{code, "GPU partitions", "partitions[" + std::to_string(i) + "].gpus", std::move(reason)};
    };
    if (partitions[i].gpus == 0) return wrong(errc::malformed, "there are none");
    if (const int last = std::bit_width(partitions[i].gpus) - 1; last >= static_cast<int>(gpus)) {
      return wrong(errc::out_of_range, "GPU " + std::to_string(last) + " of " + std::to_string(gpus));
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (partitions[k].gpus == partitions[i].gpus)
        return wrong(errc::duplicate, "the same as partitions[" + std::to_string(k) + "]");
    }
  }
  gpu_partition_table table;
  table.partitions_ = std::move(partitions);
  return table;
}

GANGSCHED_INLINE gpu_partition_table gpu_partition_table::nvswitch_8() {
  gpu_partition_table table;
  for (unsigned size = 1; size <= 8; size *= 2) {
    for (unsigned first = 0; first < 8; first += size) {
      table.partitions_.push_back({static_cast<gpu_mask>(((1u << size) - 1u) << first), 1});
    }
  }
  return table;
}

GANGSCHED_INLINE std::int64_t gpu_partition_table::worth(gpu_mask free, unsigned least) const noexcept {
  std::int64_t sum = 0;
  for (const auto& [size, each] : {std::pair{8u, 10000}, {4u, 100}, {2u, 1}}) {
    if (size < least) break;
    std::int32_t highest = std::numeric_limits<std::int32_t>::min();
    const auto is_of = [size = size](const gpu_partition& one) {
      return static_cast<unsigned>(std::popcount(one.gpus)) == size;
    };
    for (const gpu_partition& one : partitions_)
      if (is_of(one)) highest = std::max(highest, one.score);
    for (const gpu_partition& one : partitions_) {
      if ((one.gpus & ~free) != 0 || !is_of(one)) continue;
      if (one.score == highest) sum += each * std::int64_t{std::max(one.score, 1)};
    }
  }
  return sum;
}

template <class Allowed>
gpu_mask gpu_partition_table::best_of(gpu_mask free, unsigned count, Allowed allowed) const noexcept {
  const gpu_partition* best = nullptr;
  std::int64_t most = 0;
  for (const gpu_partition& one : partitions_) {
    if ((one.gpus & ~free) != 0 || static_cast<unsigned>(std::popcount(one.gpus)) != count || !allowed(one.gpus))
      continue;
    if (best != nullptr && one.score < best->score) continue;
    const std::int64_t left = worth(static_cast<gpu_mask>(free & ~one.gpus), count);
    if (best == nullptr || one.score > best->score || left > most) best = &one, most = left;
  }
  return best == nullptr ? gpu_mask{0} : best->gpus;
}

GANGSCHED_INLINE gpu_mask gpu_partition_table::best(gpu_mask free, unsigned count) const noexcept {
  return best_of(free, count, [](gpu_mask) { return true; });
}

GANGSCHED_INLINE gpu_mask gpu_partition_table::best(gpu_mask free, unsigned count, gpu_partition_policy policy,
                                                    const best_sets& sets,
                                                    const gpu_set_requirement& required) const noexcept {
  const gpu_mask partition = best_of(free, count, [&](gpu_mask gpus) { return sets.meets(gpus, required); });
  return partition != 0 || policy == gpu_partition_policy::honor ? partition : sets.best(free, count, required);
}

}  // namespace gangsched::inline GANGSCHED_ABI
