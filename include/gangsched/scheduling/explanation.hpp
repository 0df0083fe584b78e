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

/// A group's member that finds no node once the members before it have theirs.
struct member_lack {
  pod_id pod;
  std::string name;
  std::string plugin;   ///< who rejects it where it lacks least; empty: the engine
  std::string missing;  ///< "2 nvidia.com/gpu short on n17", or the plugin's reason; empty if it has no more to say
};

struct explanation {
  std::string summary;              ///< "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable."
  std::vector<node_verdict> nodes;  ///< by row
  // A pod that a pre-enqueue, admission or pre-filter hook rejected never met the filters.
  std::string rejected_by;
  gangsched::code code = gangsched::code::success;
  /// If the pod's group was rejected as one: the members that find no node in the group's nearest placement; this pod may be one of them.
  std::vector<member_lack> lacks;
};

/// One reason of a rejected attempt, counted while it was tried.
struct counted_reason {
  std::string plugin;     ///< whose it is; empty if a pre-filter narrowed the nodes, or the engine said it
  std::string text;       ///< "Insufficient cpu"
  std::size_t nodes = 0;  ///< that gave it; 0: said of the pod, before nodes were asked or after one was found
  friend bool operator==(const counted_reason&, const counted_reason&) = default;
};

/// Why a pod's last attempt was rejected, as it was found then. Nothing is asked again for it.
struct why_rejected {
  gangsched::code code = gangsched::code::unschedulable;
  std::vector<std::string>
      plugins;  ///< that rejected it, in the order of the profile; none: an error, or not known who
  std::vector<counted_reason> reasons;  ///< by text; only with `scheduler_options::count_reasons`
  std::size_t nodes = 0;                ///< that there were to ask: 0 if it did not come to that
  /// Of a group that was tried as one: what it lacks, and the first member that found no node, where most members had one: plugins
  /// and reasons are that one's.
  std::string group;
  pod_id member;
  std::string member_name;
  std::size_t placed = 0;  ///< members that had a node by then
  /// What post_filter hooks that found no room either said: "preemption: 0/5 nodes are available: 3 No preemption victims found for
  /// incoming pod, 2 Preemption is not helpful for scheduling."; only with `scheduler_options::count_reasons`.
  std::string post_filter;
  /// In kube-scheduler's words: "0/5 nodes are available: 2 node(s) were unschedulable, 3 Insufficient cpu.", and what post_filter hooks
  /// said; of a group its reason, and that of the member.
  [[nodiscard]] GANGSCHED_API std::string text() const;
};

/// How far a group's members come in one placement.
struct placement_verdict {
  std::string name;          ///< "rack-3"; empty for all nodes
  std::uint64_t fit = 0;     ///< members that find a node there, those that have one included
  std::uint64_t wanted = 0;  ///< the group's minimum
  std::string missing = {};  ///< "2 nvidia.com/gpu short on n17", or what refuses so many together; or nothing
  std::vector<member_lack> lacks = {};  ///< the members that find none, in order
  bool feasible = false;  ///< an attempt would place it, by itself: slices, minimums by role and full searches count
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

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/scheduling/explanation.cpp"
#endif
