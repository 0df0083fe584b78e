#include <array>
#include <chrono>
#include <vector>

#include "fair_share_worlds.hpp"
#include "gangsched/queues/fair_share/turns.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::fair_share_turns_test {

using namespace fair_share_worlds;
using namespace std::chrono_literals;

namespace {

struct world {
  world(const std::vector<queue_link>& links, const std::vector<queue_terms>& terms, const amounts& capacity)
      : shares(fair_shares::make(queue_tree::make(links).value(), capacity.size(), terms).value()),
        now(shares.tree(), capacity.size()) {
    for (std::size_t i = 0; i < capacity.size(); ++i) shares.set_capacity(i, capacity[i]).value();
  }
  void ask(queue_index queue, const amounts& requested) {
    for (std::size_t i = 0; i < requested.size(); ++i) shares.set_requested(queue, i, requested[i]).value();
    shares.divide();
  }
  [[nodiscard]] bool first(const turn& a, const turn& b) const { return goes_first(shares, a, b, now, 10min); }
  fair_shares shares;
  usage_counts now;
};

}  // namespace

TEST_CASE("who uses the smaller part of what it is due goes first, by the resource of which that is most") {
  world w{{{"a"}, {"b"}}, {{}, {.weight = 3 * weight_unit}}, {8, 100}};
  w.ask(0, {20, 10});
  w.ask(1, {20, 10});
  CHECK_FALSE(w.first({0}, {1}));
  CHECK_FALSE(w.first({1}, {0}));
  w.now.start(0, amounts{1, 9});
  CHECK(w.first({1}, {0}));  // 0 of 6 before 1 of 2; there is enough of the other resource
  w.now.start(1, amounts{4, 0});
  CHECK(w.first({0}, {1}));
}

TEST_CASE("who asks for no more than its part goes before those who have to wait for theirs") {
  world w{{{"a"}, {"b"}, {"c"}}, {{}, {}, {}}, {9}};
  w.ask(0, {2});
  w.ask(1, {20});
  w.ask(2, {20});
  w.now.start(0, amounts{1});
  w.now.start(1, amounts{1});
  CHECK(w.first({0}, {1}));
  CHECK_FALSE(w.first({2}, {0}));
}

TEST_CASE("branches are compared before the queues below them") {
  world w{{{"org"}, {"a", "org"}, {"b", "org"}, {"lab"}}, {{}, {}, {}, {}}, {16}};
  w.ask(1, {20});
  w.ask(2, {20});
  w.ask(3, {20});
  w.now.start(1, amounts{4});
  w.now.start(3, amounts{3});
  CHECK(w.first({3}, {2}));  // 3 of 8 before 4 of 8, though b has nothing
  CHECK(w.first({2}, {1}));
}

TEST_CASE("below its due a queue goes before those that are not, whatever the priorities") {
  world w{{{"a"}, {"b"}}, {{.priority = 5}, {}}, {8}};
  w.ask(0, {20});
  w.ask(1, {20});
  CHECK(w.first({0}, {1}));
  w.now.start(0, amounts{3});
  CHECK(w.first({0}, {1}));
  w.now.start(0, amounts{1});
  CHECK(w.first({1}, {0}));
}

TEST_CASE("a priority is a head start, which waiting makes up for by weight, and no more than that") {
  world w{{{"a"}, {"b"}}, {{.priority = 2}, {.weight = 2 * weight_unit}}, {9}};
  w.ask(0, {20});
  w.ask(1, {20});
  w.now.start(0, amounts{1});
  CHECK(w.first({0, 0min}, {1, 9min}));
  CHECK(w.first({1, 10min}, {0, 0min}));  // two steps: then 0 of 6 goes before 1 of 3
  w.now.start(1, amounts{4});
  CHECK(w.first({0, 0min}, {1, 1000min}));  // caught up, and not ahead
}

TEST_CASE("the order of heads is a strict weak order") {
  std::size_t ordered = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    dice roll{seed};
    const amounts capacity{roll.between(1, 30), roll.between(1, 30)};
    const random_tree made = make_tree(roll, 2 + roll.below(8), capacity);
    fair_shares shares = fair_shares::make(made.tree, 2, made.terms).value();
    usage_counts now{made.tree, 2};
    const std::vector<queue_index> leaves = leaves_of(made.tree);
    for (std::size_t i = 0; i < 2; ++i) shares.set_capacity(i, capacity[i]).value();
    std::vector<turn> heads;
    for (const queue_index queue : leaves) {
      const amounts used{roll.between(0, 8), roll.between(0, 8)};
      now.start(queue, used);
      for (std::size_t i = 0; i < 2; ++i) shares.set_requested(queue, i, used[i] + roll.between(0, 12)).value();
      for (int i = 0; i < 2; ++i) heads.push_back({queue, std::chrono::minutes{roll.between(0, 40)}});
    }
    shares.divide();
    const auto before = [&](const turn& a, const turn& b) { return goes_first(shares, a, b, now, 10min); };
    const auto same = [&](const turn& a, const turn& b) { return !before(a, b) && !before(b, a); };
    for (const turn& a : heads) {
      REQUIRE_FALSE(before(a, a));
      for (const turn& b : heads) {
        if (before(a, b)) ++ordered;
        if (before(a, b)) REQUIRE_FALSE(before(b, a));
        for (const turn& c : heads) {
          if (before(a, b) && before(b, c)) REQUIRE(before(a, c));
          if (same(a, b) && same(b, c)) REQUIRE(same(a, c));
        }
      }
    }
  }
  CHECK(ordered > 5'000);
}

