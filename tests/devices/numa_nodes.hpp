#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "gangsched/devices/device_spec.hpp"
#include "gangsched/devices/numa_topology.hpp"

namespace gangsched::testing {

/// "0-3,8" as a set.
inline cpu_set cpus(std::string_view text) {
  cpu_set all;
  unsigned number = 0, from = 0;
  bool range = false, digit = false;
  const auto end = [&] {
    if (digit) all |= cpu_set::range(range ? from : number, number + 1);
    range = digit = false;
    number = 0;
  };
  for (const char c : text) {
    if (c == ',')
      end();
    else if (c == '-')
      from = number, number = 0, range = true;
    else
      number = number * 10 + static_cast<unsigned>(c - '0'), digit = true;
  }
  end();
  return all;
}

/// Cells of the same size, with the CPUs that @p place says.
inline std::vector<numa_cell> numa_cells(unsigned cells, unsigned cpu_number,
                                         const std::function<void(numa_cpu&, unsigned& cell)>& place) {
  std::vector<numa_cell> out(cells);
  for (unsigned i = 0; i < cells; ++i) out[i].id = i;
  for (unsigned id = 0; id < cpu_number; ++id) {
    numa_cpu cpu{id, id, 0, 0};
    unsigned cell = 0;
    place(cpu, cell);
    out[cell].cpus.push_back(cpu);
  }
  return out;
}

/// Sockets of a cell of eight CPUs each, with so much memory. CPUs and memory are given out by the static policies.
inline node_numa sockets_of_eight(unsigned cells, std::uint64_t memory_bytes, numa_policy policy,
                                  numa_scope scope = numa_scope::container) {
  node_numa made;
  made.cells = numa_cells(cells, 8 * cells, [](numa_cpu& cpu, unsigned& cell) { cpu.socket = cell = cpu.id / 8; });
  for (numa_cell& cell : made.cells) cell.memory_bytes = memory_bytes;
  made.policy = policy;
  made.scope = scope;
  made.cpu.is_static = made.static_memory = true;
  return made;
}

/// The nodes of kubelet's policy_test.go that its tables use, by their names there.
inline numa_topology kubelet_node(std::string_view name) {
  unsigned cells = 1, number = 16;
  std::function<void(numa_cpu&, unsigned&)> place = [](numa_cpu& cpu, unsigned&) { cpu.uncore_cache = cpu.id / 4; };
  if (name == "SingleSocketHT") {
    number = 8;
    place = [](numa_cpu& cpu, unsigned&) { cpu.core = cpu.id % 4; };
  } else if (name == "DualSocketHT") {
    cells = 2, number = 12;
    place = [](numa_cpu& cpu, unsigned& cell) { cpu.core = cpu.id % 6, cpu.socket = cell = cpu.core % 2; };
  } else if (name == "DualSocketNoHT") {
    cells = 2, number = 8;
    place = [](numa_cpu& cpu, unsigned& cell) { cpu.socket = cell = cpu.id / 4; };
  } else if (name == "DualSocketMultiNumaPerSocketHT") {
    cells = 4, number = 80;
    place = [](numa_cpu& cpu, unsigned& cell) { cpu.core = cpu.id % 40, cell = cpu.core / 10, cpu.socket = cell / 2; };
  } else if (name == "MultiSocketDualSocketPerNumaHT") {
    cells = 2, number = 80;
    place = [](numa_cpu& cpu, unsigned& cell) {
      cpu.core = cpu.id % 40, cell = cpu.core / 20, cpu.socket = cpu.core / 10;
    };
  } else if (name == "DualSocketMultiNumaPerSocketHTLarge") {
    cells = 8, number = 256;
    place = [](numa_cpu& cpu, unsigned& cell) { cpu.core = cpu.id % 128, cell = cpu.core / 16, cpu.socket = cell / 4; };
  } else if (name == "UncoreDualSocketNoSMT") {
    place = [](numa_cpu& cpu, unsigned&) { cpu.socket = cpu.id / 8, cpu.uncore_cache = cpu.id / 4; };
  } else if (name == "UncoreSingleSocketMultiNuma") {
    cells = 2;
    place = [](numa_cpu& cpu, unsigned& cell) { cell = cpu.id / 8, cpu.uncore_cache = cpu.id / 4; };
  } else if (name == "UncoreSingleSocketSMT") {
    place = [](numa_cpu& cpu, unsigned&) { cpu.core = cpu.id % 8, cpu.uncore_cache = cpu.core / 4; };
  }  // else UncoreSingleSocketNoSMT
  return numa_topology::build(numa_cells(cells, number, place)).value();
}

}  // namespace gangsched::testing
