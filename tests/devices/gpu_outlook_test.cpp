#include "gangsched/devices/gpu_outlook.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "gangsched/devices/gpu_bids.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::gpu_outlook_test {

namespace {

gpu_rest rest_of(std::int64_t cpu, std::vector<std::int32_t> left) {
  gpu_rest made;
  made.cpu_milli = cpu;
  made.gpus = static_cast<std::uint32_t>(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) made.left[i] = left[i], made.sum += left[i];
  return made;
}

bool runs_on(const expected_pods& one, std::string_view model) {
  return one.gpus > 0 &&
         (one.models.empty() || std::find(one.models.begin(), one.models.end(), model) != one.models.end());
}

/// What the CPU that is left of a node could not feed of the GPUs that are left, on average over all pods, if all of it went to pods of the
/// one or the other of the most frequent lines with one GPU; these stand for all such lines (docs/packing.md).
double plain_stranding(std::vector<expected_pods> target, std::string_view model, const gpu_rest& rest) {
  double all = 0, singles = 0, kept = 0, sum = 0;
  for (const expected_pods& one : target) all += static_cast<double>(one.count);
  std::erase_if(target, [&](const expected_pods& one) { return one.gpus != 1 || !runs_on(one, model); });
  for (const expected_pods& one : target) singles += static_cast<double>(one.count);
  std::ranges::stable_sort(target, std::greater<>{}, &expected_pods::count);
  target.resize(std::min(target.size(), gpu_outlook::stranding_lines));
  for (const expected_pods& one : target) {
    kept += static_cast<double>(one.count);
    double usable = 0;
    for (std::uint32_t gpu = 0; gpu < rest.gpus; ++gpu) usable += rest.left[gpu] >= one.milli ? rest.left[gpu] : 0;
    if (one.cpu_milli > rest.cpu_milli || usable == 0 || one.cpu_milli == 0) continue;
    const double fed = static_cast<double>(rest.cpu_milli) * one.milli / static_cast<double>(one.cpu_milli),
                 slivers = rest.sum - usable;
    sum += static_cast<double>(one.count) * (std::max(slivers, rest.sum - fed) - slivers);
  }
  return kept == 0 ? 0 : sum / all * singles / kept;
}

/// F_n of FGD (USENIX ATC 2023), as it is written there; `count` is the popularity, here not normalised.
double plain_fragment(const std::vector<expected_pods>& target, std::string_view model, const gpu_rest& rest) {
  double sum = 0, all = 0;
  for (const expected_pods& one : target) {
    all += static_cast<double>(one.count);
    int fits = 0;
    double slivers = 0;
    for (std::uint32_t gpu = 0; gpu < rest.gpus; ++gpu) {
      if (rest.left[gpu] >= one.milli)
        ++fits;
      else
        slivers += rest.left[gpu];
    }
    const bool cannot = !runs_on(one, model) || one.cpu_milli > rest.cpu_milli || fits < one.gpus;
    sum += static_cast<double>(one.count) * (cannot ? rest.sum : slivers);
  }
  return sum / all;
}

/// The second target of FGD's own unit tests, popularity in hundredths of a percent.
std::vector<expected_pods> fgd_target() {
  std::vector<expected_pods> all;
  const auto add = [&](std::int64_t cpu, std::int32_t milli, std::int32_t gpus, std::int64_t count) {
    all.push_back({.cpu_milli = cpu, .gpus = gpus, .milli = milli, .count = count});
  };
  add(15700, 1000, 1, 2869), add(11900, 1000, 1, 1893), add(11400, 1000, 1, 1227), add(1000, 0, 0, 736),
      add(18710, 1000, 1, 485);
  add(8200, 1000, 1, 379), add(16400, 1000, 1, 331), add(9810, 1000, 1, 197), add(15200, 1000, 1, 187),
      add(11200, 1000, 1, 181);
  add(14200, 1000, 1, 176), add(12000, 0, 0, 165), add(14900, 1000, 1, 139), add(60200, 1000, 4, 123),
      add(64200, 1000, 8, 107);
  add(32200, 1000, 4, 101), add(17400, 1000, 2, 91), add(30200, 1000, 2, 69), add(16000, 1000, 1, 64),
      add(15000, 1000, 1, 59);
  add(64000, 1000, 8, 53), add(15000, 0, 0, 53), add(11910, 1000, 1, 53), add(120200, 1000, 8, 48),
      add(11300, 1000, 1, 37);
  add(30000, 1000, 2, 32), add(9800, 1000, 1, 32), add(8000, 1000, 1, 32), add(2000, 1000, 1, 27), add(2000, 80, 1, 27);
  add(1000, 1000, 1, 27);
  return all;
}

double in_milli(std::int64_t fragment) {
  return static_cast<double>(fragment) / static_cast<double>(gpu_outlook::unit);
}

}  // namespace

