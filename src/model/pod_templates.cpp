#include "gangsched/model/pod_templates.hpp"

#include <algorithm>
#include <cstring>

namespace gangsched::inline GANGSCHED_ABI::detail {

GANGSCHED_INLINE bool is_plain(const pod_spec& spec) noexcept {
  const pod_volumes& volumes = spec.volumes;
  return spec.device_constraints.empty() && spec.resource_claims.empty() && !volumes.unbound_claims && !volumes.nodes &&
         volumes.zones.empty() && volumes.disks.empty() && volumes.exclusive_claims.empty() &&
         volumes.attachments.empty() && !volumes.bindable_nodes && volumes.claim_problem.empty() && !spec.reservation &&
         !spec.reservation_affinity && spec.exact_reservation.empty() && !spec.ignores_reservations;
}

// The names before each comparison are all the fields there are: a new field must be added here.

GANGSCHED_INLINE bool alike(const container_port& a, const container_port& b) noexcept {
  const auto& [host_port, protocol, host_ip] = a;
  return host_port == b.host_port && protocol == b.protocol && host_ip == b.host_ip;
}
GANGSCHED_INLINE bool alike(const toleration& a, const toleration& b) noexcept {
  const auto& [key, op, value, effect] = a;
  return key == b.key && op == b.op && value == b.value && effect == b.effect;
}
GANGSCHED_INLINE bool alike(const attribute_selector& a, const attribute_selector& b) noexcept {
  const auto& [attribute, op, values] = a;
  return attribute == b.attribute && op == b.op && values == b.values;
}
GANGSCHED_INLINE bool alike(const container& a, const container& b) noexcept;
GANGSCHED_INLINE bool alike(const device_request& a, const device_request& b) noexcept;
GANGSCHED_INLINE bool alike(const selector_requirement& a, const selector_requirement& b) noexcept;
GANGSCHED_INLINE bool alike(const node_selector_term& a, const node_selector_term& b) noexcept;
GANGSCHED_INLINE bool alike(const preferred_node_term& a, const preferred_node_term& b) noexcept;
GANGSCHED_INLINE bool alike(const pod_affinity_term& a, const pod_affinity_term& b) noexcept;
GANGSCHED_INLINE bool alike(const preferred_pod_term& a, const preferred_pod_term& b) noexcept;
GANGSCHED_INLINE bool alike(const topology_spread& a, const topology_spread& b) noexcept;

template <class T>
bool all_alike(const std::vector<T>& a, const std::vector<T>& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& one, const T& other) { return alike(one, other); });
}

GANGSCHED_INLINE bool alike(const selector_requirement& a, const selector_requirement& b) noexcept {
  const auto& [key, op, values] = a;
  return op == b.op && key == b.key && values == b.values;
}
GANGSCHED_INLINE bool alike(const label_selector& a, const label_selector& b) noexcept {
  const auto& [match_labels, match_expressions] = a;
  return match_labels == b.match_labels && all_alike(match_expressions, b.match_expressions);
}
GANGSCHED_INLINE bool alike(const std::optional<label_selector>& a, const std::optional<label_selector>& b) noexcept {
  return a.has_value() == b.has_value() && (!a || alike(*a, *b));
}
GANGSCHED_INLINE bool alike(const node_selector_term& a, const node_selector_term& b) noexcept {
  const auto& [match_expressions, match_fields] = a;
  return all_alike(match_expressions, b.match_expressions) && all_alike(match_fields, b.match_fields);
}
GANGSCHED_INLINE bool alike(const preferred_node_term& a, const preferred_node_term& b) noexcept {
  const auto& [weight, term] = a;
  return weight == b.weight && alike(term, b.term);
}
GANGSCHED_INLINE bool alike(const node_affinity& a, const node_affinity& b) noexcept {
  const auto& [required, preferred] = a;
  return required.has_value() == b.required.has_value() && (!required || all_alike(*required, *b.required)) &&
         all_alike(preferred, b.preferred);
}
GANGSCHED_INLINE bool alike(const pod_affinity_term& a, const pod_affinity_term& b) noexcept {
  const auto& [topology_key, selector, namespaces, namespace_selector] = a;
  return topology_key == b.topology_key && alike(selector, b.selector) && namespaces == b.namespaces &&
         alike(namespace_selector, b.namespace_selector);
}
GANGSCHED_INLINE bool alike(const preferred_pod_term& a, const preferred_pod_term& b) noexcept {
  const auto& [weight, term] = a;
  return weight == b.weight && alike(term, b.term);
}
GANGSCHED_INLINE bool alike(const pod_affinity& a, const pod_affinity& b) noexcept {
  const auto& [required, preferred] = a;
  return all_alike(required, b.required) && all_alike(preferred, b.preferred);
}
GANGSCHED_INLINE bool alike(const topology_spread& a, const topology_spread& b) noexcept {
  const auto& [topology_key, max_skew, action, selector, min_domains, affinity_policy, taints_policy, label_keys] = a;
  return topology_key == b.topology_key && max_skew == b.max_skew && action == b.action &&
         alike(selector, b.selector) && min_domains == b.min_domains && affinity_policy == b.node_affinity_policy &&
         taints_policy == b.node_taints_policy && label_keys == b.match_label_keys;
}

