#include <array>

#include "specs.hpp"

namespace gangsched::soak {

namespace {

constexpr std::array<chance, static_cast<std::size_t>(node_trait::count)> all_node_chances{{
    {"no rack", 10},      {"ssd", 20},        {"licences", 15},          {"a taint", 10},
    {"unschedulable", 4}, {"img1", 20},       {"volume limit", 10},      {"GPUs", 45},
    {"GPU ids", 50},      {"a sick GPU", 5},  {"GPU replicas", 8},       {"dynamic MIG", 15},
    {"fixed MIG", 15},    {"NICs", 30},       {"shared NICs", 8},        {"NIC counters", 6},
    {"NUMA cells", 25},   {"NUMA memory", 8}, {"declared features", 60},
}};

void add_gpus(node_spec& made, const step& from) {
  auto of = from.trait(node_trait::gpus);
  if (!of) return;
  node_devices& devices = made.devices;
  const auto count = static_cast<std::int32_t>(1 + of->below(4));
  const bool dynamic = from.trait(node_trait::dynamic_mig).has_value();
  const bool fixed = !dynamic && from.trait(node_trait::fixed_mig).has_value();
  for (std::int32_t i = 0; i < count; ++i) {
    gpu_spec gpu;
    if (from.trait(node_trait::named_gpus)) gpu.id = "GPU-" + std::to_string(i);
    if (of->percent(70)) gpu.numa = gpu.pcie = i / 2;
    if (auto sick = from.trait(node_trait::sick_gpu)) gpu.healthy = sick->below(4) != static_cast<std::size_t>(i);
    if (dynamic) gpu.mig = mig_mode::dynamic;
    if (fixed) {
      gpu.mig = mig_mode::fixed;
      gpu.instances = {{"3g.20gb", 4}, {"1g.5gb", 0}, {"2g.10gb", 2}};
    }
    devices.gpus.push_back(gpu);
  }
  devices.gpu.model = "NVIDIA-A100-SXM4-40GB";
  devices.gpu.memory_mib = 40960;
  devices.gpu.compute_capability = 80;
  if (!dynamic && !fixed && from.trait(node_trait::replicas)) devices.gpu.replicas = 3;
  made.allocatable["nvidia.com/gpu"] = dynamic || fixed ? 0 : count * devices.gpu.replicas;
  if (dynamic || fixed) {
    made.allocatable["nvidia.com/mig-1g.5gb"] = (dynamic ? 7 : 1) * count;
    made.allocatable["nvidia.com/mig-2g.10gb"] = (dynamic ? 3 : 1) * count;
    made.allocatable["nvidia.com/mig-3g.20gb"] = (dynamic ? 2 : 1) * count;
  }
}

void add_nics(node_spec& made, const step& from) {
  auto of = from.trait(node_trait::nics);
  if (!of) return;
  const std::size_t count = 1 + of->below(3);
  for (std::size_t i = 0; i < count; ++i) {
    other_device nic{.id = "nic-" + std::to_string(i), .device_class = "rdma"};
    nic.units = of->between(1, 4);
    nic.numa = static_cast<std::int32_t>(of->below(2));
    nic.pcie = static_cast<std::int32_t>(of->below(2));
    nic.attributes["speed"] = device_attribute{of->between(0, 2)};
    nic.attributes["root"] = device_attribute{std::string{of->percent(50) ? "a" : "b"}};
    if (from.trait(node_trait::shared_nics)) {
      nic.shared = true;
      nic.units = 1;
      nic.capacities["nic/bw"] = {10, capacity_policy{.standard = 1, .least = 1, .most = 8, .step = 1}};
    } else if (from.trait(node_trait::counters)) {
      made.devices.counters["set/c"] = 3;
      nic.consumes.push_back({"set/c", 1});
    }
    made.devices.others.push_back(nic);
  }
}

void add_numa(node_spec& made, const step& from) {
  auto of = from.trait(node_trait::numa);
  if (!of) return;
  node_numa numa;
  const std::uint32_t cpus = of->percent(50) ? 4 : 8;
  for (std::uint32_t cell = 0; cell < 2; ++cell) {
    numa_cell one{.id = cell, .cpus = {}, .memory_bytes = std::uint64_t{8} << 30, .hugepages = {}, .distances = {}};
    for (std::uint32_t i = 0; i < cpus; ++i) one.cpus.push_back({cell * cpus + i, (cell * cpus + i) / 2, cell, cell});
    numa.cells.push_back(one);
  }
  numa.policy = static_cast<numa_policy>(of->below(4));
  numa.scope = static_cast<numa_scope>(of->below(2));
  numa.cpu.is_static = of->percent(80);
  numa.cpu.full_pcpus_only = numa.cpu.is_static && of->percent(20);
  numa.static_memory = numa.policy != numa_policy::none && from.trait(node_trait::numa_memory).has_value();
  if (numa.cpu.is_static) numa.reserved_cpus = {0};
  made.devices.numa = numa;
  made.allocatable["cpu"] = 2 * static_cast<std::int64_t>(cpus) - 1;
}

}  // namespace

std::span<const chance> node_chances() noexcept { return all_node_chances; }

std::string node_name(number node) { return "n" + std::to_string(node); }

node_spec make_node(const step& from) {
  dice details = from.details();
  node_spec made{.name = node_name(from.object)};
  made.labels = {{"zone", "z" + std::to_string(details.below(3))},
                 {"topology.kubernetes.io/zone", "z" + std::to_string(details.below(3))},
                 {"rack", "r" + std::to_string(details.below(6))},
                 {"kubernetes.io/hostname", made.name}};
  made.allocatable = {
      {"cpu", details.between(2, 8)}, {"memory", details.between(4, 15) << 30}, {"pods", details.between(3, 10)}};
  made.cookie = from.object + 1'000'000u;
  if (from.trait(node_trait::no_rack)) made.labels.erase("rack");
  if (from.trait(node_trait::ssd)) made.labels["disk"] = "ssd";
  if (auto of = from.trait(node_trait::licences)) made.allocatable["example.com/licence"] = of->between(0, 3);
  if (auto of = from.trait(node_trait::taint))
    made.taints.push_back({"dedicated", "x", static_cast<taint_effect>(of->below(3))});
  made.unschedulable = from.trait(node_trait::unschedulable).has_value();
  if (auto of = from.trait(node_trait::image))
    made.images.push_back({{"img1", "img1:latest"}, std::int64_t{of->between(1, 3)} * (100 << 20)});
  if (auto of = from.trait(node_trait::volume_limit))
    made.volume_limits["csi"] = static_cast<std::int32_t>(of->below(3));
  if (auto of = from.trait(node_trait::features)) {
    for (std::size_t i = 1 + of->below(4); i-- > 0;)
      made.declared_features.push_back("Feature" + std::to_string(of->below(3)));
  }
  add_gpus(made, from);
  add_nics(made, from);
  add_numa(made, from);
  return made;
}

}  // namespace gangsched::soak
