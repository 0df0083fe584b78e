#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/status.hpp"

namespace gangsched::inline GANGSCHED_ABI {

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
  std::string plugin;  ///< the first rejecting one in profile order; empty if a pre-filter narrowed the node away
  std::vector<std::string> reasons;  ///< Kubernetes' texts, sorted
  std::vector<plugin_score> scores;  ///< of a feasible node, in profile order; plugins that skip are absent
  std::int64_t total = 0;
};

struct explanation {
  std::string summary;              ///< "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable."
  std::vector<node_verdict> nodes;  ///< by row
  // A pod that a pre-enqueue, admission or pre-filter hook rejected never met the filters.
  std::string rejected_by;
  gangsched::code code = gangsched::code::success;
};

/// How far a group's members come in one placement.
struct placement_verdict {
  std::string name;          ///< "rack-3"; empty for all nodes
  std::uint64_t fit = 0;     ///< members that find a node there, those that have one included
  std::uint64_t wanted = 0;  ///< the group's minimum
  std::string missing;       ///< "2 nvidia.com/gpu short on n17", or a filter's reason; empty if nothing is
};

/// Why a group is not placed. Of a tree, one for each of its groups of pods.
struct group_explanation {
  group_id group;
  std::string name;
  std::string summary;  ///< "rack-3: 6 of 8 members fit, 2 nvidia.com/gpu short on n17", of the nearest placement
  std::vector<placement_verdict> placements;  ///< the nearest first
  std::string change;                         ///< the smallest change that would make the next member fit there
};

}  // namespace gangsched::inline GANGSCHED_ABI
