#pragma once
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "gangsched/devices/device_demand.hpp"
#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/reservation_terms.hpp"
#include "gangsched/model/spec.hpp"

/// Canonical bytes of a value: equal bytes iff equal values. What classes and selectors are interned by, and digests run over.
namespace gangsched::inline GANGSCHED_ABI::canonical {

/// Bytes in which names and resource kinds stand by their texts: the same whatever their numbers are. For digests.
struct text_bytes {
  explicit text_bytes(const digest& of) noexcept : names(of.names()), kinds(of.kinds()) {}
  text_bytes(const interner* with_names, const symbol* with_kinds) noexcept : names(with_names), kinds(with_kinds) {}
  const interner* names;
  const symbol* kinds;
  std::string bytes = {};
  void append(const char* from, std::size_t size) { bytes.append(from, size); }
  text_bytes& operator+=(const std::string& text) {
    bytes += text;
    return *this;
  }
};

/// What lists have in the order of symbols.
template <class T>
inline constexpr bool in_order_of_symbols = std::is_same_v<T, symbol> || std::is_same_v<T, label_symbols>;
template <class Value>
inline constexpr bool in_order_of_symbols<std::pair<symbol, Value>> = true;

template <class Out, class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
void put(Out& out, T value) {
  const auto word = static_cast<std::uint64_t>(value);
  char bytes[sizeof(T)];
  for (unsigned byte = 0; byte < sizeof(T); ++byte) bytes[byte] = static_cast<char>((word >> (8 * byte)) & 0xff);
  out.append(bytes, sizeof(T));
}
template <class Out>
void put(Out& out, const std::string& text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}
template <class Out>
void put(Out& out, symbol value) {
  if constexpr (std::is_same_v<Out, text_bytes>) {
    if (out.names != nullptr) return put(out, std::string{out.names->text(value)});
  }
  put(out, value.value);
}
template <class Out>
void put(Out& out, const device_attribute& v);
template <class Out, class A, class B>
void put(Out& out, const std::pair<A, B>& value) {
  put(out, value.first);
  put(out, value.second);
}
template <class Out, class T>
void put(Out& out, const std::optional<T>& value);
template <class Out, class T>
void put(Out& out, const std::vector<T>& values);

template <class Out>
void put(Out& out, const label_map& labels) {
  put(out, static_cast<std::uint32_t>(labels.size()));
  for (const auto& label : labels) put(out, label);
}
template <class Out>
void put(Out& out, const selector_requirement& v);
template <class Out>
void put(Out& out, const label_selector& v);
template <class Out>
void put(Out& out, const pod_affinity_term& v);
template <class Out>
void put(Out& out, const preferred_pod_term& v);
template <class Out>
void put(Out& out, const pod_affinity& v);
template <class Out>
void put(Out& out, const topology_spread& v);
template <class Out>
void put(Out& out, const amount& v) {
  bool named = false;
  if constexpr (std::is_same_v<Out, text_bytes>) {
    if (named = out.kinds != nullptr; named) put(out, out.kinds[v.kind]);
  }
  if (!named) put(out, v.kind);
  put(out, v.value);
}
template <class Out>
void put(Out& out, const label_symbols& v) {
  put(out, v.key), put(out, v.value);
}
template <class Out>
void put(Out& out, const taint_symbols& v) {
  put(out, v.key), put(out, v.value), put(out, v.effect);
}
template <class Out>
void put(Out& out, const toleration_symbols& v);
template <class Out>
void put(Out& out, const reservation_owner& v);
template <class Out>
void put(Out& out, const taint& v);
template <class Out>
void put(Out& out, const toleration& v);
template <class Out>
void put(Out& out, const node_selector_term& v);
template <class Out>
void put(Out& out, instant v);
template <class Out>
void put(Out& out, const node_requirement& v);
template <class Out>
void put(Out& out, const zone_choice& v);
template <class Out>
void put(Out& out, const node_term& v);
template <class Out>
void put(Out& out, const weighted_node_term& v);
template <class Out>
void put(Out& out, const device_demand& v);
template <class Out>
void put(Out& out, const device_demand::selector& v);
template <class Out>
void put(Out& out, const device_match& v);
template <class Out>
void put(Out& out, const queue_id& v) {
  put(out, v.row), put(out, v.generation);
}
template <class Out>
void put(Out& out, const resource_claim_id& v) {
  put(out, v.row), put(out, v.generation);
}
template <class Out>
void put(Out& out, const mig_placement& v);
template <class Out>
void put(Out& out, const device_inventory::gpu& v);
template <class Out>
void put(Out& out, const device_inventory::other& v);
template <class Out>
void put(Out& out, const device_inventory::other::capacity& v);
template <class Out>
void put(Out& out, const capacity_policy& v);
template <class Out>
void put(Out& out, const container_needs& v);
template <class Out>
void put(Out& out, const container_bounds& v);
template <class Out>
void put(Out& out, const numa_cpu& v) {
  put(out, v.id), put(out, v.core), put(out, v.socket), put(out, v.uncore_cache);
}
template <class Out>
void put(Out& out, const numa_hugepages& v) {
  put(out, v.page_bytes), put(out, v.bytes);
}
template <class Out>
void put(Out& out, const numa_cell& v);
template <class Out>
void put(Out& out, const numa_layout& v);
template <class Out>
void put(Out& out, const shared_counter& v) {
  put(out, v.name), put(out, v.value);
}
template <class Out>
void put(Out& out, const host_port& v) {
  put(out, v.protocol), put(out, v.port), put(out, v.address);
}

template <class Out, class T>
void put(Out& out, const std::optional<T>& value) {
  put(out, static_cast<std::uint8_t>(value.has_value()));
  if (value) put(out, *value);
}
/// Each by itself, in the order of their bytes.
template <class T>
void put_sorted(text_bytes& out, const std::vector<T>& values) {
  std::vector<std::string> all;
  for (const T& value : values) {
    text_bytes one{out.names, out.kinds};
    put(one, value);
    all.push_back(std::move(one.bytes));
  }
  std::sort(all.begin(), all.end());
  for (const std::string& one : all) out += one;
}
template <class Out, class T>
void put(Out& out, const std::vector<T>& values) {
  put(out, static_cast<std::uint32_t>(values.size()));
  if constexpr (std::is_same_v<Out, text_bytes> && in_order_of_symbols<T>) {
    put_sorted(out, values);
  } else {
    for (const T& value : values) put(out, value);
  }
}
template <class Out>
void put(Out& out, const toleration_symbols& v) {
  put(out, v.key), put(out, v.value), put(out, v.op), put(out, v.effect);
}
template <class Out>
void put(Out& out, const node_requirement& v) {
  put(out, v.key), put(out, v.op), put(out, v.values), put(out, v.bound);
}
template <class Out>
void put(Out& out, const node_term& v) {
  put(out, v.expressions), put(out, v.fields), put(out, static_cast<std::uint8_t>(v.broken));
}
template <class Out>
void put(Out& out, const weighted_node_term& v) {
  put(out, v.weight), put(out, v.term);
}
template <class Out>
void put(Out& out, const selector_requirement& v) {
  put(out, v.key), put(out, v.op), put(out, v.values);
}
template <class Out>
void put(Out& out, const label_selector& v) {
  put(out, v.match_labels), put(out, v.match_expressions);
}
template <class Out>
void put(Out& out, const pod_affinity_term& v) {
  put(out, v.topology_key), put(out, v.selector), put(out, v.namespaces), put(out, v.namespace_selector);
}
template <class Out>
void put(Out& out, const preferred_pod_term& v) {
  put(out, v.weight), put(out, v.term);
}
template <class Out>
void put(Out& out, const pod_affinity& v) {
  put(out, v.required), put(out, v.preferred);
}
template <class Out>
void put(Out& out, const topology_spread& v) {
  put(out, v.topology_key), put(out, v.max_skew), put(out, v.action), put(out, v.selector), put(out, v.min_domains);
  put(out, v.node_affinity_policy), put(out, v.node_taints_policy), put(out, v.match_label_keys);
}

template <class Out>
void put(Out& out, const zone_choice& v) {
  put(out, v.key), put(out, v.values);
}
template <class Out>
void put(Out& out, const volume_needs& v) {
  put(out, v.unbound_claims), put(out, v.disks), put(out, v.attachments), put(out, v.nodes), put(out, v.zones);
  put(out, v.bindable_nodes), put(out, v.claim_problem);
}

template <class Out>
void put(Out& out, const device_attribute& v) {
  put(out, static_cast<std::uint8_t>(v.index()));
  std::visit([&](const auto& value) { put(out, value); }, v);
}
template <class Out>
void put(Out& out, const device_demand::selector& v) {
  put(out, v.attribute), put(out, v.op), put(out, v.values);
}
template <class Out>
void put(Out& out, const device_demand& v) {
  put(out, v.kind), put(out, v.device_class), put(out, v.count), put(out, v.milli), put(out, v.memory_percent);
  put(out, v.memory_mib), put(out, v.least_memory_mib), put(out, v.least_compute_capability), put(out, v.mig_profile);
  put(out, v.models), put(out, v.within), put(out, v.within_preferred), put(out, v.units), put(out, v.all),
      put(out, v.admin);
  put(out, v.selectors), put(out, v.expressions), put(out, v.capacities), put(out, v.beside_gpus),
      put(out, v.beside_preferred), put(out, v.first_of);
  put(out, v.container);
}
template <class Out>
void put(Out& out, const device_match& v) {
  put(out, v.attribute), put(out, v.distinct);
  for (std::size_t word = 0; word < device_set::capacity / 64; ++word) put(out, v.requests.bits(word));
  put(out, v.alternatives);
}
template <class Out>
void put(Out& out, const mig_placement& v) {
  put(out, v.profile), put(out, v.start);
}
template <class Out>
void put(Out& out, const device_inventory::gpu& v) {
  put(out, v.numa), put(out, v.pcie), put(out, v.mig), put(out, v.instances);
}
template <class Out>
void put(Out& out, const capacity_policy& v) {
  put(out, v.standard), put(out, v.values), put(out, v.least), put(out, v.most), put(out, v.step);
}
template <class Out>
void put(Out& out, const device_inventory::other::capacity& v) {
  put(out, v.name), put(out, v.has.amount), put(out, v.has.policy), put(out, v.counter);
}
template <class Out>
void put(Out& out, const device_inventory::other& v) {
  put(out, v.device_class), put(out, v.units), put(out, v.numa), put(out, v.pcie), put(out, v.attributes),
      put(out, v.consumes);
  put(out, v.capacities), put(out, v.shared);
}
template <class Out>
void put(Out& out, const container_needs& v) {
  put(out, v.kind), put(out, v.requests);
}
template <class Out>
void put(Out& out, const numa_cell& v) {
  put(out, v.id), put(out, v.cpus), put(out, v.memory_bytes), put(out, v.hugepages), put(out, v.distances);
}
template <class Out>
void put(Out& out, const cpu_policy& v) {
  put(out, v.is_static), put(out, v.full_pcpus_only), put(out, v.distribute_cpus_across_numa),
      put(out, v.align_by_socket);
  put(out, v.distribute_cpus_across_cores), put(out, v.strict_cpu_reservation),
      put(out, v.prefer_align_cpus_by_uncorecache);
}
template <class Out>
void put(Out& out, const numa_layout& v) {
  put(out, v.spec.cells), put(out, v.spec.policy), put(out, v.spec.scope), put(out, v.spec.prefer_closest),
      put(out, v.spec.cpu);
  put(out, v.spec.static_memory), put(out, v.spec.reserved_cpus), put(out, v.spec.cpu_bind),
      put(out, v.spec.cpu_strategy);
  put(out, v.spec.cpu_amplification_percent);
}
template <class Out>
void put(Out& out, const device_inventory& v) {
  put(out, v.model), put(out, v.resource), put(out, v.gpu_memory_mib), put(out, v.memory_rule),
      put(out, v.compute_capability), put(out, v.replicas);
  put(out, v.gpus), put(out, v.others), put(out, v.counters), put(out, v.partition_policy);
  put(out, static_cast<std::uint8_t>(v.numa != nullptr));
  if (v.numa != nullptr) put(out, *v.numa);
  for (std::size_t a = 0; a < v.gpus.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) put(out, (*v.links)(a, b).nvlinks), put(out, (*v.links)(a, b).path);
  }
  put(out, static_cast<std::uint8_t>(v.partitions.has_value()));
  if (v.partitions) {
    for (const gpu_partition& one : v.partitions->partitions()) put(out, one.gpus), put(out, one.score);
  }
  put(out, v.mig_profiles);
  put(out, static_cast<std::uint8_t>(v.mig.has_value()));
  if (v.mig) {
    put(out, v.mig->compute_slices()), put(out, v.mig->memory_slices());
    for (const mig_profile& one : v.mig->profiles()) {
      put(out, one.compute_slices), put(out, one.memory_slices), put(out, one.starts), put(out, one.media);
    }
  }
}

