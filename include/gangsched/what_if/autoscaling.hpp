#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gangsched/scheduler.hpp"

/// Which nodes are missing, and which are not needed: tried in forks of a scheduler, which is not changed.
namespace gangsched::inline GANGSCHED_ABI {

/// A kind of node that can be added.
struct node_shape {
  node_spec like;                                                  ///< each added node gets its own name and hostname
  std::int64_t price = 1;                                          ///< of one node, in the host's unit; at least 0
  std::uint32_t most = std::numeric_limits<std::uint32_t>::max();  ///< at most so many are added
};

/// Whom `demand` is about, and how long it searches.
struct demand_options {
  instant now{};                          ///< not earlier than the time of the scheduler's last call
  std::span<const pod_id> pods = {};      ///< the pods to consider; without pods and groups all waiting pods
  std::span<const group_id> groups = {};  ///< with all their members
  std::uint32_t most_nodes = 256;         ///< of each shape in a plan
  std::uint32_t search_steps = 200'000;   ///< limit of the search for a cheaper mixture, where only amounts matter
  std::uint32_t most_trials = 64;  ///< limit of the forks that try a smaller plan, where more than amounts matter
};

/// Nodes with which every pod that nodes of these shapes can help is placed.
struct demand_plan {
  struct added_node {
    std::size_t shape = 0;          ///< index of the shape
    std::vector<pod_id> pods = {};  ///< pods placed on it
  };
  std::int64_t price = 0;  ///< of all nodes, saturating
  std::vector<added_node> nodes = {};
  std::vector<assignment> elsewhere = {};  ///< pods placed on existing nodes, beside those
  /// Whether the scheduler finds these places, or equally good ones, by itself. If not, it does if the host nominates the pods
  /// (`cluster::nominate`) to their nodes once these exist.
  bool by_itself = false;
};

/// The answer of `demand`.
struct demand_answer {
  std::vector<demand_plan> plans = {};  ///< cheapest first: the best that was found, and the best of each shape alone
  /// Pods that no number of nodes of these shapes helps: because of a gate, a quota, a selector, a limit, or an attempt of the host.
  std::vector<pod_id> left = {};
};

/// Which nodes, and how many of them, make the waiting pods fit: gangs as a whole, topology and devices respected, without evictions. Every
/// plan was tried in a fork, by the scheduler itself. Where only amounts, selectors and taints decide, the first plan is never dearer than
/// first fit decreasing with one shape, and optimal if `search_steps` suffice. Error: busy, time_went_back, wrong_state
/// (`scheduler::fork`), unknown (no such pod or group), out_of_range (a price below 0), the errors of add_node for a shape. A fork for each
/// shape and plan, and at most twice `most_trials` for each; beside them O(kinds of waiting pods · nodes · plugins).
[[nodiscard]] GANGSCHED_API result<demand_answer> demand(const scheduler& by, std::span<const node_shape> shapes,
                                                         const demand_options& options);

/// Which pods `removable` may not move.
struct removal_options {
  instant now{};                           ///< not earlier than the time of the scheduler's last call
  std::span<const pod_id> stay = {};       ///< pods that must not move: their nodes stay
  std::span<const pod_id> with_node = {};  ///< pods that go with their node, as mirror pods do
};

/// A node that can be drained after those before it in the list, and where its pods are placed then.
struct removable_node {
  node_id node;
  std::vector<assignment> moves = {};
};

/// Which of the nodes @p among, tried in that order, can be drained one after another with all their pods placed elsewhere: disruption
/// budgets are charged for all of them together, members of a group that is disrupted as a whole move together, every other pod stays where
/// it is.
/// Pods of daemon sets, terminating pods and `with_node` go with their node. Pods that wait are placed first, so nodes that they need stay.
/// Each was tried in a fork, by the scheduler itself. Error: busy, time_went_back, wrong_state (`scheduler::fork`), unknown (no such node).
/// A fork for each node that no budget keeps.
[[nodiscard]] GANGSCHED_API result<std::vector<removable_node>> removable(const scheduler& by,
                                                                          std::span<const node_id> among,
                                                                          const removal_options& options);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/what_if/demand.cpp"
#include "gangsched/src/what_if/removable.cpp"
#endif
