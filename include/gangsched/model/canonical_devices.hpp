#pragma once
#include <variant>

#include "gangsched/devices/device_demand.hpp"
#include "gangsched/devices/device_inventory.hpp"
#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/model/canonical.hpp"

/// Canonical bytes of the devices and the NUMA cells that nodes have, and of the devices that pods ask for.
namespace gangsched::inline GANGSCHED_ABI::canonical {

template <class Out>
void put(Out& out, const device_attribute& v) {
  put(out, static_cast<std::uint8_t>(v.index()));
  std::visit([&](const auto& value) { put(out, value); }, v);
}
template <class Out>
void put(Out& out, const device_demand::selector& v) {
  put_fields(out, v.attribute, v.op, v.values);
}
template <class Out>
void put(Out& out, const device_demand& v) {
  put_fields(out, v.kind, v.device_class, v.count, v.milli, v.memory_percent, v.memory_mib, v.least_memory_mib,
             v.least_compute_capability, v.mig_profile, v.models, v.within, v.within_preferred, v.units, v.all, v.admin,
             v.selectors, v.expressions, v.capacities, v.beside_gpus, v.beside_preferred, v.first_of, v.container);
}
template <class Out>
void put(Out& out, const device_match& v) {
  put_fields(out, v.attribute, v.distinct);
  for (std::size_t word = 0; word < device_set::capacity / 64; ++word) put(out, v.requests.bits(word));
  put(out, v.alternatives);
}
template <class Out>
void put(Out& out, const mig_placement& v) {
  put_fields(out, v.profile, v.start);
}
template <class Out>
void put(Out& out, const device_inventory::gpu& v) {
  put_fields(out, v.numa, v.pcie, v.mig, v.instances);
}
template <class Out>
void put(Out& out, const capacity_policy& v) {
  put_fields(out, v.standard, v.values, v.least, v.most, v.step);
}
template <class Out>
void put(Out& out, const device_inventory::other::capacity& v) {
  put_fields(out, v.name, v.has.amount, v.has.policy, v.counter);
}
template <class Out>
void put(Out& out, const device_inventory::other& v) {
  put_fields(out, v.device_class, v.units, v.numa, v.pcie, v.attributes, v.consumes, v.capacities, v.shared);
}
template <class Out>
void put(Out& out, const shared_counter& v) {
  put_fields(out, v.name, v.value);
}
template <class Out>
void put(Out& out, const numa_cpu& v) {
  put_fields(out, v.id, v.core, v.socket, v.uncore_cache);
}
template <class Out>
void put(Out& out, const numa_hugepages& v) {
  put_fields(out, v.page_bytes, v.bytes);
}
template <class Out>
void put(Out& out, const numa_cell& v) {
  put_fields(out, v.id, v.cpus, v.memory_bytes, v.hugepages, v.distances);
}
template <class Out>
void put(Out& out, const cpu_policy& v) {
  put_fields(out, v.is_static, v.full_pcpus_only, v.distribute_cpus_across_numa, v.align_by_socket,
             v.distribute_cpus_across_cores, v.strict_cpu_reservation, v.prefer_align_cpus_by_uncorecache);
}
template <class Out>
void put(Out& out, const numa_layout& v) {
  put_fields(out, v.spec.cells, v.spec.policy, v.spec.scope, v.spec.prefer_closest, v.spec.cpu, v.spec.static_memory,
             v.spec.reserved_cpus, v.spec.cpu_bind, v.spec.cpu_strategy, v.spec.cpu_amplification_percent);
}
template <class Out>
void put(Out& out, const device_inventory& v) {
  put_fields(out, v.model, v.resource, v.gpu_memory_mib, v.memory_rule, v.compute_capability, v.replicas, v.gpus,
             v.others, v.counters, v.partition_policy, static_cast<std::uint8_t>(v.numa != nullptr));
  if (v.numa != nullptr) put(out, *v.numa);
  for (std::size_t a = 0; a < v.gpus.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) put_fields(out, (*v.links)(a, b).nvlinks, (*v.links)(a, b).path);
  }
  put(out, static_cast<std::uint8_t>(v.partitions.has_value()));
  if (v.partitions) {
    for (const gpu_partition& one : v.partitions->partitions()) put_fields(out, one.gpus, one.score);
  }
  put_fields(out, v.mig_profiles, static_cast<std::uint8_t>(v.mig.has_value()));
  if (v.mig) {
    put_fields(out, v.mig->compute_slices(), v.mig->memory_slices());
    for (const mig_profile& one : v.mig->profiles()) {
      put_fields(out, one.compute_slices, one.memory_slices, one.starts, one.media);
    }
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::canonical
