#include "gangsched/src/c/specs.hpp"

#include "gangsched/src/c/handles.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

/// Copies what a struct points to; the first thing that is wrong is kept, and the rest is read as if it were not there.
class copier {
 public:
  copier(const char* kind, const char* ns, const char* name) : kind_(kind), ns_(text(ns)), name_(text(name)) {}

  template <class Spec>
  result<Spec> done(Spec&& made) {
    if (wrong_) return *std::move(wrong_);
    return std::forward<Spec>(made);
  }

  void fail(errc code, std::string field, std::string reason) {
    if (wrong_) return;
    std::string object = std::string{kind_} + " ";
    if (!ns_.empty()) (object += ns_) += "/";
    wrong_ = error{code, object.append(name_), std::move(field), std::move(reason)};
  }

  /// Whether @p items may be read: something is there if something is counted.
  template <class Item>
  bool there(const Item* items, std::size_t count, const char* field) {
    if (items != nullptr || count == 0) return count != 0;
    fail(errc::malformed, field, "is null, and not empty");
    return false;
  }

  /// Calls visit(element, its place in words) for each struct of an array, whose elements have the size that the first one says.
  template <class Struct, class Visit>
  void each_sized(const Struct* items, std::size_t count, const char* field, Visit&& visit) {
    if (!there(items, count, field)) return;
    const std::size_t stride = items->struct_size;
    const auto* at = reinterpret_cast<const unsigned char*>(items);
    for (std::size_t i = 0; i < count; ++i, at += stride) {
      const auto one = sized(reinterpret_cast<const Struct*>(at), stride);
      if (!one)
        return fail(errc::malformed, std::string{field} + "[0].struct_size", "is not what the library can read");
      visit(*one);
    }
  }

  template <class Enum>
  void pick(std::int32_t from, Enum last, Enum& into, const char* field) {
    if (from < 0 || from > static_cast<std::int32_t>(last))
      return fail(errc::out_of_range, field, std::to_string(from) + " is none of them");
    into = static_cast<Enum>(from);
  }

  label_map pairs(const gangsched_pairs& from, const char* field) {
    label_map made;
    if (!there(from.items, from.count, field)) return made;
    made.reserve(from.count);
    for (std::size_t i = 0; i < from.count; ++i) {
      const gangsched_pair& one = from.items[i];
      if (!made.insert({std::string{text(one.key)}, std::string{text(one.value)}}).second)
        fail(errc::duplicate, field, "\"" + std::string{text(one.key)} + "\" is there twice");
    }
    return made;
  }

  std::vector<std::string> texts(const gangsched_texts& from, const char* field) {
    std::vector<std::string> made;
    if (!there(from.items, from.count, field)) return made;
    made.reserve(from.count);
    for (std::size_t i = 0; i < from.count; ++i) made.emplace_back(text(from.items[i]));
    return made;
  }

  quantity amount(const gangsched_amount& from, const char* field) {
    const auto place = [&] { return std::string{field} + "[" + std::string{text(from.resource)} + "]"; };
    if (from.quantity != nullptr) {
      auto parsed = quantity::parse(from.quantity);
      if (parsed) return *parsed;
      fail(parsed.error().code, place(), "\"" + std::string{from.quantity} + "\" " + parsed.error().reason);
      return {};
    }
    constexpr std::int32_t least = -9, most = 18;
    if (from.scale == 0) return from.value;
    if (from.scale < least || from.scale > most) {
      fail(errc::out_of_range, place(), "a scale of " + std::to_string(from.scale) + ", not from -9 to 18");
      return {};
    }
    quantity::nanos_t nanos = from.value;
    for (std::int32_t power = least; power < from.scale; ++power) {
      if (!__builtin_mul_overflow(nanos, quantity::nanos_t{10}, &nanos)) continue;
      fail(errc::out_of_range, place(), "is more than a quantity can be");
      return {};
    }
    return quantity::from_nanos(nanos);
  }

