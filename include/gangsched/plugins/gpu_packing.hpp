#pragma once
#include <algorithm>

#include "gangsched/devices/gpu_outlook.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// First GPUs that are shared already, then idle GPUs of nodes in use, then idle nodes. A node of n idle GPUs: max(33−n, n); one of
/// whose GPUs u idle ones would be needed: max(50−u, 33); else max(100 − ⌊percent left of the GPUs taken / 10⌋, 50), the tightest first.
/// Pods without GPUs 0 (FGD's gpu_packing_score.go).
class gpu_packing {
 public:
  static constexpr std::string_view name = "GpuPacking";
  using points = implements<point::score>;
  using room = node_view<reads::devices>;

  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    const gpu_ask ask = gpu_ask_of(pod.spec(), node);
    if (ask.gpus == 0) return 0;
    gpu_rest rest{node.devices(), 0};
    const auto end = rest.left.begin() + rest.gpus;
    const std::int64_t idle = std::count(rest.left.begin(), end, whole_gpu);
    if (idle == rest.gpus) return std::max<std::int64_t>(33 - idle, idle);
    std::sort(rest.left.begin(), end);
    std::int64_t wanted = ask.gpus, opened = 0, percent = 0;
    for (auto gpu = rest.left.begin(); gpu != end && wanted != 0; ++gpu) {
      if (*gpu < ask.milli) continue;
      --wanted;
      opened += *gpu == whole_gpu;
      percent += *gpu / 10;
    }
    if (opened != 0) return std::max<std::int64_t>(50 - opened, 33);
    return std::max<std::int64_t>(100 - percent / 10, 50);
  }
};

static_assert(score_plugin<gpu_packing>);

}  // namespace gangsched::inline GANGSCHED_ABI