template <class Out>
void put(Out& out, const container_bounds& v) {
  put(out, v.kind), put(out, v.requests), put(out, v.limits);
}

template <class Out>
void put(Out& out, const controller_ref& v) {
  put(out, v.kind), put(out, v.name);
}
template <class Out>
void put(Out& out, const reservation_owner& v) {
  put(out, v.pod), put(out, v.ns), put(out, v.controller), put(out, v.labels);
}
template <class Out>
void put(Out& out, const taint& v) {
  put(out, v.key), put(out, v.value), put(out, v.effect);
}
template <class Out>
void put(Out& out, const toleration& v) {
  put(out, v.key), put(out, v.op), put(out, v.value), put(out, v.effect);
}
template <class Out>
void put(Out& out, const node_selector_term& v) {
  put(out, v.match_expressions), put(out, v.match_fields);
}
template <class Out>
void put(Out& out, instant v) {
  put(out, v.count());
}
template <class Out>
void put(Out& out, const reservation_spec& v) {
  put(out, v.owners), put(out, v.once), put(out, v.policy), put(out, v.restricted), put(out, v.order);
  put(out, v.pre_allocation);
  put(out, v.starts), put(out, v.expires), put(out, v.unschedulable), put(out, v.taints);
}
template <class Out>
void put(Out& out, const reservation_affinity& v) {
  put(out, v.name), put(out, v.selector), put(out, v.required), put(out, v.tolerations);
}

