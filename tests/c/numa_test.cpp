// NUMA cells, bound CPUs and the kubelet's policies as structs.
#include "c/device_specs.hpp"
#include "gangsched/model/cluster.hpp"

namespace gangsched::testing::c_numa_test {

namespace {

using words = std::vector<std::string>;

}  // namespace

TEST_CASE("NUMA cells and bound CPUs in C are what they are in C++") {
  c_world world;
  two_cells inside;
  inside.numa.policy = GANGSCHED_NUMA_SINGLE_CELL;
  inside.numa.whole_pods = inside.numa.prefer_closest = inside.numa.static_cpus = inside.numa.full_pcpus_only = true;
  inside.numa.strict_cpu_reservation = inside.numa.static_memory = true;
  inside.numa.reserved_cpus = inside.reserved;
  inside.numa.reserved_cpu_count = 1;
  add_node(world, "kubelet", inside.devices);
  two_cells bound;
  bound.numa.cpu_bind = GANGSCHED_CPUS_SPREAD_BY_CORES;
  bound.numa.most_allocated_cells = true;
  bound.numa.cpu_amplification_percent = 150;
  add_node(world, "koordinator", bound.devices);
  gangsched_pod_spec spec = named("p");
  spec.cpu_bind = GANGSCHED_CPUS_FULL_CORES;
  spec.cpu_bind_required = true;
  spec.cpu_exclusive = GANGSCHED_CPUS_APART_BY_CELL;
  add_pod(world, spec);

  gangsched::cluster own;
  node_spec node{.name = "kubelet", .allocatable = {{"cpu", 8}, {"pods", 110}, {"nvidia.com/gpu", 2}}};
  node.devices.numa = node_numa{
      .cells = two_cells::in_cpp(),
      .policy = numa_policy::single_numa_node,
      .scope = numa_scope::pod,
      .prefer_closest = true,
      .cpu = {.is_static = true, .full_pcpus_only = true, .strict_cpu_reservation = true},
      .static_memory = true,
      .reserved_cpus = {0},
  };
  own.add_node(node).value();
  node.name = "koordinator";
  node.devices.numa = node_numa{.cells = two_cells::in_cpp(),
                                .cpu_bind = cpu_bind_policy::spread_by_pcpus,
                                .cpu_strategy = numa_allocate_strategy::most_allocated,
                                .cpu_amplification_percent = 150};
  own.add_node(node).value();
  own.add_pod({.name = "p",
               .bind_cpus = {.policy = cpu_bind_policy::full_pcpus,
                             .required = true,
                             .exclusive = cpu_exclusive_policy::numa_node_level}})
      .value();
  CHECK(gangsched_cluster_digest(world.cluster) == own.digest());
}

TEST_CASE("a pod that needs one NUMA cell in C is not placed where two have the CPUs only together") {
  c_world world;
  two_cells inside;
  inside.numa.policy = GANGSCHED_NUMA_SINGLE_CELL;
  inside.numa.whole_pods = inside.numa.static_cpus = true;
  inside.numa.reserved_cpus = inside.reserved;
  inside.numa.reserved_cpu_count = 1;
  add_node(world, "a", inside.devices);
  const gangsched_amount shares[2][2] = {{{"cpu", nullptr, 4, 0}, {"memory", "1Gi", 0, 0}},
                                         {{"cpu", nullptr, 3, 0}, {"memory", "1Gi", 0, 0}}};
  for (std::size_t i = 0; i < 2; ++i) {
    auto container = sized<gangsched_container>();
    container.requests = container.limits = {shares[i], 1};
    gangsched_pod_spec spec = named(i == 0 ? "four" : "three");
    spec.containers = &container;
    spec.container_count = 1;
    spec.guaranteed = true;
    add_pod(world, spec);
  }
  world.schedules();
  CHECK(world.run() == words{"four bind a", "three bind a"});  // the second cell has four, the first one three
  const gangsched_pod_id four = gangsched_cluster_find_pod(world.cluster, "default", "four");
  world.must(gangsched_scheduler_fail(world.scheduler, four, 0, "no image", world.error));
  auto container = sized<gangsched_container>();
  const gangsched_amount five[] = {{"cpu", nullptr, 5, 0}};
  container.requests = container.limits = {five, 1};
  gangsched_pod_spec spec = named("five");
  spec.containers = &container;
  spec.container_count = 1;
  spec.guaranteed = true;
  add_pod(world, spec);
  world.must(gangsched_cluster_remove_pod(world.cluster, four, world.error));
  world.must(gangsched_cluster_remove_pod(world.cluster, gangsched_cluster_find_pod(world.cluster, "default", "three"),
                                          world.error));
  CHECK(world.run(1) == words{"five reject"});  // of seven that are free
}

}  // namespace gangsched::testing::c_numa_test
