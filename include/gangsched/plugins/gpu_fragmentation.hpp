#pragma once
#include <vector>

#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/expected_pods_argument.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// FGD: where the pod adds the least to what pods of a target distribution could not use of the idle GPUs (USENIX ATC 2023;
/// fgd_score.go). ⌊100·σ((F − F′)/1000)⌋, σ the logistic function, F and F′ the node's `gpu_outlook::fragment` before and
/// after; of a share the best over the GPUs, which is the one it gets. That the score is coarse is part of the policy: near-equals go to
/// the first node. O(GPUs · lines of the target).
class gpu_fragmentation {
 public:
  static constexpr std::string_view name = "GpuFragmentation";
  using points = implements<point::score, point::choose_devices>;
  using room = node_view<reads::allocatable | reads::usage | reads::devices>;

  /// @p target: what pods are expected; `most_frequent(list, 95)` of a list of pods is FGD's.
  explicit gpu_fragmentation(std::span<const expected_pods> target) : outlook_(target) {}
  /// Argument "expected", which must be there: the pods that are like those to come, [{cpuMilli, gpus, milli, models, count}]; the most
  /// frequent lines, 95 % of them, are the target.
  [[nodiscard]] static result<gpu_fragmentation> from(const argument& args) {
    std::vector<expected_pods> all;
    argument_reader read{name};
    bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      return key == "expected" ? read_expected_pods(read, value, path, all) : read.unknown(path);
    });
    fine = fine && (!all.empty() || read.fail(errc::malformed, "args.expected", "is missing, or empty"));
    if (!fine) return std::move(read).failure();
    return gpu_fragmentation{most_frequent(std::move(all), 95)};
  }

  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const { return rated(best(pod, node).gain); }
  [[nodiscard]] device_rules choose_devices(const pod_view& pod, room node) const {
    return {.gpu = best(pod, node).gpu};
  }

  /// ⌊100·σ(gain / (1000 · gpu_outlook::unit))⌋, by comparing with the 99 places where it grows.
  [[nodiscard]] GANGSCHED_API static std::int64_t rated(std::int64_t gain) noexcept;

 private:
  struct option {
    std::int64_t gain;
    std::int8_t gpu;  ///< of a share
  };
  [[nodiscard]] option best(const pod_view& pod, room node) const {
    const device_state devices = node.devices();
    const gpu_rest rest{devices, node.free(kinds::cpu)};
    const gpu_ask ask = gpu_ask_of(pod.spec(), node);
    const std::size_t model = outlook_.model(devices ? node.text(devices.inventory->model) : std::string_view{});
    const std::int64_t cpu = pod.request(kinds::cpu), before = outlook_.fragment(model, rest);
    option found{0, -1};
    each_option(rest, ask, [&](std::int8_t gpu) {
      const std::int64_t gain =
          before - outlook_.fragment(model, rest.without(ask, cpu, static_cast<std::uint32_t>(gpu)));
      if (found.gpu < 0 || gain > found.gain) found = {gain, gpu};
    });
    if (!ask.share()) found.gpu = -1;
    return found;
  }

  gpu_outlook outlook_;
};

static_assert(score_plugin<gpu_fragmentation> && choose_devices_plugin<gpu_fragmentation>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/gpu_fragmentation.cpp"
#endif
