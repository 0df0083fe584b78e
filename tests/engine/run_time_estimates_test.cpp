#include "gangsched/scheduling/run_time_estimates.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::run_time_estimates_test {

using namespace std::chrono_literals;

namespace {

using keys = std::vector<std::string_view>;

}  // namespace

TEST_CASE("run times: the quantile of those that ended last, of the first key that knows enough", "[backfill]") {
  run_time_estimates learns{{.percent = 90, .remembered = 10, .fewest = 3}};
  CHECK_FALSE(learns.estimate(keys{"alice", "all"}).has_value());
  learns.ended(keys{"alice", "all"}, 10s);
  learns.ended(keys{"alice", "all"}, 30s);
  CHECK_FALSE(learns.estimate(keys{"alice", "all"}).has_value());
  learns.ended(keys{"bob", "all"}, 100s);
  CHECK(learns.estimate(keys{"alice", "all"}) == 100s);
  CHECK_FALSE(learns.estimate(keys{"alice"}).has_value());
  learns.ended(keys{"alice", "all"}, 20s);
  CHECK(learns.estimate(keys{"alice", "all"}) == 30s);
  CHECK(learns.estimate(keys{"carol", "all"}) == 100s);
  for (int i = 0; i < 10; ++i) learns.ended(keys{"alice"}, 1s);
  CHECK(learns.estimate(keys{"alice"}) == 1s);  // what was longer is forgotten
  learns.ended(keys{"alice"}, -5s);
  CHECK(learns.save().front().runs.back() == 0s);
}

TEST_CASE("run times: counts out of their range are moved into it", "[backfill]") {
  run_time_estimates learns{{.percent = 0, .remembered = 0, .fewest = 0, .most_keys = 0}};
  learns.ended(keys{"a"}, 5s);
  CHECK(learns.estimate(keys{"a"}) == 5s);
  learns.ended(keys{"b"}, 6s);
  CHECK_FALSE(learns.estimate(keys{"a"}).has_value());
  CHECK(learns.estimate(keys{"b"}) == 6s);
}

TEST_CASE("run times: as a plain list of all runs says, through saving and restoring", "[backfill]") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    dice roll{seed};
    const run_time_options options{.percent = static_cast<std::int32_t>(roll.between(1, 100)),
                                   .remembered = static_cast<std::size_t>(roll.between(1, 12)),
                                   .fewest = static_cast<std::size_t>(roll.between(1, 4)),
                                   .most_keys = static_cast<std::size_t>(roll.between(2, 6))};
    run_time_estimates learns{options};
    std::map<std::string, std::vector<instant>> plain;
    std::vector<std::string> order;  // of the last end
    const std::array<std::string, 8> names{"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int step = 0; step < 300; ++step) {
      const std::string& one = names[roll.below(names.size())];
      const std::string& other = names[roll.below(names.size())];
      const instant ran = std::chrono::seconds{roll.between(0, 50)};
      learns.ended(keys{one}, ran);
      std::erase(order, one);
      order.push_back(one);
      plain[one].push_back(ran);
      if (order.size() > options.most_keys) plain.erase(order.front()), order.erase(order.begin());
      std::optional<instant> expected;
      for (const std::string& key : {one, other}) {
        const auto known = plain.find(key);
        if (expected || known == plain.end()) continue;
        const std::size_t all = known->second.size(), last = std::min(all, options.remembered);
        if (last < std::min(options.fewest, options.remembered)) continue;
        std::vector<instant> runs{known->second.end() - static_cast<std::ptrdiff_t>(last), known->second.end()};
        std::sort(runs.begin(), runs.end());
        std::size_t rank = 0;  // the least that has so many percent of all behind or at it
        while (100 * (rank + 1) < static_cast<std::size_t>(options.percent) * last) ++rank;
        expected = runs[rank];
      }
      REQUIRE(learns.estimate(keys{one, other}) == expected);
      if (roll.percent(5)) {
        run_time_estimates again{options};
        REQUIRE(again.restore(learns.save()));
        REQUIRE(again.save() == learns.save());
        learns = std::move(again);
      }
    }
  }
}

TEST_CASE("run times that were damaged are refused, and nothing is changed", "[backfill]") {
  run_time_estimates learns{{.fewest = 1}};
  learns.ended(keys{"a"}, 5s);
  const auto before = learns.save();
  const std::vector<run_time_estimates::learnt> twice{{"b", {1s}}, {"b", {2s}}}, negative{{"b", {-1s}}};
  CHECK(learns.restore(twice).error().message() == "run times of \"b\": key: is there twice");
  CHECK(learns.restore(negative).error().field == "runs");
  CHECK(learns.save() == before);
}

}  // namespace gangsched::testing::run_time_estimates_test
