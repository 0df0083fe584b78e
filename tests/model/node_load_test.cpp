#include <limits>

#include "gangsched/model/node_load.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::node_load_test {

TEST_CASE("words of a node's load are read back, and those that say nothing of use are none", "[model]") {
  using limits = std::numeric_limits<std::int64_t>;
  CHECK(node_load::real(node_load::word(0.0)) == 0.0);
  CHECK(node_load::real(node_load::word(-12.5)) == -12.5);
  CHECK(node_load::count(node_load::count_word(0)) == 0);
  CHECK(node_load::count(node_load::count_word(limits::max() - 1)) == limits::max() - 1);
  for (const instant when : {instant{}, instant{5}, instant{-5}, instant::min(), instant::max()})
    CHECK(node_load::when(node_load::word(when)) == when);

  CHECK_FALSE(node_load::real(0));
  CHECK_FALSE(node_load::real(node_load::word(std::numeric_limits<double>::quiet_NaN())));
  CHECK_FALSE(node_load::real(node_load::word(std::numeric_limits<double>::infinity())));
  CHECK_FALSE(node_load::count(0));
  CHECK_FALSE(node_load::count(-1));
  CHECK_FALSE(node_load::count(limits::min()));
  CHECK_FALSE(node_load::when(0));
}

}  // namespace gangsched::testing::node_load_test
