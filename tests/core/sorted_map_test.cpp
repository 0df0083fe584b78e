#include "gangsched/core/sorted_map.hpp"

#include <map>
#include <random>

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

TEST_CASE("a sorted map throws for a name that is not there only from at") {
  map made{{"a", 1}};
  CHECK_THROWS_AS(made.at("b"), std::out_of_range);
  CHECK(made.find("b") == made.end());
  CHECK(made["b"] == 0);
  CHECK(made.at("b") == 0);
}

TEST_CASE("sorted maps are compared name by name, then by value") {
  CHECK(map{{"a", 1}, {"b", 2}} == map{{"b", 2}, {"a", 1}});
  CHECK(map{{"a", 1}} != map{{"a", 2}});
  CHECK(map{{"a", 2}} < map{{"b", 1}});
  CHECK(map{{"a", 1}} < map{{"a", 2}});
  CHECK(map{} < map{{"a", 1}});
}

TEST_CASE("a sorted map does what std::map does") {
  std::mt19937 dice{7};
  const auto under = [&](std::uint32_t bound) { return static_cast<int>(dice() % bound); };
  int steps = 0, known = 0;
  for (int round = 0; round < 200; ++round) {
    map ours;
    std::map<std::string, int> theirs;
    for (int step = 0; step < 40; ++step, ++steps) {
      const std::string name(1, static_cast<char>('a' + under(12)));
      const int value = under(100);
      known += theirs.contains(name) ? 1 : 0;
      switch (under(8)) {
        case 0: REQUIRE(ours.insert({name, value}).second == theirs.insert({name, value}).second); break;
        case 1: REQUIRE(ours.emplace(name, value).first->second == theirs.emplace(name, value).first->second); break;
        case 2: REQUIRE(ours.try_emplace(name, value).second == theirs.try_emplace(name, value).second); break;
        case 3:
          REQUIRE(ours.insert_or_assign(name, value).second == theirs.insert_or_assign(name, value).second);
          break;
        case 4: REQUIRE(ours.erase(name) == theirs.erase(name)); break;
        case 5: ours[name] += value, theirs[name] += value; break;
        case 6: {
          const std::size_t before = static_cast<std::size_t>(under(static_cast<std::uint32_t>(ours.size() + 1)));
          REQUIRE(ours.emplace_hint(ours.nth(before), name, value)->second ==
                  theirs.emplace(name, value).first->second);
          break;
        }
        default: {
          const auto ours_at = ours.lower_bound(name);
          const auto theirs_at = theirs.lower_bound(name);
          REQUIRE((ours_at == ours.end()) == (theirs_at == theirs.end()));
          if (ours_at == ours.end()) break;
          REQUIRE(ours_at->first == theirs_at->first);
          const auto ours_next = ours.erase(ours_at);
          const auto theirs_next = theirs.erase(theirs_at);
          REQUIRE((ours_next == ours.end()) == (theirs_next == theirs.end()));
        }
      }
      REQUIRE(ours.contains(name) == theirs.contains(name));
      REQUIRE(ours.count(name) == theirs.count(name));
      REQUIRE((ours.find(name) == ours.end()) == !theirs.contains(name));
      REQUIRE(std::map<std::string, int>(ours.begin(), ours.end()) == theirs);
      REQUIRE(map(theirs.begin(), theirs.end()) == ours);
    }
  }
  CHECK(steps == 8000);
  CHECK(known > 1000);
}

}  // namespace gangsched::testing::sorted_map_test
