#include "gangsched/queues/kai/reclaim.hpp"

#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "support/catch.hpp"

namespace gangsched::testing::kai_reclaim_test {

using namespace gangsched::queues;
using kai::queue_shares;

struct queue_has {
  double deserved = 0, fair_share = 0, allocated = 0;
};

/// Queues by name, of one resource.
queue_shares of(const std::vector<queue_link>& links, const std::vector<queue_has>& has) {
  queue_shares shares{queue_tree::make(links).value(), 1};
  for (queue_index queue = 0; queue < links.size(); ++queue) {
    shares.set_quota(queue, 0, {has[queue].deserved}).value();
    shares.set_fair_share(queue, 0, has[queue].fair_share).value();
    shares.set_load(queue, 0, {has[queue].allocated, has[queue].allocated}).value();
  }
  return shares;
}

bool may(const queue_shares& shares, const kai::reclaimer& by, const std::vector<kai::reclaimee>& victims,
         double multiplier = 1) {
  kai::reclaim_plan plan;
  return may_reclaim(shares, by, victims, plan, multiplier);
}

const std::vector<double> one{1}, two{2}, three{3};

TEST_CASE("case 21: a search looks only at queues that can have victims") {
  const auto looks_at = [](const queue_has& reclaimer, const queue_has& victim) {
    const queue_shares shares = of({{"reclaimer"}, {"victim"}}, {reclaimer, victim});
    return may_have_victims(shares, {0, two}, 1);
  };
  CHECK_FALSE(looks_at({4, 4, 0}, {4, 4, 2}));
  CHECK(looks_at({4, 4, 0}, {0, 4, 4}));
  CHECK(looks_at({4, 4, 0}, {2, 4, 2}));
  CHECK_FALSE(looks_at({1, 4, 0}, {2, 4, 3}));
  CHECK(looks_at({1, 4, 0}, {2, 4, 5}));
}

TEST_CASE("case 21: a resource that is not asked for makes nobody a victim") {
  queue_shares shares{queue_tree::make(std::vector<queue_link>{{"reclaimer"}, {"victim"}}).value(), 2};
  shares.set_quota(0, 0, {4}).value();
  shares.set_quota(1, 0, {4}).value();
  shares.set_load(1, 0, {2, 2}).value();
  shares.set_load(1, 1, {9, 9}).value();  // of which it deserves nothing
  CHECK_FALSE(may_have_victims(shares, {0, two}, 1));
}

TEST_CASE("a queue may reclaim up to its fair share, with a job that stays up to what it deserves") {
  const queue_shares shares = of({{"a"}}, {{1, 3, 1}});
  CHECK(can_reclaim(shares, {0, two}));
  CHECK_FALSE(can_reclaim(shares, {0, three}));
  CHECK(can_reclaim(shares, {0, one, false}));
  CHECK_FALSE(can_reclaim(shares, {0, two, false}));
}

TEST_CASE(
    "who is above its fair share gives until it is not, and whoever is above what it deserves gives to who is not") {
  const queue_shares fair = of({{"a"}, {"b"}}, {{0, 4, 0}, {1, 4, 6}});
  CHECK(may(fair, {0, two}, {{1, two}}));
  CHECK_FALSE(may(fair, {0, two}, {{1, two}, {1, one}}));
  CHECK(may(of({{"a"}, {"b"}}, {{2, 4, 0}, {1, 4, 4}}), {0, two}, {{1, two}}));  // b holds more than it deserves
  CHECK_FALSE(
      may(of({{"a"}, {"b"}}, {{1, 4, 0}, {1, 4, 4}}), {0, two}, {{1, two}}));  // a would hold more than it deserves
  CHECK_FALSE(may(of({{"a"}, {"b"}}, {{2, 4, 0}, {4, 4, 4}}), {0, two}, {{1, two}}));  // b holds what it deserves
}

TEST_CASE("queues are compared just below the lowest queue above both, and roots are siblings") {
  const std::vector<queue_link> links{{"d1"}, {"d2"}, {"a", "d1"}, {"b", "d2"}, {"c", "d1"}};
  const queue_shares shares = of(links, {{4, 4, 2}, {4, 4, 6}, {2, 2, 0}, {4, 6, 6}, {2, 2, 2}});
  CHECK(may(shares, {2, two}, {{3, two}}));        // d2 is above its share, though b is not
  CHECK_FALSE(may(shares, {2, two}, {{4, two}}));  // a sibling that is not
}

TEST_CASE("nobody takes so much that it is more saturated than those it takes from, unless they have no share at all") {
  // a holds 5 of 4 after it; b is left with 5 of 4: as saturated.
  const auto victims = std::vector<kai::reclaimee>{{1, three}};
  CHECK_FALSE(may(of({{"a"}, {"b"}}, {{0, 4, 2}, {0, 4, 8}}), {0, three}, victims));
  CHECK(may(of({{"a"}, {"b"}}, {{0, 4, 2}, {0, 4, 9}}), {0, three}, victims));
  CHECK_FALSE(may(of({{"a"}, {"b"}}, {{0, 4, 2}, {0, 4, 9}}), {0, three}, victims, 1.2));
  CHECK(may(of({{"a"}, {"b"}}, {{0, 4, 2}, {0, 0, 3}}), {0, three}, victims));
  CHECK(may(of({{"a"}, {"b"}}, {{0, 4, 1}, {0, 4, 5}}), {0, three}, victims));  // a is not above its share: 4 of 4
}

TEST_CASE("a job that stays keeps every queue above it within what that deserves") {
  const std::vector<queue_link> links{{"d1"}, {"d2"}, {"a", "d1"}};
  const auto shares = [&](double department) { return of(links, {{department, 4, 0}, {0, 0, 4}, {2, 4, 0}}); };
  CHECK(may(shares(2), {2, two, false}, {{1, two}}));
  CHECK_FALSE(may(shares(1), {2, two, false}, {{1, two}}));
  CHECK(may(shares(1), {2, two, true}, {{1, two}}));
}

/// The rules with maps, anew for each question.
bool reference(const queue_shares& shares, const kai::reclaimer& by, const std::vector<kai::reclaimee>& victims,
               double multiplier) {
  const queue_tree& tree = shares.tree();
  const auto path = [&](queue_index queue) {
    std::vector<queue_index> from_root;
    for (; queue != no_queue; queue = tree.parent(queue)) from_root.insert(from_root.begin(), queue);
    return from_root;
  };
  const auto level = [&](queue_index a, queue_index b) {  // of a, against b
    const auto mine = path(a), theirs = path(b);
    std::size_t i = 0;
    while (i + 1 < mine.size() && i + 1 < theirs.size() && mine[i] == theirs[i]) ++i;
    return mine[i];
  };
  std::map<queue_index, std::vector<double>> left;
  std::map<queue_index, std::set<std::size_t>> taken;
  const auto remaining = [&](queue_index queue, std::size_t r) {
    return left.contains(queue) ? left[queue][r] : shares.share(queue, r).allocated;
  };
  const auto exceeds = [](double amount, double bound) { return bound != kai::unlimited && amount > bound; };
  for (const kai::reclaimee& victim : victims) {
    const queue_index mine = level(by.queue, victim.queue), theirs = level(victim.queue, by.queue);
    bool over_allocatable = false, over_deserved = false, starved = true;
    for (std::size_t r = 0; r < shares.resources(); ++r) {
      over_allocatable |= exceeds(remaining(theirs, r), shares.allocatable(theirs, r));
      over_deserved |= exceeds(remaining(theirs, r), shares.share(theirs, r).deserved);
      starved &= !exceeds(shares.share(mine, r).allocated + by.request[r], shares.share(mine, r).deserved);
    }
    if (!over_allocatable && !(starved && over_deserved)) return false;
    for (const queue_index up : path(victim.queue)) {
      if (!left.contains(up))
        for (std::size_t r = 0; r < shares.resources(); ++r) left[up].push_back(shares.share(up, r).allocated);
      for (std::size_t r = 0; r < shares.resources(); ++r) {
        left[up][r] -= victim.held[r];
        if (victim.held[r] > 0) taken[up].insert(r);
      }
    }
  }
  const auto ratio = [](double held, double fair) {
    return fair == kai::unlimited ? 0 : fair > 0 ? held / fair : held > 0 ? std::numeric_limits<double>::infinity() : 0;
  };
  for (const queue_index mine : path(by.queue)) {
    for (const auto& [sibling, of_it] : left) {
      if (sibling == mine || tree.parent(sibling) != tree.parent(mine)) continue;
      for (std::size_t r = 0; r < shares.resources(); ++r) {
        if (by.request[r] <= 0 && !taken[sibling].contains(r)) continue;
        const double fair = shares.share(mine, r).fair_share, sibling_fair = shares.share(sibling, r).fair_share;
        const double own = ratio(remaining(mine, r) + by.request[r], fair);
        if (own > 1 && sibling_fair > 0 && own * multiplier >= ratio(of_it[r], sibling_fair)) return false;
      }
    }
    for (std::size_t r = 0; r < shares.resources() && !by.preemptible; ++r)
      if (exceeds(shares.share(mine, r).allocated_non_preemptible + by.request[r], shares.share(mine, r).deserved))
        return false;
  }
  return true;
}

TEST_CASE("random reclaims in random trees are those of the rules, with one plan used again and again") {
  std::size_t allowed = 0, refused = 0;
  kai::reclaim_plan plan;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 dice{seed};
    const auto roll = [&](unsigned below) { return static_cast<double>(dice() % below); };
    std::vector<std::string> names;
    for (int i = 0; i < 9; ++i) names.push_back("q" + std::to_string(i));
    std::vector<queue_link> links;
    for (std::size_t i = 0; i < names.size(); ++i)
      links.push_back({names[i], i > 1 && dice() % 3 != 0 ? std::string_view{names[dice() % i]} : std::string_view{}});
    queue_shares shares{queue_tree::make(links).value(), 2};
    for (queue_index queue = 0; queue < names.size(); ++queue)
      for (std::size_t r = 0; r < 2; ++r) {
        const double allocated = roll(8);
        shares.set_quota(queue, r, {roll(4), dice() % 4 == 0 ? roll(9) : kai::unlimited}).value();
        shares.set_fair_share(queue, r, dice() % 8 == 0 ? kai::unlimited : roll(6)).value();
        shares.set_load(queue, r, {9, allocated, std::min(allocated, roll(3))}).value();
      }
    for (int question = 0; question < 4; ++question) {
      const std::vector<double> request{roll(3), roll(3)};
      const kai::reclaimer by{static_cast<queue_index>(dice() % names.size()), request, dice() % 4 != 0};
      std::vector<std::vector<double>> held(1 + dice() % 3);
      std::vector<kai::reclaimee> victims;
      for (auto& amounts : held) {
        amounts = {roll(3), roll(2)};
        victims.push_back({static_cast<queue_index>(dice() % names.size()), amounts});
      }
      const double multiplier = dice() % 2 == 0 ? 1 : 1.5;
      const bool expected = reference(shares, by, victims, multiplier);
      REQUIRE(may_reclaim(shares, by, victims, plan, multiplier) == expected);
      ++(expected ? allowed : refused);
    }
  }
  CHECK(allowed > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("what was reclaimed cannot be reclaimed back by the one that lost it last") {
  std::size_t reclaimed = 0;
  kai::reclaim_plan plan;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    std::mt19937 dice{seed};
    const auto roll = [&](unsigned below) { return static_cast<double>(dice() % below); };
    queue_shares shares{queue_tree::make(std::vector<queue_link>{{"a"}, {"b"}, {"c"}}).value(), 2};
    for (std::size_t r = 0; r < 2; ++r) shares.set_total(r, 12).value();
    for (queue_index queue = 0; queue < 3; ++queue)
      for (std::size_t r = 0; r < 2; ++r) {
        shares.set_quota(queue, r, {roll(6), kai::unlimited, roll(3)}).value();
        shares.set_load(queue, r, {14, roll(9)}).value();
      }
    shares.divide();
    const std::vector<double> request{1 + roll(3), roll(3)}, first{1 + roll(3), roll(3)}, second{1 + roll(3), roll(3)};
    const kai::reclaimer by{0, request};
    const std::vector<kai::reclaimee> victims{{1, first}, {static_cast<queue_index>(1 + dice() % 2), second}};
    if (!can_reclaim(shares, by) || !may_reclaim(shares, by, victims, plan)) continue;
    ++reclaimed;
    shares.allocate(0, request, true);
    for (const kai::reclaimee& victim : victims) shares.release(victim.queue, victim.held, true);
    const kai::reclaimer back{victims.back().queue, victims.back().held};
    REQUIRE_FALSE(may_reclaim(shares, back, std::vector<kai::reclaimee>{{0, request}}, plan));
  }
  CHECK(reclaimed > 500);
}

}  // namespace gangsched::testing::kai_reclaim_test
