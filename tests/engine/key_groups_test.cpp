#include "gangsched/engine/key_groups.hpp"

#include <map>
#include <random>
#include <set>

#include "support/catch.hpp"

namespace gangsched::testing::key_groups_test {

TEST_CASE("groups: equal tuples are one, and each key's values are ascending, once each, however they come") {
  std::mt19937 random{7};
  engine::key_groups groups;
  for (int round = 0; round < 200; ++round) {
    const std::size_t keys = random() % 4;
    groups.reset(keys);
    std::map<std::vector<std::int64_t>, std::uint32_t> plain;  // the reference
    const auto different = static_cast<std::int64_t>(1 + random() % 40);
    for (std::size_t tuples = random() % 300; tuples != 0; --tuples) {
      std::vector<std::int64_t> tuple(keys);
      for (std::int64_t& key : tuple) key = static_cast<std::int64_t>(random()) % different - different / 2;
      const auto [known, fresh] = plain.try_emplace(tuple, static_cast<std::uint32_t>(plain.size()));
      REQUIRE(groups.find_or_add(tuple) == known->second);
      REQUIRE(groups.size() == plain.size());
      if (random() % 8 == 0) groups.number_values();
    }
    groups.number_values();
    for (std::size_t key = 0; key < keys; ++key) {
      std::set<std::int64_t> values;
      for (const auto& [tuple, group] : plain) values.insert(tuple[key]);
      const engine::key_values& kept = groups.values(key);
      REQUIRE(kept.value == std::vector<std::int64_t>(values.begin(), values.end()));
      REQUIRE(kept.of_group.size() == plain.size());
      for (const auto& [tuple, group] : plain) {
        REQUIRE(groups.key(group, key) == tuple[key]);
        REQUIRE(kept.value[kept.of_group[group]] == tuple[key]);
      }
    }
  }
}

TEST_CASE("groups: what some have is added up by value") {
  struct sum {
    std::int64_t value;
    std::uint32_t population;
    bool operator==(const sum&) const = default;
  };
  std::mt19937 random{8};
  engine::value_sums sums;
  std::vector<sum> gathered;
  for (int round = 0; round < 500; ++round) {
    engine::key_groups groups;
    groups.reset(2);
    const auto different = static_cast<std::int64_t>(1 + random() % 300);
    for (std::size_t tuples = random() % 400; tuples != 0; --tuples)
      groups.find_or_add(std::vector<std::int64_t>{static_cast<std::int64_t>(random()) % different,
                                                   static_cast<std::int64_t>(random() % 3)});
    groups.number_values();
    std::vector<std::uint32_t> some, population(groups.size());
    for (std::uint32_t group = 0; group < groups.size(); ++group) {
      population[group] = static_cast<std::uint32_t>(1 + random() % 50);
      if (random() % 3 != 0) some.push_back(group);
    }
    for (const std::size_t key : {0u, 1u}) {
      std::map<std::int64_t, std::uint32_t> plain;  // the reference
      for (const std::uint32_t group : some) plain[groups.key(group, key)] += population[group];
      std::vector<sum> wanted;
      for (const auto& [value, nodes] : plain) wanted.push_back({value, nodes});
      sums.gather(groups.values(key), some, population, gathered);
      REQUIRE(gathered == wanted);
      for (const std::uint32_t group : some)
        REQUIRE(gathered[sums.place(groups.values(key).of_group[group])].value == groups.key(group, key));
    }
  }
}

}  // namespace gangsched::testing::key_groups_test
