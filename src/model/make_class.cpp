#include "gangsched/model/make_class.hpp"

#include <algorithm>

#include "gangsched/core/is_among.hpp"
#include "gangsched/model/canonical_class.hpp"
#include "gangsched/model/node_selector.hpp"
#include "gangsched/model/service_class.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

GANGSCHED_INLINE node_requirement to_requirement(interner& names, const selector_requirement& from) {
  node_requirement made{names.intern(from.key), from.op, {}, std::nullopt};
  for (const std::string& value : from.values) made.values.push_back(names.intern(value));
  if (from.op == selector_operator::gt || from.op == selector_operator::lt)
    made.bound = selector_number(from.values.front());
  return made;
}

GANGSCHED_INLINE void add_ports(interner& names, const container& from, std::vector<host_port>& out) {
  for (const container_port& port : from.ports) {
    if (port.host_port == 0) continue;
    const bool wildcard = port.host_ip.empty() || port.host_ip == "0.0.0.0";
    out.push_back(
        {port.protocol, static_cast<std::uint16_t>(port.host_port), wildcard ? symbol{} : names.intern(port.host_ip)});
  }
}

/// match_label_keys come down to requirements of the selector with the pod's own values (podtopologyspread/common.go).
GANGSCHED_INLINE std::vector<topology_spread> resolved_spread(const pod_spec& spec) {
  std::vector<topology_spread> made = spec.topology_spread_constraints;
  for (topology_spread& one : made) {
    for (const std::string& key : one.match_label_keys) {
      const auto label = spec.labels.find(key);
      if (label == spec.labels.end() || !one.selector) continue;
      one.selector->match_expressions.push_back({key, selector_operator::in, {label->second}});
    }
    one.match_label_keys.clear();
  }
  return made;
}

