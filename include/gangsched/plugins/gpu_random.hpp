#pragma once
#include <bit>
#include <limits>

#include "gangsched/core/hash.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Any GPU with room for a share, with equal probability; nodes are left to the tie rule (FGD's Random: random_score.go). The choice
/// depends only on the seed and on what the node has in use.
class gpu_random {
 public:
  static constexpr std::string_view name = "GpuRandom";
  using points = implements<point::choose_devices>;
  using room = node_view<reads::name | reads::devices>;

  explicit gpu_random(std::uint64_t seed = 0) : seed_(seed) {}
  /// Argument "seed": a whole number from 0 on.
  [[nodiscard]] static result<gpu_random> from(const argument& args) {
    std::int64_t seed = 0;
    argument_reader read{name};
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      if (key != "seed") return read.unknown(path);
      return read.number(value, path, 0, std::numeric_limits<std::int64_t>::max(), seed);
    });
    if (!fine) return std::move(read).failure();
    return gpu_random{static_cast<std::uint64_t>(seed)};
  }
  [[nodiscard]] device_rules choose_devices(const pod_view& pod, room node) const {
    const device_state state = node.devices();
    for (const device_want& one : node.wants_of(pod.spec())) {
      if (one.what->kind != device_demand::form::share || one.count != 1) continue;  // of several the rule decides
      std::uint32_t fits = gpus_for(state, *one.what) & one.gpus;
      if (fits == 0) return {};
      std::uint64_t drawn = mix64(seed_ ^ node.id().row);
      for (std::uint32_t gpu = 0; gpu < state.gpu_count(); ++gpu) drawn = mix64(drawn ^ state.gpu(gpu).bits);
      for (std::uint64_t skip = drawn % static_cast<std::uint64_t>(std::popcount(fits)); skip != 0; --skip)
        fits &= fits - 1;
      return {.gpu = static_cast<std::int8_t>(std::countr_zero(fits))};
    }
    return {};
  }

 private:
  std::uint64_t seed_;
};

static_assert(choose_devices_plugin<gpu_random>);

}  // namespace gangsched::inline GANGSCHED_ABI