TEST_CASE("fragments are those of FGD's own unit tests", "[devices][outlook]") {
  const std::vector<expected_pods> target = fgd_target();
  double all = 0;  // its percentages do not add up to 100, ours do
  for (const expected_pods& one : target) all += static_cast<double>(one.count) / 10'000;
  const gpu_outlook outlook{target};
  const std::size_t p100 = outlook.model("P100");
  const gpu_rest empty = rest_of(64000, std::vector<std::int32_t>(8, 1000));
  const gpu_rest halved = rest_of(32000, {1000, 1000, 1000, 1000, 0, 0, 0, 0});
  CHECK(std::abs(in_milli(outlook.fragment(p100, empty)) * all - 887.20) < 0.6);
  CHECK(std::abs(in_milli(outlook.fragment(p100, halved)) * all - 554.4) < 0.4);
  CHECK(std::abs(plain_fragment(target, "P100", empty) * all - 887.20) < 0.01);
  CHECK(std::abs(plain_fragment(target, "P100", halved) * all - 554.4) < 0.01);
}

TEST_CASE("the measure is the definition, for any node and target", "[devices][outlook]") {
  std::mt19937 random{11};
  const auto dice = [&](int sides) { return static_cast<int>(random() % static_cast<unsigned>(sides)); };
  const std::vector<std::string> models = {"A", "B", "C"};
  for (int round = 0; round < 300; ++round) {
    std::vector<expected_pods> target;
    for (int i = 0; i < 1 + dice(30); ++i) {
      expected_pods one{.cpu_milli = 500 * dice(60),
                        .gpus = dice(5),
                        .milli = dice(2) == 0 ? 1000 : 50 * (1 + dice(20)),
                        .count = 1 + dice(50)};
      if (dice(3) == 0) one.models = {models[static_cast<std::size_t>(dice(3))]};
      target.push_back(one);
    }
    std::vector<std::int32_t> left(static_cast<std::size_t>(1 + dice(16)));
    for (std::int32_t& one : left) one = dice(3) == 0 ? 1000 : dice(1000);
    const gpu_rest rest = rest_of(1000 * dice(40), left);
    const gpu_outlook outlook{target};
    for (const char* model : {"A", "B", "elsewhere"}) {
      const double expected = plain_fragment(target, model, rest),
                   got = in_milli(outlook.fragment(outlook.model(model), rest));
      REQUIRE(std::abs(got - expected) < 0.002 * (expected + 1));  // weights are rounded to 65,536ths
      const double stranded = 0.25 * plain_stranding(target, model, rest),
                   more = in_milli(gpu_outlook(target, 64).fragment(outlook.model(model), rest)) - got;
      REQUIRE(std::abs(more - stranded) < 0.004 * (expected + stranded + 1));
    }
  }
}

TEST_CASE("a GPU that no CPU is left to feed is stranded, as far as the outlook says", "[devices][outlook]") {
  const std::vector<expected_pods> target = {{.cpu_milli = 8000, .gpus = 1, .milli = 1000}};
  const gpu_rest rest = rest_of(8000, {1000, 1000, 1000, 1000});  // CPU for one of the four
  CHECK(gpu_outlook(target).fragment(0, rest) == 0);
  CHECK(in_milli(gpu_outlook(target, 256).fragment(0, rest)) == 3000);
  CHECK(in_milli(gpu_outlook(target, 128).fragment(0, rest)) == 1500);
}

TEST_CASE("no amount of CPU is too much to be measured, and a target of nobody asks for nothing",
          "[devices][outlook]") {
  const gpu_outlook outlook{std::vector<expected_pods>{{.cpu_milli = 1000, .gpus = 1, .milli = 500}}, 256};
  const auto left = [&](std::int64_t cpu) { return outlook.fragment(outlook.model(""), rest_of(cpu, {1000, 300})); };
  CHECK(left(std::numeric_limits<std::int64_t>::max()) == left(1'000'000));
  CHECK(left(1000) > left(1'000'000));
  const gpu_outlook nobody{std::vector<expected_pods>{{.gpus = 1, .count = 0}}};
  CHECK(nobody.fragment(0, rest_of(1000, {1000})) == 0);
}

TEST_CASE("the most frequent lines are kept until they are enough", "[devices][outlook]") {
  const expected_pods a{.cpu_milli = 1, .gpus = 1, .count = 3}, b{.cpu_milli = 2, .gpus = 1, .count = 5},
      c{.cpu_milli = 3, .gpus = 1, .count = 2};
  const auto kept = most_frequent({a, b, c, a}, 95);
  REQUIRE(kept.size() == 3);
  CHECK((kept[0].cpu_milli == 1 && kept[0].count == 6));
  CHECK(most_frequent({a, b, c, a}, 80).size() == 2);
  CHECK(most_frequent({a, a, a}, 100).size() == 1);
  expected_pods tied = c;
  tied.cpu_milli = 9;
  CHECK(most_frequent({c, tied}, 50).front().cpu_milli == 9);  // the larger line of equals
}

