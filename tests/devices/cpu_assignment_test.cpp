#include "gangsched/devices/cpu_assignment.hpp"

#include <optional>
#include <vector>

#include "devices/numa_nodes.hpp"
#include "gangsched/devices/cpu_manager.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::cpu_assignment_test {

namespace {

constexpr const char* nothing = nullptr;

/// A row of kubelet's cpu_assignment_test.go, under its name there.
struct take_case {
  const char* name;
  const char* node;
  const char* available;
  unsigned wanted;
  const char* expected;
};
struct share_case {
  const char* name;
  const char* node;
  const char* available;
  unsigned wanted;
  unsigned group;
  const char* expected;
};

/// commonTakeByTopologyTestCases
std::vector<take_case> common_cases() {
  return {
      {"take more cpus than are available from single socket with HT", "SingleSocketHT", "0,2,4,6", 5, nothing},
      {"take zero cpus from single socket with HT", "SingleSocketHT", "0,1,2,3,4,5,6,7", 0, ""},
      {"take one cpu from single socket with HT", "SingleSocketHT", "0,1,2,3,4,5,6,7", 1, "0"},
      {"take one cpu from single socket with HT, some cpus are taken", "SingleSocketHT", "1,3,5,6,7", 1, "6"},
      {"take two cpus from single socket with HT", "SingleSocketHT", "0,1,2,3,4,5,6,7", 2, "0,4"},
      {"take all cpus from single socket with HT", "SingleSocketHT", "0,1,2,3,4,5,6,7", 8, "0,1,2,3,4,5,6,7"},
      {"take two cpus from single socket with HT, only one core totally free", "SingleSocketHT", "0,1,2,3,6", 2, "2,6"},
      {"take a socket of cpus from dual socket with HT", "DualSocketHT", "0,1,2,3,4,5,6,7,8,9,10,11", 6,
       "0,2,4,6,8,10"},
      {"take a socket of cpus from dual socket with multi-numa-per-socket with HT", "DualSocketMultiNumaPerSocketHT",
       "0-79", 40, "0-19,40-59"},
      {"take a NUMA node of cpus from dual socket with multi-numa-per-socket with HT", "DualSocketMultiNumaPerSocketHT",
       "0-79", 20, "0-9,40-49"},
      {"take a NUMA node of cpus from dual socket with multi-numa-per-socket with HT, with 1 NUMA node already taken",
       "DualSocketMultiNumaPerSocketHT", "10-39,50-79", 20, "10-19,50-59"},
      {"take a socket and a NUMA node of cpus from dual socket with multi-numa-per-socket with HT",
       "DualSocketMultiNumaPerSocketHT", "0-79", 60, "0-29,40-69"},
      {"take a socket and a NUMA node of cpus from dual socket with multi-numa-per-socket with HT, a core taken",
       "DualSocketMultiNumaPerSocketHT", "1-39,41-79", 60, "10-39,50-79"},
  };
}

void check(const char* name, const std::optional<cpu_set>& got, const char* expected) {
  CAPTURE(name);
  REQUIRE(got.has_value() == (expected != nothing));
  if (got) CHECK(*got == cpus(expected));
}

}  // namespace

TEST_CASE("CPUs are packed as in kubelet's TestTakeByTopologyNUMAPacked", "[devices][numa]") {
  std::vector<take_case> cases = common_cases();
  const std::vector<take_case> more{
      {"take one cpu from dual socket with HT - core from Socket 0", "DualSocketHT", "1,2,3,4,5,7,8,9,10,11", 1, "2"},
      {"allocate 4 full cores with 3 coming from the first NUMA node (filling it up) and 1 coming from the second NUMA "
       "node",
       "DualSocketHT", "0-11", 8, "0,6,2,8,4,10,1,7"},
      {"allocate 32 full cores with 30 coming from the first 3 NUMA nodes (filling them up) and 2 coming from the "
       "fourth NUMA node",
       "DualSocketMultiNumaPerSocketHT", "0-79", 64, "0-29,40-69,30,31,70,71"},
  };
  cases.insert(cases.end(), more.begin(), more.end());
  for (const take_case& row : cases)
    check(row.name, take_cpus_packed(kubelet_node(row.node), cpus(row.available), row.wanted, false, false),
          row.expected);
}

