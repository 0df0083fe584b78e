#include "gangsched/queues/kai/fair_share.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "gangsched/queues/kai/queue_shares.hpp"
#include "support/catch.hpp"

// Cases by number are those of the list of behaviours that KAI's own tests have (division: 1 to 5).
namespace gangsched::testing::kai_fair_share_test {

using namespace gangsched::queues;
using kai::claim;

struct divided {
  std::vector<double> shares;
  double remaining = 0;
  friend bool operator==(const divided&, const divided&) = default;
};

divided divide(std::vector<claim> claims, double total, double k = 0) {
  divided made;
  made.remaining = kai::fair_share_division{}.divide(claims, total, k);
  for (const claim& one : claims) made.shares.push_back(one.fair_share);
  return made;
}
divided divide_over_quota(std::vector<claim> claims, double amount) {
  divided made;
  made.remaining = kai::fair_share_division{}.divide_over_quota(claims, amount, 0);
  for (const claim& one : claims) made.shares.push_back(one.fair_share);
  return made;
}
claim wants(double deserved, double weight, double request, int priority = 0) {
  return {priority, deserved, request, weight};
}

TEST_CASE(
    "case 1: everybody gets what it deserves, the rest goes by weight in whole units, then to the largest fraction") {
  CHECK(divide({wants(2, 2, 6), wants(2, 2, 6)}, 15) == divided{{6, 6}, 3});
  CHECK(divide({wants(2, 1, 6), wants(2, 3, 6)}, 8) == divided{{3, 5}, 0});
  CHECK(divide({wants(2, 2, 5), wants(2, 2, 6)}, 12) == divided{{5, 6}, 1});
  CHECK(divide({wants(2, 1, 10), wants(2, 4, 10)}, 11) == divided{{3, 8}, 0});
  CHECK(divide({wants(2, 2, 10), wants(2, 2, 10)}, 11) == divided{{6, 5}, 0});
  CHECK(divide({wants(2, 1, 6, 2), wants(2, 100, 6, 1)}, 6) == divided{{4, 2}, 0});
}

TEST_CASE("case 2: what a queue deserves it gets although there is less, or a part of a unit") {
  CHECK(divide({wants(3, 1, 2)}, 1) == divided{{2}, 0});
  CHECK(divide({wants(1.5, 0, 2)}, 3) == divided{{1.5}, 1.5});
  CHECK(divide({wants(0, 0, 2)}, 2) == divided{{0}, 2});
}

TEST_CASE(
    "case 3: beyond what it deserves a queue gets what it asks for, within its limit, and nothing without a weight") {
  const auto has = [](double fair_share, double weight, double requestable) {
    return claim{0, 0, requestable, weight, 0, fair_share};
  };
  CHECK(divide_over_quota({has(3, 1, 5)}, 2) == divided{{5}, 0});
  CHECK(divide_over_quota({has(3, 1, 4)}, 2) == divided{{4}, 1});
  CHECK(divide_over_quota({has(3, 0, 5)}, 2) == divided{{3}, 2});
  CHECK(divide_over_quota({has(3, 1, 5)}, 0.5) == divided{{3.5}, 0});
  CHECK(divide_over_quota({has(3, 1, 3), has(3, 0, 9)}, 10) == divided{{3, 3}, 10});
}

TEST_CASE("case 4: the higher priority shares everything before the lower one is looked at") {
  CHECK(divide({wants(2, 2, 5, 2), wants(2, 2, 5, 2), wants(1, 2, 0, 1)}, 5) == divided{{3, 2, 0}, 0});
}

TEST_CASE("case 5: thousandths of CPUs are divided like units, and what is deserved wins over the total") {
  const auto three = [](double a, double b, double c, double total) {
    return divide({wants(5000, 5000, a), wants(5000, 5000, b), wants(5000, 5000, c)}, total);
  };
  CHECK(three(9000, 9000, 9000, 18000) == divided{{6000, 6000, 6000}, 0});
  CHECK(three(7000, 2000, 2000, 10000) == divided{{6000, 2000, 2000}, 0});
  CHECK(three(7000, 5000, 2000, 10000) == divided{{5000, 5000, 2000}, 0});
}

TEST_CASE("past usage makes a part smaller by k, and a queue that used far too much gets none") {
  std::vector<claim> claims{wants(0, 1, 100), wants(0, 1, 100)};
  claims[0].usage = 0.75;
  CHECK(divide(claims, 40, 0) == divided{{20, 20}, 0});
  CHECK(divide(claims, 40, 1) == divided{{8, 32}, 0});  // 0.5 + (0.5 - 0.75) against 0.5 + 0.5
  CHECK(divide(claims, 40, 4) == divided{{0, 40}, 0});
}

TEST_CASE("a single unit that rounding left does not ask whether the queue wanted it") {
  const divided made = divide({wants(0, 1, 4.7), wants(0, 1, 9)}, 9);
  CHECK(made.shares ==
        std::vector<double>{5, 4});  // it needed more than its part of 4.5, got 4 of that and then one unit
  CHECK(made.remaining == 0);
}

/// The rules as they are written, with a map of fractions and a search for the next queue, nothing sorted or kept.
divided reference(const std::vector<claim>& claims, double total, double k) {
  divided made{std::vector<double>(claims.size()), total};
  double& left = made.remaining;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    made.shares[i] = std::min(claims[i].deserved == kai::unlimited ? total : claims[i].deserved, claims[i].requestable);
    left -= made.shares[i];
  }
  if (left <= 0) return left = 0, made;
  std::map<std::size_t, double> lost;
  std::map<int, std::vector<std::size_t>, std::greater<>> by_priority;
  for (std::size_t i = 0; i < claims.size(); ++i) by_priority[claims[i].priority].push_back(i);
  for (const auto& [priority, all] : by_priority) {
    for (bool again = true; again && left > 0;) {
      again = false;
      double weights = 0, parts = 0;
      std::map<std::size_t, double> part;
      for (const std::size_t i : all)
        if (made.shares[i] < claims[i].requestable) weights += claims[i].weight;
      if (weights == 0) break;
      for (const std::size_t i : all) {
        if (made.shares[i] >= claims[i].requestable) continue;
        const double normal = claims[i].weight / weights;
        parts += part[i] = std::max(0.0, normal + k * (normal - claims[i].usage));
      }
      if (parts == 0) break;
      const double round = left;
      for (const auto& [i, of_it] : part) {
        if (claims[i].weight == 0 || left == 0) continue;
        const double fair = round * (of_it / parts), need = claims[i].requestable - made.shares[i];
        const double given = need <= fair ? need : std::max(0.0, std::floor(fair));
        if (need <= fair) lost.erase(i);
        if (need > fair && fair > given) lost[i] = fair - given;
        again = again || need < fair;
        made.shares[i] += given;
        left -= given;
      }
    }
  }
  for (const auto& [priority, all] : by_priority) {
    std::map<std::size_t, double> mine;
    for (const std::size_t i : all)
      if (lost.contains(i)) mine[i] = lost[i];
    while (left > 0 && !mine.empty()) {
      const auto next = std::ranges::max_element(mine, {}, [](const auto& one) { return one.second; });
      made.shares[next->first] += std::min(1.0, left);
      left -= std::min(1.0, left);
      mine.erase(next);
    }
  }
  return made;
}

