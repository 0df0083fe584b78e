#include "gangsched/core/percent.hpp"

#include <limits>

#include "support/catch.hpp"

namespace gangsched::testing::percent_test {

TEST_CASE("percent truncates and never overflows") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  STATIC_REQUIRE(percent(0, 1) == 0);
  STATIC_REQUIRE(percent(1, 3) == 33);
  STATIC_REQUIRE(percent(2, 3) == 66);
  STATIC_REQUIRE(percent(7, 7) == 100);
  STATIC_REQUIRE(percent(most, most) == 100);
  STATIC_REQUIRE(percent(most - 1, most) == 99);
  // On both sides of where 100·part leaves 64 bits.
  STATIC_REQUIRE(percent(most / 100, most) == 0);
  STATIC_REQUIRE(percent(most / 100 + 1, most) == 1);
}

}  // namespace gangsched::testing::percent_test
