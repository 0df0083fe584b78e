#include "gangsched/core/instant.hpp"

#include "support/catch.hpp"

namespace gangsched::testing::instant_test {

TEST_CASE("times near the ends of time neither overflow nor run backwards", "[core]") {
  constexpr instant first = instant::min(), last = instant::max(), second = std::chrono::seconds{1};
  CHECK(later_by(last, second) == last);
  CHECK(later_by(first, -second) == first);
  CHECK(later_by(instant{}, second) == second);

  CHECK(elapsed(second, 3 * second) == 2 * second);
  CHECK(elapsed(3 * second, second) == instant::zero());
  CHECK(elapsed(-second, second) == 2 * second);
  CHECK(elapsed(first, first) == instant::zero());
  CHECK(elapsed(first, last) == last);
  CHECK(elapsed(first, instant::zero()) == last);
  CHECK(elapsed(first, -instant{1}) == last);
  CHECK(elapsed(first, -instant{2}) == last - instant{1});
  CHECK(elapsed(-second, last) == last);
  CHECK(elapsed(instant::zero(), last) == last);
}

}  // namespace gangsched::testing::instant_test
