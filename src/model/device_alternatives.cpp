#include "gangsched/model/device_alternatives.hpp"

#include <span>

#include "gangsched/model/inside.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// @p wants: what led to @p grants on the node.
GANGSCHED_INLINE std::optional<std::int32_t> alternative_on(const device_inventory* inventory,
                                                            const device_wants& wants,
                                                            std::span<const device_grant> grants,
                                                            std::int32_t request) {
  if (inventory == nullptr || request < 0 || request >= counted_request) return std::nullopt;
  const auto found = alternative_chosen(*inventory, wants, grants, static_cast<std::uint8_t>(request));
  return found ? std::optional<std::int32_t>{*found} : std::nullopt;
}

}  // namespace detail

GANGSCHED_INLINE std::optional<std::int32_t> alternative_of(const cluster& on, pod_id pod, std::int32_t request) {
  const std::span<const device_grant> grants = on.devices_of(pod);
  if (grants.empty()) return std::nullopt;
  const model::cluster_state& state = detail::inside(on);
  const row_t node = state.pods.node[pod.row];
  const device_wants wants = state.devices.own_wants_of(state.classes[state.pods.cls[pod.row]], node);
  return detail::alternative_on(state.nodes.inventory[node], wants, grants, request);
}

GANGSCHED_INLINE std::optional<std::int32_t> alternative_of(const cluster& on, resource_claim_id claim,
                                                            std::int32_t request) {
  const std::span<const device_grant> grants = on.devices_of(claim);
  if (grants.empty()) return std::nullopt;
  const model::cluster_state& state = detail::inside(on);
  const model::resource_claim_table& claims = state.devices.resource_claims;
  return detail::alternative_on(state.nodes.inventory[claims.node[claim.row]], claims.record[claim.row]->wants(),
                                grants, request);
}

}  // namespace gangsched::inline GANGSCHED_ABI
