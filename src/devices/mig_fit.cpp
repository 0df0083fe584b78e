#include <algorithm>
#include <bit>

#include "gangsched/devices/device_fit.hpp"

// Where on a node's GPUs MIG instances have room, and which place one gets.
namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE unsigned mig_room(const device_state& state, std::size_t gpu, mig_profile_index profile, bool empty) {
  const device_inventory& inventory = *state.inventory;
  const device_inventory::gpu& one = inventory.gpus[gpu];
  if (one.mig == mig_mode::off) return 0;
  if (one.mig == mig_mode::fixed) {
    if (!empty) return static_cast<unsigned>(std::popcount(detail::mig_starts(state, gpu, profile)));
    return static_cast<unsigned>(
        std::count_if(one.instances.begin(), one.instances.end(),
                      [&](const mig_placement& instance) { return instance.profile == profile; }));
  }
  mig_state there = empty ? mig_state{} : state.gpu(gpu).instances();
  if (!empty && detail::mig_starts(state, gpu, profile) == 0) return 0;
  unsigned room = 0;
  for (std::uint8_t starts; (starts = inventory.mig->fits(there, profile)) != 0; ++room) {
    there = inventory.mig->place(there, {profile, inventory.mig->pick(starts, profile, mig_start::hami)});
  }
  return room;
}

GANGSCHED_INLINE std::optional<mig_choice> choose_instance(const device_state& state, mig_profile_index profile,
                                                           mig_rule rule, std::uint32_t among) {
  const device_inventory& inventory = *state.inventory;
  std::optional<mig_choice> best;
  std::int32_t least = 0;
  const std::uint8_t* const fits = inventory.mig->fits_by_mask(profile);
  const std::uint32_t gpus = inventory.gpu_count();
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    if (fits[state.gpu(gpu).slices()] == 0) continue;
    const std::uint8_t starts = (among >> gpu & 1u) != 0 ? detail::mig_starts(state, gpu, profile) : std::uint8_t{0};
    if (starts == 0) continue;
    const mig_state there = state.gpu(gpu).instances();
    // Of GPUs that are as good the one with most pods: it is least likely to become empty soon, for a pod that needs all of it.
    const std::int32_t rank =
        rule == mig_rule::fragmentation ? -state.gpu(gpu).pods() : inventory.mig->free_slices(there);
    const auto consider = [&](std::uint8_t start) {
      const mig_placement at{profile, start};
      const std::int64_t delta = inventory.fragmentation->delta(*inventory.mig, there, at);
      const bool better =
          !best || (rule == mig_rule::fragmentation && delta < best->delta) ||
          ((rule == mig_rule::best_fit || (rule == mig_rule::fragmentation && delta == best->delta)) && rank < least);
      if (better) best = mig_choice{gpu, at, delta}, least = rank;
    };
    if (rule != mig_rule::fragmentation) {
      consider(inventory.mig->pick(starts, profile, rule == mig_rule::best_fit ? mig_start::hami : mig_start::low));
      continue;
    }
    // HAMi's start first: it stays if no other is better.
    const std::uint8_t first = inventory.mig->pick(starts, profile, mig_start::hami);
    consider(first);
    for (unsigned rest = starts & ~(1u << first); rest != 0; rest &= rest - 1)
      consider(static_cast<std::uint8_t>(std::countr_zero(rest)));
  }
  return best;
}

}  // namespace gangsched::inline GANGSCHED_ABI
