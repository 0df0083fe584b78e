#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "gangsched/framework/hooks.hpp"

namespace gangsched {

/// A running pod that would have to go elsewhere, and what it would get there. From and to may be one node: other devices of it.
struct pod_move {
  pod_id pod;
  node_id from, to;
  std::vector<device_grant> devices;
};

/// Moves after which a group fits. Tried in a transaction, not carried out: that is the host's.
struct move_plan {
  std::vector<pod_move> moves;      ///< by row of the pod; empty: it fits as things are
  std::vector<assignment> placed;   ///< where its members would go then
  std::int64_t cost = 0;            ///< sum over the moves
};

struct move_options {
  std::size_t most_moves = 64;
  /// What moving a running pod costs; below 0: it must stay. Without it every pod costs 1.
  std::function<std::int64_t(const pod_info&)> cost = {};
  std::size_t nodes_tried = 64;  ///< that are cleared alone, cheapest first, before several are
};

}  // namespace gangsched