TEST_CASE("random divisions are those of the rules, to the last bit") {
  std::size_t compared = 0, rounded = 0;
  kai::fair_share_division division;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::mt19937 dice{seed};
    const auto roll = [&](unsigned below) { return static_cast<double>(dice() % below); };
    std::vector<claim> claims(dice() % 4 == 0 ? 12 : 2 + dice() % 3);
    for (claim& one : claims) {
      one.priority = 3 - static_cast<int>(dice() % 3);
      one.deserved = dice() % 8 == 0 ? kai::unlimited : roll(5);
      one.requestable = dice() % 2 == 0 ? roll(24) / 4 : roll(40);
      one.weight = roll(4) / 2;
      one.usage = roll(100) / 100;
    }
    std::ranges::stable_sort(claims, std::greater<>{}, &claim::priority);
    const double total = roll(24) + (dice() % 3 == 0 ? 0.5 : 0), k = roll(3);
    const divided expected = reference(claims, total, k);
    const double remaining = division.divide(claims, total, k);
    REQUIRE(remaining == expected.remaining);
    for (std::size_t i = 0; i < claims.size(); ++i) {
      REQUIRE(claims[i].fair_share == expected.shares[i]);
      rounded += claims[i].fair_share > claims[i].requestable ? 1 : 0;
      ++compared;
    }
  }
  CHECK(compared > 15000);
  CHECK(rounded > 0);  // units that were not asked for
}