TEST_CASE("CPUs are packed by last-level cache as in kubelet's TestTakeByTopologyNUMAPacked", "[devices][numa]") {
  const std::vector<take_case> cases{
      {"take cpus from two full UncoreCaches and partial from a single UncoreCache", "UncoreSingleSocketNoSMT", "1-15",
       10, "1,2,4,5,6,7,8,9,10,11"},
      {"take one cpu from dual socket with HT - core from Socket 0", "DualSocketHT", "1,2,3,4,5,7,8,9,10,11", 1, "1"},
      {"take first available UncoreCache from first socket", "UncoreDualSocketNoSMT", "0-15", 4, "0,1,2,3"},
      {"take all available UncoreCache from first socket", "UncoreDualSocketNoSMT", "2-15", 6, "2,3,4,5,6,7"},
      {"take first available UncoreCache from second socket", "UncoreDualSocketNoSMT", "8-15", 4, "8,9,10,11"},
      {"take first available UncoreCache from available NUMA", "UncoreSingleSocketMultiNuma", "3,4-8,12", 2, "4,5"},
      {"take cpus from best available UncoreCache group of multi uncore cache single socket - SMT enabled",
       "UncoreSingleSocketSMT", "2-3,10-11,4-7,12-15", 6, "4,5,6,12,13,14"},
      {"take cpus from multiple UncoreCache of single socket - SMT enabled", "UncoreSingleSocketSMT", "1-7,9-15", 10,
       "4-7,12-15,1,9"},
  };
  for (const take_case& row : cases)
    check(row.name, take_cpus_packed(kubelet_node(row.node), cpus(row.available), row.wanted, false, true),
          row.expected);
}

TEST_CASE("CPUs are spread as in kubelet's TestTakeByTopologyWithSpreadPhysicalCPUsPreferredOption",
          "[devices][numa]") {
  const std::vector<take_case> cases{
      {"take a socket of cpus from single socket with HT, 3 cpus", "SingleSocketHT", "0,1,2,3,4,5,6,7", 3, "0,1,2"},
      {"take a socket of cpus from dual socket with HT, 2 cpus", "DualSocketHT", "0,1,2,3,4,5,6,7,8,9,10,11", 2, "0,2"},
      {"take a socket of cpus from dual socket with HT, 3 cpus", "DualSocketHT", "0,1,2,3,4,5,6,7,8,9,10,11", 3,
       "0,2,4"},
      {"take a socket of cpus from dual socket with HT, 6 cpus", "DualSocketHT", "0,1,2,3,4,5,6,7,8,9,10,11", 6,
       "0,2,4,6,8,10"},
      {"take cpus from dual socket with HT, 8 cpus", "DualSocketHT", "0,1,2,3,4,5,6,7,8,9,10,11", 8,
       "0,2,4,6,8,10,1,3"},
      {"take a socket of cpus from dual socket without HT, 2 cpus", "DualSocketNoHT", "0,1,2,3,4,5,6,7", 2, "0,1"},
      {"take a socket of cpus from dual socket with multi numa per socket and HT, 12 cpus",
       "DualSocketMultiNumaPerSocketHT", "0-79", 8, "0-7"},
  };
  for (const take_case& row : cases)
    check(row.name, take_cpus_packed(kubelet_node(row.node), cpus(row.available), row.wanted, true, false),
          row.expected);
}

