#include "gangsched/src/c/specs.hpp"

#include "gangsched/src/c/devices.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {

result<node_spec> read_spec(const gangsched_node_spec& given) {
  const auto read = sized(&given);
  if (!read) return wrong_struct("node", given);
  const gangsched_node_spec& from = *read;
  copier copy{"node", nullptr, from.name};
  node_spec made;
  made.name = text(from.name);
  made.labels = copy.pairs(from.labels, "labels");
  made.taints = copy.taints(from.taints, from.taint_count);
  made.allocatable = copy.amounts(from.allocatable, "allocatable");
  if (copy.there(from.volume_limits.items, from.volume_limits.count, "volume_limits")) {
    for (std::size_t i = 0; i < from.volume_limits.count; ++i) {
      const gangsched_amount& one = from.volume_limits.items[i];
      const quantity limit = copy.amount(one, "volume_limits");
      std::int64_t number = 0;
      if (!limit.value(number) || limit != quantity{number} || number < 0 || number > INT32_MAX)
        copy.fail(errc::out_of_range, "volume_limits[" + std::string{text(one.resource)} + "]",
                  "is no number of volumes");
      else if (!made.volume_limits.insert({std::string{text(one.resource)}, static_cast<std::int32_t>(number)}).second)
        copy.fail(errc::duplicate, "volume_limits", "\"" + std::string{text(one.resource)} + "\" is there twice");
    }
  }
  if (copy.there(from.images, from.image_count, "images"))
    for (std::size_t i = 0; i < from.image_count; ++i)
      made.images.push_back({copy.texts(from.images[i].names, "images"), from.images[i].size_bytes});
  made.declared_features = copy.texts(from.declared_features, "declared_features");
  made.unschedulable = from.unschedulable;
  made.cookie = from.cookie;
  if (from.devices != nullptr) made.devices = read_devices(copy, *from.devices);
  return copy.done(std::move(made));
}

