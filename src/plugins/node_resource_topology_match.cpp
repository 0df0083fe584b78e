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

GANGSCHED_INLINE std::int64_t node_resource_topology_match::rate(const device_state& devices, const device_wants& wants,
                                                                 room node) const {
  numa_zones zones = zones_of(devices, wants);
  const auto weigh = [&](std::size_t at, std::string_view what) {
    for (const resource& one : weights_)
      if (one.name == what) zones.resources[at].weight = one.weight;
  };
  if (!weights_.empty()) {
    const auto kinds = devices.inventory->numa->topology.memory_kinds();
    weigh(0, "cpu");
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) weigh(1 + kind, memory_resource(kinds[kind]));
    for (std::size_t i = 0; i < zones.devices.size(); ++i) weigh(1 + kinds.size() + i, node.text(zones.devices[i]));
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
