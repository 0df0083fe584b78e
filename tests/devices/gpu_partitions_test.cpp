#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/devices/gpu_machines.hpp"
#include "gangsched/devices/gpu_partitions.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::gpu_partitions_test {

namespace {

std::string refusal(std::size_t gpus, std::vector<gpu_partition> partitions) {
  const auto table = gpu_partition_table::make(gpus, std::move(partitions));
  REQUIRE(!table);
  return table.error().message();
}

}  // namespace

TEST_CASE("the partition is taken that leaves the large ones", "[devices][partitions]") {
  const gpu_partition_table table = gpu_partition_table::nvswitch_8();
  CHECK(table.partitions().size() == 15);
  CHECK(table.worth(0xff) == 10000 + 2 * 100 + 4);
  CHECK(table.worth(0xfe) == 100 + 3);
  CHECK(table.worth(0) == 0);
  CHECK(table.worth(0xff, 4) == 10000 + 2 * 100);
  CHECK(table.best(0xff, 8) == 0xff);
  CHECK(table.best(0xff, 4) == 0x0f);
  CHECK(table.best(0xff, 2) == 0x03);
  CHECK(table.best(0xfc, 2) == 0x0c);  // not 0x30, which would break the quad
  CHECK(table.best(0xfc, 1) == 0x04);
  CHECK(table.best(0xf4, 1) == 0x04);
  CHECK(table.best(0x7f, 1) == 0x40);
  CHECK(table.best(0x3c, 4) == 0);
  CHECK(table.best(0xff, 3) == 0);
  CHECK(table.best(0xff, 0) == 0);
}

TEST_CASE("partitions with the highest score go first, and of equal ones the first", "[devices][partitions]") {
  const auto chosen = [](std::vector<gpu_partition> partitions, gpu_mask free = 0xff, unsigned count = 4) {
    return gpu_partition_table::make(8, std::move(partitions)).value().best(free, count);
  };
  CHECK(chosen({{0xf0, 1}, {0x0f, 1}}) == 0xf0);
  CHECK(chosen({{0x0f, 1}, {0xf0, 3}}) == 0xf0);
  CHECK(chosen({{0x0f, 1}, {0xf0, 3}}, 0x1f) == 0x0f);
  CHECK(chosen({{0x0f, 1}, {0xf0, 3}, {0xc0, 0}}) == 0xf0);  // whatever it leaves
  // Only partitions no smaller count, and of a size only those with the highest score.
  CHECK(chosen({{0xf0, 1}, {0x0f, 1}, {0xc0, 1}}) == 0xf0);
  CHECK(chosen({{0x03, 1}, {0xc0, 1}, {0x0f, 1}, {0xf0, 1}}, 0xff, 2) == 0x03);
  CHECK(chosen({{0x03, 1}, {0xc0, 1}, {0x0f, 2}, {0xf0, 1}}, 0xff, 2) == 0xc0);
}

TEST_CASE("the choice among partitions is the one that its order says", "[devices][partitions]") {
  testing::dice dice(1);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    const unsigned gpus = round % 4 == 0 ? 16 : 8;
    std::vector<gpu_partition> partitions;
    for (int n = 0; n < 24; ++n) {
      const unsigned size = 1u << dice.below(4);
      gpu_partition one{static_cast<gpu_mask>(((1u << size) - 1u) << dice.below(gpus - size + 1)),
                        static_cast<std::int32_t>(dice.below(3))};
      bool known = false;
      for (const gpu_partition& other : partitions) known |= other.gpus == one.gpus;
      if (!known) partitions.push_back(one);
    }
    const auto table = gpu_partition_table::make(gpus, partitions);
    REQUIRE(table);
    const auto free = static_cast<gpu_mask>((dice.next() | dice.next()) & ((1u << gpus) - 1u));
    const auto count = static_cast<int>(1 + dice.below(8));
    gpu_mask expected = 0;
    std::pair<std::int32_t, std::int64_t> best{};
    const auto highest = [&](int size) {
      std::int32_t most = 0;
      for (const gpu_partition& one : partitions)
        if (std::popcount(one.gpus) == size) most = std::max(most, one.score);
      return most;
    };
    for (const gpu_partition& one : partitions) {
      if ((one.gpus & ~free) != 0 || std::popcount(one.gpus) != count) continue;
      std::int64_t left = 0;
      for (const gpu_partition& other : partitions) {
        const int size = std::popcount(other.gpus);
        const int weight = size == 8 ? 10000 : size == 4 ? 100 : size == 2 ? 1 : 0;
        if (size < count || other.score != highest(size)) continue;
        if ((other.gpus & free) == other.gpus && (other.gpus & one.gpus) == 0)
          left += weight * std::max(other.score, 1);
      }
      const std::pair<std::int32_t, std::int64_t> value{one.score, left};
      if (expected == 0 || value > best) expected = one.gpus, best = value;
    }
    found += expected != 0;
    if (table->best(free, static_cast<unsigned>(count)) != expected) FAIL("round " << round);
  }
  CHECK(found > 500);
}

TEST_CASE("partitions are a must or a wish", "[devices][partitions]") {
  const gpu_partition_table table = gpu_partition_table::nvswitch_8();
  const gpu_topology box = make_gpu_topology(gpu_machine::hgx_h100_8);
  const best_sets sets(box.links);
  CHECK(table.best(0x3c, 4, gpu_partition_policy::honor, sets) == 0);
  CHECK(table.best(0x3c, 4, gpu_partition_policy::prefer, sets) == 0x3c);
  CHECK(table.best(0xff, 3, gpu_partition_policy::honor, sets) == 0);
  CHECK(std::popcount(table.best(0xff, 3, gpu_partition_policy::prefer, sets)) == 3);
  CHECK(table.best(0xfc, 2, gpu_partition_policy::prefer, sets) == 0x0c);
  CHECK(table.best(0x3c, 3, gpu_partition_policy::prefer, sets,
                   {link_level::sys, gpu_groups({box.numa_cell.data(), 8})}) == 0);

  // What is required holds for partitions too.
  const auto across = gpu_partition_table::make(8, {{0x18, 5}, {0x60, 0}});
  REQUIRE(across);
  const std::vector<gpu_mask> cells = gpu_groups({box.numa_cell.data(), 8});
  CHECK(across->best(0xff, 2) == 0x18);
  CHECK(across->best(0xff, 2, gpu_partition_policy::honor, sets, {link_level::sys, cells}) == 0x60);
  CHECK(across->best(0x9f, 2, gpu_partition_policy::honor, sets, {link_level::sys, cells}) == 0);
}

TEST_CASE("partitions of GPUs that are not there are refused", "[devices][partitions]") {
  CHECK(refusal(0, {}) == "GPU partitions: gpus: not in 1 ... 16");
  CHECK(refusal(17, {}) == "GPU partitions: gpus: not in 1 ... 16");
  CHECK(refusal(8, {{0x03, 0}, {0, 0}}) == "GPU partitions: partitions[1].gpus: there are none");
  CHECK(refusal(8, {{0x100, 0}}) == "GPU partitions: partitions[0].gpus: GPU 8 of 8");
  CHECK(refusal(8, {{0x03, 0}, {0x0c, 0}, {0x03, 9}}) ==
        "GPU partitions: partitions[2].gpus: the same as partitions[0]");
  CHECK(gpu_partition_table::make(16, {{0xffff, 0}}));
}

}  // namespace gangsched::testing::gpu_partitions_test
