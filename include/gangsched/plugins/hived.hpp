#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/remembered.hpp"
#include "gangsched/queues/hived/cell_layout.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// HiveD's policy on the queues of the cluster (docs/queues/hived.md): a queue is a virtual cluster with a guarantee of cells. As far as
/// GPUs go, a pod of a queue gets nodes exactly when it would in a cluster of these cells alone.
///
/// The cells are given as in HiveD's configuration, or are made of the nodes and of the queues' guarantees (`cells_of_nodes`). A pod's
/// virtual cluster is the nearest queue on its way up that has cells. The waiting pods of a gang, with those that it needs first, are one
/// group in HiveD's sense; so is a pod without a group. Their priority is that of their tree, at most 1000; below 0 they are opportunistic.
/// Pods that request no GPUs, and pods without a queue, may use any node. Pods without a queue can be preempted like opportunistic ones.
/// Admission checks whether there are cells; the filter restricts each pod to the nodes that its group was given; a group is preempted as a
/// whole, and the cells are reserved for the preemptor. A cell that cannot be used for another reason (other filters) is skipped as long as
/// every virtual cluster still gets its own. Placing costs O(GPUs of the cells · log nodes), rejecting further groups with the same request
/// O(log n).
class hived_policy {
 public:
  static constexpr std::string_view name = "HiveD";
  static constexpr bool reads_queues = true;
  using points = implements<point::admission, point::filter, point::post_filter, point::group_preempt>;

  struct options {
    /// None: made of nodes and queues.
    std::optional<queues::hived::configuration> cells = {};
    std::string gpu = "nvidia.com/gpu";  ///< the resource that counts devices
    /// A guaranteed group in the way of a more important one of its virtual cluster becomes opportunistic first.
    bool lazy_preemption = false;
    // Labels with which pods name the pinned cell of their virtual cluster that they want, and the type of device.
    std::string pin_label = "hivedscheduler.microsoft.com/pinned-cell";
    std::string type_label = "hivedscheduler.microsoft.com/leaf-cell-type";
  };
  hived_policy() : hived_policy(options{}) {}
  /// @pre check(chosen) finds nothing.
  explicit hived_policy(options chosen) : options_(std::move(chosen)) {}
  /// `malformed` for no resource, and what `queues::hived::cell_scheduler::make` says of the cells.
  [[nodiscard]] GANGSCHED_API static std::optional<error> check(const options& chosen);
  /// Arguments: HiveD's physicalCluster (cellTypes, physicalCells) and virtualClusters, both or none, of at most 1,000,000 cells; gpu;
  /// lazyPreemption.
  [[nodiscard]] GANGSCHED_API static result<hived_policy> from(const argument& args);

  /// With the same cells for the pods of the fork.
  [[nodiscard]] GANGSCHED_API hived_policy fork(const cluster_view& to) const;
  [[nodiscard]] GANGSCHED_API status admit(const pod_info& pod, const cluster_view& cluster) const;
  [[nodiscard]] GANGSCHED_API status admit(const group_view& group, const cluster_view& cluster) const;
  /// Which cells are missing, and which groups of the virtual cluster have how many.
  [[nodiscard]] GANGSCHED_API std::string admission_words(const pod_info& pod, const cluster_view& cluster) const;

  [[nodiscard]] std::int64_t filter_key(const pod_view& pod, node_view<reads::name> node) const {
    return filter_idle(pod) ? 0 : std::int64_t{node.id().row};
  }
  GANGSCHED_API void finish_filter(const pod_info& pod, const cluster_view& cluster,
                                   std::span<filtered_group> groups) const;
  [[nodiscard]] bool filter_idle(const pod_view& pod) const {
    return !pod.in_queue() || (pod.request(options_.gpu) == 0 && pod.spec().devices.empty());
  }

  [[nodiscard]] GANGSCHED_API victim_plan post_filter(trial& attempt, const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API victim_plan group_preempt(trial& attempt, const group_view& group) const;

 private:
  struct memory;
  options options_;
  remembered<memory> memory_ = {};  ///< after it is made anew, cells may be bound differently: forks copy it
};

static_assert(admission_plugin<hived_policy> && filter_plugin<hived_policy>);
static_assert(post_filter_plugin<hived_policy> && group_preempt_plugin<hived_policy>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/hived.cpp"
#endif
