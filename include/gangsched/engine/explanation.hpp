#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/status.hpp"

namespace gangsched {

/// One plugin's part in a node's score.
struct plugin_score {
  std::string plugin;
  std::int64_t raw = 0;  ///< the same as normalized for a plugin that scores by keys
  std::int64_t normalized = 0;
  std::int64_t weight = 1;
  [[nodiscard]] std::int64_t weighted() const noexcept { return normalized * weight; }
};

/// One node's verdict.
struct node_verdict {
  node_id node;
  std::string name;
  gangsched::code code = gangsched::code::success;
  std::string plugin;                ///< the first rejecting one in profile order; empty if a pre-filter narrowed the node away
  std::vector<std::string> reasons;  ///< Kubernetes' texts, sorted
  std::vector<plugin_score> scores;  ///< of a feasible node, in profile order; plugins that skip are absent
  std::int64_t total = 0;
};

struct explanation {
  std::string summary;              ///< "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable."
  std::vector<node_verdict> nodes;  ///< by row
  // A pod that a pre-enqueue or pre-filter hook rejected never met the filters.
  std::string rejected_by;
  gangsched::code code = gangsched::code::success;
};

}  // namespace gangsched
