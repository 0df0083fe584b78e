#include "gangsched/plugins/node_numa_resource.hpp"

#include <limits>

#include "devices/numa_nodes.hpp"
#include "gangsched/plugins/device_fit.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::node_numa_resource_test {

namespace {

constexpr auto full = cpu_bind_policy::full_pcpus, spread = cpu_bind_policy::spread_by_pcpus;

/// Two cells, a socket each, of four cores with two threads that are numbered side by side.
a_node bound_node(const std::string& name, std::int32_t percent = 100) {
  a_node made = a_node(name).cpu(16 * percent / 100);
  node_numa numa;
  numa.cells =
      numa_cells(2, 16, [](numa_cpu& cpu, unsigned& cell) { cpu.core = cpu.id / 2, cpu.socket = cell = cpu.id / 8; });
  numa.cpu_strategy = numa_allocate_strategy::most_allocated;
  numa.cpu_amplification_percent = percent;
  made.spec.devices.numa = numa;
  return made;
}
a_pod bound(const std::string& name, std::int64_t cpus, cpu_bind_policy policy = full, bool required = false) {
  a_pod made = a_pod(name).cpu(cpus);
  made.spec.bind_cpus = {policy, required};
  return made;
}
cpu_set cpus_of(const cluster& c, pod_id pod) {
  cpu_set all;
  for (const device_grant& one : c.devices_of(pod)) {
    if (one.kind != device_grant::form::cpus) continue;
    for (unsigned bit = 0; bit < 64; ++bit)
      if ((one.cpu_mask() >> bit & 1u) != 0) all.insert(static_cast<unsigned>(one.milli) + bit);
  }
  return all;
}

}  // namespace

TEST_CASE("bound pods get whole cores, or one CPU of each", "[plugins][numa]") {
  hooks on{device_fit{}};
  const node_id n = on.add(bound_node("n"));
  const pod_id a = on.add(bound("a", 3).on(n)), b = on.add(bound("b", 2, spread).on(n)),
               c = on.add(bound("c", 4).on(n));
  CHECK(cpus_of(on.cluster, a) == cpus("0-2"));
  CHECK(cpus_of(on.cluster, b) == cpus("3-4"));
  CHECK(cpus_of(on.cluster, c) == cpus("8-11"));
  CHECK(cpus_of(on.cluster, on.add(a_pod("shares").cpu(2).on(n))).empty());
  CHECK(on.filter(on.add(bound("d", 6, full, true)), n).code == code::success);
  CHECK(on.filter(on.add(bound("e", 8, full, true)), n).code ==
        code::unschedulable);  // three CPUs are left, but on broken cores
  CHECK(on.filter(on.add(bound("f", 7)), n).code == code::success);
  CHECK(on.filter(on.add(bound("g", 8)), n).code == code::unschedulable);
}

TEST_CASE("whole cores and whole CPUs can be required by the pod or by the node", "[plugins][numa]") {
  hooks on{device_fit{}};
  a_node strict = bound_node("strict");
  strict.spec.devices.numa->cpu_bind = full;
  const node_id plain = on.add(bound_node("plain")), node = on.add(strict);
  const auto told = [&](const a_pod& pod, node_id where) { return on.filter(on.add(pod), where); };
  CHECK(told(bound("a", 3, full, true), plain).code == code::unresolvable);
  CHECK(told(bound("b", 3), plain).code == code::success);
  CHECK(told(bound("c", 3), node).code == code::unresolvable);
  CHECK(told(bound("d", 2, spread), node).code == code::success);
  CHECK(told(bound("e", 2, spread, true), node).code == code::unresolvable);
  a_pod fraction = bound("f", 1);
  fraction.cpu_milli(1500);
  CHECK(told(fraction, plain).code == code::unresolvable);
  a_pod guaranteed = a_pod("g").cpu(2);
  guaranteed.spec.guaranteed = true;
  const pod_id there = on.add(guaranteed.on(node));
  CHECK(cpus_of(on.cluster, there) == cpus("0-1"));
  CHECK(cpus_of(on.cluster, on.add(a_pod("h").cpu(2).on(node))).empty());
}

TEST_CASE("the node's NUMA policy holds for bound pods as a whole", "[plugins][numa]") {
  hooks on{device_fit{}};
  a_node single = bound_node("single"), restricted = bound_node("restricted");
  single.spec.devices.numa->policy = numa_policy::single_numa_node;
  restricted.spec.devices.numa->policy = numa_policy::restricted;
  const node_id one = on.add(single), two = on.add(restricted);
  on.add(bound("x", 4).on(one)), on.add(bound("y", 4).on(two));
  const a_pod wide = bound("wide", 4).container().cpu(6);
  CHECK(on.filter(on.add(wide), one).code == code::unschedulable);
  a_pod even = wide;
  even.spec.name = "even";
  CHECK(cpus_of(on.cluster, on.add(even.on(two))) == cpus("4-7,8-13"));
  CHECK(on.filter(on.add(bound("eight", 8)), one).code == code::success);
}