GANGSCHED_INLINE bool alike(const container& a, const container& b) noexcept {
  const auto& [requests, image, ports, sidecar, limits] = a;
  return requests == b.requests && image == b.image && all_alike(ports, b.ports) && sidecar == b.sidecar &&
         limits == b.limits;
}

GANGSCHED_INLINE bool alike(const device_request& a, const device_request& b) noexcept {
  const auto& [name, device_class, count, milli, memory_mib, memory_percent, mig_profile, models, least_memory_mib,
               least_compute_capability, within, within_preferred, units, all, admin, selectors, expressions,
               capacities, beside_gpus, beside_preferred, first_of, container] = a;
  return device_class == b.device_class && count == b.count && milli == b.milli && memory_mib == b.memory_mib &&
         memory_percent == b.memory_percent && mig_profile == b.mig_profile && models == b.models &&
         least_memory_mib == b.least_memory_mib && least_compute_capability == b.least_compute_capability &&
         within == b.within && within_preferred == b.within_preferred && units == b.units && all == b.all &&
         admin == b.admin && all_alike(selectors, b.selectors) && expressions == b.expressions &&
         capacities == b.capacities && beside_gpus == b.beside_gpus && beside_preferred == b.beside_preferred &&
         all_alike(first_of, b.first_of) && container == b.container;
}

/// Everything that `check`, `requests_of` and `make_class` read of a plain pod, but for what `check_own` checks by itself. (Its queue,
/// which may be that of its group or namespace, comes to its class later.)
GANGSCHED_INLINE bool alike(const pod_spec& a, const pod_spec& b) noexcept {
  const auto& [name, ns, labels, containers, init_containers, image_volumes, volumes, resources, overhead, guaranteed,
               bind_cpus, devices, constraints, claims, held_devices, node_selector, affinity, affinity_to_pods,
               anti_affinity_to_pods, tolerations, spread, priority, priority_class, preemption, scheduler_name, gates,
               features, required_node, group, role, rank, node, nominated_node, queue, held_room, reservation,
               reservation_affinity, exact, ignores, draws_from, terminating, preempted, start_time, expected_run_time,
               deadline, max_wait, load, controller, cookie] = a;
  return ns == b.ns && labels == b.labels && all_alike(containers, b.containers) && all_alike(devices, b.devices) &&
         all_alike(init_containers, b.init_containers) && image_volumes == b.image_volumes &&
         resources == b.resources && overhead == b.overhead && guaranteed == b.guaranteed && bind_cpus == b.bind_cpus &&
         node_selector == b.node_selector && alike(affinity, b.affinity) &&
         alike(affinity_to_pods, b.affinity_to_pods) && alike(anti_affinity_to_pods, b.anti_affinity_to_pods) &&
         all_alike(spread, b.topology_spread_constraints) && all_alike(tolerations, b.tolerations) &&
         priority == b.priority && priority_class == b.priority_class && preemption == b.preemption &&
         scheduler_name == b.scheduler_name && features == b.required_features && required_node == b.required_node &&
         held_room == b.held_room && load == b.load && controller.kind == b.controller.kind &&
         controller.name == b.controller.name;
}

