#pragma once
#include <utility>
#include <vector>

#include "gangsched/core/interner.hpp"
#include "gangsched/devices/device_demand.hpp"
#include "gangsched/model/counters.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/topology.hpp"

/// Marks the names that a value is made of (interner.hpp).
namespace gangsched::inline GANGSCHED_ABI::detail {

inline void mark(interner& names, symbol name) noexcept { names.mark(name); }
inline void mark(interner& names, const label_symbols& v) noexcept { names.mark(v.key), names.mark(v.value); }
inline void mark(interner& names, const taint_symbols& v) noexcept { names.mark(v.key), names.mark(v.value); }
inline void mark(interner& names, const toleration_symbols& v) noexcept { names.mark(v.key), names.mark(v.value); }
inline void mark(interner& names, const host_port& v) noexcept { names.mark(v.address); }
template <class Value>
void mark(interner& names, const std::pair<symbol, Value>& v) noexcept {
  names.mark(v.first);
}
template <class T>
void mark(interner& names, const std::vector<T>& values) noexcept {
  for (const T& one : values) mark(names, one);
}
inline void mark(interner& names, const zone_choice& v) noexcept { names.mark(v.key), mark(names, v.values); }
inline void mark(interner& names, const node_requirement& v) noexcept { names.mark(v.key), mark(names, v.values); }
inline void mark(interner& names, const node_term& v) noexcept {
  for (const node_requirement& one : v.expressions) mark(names, one);
  for (const node_requirement& one : v.fields) mark(names, one);
}
inline void mark(interner& names, const model::node_choice& v) noexcept {
  mark(names, v.keys), mark(names, v.node_selector), mark(names, v.tolerations);
  if (!v.required) return;
  for (const node_term& one : *v.required) mark(names, one);
}
inline void mark(interner& names, const device_demand& v) noexcept {
  names.mark(v.mig_profile), names.mark(v.device_class), mark(names, v.models), mark(names, v.expressions),
      mark(names, v.capacities);
  for (const device_demand::selector& one : v.selectors) names.mark(one.attribute);
  for (const device_demand& one : v.first_of) mark(names, one);
}
inline void mark(interner& names, const device_match& v) noexcept { names.mark(v.attribute); }

/// All of a class but its resources and counters.
inline void mark(interner& names, const pod_class& v) noexcept {
  names.mark(v.ns), names.mark(v.scheduler_name), names.mark(v.required_node), names.mark(v.held_room);
  for (const device_demand& one : v.devices) mark(names, one);
  for (const device_match& one : v.device_matches) mark(names, one);
  mark(names, v.tolerations), mark(names, v.node_selector), mark(names, v.ports), mark(names, v.images),
      mark(names, v.required_features);
  if (v.required_nodes) {
    for (const node_term& one : *v.required_nodes) mark(names, one);
  }
  for (const weighted_node_term& one : v.preferred_nodes) mark(names, one.term);
  if (v.volumes.nodes) mark(names, *v.volumes.nodes);
  if (v.volumes.bindable_nodes) mark(names, *v.volumes.bindable_nodes);
  names.mark(v.volumes.claim_problem);
  for (const zone_choice& one : v.volumes.zones) mark(names, one);
  for (const spread_rule& one : v.counters.spread) names.mark(one.key);
  for (const std::vector<spread_rule>& set : v.counters.default_spread) {
    for (const spread_rule& one : set) names.mark(one.key);
  }
}

inline void mark(interner& names, const device_inventory& v) noexcept {
  names.mark(v.model), names.mark(v.resource), mark(names, v.mig_profiles);
  for (const device_inventory::other& one : v.others) {
    names.mark(one.device_class), mark(names, one.attributes);
    for (const device_inventory::other::capacity& each : one.capacities) names.mark(each.name);
  }
  for (const shared_counter& one : v.counters) names.mark(one.name);
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
