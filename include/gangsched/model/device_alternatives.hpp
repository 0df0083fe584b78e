#pragma once
#include <cstdint>
#include <optional>

#include "gangsched/core/id.hpp"
#include "gangsched/model/fwd.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Which of the alternatives of a request (`device_request::first_of`) the devices of the pod, or of the claim, were chosen for: its index.
/// A host writes it as "request/subrequest" into the status of a ResourceClaim (DRA's firstAvailable, KEP-4816). Nothing: the request
/// offers none or is about GPUs, there are no devices, or no alternatives lead to them, because the host said which ones.
/// O(devices); where there are many alternatives, a search of at most twice 4,096 steps.
[[nodiscard]] GANGSCHED_API std::optional<std::int32_t> alternative_of(const cluster& on, pod_id pod,
                                                                       std::int32_t request);
/// @p request: its number in the claim.
[[nodiscard]] GANGSCHED_API std::optional<std::int32_t> alternative_of(const cluster& on, resource_claim_id claim,
                                                                       std::int32_t request);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/device_alternatives.cpp"
#endif
