#include <limits>

#include "gangsched/core/saturating_add.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::saturating_add_test {

TEST_CASE("sums and amounts that do not fit stay at the ends of what does", "[core]") {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  CHECK(saturating_add(2, -3) == -1);
  CHECK(saturating_add(most, 1) == most);
  CHECK(saturating_add(most - 1, 1) == most);
  CHECK(saturating_add(least, -1) == least);
  CHECK(saturating_add(least, most) == -1);
  CHECK(saturating_cast(2.9) == 2);
  CHECK(saturating_cast(1e300) == std::int64_t{1} << 62);
  CHECK(saturating_cast(std::numeric_limits<double>::infinity()) == std::int64_t{1} << 62);
}

}  // namespace gangsched::testing::saturating_add_test
