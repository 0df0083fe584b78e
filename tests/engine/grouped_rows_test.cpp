#include "gangsched/engine/grouped_rows.hpp"

#include <algorithm>
#include <map>
#include <random>

#include "support/catch.hpp"

namespace gangsched::testing::grouped_rows_test {

TEST_CASE("rows by group and score: as a plain list of them says, in groups of few and of many, where scores change") {
  std::mt19937 random{11};
  engine::grouped_rows rows;
  for (int round = 0; round < 60; ++round) {
    const std::uint32_t scores = round % 3 == 0 ? 5 : round % 7 == 0 ? 6400 : 300;
    const auto groups = static_cast<std::uint32_t>(1 + random() % 9);
    const auto nodes = static_cast<row_t>(1 + random() % 200);
    rows.reset(scores);
    rows.grow(nodes);
    struct entry {
      std::uint32_t group, score;
    };
    std::map<row_t, entry> plain;  // the reference
    for (int step = 0; step < 900; ++step) {
      const auto row = static_cast<row_t>(random() % nodes);
      const std::uint64_t moves = rows.moves();
      if (const auto known = plain.find(row); known != plain.end() && random() % 3 != 0) {
        known->second.score = static_cast<std::uint32_t>(random() % scores);
        rows.rescore(row, known->second.group, known->second.score);
        REQUIRE(rows.moves() == moves);  // the groups have as many as before
      } else if (known != plain.end()) {
        rows.erase(row, known->second.group);
        plain.erase(known);
        REQUIRE(rows.moves() != moves);
      } else {
        const entry made{random() % 3 == 0 ? static_cast<std::uint32_t>(random() % groups) : 0,
                         static_cast<std::uint32_t>(random() % scores)};
        rows.insert(row, made.group, made.score);
        plain.emplace(row, made);
        REQUIRE(rows.moves() != moves);
      }
      std::map<std::uint32_t, std::vector<row_t>> of_group;
      for (const auto& [one, its] : plain) of_group[its.group].push_back(one);
      std::vector<std::uint32_t> populated;
      for (const auto& [group, its] : of_group) populated.push_back(group);
      REQUIRE(std::equal(populated.begin(), populated.end(), rows.populated().begin(), rows.populated().end()));
      for (const auto& [group, its] : of_group) {
        REQUIRE(rows.population()[group] == its.size());
        std::uint32_t best = 0;
        for (const row_t one : its) best = std::max(best, plain[one].score);
        std::vector<row_t> have_it, shown, all;
        for (const row_t one : its) {
          if (plain[one].score == best) have_it.push_back(one);
        }
        rows.each_best(group, [&](row_t one) { shown.push_back(one); });
        std::sort(shown.begin(), shown.end());
        rows.each(group, [&](row_t one, std::uint32_t score) {
          REQUIRE(plain[one].score == score);
          all.push_back(one);
        });
        std::sort(all.begin(), all.end());
        REQUIRE(rows.best(group) == best);
        REQUIRE(rows.best_count(group) == have_it.size());
        REQUIRE(shown == have_it);
        REQUIRE(all == its);
      }
    }
  }
}

}  // namespace gangsched::testing::grouped_rows_test
