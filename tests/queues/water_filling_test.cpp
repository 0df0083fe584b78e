#include "gangsched/queues/water_filling.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::water_filling_test {

using namespace gangsched::queues;
using amounts = std::vector<std::int64_t>;
__extension__ using wide = __int128;

amounts divide(std::int64_t total, const std::vector<fill_claim>& claims) {
  amounts made(claims.size());
  water_filling{}.divide(total, claims, made).value();
  return made;
}

TEST_CASE("who asks for less than its part gets that, and the others share by weight") {
  CHECK(divide(10, {{.request = 2}, {.request = 9}, {.request = 9}}) == amounts{2, 4, 4});
  CHECK(divide(10, {{.request = 20, .weight = 1}, {.request = 20, .weight = 4}}) == amounts{2, 8});
  CHECK(divide(30, {{.request = 2}, {.request = 9}, {.request = 9}}) == amounts{2, 9, 9});
  CHECK(divide(0, {{.request = 2}, {.request = 9}}) == amounts{0, 0});
  CHECK(divide(5, {}).empty());
}

TEST_CASE("units that do not divide go to who lost most, in a tie to who comes first") {
  CHECK(divide(10, {{.request = 9}, {.request = 9}, {.request = 9}}) == amounts{4, 3, 3});
  CHECK(divide(10, {{.request = 99, .weight = 5}, {.request = 99, .weight = 3}, {.request = 99, .weight = 7}}) ==
        amounts{3, 2, 5});  // 3 1/3, 2, 4 2/3
}

TEST_CASE("a guarantee counts within the share, and shrinks with all others where there is too little") {
  CHECK(divide(12, {{.request = 20, .guarantee = 8}, {.request = 20}, {.request = 20}}) == amounts{8, 2, 2});
  CHECK(divide(30, {{.request = 20, .guarantee = 8}, {.request = 20}, {.request = 20}}) == amounts{10, 10, 10});
  CHECK(divide(12, {{.request = 3, .guarantee = 8}, {.request = 20}}) == amounts{3, 9});
  CHECK(divide(12, {{.request = 3, .guarantee = 8, .lends = false}, {.request = 20}}) == amounts{8, 4});
  CHECK(divide(10, {{.request = 20, .guarantee = 15}, {.request = 20, .guarantee = 5}, {.request = 20}}) ==
        amounts{8, 2, 0});
}

TEST_CASE("limits hold, and without weight there is the guarantee alone") {
  CHECK(divide(12, {{.request = 20, .limit = 2}, {.request = 20}}) == amounts{2, 10});
  CHECK(divide(12, {{.request = 20, .guarantee = 5, .limit = 3}, {.request = 5}}) == amounts{3, 5});
  CHECK(divide(12, {{.request = 20, .guarantee = 5, .weight = 0}, {.request = 3}}) == amounts{5, 3});
  CHECK(divide(12, {{.request = 20, .guarantee = 5, .weight = 0}, {.request = 30}}) == amounts{5, 7});
  CHECK(divide(12, {{.request = 6, .guarantee = 5, .weight = 0}, {.request = 3}}) == amounts{5, 3});
}

TEST_CASE("81 GPUs for ten borrowers and a donor are handed out to the last") {
  std::vector<fill_claim> claims{{.request = 0, .guarantee = 3}};
  for (int i = 0; i < 10; ++i) claims.push_back({.request = 100, .guarantee = i < 8 ? 8 : 7});
  const amounts shares = divide(81, claims);
  CHECK(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}) == 81);
  CHECK(*std::ranges::max_element(shares) == 9);
}

TEST_CASE("a tree divides what each queue has among those below it, as far as they ask") {
  const queue_tree tree =
      queue_tree::make(
          std::vector<queue_link>{{"org"}, {"a", "org"}, {"b", "org"}, {"a1", "a"}, {"a2", "a"}, {"other"}})
          .value();
  std::vector<fill_claim> claims(6);
  claims[tree.find("a1").value()] = {.request = 100, .guarantee = 10};
  claims[tree.find("a2").value()] = {.request = 2};
  claims[tree.find("b").value()] = {.request = 3};
  claims[tree.find("other").value()] = {.request = 100};
  claims[tree.find("org").value()] = {.weight = 2};
  amounts shares(6);
  water_filling fill;
  fill.divide(tree, 30, claims, shares).value();
  CHECK(shares == amounts{20, 17, 3, 15, 2, 10});
  claims[tree.find("org").value()].limit = 8;  // below what a1 is guaranteed
  fill.divide(tree, 30, claims, shares).value();
  CHECK(shares == amounts{8, 8, 0, 8, 0, 22});
}

