#include "gangsched/devices/numa_topology.hpp"

#include <functional>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace gangsched::testing::numa_topology_test {

namespace {

/// Two sockets of two cores with two threads each, one cell a socket: CPU n and n + 4 share core n.
std::vector<numa_cell> two_sockets() {
  std::vector<numa_cell> cells(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    cells[i].id = i;
    for (std::uint32_t core = 2 * i; core < 2 * i + 2; ++core)
      for (const std::uint32_t cpu : {core, core + 4}) cells[i].cpus.push_back({cpu, core, i, i});
    cells[i].memory_bytes = 1000 + i;
    cells[i].distances = i == 0 ? std::vector<std::uint32_t>{10, 21} : std::vector<std::uint32_t>{21, 10};
  }
  return cells;
}

cpu_set set(std::initializer_list<unsigned> cpus) {
  cpu_set all;
  for (const unsigned cpu : cpus) all.insert(cpu);
  return all;
}

struct refusal {
  const char* field;
  const char* reason;
  errc code;
  std::function<void(std::vector<numa_cell>&)> spoil;
};

}  // namespace

TEST_CASE("a fixed_set keeps its members across words, in order", "[devices][numa]") {
  cpu_set some = set({0, 63, 64, 1023});
  CHECK(some.count() == 4);
  CHECK(some.first() == 0);
  CHECK(some.contains(1023));
  CHECK_FALSE(some.contains(1024));
  std::vector<unsigned> seen;
  some.for_each([&](unsigned member) { seen.push_back(member); });
  CHECK(seen == std::vector<unsigned>{0, 63, 64, 1023});
  CHECK(some.lowest(2) == set({0, 63}));
  CHECK(some.lowest(9) == some);
  CHECK((some - set({0, 64})) == set({63, 1023}));
  CHECK((some & cpu_set::range(1, 65)) == set({63, 64}));
  some.erase(0);
  CHECK(some.first() == 63);
  CHECK(cpu_set{}.empty());
  CHECK(cpu_set{}.first() == cpu_set::capacity);
  static_assert(std::is_trivially_copyable_v<cpu_set>);
}

TEST_CASE("a topology knows where each CPU sits", "[devices][numa]") {
  const numa_topology node = numa_topology::build(two_sockets()).value();
  CHECK(node.cpu_number() == 8);
  CHECK(node.cell_number() == 2);
  CHECK(node.cells_with_cpus() == all_cells(2));
  CHECK(node.cpus_per_core() == 2);
  CHECK(node.cpus_per_socket() == 4);
  CHECK(node.cpus_per_uncore_cache() == 4);
  CHECK(node.cpus_in(one_cell(1)) == set({2, 3, 6, 7}));
  CHECK(node.of(7).core == 3);
  CHECK(node.of(7).cell == 1);
  CHECK(node.of(8).core == numa_topology::no_place);
  CHECK(node.whole_cores(set({0, 7, 500})) == set({0, 4, 3, 7}));
  CHECK(node.distances().at(0, 1) == 21);
  CHECK(node.distances().sum(all_cells(2)) == 62);
  CHECK(node.memory(1, 0) == 1001);
}

TEST_CASE("cells are indexed by ascending id, and a core is called by its lowest CPU", "[devices][numa]") {
  std::vector<numa_cell> cells = two_sockets();
  for (numa_cpu& cpu : cells[0].cpus) cpu.core = 100 - cpu.core;
  cells[0].id = 7;  // now behind cell 1
  cells[0].distances = {21, 10};
  cells[1].distances = {10, 21};
  const numa_topology node = numa_topology::build(cells).value();
  CHECK(node.cells()[0].id == 1);
  CHECK(node.cells()[1].id == 7);
  CHECK(node.of(0).cell == 1);
  CHECK(node.memory(1, 0) == 1000);
  CHECK(node.cores()[0].id == 0);
  CHECK(node.cores()[0].cpus == set({0, 4}));
}

TEST_CASE("every page size of the node is a kind of memory, also where a cell has none", "[devices][numa]") {
  std::vector<numa_cell> cells = two_sockets();
  cells[0].hugepages = {{1u << 30, 5}, {2u << 20, 6}};
  cells[1].hugepages = {{2u << 20, 7}};
  const numa_topology node = numa_topology::build(cells).value();
  CHECK(std::vector<std::uint64_t>(node.memory_kinds().begin(), node.memory_kinds().end()) ==
        std::vector<std::uint64_t>{0, 2u << 20, 1u << 30});
  CHECK(node.memory(0, 1) == 6);
  CHECK(node.memory(0, 2) == 5);
  CHECK(node.memory(1, 1) == 7);
  CHECK(node.memory(1, 2) == 0);
}

