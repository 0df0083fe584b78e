#pragma once
#include <bit>

#include "gangsched/core/hash.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched {

/// Any GPU with room for a share, each as likely; nodes are left to the tie rule (FGD's Random; devices-topology 6.2). What is drawn
/// depends on the seed and on what the node has in use, and on nothing else.
class gpu_random {
 public:
  static constexpr std::string_view name = "GpuRandom";
  using points = implements<point::choose_devices>;
  using room = node_view<reads::name | reads::devices>;

  explicit gpu_random(std::uint64_t seed = 0) : seed_(seed) {}
  [[nodiscard]] device_rules choose_devices(const pod_view& pod, room node) const {
    const device_state state = node.devices();
    for (const device_want& one : node.wants_of(pod.spec())) {
      if (one.what->kind != device_demand::form::share) continue;
      std::uint32_t fits = gpus_for(state, *one.what);
      if (fits == 0) return {};
      std::uint64_t drawn = mix64(seed_ ^ node.id().row);
      for (std::uint32_t gpu = 0; gpu < state.gpu_count(); ++gpu) drawn = mix64(drawn ^ state.gpu(gpu).bits);
      for (std::uint64_t skip = drawn % static_cast<std::uint64_t>(std::popcount(fits)); skip != 0; --skip) fits &= fits - 1;
      return {.gpu = static_cast<std::int8_t>(std::countr_zero(fits))};
    }
    return {};
  }

 private:
  std::uint64_t seed_;
};

static_assert(choose_devices_plugin<gpu_random>);

}  // namespace gangsched
