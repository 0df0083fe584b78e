#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/devices/device_inventory.hpp"
#include "gangsched/model/cluster.hpp"
#include "support/builders.hpp"

// Who holds which devices, for tests of claims.
namespace gangsched::testing {

inline a_pod sharing(const std::string& name, std::vector<resource_claim_id> claims) {
  a_pod made{name};
  made.spec.resource_claims = std::move(claims);
  return made;
}

/// The devices, by number, of a pod or of a claim.
template <class Holder>
std::vector<std::uint16_t> cards_of(const cluster& c, Holder holder) {
  std::vector<std::uint16_t> all;
  for (const device_grant& one : c.devices_of(holder)) all.push_back(one.device);
  return all;
}

/// What is in use of the node's devices.
inline std::vector<std::int64_t> words_of(const cluster& c, node_id node) {
  const device_state now = c.devices_of(node);
  return {now.used, now.used + now.inventory->words()};
}

}  // namespace gangsched::testing
