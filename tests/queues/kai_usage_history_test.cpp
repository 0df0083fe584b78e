#include "gangsched/queues/kai/usage_history.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "support/catch.hpp"

namespace gangsched::testing::kai_usage_history_test {

using namespace gangsched::queues;
using namespace std::chrono_literals;
using amounts = std::vector<double>;

TEST_CASE("a queue used what it held at all samples of what there was, and nothing before the first one") {
  kai::usage_history history{2, 1};
  CHECK(history.usage(0, 0) == 0);
  history.record(0s, amounts{4, 0}, amounts{8}).value();
  history.record(1s, amounts{8, 0}, amounts{8}).value();
  CHECK(history.usage(0, 0) == 0.75);
  CHECK(history.usage(1, 0) == 0);
  history.record(2s, amounts{0, 0}, amounts{0}).value();  // a cluster without it: nothing changes
  CHECK(history.usage(0, 0) == 0.75);
}

TEST_CASE("a sample counts half after the half-life") {
  kai::usage_history history{1, 1, {.half_life = 10s}};
  history.record(0s, amounts{8}, amounts{8}).value();
  history.record(10s, amounts{0}, amounts{8}).value();
  CHECK(history.usage(0, 0) == 0.5 / 1.5);
  history.record(20s, amounts{8}, amounts{8}).value();
  CHECK(history.usage(0, 0) == 1.25 / 1.75);
}

TEST_CASE("a sliding window forgets sample by sample, a tumbling one everything at once") {
  kai::usage_history sliding{1, 1, {.length = 3s}}, tumbling{1, 1, {.length = 3s, .tumbling_from = 1s}};
  const auto both = [&](instant now, double held) {
    sliding.record(now, amounts{held}, amounts{1}).value();
    tumbling.record(now, amounts{held}, amounts{1}).value();
    return std::pair{sliding.usage(0, 0), tumbling.usage(0, 0)};
  };
  CHECK(both(0s, 1) == std::pair{1.0, 1.0});
  CHECK(both(1s, 0) == std::pair{0.5, 0.0});
  CHECK(both(2s, 1) == std::pair{2.0 / 3, 0.5});
  CHECK(both(3s, 0) == std::pair{1.0 / 3, 1.0 / 3});
  CHECK(both(4s, 1) == std::pair{2.0 / 3, 1.0});
}

TEST_CASE("windows and times at the ends of what an instant holds neither forget nor wrap") {
  kai::usage_history sliding{1, 1, {.length = instant::max()}};
  sliding.record(1s, amounts{8}, amounts{8}).value();
  sliding.record(2s, amounts{0}, amounts{8}).value();
  CHECK(sliding.usage(0, 0) == 0.5);
  kai::usage_history decaying{1, 1, {.length = 0s, .half_life = 1s, .tumbling_from = 0s}};
  decaying.record(instant::min(), amounts{8}, amounts{8}).value();
  decaying.record(instant::max(), amounts{2}, amounts{8}).value();
  CHECK(decaying.usage(0, 0) == 0.25);  // nothing is left of the first
  kai::usage_history tumbling{1, 1, {.length = 10s, .tumbling_from = instant::max()}};
  tumbling.record(instant::min() + 9s, amounts{8}, amounts{8}).value();
  tumbling.record(instant::min() + 11s, amounts{0}, amounts{8}).value();
  CHECK(tumbling.usage(0, 0) == 0.5);
}

TEST_CASE("after random samples usage is that of a sum from the beginning") {
  std::size_t compared = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 dice{seed};
    const kai::usage_window window{.length = 20s,
                                   .half_life = seed % 3 == 0 ? 0s : 7s,
                                   .tumbling_from = seed % 2 == 0 ? std::optional<instant>{5s} : std::nullopt};
    kai::usage_history history{3, 2, window};
    std::vector<std::pair<instant, amounts>> all;
    for (instant now = 0s; now < 120s; now += 1s) {
      amounts held, capacity{10, 20};
      for (int i = 0; i < 6; ++i) held.push_back(static_cast<double>(dice() % 10));
      history.record(now, held, capacity).value();
      all.emplace_back(now, held);
      for (std::size_t i = 0; i < 6; ++i) {
        double used = 0, there = 0;
        for (const auto& [at, amount] : all) {
          const auto round = [&](instant of) { return (of - 5s + 100s) / 20s; };
          if (window.tumbling_from ? round(at) != round(now) : at + 20s <= now) continue;
          const double part = window.half_life == 0s ? 1 : std::pow(0.5, std::chrono::duration<double>(now - at) / 7s);
          used += amount[i] * part;
          there += capacity[i % 2] * part;
        }
        REQUIRE(std::abs(history.usage(static_cast<queue_index>(i / 2), i % 2) - used / there) < 1e-12);
        ++compared;
      }
    }
  }
  CHECK(compared == 43200);
}

TEST_CASE("a sample that is wrong is refused by field and reason, and does not count") {
  kai::usage_history history{1, 1};
  const auto why = [&](instant now, const amounts& held, const amounts& capacity) {
    const result<void> made = history.record(now, held, capacity);
    return made ? std::string{} : made.error().message();
  };
  CHECK(why(5s, {1}, {2}).empty());
  CHECK(why(4s, {1}, {2}) == "usage history: now: is before the last sample");
  CHECK(why(6s, {1, 1}, {2}) == "usage history: held: there has to be one for each queue and resource");
  CHECK(why(6s, {1}, {}) == "usage history: capacity: there has to be one for each resource");
  CHECK(why(6s, {-1}, {2}) == "usage history: held: has to be finite and at least 0");
  CHECK(why(6s, {1}, {std::nan("")}) == "usage history: capacity: has to be finite and at least 0");
  CHECK(history.usage(0, 0) == 0.5);
}

}  // namespace gangsched::testing::kai_usage_history_test