TEST_CASE("children share what their parent is due, and load counts all the way up") {
  const std::vector<queue_link> links{{"org"}, {"other"}, {"a", "org"}, {"b", "org"}};
  kai::queue_shares shares{queue_tree::make(links).value(), 2};
  shares.set_total(0, 10).value();
  shares.set_quota(0, 0, {6, kai::unlimited, 0}).value();
  shares.set_quota(1, 0, {0, kai::unlimited, 1}).value();
  shares.set_quota(2, 0, {1, kai::unlimited, 1}).value();
  shares.set_quota(3, 0, {1, 3, 1}).value();
  const std::vector<double> ten{10}, four{4, 1};
  shares.add_request(1, ten);
  shares.add_request(2, ten);
  shares.add_request(3, ten);
  shares.allocate(3, four, false);
  shares.divide();
  const auto due = [&](queue_index queue) { return shares.share(queue, 0).fair_share; };
  CHECK(due(0) == 6);
  CHECK(due(1) == 4);
  CHECK(due(2) == 3);
  CHECK(due(3) == 3);
  CHECK(shares.share(0, 0).request == 20);
  CHECK(shares.share(0, 1).allocated_non_preemptible == 1);
  CHECK(shares.dominant_share(3) == 1000);  // of the second resource it may have nothing
  CHECK(shares.dominant_share(3, {}, std::vector<double>{0, 1}) == 4.0 / 3);
  shares.release(3, four, false);
  shares.remove_request(3, ten);
  CHECK(shares.share(0, 0).request == 10);
  CHECK(shares.share(0, 0).allocated == 0);
  CHECK(shares.share(3, 1).allocated_non_preemptible == 0);
}

TEST_CASE("what a queue may hold is the larger of what it deserves and its fair share, within its limit") {
  const auto allocatable = [](double deserved, double limit, double fair_share) {
    kai::resource_share of;
    of.deserved = deserved;
    of.limit = limit;
    of.fair_share = fair_share;
    return of.allocatable();
  };
  CHECK(allocatable(2, kai::unlimited, 5) == 5);
  CHECK(allocatable(7, kai::unlimited, 5) == 7);
  CHECK(allocatable(7, 6, 5) == 6);
  CHECK(allocatable(kai::unlimited, 6, 5) == 6);
  CHECK(allocatable(kai::unlimited, kai::unlimited, 5) == kai::unlimited);
}

TEST_CASE("siblings are served by priority, age and name, however the host lists them") {
  for (const bool swapped : {false, true}) {
    const std::vector<queue_link> links =
        swapped ? std::vector<queue_link>{{"b"}, {"a"}} : std::vector<queue_link>{{"a"}, {"b"}};
    kai::queue_shares shares{queue_tree::make(links).value(), 1};
    const queue_index a = shares.tree().find("a").value(), b = shares.tree().find("b").value();
    shares.set_total(0, 5).value();
    shares.add_request(a, std::vector<double>{5});
    shares.add_request(b, std::vector<double>{5});
    shares.divide();
    CHECK(shares.share(a, 0).fair_share == 3);
    shares.set_rank(b, {0, -1}).value();
    shares.divide();
    CHECK(shares.share(b, 0).fair_share == 3);
    shares.set_rank(a, {1, 0}).value();
    shares.divide();
    CHECK(shares.share(a, 0).fair_share == 5);
  }
}

TEST_CASE("what a host says of a queue is refused by queue, field and reason, and nothing changes") {
  kai::queue_shares shares{queue_tree::make(std::vector<queue_link>{{"a"}}).value(), 1};
  const auto why = [](const result<void>& of) { return of ? std::string{} : of.error().message(); };
  const double nothing = std::nan("");
  CHECK(why(shares.set_quota(1, 0, {})) == "queue 1: there is no such queue");
  CHECK(why(shares.set_quota(0, 1, {})) == "queue a: resource 1: there is no such resource");
  CHECK(why(shares.set_quota(0, 0, {-2})) == "queue a: deserved: has to be unlimited or finite and at least 0");
  CHECK(why(shares.set_quota(0, 0, {1, -3})) == "queue a: limit: has to be unlimited or finite and at least 0");
  CHECK(why(shares.set_quota(0, 0, {1, 1, nothing})) == "queue a: weight: has to be finite and at least 0");
  CHECK(why(shares.set_usage(0, 0, -0.5)) == "queue a: usage: has to be finite and at least 0");
  CHECK(why(shares.set_load(0, 0, {-1})) == "queue a: request: has to be finite and at least 0");
  CHECK(why(shares.set_load(0, 0, {1, nothing})) == "queue a: allocated: has to be finite and at least 0");
  CHECK(why(shares.set_load(0, 0, {1, 1, -1})) ==
        "queue a: allocated_non_preemptible: has to be finite and at least 0");
  CHECK(why(shares.set_fair_share(0, 0, -7)) == "queue a: fair_share: has to be unlimited or finite and at least 0");
  CHECK(why(shares.set_total(1, 3)) == "resource 1: total: there is no such resource");
  CHECK(why(shares.set_total(0, -3)) == "resource 0: total: has to be finite and at least 0");
  CHECK(why(shares.set_rank(4, {})) == "queue 4: there is no such queue");
  CHECK(shares.share(0, 0).deserved == 0);
  CHECK(shares.share(0, 0).limit == kai::unlimited);
  CHECK(shares.share(0, 0).request == 0);
}

}  // namespace gangsched::testing::kai_fair_share_test