result<pod_spec> read_spec(const gangsched_pod_spec& given) {
  const auto read = sized(&given);
  if (!read) return wrong_struct("pod", given);
  const gangsched_pod_spec& from = *read;
  pod_spec made;
  made.name = text(from.name);
  made.ns = ns_of(from.ns);
  copier copy{"pod", made.ns.c_str(), from.name};
  made.labels = copy.pairs(from.labels, "labels");
  made.containers = copy.containers(from.containers, from.container_count, "containers");
  made.init_containers = copy.containers(from.init_containers, from.init_container_count, "init_containers");
  if (from.resources != nullptr) made.resources = copy.amounts(*from.resources, "resources");
  made.overhead = copy.amounts(from.overhead, "overhead");
  made.node_selector = copy.pairs(from.node_selector, "node_selector");
  const place affinity{"affinity"}, required_nodes{affinity, "required"}, preferred_nodes{affinity, "preferred"};
  const bool node_terms = copy.there(from.node_terms, from.node_term_count, required_nodes);
  if (node_terms || from.has_node_terms) {
    auto& required = made.affinity.required.emplace();
    for (std::size_t i = 0; node_terms && i < from.node_term_count; ++i)
      required.push_back(copy.term(from.node_terms[i], {required_nodes, i}));
  }
  if (copy.there(from.preferred_nodes, from.preferred_node_count, preferred_nodes))
    for (std::size_t i = 0; i < from.preferred_node_count; ++i)
      made.affinity.preferred.push_back(
          {from.preferred_nodes[i].weight, copy.term(from.preferred_nodes[i], {preferred_nodes, i})});
  copy.terms(from.near, from.prefer_near, made.affinity_to_pods, "affinity_to_pods");
  copy.terms(from.apart, from.prefer_apart, made.anti_affinity_to_pods, "anti_affinity_to_pods");
  made.tolerations = copy.tolerations(from.tolerations, from.toleration_count);
  const place spread{"topology_spread_constraints"};
  if (copy.there(from.spread, from.spread_count, spread)) {
    for (std::size_t i = 0; i < from.spread_count; ++i) {
      const gangsched_spread& one = from.spread[i];
      topology_spread& to = made.topology_spread_constraints.emplace_back();
      to.topology_key = text(one.topology_key);
      if (one.max_skew != 0) to.max_skew = one.max_skew;
      if (one.min_domains != 0) to.min_domains = one.min_domains;
      if (one.schedule_anyway) to.action = when_unsatisfiable::schedule_anyway;
      to.selector = copy.selector(one.selector, {place{spread, i}, "selector"});
      if (one.ignore_node_affinity) to.node_affinity_policy = node_inclusion::ignore;
      if (one.honor_node_taints) to.node_taints_policy = node_inclusion::honor;
      to.match_label_keys = copy.texts(one.match_label_keys, {place{spread, i}, "match_label_keys"});
    }
  }
  if (from.has_priority) made.priority = from.priority;
  made.priority_class = text(from.priority_class);
  copy.pick(from.preemption, preemption_policy::never, made.preemption, "preemption");
  if (!text(from.scheduler_name).empty()) made.scheduler_name = text(from.scheduler_name);
  made.scheduling_gates = copy.texts(from.scheduling_gates, "scheduling_gates");
  made.required_features = copy.texts(from.required_features, "required_features");
  made.group = of(from.group);
  made.role = text(from.role);
  if (from.has_rank) made.rank = from.rank;
  made.queue = text(from.queue);
  made.held_room = text(from.held_room);
  made.node = of(from.node);
  made.nominated_node = of(from.nominated_node);
  made.draws_from = of(from.draws_from);
  made.terminating = from.terminating;
  made.preempted = from.preempted;
  made.guaranteed = from.guaranteed;
  if (from.has_start_time) made.start_time = instant{from.start_time};
  made.expected_run_time = instant{from.expected_run_time};
  if (from.has_deadline) made.deadline = instant{from.deadline};
  made.max_wait = instant{from.max_wait};
  if (from.load_cpu_percent != 0) made.load.cpu_percent = from.load_cpu_percent;
  if (from.load_memory_percent != 0) made.load.memory_percent = from.load_memory_percent;
  if (from.has_load_after_scheduled) made.load.after_scheduled = instant{from.load_after_scheduled};
  if (from.has_load_after_initialized) made.load.after_initialized = instant{from.load_after_initialized};
  copy.pick(from.controller_kind, controller_kind::daemon_set, made.controller.kind, "controller");
  made.controller.name = text(from.controller_name);
  made.cookie = from.cookie;
  made.devices = read_requests(copy, from.devices, from.device_count, "devices");
  made.device_constraints = read_constraints(copy, from.device_constraints, from.device_constraint_count);
  if (copy.there(from.resource_claims, from.resource_claim_count, "resource_claims"))
    for (std::size_t i = 0; i < from.resource_claim_count; ++i)
      made.resource_claims.push_back(of(from.resource_claims[i]));
  made.held_devices = read_held_devices(copy, from.held_devices, from.held_device_count);
  if (from.volumes != nullptr) made.volumes = read_volumes(copy, *from.volumes);
  made.image_volumes = copy.texts(from.image_volumes, "image_volumes");
  copy.pick(from.cpu_bind, cpu_bind_policy::spread_by_pcpus, made.bind_cpus.policy, "cpu_bind");
  made.bind_cpus.required = from.cpu_bind_required;
  copy.pick(from.cpu_exclusive, cpu_exclusive_policy::numa_node_level, made.bind_cpus.exclusive, "cpu_exclusive");
  return copy.done(std::move(made));
}

result<group_spec> read_spec(const gangsched_group_spec& given) {
  const auto read = sized(&given);
  if (!read) return wrong_struct("group", given);
  const gangsched_group_spec& from = *read;
  group_spec made;
  made.name = text(from.name);
  made.ns = ns_of(from.ns);
  copier copy{"group", made.ns.c_str(), from.name};
  if (from.min_count < 0) copy.fail(errc::out_of_range, "min_count", "is negative");
  if (from.min_count > 0) {
    gang policy{.min_count = from.min_count};
    if (from.desired_count != 0) policy.desired_count = from.desired_count;
    if (from.max_count != 0) policy.max_count = from.max_count;
    if (copy.there(from.roles, from.role_count, "roles"))
      for (std::size_t i = 0; i < from.role_count; ++i)
        policy.roles.push_back({std::string{text(from.roles[i].name)}, from.roles[i].min_count});
    copy.pick(from.mode, gang_mode::permit, policy.mode, "mode");
    if (from.timeout != 0) policy.timeout = instant{from.timeout};
    policy.atomic = from.atomic;
    policy.strict = from.strict;
    made.policy = std::move(policy);
  } else if (from.desired_count != 0 || from.max_count != 0 || from.role_count != 0) {
    copy.fail(errc::malformed, "min_count", "is 0, and other counts are not: they are a gang's");
  }
  made.composite = from.composite;
  made.parent = of(from.parent);
  made.workload = text(from.workload);
  if (from.has_priority) made.priority = from.priority;
  made.queue = text(from.queue);
  made.topology.within = copy.texts(from.within, "within");
  made.topology.or_anywhere = from.or_anywhere;
  if (copy.there(from.slices, from.slice_count, "slices"))
    for (std::size_t i = 0; i < from.slice_count; ++i)
      made.topology.slices.push_back({std::string{text(from.slices[i].key)}, from.slices[i].size});
  made.topology.spread_key = text(from.spread_key);
  made.topology.spread_most = from.spread_most;
  copy.pick(from.choice, domain_choice::balanced, made.topology.choice, "choice");
  if (from.moves_when_full) made.topology.when_full = full_domain::move;
  copy.pick(from.disruption, disruption_mode::surplus, made.disruption, "disruption");
  if (from.has_deadline) made.deadline = instant{from.deadline};
  made.max_wait = instant{from.max_wait};
  made.done = from.done;
  made.cookie = from.cookie;
  return copy.done(std::move(made));
}

