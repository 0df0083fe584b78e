#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
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

/// The verdict of the filters on one node.
struct node_verdict {
  node_id node;
  std::string name;
  gangsched::code code = gangsched::code::success;
  std::string plugin;  ///< the first plugin in profile order that rejected it; empty if a pre-filter excluded the node
  std::vector<std::string> reasons;  ///< Kubernetes' texts, sorted
  std::vector<plugin_score> scores;  ///< of a feasible node, in profile order; plugins that skip are absent
  std::int64_t total = 0;            ///< the sum of the weighted scores
};

/// A member of a group that finds no node after the members before it were placed.
struct member_lack {
  pod_id pod;
  std::string name;
  std::string plugin;   ///< the one that rejects the node that lacks least; empty: the engine
  std::string missing;  ///< "2 nvidia.com/gpu short on n17", or the plugin's reason; empty if there is none
};

/// Why a pod is not placed, or what it would score where: every node as things stand.
struct explanation {
  std::string summary;  ///< "0/5 nodes are available: 3 Insufficient cpu." and, after a `fail`, " Last failure: …"
  std::vector<node_verdict> nodes;  ///< by row
  std::string rejected_by;  ///< the plugin that rejected it before filters ran (pre-enqueue, admission, pre-filter)
  gangsched::code code = gangsched::code::success;  ///< of that hook
  /// If the pod's group was rejected as one: the members that find no node in the group's nearest placement; this pod may be one of them.
  std::vector<member_lack> lacks;
};

/// One reason of a rejected attempt, counted during the attempt.
struct counted_reason {
  std::string plugin;     ///< the plugin that gave it; empty for the engine, or if a pre-filter excluded the nodes
  std::string text;       ///< "Insufficient cpu"
  std::size_t nodes = 0;  ///< with this reason; 0: about the pod, before filters ran or after a node was found
  friend bool operator==(const counted_reason&, const counted_reason&) = default;
};

/// Why a pod's last attempt was rejected, as recorded during that attempt: no hook is called to answer.
struct why_rejected {
  gangsched::code code = gangsched::code::unschedulable;
  std::vector<std::string> plugins;     ///< that rejected it, in profile order; none: an error, or unknown
  std::vector<counted_reason> reasons;  ///< by text; only with `scheduler_options::count_reasons`
  std::size_t nodes = 0;                ///< nodes there were; 0 if no filter was reached
  /// Of a group tried as one: what the group lacks, and the first member that found no node in the placement where most members did.
  /// Plugins and reasons are then those of that member.
  std::string group;
  pod_id member;
  std::string member_name;
  std::size_t placed = 0;  ///< members that had a node by then
  /// The reasons of post_filter hooks that could not make room either: "preemption: 0/5 nodes are available: 3 No preemption victims found
  /// for incoming pod, 2 Preemption is not helpful for scheduling."; only with `scheduler_options::count_reasons`.
  std::string post_filter;
  /// In kube-scheduler's words: "0/5 nodes are available: 2 node(s) were unschedulable, 3 Insufficient cpu.", then the text of post_filter
  /// hooks. Of a group: its reason, then that of the member.
  [[nodiscard]] GANGSCHED_API std::string text() const;
};

/// How many of a group's members fit in one placement.
struct placement_verdict {
  std::string name;          ///< "rack-3"; empty for all nodes
  std::uint64_t fit = 0;     ///< members that find a node there, placed ones included
  std::uint64_t wanted = 0;  ///< the group's minimum
  std::string missing = {};  ///< "2 nvidia.com/gpu short on n17", or why so many are rejected together; may be empty
  std::vector<member_lack> lacks = {};  ///< members that find no node, in order
  bool feasible = false;  ///< the group would be placed; slices, minimums by role, full searches are considered
};

/// Why a group is not placed. For a tree of groups there is one explanation for each of its groups of pods.
struct group_explanation {
  group_id group;
  std::string name;
  std::string summary;  ///< "rack-3: 6 of 8 members fit, 2 nvidia.com/gpu short on n17", of the nearest placement
  std::vector<placement_verdict> placements;  ///< the nearest first
  std::string change;                         ///< the smallest change that would make the next member fit there
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/scheduling/explanation.cpp"
#endif
