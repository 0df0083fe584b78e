// The cases of koord-scheduler's cpu_accumulator_test.go.
#include "gangsched/devices/cpu_binding.hpp"

#include "devices/numa_nodes.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::cpu_binding_test {

namespace {

constexpr auto full = cpu_bind_policy::full_pcpus, spread = cpu_bind_policy::spread_by_pcpus;
constexpr auto most = numa_allocate_strategy::most_allocated, least = numa_allocate_strategy::least_allocated;

/// CPUs numbered core by core, cores cell by cell.
numa_topology machine(unsigned sockets, unsigned cells_per_socket, unsigned cores_per_cell, unsigned threads) {
  const unsigned in_cell = cores_per_cell * threads, cells = sockets * cells_per_socket;
  return numa_topology::build(numa_cells(cells, cells * in_cell,
                                         [=](numa_cpu& cpu, unsigned& cell) {
                                           cpu.core = cpu.id / threads;
                                           cell = cpu.id / in_cell;
                                           cpu.socket = cell / cells_per_socket;
                                         }))
      .value();
}

struct sizes {
  unsigned sockets, cells, cores, threads;
};
struct sample {
  sizes of;
  const char* taken;
  unsigned wanted;
  const char* most;
  const char* least;
};

void check(const sample& one, cpu_bind_policy policy) {
  INFO(one.of.sockets << "x" << one.of.cells << "x" << one.of.cores << "x" << one.of.threads << " without " << one.taken
                      << ", " << one.wanted);
  const numa_topology node = machine(one.of.sockets, one.of.cells, one.of.cores, one.of.threads);
  const cpu_set available = node.cpus() - cpus(one.taken);
  CHECK(bind_cpus(node, available, one.wanted, policy, most) == cpus(one.most));
  CHECK(bind_cpus(node, available, one.wanted, policy, least) == cpus(one.least));
}

}  // namespace

TEST_CASE("whole cores are bound in one cell, else one socket, else wherever most are", "[devices][numa]") {
  const sample all[] = {
      {{1, 1, 4, 2}, "", 2, "0-1", "0-1"},
      {{1, 1, 4, 2}, "0-1", 2, "2-3", "2-3"},
      {{2, 1, 4, 2}, "", 8, "0-7", "0-7"},
      {{2, 1, 4, 2}, "", 12, "0-11", "0-11"},
      {{2, 1, 4, 2}, "0-1", 8, "8-15", "8-15"},
      {{2, 2, 4, 2}, "0-5,16-23", 6, "24-29", "8-13"},
      {{2, 2, 4, 2}, "0-5,16-23", 12, "6-15,24-25", "6-15,24-25"},
      {{2, 2, 4, 2}, "0-3,8-11", 4, "4-7", "16-19"},
      {{2, 1, 3, 2}, "0,6-7", 6, "2-5,8-9", "2-5,8-9"},  // sockets with as many whole cores go by their number
      {{2, 2, 2, 2}, "0,2,4,8,12", 4, "10,11,14,15", "10,11,14,15"},
      {{2, 2, 2, 2}, "0,2,4,8,10,12", 6, "5-7,13-15", "1,3,6,7,14,15"},
  };
  for (const sample& one : all) check(one, full);
  const numa_topology small = machine(2, 2, 2, 2), large = machine(2, 2, 4, 2);
  CHECK(bind_cpus(small, small.cpus() - cpus("0,2,4,8-10,12"), 6, full, most) == cpus("6-7,11,13-15"));
  CHECK(bind_cpus(large, large.cpus() - cpus("0,2,4,8-10,12"), 6, full, least) == cpus("16-21"));
}

TEST_CASE("spread CPUs are bound one a core as long as there are cores", "[devices][numa]") {
  const sample all[] = {
      {{1, 1, 4, 2}, "", 4, "0,2,4,6", "0,2,4,6"},
      {{2, 1, 4, 2}, "0,2", 4, "1,3,4,6", "8,10,12,14"},
      {{2, 1, 4, 2}, "0-3", 4, "8,10,12,14", "8,10,12,14"},
      {{2, 1, 4, 2}, "0,2", 6, "1,3-7", "8-12,14"},
      {{2, 2, 2, 2}, "2-3,5,7,9,11,13,15", 3, "0,4,6", "8,10,12"},  // sockets by free cores, where CPUs are one a core
  };
  for (const sample& one : all) check(one, spread);
  const numa_topology node = machine(2, 1, 4, 2);
  CHECK(bind_cpus(node, cpus("0-3"), 5, spread, most) == std::nullopt);
  const numa_topology flat = machine(2, 1, 4, 1);
  CHECK(bind_cpus(flat, flat.cpus() - cpus("0"), 4, spread, most) == cpus("4-7"));
}