result<queue_spec> read_spec(const gangsched_queue_spec& given) {
  const auto read = sized(&given);
  if (!read) return wrong_struct("queue", given);
  const gangsched_queue_spec& from = *read;
  copier copy{"queue", nullptr, from.name};
  queue_spec made;
  made.name = text(from.name);
  made.parent = text(from.parent);
  if (copy.there(from.quotas, from.quota_count, "quotas")) {
    for (std::size_t i = 0; i < from.quota_count; ++i) {
      const gangsched_quota& one = from.quotas[i];
      queue_quota& to = made.quotas.emplace_back();
      to.flavor = text(one.flavor);
      to.guaranteed = copy.amounts(one.guaranteed, "guaranteed");
      to.limit = copy.amounts(one.limit, "limit");
      to.borrowing_limit = copy.amounts(one.borrowing_limit, "borrowing_limit");
      to.lending_limit = copy.amounts(one.lending_limit, "lending_limit");
    }
  }
  if (from.weight != 0) made.weight = from.weight;
  made.priority = from.priority;
  copy.pick(from.state, queue_state::drain, made.state, "state");
  if (from.strict) made.heads = head_rule::strict;
  if (from.within_queue != 0)
    copy.pick(from.within_queue - 1, queue_preemption::lower_or_newer_equal_priority, made.within_queue,
              "within_queue");
  if (from.reclaim != 0) copy.pick(from.reclaim - 1, queue_reclaim::any, made.reclaim, "reclaim");
  made.namespaces = copy.texts(from.namespaces, "namespaces");
  if (from.has_max_running) made.max_running = from.max_running;
  made.cookie = from.cookie;
  return copy.done(std::move(made));
}

result<flavor_spec> read_spec(const gangsched_flavor_spec& given) {
  const auto read = sized(&given);
  if (!read) return wrong_struct("flavor", given);
  copier copy{"flavor", nullptr, read->name};
  flavor_spec made;
  made.name = text(read->name);
  made.node_labels = copy.pairs(read->node_labels, "node_labels");
  made.taints = copy.taints(read->taints, read->taint_count);
  made.tolerations = copy.tolerations(read->tolerations, read->toleration_count);
  return copy.done(std::move(made));
}

result<priority_class_spec> read_spec(const gangsched_priority_class_spec& given) {
  const auto read = sized(&given);
  if (!read) return wrong_struct("priority class", given);
  copier copy{"priority class", nullptr, read->name};
  priority_class_spec made;
  made.name = text(read->name);
  made.value = read->value;
  made.global_default = read->global_default;
  copy.pick(read->preemption, preemption_policy::never, made.preemption, "preemption");
  return copy.done(std::move(made));
}

result<resource_claim_spec> read_spec(const gangsched_resource_claim_spec& given) {
  const auto read = sized(&given);
  if (!read) return wrong_struct("resource claim", given);
  resource_claim_spec made;
  made.name = text(read->name);
  made.ns = ns_of(read->ns);
  copier copy{"resource claim", made.ns.c_str(), read->name};
  made.devices = read_requests(copy, read->devices, read->device_count, "devices");
  made.constraints = read_constraints(copy, read->constraints, read->constraint_count);
  if (read->has_most_pods) made.most_pods = read->most_pods;
  made.held_devices = read_held_devices(copy, read->held_devices, read->held_device_count);
  made.node = of(read->node);
  return copy.done(std::move(made));
}

result<resource_list> read_allocatable(std::string_view node, const gangsched_amounts& amounts) {
  const std::string name{node};
  copier copy{"node", nullptr, name.c_str()};
  return copy.done(copy.amounts(amounts, "allocatable"));
}

result<namespace_spec> read_namespace(const char* name, const gangsched_pairs& labels) {
  copier copy{"namespace", nullptr, name};
  return copy.done(namespace_spec{std::string{text(name)}, copy.pairs(labels, "labels")});
}

}  // namespace gangsched::inline GANGSCHED_ABI::c
