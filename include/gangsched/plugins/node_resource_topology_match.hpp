#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/devices/numa_fit.hpp"
#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// scheduler-plugins' NodeResourceTopologyMatch (pkg/noderesourcetopology), on the NUMA cells that the host reported; each is a zone with
/// what is free in it: CPUs that no container has exclusively, memory, huge pages, and devices.
///
/// Filter: on nodes with the policy single-numa-node, each container, or under the scope pod the pod, fits into one zone. DynamicResources
/// runs the kubelet's own algorithm; this filter is for a scheduler that leaves the choice to the kubelet. Score: 100 for a pod that is not
/// Guaranteed. LeastNUMANodes scores the number of zones needed, whatever the policy. The others score the zones, under single-numa-node
/// only, by least, most or balanced allocation; what a container requests and no zone tells of, a zone has nothing of. A node without cells
/// scores 0. Unlike upstream, overhead, which the kubelet does not align, does not count, and a zone is one of at most 8.
class node_resource_topology_match {
 public:
  static constexpr std::string_view name = "NodeResourceTopologyMatch";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::requeue, point::pre_filter, point::filter, point::score>;
  static constexpr events wakes_on =
      events::node_added | events::node_allocatable | events::pod_removed | events::pod_scaled_down;
  using room = node_view<reads::devices>;

  enum class strategy : std::uint8_t { least_allocated, most_allocated, balanced_allocation, least_numa_nodes };
  struct resource {
    std::string name;
    std::int64_t weight = 1;
  };

  explicit node_resource_topology_match(strategy how = strategy::least_allocated, std::vector<resource> weights = {})
      : strategy_(how), weights_(std::move(weights)) {}
  /// Argument: upstream's NodeResourceTopologyMatchArgs, `scoringStrategy: {type, resources: [{name, weight}]}`.
  [[nodiscard]] GANGSCHED_API static result<node_resource_topology_match> from(const argument& args);

  [[nodiscard]] hint requeue(const event&, const pod_info&) const { return hint::queue; }
  /// A pod that has nothing to align fits everywhere.
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    return pod.spec().containers.empty() ? status::skip() : status::success();
  }
  [[nodiscard]] status filter(const pod_view& pod, room node) const {
    const device_state devices = node.devices();
    if (!devices || !devices.inventory->numa || devices.inventory->numa->spec.policy != numa_policy::single_numa_node) {
      return status::success();
    }
    const device_wants wants = node.wants_of(pod.spec());
    if (wants.containers.empty() || single_numa_zones(zones_of(devices, wants).pod)) return status::success();
    const bool whole = devices.inventory->numa->spec.scope == numa_scope::pod;
    return status::unschedulable(whole ? "cannot align pod" : "cannot align container");
  }
  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    const device_state devices = node.devices();
    if (!pod.spec().guaranteed) return max_node_score;
    if (!devices || !devices.inventory->numa) return 0;
    const bool single = devices.inventory->numa->spec.policy == numa_policy::single_numa_node;
    if (strategy_ != strategy::least_numa_nodes && !single) return 0;
    const device_wants wants = node.wants_of(pod.spec());
    return wants.containers.empty() ? max_node_score : rate(devices, wants, pod, node);
  }

 private:
  GANGSCHED_API static std::vector<resource_kind> add_unlisted(const pod_view& pod, std::span<const std::string> names,
                                                               numa_zones& zones);
  [[nodiscard]] GANGSCHED_API std::int64_t rate(const device_state& devices, const device_wants& wants,
                                                const pod_view& pod, room node) const;

  strategy strategy_;
  std::vector<resource> weights_;
};

static_assert(requeue_plugin<node_resource_topology_match> && pre_filter_plugin<node_resource_topology_match> &&
              filter_plugin<node_resource_topology_match> && score_plugin<node_resource_topology_match>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/node_resource_topology_match.cpp"
#endif
