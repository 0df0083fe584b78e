#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "gangsched/devices/numa_fit.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Where the whole GPUs that a pod gets are linked best, and where the fewest NVLinks to others are cut for it: ⌊70·N/M⌋ + 30 −
/// ⌊30·C/A⌋, with N the NVLinks among the GPUs that the node would give it (devices/links.hpp), M the most that as many GPUs of such a
/// node can have, C those between them and the GPUs that stay free, and A, at least C, the NVLinks that a GPU of such a node has on
/// average, times the GPUs that the pod gets. For one GPU the first part is 70; for several on a node without NVLinks it is 0; where A = 0
/// nothing is cut: 30. Pods that want no whole GPUs, and nodes without data about theirs, score 0. So groups of four linked GPUs stay whole
/// for pods that need four, on one node and across nodes: what counts is how much is cut, not which part of the rest, and a whole group of
/// four is the dearest. For pods with GPUs it outweighs the other scores of the default profile. O(GPUs) for nodes of up to 8 GPUs, else as
/// `best_sets::best`.
class gpu_links {
 public:
  static constexpr std::string_view name = "GpuLinks";
  static constexpr std::int64_t default_weight = 5;
  using points = implements<point::pre_score, point::score>;
  using room = node_view<reads::devices>;

  /// @p counted: also for pods that count GPUs by a resource or claim them, as kube-scheduler knows them; not only for those that describe
  /// what they want (`pod_spec::devices`).
  explicit gpu_links(bool counted = true) noexcept : counted_(counted) {}
  /// Argument "pods": All (the default), or Described: those that describe what they want.
  [[nodiscard]] static result<gpu_links> from(const argument& args) {
    bool counted = true;
    argument_reader read{name};
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      return key == "pods" ? read.word(value, path, {{"All", true}, {"Described", false}}, counted)
                           : read.unknown(path);
    });
    if (!fine) return std::move(read).failure();
    return gpu_links{counted};
  }

  [[nodiscard]] status pre_score(const pod_view& pod) const {
    const bool counts = counted_ && (pod.spec().requests_others() || !pod.spec().claims.empty());
    return counts || !pod.spec().devices.empty() ? status::success() : status::skip();
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

  /// Of the free GPUs @p free the pod gets @p taken, which are some of them.
  [[nodiscard]] static std::int64_t rated(const best_sets& sets, std::uint32_t free, std::uint32_t taken) noexcept {
    if (taken == 0) return 0;
    const auto nvlinks = [&](std::uint32_t set) { return std::int64_t{sets.nvlinks(static_cast<gpu_mask>(set))}; };
    const auto count = static_cast<std::size_t>(std::popcount(taken));
    const std::int64_t between = nvlinks(taken), most = sets.most_nvlinks(count);
    const std::int64_t cut = nvlinks(free) - between - nvlinks(free & ~taken);
    // What as many GPUs have on average, times the node's GPUs; each NVLink has two ends.
    const auto gpus = static_cast<std::int64_t>(sets.links().gpus());
    const std::int64_t all = 2 * nvlinks(sets.links().all()) * static_cast<std::int64_t>(count);
    const std::int64_t linked = count == 1 ? 70 : most == 0 ? 0 : 70 * between / most;
    return linked + 30 - (cut == 0 ? 0 : 30 * cut * gpus / std::max(cut * gpus, all));
  }

 private:
  bool counted_;
};

static_assert(pre_score_plugin<gpu_links> && score_plugin<gpu_links>);

}  // namespace gangsched::inline GANGSCHED_ABI
