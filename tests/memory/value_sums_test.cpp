#include "gangsched/engine/key_groups.hpp"
#include "memory/failing_new.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::value_sums_test {

TEST_CASE("groups: what some have is added up after memory ran out in the middle of it") {
  struct sum {
    std::int64_t value;
    std::uint32_t population;
    bool operator==(const sum&) const = default;
  };
  engine::key_groups groups;
  groups.reset(1);
  std::vector<std::uint32_t> all, population;
  std::vector<sum> wanted;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::vector<std::int64_t> tuple{std::int64_t{7} * i};
    all.push_back(groups.find_or_add(tuple));
    population.push_back(i);
    wanted.push_back({tuple.front(), i});
  }
  groups.number_values();
  long failed = 0;
  for (bool done = false; !done;) {
    engine::value_sums sums;
    std::vector<sum> gathered;
    {
      failing_allocation no_memory{failed + 1, failing_allocation::how::once};
      try {
        sums.gather(groups.values(0), all, population, gathered);
      } catch (const std::bad_alloc&) {
      }
      done = !no_memory.stop();
    }
    sums.gather(groups.values(0), all, population, gathered);
    REQUIRE(gathered == wanted);
    failed += !done;
  }
  CHECK(failed == 4);  // the sums, the bits, the places, the answer
}

}  // namespace gangsched::testing::value_sums_test