  resource_list amounts(const gangsched_amounts& from, const char* field) {
    resource_list made;
    if (!there(from.items, from.count, field)) return made;
    made.reserve(from.count);
    for (std::size_t i = 0; i < from.count; ++i) {
      const gangsched_amount& one = from.items[i];
      if (!made.insert({std::string{text(one.resource)}, amount(one, field)}).second)
        fail(errc::duplicate, field, "\"" + std::string{text(one.resource)} + "\" is there twice");
    }
    return made;
  }

  std::vector<taint> taints(const gangsched_taint* from, std::size_t count) {
    std::vector<taint> made;
    if (!there(from, count, "taints")) return made;
    for (std::size_t i = 0; i < count; ++i) {
      taint& one = made.emplace_back(taint{std::string{text(from[i].key)}, std::string{text(from[i].value)}});
      if (from[i].effect != 0) pick(from[i].effect - 1, taint_effect::no_execute, one.effect, "taints.effect");
    }
    return made;
  }

  std::vector<toleration> tolerations(const gangsched_toleration* from, std::size_t count) {
    std::vector<toleration> made;
    if (!there(from, count, "tolerations")) return made;
    for (std::size_t i = 0; i < count; ++i) {
      toleration& one = made.emplace_back();
      one.key = text(from[i].key);
      one.value = text(from[i].value);
      if (from[i].exists) one.op = toleration_operator::exists;
      if (from[i].effect != 0)
        pick(from[i].effect - 1, taint_effect::no_execute, one.effect.emplace(), "tolerations.effect");
    }
    return made;
  }

  std::vector<selector_requirement> requirements(const gangsched_requirements& from, const char* field) {
    std::vector<selector_requirement> made;
    if (!there(from.items, from.count, field)) return made;
    for (std::size_t i = 0; i < from.count; ++i) {
      selector_requirement& one = made.emplace_back();
      one.key = text(from.items[i].key);
      pick(from.items[i].op, selector_operator::lt, one.op, field);
      one.values = texts(from.items[i].values, field);
    }
    return made;
  }

  std::optional<label_selector> selector(const gangsched_selector* from, const char* field) {
    if (from == nullptr) return std::nullopt;
    return label_selector{pairs(from->match_labels, field), requirements(from->match_expressions, field)};
  }

  node_selector_term term(const gangsched_node_term& from) {
    return {requirements(from.match_expressions, "affinity.match_expressions"),
            requirements(from.match_fields, "affinity.match_fields")};
  }

  pod_affinity_term term(const gangsched_pod_term& from, const char* field) {
    return {std::string{text(from.topology_key)}, selector(from.selector, field), texts(from.namespaces, field),
            selector(from.namespace_selector, field)};
  }
  void terms(const gangsched_pod_terms& required, const gangsched_pod_terms& preferred, pod_affinity& into,
             const char* field) {
    if (there(required.items, required.count, field))
      for (std::size_t i = 0; i < required.count; ++i) into.required.push_back(term(required.items[i], field));
    if (there(preferred.items, preferred.count, field))
      for (std::size_t i = 0; i < preferred.count; ++i)
        into.preferred.push_back({preferred.items[i].weight, term(preferred.items[i], field)});
  }

  std::vector<container> containers(const gangsched_container* from, std::size_t count, const char* field) {
    std::vector<container> made;
    each_sized(from, count, field, [&](const gangsched_container& one) {
      container& to = made.emplace_back();
      to.requests = amounts(one.requests, field);
      to.limits = amounts(one.limits, field);
      to.image = text(one.image);
      to.sidecar = one.sidecar;
      if (!there(one.ports, one.port_count, field)) return;
      for (std::size_t i = 0; i < one.port_count; ++i) {
        container_port& port = to.ports.emplace_back();
        port.host_port = one.ports[i].host_port;
        port.host_ip = text(one.ports[i].host_ip);
        pick(one.ports[i].protocol, protocol::sctp, port.protocol, field);
      }
    });
    return made;
  }

