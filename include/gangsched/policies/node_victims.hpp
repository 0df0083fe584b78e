#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/status.hpp"
#include "gangsched/framework/hooks.hpp"
#include "gangsched/policies/victim_units.hpp"
#include "gangsched/queues/put_back.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The victims on one node, with the pods that are evicted together with them, most important first.
struct node_candidate {
  node_id node;
  std::vector<pod_id> victims = {};
  std::int64_t violations = 0;  ///< victims, or whole groups, whose eviction violates a disruption budget

  /// The result of a post_filter hook: the pod is nominated to the node. @p reason: static storage.
  [[nodiscard]] victim_plan plan(const char* reason) && {
    return {.verdict = status::success(), .nominated = node, .victims = std::move(victims), .reason = reason};
  }
};

/// Searches victims for a pod node by node, by a policy of queues that knows no nodes and counts each unit of pods as one pod. Leaves the
/// trial unchanged.
class GANGSCHED_API node_victims {
 public:
  node_victims(trial& attempt, const pod_info& pod, const victim_rule& rule);

  /// In the rule's order, most important first.
  [[nodiscard]] const std::vector<victim_unit>& units() const noexcept { return units_.all(); }

  struct choice {
    std::vector<std::uint32_t> victims = {};  ///< indexes in the list of units, most important first
    std::size_t violating = 0;
  };
  /// The policy's result for a node: given are the units with pods there, in order, and the node to try removals on, with the list's
  /// numbers. Success, with victims; unschedulable; or an error, for this node alone.
  using policy = std::function<status(std::span<const std::uint32_t>, queues::trial_node&, choice&)>;
  [[nodiscard]] status dry_run(node_id node, const policy& choose, node_candidate& out);

  /// Of all nodes with such units that do not reject the pod with unresolvable the one whose victims cost least (`node_cost`), the first
  /// row in a tie. O(nodes) dry runs.
  [[nodiscard]] std::optional<node_candidate> best(const policy& choose);

 private:
  class tried_node;
  [[nodiscard]] bool rest_is_gone(const victim_unit& surplus) const;
  void add_to(std::vector<pod_id>& victims, const victim_unit& gone) const;

  trial* attempt_;
  pod_info pod_;
  victim_units units_;
  open_budgets budgets_;
  std::map<row_t, std::vector<std::uint32_t>> on_;  ///< units with pods on a node
};

/// Drops units with pods that may not be evicted by @p rule, those not collected for that reason included. O(pods · cost of the rule).
GANGSCHED_API void drop_partial_units(const cluster_view& cluster, const victim_rule& rule,
                                      std::vector<victim_unit>& units);

/// Whether a terminating pod on the nominated node may make room there, by @p may_go; not if filters reject the node as unresolvable.
[[nodiscard]] GANGSCHED_API bool waits_for_leaving(trial& attempt, const pod_info& pod,
                                                   const std::function<bool(const pod_info&)>& may_go);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/node_victims.cpp"
#endif
