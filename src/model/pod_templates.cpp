#include "gangsched/model/pod_templates.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::detail {

GANGSCHED_INLINE bool is_plain(const pod_spec& spec) noexcept {
  const pod_volumes& volumes = spec.volumes;
  return spec.device_constraints.empty() && spec.resource_claims.empty() && !spec.affinity.required &&
         spec.affinity.preferred.empty() && spec.affinity_to_pods.required.empty() &&
         spec.affinity_to_pods.preferred.empty() && spec.anti_affinity_to_pods.required.empty() &&
         spec.anti_affinity_to_pods.preferred.empty() && spec.topology_spread_constraints.empty() &&
         !volumes.unbound_claims && !volumes.nodes && volumes.zones.empty() && volumes.disks.empty() &&
         volumes.exclusive_claims.empty() && volumes.attachments.empty() && !volumes.bindable_nodes &&
         volumes.claim_problem.empty() && !spec.reservation && !spec.room_in && !spec.ignores_reservations;
}

// The names before each comparison are all the fields there are: who adds one has to think of it here.

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

template <class T>
bool all_alike(const std::vector<T>& a, const std::vector<T>& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& one, const T& other) { return alike(one, other); });
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
               required_node, group, role, rank, node, nominated_node, queue, held_room, reservation, room_in, ignores,
               draws_from, terminating, preempted, start_time, expected_run_time, deadline, max_wait, controller,
               cookie] = a;
  return ns == b.ns && labels == b.labels && all_alike(containers, b.containers) && all_alike(devices, b.devices) &&
         all_alike(init_containers, b.init_containers) && image_volumes == b.image_volumes &&
         resources == b.resources && overhead == b.overhead && guaranteed == b.guaranteed && bind_cpus == b.bind_cpus &&
         node_selector == b.node_selector && all_alike(tolerations, b.tolerations) && priority == b.priority &&
         priority_class == b.priority_class && preemption == b.preemption && scheduler_name == b.scheduler_name &&
         required_node == b.required_node && held_room == b.held_room && controller.kind == b.controller.kind &&
         controller.name == b.controller.name;
}

/// Of what pods of a cluster differ in most.
GANGSCHED_INLINE std::uint64_t template_hash(const pod_spec& spec) noexcept {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  };
  const auto text = [&](const std::string& word) {
    std::uint64_t sum = word.size();
    for (const char letter : word) sum = sum * 131 + static_cast<unsigned char>(letter);
    mix(sum);
  };
  text(spec.ns);
  for (const container& one : spec.containers) {
    for (const auto& [name, amount] : one.requests) mix(static_cast<std::uint64_t>(amount.nanos()) + name.size());
  }
  for (const device_request& one : spec.devices) {
    mix((static_cast<std::uint64_t>(one.count) << 32) + static_cast<std::uint64_t>(one.milli));
    mix(static_cast<std::uint64_t>(one.memory_mib) + (one.selectors.size() << 40) + (one.models.size() << 48));
    text(one.mig_profile);
  }
  for (const auto& [key, value] : spec.labels) text(value);
  mix(static_cast<std::uint64_t>(spec.priority.value_or(0)) + (spec.tolerations.size() << 40) +
      (spec.node_selector.size() << 48));
  text(spec.controller.name);
  return hash;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE const pod_templates::known* pod_templates::find(const pod_spec& spec) const noexcept {
  if (slots_.empty() || !detail::is_plain(spec)) return nullptr;
  const std::uint64_t hash = detail::template_hash(spec);
  const slot& at = slots_[hash % slots];
  return at.there != nullptr && at.held == hash && detail::alike(at.there->spec, spec) ? &at.there->what : nullptr;
}

GANGSCHED_INLINE void pod_templates::keep(const pod_spec& spec, const known& what) {
  if (!detail::is_plain(spec)) return;
  if (slots_.empty()) slots_.resize(slots);
  const std::uint64_t hash = detail::template_hash(spec);
  slot& at = slots_[hash % slots];
  if (at.seen == hash) at.there = std::make_unique<const entry>(entry{spec, what}), at.held = hash;
  at.seen = hash;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
