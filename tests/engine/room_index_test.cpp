#include "gangsched/engine/room_index.hpp"

#include <algorithm>
#include <vector>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::room_index_test {

namespace {

struct needy {
  std::uint32_t whose;
  std::vector<amount> least;
  engine::room_index::place at;
};

std::vector<std::uint32_t> found(const engine::room_index& index, const std::vector<std::int64_t>& free) {
  std::vector<std::uint32_t> all;
  index.each([&](resource_kind kind) { return free[kind]; }, [&](std::uint32_t whose) { all.push_back(whose); });
  std::sort(all.begin(), all.end());
  return all;
}

TEST_CASE("who needs room is found by what is free, whoever comes and goes", "[engine][room_index]") {
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    dice random{seed};
    engine::room_index index;
    std::vector<needy> all;
    for (std::uint32_t step = 0; step < 400; ++step) {
      if (random.percent(60) || all.empty()) {
        needy made{step, {}, {}};
        for (resource_kind kind = 0; kind < 4; ++kind) {
          if (random.percent(70)) made.least.push_back({kind, random.between(1, 12)});
        }
        std::vector<amount> shuffled{made.least.rbegin(), made.least.rend()};
        made.at = index.add(made.whose, shuffled);
        all.push_back(made);
      } else {
        std::swap(random.of(all), all.back());
        index.remove(all.back().at);
        all.pop_back();
      }
      std::vector<std::int64_t> free;
      for (int kind = 0; kind < 4; ++kind) free.push_back(random.between(-1, 14));
      std::vector<std::uint32_t> expected;
      for (const needy& one : all) {
        if (std::all_of(one.least.begin(), one.least.end(),
                        [&](const amount& needs) { return needs.value <= free[needs.kind]; })) {
          expected.push_back(one.whose);
        }
      }
      std::sort(expected.begin(), expected.end());
      INFO("seed " << seed << ", step " << step);
      REQUIRE(found(index, free) == expected);
      compared += expected.size();
    }
  }
  CHECK(compared > 10000);
}

TEST_CASE("who needs nothing does with every node", "[engine][room_index]") {
  engine::room_index index;
  const auto at = index.add(7, {});
  CHECK(found(index, {}) == std::vector<std::uint32_t>{7});
  index.remove(at);
  CHECK(found(index, {}).empty());
  CHECK(index.empty());
}

TEST_CASE("kinds that nobody needs any more are not asked for, however many sets of them there were",
          "[engine][room_index]") {
  engine::room_index index;
  const auto stays = index.add(0, {{0, 1}});
  for (resource_kind kind = 1; kind <= 100; ++kind) {
    const auto leaves = index.add(kind, {{kind, 1}});
    std::size_t asked = 0;
    index.each([&](resource_kind) { return ++asked, 1; }, [](std::uint32_t) {});
    CHECK(asked == 2);
    index.remove(leaves);
  }
  CHECK(found(index, {1}) == std::vector<std::uint32_t>{0});
  index.remove(stays);
  CHECK(index.empty());
}

}  // namespace

}  // namespace gangsched::testing::room_index_test
