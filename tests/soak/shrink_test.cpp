// The soak itself: sequences are data, and shrinking leaves what matters.
#include "shrink.hpp"

#include <algorithm>
#include <numeric>

#include "run.hpp"
#include "support/catch.hpp"

namespace gangsched::soak::shrink_test {

TEST_CASE("shrinking leaves what a failure needs and nothing else") {
  std::vector<int> all(100);
  std::iota(all.begin(), all.end(), 0);
  const auto has = [](const std::vector<int>& some, int one) {
    return std::find(some.begin(), some.end(), one) != some.end();
  };
  const std::vector<int> left =
      shrink(all, [&](const std::vector<int>& some) { return has(some, 17) && (has(some, 63) || has(some, 64)); });
  CHECK(left == std::vector<int>{17, 63});
  CHECK(shrink(std::vector<int>{5}, [](const std::vector<int>&) { return true; }).empty());
}

TEST_CASE("what was recorded leads to the same decisions when it is done again") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const setting on = make_setting(seed);
    sequence steps;
    const outcome first = run_random(on, 60, &steps);
    CHECK(steps.size() >= 1);
    CHECK(run_steps(on, steps).digest == first.digest);
  }
}

TEST_CASE("a recorded sequence shrinks to a node, a pod and a cycle if all that matters is a decision") {
  setting on = make_setting(3);
  sequence steps;
  const outcome first = run_random(on, 150, &steps);
  REQUIRE(first.decisions > 0);
  const auto binds = [&](const sequence& some) {
    std::vector<std::string> lines;
    static_cast<void>(run_steps(on, some, &lines));
    return std::any_of(lines.begin(), lines.end(),
                       [](const std::string& line) { return line.find(": bind ") != std::string::npos; });
  };
  const sequence left = shrink(steps, binds);
  CHECK(binds(left));
  CHECK(left.size() <= 4);
  for (std::size_t i = 0; i < left.size(); ++i) {
    sequence less = left;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK_FALSE(binds(less));
  }
}

}  // namespace gangsched::soak::shrink_test
