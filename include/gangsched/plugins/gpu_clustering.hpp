#pragma once
#include <algorithm>
#include <bitset>

#include "gangsched/devices/gpu_outlook.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Pods of one kind side by side, kinds being shares, one GPU, two GPUs, …: ⌊25·(8000−G)/8000⌋, or 0 if that is less, with G the
/// thousandths of GPUs that are left, and 75 where the node has only pods of the kind, 50 where it has some, 25 where it has none with
/// GPUs, else 0; pods without GPUs 0 (FGD's gpu_clustering_score.go). O(pods on the node).
class gpu_clustering {
 public:
  static constexpr std::string_view name = "GpuClustering";
  using points = implements<point::score>;
  using room = node_view<reads::devices | reads::pods>;

  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    const gpu_ask ask = gpu_ask_of(pod.spec(), node);
    if (ask.gpus == 0) return 0;
    std::bitset<max_node_gpus + 1> kinds_there;
    node.each_pod([&](const pod_info& other) {
      if (other.devices() == nullptr) return;
      std::size_t gpus = 0;
      bool share = false;
      for (const device_grant& one : other.devices()->grants) {
        gpus += one.kind == device_grant::form::gpu;
        share = share || one.kind == device_grant::form::share;
      }
      if (share || gpus != 0) kinds_there.set(share ? 0 : gpus);
    });
    const std::size_t kind = ask.milli < whole_gpu ? 0 : static_cast<std::size_t>(ask.gpus);
    const std::int64_t filled = 25 * std::max(0, 8'000 - gpu_rest{node.devices(), 0}.sum) / 8'000;
    const bool there = kind < kinds_there.size() && kinds_there[kind];
    return filled + (there ? (kinds_there.count() == 1 ? 75 : 50) : kinds_there.none() ? 25 : 0);
  }
};

static_assert(score_plugin<gpu_clustering>);

}  // namespace gangsched::inline GANGSCHED_ABI
