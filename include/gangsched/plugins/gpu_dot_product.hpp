#pragma once
#include <algorithm>

#include "gangsched/devices/gpu_outlook.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Nodes whose rest points another way than the request: ⌊100·(1 − ½·(C/128000·c/128000 + G/8000·g/8000))⌋, with C, G the milli-CPUs
/// and thousandths of GPUs that are left, c, g what the pod asks for (FGD's DotProd; devices-topology 6.2).
class gpu_dot_product {
 public:
  static constexpr std::string_view name = "GpuDotProduct";
  using points = implements<point::score>;
  using room = node_view<reads::allocatable | reads::usage | reads::devices>;

  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    const gpu_rest rest{node.devices(), node.free(kinds::cpu)};
    const gpu_ask ask = gpu_ask_of(pod.spec(), node);
    // Both products over the square of the largest node: exact in 128 bits.
    __extension__ using wide = __int128;
    constexpr wide cpu = wide{128'000} * 128'000, gpu = wide{8'000} * 8'000;
    const wide lost = wide{rest.cpu_milli} * pod.request(kinds::cpu) * gpu + wide{rest.sum} * ask.total() * cpu;
    const wide score = 100 - (100 * lost + 2 * cpu * gpu - 1) / (2 * cpu * gpu);
    return static_cast<std::int64_t>(std::clamp<wide>(score, 0, max_node_score));
  }
};

static_assert(score_plugin<gpu_dot_product>);

}  // namespace gangsched::inline GANGSCHED_ABI
