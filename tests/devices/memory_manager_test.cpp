#include "gangsched/devices/memory_manager.hpp"

#include <vector>

#include "devices/numa_nodes.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::memory_manager_test {

namespace {

constexpr bool yes = true, no = false;

/// Cells of 100 bytes, and 10 of huge pages each.
numa_topology node_of(unsigned cells) {
  auto spec = numa_cells(cells, cells, [](numa_cpu& cpu, unsigned& cell) { cell = cpu.id; });
  for (numa_cell& cell : spec) cell.memory_bytes = 100, cell.hugepages = {{2, 10}};
  return numa_topology::build(spec).value();
}

}  // namespace

TEST_CASE("memory hints name all cells with enough of every kind", "[devices][numa]") {
  const numa_topology node = node_of(2);
  memory_state state = make_memory_state(node);
  using list = numa_hint_list;
  CHECK(memory_hints(node, state, {}, {60, 0}) == list{{1, yes}, {2, yes}, {3, no}});
  CHECK(memory_hints(node, state, {}, {60, 11}) == list{{3, yes}});
  CHECK(memory_hints(node, state, {}, {201, 0}) == list{});
  state.cells[0].free[0] = 59;
  state.cells[1].free[0] = 59;
  // One cell would do on an empty node, so both together are not preferred.
  CHECK(memory_hints(node, state, {}, {60, 0}) == list{{3, no}});
}

TEST_CASE("a grant takes from the lowest cells first and binds all of them", "[devices][numa]") {
  const numa_topology node = node_of(3);
  memory_state state = make_memory_state(node);
  const auto grant = allocate_memory(node, state, {}, {130, 0}, {6, yes});
  REQUIRE(grant.has_value());
  CHECK(*grant == memory_grant{6, 1, {130, 0}});
  CHECK(state.cells[0] == memory_state::cell{{100, 10}, 0, 1});
  CHECK(state.cells[1] == memory_state::cell{{0, 10}, 1, 6});
  CHECK(state.cells[2] == memory_state::cell{{70, 10}, 1, 6});
  release_memory(node, state, *grant);
  CHECK(state == make_memory_state(node));
}

TEST_CASE("groups of cells are the same or disjoint", "[devices][numa]") {
  const numa_topology node = node_of(4);
  memory_state state = make_memory_state(node);
  REQUIRE(allocate_memory(node, state, {}, {120, 0}, {3, yes}).has_value());
  using list = numa_hint_list;
  // Cells 0 and 1 are bound together: no single cell of them, and no other group.
  CHECK(memory_hints(node, state, {}, {50, 0}) == list{{3, no}, {4, yes}, {8, yes}, {12, no}});
  REQUIRE(allocate_memory(node, state, {}, {10, 0}, {4, yes}).has_value());
  // Cell 2 is used alone now: it joins no group.
  CHECK(memory_hints(node, state, {}, {50, 0}) == list{{3, no}, {4, yes}, {8, yes}});
  CHECK(memory_hints(node, state, {}, {150, 0}) == list{});
}

TEST_CASE("a hint that would break a group is refused and changes nothing", "[devices][numa]") {
  const numa_topology node = node_of(3);
  memory_state state = make_memory_state(node);
  REQUIRE(allocate_memory(node, state, {}, {120, 0}, {3, yes}).has_value());
  const memory_state before = state;
  // violating NUMA allocations because given affinity asks for NUMA ID 1 which is on different cells group
  CHECK_FALSE(allocate_memory(node, state, {}, {10, 0}, {6, no}).has_value());
  CHECK(state == before);
  // kubelet lets a single cell of a group through here; its hints never name one.
  CHECK(allocate_memory(node, state, {}, {10, 0}, {2, no}).has_value());
}

