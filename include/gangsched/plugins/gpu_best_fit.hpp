#pragma once
#include <algorithm>

#include "gangsched/devices/gpu_outlook.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/normalize.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Nodes with the least left after the pod: ⌊100·(1 − ½·((C−c)/128000 + (G−g)/8000))⌋ of milli-CPUs and thousandths of GPUs, stretched
/// from the worst candidate at 0 to the best at 100 (FGD's BestFit: best_fit_score.go).
class gpu_best_fit {
 public:
  static constexpr std::string_view name = "GpuBestFit";
  using points = implements<point::score>;
  static constexpr bool reads_population = false;
  using room = node_view<reads::allocatable | reads::usage | reads::devices>;

  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    const gpu_rest rest{node.devices(), node.free(kinds::cpu)};
    const std::int64_t cpu = rest.cpu_milli - pod.request(kinds::cpu);
    const std::int64_t gpu = rest.sum - gpu_ask_of(pod.spec(), node).total();
    const std::int64_t left =
        cpu + 16 * gpu;  // in 128,000ths, as 8,000 thousandths are worth as much as 128,000 milli-CPUs
    return 100 - (left / 2'560 + (left % 2'560 > 0 ? 1 : 0));  // rounded down, below 0 as well
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    std::int64_t low = groups.front().score, high = low;
    for (const scored_group& one : groups) low = std::min(low, one.score), high = std::max(high, one.score);
    for (scored_group& one : groups) one.score = high == low ? 0 : (one.score - low) * max_node_score / (high - low);
  }
};

static_assert(score_plugin<gpu_best_fit>);

}  // namespace gangsched::inline GANGSCHED_ABI
