// Which members go together on which node, as a question of amounts alone.
#include "gangsched/engine/member_packing.hpp"

#include <limits>

#include "support/catch.hpp"

namespace gangsched::testing::member_packing_test {

using engine::member_packing;

namespace {

constexpr std::int64_t huge = std::int64_t{1} << 62;
constexpr std::uint64_t steps = 1'000'000;

/// Kinds of members by need and count, on nodes that all of them may be on.
member_packing pack(const std::vector<member_packing::amounts>& nodes,
                    const std::vector<std::pair<member_packing::amounts, std::uint32_t>>& members,
                    std::uint32_t least = 0) {
  std::vector<member_packing::kind> kinds;
  std::uint32_t all = 0;
  for (const auto& [needs, count] : members) {
    kinds.push_back({needs, count, std::vector<std::uint8_t>(nodes.size(), 1)});
    all += count;
  }
  return {nodes, std::move(kinds), least != 0 ? least : all, steps};
}

}  // namespace

TEST_CASE("amounts whose sum over the nodes does not fit into 64 bits are no proof that there is no place",
          "[engine][packing]") {
  SECTION("the nodes have far more than the members need") {
    member_packing two = pack({{huge, 4}, {huge, 4}}, {{{7, 3}, 1}, {{5, 1}, 1}, {{3, 4}, 1}});
    REQUIRE(two.solve() == member_packing::answer::found);
    CHECK(two.on(0, 0) == two.on(1, 0));
    CHECK(two.on(0, 0) != two.on(2, 0));
    CHECK(pack({{huge, 4}, {huge, 4}}, {{{7, 3}, 2}, {{5, 1}, 1}, {{3, 4}, 1}}).solve() ==
          member_packing::answer::none);
  }
  SECTION("the members need almost as much") {
    member_packing both = pack({{huge}, {huge}, {huge}}, {{{huge - 1}, 2}, {{huge}, 1}});
    REQUIRE(both.solve() == member_packing::answer::found);
    CHECK(both.on(1, 0) + both.on(1, 1) + both.on(1, 2) == 1);
    CHECK(pack({{huge}, {huge}, {huge}}, {{{huge - 1}, 2}, {{huge}, 1}}, 2).solve() == member_packing::answer::found);
  }
  SECTION("the members need more than 64 bits hold, and more than there is") {
    CHECK(pack({{huge}, {5}}, {{{huge}, 4}}).solve() == member_packing::answer::none);
  }
  SECTION("a need of which the nodes have next to nothing") {
    CHECK(pack({{1}, {0}}, {{{std::numeric_limits<std::int64_t>::max()}, 2}}).solve() == member_packing::answer::none);
  }
}

TEST_CASE("amounts that fill the nodes to the last are packed as before", "[engine][packing]") {
  member_packing tight = pack({{10}, {10}}, {{{6}, 2}, {{4}, 1}, {{3}, 1}, {{1}, 1}});
  REQUIRE(tight.solve() == member_packing::answer::found);
  CHECK(tight.on(0, 0) == 1);
  CHECK(tight.on(1, 0) + tight.on(1, 1) == 1);
  CHECK(pack({{10}, {10}}, {{{6}, 2}, {{4}, 1}, {{3}, 1}, {{2}, 1}}).solve() == member_packing::answer::none);
}

}  // namespace gangsched::testing::member_packing_test
