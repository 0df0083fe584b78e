#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/devices/device_demand.hpp"

/// Devices that a reservation holds for later pods.
namespace gangsched::inline GANGSCHED_ABI {

/// The node's words if, of its devices and exclusive CPUs, only those of @p held were available. @p words count what is in use without @p
/// held. (Memory in NUMA cells is no device, and is unchanged.) O(words).
[[nodiscard]] GANGSCHED_API std::vector<std::int64_t> only_what_is_held(const device_state& words,
                                                                        const device_claim& held);

/// What is left of @p held after others have taken @p taken: the same devices minus that, and nothing that is in use by @p words, which
/// count @p taken but not @p held. Unhealthy devices stay held. Of a whole GPU with a share in use, the rest is held as a share; one that
/// is divided into MIG instances or replicas is no longer held. O(grants of held · grants of taken).
[[nodiscard]] GANGSCHED_API device_claim what_is_left(const device_state& words, const device_claim& held,
                                                      std::span<const device_claim* const> taken);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/reserved_devices.cpp"
#endif