TEST_CASE("CPUs are kept from those of pods with the same exclusive policy, as long as there are others",
          "[devices][numa]") {
  constexpr auto none = cpu_exclusive_policy::none, core = cpu_exclusive_policy::pcpu_level,
                 cell = cpu_exclusive_policy::numa_node_level;
  const numa_topology small = machine(2, 1, 4, 2), large = machine(2, 1, 8, 2);
  const auto bound = [](const numa_topology& node, const char* others, cpu_exclusive_policy theirs,
                        cpu_exclusive_policy mine, unsigned wanted, cpu_bind_policy policy = spread) {
    const cpu_set taken = cpus(others);
    return bind_cpus(node, node.cpus() - taken, wanted, policy, most, {mine, mine == theirs ? taken : cpu_set{}});
  };
  CHECK(bound(small, "0,2", core, core, 4) == cpus("8,10,12,14"));
  CHECK(bound(small, "", core, core, 10) == cpus("0-4,6,8,10,12,14"));
  CHECK(bound(large, "0,2", core, core, 4) == cpus("4,6,8,10"));
  CHECK(bound(large, "0,2", core, none, 4) == cpus("1,3,4,6"));
  CHECK(bound(small, "0,2", cell, cell, 4) == cpus("8,10,12,14"));
  CHECK(bound(small, "0,2", cell, none, 4) == cpus("1,3,4,6"));
  CHECK(bound(small, "0,2", cell, core, 4) == cpus("1,3,4,6"));
  CHECK(bound(small, "0,2", cell, cell, 4, full) == cpus("8-11"));
  CHECK(bound(small, "0,2", cell, none, 4, full) == cpus("4-7"));
  CHECK(bound(small, "0,8", cell, cell, 4, full) == cpus("2-5"));       // nowhere apart
  CHECK(bound(small, "0,2,4,6", core, core, 5) == cpus("8-10,12,14"));  // inside one cell rather than apart
  const cpu_set others = cpus("0,2");
  CHECK(bind_cpus_in(small, small.cpus() - others, 0, 4, {spread, false, core}, most, others) == cpus("8,10,12,14"));
  CHECK(bind_cpus_in(small, small.cpus() - others, one_cell(0), 4, {spread, false, core}, most, others) ==
        cpus("1,3,4,6"));
}

TEST_CASE("a required policy is kept or nothing is bound", "[devices][numa]") {
  const numa_topology node = machine(2, 1, 4, 2);
  CHECK(cpus_for(node, cpus("0-2,5,8-15"), full) == cpus("0-1,8-15"));
  CHECK(cpus_for(node, cpus("1-2,5,8-9"), spread) == cpus("1,2,5,8"));
  const cpu_set left = node.cpus() - cpus("0,2,4,6");
  CHECK(bind_cpus_in(node, left, one_cell(0), 4, {full, false}, most) == cpus("1,3,5,7"));
  CHECK(bind_cpus_in(node, left, one_cell(0), 4, {full, true}, most) == cpus("8-11"));
  CHECK(bind_cpus_in(node, left, 0, 10, {full, true}, most) == std::nullopt);
  CHECK(bind_cpus_in(node, left, 0, 3, {full, true}, most) == std::nullopt);
  CHECK(bind_cpus_in(node, left, 0, 9, {spread, true}, most) == std::nullopt);
  CHECK(bind_cpus_in(node, left, 0, 8, {spread, true}, most) == cpus("1,3,5,7,8,10,12,14"));
}

TEST_CASE("several cells give an even share each", "[devices][numa]") {
  const numa_topology node = machine(2, 1, 4, 2);
  const auto both = static_cast<cell_mask>(one_cell(0) | one_cell(1));
  CHECK(bind_cpus_in(node, node.cpus(), both, 8, {full, false}, most) == cpus("0-3,8-11"));
  CHECK(bind_cpus_in(node, node.cpus() - cpus("0-5"), both, 8, {full, false}, most) == cpus("6-13"));
  CHECK(bind_cpus_in(node, node.cpus(), both, 6, {full, true}, most) == cpus("0-1,8-11"));
}

TEST_CASE("what bound CPUs count for is rounded up", "[devices][numa]") {
  CHECK(amplified(3000, 150) == 4500);
  CHECK(amplified(1, 101) == 2);
  CHECK(amplified(3000, 100) == 3000);
  CHECK(amplified(3000, 50) == 3000);
}

}  // namespace gangsched::testing::cpu_binding_test