GANGSCHED_INLINE volume_needs to_needs(interner& names, const pod_volumes& volumes) {
  volume_needs made;
  made.unbound_claims = volumes.unbound_claims;
  made.disks = !volumes.disks.empty() || !volumes.exclusive_claims.empty();
  made.attachments = !volumes.attachments.empty();
  const auto sorted = [&](const std::vector<std::string>& texts) {
    std::vector<symbol> all;
    for (const std::string& text : texts) all.push_back(names.intern(text));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  if (volumes.nodes) made.nodes = sorted(*volumes.nodes);
  if (volumes.bindable_nodes) made.bindable_nodes = sorted(*volumes.bindable_nodes);
  if (!volumes.claim_problem.empty()) made.claim_problem = names.intern(volumes.claim_problem);
  for (const volume_zone& zone : volumes.zones) made.zones.push_back({names.intern(zone.key), sorted(zone.values)});
  return made;
}

/// What kubelets align of each container. Sums of them were found to fit into integers.
GANGSCHED_INLINE void add_containers(model::cluster_state& state, const pod_spec& spec, pod_class& made) {
  // Kubelet's CPU and memory managers leave pods with resources of their own alone (PodLevelResourceManagers is off in 1.36).
  const bool guaranteed = spec.guaranteed && (!spec.resources || spec.resources->empty());
  const bool binds = spec.bind_cpus.policy != cpu_bind_policy::none;
  if (!guaranteed && !binds && !made.requests_others() && made.devices.empty()) return;
  made.guaranteed = guaranteed;
  made.bind_cpus = binds ? spec.bind_cpus : cpu_binding{};
  const auto add = [&](const container& from, container_kind kind) {
    container_needs& one = made.containers.emplace_back(container_needs{kind, {}});
    const auto amounts = to_integers(from.requests, "pod", "containers");
    if (!amounts) return;
    for (const amount& each : to_amounts(state, *amounts)) {
      const bool own = each.kind == kinds::cpu || each.kind == kinds::memory;
      if (own ? guaranteed || binds : each.kind >= kinds::first_other) one.requests.push_back(each);
    }
  };
  for (const container& one : spec.init_containers)
    add(one, one.sidecar ? container_kind::sidecar : container_kind::init);
  for (const container& one : spec.containers) add(one, container_kind::app);
}

/// Amounts that plugins which go by load read. They were found to fit into integers.
GANGSCHED_INLINE std::vector<amount> bounded_amounts(model::cluster_state& state, const resource_list& list) {
  std::vector<amount> made;
  for (const auto& [name, value] : list) {
    const bool own = name == "cpu" || name == "memory" || name.find("kubernetes.io/") != std::string::npos;
    std::int64_t integer = 0;
    if (own && (name == "cpu" ? value.milli_value(integer) : value.value(integer)))
      made.push_back({state.kinds.number(name), integer});
  }
  return made;  // in the order of names, as those of a class are
}

/// Whether what containers are bound by follows from what the pod requests.
GANGSCHED_INLINE bool bounds_follow(const pod_spec& spec) {
  if (spec.containers.size() > 1 || !spec.init_containers.empty() || !spec.overhead.empty() || spec.resources)
    return false;
  if (spec.containers.empty()) return true;
  const container& only = spec.containers.front();
  return only.limits.empty() && std::none_of(only.requests.begin(), only.requests.end(),
                                             [](const auto& one) { return one.second == quantity{}; });
}

GANGSCHED_INLINE void add_bounds(model::cluster_state& state, const pod_spec& spec, pod_class& made) {
  if (bounds_follow(spec)) return;
  const auto add = [&](const container& from, container_kind kind) {
    made.bounds.push_back({kind, bounded_amounts(state, from.requests), bounded_amounts(state, from.limits)});
  };
  for (const container& one : spec.init_containers)
    add(one, one.sidecar ? container_kind::sidecar : container_kind::init);
  for (const container& one : spec.containers) add(one, container_kind::app);
  made.overhead = bounded_amounts(state, spec.overhead);
}

/// Resources that the spec requests 0 of somewhere, ascending.
GANGSCHED_INLINE std::vector<std::string> requested_zeros(const pod_spec& spec) {
  std::vector<std::string> found;
  const auto look = [&](const resource_list& all) {
    for (const auto& [name, value] : all)
      if (value == quantity{}) found.push_back(name);
  };
  for (const auto* const all : {&spec.containers, &spec.init_containers})
    for (const container& one : *all) look(one.requests);
  look(spec.overhead);
  if (spec.resources) look(*spec.resources);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

GANGSCHED_INLINE void add_reservation(model::cluster_state& state, const pod_spec& spec, pod_class& made) {
  if (spec.reservation_affinity)
    made.reservation_affinity = std::make_shared<const reservation_affinity>(*spec.reservation_affinity);
  made.exact_reservation = spec.exact_reservation;
  made.ignores_reservations = spec.ignores_reservations;
  if (spec.reservation || !spec.exact_reservation.empty()) made.requests_none = requested_zeros(spec);
  if (!spec.reservation) {
    made.owned = state.reserved.owned_by(spec.ns, spec.name, spec.labels, spec.controller);
    return;
  }
  auto terms = std::make_shared<reservation_terms>(reservation_terms{*spec.reservation, {}});
  if (terms->spec.policy == allocate_policy::restricted) {
    for (const amount& one : made.requests) {
      const std::vector<std::string>& named = terms->spec.restricted;
      if (named.empty() || is_among(state.kinds.name(one.kind), named)) terms->restricted.push_back(one.kind);
    }
    if (terms->restricted.empty())  // it requests none of those (GetReservationRestrictedResources)
      for (const amount& one : made.requests) terms->restricted.push_back(one.kind);
  }
  made.reserves = std::move(terms);
}

}  // namespace detail

GANGSCHED_INLINE std::vector<label_symbols> to_symbols(interner& names, const label_map& labels) {
  std::vector<label_symbols> made;
  made.reserve(labels.size());
  for (const auto& [key, value] : labels) made.push_back({names.intern(key), names.intern(value)});
  std::sort(made.begin(), made.end(), [](const label_symbols& a, const label_symbols& b) { return a.key < b.key; });
  return made;
}

GANGSCHED_INLINE std::vector<amount> to_amounts(model::cluster_state& state, const integer_resources& resources) {
  std::vector<amount> made;
  made.reserve(resources.size());
  for (const auto& [name, value] : resources) {
    if (value != 0) made.push_back({state.kinds.number(name), value});
  }
  // The others stay in the order of their names, because their numbers depend on the order of first use.
  const auto place = [](const amount& one) { return std::min(one.kind, kinds::first_other); };
  std::stable_sort(made.begin(), made.end(), [&](const amount& a, const amount& b) { return place(a) < place(b); });
  return made;
}

GANGSCHED_INLINE node_term to_term(interner& names, const node_selector_term& term) {
  node_term made;
  for (const selector_requirement& one : term.match_expressions) {
    made.expressions.push_back(detail::to_requirement(names, one));
    made.broken |= !parses(one);
  }
  for (const selector_requirement& one : term.match_fields) made.fields.push_back(detail::to_requirement(names, one));
  return made;
}

GANGSCHED_INLINE std::string normalised_image(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  const std::size_t slash = name.rfind('/');
  const bool tagged = colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return tagged ? std::string{name} : std::string{name} + ":latest";
}

GANGSCHED_INLINE class_id make_class(model::cluster_state& state, const pod_spec& spec, const pod_requests& requests,
                                     std::int32_t priority, preemption_policy preemption) {
  interner& names = state.names;
  pod_class made;
  made.ns = names.intern(spec.ns);
  made.scheduler_name = names.intern(spec.scheduler_name);
  made.required_node = names.intern(spec.required_node);
  made.held_room = names.intern(spec.held_room);
  made.priority = priority;
  made.band = band_of(spec, priority);
  made.qos = qos_of(spec);
  made.preemption = preemption;
  made.requests = to_amounts(state, requests.requests);
  made.score_requests = to_amounts(state, requests.for_scoring);
  made.scored_cpu = requests.scored_cpu;
  made.scored_memory = requests.scored_memory;
  made.devices = make_demands(spec.devices, names);
  state.devices.ask_host(spec.devices);
  made.device_matches = make_matches(spec.device_constraints, spec.devices, names);
  made.claims = spec.resource_claims;
  detail::add_containers(state, spec, made);
  detail::add_bounds(state, spec, made);
  made.of_daemon_set = spec.controller.kind == controller_kind::daemon_set;
  if (spec.load != load_estimate{}) made.load = std::make_shared<const load_estimate>(spec.load);
  for (const toleration& from : spec.tolerations) {
    made.tolerations.push_back({names.intern(from.key), names.intern(from.value), from.op, from.effect});
  }
  made.node_selector = to_symbols(names, spec.node_selector);
  if (spec.affinity.required) {
    made.required_nodes.emplace();
    for (const node_selector_term& term : *spec.affinity.required) made.required_nodes->push_back(to_term(names, term));
  }
  for (const preferred_node_term& from : spec.affinity.preferred) {
    made.preferred_nodes.push_back({from.weight, to_term(names, from.term)});
  }
  for (const std::string& one : spec.required_features) made.required_features.push_back(names.intern(one));
  std::sort(made.required_features.begin(), made.required_features.end());
  made.required_features.erase(std::unique(made.required_features.begin(), made.required_features.end()),
                               made.required_features.end());
  const auto add_image = [&](const std::string& image) {
    if (!image.empty()) made.images.push_back(names.intern(normalised_image(image)));
  };
  for (const container& one : spec.init_containers) {
    if (one.sidecar) detail::add_ports(names, one, made.ports);
    add_image(one.image);
  }
  for (const container& one : spec.containers) {
    detail::add_ports(names, one, made.ports);
    add_image(one.image);
  }
  for (const std::string& image : spec.image_volumes) add_image(image);
  made.image_containers = static_cast<std::uint32_t>(spec.init_containers.size() + spec.containers.size());
  made.volumes = detail::to_needs(names, spec.volumes);
  made.affinity_to_pods = spec.affinity_to_pods;
  made.anti_affinity_to_pods = spec.anti_affinity_to_pods;
  made.spread = detail::resolved_spread(spec);
  detail::add_reservation(state, spec, made);
  made.key.reserve(512);
  canonical::append(made.key, made);
  made.key_prefix = made.key.size();
  if (!state.counting.default_spread.empty() && made.spread.empty()) {
    made.default_selector = state.counting.default_selector(made.ns, spec.labels, spec.controller);
  }
  state.counting.name_counters(made);
  state.counting.match_counters(made, state.counters.matching(made.ns, spec.labels, state.named.labels_of(made.ns)));
  return state.classes.intern(std::move(made), &spec);
}

}  // namespace gangsched::inline GANGSCHED_ABI