 private:
  const char* kind_;
  std::string_view ns_, name_;
  std::optional<error> wrong_;
};

template <class Spec>
error wrong_struct(const char* kind, const Spec&) {
  return {errc::malformed, kind, "struct_size", "is not what this version of the library can read"};
}

}  // namespace

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
      if (one.value < 0 || one.value > INT32_MAX)
        copy.fail(errc::out_of_range, "volume_limits", "is no number of volumes");
      else
        made.volume_limits.insert_or_assign(std::string{text(one.resource)}, static_cast<std::int32_t>(one.value));
    }
  }
  if (copy.there(from.images, from.image_count, "images"))
    for (std::size_t i = 0; i < from.image_count; ++i)
      made.images.push_back({copy.texts(from.images[i].names, "images"), from.images[i].size_bytes});
  made.unschedulable = from.unschedulable;
  made.cookie = from.cookie;
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
  if (copy.there(from.node_terms, from.node_term_count, "affinity") || from.has_node_terms) {
    auto& required = made.affinity.required.emplace();
    for (std::size_t i = 0; i < from.node_term_count; ++i) required.push_back(copy.term(from.node_terms[i]));
  }
  if (copy.there(from.preferred_nodes, from.preferred_node_count, "affinity"))
    for (std::size_t i = 0; i < from.preferred_node_count; ++i)
      made.affinity.preferred.push_back({from.preferred_nodes[i].weight, copy.term(from.preferred_nodes[i])});
  copy.terms(from.near, from.prefer_near, made.affinity_to_pods, "affinity_to_pods");
  copy.terms(from.apart, from.prefer_apart, made.anti_affinity_to_pods, "anti_affinity_to_pods");
  made.tolerations = copy.tolerations(from.tolerations, from.toleration_count);
  if (copy.there(from.spread, from.spread_count, "topology_spread_constraints")) {
    for (std::size_t i = 0; i < from.spread_count; ++i) {
      const gangsched_spread& one = from.spread[i];
      topology_spread& to = made.topology_spread_constraints.emplace_back();
      to.topology_key = text(one.topology_key);
      if (one.max_skew != 0) to.max_skew = one.max_skew;
      if (one.min_domains != 0) to.min_domains = one.min_domains;
      if (one.schedule_anyway) to.action = when_unsatisfiable::schedule_anyway;
      to.selector = copy.selector(one.selector, "topology_spread_constraints");
      if (one.ignore_node_affinity) to.node_affinity_policy = node_inclusion::ignore;
      if (one.honor_node_taints) to.node_taints_policy = node_inclusion::honor;
      to.match_label_keys = copy.texts(one.match_label_keys, "topology_spread_constraints");
    }
  }
  if (from.has_priority) made.priority = from.priority;
  made.priority_class = text(from.priority_class);
  copy.pick(from.preemption, preemption_policy::never, made.preemption, "preemption");
  if (!text(from.scheduler_name).empty()) made.scheduler_name = text(from.scheduler_name);
  made.scheduling_gates = copy.texts(from.scheduling_gates, "scheduling_gates");
  made.group = of(from.group);
  made.role = text(from.role);
  if (from.has_rank) made.rank = from.rank;
  made.queue = text(from.queue);
  made.held_room = text(from.held_room);
  made.node = of(from.node);
  made.nominated_node = of(from.nominated_node);
  made.terminating = from.terminating;
  made.preempted = from.preempted;
  made.guaranteed = from.guaranteed;
  if (from.has_start_time) made.start_time = instant{from.start_time};
  copy.pick(from.controller_kind, controller_kind::daemon_set, made.controller.kind, "controller");
  made.controller.name = text(from.controller_name);
  made.cookie = from.cookie;
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

result<namespace_spec> read_namespace(const char* name, const gangsched_pairs& labels) {
  copier copy{"namespace", nullptr, name};
  return copy.done(namespace_spec{std::string{text(name)}, copy.pairs(labels, "labels")});
}

}  // namespace gangsched::inline GANGSCHED_ABI::c
