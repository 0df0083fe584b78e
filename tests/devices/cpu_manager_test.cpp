#include "gangsched/devices/cpu_manager.hpp"

#include <functional>
#include <vector>

#include "devices/numa_nodes.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::cpu_manager_test {

namespace {

constexpr bool yes = true, no = false;

/// The node of kubelet's topology_hints_test.go: CPU n and n + 6 share a core, three cores a socket.
numa_topology hints_node() {
  return numa_topology::build(numa_cells(2, 12,
                                         [](numa_cpu& cpu, unsigned& cell) {
                                           cpu.core = cpu.id % 6;
                                           cpu.socket = cell = cpu.core / 3;
                                         }))
      .value();
}

/// Two sockets of two cells of four cores.
numa_topology four_cells() {
  return numa_topology::build(numa_cells(4, 16,
                                         [](numa_cpu& cpu, unsigned& cell) {
                                           cell = cpu.id / 4;
                                           cpu.socket = cell / 2;
                                         }))
      .value();
}

numa_hint_list hints(const numa_topology& node, const char* available, unsigned wanted, const char* reusable = "",
                     const cpu_policy& policy = {}) {
  return cpu_hints(node, policy, cpus(available), cpus(reusable), wanted);
}

}  // namespace

TEST_CASE("CPU hints are those of kubelet's TestGetTopologyHints", "[devices][numa]") {
  const numa_topology node = hints_node();
  using list = numa_hint_list;
  CHECK(hints(node, "0-11", 2) == list{{1, yes}, {2, yes}, {3, no}});
  CHECK(hints(node, "0-11", 5) == list{{1, yes}, {2, yes}, {3, no}});
  CHECK(hints(node, "0-11", 7) == list{{3, yes}});
  CHECK(hints(node, "2-11", 11) == list{});
  CHECK(hints(node, "0,3", 2) == list{{3, no}});  // 2 CPUs, 1 available on NUMA 0, 1 on NUMA 1
  CHECK(hints(node, "0-3", 5) == list{});         // more CPUs than available
  CHECK(hints(node, "3-11", 5) == list{{2, yes}, {3, no}});
}

TEST_CASE("CPUs to reuse draw every hint to their cells", "[devices][numa]") {
  const numa_topology node = hints_node();
  CHECK(hints(node, "1-5,7-11", 2, "0,6") == numa_hint_list{{1, yes}, {3, no}});
  CHECK(hints(node, "1-2,4-5,7-8,10-11", 2, "0,3") == numa_hint_list{{3, no}});
}

TEST_CASE("with align-by-socket, cells of as few sockets as possible are preferred", "[devices][numa]") {
  const numa_topology node = four_cells();
  const cpu_policy by_socket{.is_static = true, .align_by_socket = true};
  for (const numa_hint& hint : hints(node, "0-15", 6, "", by_socket)) {
    CAPTURE(hint.cells);
    CHECK(hint.preferred == (hint.cells == 3 || hint.cells == 12 || cell_count(hint.cells) == 2));
  }
  for (const numa_hint& hint : hints(node, "0-15", 3, "", by_socket)) {
    CAPTURE(hint.cells);
    CHECK(hint.preferred == (cell_count(hint.cells) == 1 || hint.cells == 3 || hint.cells == 12));
  }
}

TEST_CASE("with align-by-socket, CPUs come from the socket of the hint before they come from elsewhere",
          "[devices][numa]") {
  const numa_topology node = four_cells();
  const cpu_policy plain{.is_static = true}, by_socket{.is_static = true, .align_by_socket = true};
  CHECK(allocate_cpus(node, plain, cpus("0-11,14-15"), 4, 6) == cpus("8-11,14-15"));
  CHECK(allocate_cpus(node, plain, cpus("0-2,8-15"), 8, 6) == cpus("0-1,12-15"));
  CHECK(allocate_cpus(node, by_socket, cpus("0-2,8-15"), 8, 6) == cpus("8-13"));
}

TEST_CASE("CPUs come from the cells of the hint first, then from the rest", "[devices][numa]") {
  const numa_topology node = hints_node();
  const cpu_policy policy{.is_static = true};
  CHECK(allocate_cpus(node, policy, cpus("0-11"), 2, 2) == cpus("3,9"));
  CHECK(allocate_cpus(node, policy, cpus("0-11"), 2, 8) == cpus("3-5,9-11,0,6"));
  CHECK(allocate_cpus(node, policy, cpus("0-11"), 0, 2) == cpus("0,6"));
  CHECK_FALSE(allocate_cpus(node, policy, cpus("0-3"), 1, 5).has_value());
}

