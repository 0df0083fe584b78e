#include "gangsched/core/sorted_map.hpp"

#include "support/catch.hpp"

namespace gangsched::testing::sorted_map_test {

using map = sorted_map<int>;

TEST_CASE("a sorted map is made of a list in any order, and keeps the first of equal keys") {
  const map made{{"c", 3}, {"a", 1}, {"b", 2}, {"a", 4}};
  REQUIRE(made.size() == 3);
  CHECK(made.nth(0)->first == "a");
  CHECK(made.nth(1)->first == "b");
  CHECK(made.nth(2)->first == "c");
  CHECK(made.at("a") == 1);
}

TEST_CASE("a sorted map takes the place of Boost's map, and gives way to it") {
  boost::container::flat_map<std::string, int> boosts;
  boosts["a"] = 1;
  map one = boosts;
  CHECK(one == map{{"a", 1}});
  one = {{"b", 2}};
  CHECK(one == map{{"b", 2}});
  boosts = one;
  CHECK(boosts.at("b") == 2);
  one = {};
  CHECK(one.empty());
}

}  // namespace gangsched::testing::sorted_map_test