template <class Out>
void put(Out& out, const load_estimate& v) {
  put(out, v.cpu_percent), put(out, v.memory_percent), put(out, v.after_scheduled), put(out, v.after_initialized);
}

/// Everything of a class but what depends on the rest of the cluster, and what is derived.
template <class Out>
void put(Out& out, const pod_class& v) {
  put(out, v.ns), put(out, v.scheduler_name), put(out, v.required_node), put(out, v.priority), put(out, v.band);
  put(out, v.qos), put(out, v.preemption);
  put(out, v.requests), put(out, v.score_requests), put(out, v.scored_cpu), put(out, v.scored_memory),
      put(out, v.devices);
  put(out, v.tolerations), put(out, v.node_selector), put(out, v.required_nodes), put(out, v.preferred_nodes);
  put(out, v.ports), put(out, v.images), put(out, v.image_containers), put(out, v.volumes);
  put(out, v.affinity_to_pods), put(out, v.anti_affinity_to_pods), put(out, v.spread);
  put(out, v.guaranteed), put(out, v.bind_cpus.policy), put(out, v.bind_cpus.required);
  put(out, v.bind_cpus.exclusive), put(out, v.containers);
  put(out, v.device_matches), put(out, v.claims), put(out, v.held_room), put(out, v.queue);
  // Last, so that most classes have no byte of it.
  if (!v.bounds.empty()) put(out, v.bounds), put(out, v.overhead);
  if (v.of_daemon_set) put(out, v.of_daemon_set);
  if (v.reserves != nullptr) put(out, std::uint8_t{'r'}), put(out, v.reserves->spec);
  if (v.room_in != nullptr) put(out, std::uint8_t{'i'}), put(out, *v.room_in);
  if (!v.exact_reservation.empty()) put(out, std::uint8_t{'e'}), put(out, v.exact_reservation);
  if (!v.requests_none.empty()) put(out, std::uint8_t{'0'}), put(out, v.requests_none);
  if (v.ignores_reservations) put(out, std::uint8_t{'n'});
  if (v.load != nullptr) put(out, std::uint8_t{'l'}), put(out, *v.load);
}

/// The bytes by themselves.
template <class T>
[[nodiscard]] std::string bytes(const T& value) {
  std::string out;
  put(out, value);
  return out;
}

/// Adds the values to a digest, one after another, with texts for names.
template <class... Values>
void digest_text(digest& out, const Values&... values) {
  text_bytes text{out};
  (put(text, values), ...);
  out.add(text.bytes);
}

}  // namespace gangsched::inline GANGSCHED_ABI::canonical
