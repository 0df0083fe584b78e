#pragma once
#include "gangsched/model/canonical_devices.hpp"
#include "gangsched/model/canonical_reservations.hpp"
#include "gangsched/model/spec.hpp"

/// Canonical bytes of a class of pods.
namespace gangsched::inline GANGSCHED_ABI::canonical {

template <class Out>
void put(Out& out, const host_port& v) {
  put_fields(out, v.protocol, v.port, v.address);
}
template <class Out>
void put(Out& out, const zone_choice& v) {
  put_fields(out, v.key, v.values);
}
template <class Out>
void put(Out& out, const volume_needs& v) {
  put_fields(out, v.unbound_claims, v.disks, v.attachments, v.nodes, v.zones, v.bindable_nodes, v.claim_problem);
}
template <class Out>
void put(Out& out, const container_needs& v) {
  put_fields(out, v.kind, v.requests);
}
template <class Out>
void put(Out& out, const container_bounds& v) {
  put_fields(out, v.kind, v.requests, v.limits);
}
template <class Out>
void put(Out& out, const load_estimate& v) {
  put_fields(out, v.cpu_percent, v.memory_percent, v.after_scheduled, v.after_initialized);
}
/// Everything of a class except what depends on the rest of the cluster, and what is derived.
template <class Out>
void put(Out& out, const pod_class& v) {
  put_fields(out, v.ns, v.scheduler_name, v.required_node, v.priority, v.band, v.qos, v.preemption, v.requests,
             v.score_requests, v.scored_cpu, v.scored_memory, v.devices, v.tolerations, v.node_selector,
             v.required_nodes, v.preferred_nodes, v.ports, v.images, v.image_containers, v.volumes, v.affinity_to_pods,
             v.anti_affinity_to_pods, v.spread, v.guaranteed, v.bind_cpus.policy, v.bind_cpus.required,
             v.bind_cpus.exclusive, v.containers, v.device_matches, v.claims, v.held_room, v.queue);
  // Last, because most classes have no byte of it.
  if (!v.bounds.empty()) put_fields(out, v.bounds, v.overhead);
  if (v.of_daemon_set) put(out, v.of_daemon_set);
  if (v.reserves != nullptr) put_fields(out, std::uint8_t{'r'}, v.reserves->spec);
  if (v.reservation_affinity != nullptr) put_fields(out, std::uint8_t{'i'}, *v.reservation_affinity);
  if (!v.exact_reservation.empty()) put_fields(out, std::uint8_t{'e'}, v.exact_reservation);
  if (!v.requests_none.empty()) put_fields(out, std::uint8_t{'0'}, v.requests_none);
  if (v.ignores_reservations) put(out, std::uint8_t{'n'});
  if (v.load != nullptr) put_fields(out, std::uint8_t{'l'}, *v.load);
  if (!v.required_features.empty()) put_fields(out, std::uint8_t{'f'}, v.required_features);
}

}  // namespace gangsched::inline GANGSCHED_ABI::canonical