TEST_CASE("claims are refused by number, field and reason") {
  const auto failure = [](std::int64_t total, const std::vector<fill_claim>& claims, std::size_t shares) {
    amounts into(shares);
    const auto made = water_filling{}.divide(total, claims, into);
    return made ? std::string{} : made.error().message();
  };
  CHECK(failure(1, {{}}, 1).empty());
  CHECK(failure(1, {{}}, 2) == "water filling: shares: 2 for 1 claims");
  CHECK(failure(-1, {{}}, 1) == "water filling: total: -1 is not in 0 … 2^61");
  CHECK(failure(1, {{}, {.request = -1}}, 2) == "claim 1: request: is negative");
  CHECK(failure(1, {{.guarantee = -1}}, 1) == "claim 0: guarantee: is negative");
  CHECK(failure(1, {{.limit = -1}}, 1) == "claim 0: limit: is negative");
  CHECK(failure(1, {{.weight = -1}}, 1) == "claim 0: weight: is negative");
  CHECK(failure(1, {{.request = largest_amount}, {.request = 1}}, 2) == "claim 1: request: the sum is above 2^61");
  CHECK(failure(1, {{.guarantee = largest_amount}, {.guarantee = 1}}, 2) ==
        "claim 1: guarantee: the sum is above 2^61");
  CHECK(failure(1, {{.weight = largest_amount}, {.weight = 1}}, 2) == "claim 1: weight: the sum is above 2^61");

  const queue_tree tree = queue_tree::make(std::vector<queue_link>{{"a"}, {"b", "a"}}).value();
  amounts shares(2);
  water_filling fill;
  CHECK(fill.divide(tree, 1, std::vector<fill_claim>(1), shares).error().message() ==
        "water filling: claims: 1 for a tree of 2");
  CHECK(fill.divide(tree, 1, std::vector<fill_claim>{{.request = 1}, {}}, shares).error().message() ==
        "queue a: request: it has children, whose requests are its own");
}

// What shares are right is a statement about one level, which can be checked without knowing how it was found: if each exact share is the
// level times the weight, held up by the low and down by the high, and they add up to the total, then nobody's can grow but by taking from
// somebody who has no more for its weight. In whole numbers, times the denominator.

std::int64_t low_of(const fill_claim& one) {
  const std::int64_t guarantee = std::min(one.guarantee, one.limit);
  return one.lends ? std::min(guarantee, one.request) : guarantee;
}
std::int64_t high_of(const fill_claim& one) {
  return one.weight == 0 ? low_of(one) : std::max(std::min(one.request, one.limit), low_of(one));
}

struct tallies {
  std::size_t levels = 0, rounded = 0, shrunk = 0, satisfied = 0;
};

void certify(std::int64_t total, const std::vector<fill_claim>& claims, const amounts& shares, const water_level& level,
             tallies& into) {
  amounts lows, highs, weights;
  for (const fill_claim& one : claims) {
    lows.push_back(low_of(one));
    highs.push_back(high_of(one));
    weights.push_back(one.weight);
  }
  const std::int64_t guaranteed = std::accumulate(lows.begin(), lows.end(), std::int64_t{0});
  if (std::accumulate(highs.begin(), highs.end(), std::int64_t{0}) <= total) {
    REQUIRE(shares == highs);
    ++into.satisfied;
    return;
  }
  if (guaranteed > total) {
    weights = highs = lows;
    std::ranges::fill(lows, 0);
    ++into.shrunk;
  }
  // The exact shares, times the denominator. Without anybody between low and high the level is found by what others are at.
  wide sum = 0, exact_sum = 0;
  std::optional<wide> least_given, most_refused;  // remainders
  std::optional<std::pair<wide, wide>> at_high, at_low;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::int64_t high = highs[i];
    sum += shares[i];
    wide exact = wide{weights[i]} * level.numerator;
    if (level.numerator == 0) exact = wide{shares[i]} * level.denominator;
    exact = std::clamp(exact, wide{lows[i]} * level.denominator, wide{high} * level.denominator);
    exact_sum += exact;
    const wide whole = exact / level.denominator, remainder = exact % level.denominator;
    REQUIRE(shares[i] >= whole);
    REQUIRE(shares[i] <= whole + (remainder > 0 ? 1 : 0));
    if (remainder > 0 && shares[i] > whole) least_given = std::min(least_given.value_or(remainder), remainder);
    if (remainder > 0 && shares[i] == whole) most_refused = std::max(most_refused.value_or(remainder), remainder);
    into.rounded += remainder > 0 ? 1 : 0;
    if (lows[i] == high) continue;
    const std::pair<wide, wide> per_weight{shares[i], weights[i]};
    if (shares[i] == high && (!at_high || per_weight.first * at_high->second > at_high->first * per_weight.second))
      at_high = per_weight;
    if (shares[i] == lows[i] && (!at_low || per_weight.first * at_low->second < at_low->first * per_weight.second))
      at_low = per_weight;
  }
  if (least_given && most_refused) REQUIRE(*least_given >= *most_refused);
  REQUIRE(sum == total);
  REQUIRE(exact_sum == wide{total} * level.denominator);
  if (level.numerator == 0 && at_high && at_low)
    REQUIRE(at_high->first * at_low->second <= at_low->first * at_high->second);
  ++into.levels;
}

