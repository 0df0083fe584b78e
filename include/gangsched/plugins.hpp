#pragma once
/// All plugins of the library, for profiles written as types: `profile{priority_sort{}, node_resources_fit{}, …}`. A program that uses few
/// of them compiles faster with their own headers. A new plugin needs its include and its entry in `every_plugin` here: the registry and
/// the tests iterate over that list.
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/arrival_sort.hpp"
#include "gangsched/plugins/capacity_scheduling.hpp"
#include "gangsched/plugins/deadline.hpp"
#include "gangsched/plugins/default_preemption.hpp"
#include "gangsched/plugins/device_fit.hpp"
#include "gangsched/plugins/device_share.hpp"
#include "gangsched/plugins/elastic_quota.hpp"
#include "gangsched/plugins/extender.hpp"
#include "gangsched/plugins/fair_share.hpp"
#include "gangsched/plugins/gang_scheduling.hpp"
#include "gangsched/plugins/gpu_best_fit.hpp"
#include "gangsched/plugins/gpu_clustering.hpp"
#include "gangsched/plugins/gpu_dot_product.hpp"
#include "gangsched/plugins/gpu_fragmentation.hpp"
#include "gangsched/plugins/gpu_links.hpp"
#include "gangsched/plugins/gpu_packing.hpp"
#include "gangsched/plugins/gpu_pricing.hpp"
#include "gangsched/plugins/gpu_random.hpp"
#include "gangsched/plugins/gpu_type_value.hpp"
#include "gangsched/plugins/group_preemption.hpp"
#include "gangsched/plugins/hived.hpp"
#include "gangsched/plugins/image_locality.hpp"
#include "gangsched/plugins/inter_pod_affinity.hpp"
#include "gangsched/plugins/kai.hpp"
#include "gangsched/plugins/kueue.hpp"
#include "gangsched/plugins/least_slack_sort.hpp"
#include "gangsched/plugins/load_aware_scheduling.hpp"
#include "gangsched/plugins/load_variation_risk_balancing.hpp"
#include "gangsched/plugins/low_price.hpp"
#include "gangsched/plugins/low_risk_over_commitment.hpp"
#include "gangsched/plugins/mig_packing.hpp"
#include "gangsched/plugins/network_cost.hpp"
#include "gangsched/plugins/node_affinity.hpp"
#include "gangsched/plugins/node_declared_features.hpp"
#include "gangsched/plugins/node_name.hpp"
#include "gangsched/plugins/node_numa_resource.hpp"
#include "gangsched/plugins/node_ports.hpp"
#include "gangsched/plugins/node_resource_topology_match.hpp"
#include "gangsched/plugins/node_resources_allocatable.hpp"
#include "gangsched/plugins/node_resources_balanced_allocation.hpp"
#include "gangsched/plugins/node_resources_fit.hpp"
#include "gangsched/plugins/node_resources_fit_plus.hpp"
#include "gangsched/plugins/node_unschedulable.hpp"
#include "gangsched/plugins/node_volume_limits.hpp"
#include "gangsched/plugins/peaks.hpp"
#include "gangsched/plugins/pod_group_pods_count.hpp"
#include "gangsched/plugins/pod_topology_spread.hpp"
#include "gangsched/plugins/preemption_toleration.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "gangsched/plugins/scarce_resource_avoidance.hpp"
#include "gangsched/plugins/scheduling_gates.hpp"
#include "gangsched/plugins/taint_toleration.hpp"
#include "gangsched/plugins/target_load_packing.hpp"
#include "gangsched/plugins/topology_placement.hpp"
#include "gangsched/plugins/volcano.hpp"
#include "gangsched/plugins/volume_binding.hpp"
#include "gangsched/plugins/volume_restrictions.hpp"
#include "gangsched/plugins/volume_zone.hpp"
#include "gangsched/plugins/yunikorn.hpp"

namespace gangsched::inline GANGSCHED_ABI {

template <class... Plugins>
struct plugin_list {
  /// Calls visit.template operator()<P>() for each plugin P.
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    (visit.template operator()<Plugins>(), ...);
  }
};

/// All plugins, in the registry's order. A plugin that is not `configurable` is not in the registry: the host registers it.
using every_plugin =
    plugin_list<scheduling_gates, priority_sort, node_unschedulable, node_name, taint_toleration, node_affinity_plugin,
                node_ports, node_resources_fit, volume_restrictions, node_volume_limits, volume_binding,
                volume_zone_plugin, pod_topology_spread, inter_pod_affinity, gang_scheduling, default_preemption,
                preemption_toleration, node_resources_balanced_allocation, image_locality, node_declared_features,
                node_resources_fit_plus, scarce_resource_avoidance, node_resources_allocatable, target_load_packing,
                load_variation_risk_balancing, low_risk_over_commitment, peaks, load_aware_scheduling, low_price,
                topology_placement, pod_group_pods_count, group_preemption, network_cost, device_fit, device_share,
                gpu_dot_product, gpu_clustering, gpu_packing, gpu_best_fit, gpu_type_value,
                node_resource_topology_match, node_numa_resource, mig_packing, gpu_links, gpu_pricing,
                gpu_fragmentation, gpu_random, fair_share_policy, kai_policy, kueue_policy, capacity_scheduling_policy,
                elastic_quota_policy, hived_policy, volcano_policy, yunikorn_policy, arrival_sort, least_slack_sort,
                deadline_plugin, extender>;

}  // namespace gangsched::inline GANGSCHED_ABI
