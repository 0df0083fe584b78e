#pragma once
#include <concepts>
#include <type_traits>

#include "gangsched/core/status.hpp"
#include "gangsched/framework/decision.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/queue_spec.hpp"
#include "gangsched/scheduling/attempt.hpp"
#include "gangsched/scheduling/options.hpp"
#include "gangsched/scheduling/queue_listing.hpp"

/// Members of what a host says, in order: what is written, read and shown goes by this one list. A struct that has got another member does
/// not compile here until it is named.
namespace gangsched::inline GANGSCHED_ABI::record {

#define GANGSCHED_FIELDS(Type, ...)                              \
  template <class Archive, class Value>                          \
    requires std::same_as<std::remove_const_t<Value>, Type>      \
  void visit_fields(Archive&& archive, Value& gangsched_value) { \
    auto& [__VA_ARGS__] = gangsched_value;                       \
    archive.fields(#__VA_ARGS__, __VA_ARGS__);                   \
  }                                                              \
  static_assert(true)

// What goes with what.
GANGSCHED_FIELDS(taint, key, value, effect);
GANGSCHED_FIELDS(toleration, key, op, value, effect);
GANGSCHED_FIELDS(selector_requirement, key, op, values);
GANGSCHED_FIELDS(label_selector, match_labels, match_expressions);
GANGSCHED_FIELDS(node_selector_term, match_expressions, match_fields);
GANGSCHED_FIELDS(preferred_node_term, weight, term);
GANGSCHED_FIELDS(node_affinity, required, preferred);
GANGSCHED_FIELDS(pod_affinity_term, topology_key, selector, namespaces, namespace_selector);
GANGSCHED_FIELDS(preferred_pod_term, weight, term);
GANGSCHED_FIELDS(pod_affinity, required, preferred);
GANGSCHED_FIELDS(topology_spread, topology_key, max_skew, action, selector, min_domains, node_affinity_policy,
                 node_taints_policy, match_label_keys);
GANGSCHED_FIELDS(controller_ref, kind, name);
GANGSCHED_FIELDS(pod_disruption_budget_spec, name, ns, selector, disruptions_allowed, disrupted_pods);

// Devices.
GANGSCHED_FIELDS(mig_instance, profile, start);
GANGSCHED_FIELDS(gpu_spec, id, healthy, numa, pcie, mig, instances);
GANGSCHED_FIELDS(gpu_link, nvlinks, path);
GANGSCHED_FIELDS(gpu_partition, gpus, score);
GANGSCHED_FIELDS(mig_profile, name, compute_slices, memory_slices, starts, media, max_instances, sm, memory_mib);
GANGSCHED_FIELDS(gpu_class, model, memory_mib, compute_capability, replicas, resource, links, partitions,
                 partition_policy, mig, memory_rule);
GANGSCHED_FIELDS(counter_use, counter, amount);
GANGSCHED_FIELDS(capacity_policy, standard, values, least, most, step);
GANGSCHED_FIELDS(capacity_spec, amount, policy);
GANGSCHED_FIELDS(other_device, id, device_class, units, healthy, numa, pcie, attributes, consumes, capacities, shared);
GANGSCHED_FIELDS(numa_cpu, id, core, socket, uncore_cache);
GANGSCHED_FIELDS(numa_hugepages, page_bytes, bytes);
GANGSCHED_FIELDS(numa_cell, id, cpus, memory_bytes, hugepages, distances);
GANGSCHED_FIELDS(cpu_policy, is_static, full_pcpus_only, distribute_cpus_across_numa, align_by_socket,
                 distribute_cpus_across_cores, strict_cpu_reservation, prefer_align_cpus_by_uncorecache);
GANGSCHED_FIELDS(node_numa, cells, policy, scope, prefer_closest, cpu, static_memory, reserved_cpus, cpu_bind,
                 cpu_strategy, cpu_amplification_percent);
GANGSCHED_FIELDS(node_devices, gpu, gpus, others, counters, numa);
GANGSCHED_FIELDS(attribute_selector, attribute, op, values);
GANGSCHED_FIELDS(device_request, name, device_class, count, milli, memory_mib, memory_percent, mig_profile, models,
                 least_memory_mib, least_compute_capability, within, within_preferred, units, all, admin, selectors,
                 expressions, capacities, beside_gpus, beside_preferred, first_of, container);
GANGSCHED_FIELDS(device_constraint::alternative, request, place);
GANGSCHED_FIELDS(device_constraint, attribute, requests, distinct, alternatives);
GANGSCHED_FIELDS(held_device, id, request, mig_start, places, bytes, capacities);
GANGSCHED_FIELDS(cpu_binding, policy, required, exclusive);
GANGSCHED_FIELDS(resource_claim_spec, name, ns, devices, constraints, most_pods, held_devices, node);

// Nodes, pods and what has a name.
GANGSCHED_FIELDS(node_image, names, size_bytes);
GANGSCHED_FIELDS(node_spec, name, labels, taints, allocatable, capacity, volume_limits, images, declared_features,
                 devices, unschedulable, cookie);
GANGSCHED_FIELDS(container_port, host_port, protocol, host_ip);
GANGSCHED_FIELDS(container, requests, image, ports, sidecar, limits);
GANGSCHED_FIELDS(volume_zone, key, values);
GANGSCHED_FIELDS(used_disk, id, read_only);
GANGSCHED_FIELDS(attached_volume, driver, id);
GANGSCHED_FIELDS(pod_volumes, unbound_claims, nodes, zones, disks, exclusive_claims, attachments, bindable_nodes,
                 claim_problem);
GANGSCHED_FIELDS(reservation_owner, pod, ns, controller, labels);
GANGSCHED_FIELDS(reservation_spec, owners, once, policy, restricted, pre_allocation, order, starts, expires,
                 unschedulable, taints);
GANGSCHED_FIELDS(reservation_affinity, name, selector, required, tolerations);
GANGSCHED_FIELDS(load_estimate, cpu_percent, memory_percent, after_scheduled, after_initialized);
GANGSCHED_FIELDS(pod_spec, name, ns, labels, containers, init_containers, image_volumes, volumes, resources, overhead,
                 guaranteed, bind_cpus, devices, device_constraints, resource_claims, held_devices, node_selector,
                 affinity, affinity_to_pods, anti_affinity_to_pods, tolerations, topology_spread_constraints, priority,
                 priority_class, preemption, scheduler_name, scheduling_gates, required_features, required_node, group,
                 role, rank, node, nominated_node, queue, held_room, reservation, reservation_affinity,
                 exact_reservation, ignores_reservations, draws_from, terminating, preempted, start_time,
                 expected_run_time, deadline, max_wait, load, controller, cookie);
GANGSCHED_FIELDS(held_room_spec::part, node, amounts);
GANGSCHED_FIELDS(held_room_spec, name, parts);
GANGSCHED_FIELDS(removed_pod, id, ns, name, cookie);
GANGSCHED_FIELDS(priority_class_spec, name, value, global_default, preemption, minimum_preemptable, toleration_seconds);
GANGSCHED_FIELDS(service_spec, name, ns, selector);
GANGSCHED_FIELDS(controller_spec, kind, name, ns, selector);
GANGSCHED_FIELDS(namespace_spec, name, labels);
GANGSCHED_FIELDS(cluster_size, nodes, pods, groups);

// Groups.
GANGSCHED_FIELDS(role_minimum, role, min_count);
GANGSCHED_FIELDS(gang, min_count, desired_count, max_count, roles, mode, timeout, atomic, match, strict, stale_after);
GANGSCHED_FIELDS(topology_slice, key, size);
GANGSCHED_FIELDS(group_topology, within, or_anywhere, slices, spread_key, spread_most, choice, when_full);
GANGSCHED_FIELDS(group_dependency, on, until);
GANGSCHED_FIELDS(group_affinity, to, key, apart);
GANGSCHED_FIELDS(group_ratio, to, mine, theirs);
GANGSCHED_FIELDS(group_spec, name, ns, policy, composite, parent, workload, priority, preemption, queue, topology,
                 disruption, start_after, affinity, ratios, deadline, max_wait, done, cookie);

// Queues.
GANGSCHED_FIELDS(flavor_spec, name, node_labels, taints, tolerations);
GANGSCHED_FIELDS(queue_quota, flavor, guaranteed, limit, borrowing_limit, lending_limit, weights);
GANGSCHED_FIELDS(flavor_rules, stops_at_borrowing, stops_at_preemption, avoids_borrowing);
GANGSCHED_FIELDS(queue_spec, name, parent, quotas, weight, priority, state, heads, within_queue, reclaim,
                 reclaims_to_borrow, reclaims_to_borrow_up_to, flavors, lends_running, preempt_min_runtime,
                 reclaim_min_runtime, namespaces, max_running, cookie);

// A scheduler's calls.
GANGSCHED_FIELDS(queue_position, failures, since, errors, attempts);
GANGSCHED_FIELDS(rejected_by, unschedulable_plugins, pending_plugins);
GANGSCHED_FIELDS(waiting_pod::holder, plugin, until);
GANGSCHED_FIELDS(waiting_pod, pod, node, attempt, score, holders, allowed, rejected);
GANGSCHED_FIELDS(attempt, pod, group, number, from_backoff);
GANGSCHED_FIELDS(scheduler_options, seed, ties, initial_backoff, max_backoff, backoff_window, unschedulable_timeout,
                 timers, wake, holds, search_budget, backfill, max_overtake, eviction_notice, indexed_classes,
                 indexed_at_once, count_reasons, check_hooks);

/// The last value of each enumeration: what is read is not beyond it.
template <class Enum>
inline constexpr Enum last_of = Enum{};
template <>
inline constexpr taint_effect last_of<taint_effect> = taint_effect::no_execute;
template <>
inline constexpr toleration_operator last_of<toleration_operator> = toleration_operator::exists;
template <>
inline constexpr selector_operator last_of<selector_operator> = selector_operator::lt;
template <>
inline constexpr when_unsatisfiable last_of<when_unsatisfiable> = when_unsatisfiable::schedule_anyway;
template <>
inline constexpr pre_allocation last_of<pre_allocation> = pre_allocation::required;
template <>
inline constexpr allocate_policy last_of<allocate_policy> = allocate_policy::restricted;
template <>
inline constexpr node_inclusion last_of<node_inclusion> = node_inclusion::ignore;
template <>
inline constexpr protocol last_of<protocol> = protocol::sctp;
template <>
inline constexpr controller_kind last_of<controller_kind> = controller_kind::daemon_set;
template <>
inline constexpr mig_mode last_of<mig_mode> = mig_mode::dynamic;
template <>
inline constexpr mig_media last_of<mig_media> = mig_media::all;
template <>
inline constexpr link_level last_of<link_level> = link_level::nvlink;
template <>
inline constexpr gpu_partition_policy last_of<gpu_partition_policy> = gpu_partition_policy::prefer;
template <>
inline constexpr gpu_memory_rule last_of<gpu_memory_rule> = gpu_memory_rule::as_asked;
template <>
inline constexpr numa_policy last_of<numa_policy> = numa_policy::single_numa_node;
template <>
inline constexpr numa_scope last_of<numa_scope> = numa_scope::pod;
template <>
inline constexpr cpu_bind_policy last_of<cpu_bind_policy> = cpu_bind_policy::spread_by_pcpus;
template <>
inline constexpr numa_allocate_strategy last_of<numa_allocate_strategy> = numa_allocate_strategy::most_allocated;
template <>
inline constexpr cpu_exclusive_policy last_of<cpu_exclusive_policy> = cpu_exclusive_policy::numa_node_level;
template <>
inline constexpr device_scope last_of<device_scope> = device_scope::nvlink;
template <>
inline constexpr attribute_operator last_of<attribute_operator> = attribute_operator::absent;
template <>
inline constexpr preemption_policy last_of<preemption_policy> = preemption_policy::never;
template <>
inline constexpr gang_mode last_of<gang_mode> = gang_mode::permit;
template <>
inline constexpr match_policy last_of<match_policy> = match_policy::once_satisfied;
template <>
inline constexpr disruption_mode last_of<disruption_mode> = disruption_mode::surplus;
template <>
inline constexpr domain_choice last_of<domain_choice> = domain_choice::balanced;
template <>
inline constexpr full_domain last_of<full_domain> = full_domain::move;
template <>
inline constexpr dependency_state last_of<dependency_state> = dependency_state::done;
template <>
inline constexpr queue_state last_of<queue_state> = queue_state::drain;
template <>
inline constexpr queue_preemption last_of<queue_preemption> = queue_preemption::lower_or_newer_equal_priority;
template <>
inline constexpr queue_reclaim last_of<queue_reclaim> = queue_reclaim::any;
template <>
inline constexpr head_rule last_of<head_rule> = head_rule::strict;
template <>
inline constexpr tie_rule last_of<tie_rule> = tie_rule::kube_heap;
template <>
inline constexpr wake_rule last_of<wake_rule> = wake_rule::hints;
template <>
inline constexpr timer_rule last_of<timer_rule> = timer_rule::by_host;
template <>
inline constexpr hold_rule last_of<hold_rule> = hold_rule::timers_only;
template <>
inline constexpr backfill_rule last_of<backfill_rule> = backfill_rule::conservative;
template <>
inline constexpr kube_release last_of<kube_release> = kube_release::v1_37;
template <>
inline constexpr quantity_format last_of<quantity_format> = quantity_format::decimal_exponent;
template <>
inline constexpr decision_kind last_of<decision_kind> = decision_kind::revoke;
template <>
inline constexpr device_grant::form last_of<device_grant::form> = device_grant::form::capacity;
template <>
inline constexpr errc last_of<errc> = errc::contract;
template <>
inline constexpr bind_attempt last_of<bind_attempt> = static_cast<bind_attempt>(~std::uint64_t{0});

}  // namespace gangsched::inline GANGSCHED_ABI::record
