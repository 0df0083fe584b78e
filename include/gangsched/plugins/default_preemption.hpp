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

/// Which pods to evict so that a pod of higher priority fits on a node (kube-scheduler's DefaultPreemption).
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
/// Every node is examined, as in Kubernetes with minCandidateNodesPercentage 100. The result for a node is cached for the pod's class until
/// something changes there: a further preemptor costs O(nodes) comparisons, a trial per changed node, and one per node with a member of a
/// group that is evicted as a whole.
class default_preemption {
 public:
  static constexpr std::string_view name = "DefaultPreemption";
  using points = implements<point::post_filter>;

  /// Kubernetes' limit on the number of candidates: max(nodes · percentage / 100, absolute).
  struct limit {
    std::int32_t percentage = 10;  ///< 0 to 100
    std::int32_t absolute = 100;   ///< 0 or more; not both 0
    std::uint64_t seed = 0;        ///< chooses the node to begin with, which differs from pod to pod
  };
  /// The victims on one node, with the pods that are evicted together with them, most important first.
  struct candidate {
    node_id node;
    std::vector<pod_id> victims;
    std::int64_t violations = 0;  ///< victims, or whole groups, whose eviction violates a disruption budget
  };
  /// Kubernetes' extender that supports preemption, as a callback of the host.
  struct extender {
    /// May drop candidates, and change the victims of a node. False: the call failed.
    std::function<bool(const pod_info&, const cluster_view&, std::vector<candidate>&)> preempt;
    std::vector<std::string> managed_resources = {};  ///< called for pods that request one of them; empty: for all pods
    bool ignorable = false;  ///< when it fails, or leaves a candidate without victims, it is ignored
  };
  default_preemption() = default;
  /// @pre check(limited) finds nothing.
  explicit default_preemption(const limit& limited) : limit_(limited) { GANGSCHED_ASSERT(!check(limited)); }
  /// The first value out of range, if any.
  [[nodiscard]] GANGSCHED_API static std::optional<error> check(const limit& limited);
  /// Arguments: Kubernetes' DefaultPreemptionArgs. Without them there is no limit.
  [[nodiscard]] GANGSCHED_API static result<default_preemption> from(const argument& args);

  /// Extenders are called one after another, each for the candidates that the ones before left. Nothing is cached between pods then:
  /// O(nodes) trials per preemptor.
  default_preemption&& ask(extender one) && {
    extenders_.push_back(std::move(one));
    return std::move(*this);
  }

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;

  // The steps of post_filter, in the present state of the trial.

  /// Whether the pod may preempt; if not, the reason.
  [[nodiscard]] GANGSCHED_API static status eligible(trial& attempt, const pod_info& pod);
  /// Finds the victims on a node that rejects the pod. Leaves the trial unchanged. Unresolvable if no pod there may be evicted.
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
