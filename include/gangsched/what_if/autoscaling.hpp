#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gangsched/scheduler.hpp"

/// Which nodes are missing, and which are not needed: asked in forks of a scheduler, which stays as it is.
namespace gangsched::inline GANGSCHED_ABI {

/// A kind of node that can be had.
struct node_shape {
  node_spec like;                                                  ///< each gets a name and a hostname of its own
  std::int64_t price = 1;                                          ///< of one, in the host's unit; at least 0
  std::uint32_t most = std::numeric_limits<std::uint32_t>::max();  ///< there may be that many more
};

struct demand_options {
  instant now{};                          ///< not before what the scheduler was told last
  std::span<const pod_id> pods = {};      ///< who is meant; with no pods and no groups everybody who waits
  std::span<const group_id> groups = {};  ///< with all their members
  std::uint32_t most_nodes = 256;         ///< of each shape in a plan
  std::uint32_t search_steps = 200'000;   ///< of looking for a cheaper mixture, where that is a question of amounts
  std::uint32_t most_trials = 64;         ///< forks to make a plan smaller, where it is a question of more than amounts
};

/// Nodes that make room for everybody for whom nodes can.
struct demand_plan {
  struct added_node {
    std::size_t shape = 0;          ///< its place among the shapes
    std::vector<pod_id> pods = {};  ///< that would run there
  };
  std::int64_t price = 0;  ///< of all, at most the largest number
  std::vector<added_node> nodes = {};
  std::vector<assignment> elsewhere = {};  ///< pods that would find room on nodes that there are, beside those
  /// The scheduler finds these places, or as good ones, by itself. If not, it does if the host nominates the pods (`cluster::nominate`) to
  /// their nodes when these have come.
  bool by_itself = false;
};

struct demand_answer {
  std::vector<demand_plan> plans = {};  ///< cheapest first: the best that was found, and the best of each shape alone
  /// Whom no nodes of these shapes help, as many as there may be: a gate, a quota, a selector, a limit, an attempt of the host's.
  std::vector<pod_id> left = {};
};

/// Which nodes, and how many of them, make the waiting pods fit: gangs whole, topology and devices respected, nobody evicted. Every plan
/// was tried in a fork, by the scheduler itself. Where only amounts, selectors and taints decide, the first one is never dearer than first
/// fit decreasing with one shape, and the cheapest that there is if `search_steps` suffice. Error: busy, time_went_back, wrong_state
/// (`scheduler::fork`), unknown (no such pod or group), out_of_range (a price below 0), what add_node says of a shape. A fork for each
/// shape and plan, and at most twice `most_trials` for each; beside them O(kinds of waiting pods · nodes · plugins).
[[nodiscard]] GANGSCHED_API result<demand_answer> demand(const scheduler& by, std::span<const node_shape> shapes,
                                                         const demand_options& options);

struct removal_options {
  instant now{};                      ///< not before what the scheduler was told last
  std::span<const pod_id> stay = {};  ///< pods that must not move: their nodes stay
};

/// A node that can be drained after those before it in the list, and where its pods would go.
struct removable_node {
  node_id node;
  std::vector<assignment> moves = {};
};

/// Which of the nodes @p among, asked in that order, can be drained one after another with everybody placed elsewhere: disruption budgets
/// are charged for all of them together, members of a group that is disrupted as a whole move together, nobody is evicted for them. Pods
/// of daemon sets and those that terminate go with their node. Each was tried in a fork, by the scheduler itself. Error: busy,
/// time_went_back, wrong_state (`scheduler::fork`), unknown (no such node). A fork for each node that no budget keeps.
[[nodiscard]] GANGSCHED_API result<std::vector<removable_node>> removable(const scheduler& by,
                                                                          std::span<const node_id> among,
                                                                          const removal_options& options);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/what_if/demand.cpp"
#include "gangsched/src/what_if/removable.cpp"
#endif