TEST_CASE("CPUs are shared between cells as in kubelet's TestTakeByTopologyNUMADistributed", "[devices][numa]") {
  for (const take_case& row : common_cases())
    check(row.name, take_cpus_distributed(kubelet_node(row.node), cpus(row.available), row.wanted, 1, false),
          row.expected);
  const std::vector<share_case> cases{
      {"allocate 4 full cores with 2 distributed across each NUMA node", "DualSocketHT", "0-11", 8, 1,
       "0,6,2,8,1,7,3,9"},
      {"allocate 32 full cores with 8 distributed across each NUMA node", "DualSocketMultiNumaPerSocketHT", "0-79", 64,
       1, "0-7,10-17,20-27,30-37,40-47,50-57,60-67,70-77"},
      {"allocate 24 full cores with 8 distributed across the first 3 NUMA nodes", "DualSocketMultiNumaPerSocketHT",
       "0-79", 48, 1, "0-7,10-17,20-27,40-47,50-57,60-67"},
      {"allocate 24 full cores with 8 distributed across the first 3 NUMA nodes (taking all but 2 from the first NUMA "
       "node)",
       "DualSocketMultiNumaPerSocketHT", "1-29,32-39,41-69,72-79", 48, 1, "1-8,10-17,20-27,41-48,50-57,60-67"},
      {"allocate 24 full cores with 8 distributed across the last 3 NUMA nodes (even though all 8 could be allocated "
       "from the first NUMA node)",
       "DualSocketMultiNumaPerSocketHT", "2-29,31-39,42-69,71-79", 48, 1, "10-17,20-27,31-38,50-57,60-67,71-78"},
      {"allocate 8 full cores with 2 distributed across each NUMA node", "DualSocketMultiNumaPerSocketHT",
       "0-2,10-12,20-22,30-32,40-41,50-51,60-61,70-71", 16, 1, "0-1,10-11,20-21,30-31,40-41,50-51,60-61,70-71"},
      {"allocate 8 full cores with 2 distributed across each NUMA node", "DualSocketMultiNumaPerSocketHT",
       "0-2,10-12,20-22,30-32,40-41,50-51,60-61,70-71", 16, 1, "0-1,10-11,20-21,30-31,40-41,50-51,60-61,70-71"},
      {"take one cpu from dual socket with HT - core from Socket 0", "DualSocketHT", "1,2,3,4,5,7,8,9,10,11", 1, 1,
       "1"},
      {"take one cpu from dual socket with HT - core from Socket 0 - cpuGroupSize 2", "DualSocketHT",
       "1,2,3,4,5,7,8,9,10,11", 1, 2, "2"},
      {"allocate 13 full cores distributed across the first 2 NUMA nodes", "DualSocketMultiNumaPerSocketHT", "0-79", 26,
       1, "0-6,10-16,40-45,50-55"},
      {"allocate 13 full cores distributed across the first 2 NUMA nodes (cpuGroupSize 2)",
       "DualSocketMultiNumaPerSocketHT", "0-79", 26, 2, "0-6,10-15,40-46,50-55"},
      {"allocate 31 full cores with 15 CPUs distributed across each NUMA node and 1 CPU spilling over to each of NUMA "
       "0, 1",
       "DualSocketMultiNumaPerSocketHT", "0-79", 62, 1, "0-7,10-17,20-27,30-37,40-47,50-57,60-66,70-76"},
      {"allocate 31 full cores with 14 CPUs distributed across each NUMA node and 2 CPUs spilling over to each of NUMA "
       "0, 1, 2 (cpuGroupSize 2)",
       "DualSocketMultiNumaPerSocketHT", "0-79", 62, 2, "0-7,10-17,20-27,30-36,40-47,50-57,60-67,70-76"},
      {"allocate 31 full cores with 15 CPUs distributed across each NUMA node and 1 CPU spilling over to each of NUMA "
       "2, 3 (to keep balance)",
       "DualSocketMultiNumaPerSocketHT", "0-8,10-18,20-39,40-48,50-58,60-79", 62, 1,
       "0-7,10-17,20-27,30-37,40-46,50-56,60-67,70-77"},
      {"allocate 31 full cores with 14 CPUs distributed across each NUMA node and 2 CPUs spilling over to each of NUMA "
       "0, 2, 3 (to keep balance with cpuGroupSize 2)",
       "DualSocketMultiNumaPerSocketHT", "0-8,10-18,20-39,40-48,50-58,60-79", 62, 2,
       "0-7,10-16,20-27,30-37,40-47,50-56,60-67,70-77"},
      {"ensure bestRemainder chosen with NUMA nodes that have enough CPUs to satisfy the request",
       "DualSocketMultiNumaPerSocketHT", "0-3,10-13,20-23,30-36,40-43,50-53,60-63,70-76", 34, 1,
       "0-3,10-13,20-23,30-34,40-43,50-53,60-63,70-74"},
      {"ensure previous failure encountered on live machine has been fixed (1/1)",
       "DualSocketMultiNumaPerSocketHTLarge",
       "0,128,30,31,158,159,43-47,171-175,62,63,190,191,75-79,203-207,94,96,222,223,101-111,229-239,126,127,254,255",
       28, 1, "43-47,75-79,96,101-105,171-174,203-206,229-232"},
  };
  for (const share_case& row : cases)
    check(row.name, take_cpus_distributed(kubelet_node(row.node), cpus(row.available), row.wanted, row.group, false),
          row.expected);
}

