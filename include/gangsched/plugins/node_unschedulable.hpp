#pragma once
#include "gangsched/framework/past.hpp"
#include "gangsched/framework/pod_part.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A pod goes to a cordoned node only if it tolerates the taint node.kubernetes.io/unschedulable:NoSchedule; the node need not have that
/// taint (kube's NodeUnschedulable).
class node_unschedulable {
 public:
  static constexpr std::string_view name = "NodeUnschedulable";
  using points = implements<point::requeue, point::filter>;
  static constexpr events wakes_on = events::node_added | events::node_taints | events::pod_tolerations;

  using tolerating = pod_part<pod_reads::tolerations>;

  /// Woken by a node that is, or becomes, schedulable; and by a new toleration of the pod for a cordoned node.
  [[nodiscard]] hint requeue(const event& e, const pod_info& pod) const {
    if (e.new_node == nullptr) return e.own && tolerates_cordon(pod) ? hint::queue : hint::skip;
    const bool was = e.old_node == nullptr || e.old_node->unschedulable();
    return was && !e.new_node->unschedulable() ? hint::queue : hint::skip;
  }
  [[nodiscard]] status filter(const tolerating& pod, node_view<reads::schedulable> node) const {
    if (!node.unschedulable() || tolerates_cordon(pod)) return status::success();
    return status::unresolvable("node(s) were unschedulable");
  }

 private:
  static bool tolerates_cordon(const tolerating& pod) {
    if (pod.tolerations().empty()) return false;
    // A key that was never named is in no toleration: any symbol but the empty one can stand for it.
    constexpr symbol nobodys{0xffffffffu};
    const symbol key = pod.find("node.kubernetes.io/unschedulable").value_or(nobodys);
    return pod.tolerates({.key = key, .value = {}, .effect = taint_effect::no_schedule});
  }
};

static_assert(requeue_plugin<node_unschedulable> && filter_plugin<node_unschedulable>);

}  // namespace gangsched::inline GANGSCHED_ABI