TEST_CASE("without a hint the best own one is used, unless it is less preferred than asked", "[devices][numa]") {
  const numa_topology node = node_of(2);
  memory_state state = make_memory_state(node);
  CHECK(allocate_memory(node, state, {}, {30, 0}, {0, no})->cells == 1);
  state.cells[0].free[0] = state.cells[1].free[0] = 40;
  state.cells[0].assignments = 0;
  CHECK_FALSE(allocate_memory(node, state, {}, {60, 0}, {0, yes}).has_value());
  CHECK(allocate_memory(node, state, {}, {60, 0}, {0, no})->cells == 3);
  CHECK_FALSE(allocate_memory(node, state, {}, {90, 0}, {0, no}).has_value());
}

TEST_CASE("a hint with too little memory is widened to a group that contains it", "[devices][numa]") {
  const numa_topology node = node_of(4);
  memory_state state = make_memory_state(node);
  CHECK(allocate_memory(node, state, {}, {150, 0}, {4, no})->cells == 5);  // with cell 0, the lowest
  CHECK(allocate_memory(node, state, {}, {150, 0}, {2, yes})->cells == 10);
  state = make_memory_state(node);
  state.cells[2].free[0] = 10;
  // A single cell would do on an empty node, so the wider hint is not preferred, as the one given was.
  CHECK_FALSE(allocate_memory(node, state, {}, {50, 0}, {4, yes}).has_value());
}

TEST_CASE("memory to reuse counts for its cells only, and once", "[devices][numa]") {
  const numa_topology node = node_of(2);
  memory_state state = make_memory_state(node);
  reusable_memory reusable;
  REQUIRE(allocate_memory(node, state, reusable, {80, 0}, {1, yes}).has_value());
  reusable.leave(1, {80, 0});
  reusable.leave(1, {30, 5});
  CHECK(reusable.of(1, 0) == 80);
  CHECK(reusable.of(1, 1) == 5);
  CHECK(reusable.of(3, 0) == 0);
  CHECK(memory_hints(node, state, {}, {90, 0}) == numa_hint_list{{2, yes}});
  CHECK(memory_hints(node, state, reusable, {90, 0}) == numa_hint_list{{1, yes}, {2, yes}});
  // kubelet's allocation checks without it, and then finds the same hint as an extension.
  REQUIRE(allocate_memory(node, state, reusable, {90, 0}, {1, yes})->cells == 1);
  CHECK(state.cells[0].free[0] == 10);
  reusable.use(1, {50, 9});
  CHECK(reusable.of(1, 0) == 30);
  CHECK(reusable.of(1, 1) == 0);
}

TEST_CASE("memory that is given and released again is all there, in whatever order", "[devices][numa]") {
  dice random(3);
  unsigned given = 0;
  for (int round = 0; round < 500; ++round) {
    const numa_topology node = node_of(static_cast<unsigned>(random.between(1, 5)));
    memory_state state = make_memory_state(node);
    std::vector<memory_grant> grants;
    std::uint64_t booked = 0;
    for (int step = 0; step < 20; ++step) {
      if (!grants.empty() && random.percent(40)) {
        const std::size_t which = random.below(grants.size());
        release_memory(node, state, grants[which]);
        booked -= grants[which].bytes[0];
        grants.erase(grants.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const memory_amounts wanted{static_cast<std::uint64_t>(random.between(1, 150)), random.below(15)};
        if (auto grant = allocate_memory(node, state, {}, wanted, {})) {
          booked += wanted[0];
          grants.push_back(*std::move(grant));
          ++given;
        }
      }
      std::uint64_t free = 0;
      for (unsigned i = 0; i < node.cell_number(); ++i) {
        free += state.cells[i].free[0];
        for (unsigned j = 0; j < node.cell_number(); ++j) {
          const bool apart = (state.cells[i].group & state.cells[j].group) == 0;
          REQUIRE((apart || state.cells[i].group == state.cells[j].group));
        }
      }
      REQUIRE(free + booked == 100u * node.cell_number());
    }
    for (const memory_grant& grant : grants) release_memory(node, state, grant);
    CHECK(state == make_memory_state(node));
  }
  CHECK(given > 1000);
}

}  // namespace gangsched::testing::memory_manager_test
