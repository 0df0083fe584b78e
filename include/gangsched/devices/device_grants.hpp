#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "gangsched/devices/device_demand.hpp"

/// The effect of a grant on a node's words.
namespace gangsched::inline GANGSCHED_ABI {

/// Whether what @p grant names is free. O(1) for GPUs, O(counters it consumes) for others.
[[nodiscard]] GANGSCHED_API bool is_free(const device_state& state, const device_grant& grant) noexcept;
/// Whether device @p device of the others matches @p demand, and is free, its capacities included.
[[nodiscard]] GANGSCHED_API bool is_free(const device_state& state, const device_demand& demand, std::size_t device);
/// The node's words as if all of its devices were healthy: what is held of an unhealthy one stays held. None if the host reported no
/// devices. O(words).
[[nodiscard]] GANGSCHED_API std::vector<std::int64_t> words_of_any_health(const device_state& state);
/// Adds @p grant to @p claim, with its contribution to the node's words.
GANGSCHED_API void add_grant(const device_inventory& inventory, const device_grant& grant, device_claim& claim);

/// What one allocation takes of a capacity: the request (absent: the standard amount, else all), rounded by the policy. Nothing if the
/// policy or the available amount does not allow it. Kubernetes' calculateConsumedCapacity and violatesPolicy. O(log values).
[[nodiscard]] GANGSCHED_API std::optional<std::int64_t> capacity_taken(const capacity_spec& of,
                                                                       std::optional<std::int64_t> asked) noexcept;
/// What @p demand takes of the capacities of the shared device in grant @p of. Nothing if the device is not shared, or has adminAccess.
/// O(capacities).
[[nodiscard]] GANGSCHED_API boost::container::small_vector<device_grant, 4> capacity_grants(
    const device_inventory& inventory, const device_demand& demand, const device_grant& of);

/// ⌊part/all·100⌋ in floating point, in this order, as Koordinator computes a share's part of a GPU's memory; 0 if @p all is 0.
[[nodiscard]] inline std::int64_t memory_percent_of(std::int64_t part, std::int64_t all) noexcept {
  return all == 0 ? 0 : static_cast<std::int64_t>(static_cast<double>(part) / static_cast<double>(all) * 100);
}

namespace detail {

/// The amount of the GPU or device: that of the demand, for a device of this node.
GANGSCHED_API void fill_grant(const device_inventory& inventory, const device_demand& demand, device_grant& grant);
/// False if the demand is in hundredths of memory, the host did not report how much there is, and they are counted in MiB.
[[nodiscard]] inline bool knows_memory(const device_inventory& inventory, const device_demand& demand) noexcept {
  return inventory.gpu_memory_mib != 0 || inventory.memory_rule == gpu_memory_rule::as_asked ||
         demand.kind != device_demand::form::share || demand.memory_percent == 0;
}
/// How many replicas of a GPU are free. None if pods have parts of another form of it, be it only some of its memory.
[[nodiscard]] inline std::int32_t free_replicas(const device_state& state, std::size_t gpu) noexcept {
  const gpu_word word = state.gpu(gpu);
  if (word.unhealthy() || word.milli() != 0 || word.slices() != 0 || word.pods() != 0) return 0;
  return state.inventory->replicas - word.replicas();
}
/// Where an instance could begin on a GPU, as bits; on a GPU with fixed instances: the starts of unused ones.
GANGSCHED_API std::uint8_t fixed_starts(const device_state& state, std::size_t gpu, mig_profile_index profile) noexcept;
[[nodiscard]] inline std::uint8_t mig_starts(const device_state& state, std::size_t gpu,
                                             mig_profile_index profile) noexcept {
  const mig_mode mode = state.inventory->gpus[gpu].mig;
  const gpu_word word = state.gpu(gpu);
  if (mode == mig_mode::off || word.unhealthy() || word.milli() != 0) return 0;
  return mode == mig_mode::dynamic ? state.inventory->mig->fits(word.instances(), profile)
                                   : fixed_starts(state, gpu, profile);
}
/// Whether a healthy device has as many units left as one of the demand takes: of most devices of a busy node that is all to be known.
[[nodiscard]] inline bool has_units(const device_state& state, const device_demand& demand,
                                    std::size_t device) noexcept {
  const device_inventory& inventory = *state.inventory;
  const std::int64_t used = state.used[inventory.first_other() + device];
  return used >= 0 && (demand.admin ? 0 : demand.units) <= inventory.others[device].units - used;
}
/// One grant of a device for the demand; of 0 units with adminAccess.
GANGSCHED_API device_grant unit_of(const device_demand& demand, std::size_t device) noexcept;

}  // namespace detail
}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/devices/device_fit.hpp"  // the bodies need each other
#endif
