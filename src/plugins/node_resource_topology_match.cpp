#include "gangsched/plugins/node_resource_topology_match.hpp"

#include <algorithm>

#include "gangsched/framework/argument_reader.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<node_resource_topology_match> node_resource_topology_match::from(const argument& args) {
  strategy how = strategy::least_allocated;
  std::vector<resource> weights;
  argument_reader read{name};
  const auto read_type = [&](const argument& value, const std::string& path) {
    return read.word(value, path,
                     {{"LeastAllocated", strategy::least_allocated},
                      {"MostAllocated", strategy::most_allocated},
                      {"BalancedAllocation", strategy::balanced_allocation},
                      {"LeastNUMANodes", strategy::least_numa_nodes}},
                     how);
  };
  const auto read_resource = [&](const argument& value, const std::string& path) {
    resource& one = weights.emplace_back();
    return read.fields(value, path, [&](std::string_view field, const argument& v, const std::string& at) {
      if (field == "name") return read.text(v, at, one.name);
      return field == "weight" ? read.number(v, at, 1, 1'000'000, one.weight) : read.unknown(at);
    });
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key != "scoringStrategy") return read.unknown(path);
    return read.fields(value, path, [&](std::string_view field, const argument& v, const std::string& at) {
      if (field == "type") return read_type(v, at);
      return field == "resources" ? read.items(v, at, read_resource) : read.unknown(at);
    });
  });
  if (!fine) return std::move(read).failure();
  return node_resource_topology_match{how, std::move(weights)};
}

/// Adds what containers request beyond @p names: no zone tells of it, and has nothing of it. It scores 0 with its weight.
GANGSCHED_INLINE std::vector<resource_kind> node_resource_topology_match::add_unlisted(
    const pod_view& pod, std::span<const std::string> names, numa_zones& zones) {
  const auto& needs = pod.spec().containers;
  std::vector<resource_kind> listed, made;
  if (needs.size() != zones.pod.containers.size()) return made;
  for (const std::string& one : names)
    if (const auto kind = pod.find_kind(one)) listed.push_back(*kind);
  const auto has = [](const std::vector<resource_kind>& all, resource_kind kind) {
    return std::find(all.begin(), all.end(), kind) != all.end();
  };
  for (const container_needs& container : needs)
    for (const amount& one : container.requests)
      if (one.value != 0 && !has(listed, one.kind) && !has(made, one.kind)) made.push_back(one.kind);
  for (const resource_kind kind : made) {
    zones.resources.emplace_back();
    for (numa_zone& zone : zones.pod.zones) zone.available.push_back(not_listed);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      std::int64_t& asked = zones.pod.containers[i].requests.emplace_back(not_listed);
      for (const amount& one : needs[i].requests)
        if (one.kind == kind && one.value != 0) asked = one.value;
    }
  }
  zones.pod.resources = zones.resources;
  return made;
}

GANGSCHED_INLINE std::int64_t node_resource_topology_match::rate(const device_state& devices, const device_wants& wants,
                                                                 const pod_view& pod, room node) const {
  numa_zones zones = zones_of(devices, wants);
  std::vector<std::string> names{"cpu"};
  for (const std::uint64_t kind : devices.inventory->numa->topology.memory_kinds())
    names.push_back(memory_resource(kind));
  for (const symbol device : zones.devices) names.emplace_back(node.text(device));
  const std::vector<resource_kind> unlisted = add_unlisted(pod, names, zones);
  for (const resource& one : weights_) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (one.name == names[i]) zones.resources[i].weight = one.weight;
    for (std::size_t i = 0; i < unlisted.size(); ++i)
      if (pod.find_kind(one.name) == unlisted[i]) zones.resources[names.size() + i].weight = one.weight;
  }
  switch (strategy_) {
    case strategy::least_numa_nodes: return least_numa_score(zones.pod);
    case strategy::most_allocated: return numa_allocation_score(zones.pod, numa_strategy::most_allocated);
    case strategy::balanced_allocation: return numa_allocation_score(zones.pod, numa_strategy::balanced_allocation);
    case strategy::least_allocated: break;
  }
  return numa_allocation_score(zones.pod, numa_strategy::least_allocated);
}

}  // namespace gangsched::inline GANGSCHED_ABI