/// Of the fields in which pods of a cluster differ most: specs with the same hash are compared.
class template_hash {
 public:
  explicit template_hash(const pod_spec& spec) noexcept {
    add(spec.ns), add(spec.labels), add(spec.controller.name), add(spec.node_selector);
    for (const container& one : spec.containers) {
      for (const auto& [name, amount] : one.requests) add(static_cast<std::uint64_t>(amount.nanos()) + name.size());
    }
    for (const device_request& one : spec.devices) {
      add((static_cast<std::uint64_t>(one.count) << 32) + static_cast<std::uint64_t>(one.milli));
      add(static_cast<std::uint64_t>(one.memory_mib) + (one.selectors.size() << 40) + (one.models.size() << 48));
      add(one.mig_profile);
    }
    for (const toleration& one : spec.tolerations) add(one.key), add(one.value);
    if (spec.affinity.required) {
      for (const node_selector_term& one : *spec.affinity.required) add(one);
    }
    for (const preferred_node_term& one : spec.affinity.preferred) add(one.term);
    for (const pod_affinity* side : {&spec.affinity_to_pods, &spec.anti_affinity_to_pods}) {
      for (const pod_affinity_term& one : side->required) add(one);
      for (const preferred_pod_term& one : side->preferred) add(one.term);
      add(side->required.size());
    }
    for (const topology_spread& one : spec.topology_spread_constraints) {
      add(one.topology_key);
      if (one.selector) add(one.selector->match_labels);
    }
    add(static_cast<std::uint64_t>(spec.priority.value_or(0)));
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  void add(std::uint64_t word) noexcept {
    value_ = (value_ ^ word) * 0xff51afd7ed558ccd;
    value_ ^= value_ >> 32;
  }
  /// Of its first and last eight letters, and its length.
  void add(const std::string& text) noexcept {
    std::uint64_t first = 0, last = 0;
    if (text.size() >= 8) {
      std::memcpy(&first, text.data(), 8);
      std::memcpy(&last, text.data() + text.size() - 8, 8);
    } else {
      std::memcpy(&first, text.data(), text.size());
    }
    add(first + last * 0x9e3779b97f4a7c15 + text.size());
  }
  void add(const label_map& map) noexcept {
    for (const auto& [key, value] : map) add(value);
  }
  void add(const node_selector_term& term) noexcept {
    for (const selector_requirement& one : term.match_expressions) {
      for (const std::string& value : one.values) add(value);
    }
    for (const selector_requirement& one : term.match_fields) {
      for (const std::string& value : one.values) add(value);
    }
  }
  void add(const pod_affinity_term& term) noexcept {
    add(term.topology_key);
    if (term.selector) add(term.selector->match_labels);
  }
  std::uint64_t value_ = 0x9e3779b97f4a7c15;
};

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE pod_templates::place* pod_templates::find(const pod_spec& spec, std::uint64_t hash) noexcept {
  for (place& one : slot_of(hash).places) {
    if (one.there != nullptr && one.hash == hash && detail::alike(one.there->spec, spec)) return &one;
  }
  return nullptr;
}

GANGSCHED_INLINE pod_templates::known* pod_templates::find(const pod_spec& spec) noexcept {
  if (slots_.empty() || !detail::is_plain(spec)) return nullptr;
  const std::uint64_t hash = detail::template_hash{spec}.value();
  place* const found = find(spec, hash);
  if (found == nullptr) return nullptr;
  slot& in = slot_of(hash);
  in.older = found == &in.places[0] ? 1 : 0;
  return &found->there->what;
}

GANGSCHED_INLINE pod_templates::known* pod_templates::keep(const pod_spec& spec, known what) {
  if (!detail::is_plain(spec)) return nullptr;
  if (slots_.empty()) slots_.resize(least_slots);
  const std::uint64_t hash = detail::template_hash{spec}.value();
  if (place* const known_of = find(spec, hash)) {  // what was known holds no more
    what.details = std::move(known_of->there->what.details);
    known_of->there->what = std::move(what);
    return &known_of->there->what;
  }
  if (const auto& seen = slot_of(hash).seen; seen[0] != hash && seen[1] != hash) {
    if (seen[1] != 0 && ++displaced_ >= 4 * slots_.size() && slots_.size() < most_slots) grow();
    slot& last = slot_of(hash);
    last.seen = {hash, last.seen[0]};
    return nullptr;
  }
  slot& in = slot_of(hash);
  place& at = in.places[in.older];
  at.there = std::make_unique<entry>(entry{spec, std::move(what)});
  at.hash = hash;
  in.older ^= 1;
  return &at.there->what;
}

GANGSCHED_INLINE void pod_templates::grow() {
  std::vector<slot> before(2 * slots_.size());
  before.swap(slots_);
  for (slot& from : before) {
    for (place& one : from.places) {
      if (one.there == nullptr) continue;
      slot& to = slot_of(one.hash);  // half of the old one's go where only they can go
      to.places[to.older] = std::move(one);
      to.older ^= 1;
    }
  }
  displaced_ = 0;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
