#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/devices/device_inventory.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/state.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/saved_state.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

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

/// What is in use of the node's devices, whatever their health.
inline std::vector<std::int64_t> in_use(const cluster& c, node_id node) {
  std::vector<std::int64_t> words = words_of(c, node);
  for (std::uint32_t i = 0; i < c.devices_of(node).inventory->first_counter(); ++i)
    words[i] &= std::numeric_limits<std::int64_t>::max();
  return words;
}

/// The same as the node's pods and the shared claims have it, added up word by word.
inline std::vector<std::int64_t> claimed(const cluster& c, node_id node) {
  const model::cluster_state& state = inside(c);
  std::vector<std::int64_t> words(c.devices_of(node).inventory->words());
  const auto add = [&](const device_claim* claim) {
    for (const device_claim::change& one : claim == nullptr ? device_claim{}.changes : claim->changes)
      words[one.word] += static_cast<std::int64_t>(one.more);
  };
  for (row_t pod = state.nodes.first_pod[node.row]; pod != no_row; pod = state.pods.next_on_node[pod])
    add(state.pods.claim[pod]);
  for (row_t claim = 0; claim < state.devices.resource_claims.rows.count(); ++claim) {
    if (state.devices.resource_claims.allocated_on(claim) == node.row) add(state.devices.resource_claims.held[claim]);
  }
  return words;
}

/// In a transaction, which is kept if keep() says so and the pod was not bound: a pod that waits is put on @p node, one that is assumed
/// taken off, a bound one taken off and put on again. A roll-back leaves nothing behind.
template <class Keep>
void move_on_trial(cluster& c, pod_id pod, node_id node, const Keep& keep) {
  const std::uint64_t before = inside(c).digest_with_derived();
  const node_id home = c.node_of(pod);
  transaction trial{c};
  if (c.state_of(pod) == pod_state::pending)
    inside(c).assigned.assume(pod.row, node.row);
  else if (c.state_of(pod) == pod_state::assumed)
    inside(c).assigned.release(pod.row);
  else
    inside(c).assigned.take_off_node(pod.row), inside(c).assigned.put_on_node(pod.row, home.row);
  if (c.state_of(pod) != pod_state::bound && keep()) return trial.commit();
  trial.roll_back();
  REQUIRE(inside(c).digest_with_derived() == before);
}

/// A fork is the same cluster, and so is what a snapshot restores.
inline void check_copies(const cluster& c) {
  CHECK(c.fork().value().digest() == c.digest());
  const result<restored_state> again = saved_state::of(c, nullptr).value().restore({}, {}, 1 << 20);
  REQUIRE(again);
  CHECK(again->cluster.digest() == c.digest());
}

}  // namespace gangsched::testing
