#pragma once
#include <vector>

#include "c/world.hpp"
#include "gangsched/devices/device_spec.hpp"

/// What tests of devices in C say a node and a pod with.
namespace gangsched::testing {

template <class Struct>
Struct sized() {
  Struct made{};
  made.struct_size = sizeof made;
  return made;
}

inline gangsched_attribute_value text_value(const char* text) { return {GANGSCHED_ATTRIBUTE_TEXT, text, 0}; }
inline gangsched_attribute_value number_value(std::int64_t number) {
  return {GANGSCHED_ATTRIBUTE_NUMBER, nullptr, number};
}

/// A node with so many CPUs and what is inside it.
inline gangsched_node_id add_node(const c_world& in, const char* name, const gangsched_node_devices& devices) {
  const gangsched_amount room[] = {
      {"cpu", nullptr, 8, 0}, {"pods", nullptr, 110, 0}, {"nvidia.com/gpu", nullptr, 2, 0}};
  auto spec = sized<gangsched_node_spec>();
  spec.name = name;
  spec.allocatable = {room, 3};
  spec.devices = &devices;
  gangsched_node_id made{};
  in.must(gangsched_cluster_add_node(in.cluster, &spec, &made, in.error));
  return made;
}

inline gangsched_pod_spec named(const char* name) {
  auto made = sized<gangsched_pod_spec>();
  made.name = name;
  return made;
}
inline gangsched_pod_id add_pod(const c_world& in, const gangsched_pod_spec& spec) {
  gangsched_pod_id made{};
  in.must(gangsched_cluster_add_pod(in.cluster, &spec, &made, in.error));
  return made;
}

inline std::vector<std::string> devices_of(const c_world& in, gangsched_pod_id pod) {
  gangsched_device found[8];
  const std::size_t count = gangsched_cluster_devices(in.cluster, pod, found, 8);
  std::vector<std::string> told;
  for (std::size_t i = 0; i < count; ++i)
    told.push_back(text_of(found[i].id) + "/" + text_of(found[i].profile) + "/" + std::to_string(found[i].milli));
  return told;
}

/// Two cells with two cores of two threads each, on a node whose kubelet puts pods into one of them.
struct two_cells {
  gangsched_numa_cpu cpus[2][4] = {};
  gangsched_hugepages pages[1] = {{2 << 20, 64 << 20}};
  std::uint32_t distances[2][2] = {{10, 20}, {20, 10}};
  std::uint32_t reserved[1] = {0};
  gangsched_numa_cell cells[2] = {sized<gangsched_numa_cell>(), sized<gangsched_numa_cell>()};
  gangsched_node_numa numa = sized<gangsched_node_numa>();
  gangsched_node_devices devices = sized<gangsched_node_devices>();

  two_cells() {
    for (std::uint32_t cell = 0; cell < 2; ++cell) {
      for (std::uint32_t i = 0; i < 4; ++i) cpus[cell][i] = {4 * cell + i, 2 * cell + i / 2, cell, cell};
      cells[cell].id = cell;
      cells[cell].cpus = cpus[cell];
      cells[cell].cpu_count = 4;
      cells[cell].memory_bytes = 8u << 30;
      cells[cell].distances = distances[cell];
      cells[cell].distance_count = 2;
    }
    cells[1].hugepages = pages;
    cells[1].hugepage_count = 1;
    numa.cells = cells;
    numa.cell_count = 2;
    devices.numa = &numa;
  }
  two_cells(const two_cells&) = delete;
  two_cells& operator=(const two_cells&) = delete;

  [[nodiscard]] static std::vector<numa_cell> in_cpp() {
    std::vector<numa_cell> made(2);
    for (std::uint32_t cell = 0; cell < 2; ++cell) {
      for (std::uint32_t i = 0; i < 4; ++i) made[cell].cpus.push_back({4 * cell + i, 2 * cell + i / 2, cell, cell});
      made[cell].id = cell;
      made[cell].memory_bytes = 8u << 30;
      made[cell].distances = {cell == 0 ? 10u : 20u, cell == 0 ? 20u : 10u};
    }
    made[1].hugepages = {{2 << 20, 64 << 20}};
    return made;
  }
};

}  // namespace gangsched::testing