fill_claim random_claim(dice& roll, std::int64_t most, std::int64_t heaviest) {
  fill_claim made{.request = roll.between(0, most),
                  .weight = roll.percent(95) ? roll.between(1, heaviest) : 0,
                  .lends = roll.percent(85)};
  if (roll.percent(50)) made.guarantee = roll.between(0, most / 3);
  if (roll.percent(20)) made.limit = roll.between(0, most);
  return made;
}

TEST_CASE("shares have no error against exact fractions: their level proves that they are the fair ones") {
  tallies seen;
  water_filling fill;
  for (std::uint64_t seed = 0; seed < 40000; ++seed) {
    CAPTURE(seed);
    dice roll{seed};
    const std::int64_t most = std::array{std::int64_t{8}, std::int64_t{1000}, std::int64_t{1} << 44}[roll.below(3)];
    const std::int64_t heaviest = std::array{std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 44}[roll.below(3)];
    std::vector<fill_claim> claims(static_cast<std::size_t>(roll.between(1, 24)));
    for (fill_claim& one : claims) one = random_claim(roll, most, heaviest);
    const std::int64_t total = roll.between(0, most * static_cast<std::int64_t>(claims.size()) / 2);
    amounts shares(claims.size());
    const water_level level = fill.divide(total, claims, shares).value();
    certify(total, claims, shares, level, seen);
  }
  CHECK(seen.levels > 20000);
  CHECK(seen.rounded > 50000);
  CHECK(seen.shrunk > 1000);
  CHECK(seen.satisfied > 1000);
}

TEST_CASE(
    "shares do not depend on the order of claims, but for units that are owed equally, and never shrink when there is "
    "more") {
  std::size_t grew = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    dice roll{seed};
    std::vector<fill_claim> claims(static_cast<std::size_t>(roll.between(1, 12)));
    for (fill_claim& one : claims) one = random_claim(roll, 50, 5);
    const std::int64_t total = roll.between(0, 300);
    const amounts shares = divide(total, claims), more = divide(total + 40, claims);
    std::vector<fill_claim> turned(claims.rbegin(), claims.rend());
    amounts back = divide(total, turned);
    std::ranges::reverse(back);
    for (std::size_t i = 0; i < claims.size(); ++i) {
      REQUIRE(std::abs(shares[i] - back[i]) <= 1);
      REQUIRE(more[i] >= shares[i] - 1);
      grew += more[i] > shares[i] ? 1 : 0;
    }
  }
  CHECK(grew > 4000);
}

TEST_CASE("in a tree each level is fair in itself, within what the queue above it has") {
  tallies seen;
  water_filling fill;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    dice roll{seed};
    std::vector<std::string> names;
    std::vector<queue_link> links;
    for (std::int64_t i = roll.between(1, 20); i > 0; --i) names.push_back("q" + std::to_string(i));
    for (std::size_t i = 0; i < names.size(); ++i)
      links.push_back(
          {names[i], i > 0 && roll.percent(80) ? std::string_view{names[roll.below(i)]} : std::string_view{}});
    const queue_tree tree = queue_tree::make(links).value();
    std::vector<fill_claim> claims(tree.size());
    for (queue_index queue = 0; queue < tree.size(); ++queue) {
      claims[queue] = random_claim(roll, 200, 9);
      if (!tree.is_leaf(queue)) claims[queue].request = 0;
    }
    const std::int64_t total = roll.between(0, 1500);
    amounts shares(tree.size());
    fill.divide(tree, total, claims, shares).value();

    std::vector<fill_claim> asks = claims;
    for (auto queue = tree.top_down().rbegin(); queue != tree.top_down().rend(); ++queue) {
      std::int64_t low = 0, high = 0;
      for (const queue_index child : tree.children(*queue)) {
        low += low_of(asks[child]);
        high += high_of(asks[child]);
      }
      if (tree.is_leaf(*queue)) continue;
      asks[*queue].request = high;
      asks[*queue].guarantee = std::max(asks[*queue].guarantee, low);
    }
    const auto certify_level = [&](std::int64_t of, std::span<const queue_index> queues) {
      std::vector<fill_claim> here;
      amounts given, expected(queues.size());
      for (const queue_index queue : queues) {
        here.push_back(asks[queue]);
        given.push_back(shares[queue]);
      }
      const water_level level = water_filling{}.divide(of, here, expected).value();
      REQUIRE(given == expected);
      certify(of, here, given, level, seen);
    };
    certify_level(total, tree.roots());
    for (const queue_index queue : tree.top_down())
      if (!tree.is_leaf(queue)) certify_level(shares[queue], tree.children(queue));
  }
  CHECK(seen.levels > 3000);
}

}  // namespace gangsched::testing::water_filling_test
