#include "gangsched/profiles.hpp"

#include "gangsched/plugins.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// @p first: plugins that are asked before the others.
template <class... Plugins>
kernel_table kube_like(node_resources_fit fit, Plugins... first) {
  return profile{std::move(first)...,
                 scheduling_gates{},
                 priority_sort{},
                 node_unschedulable{},
                 node_name{},
                 taint_toleration{},
                 node_affinity_plugin{},
                 node_ports{},
                 std::move(fit),
                 volume_restrictions{},
                 node_volume_limits{},
                 volume_binding{},
                 volume_zone_plugin{},
                 pod_topology_spread{},
                 inter_pod_affinity{},
                 device_fit{},
                 mig_packing{},
                 gpu_links{false},
                 gang_scheduling{},
                 default_preemption{},
                 node_resources_balanced_allocation{},
                 image_locality{},
                 node_declared_features{},
                 topology_placement{},
                 pod_group_pods_count{},
                 group_preemption{}}
      .table();
}

}  // namespace detail

GANGSCHED_INLINE plugin_registry builtin_plugins() {
  plugin_registry all;
  every_plugin::each([&]<class P>() {
    if constexpr (configurable<P>) static_cast<void>(all.add<P>());  // no two have one name
  });
  return all;
}

GANGSCHED_INLINE kernel_table profiles::kube_default() { return detail::kube_like(node_resources_fit{}); }

GANGSCHED_INLINE kernel_table profiles::with_queues() {
  return detail::kube_like(node_resources_fit{}, fair_share_policy{});
}

GANGSCHED_INLINE kernel_table profiles::bin_packing(std::string_view resource) {
  return detail::kube_like(node_resources_fit{{.strategy = node_resources_fit::strategy::most_allocated,
                                               .resources = {{"cpu", 1}, {"memory", 1}, {std::string{resource}, 5}}}});
}

}  // namespace gangsched::inline GANGSCHED_ABI