TEST_CASE("the options choose how CPUs are taken", "[devices][numa]") {
  const numa_topology node = hints_node();
  CHECK(allocate_cpus(node, {.is_static = true, .distribute_cpus_across_cores = true}, cpus("0-11"), 1, 3) ==
        cpus("0-2"));
  CHECK(allocate_cpus(node, {.is_static = true, .distribute_cpus_across_numa = true}, cpus("0-11"), 3, 8) ==
        cpus("0,6,1,7,3,9,4,10"));
  // Seven do not divide by the threads of a core, so whole cores cannot be distributed.
  CHECK(allocate_cpus(node, {.is_static = true, .full_pcpus_only = true, .distribute_cpus_across_numa = true},
                      cpus("0-11"), 3, 7) == cpus("0-2,6-8,3"));
  CHECK(allocate_cpus(kubelet_node("UncoreDualSocketNoSMT"),
                      {.is_static = true, .prefer_align_cpus_by_uncorecache = true}, cpus("2-15"), 0,
                      4) == cpus("4-7"));
}

TEST_CASE("full-pcpus-only asks for whole cores that nothing is reserved on", "[devices][numa]") {
  const numa_topology node = hints_node();
  const cpu_policy policy{.is_static = true, .full_pcpus_only = true};
  const cpu_pool pool = make_cpu_pool(node, policy, cpus("0")).value();
  CHECK(check_smt_alignment(node, policy, pool, 3) == smt_alignment::not_whole_cores);
  CHECK(check_smt_alignment(node, policy, pool, 10) == smt_alignment::fits);
  CHECK(pool.available() == cpus("1-11"));
  CHECK(check_smt_alignment(node, policy, pool, 12) == smt_alignment::too_few_free_cores);
  CHECK(check_smt_alignment(node, {.is_static = true}, pool, 3) == smt_alignment::fits);
}

TEST_CASE("a strict reservation keeps shared containers off the reserved CPUs too", "[devices][numa]") {
  const numa_topology node = hints_node();
  CHECK(make_cpu_pool(node, {.is_static = true}, cpus("0,6")).value().shared == cpus("0-11"));
  CHECK(make_cpu_pool(node, {.is_static = true, .strict_cpu_reservation = true}, cpus("0,6")).value().shared ==
        cpus("1-5,7-11"));
  const auto strange = make_cpu_pool(node, {.is_static = true}, cpus("0,12"));
  REQUIRE_FALSE(strange.has_value());
  CHECK(strange.error().message() == "CPU manager policy: reserved: the node has no CPU 12");
}

TEST_CASE("options that kubelet does not start with are refused", "[devices][numa]") {
  const numa_topology node = hints_node(), sockets = kubelet_node("MultiSocketDualSocketPerNumaHT");
  const auto refused = [](const cpu_policy& policy, const numa_topology& on, numa_policy numa) {
    const auto got = policy.check(on, numa);
    return got ? std::string() : got.error().field + ": " + got.error().reason;
  };
  const numa_policy any = numa_policy::restricted;
  CHECK(refused({.full_pcpus_only = true, .distribute_cpus_across_numa = true, .align_by_socket = true}, node, any)
            .empty());
  CHECK(refused({.full_pcpus_only = true, .distribute_cpus_across_cores = true}, node, any) ==
        "distribute-cpus-across-cores: not together with full-pcpus-only");
  CHECK(refused({.distribute_cpus_across_numa = true, .distribute_cpus_across_cores = true}, node, any) ==
        "distribute-cpus-across-cores: not together with distribute-cpus-across-numa");
  CHECK(refused({.distribute_cpus_across_cores = true, .prefer_align_cpus_by_uncorecache = true}, node, any) ==
        "prefer-align-cpus-by-uncorecache: not together with distribute-cpus-across-cores");
  CHECK(refused({.distribute_cpus_across_numa = true, .prefer_align_cpus_by_uncorecache = true}, node, any) ==
        "prefer-align-cpus-by-uncorecache: not together with distribute-cpus-across-numa");
  CHECK(refused({.align_by_socket = true}, node, numa_policy::single_numa_node) ==
        "align-by-socket: not together with the topology policy single-numa-node");
  CHECK(refused({.align_by_socket = true}, sockets, any) ==
        "align-by-socket: the node has more sockets than NUMA cells");
}

}  // namespace gangsched::testing::cpu_manager_test