TEST_CASE("a cell may have memory only", "[devices][numa]") {
  std::vector<numa_cell> cells = two_sockets();
  for (numa_cell& cell : cells) cell.distances.clear();
  cells.push_back({2, {}, 99, {}, {}});
  const numa_topology node = numa_topology::build(cells).value();
  CHECK(node.machine() == all_cells(3));
  CHECK(node.cells_with_cpus() == all_cells(2));
  CHECK(node.distances().cells == 0);
}

TEST_CASE("a topology that cannot be is refused with its place", "[devices][numa]") {
  using cells = std::vector<numa_cell>;
  const std::vector<refusal> refusals{
      {"cells", "a node has at least one cell", errc::malformed, [](cells& c) { c.clear(); }},
      {"cells", "17 cells, at most 16 are possible", errc::out_of_range, [](cells& c) { c.resize(17); }},
      {"cells", "no cell has a CPU", errc::malformed, [](cells& c) { c[0].cpus.clear(), c[1].cpus.clear(); }},
      {"cells[1].id", "cell 0 is there twice", errc::duplicate, [](cells& c) { c[1].id = 0; }},
      {"cells[1].cpus[0].id", "CPU 0 is there twice", errc::duplicate, [](cells& c) { c[1].cpus[0].id = 0; }},
      {"cells[0].cpus[3].id", "CPU 1024 is not below 1024", errc::out_of_range,
       [](cells& c) { c[0].cpus[3].id = 1024; }},
      {"cells[0].cpus[1].socket", "core 0 is in two sockets", errc::malformed,
       [](cells& c) { c[0].cpus[1].socket = 1; }},
      {"cells[1].cpus[0].core", "core 1 is in two cells", errc::malformed,
       [](cells& c) { c[1].cpus[0].core = 1, c[1].cpus[0].socket = 0; }},
      {"cells[0].cpus[1].uncore_cache", "core 0 is in two caches", errc::malformed,
       [](cells& c) { c[0].cpus[1].uncore_cache = 5; }},
      {"cells[1].distances", "1 distances for 2 cells", errc::malformed, [](cells& c) { c[1].distances.pop_back(); }},
      {"cells[1].distances", "0 distances for 2 cells", errc::malformed, [](cells& c) { c[1].distances.clear(); }},
      {"cells[1].distances", "2 distances for 2 cells", errc::malformed, [](cells& c) { c[0].distances.clear(); }},
      {"cells[0].distances[1]", "the way back is 21", errc::malformed, [](cells& c) { c[0].distances[1] = 20; }},
      {"cells[0].distances[0]", "0 is not 10 … 254", errc::out_of_range, [](cells& c) { c[0].distances[0] = 0; }},
      {"cells[0].distances[1]", "255 is not 10 … 254", errc::out_of_range, [](cells& c) { c[0].distances[1] = 255; }},
      {"cells[1].hugepages[0].page_bytes", "a page has at least one byte", errc::out_of_range,
       [](cells& c) {
         c[1].hugepages = {{0, 1}};
       }},
      {"cells[1].hugepages[1].page_bytes", "pages of 4096 bytes are there twice", errc::duplicate,
       [](cells& c) {
         c[1].hugepages = {{4096, 1}, {4096, 2}};
       }},
      {"cells[1].memory_bytes", "more than 2^56 bytes", errc::out_of_range,
       [](cells& c) { c[1].memory_bytes = (std::uint64_t{1} << 56) + 1; }},
      {"cells[0].hugepages[1].bytes", "more than 2^56 bytes", errc::out_of_range,
       [](cells& c) {
         c[0].hugepages = {{4096, std::uint64_t{1} << 56}, {8192, ~std::uint64_t{0}}};
       }},
  };
  for (const refusal& row : refusals) {
    cells spoilt = two_sockets();
    row.spoil(spoilt);
    const result<numa_topology> got = numa_topology::build(spoilt);
    CAPTURE(row.field, row.reason);
    REQUIRE_FALSE(got.has_value());
    CHECK(got.error().object == "NUMA topology");
    CHECK(got.error().field == row.field);
    CHECK(got.error().reason == row.reason);
    CHECK(got.error().code == row.code);
  }
}

}  // namespace gangsched::testing::numa_topology_test
