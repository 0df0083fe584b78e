#pragma once
#include <cstdint>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/model/affinity_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A topology key of the cluster, numbered. 0 is the node itself: every row is a domain of its own, whatever its labels are.
using topology_id = std::uint32_t;
inline constexpr topology_id node_itself = 0;

/// A value of a topology key that some node has, numbered per key; numbers of values without nodes are reused.
using domain_id = std::uint32_t;
inline constexpr domain_id no_domain = 0xffffffffu;

/// Which nodes count for a counter (topology.hpp).
using choice_id = std::uint32_t;
inline constexpr choice_id every_node = 0;

/// The pods that count for a counter (counters.hpp).
using scope_id = std::uint32_t;

/// What a placed pod adds to.
enum class counts : std::uint8_t {
  matching,             ///< pods in the scope
  carrying_anti,        ///< required anti-affinity terms about the scope, of pods
  carrying_affinity,    ///< required affinity terms
  carrying_preference,  ///< preferred terms; `weight` is negative for anti-affinity
};

/// What a counter counts, per domain of its topology.
struct counter_spec {
  counts what = counts::matching;
  std::int32_t weight = 0;
  topology_id topology = node_itself;
  choice_id nodes = every_node;  ///< pods elsewhere do not count
  scope_id scope = 0;
  bool spread = false;  ///< terminating pods do not count; and the least count of a domain is maintained
  bool nobody = false;  ///< a spread constraint with an empty selector: matches pods, counts none (PodTopologySpread)
};

/// Spread constraints of a profile for pods without any (PodTopologySpreadArgs). They have no selectors.
struct spread_defaults {
  std::vector<topology_spread> constraints;
  bool system = false;  ///< defaultingType System: nodes that lack a label take part
};

}  // namespace gangsched::inline GANGSCHED_ABI