TEST_CASE("scarce models are dear: demand is spread so that the fullest is as empty as can be", "[devices][outlook]") {
  // 10 GPUs in all; a quarter of the demand must be on A, as much on A or B.
  std::vector<gpu_supply> supply = {{.model = "A", .gpus = 2}, {.model = "B", .gpus = 3}, {.model = "C", .gpus = 5}};
  const std::vector<expected_pods> expected = {{.gpus = 1, .models = {"A"}, .count = 25},
                                               {.gpus = 1, .models = {"A", "B"}, .count = 25},
                                               {.gpus = 1, .count = 50}};
  price_by_scarcity(expected, supply);
  CHECK(supply[0].price == 1250);  // 2.5 GPUs wanted of 2, and the choice goes to B
  CHECK(supply[1].price == 833);
  CHECK(supply[2].price == 0);
  std::vector<gpu_supply> shared = {{.model = "A", .gpus = 4}, {.model = "B", .gpus = 6}};
  price_by_scarcity(std::vector<expected_pods>{{.gpus = 1, .models = {"A", "B"}, .count = 1}, {.gpus = 1, .count = 1}},
                    shared);
  CHECK(shared[0].price == 500);
  CHECK(shared[1].price == 500);
}

TEST_CASE("bids are what the room is worth: nothing is worth more than itself, and more room never less",
          "[devices][outlook]") {
  CHECK(bid_for_shares({}, 10) == bid_values(1001));
  // One size, of which there are more than fit: what has no room for it is worth nothing.
  const bid_values alone = bid_for_shares(std::vector<expected_pods>{{.gpus = 1, .milli = 600, .count = 10}}, 4);
  CHECK(alone[599] == 0);
  CHECK(alone[600] == 600);
  CHECK(alone[999] == 600);
  // Demand that packs without a rest leaves no room that anybody would bid for.
  CHECK(bid_for_shares(std::vector<expected_pods>{{.gpus = 1, .milli = 500, .count = 10}}, 4)[500] == 0);
  std::mt19937 random{3};
  for (int round = 0; round < 20; ++round) {
    std::vector<expected_pods> expected = {{.cpu_milli = 1, .gpus = 2, .count = 3}};
    for (int i = 0; i < 8; ++i) {
      expected.push_back({.gpus = 1,
                          .milli = static_cast<std::int32_t>(50 + random() % 900),
                          .count = static_cast<std::int64_t>(1 + random() % 20)});
    }
    const bid_values bids = bid_for_shares(expected, 100);
    REQUIRE(bids.size() == 1001);
    for (std::size_t left = 1; left < bids.size(); ++left) {
      REQUIRE(bids[left] >= bids[left - 1]);
      REQUIRE(bids[left] <= static_cast<std::int32_t>(left) + 10);  // sizes are cut on a grid of 10
    }
    for (std::size_t a = 1; a < 1000; a += 37) {
      for (std::size_t b = 1; a + b < 1000; b += 41) REQUIRE(bids[a + b] + 2 >= bids[a] + bids[b]);
    }
  }
}

TEST_CASE("a learner weighs what it was told by what it saw", "[devices][outlook]") {
  const expected_pods small{.gpus = 1, .milli = 100}, large{.gpus = 1, .milli = 900};
  demand_learner learner{std::vector<expected_pods>{small}, 300};
  std::vector<int> when;
  for (int i = 1; i <= 1100; ++i) {
    if (learner.see(large)) when.push_back(i);
  }
  CHECK(when == std::vector<int>{256, 512, 1024});
  const auto now = learner.expected();
  REQUIRE(now.size() == 2);
  CHECK((now[0].milli == 100 && now[0].count == 300'000));
  CHECK((now[1].milli == 900 && now[1].count == 1'100'000));
}

TEST_CASE("a learner that was told of nobody goes by what it sees, however many they are", "[devices][outlook]") {
  const expected_pods nobody{.gpus = 1, .milli = 100, .count = 0};
  demand_learner learner{std::vector<expected_pods>{nobody}};
  expected_pods many{.gpus = 1, .milli = 900, .count = 3};
  CHECK_FALSE(learner.see(many));
  const auto now = learner.expected();
  REQUIRE(now.size() == 2);
  CHECK((now[0].milli == 100 && now[0].count == 0));
  CHECK((now[1].milli == 900 && now[1].count == 3000));
  many.count = std::int64_t{1} << 62;
  CHECK(learner.see(many));
  CHECK(learner.see(many));  // there are as many as can be counted
  CHECK(learner.expected()[1].count == std::numeric_limits<std::int64_t>::max());
}

}  // namespace gangsched::testing::gpu_outlook_test