TEST_CASE("NodeNUMAResource: bound CPUs count for more where CPU is amplified", "[plugins][numa]") {
  hooks on{node_numa_resource{}};
  const node_id n = on.add(bound_node("n", 150)), plain = on.add(a_node("plain").cpu(24));
  CHECK(on.filter(on.add(bound("a", 16)), n).code == code::success);
  CHECK(on.filter(on.add(bound("b", 17)), n).code == code::unschedulable);
  CHECK(on.filter(on.add(a_pod("c").cpu(24)), n).code == code::success);
  on.add(bound("there", 8).on(n));  // counts for 12 of 24
  CHECK(on.filter(on.add(a_pod("d").cpu(12)), n).code == code::success);
  CHECK(on.filter(on.add(a_pod("e").cpu(13)), n).code == code::unschedulable);
  CHECK(on.filter(on.add(bound("f", 8)), n).code == code::success);
  CHECK(on.filter(on.add(bound("g", 9)), n).code == code::unschedulable);
  CHECK(on.filter(on.add(bound("h", 1)), plain).code == code::unresolvable);
  CHECK(on.filter(on.add(a_pod("i").cpu(1)), plain).code == code::success);
  constexpr std::int64_t most = 9'223'372'036'854'775;  // CPUs that 64 bits hold the thousandths of
  CHECK(on.filter(on.add(a_pod("j").cpu(most)), n).code == code::unschedulable);
  CHECK(on.filter(on.add(bound("k", most)), n).code == code::unschedulable);
  CHECK(amplified(1000 * most, 200) == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("NodeNUMAResource scores what is used with the pod, as bound CPUs count", "[plugins][numa]") {
  for (const auto how : {node_numa_resource::strategy::least_allocated, node_numa_resource::strategy::most_allocated}) {
    hooks on{node_numa_resource{how, {{"cpu", 3}, {"memory", 1}}}};
    const node_id used = on.add(bound_node("used").memory("10Gi")), raised = on.add(bound_node("raised", 200));
    on.add(a_node("plain").cpu(16));
    on.add(bound("there", 4).memory("1Gi").on(used)), on.add(bound("here", 4).on(raised));
    on.add(a_pod("shares").cpu(2).on(raised));
    const bool most = how == node_numa_resource::strategy::most_allocated;
    using all = std::vector<std::int64_t>;
    const auto scored = [&](const a_pod& pod) { return on.scores(on.add(pod)).value(); };
    // Of CPU 8 of 16, 8·2 + 2 of 32 and 4 of 16; of memory 3 of 10, on a node that has none it does not count.
    CHECK(scored(bound("p", 4).memory("2Gi")) ==
          (most ? all{(3 * 50 + 30) / 4, 56, 25} : all{(3 * 50 + 70) / 4, 43, 75}));
    CHECK(scored(a_pod("q").cpu(6)) ==  // 10 of 16, 16 of 32, 6 of 16
          (most ? all{(3 * 62 + 10) / 4, 50, 37} : all{(3 * 37 + 90) / 4, 50, 62}));
    CHECK(scored(a_pod("r").memory("1Gi")) ==  // 4 of 16, 6 of 32 without the ratio, nothing
          (most ? all{(3 * 25 + 20) / 4, 18, 0} : all{(3 * 75 + 80) / 4, 81, 100}));
  }
}

TEST_CASE("NodeNUMAResource: what the node lacks or the pod does not ask for is not scored", "[plugins][numa]") {
  hooks on{node_numa_resource{allocation_strategy::most_allocated,
                              {{"cpu", 1}, {"memory", 1}, {"example.com/nic", 2}, {"ephemeral-storage", 4}}}};
  on.add(a_node{"n"}.cpu(10).memory("100").resource("example.com/nic", "4"));
  on.add(a_node{"m"}.cpu(10).resource("ephemeral-storage", "100"));
  using scores = std::vector<std::int64_t>;
  CHECK(on.scores(on.add(a_pod{"plain"}.cpu(5).memory("20"))) == scores{35, 10});  // (50 + 20) / 2, (50 + 4·0) / 5
  CHECK(on.scores(on.add(a_pod{"nic"}.cpu(5).memory("20").resource("example.com/nic", "4"))) == scores{67, 10});
  CHECK(on.scores(on.add(a_pod{"nothing"})) == scores{0, 0});
}

TEST_CASE("NodeNUMAResource refuses bound pods that ask for parts of CPUs, and takes its arguments by name",
          "[plugins][numa]") {
  hooks on{node_numa_resource{}};
  a_pod part = bound("part", 1);
  part.cpu_milli(1500);
  CHECK(on.pre_filter(on.add(part)) == verdict{code::unresolvable, {"the requested CPUs must be integer"}});
  CHECK(on.pre_filter(on.add(bound("whole", 2))).code == code::success);
  CHECK(on.pre_filter(on.add(a_pod("shares").cpu_milli(1500))).code == code::success);
  using fields = argument::fields;
  const auto refused = [](fields strategy) {
    const auto made = node_numa_resource::from(fields{{"scoringStrategy", std::move(strategy)}});
    return made ? std::string{} : made.error().field;
  };
  CHECK(refused({{"type", "MostAllocated"}, {"resources", argument::list{fields{{"name", "cpu"}, {"weight", 2}}}}})
            .empty());
  CHECK(refused({{"type", "Most"}}) == "args.scoringStrategy.type");
  CHECK(refused({{"resources", argument::list{fields{{"weight", 0}}}}}) == "args.scoringStrategy.resources[0].weight");
}

}  // namespace gangsched::testing::node_numa_resource_test
