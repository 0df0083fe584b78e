#include "gangsched/plugins/priority_sort.hpp"

#include <limits>
#include <utility>

#include "support/catch.hpp"

namespace gangsched::testing::priority_sort_test {

namespace {

bool before(const queued& a, const queued& b) {
  const priority_sort sort;
  const sort_key first = sort.key(a), second = sort.key(b);
  return std::pair{first.band, first.order} < std::pair{second.band, second.order};
}

}  // namespace

TEST_CASE("PrioritySort: higher priority first, then who waits longer") {
  const queued low{.priority = 1, .since = instant{5}};
  const queued high{.priority = 2, .since = instant{9}};
  const queued high_early{.priority = 2, .since = instant{8}};
  CHECK(before(high, low));
  CHECK_FALSE(before(low, high));
  CHECK(before(high_early, high));
  CHECK_FALSE(before(high, high));
}

TEST_CASE("PrioritySort: the extremes of priority do not wrap") {
  const queued least{.priority = std::numeric_limits<std::int32_t>::min()};
  const queued most{.priority = std::numeric_limits<std::int32_t>::max()};
  const queued none{};
  CHECK(before(most, none));
  CHECK(before(none, least));
  CHECK(before(most, least));
}

}  // namespace gangsched::testing::priority_sort_test