TEST_CASE("parts that are known give the same turns as parts worked out each time") {
  std::size_t first = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice roll{seed};
    const amounts capacity{roll.between(1, 30), roll.between(1, 30)};
    const random_tree made = make_tree(roll, 2 + roll.below(30), capacity);
    fair_shares shares = fair_shares::make(made.tree, 2, made.terms).value();
    usage_counts now{made.tree, 2};
    const std::vector<queue_index> leaves = leaves_of(made.tree);
    for (std::size_t i = 0; i < 2; ++i) shares.set_capacity(i, capacity[i]).value();
    known_parts known;
    for (int step = 0; step < 20; ++step) {
      for (const queue_index queue : leaves) {
        if (!roll.percent(40)) continue;
        now.start(queue, amounts{roll.between(0, 8), roll.between(0, 8)});
        for (std::size_t i = 0; i < 2; ++i) shares.set_requested(queue, i, roll.between(0, 40)).value();
      }
      shares.divide();
      known.forget(made.tree.size());
      for (int i = 0; i < 20; ++i) {
        const auto head = [&] {
          return turn{leaves[roll.below(leaves.size())], std::chrono::minutes{roll.between(0, 40)}};
        };
        const turn a = head(), b = head();
        const bool plain = goes_first(shares, a, b, now, 10min);
        REQUIRE(goes_first(shares, a, b, now, known, 10min) == plain);
        first += plain ? 1 : 0;
      }
    }
  }
  CHECK(first > 20'000);
}

TEST_CASE("jobs of all queues get their turns: who goes first starts, and nobody waits for ever") {
  // Each round something ends, and who goes first of those whose job fits starts. Every queue asks for more than there is.
  std::size_t worlds = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    dice roll{seed};
    const std::size_t queues = 2 + roll.below(4);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < queues; ++i) names.push_back("q" + std::to_string(i));
    std::vector<queue_link> links;
    std::vector<queue_terms> terms(queues);
    for (std::size_t i = 0; i < queues; ++i) {
      links.push_back({names[i]});
      terms[i].weight = weight_unit * roll.between(1, 4);
      terms[i].priority = static_cast<std::int32_t>(roll.between(0, 3));
    }
    const std::int64_t capacity = roll.between(20, 60);
    world w{links, terms, {capacity}};
    for (queue_index queue = 0; queue < queues; ++queue) w.ask(queue, {1000});
    struct job {
      queue_index queue;
      int ends;
    };
    std::vector<job> running;
    std::vector<int> waits_since(queues, 0);
    std::vector<std::int64_t> used_in_all(queues, 0);
    int longest = 0;
    for (int minute = 0; minute < 2000; ++minute) {
      std::erase_if(running, [&](const job& one) {
        if (one.ends <= minute) w.now.end(one.queue, amounts{1});
        return one.ends <= minute;
      });
      while (running.size() < static_cast<std::size_t>(capacity)) {
        turn best{0, std::chrono::minutes{minute - waits_since[0]}};
        for (queue_index queue = 1; queue < queues; ++queue) {
          const turn other{queue, std::chrono::minutes{minute - waits_since[queue]}};
          if (w.first(other, best)) best = other;
        }
        longest = std::max(longest, minute - waits_since[best.queue]);
        waits_since[best.queue] = minute;
        w.now.start(best.queue, amounts{1});
        running.push_back({best.queue, minute + static_cast<int>(roll.between(1, 10))});
      }
      for (queue_index queue = 0; queue < queues; ++queue) used_in_all[queue] += w.now.used(queue, 0);
    }
    for (queue_index queue = 0; queue < queues; ++queue) {
      CAPTURE(seed, queue);
      const std::int64_t due = w.shares.due(queue, 0) * 2000;
      REQUIRE(used_in_all[queue] * 100 > due * 90);
      REQUIRE(used_in_all[queue] * 100 < due * 110);
      REQUIRE(2000 - waits_since[queue] <= 60);
    }
    REQUIRE(longest <= 60);
    ++worlds;
  }
  CHECK(worlds == 200);
}

}  // namespace gangsched::testing::fair_share_turns_test
