#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/devices/device_demand.hpp"

/// Devices that a reservation holds for pods that come later.
namespace gangsched::inline GANGSCHED_ABI {

/// The words of a node as if, of its devices and exclusive CPUs, only those of @p held were available. @p words say what is in use without
/// @p held. (Memory in NUMA cells is no device, and stays as it is.) O(words).
[[nodiscard]] GANGSCHED_API std::vector<std::int64_t> only_what_is_held(const device_state& words,
                                                                        const device_claim& held);

/// What is left of @p held once others have taken @p taken: the same devices with as much less, and nothing of them that is in use by
/// @p words, which count @p taken but not @p held. Of a whole GPU that somebody has a share of,
/// the rest is held as a share; one that was cut into MIG instances or replicas is held no more. O(grants of held · grants of taken).
[[nodiscard]] GANGSCHED_API device_claim what_is_left(const device_state& words, const device_claim& held,
                                                      std::span<const device_claim* const> taken);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/reserved_devices.cpp"
#endif
