#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Which pods have to go so that a pod of higher priority fits on a node (kube's DefaultPreemption).
///
/// Not for a pod that may not preempt, or whose nominated node still waits for a pod that was preempted. Per node that rejected the
/// pod with unschedulable: take all pods of lower priority off; if it fits then, put back first those that a disruption budget has
/// no room for, then the others, most important first (priority, then the earlier start, then the earlier arrival), each if the
/// pod still fits. Of the nodes: fewest broken budgets; lowest of the highest victims' priorities; lowest sum of priorities
/// + 2^31; fewest victims; latest of the earliest starts among the victims of highest priority; lowest row.
///
/// Since 1.37 groups are respected (KEP-5710): a member's priority is that of its tree of groups; with a member of a group
/// whose disruption is `all` the whole group goes, on whatever nodes, and counts when nodes are compared.
///
/// Every node is looked at, as Kubernetes would with minCandidateNodesPercentage 100. What came out for a node is remembered for the
/// pod's class while nothing changes there: a further preemptor costs O(nodes) comparisons and a trial per changed node, and per node with
/// a member of a group that goes as a whole.
class default_preemption {
 public:
  static constexpr std::string_view name = "DefaultPreemption";
  using points = implements<point::post_filter>;

  /// Kubernetes' limit on the number of candidates: max(nodes · percentage / 100, absolute).
  struct limit {
    std::int32_t percentage = 10;  ///< 0 to 100
    std::int32_t absolute = 100;   ///< 0 or more; not both 0
    std::uint64_t seed = 0;        ///< of the node to begin with, which differs from pod to pod
  };
  /// The victims on one node, and who goes with them, most important first.
  struct candidate {
    node_id node;
    std::vector<pod_id> victims;
    std::int64_t violations = 0;  ///< victims, or whole groups, that some disruption budget has no room for
  };
  /// Kubernetes' extender that supports preemption, as a callback of the host.
  struct extender {
    /// May drop candidates, or say that fewer or others on the node have to go. False: it failed.
    std::function<bool(const pod_info&, const cluster_view&, std::vector<candidate>&)> preempt;
    std::vector<std::string> managed_resources = {};  ///< it is asked about pods that request one; empty: about all
    bool ignorable = false;  ///< when it fails, or leaves a candidate without victims, go on without it
  };
  default_preemption() = default;
  /// @pre check(limited) finds nothing.
  explicit default_preemption(const limit& limited) : limit_(limited) { GANGSCHED_ASSERT(!check(limited)); }
  /// The first number that is out of bounds.
  [[nodiscard]] GANGSCHED_API static std::optional<error> check(const limit& limited);
  /// Arguments: Kubernetes' DefaultPreemptionArgs. Without any there is no limit.
  [[nodiscard]] GANGSCHED_API static result<default_preemption> from(const argument& args);

  /// Extenders are asked one after another, each about what the ones before left. Nothing is remembered between pods then: O(nodes)
  /// trials per preemptor.
  default_preemption&& ask(extender one) && {
    extenders_.push_back(std::move(one));
    return std::move(*this);
  }

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;

  // Its parts, each as things stand in the trial.

  /// Whether the pod may preempt; if not, why.
  [[nodiscard]] GANGSCHED_API static status eligible(trial& attempt, const pod_info& pod);
  /// Finds the victims on a node that rejects the pod. Leaves the trial as it was. Unresolvable if there is nobody to take away.
  [[nodiscard]] GANGSCHED_API static status dry_run(trial& attempt, const pod_info& pod, node_id node, candidate& out);

 private:
  struct search;
  /// Error: an extender that is not ignorable failed.
  [[nodiscard]] status ask_extenders(trial& attempt, const pod_info& pod, std::vector<candidate>& candidates) const;
  std::optional<limit> limit_;
  std::vector<extender> extenders_;
};

static_assert(post_filter_plugin<default_preemption>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/default_preemption.cpp"
#endif
