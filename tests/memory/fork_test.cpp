#include "gangsched/fork.hpp"

#include "memory/fails_without_memory.hpp"
#include "memory/full_house.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::memory_fork_test {

namespace {

std::size_t placed(full_house& house) {
  house.run();
  house.now += std::chrono::seconds{30};
  house.run();
  std::size_t count = 0;
  for (const pod_id pod : house.cluster.pods()) count += house.cluster.node_of(pod) ? 1u : 0u;
  return count;
}

/// Whether a fork of the house that could not be made for want of memory left everything as it was, and the one that could is the same.
bool forks(full_house& house, long nth) {
  const std::uint64_t before = inside(house.cluster).digest_with_derived();
  bool made = false;
  {
    std::optional<forked> copy;
    failing_allocation no_memory{nth};
    try {
      copy.emplace(house.scheduler->fork().value());
    } catch (const std::bad_alloc&) {
    }
    made = !no_memory.stop();
    REQUIRE(inside(house.cluster).digest_with_derived() == before);
    if (copy) REQUIRE(inside(copy->cluster).digest_with_derived() == before);
  }
  return made;
}

}  // namespace

TEST_CASE("a fork for which there is no memory leaves nothing behind, and its original as it was", "[memory]") {
  full_house untouched;
  const std::size_t expected = placed(untouched);
  full_house house;
  long nth = 1;
  while (!forks(house, nth)) nth += nth < 200 ? 1 : 7;
  CHECK(nth > 500);
  CHECK(placed(house) == expected);
  CHECK(inside(house.cluster).digest_with_derived() == inside(untouched.cluster).digest_with_derived());
}

TEST_CASE("a fork of a house with something of everything goes on as its original", "[memory]") {
  full_house house;
  result<forked> copy = house.scheduler->fork();
  REQUIRE(copy);
  house.run();
  full_house other;
  *other.scheduler = std::move(copy->scheduler);
  other.cluster = std::move(copy->cluster);
  other.run();
  CHECK(inside(house.cluster).digest_with_derived() == inside(other.cluster).digest_with_derived());
}

}  // namespace gangsched::testing::memory_fork_test
