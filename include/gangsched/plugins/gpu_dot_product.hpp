#pragma once
#include <algorithm>

#include "gangsched/devices/gpu_outlook.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Nodes whose rest points another way than the request: ⌊100·(1 − ½·(C/128000·c/128000 + G/8000·g/8000))⌋, with C, G the milli-CPUs
/// and thousandths of GPUs that are left, c, g what the pod asks for (FGD's DotProd: dot_product_score.go).
class gpu_dot_product {
 public:
  static constexpr std::string_view name = "GpuDotProduct";
  using points = implements<point::score>;
  using room = node_view<reads::allocatable | reads::usage | reads::devices>;

  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    const gpu_rest rest{node.devices(), node.free(kinds::cpu)};
    const gpu_ask ask = gpu_ask_of(pod.spec(), node);
    // Both products over the square of the largest node, GPUs counting 16 times as much as milli-CPUs: exact in 128 bits.
    __extension__ using wide = __int128;
    constexpr std::int64_t whole = std::int64_t{2} * 128'000 * 128'000;
    const wide lost = wide{rest.cpu_milli} * pod.request(kinds::cpu) + wide{256} * rest.sum * ask.total();
    const auto parts = static_cast<std::int64_t>(std::clamp<wide>(lost, 0, whole));
    return max_node_score - (100 * parts + whole - 1) / whole;
  }
};

static_assert(score_plugin<gpu_dot_product>);

}  // namespace gangsched::inline GANGSCHED_ABI
