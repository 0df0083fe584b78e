#pragma once
#include <bit>
#include <cstdint>

#include "gangsched/devices/numa_fit.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Where the whole GPUs that a pod gets are linked best, and where the fewest NVLinks between others are lost for it:
/// ⌊90·N/M⌋ + ⌊10·K/R⌋, with N the NVLinks among the GPUs that the node would give it (devices/links.hpp), M the most that as many GPUs of
/// such a node can have, R those among its free GPUs that are not between the pod's, and K those that are left when the pod has its GPUs.
/// One GPU has 90 for the first part, several of a node without NVLinks 0; where R = 0 nothing is lost: 10. Pods that want no whole GPUs,
/// and nodes that told nothing of theirs, 0. So quads stay whole for who needs four, on one node as among all. For pods with GPUs it
/// outweighs what the other scores of the default profile say. O(GPUs) for nodes of up to 8 GPUs, else as `best_sets::best`.
class gpu_links {
 public:
  static constexpr std::string_view name = "GpuLinks";
  static constexpr std::int64_t default_weight = 5;
  using points = implements<point::pre_score, point::score>;
  using room = node_view<reads::devices>;

  [[nodiscard]] status pre_score(const pod_view& pod) const {
    return pod.spec().requests_others() || !pod.spec().devices.empty() || !pod.spec().claims.empty() ? status::success()
                                                                                                     : status::skip();
  }
  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    const device_state state = node.devices();
    if (!state || !state.inventory->sets) return 0;
    for (const device_want& one : node.wants_of(pod.spec())) {
      if (one.what->kind != device_demand::form::whole || one.count < 1) continue;
      const std::uint32_t free = gpus_for(state, *one.what) & one.gpus;
      const auto count = static_cast<std::uint32_t>(one.count);
      return rated(*state.inventory->sets, free, best_gpus(*state.inventory, free, count, *one.what));
    }
    return 0;
  }

  /// Of the free GPUs @p free the pod gets @p taken.
  [[nodiscard]] static std::int64_t rated(const best_sets& sets, std::uint32_t free, std::uint32_t taken) noexcept {
    if (taken == 0) return 0;
    const auto nvlinks = [&](std::uint32_t set) { return std::int64_t{sets.nvlinks(static_cast<gpu_mask>(set))}; };
    const auto count = static_cast<std::size_t>(std::popcount(taken));
    const std::int64_t between = nvlinks(taken), most = sets.most_nvlinks(count);
    const std::int64_t others = nvlinks(free) - between, left = nvlinks(free & ~taken);
    return (count == 1 ? 90 : most == 0 ? 0 : 90 * between / most) + (others == 0 ? 10 : 10 * left / others);
  }
};

static_assert(pre_score_plugin<gpu_links> && score_plugin<gpu_links>);

}  // namespace gangsched::inline GANGSCHED_ABI