TEST_CASE("the best cells found are overwritten by later ones, as in kubelet", "[devices][numa]") {
  // Eight cells of one CPU: four of them are balanced at once, and kubelet's list of them then has its last one replaced.
  const numa_topology node =
      numa_topology::build(numa_cells(8, 8, [](numa_cpu& cpu, unsigned& cell) { cell = cpu.id; })).value();
  CHECK(take_cpus_distributed(node, cpus("0-7"), 4, 1, false) == cpus("0-2,7"));
  CHECK(take_cpus_distributed(node, cpus("0-7"), 3, 1, false) == cpus("0-2"));
  CHECK(take_cpus_packed(node, cpus("0-7"), 4, false, false) == cpus("0-3"));
}

TEST_CASE("whatever the node and the options, exactly the CPUs asked for come out of those available",
          "[devices][numa]") {
  dice random(17);
  unsigned taken = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    const auto sockets = static_cast<unsigned>(random.between(1, 4)), cells = sockets * (random.percent(50) ? 2u : 1u);
    const auto threads = static_cast<unsigned>(random.between(1, 2)),
               cores = cells * static_cast<unsigned>(random.between(1, 5));
    const numa_topology node =
        numa_topology::build(numa_cells(cells, cores * threads, [&](numa_cpu& cpu, unsigned& cell) {
          cpu.core = cpu.id % cores;
          cell = cpu.core * cells / cores;
          cpu.socket = cell * sockets / cells;
          cpu.uncore_cache = cell * 8 + cpu.core % 2;
        })).value();
    for (int step = 0; step < 20; ++step) {
      cpu_set available;
      node.cpus().for_each([&](unsigned cpu) {
        if (random.percent(70)) available.insert(cpu);
      });
      const auto wanted = static_cast<unsigned>(random.below(available.count() + 2));
      const bool spread = random.percent(30);
      const bool packed = random.percent(50);
      const auto got = packed
                           ? take_cpus_packed(node, available, wanted, spread, random.percent(50))
                           : take_cpus_distributed(node, available, wanted, random.percent(50) ? threads : 1, spread);
      CAPTURE(round, step, wanted);
      // Sharing has kubelet's accounting errors, which it makes when the list of the best cells was overwritten.
      if (packed) REQUIRE(got.has_value() == (wanted <= available.count()));
      if (wanted > available.count()) REQUIRE_FALSE(got.has_value());
      got ? ++taken : ++refused;
      if (!got) continue;
      REQUIRE(got->count() == wanted);
      REQUIRE((*got - available).empty());
    }
  }
  CHECK(taken > 3000);
  CHECK(refused > 100);
}

}  // namespace gangsched::testing::cpu_assignment_test
