#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "fair_share_worlds.hpp"
#include "gangsched/queues/fair_share/fair_shares.hpp"
#include "gangsched/queues/fair_share/quota_check.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::fair_share_shares_test {

using namespace fair_share_worlds;
__extension__ using wide = __int128;

namespace {

struct world {
  world(const std::vector<queue_link>& links, const std::vector<queue_terms>& terms, std::int64_t capacity)
      : shares(fair_shares::make(queue_tree::make(links).value(), 1, terms).value()), now(shares.tree(), 1) {
    shares.set_capacity(0, capacity).value();
  }
  amounts due(const amounts& requested) {
    for (queue_index queue = 0; queue < requested.size(); ++queue)
      if (shares.tree().is_leaf(queue)) shares.set_requested(queue, 0, requested[queue]).value();
    shares.divide();
    amounts made;
    for (queue_index queue = 0; queue < requested.size(); ++queue) made.push_back(shares.due(queue, 0));
    return made;
  }
  void start(queue_index queue, std::int64_t amount) { now.start(queue, amounts{amount}); }
  [[nodiscard]] quota_verdict check(queue_index queue, std::int64_t amount) const {
    return check_quota(shares, queue, amounts{amount}, now);
  }
  [[nodiscard]] std::string said(queue_index queue, std::int64_t amount) const {
    const std::vector<std::string_view> names{"GPUs"};
    return explain(shares, check(queue, amount), names, now);
  }
  fair_shares shares;
  usage_counts now;
};

std::int64_t named_or(const amounts& list, std::size_t at, std::int64_t otherwise) {
  return at < list.size() && is_named(list[at]) ? list[at] : otherwise;
}

/// The rules once more, with exact fractions and nothing remembered.
struct reference {
  const queue_tree& tree;
  const std::vector<queue_terms>& terms;
  std::size_t resource;
  const amounts& requested;
  amounts due = amounts(tree.size());

  [[nodiscard]] std::int64_t own(queue_index queue) const { return named_or(terms[queue].guaranteed, resource, 0); }
  [[nodiscard]] std::int64_t guaranteed(queue_index queue) const {
    std::int64_t below = 0;
    for (const queue_index child : tree.children(queue)) below += guaranteed(child);
    return std::max(own(queue), below);
  }
  [[nodiscard]] std::int64_t kept(queue_index queue) const {
    std::int64_t below = 0;
    for (const queue_index child : tree.children(queue)) below += kept(child);
    return std::max(below,
                    own(queue) - std::min(own(queue), named_or(terms[queue].lending_limit, resource, own(queue))));
  }
  [[nodiscard]] std::int64_t most(queue_index queue) const {
    const std::int64_t none = largest_amount * 2;
    return std::min(named_or(terms[queue].limit, resource, none),
                    guaranteed(queue) + named_or(terms[queue].borrowing_limit, resource, none));
  }
  [[nodiscard]] std::int64_t weight(queue_index queue) const {
    return named_or(terms[queue].weights, resource, terms[queue].weight);
  }
  [[nodiscard]] std::int64_t asks(queue_index queue) const {
    if (tree.is_leaf(queue)) return requested[queue];
    std::int64_t below = 0;
    for (const queue_index child : tree.children(queue)) below += high(child);
    return below;
  }
  [[nodiscard]] std::int64_t low(queue_index queue) const {
    std::int64_t lows = 0;
    for (const queue_index child : tree.children(queue)) lows += low(child);
    return std::min(most(queue), std::max(std::min(std::max(guaranteed(queue), lows), asks(queue)), kept(queue)));
  }
  [[nodiscard]] std::int64_t high(queue_index queue) const {
    return weight(queue) == 0 ? low(queue) : std::max(low(queue), std::min(asks(queue), most(queue)));
  }

  struct claim {
    queue_index queue;
    std::size_t place;
    std::int64_t high, weight;
  };
  /// Who asks for the least for its weight is served first; who is left has the weight's part of what is left.
  void fill(std::int64_t total, std::vector<claim> claims) {
    std::erase_if(claims, [](const claim& one) { return one.weight == 0 || one.high == 0; });
    std::stable_sort(claims.begin(), claims.end(),
                     [](const claim& a, const claim& b) { return wide{a.high} * b.weight < wide{b.high} * a.weight; });
    wide weights = 0;
    for (const claim& one : claims) weights += one.weight;
    auto one = claims.begin();
    for (; one != claims.end() && one->high * weights <= wide{total} * one->weight; ++one) {
      due[one->queue] += one->high;
      total -= one->high;
      weights -= one->weight;
    }
    std::vector<claim> rest{one, claims.end()};
    std::int64_t given = 0;
    for (const claim& open : rest) {
      const auto whole = static_cast<std::int64_t>(wide{total} * open.weight / weights);
      due[open.queue] += whole;
      given += whole;
    }
    std::sort(rest.begin(), rest.end(), [&](const claim& a, const claim& b) {
      const wide left = wide{total} * a.weight % weights, right = wide{total} * b.weight % weights;
      return left != right ? left > right : a.place < b.place;
    });
    for (std::size_t i = 0; !rest.empty() && given < total; ++i, ++given) ++due[rest[i].queue];
  }
  void level(std::int64_t total, std::span<const queue_index> members) {
    std::int64_t lows = 0;
    for (const queue_index queue : members) lows += low(queue);
    std::vector<claim> claims;
    for (const queue_index queue : members) {
      due[queue] = lows > total ? 0 : low(queue);
      const claim shrunk{queue, claims.size(), low(queue), low(queue)};
      const claim filled{queue, claims.size(), high(queue) - low(queue), weight(queue)};
      claims.push_back(lows > total ? shrunk : filled);
    }
    fill(lows > total ? total : total - lows, claims);
    for (const queue_index queue : members)
      if (!tree.is_leaf(queue)) level(due[queue], tree.children(queue));
  }
};

}  // namespace

TEST_CASE("a guarantee comes first, and what is left goes by weight as far as it is asked for") {
  world w{
      {{"infer"}, {"train"}, {"lab"}}, {{.guaranteed = {4}}, {.guaranteed = {2}, .weight = 3 * weight_unit}, {}}, 16};
  CHECK(w.due({20, 20, 20}) == amounts{6, 8, 2});
  CHECK(w.due({3, 20, 20}) == amounts{3, 10, 3});
  CHECK(w.due({3, 5, 1}) == amounts{3, 5, 1});
  CHECK(w.due({0, 20, 0}) == amounts{0, 16, 0});
}

TEST_CASE("limits end a share, and what a queue does not lend is its own whatever it asks for") {
  world w{{{"a"}, {"b"}, {"c"}},
          {{.guaranteed = {4}, .borrowing_limit = {1}}, {.guaranteed = {6}, .lending_limit = {2}}, {.limit = {3}}},
          20};
  CHECK(w.due({50, 0, 50}) == amounts{5, 4, 3});
  CHECK(w.due({50, 50, 50}) == amounts{5, 12, 3});
}

TEST_CASE("guarantees above what there is shrink in proportion") {
  world w{{{"a"}, {"b"}}, {{.guaranteed = {30}}, {.guaranteed = {10}}}, 20};
  CHECK(w.due({50, 50}) == amounts{15, 5});
}

TEST_CASE("a queue's share is divided among those below it, and it is guaranteed what they are") {
  world w{{{"org"}, {"a", "org"}, {"b", "org"}, {"other"}},
          {{.weight = 2 * weight_unit}, {.guaranteed = {4}}, {.weight = 3 * weight_unit}, {}},
          16};
  CHECK(w.due({0, 10, 10, 10}) == amounts{12, 6, 6, 4});
  CHECK(w.shares.guaranteed(0, 0) == 4);
  CHECK(w.shares.requested(0, 0) == 20);
}

TEST_CASE("terms and amounts are refused by queue, field and reason") {
  const auto failure = [](const std::vector<queue_terms>& terms, std::size_t resources = 1) {
    auto made =
        fair_shares::make(queue_tree::make(std::vector<queue_link>{{"a"}, {"b", "a"}}).value(), resources, terms);
    return made ? std::string{} : made.error().message();
  };
  CHECK(failure({{}, {}}).empty());
  CHECK(failure({{}}) == "fair shares: terms: 1 for a tree of 2");
  CHECK(failure({{}, {}}, 65) == "fair shares: resources: more than 64");
  CHECK(failure({{}, {.guaranteed = {3}, .limit = {2}}}) == "queue b: guaranteed: is above the limit");
  CHECK(failure({{.limit = {-1}}, {}}).starts_with("queue a: limit[0]: "));
  CHECK(failure({{.lending_limit = {1, 2}}, {}}).starts_with("queue a: lending_limit: "));
  CHECK(failure({{}, {.weight = -1}}) == "queue b: weight: -1 is not in 0 … 2^40");
  CHECK(failure({{}, {.most_running = -1}}) == "queue b: most_running: is negative");
  CHECK(failure({{.guaranteed = {largest_amount}}, {.guaranteed = {1}}}) ==
        "queue b: guaranteed: the sum is above 2^61");

  world w{{{"a"}, {"b", "a"}, {"c"}}, {{}, {}, {}}, 10};
  CHECK(w.shares.set_requested(0, 0, 1).error().message() ==
        "queue a: requested: it has children, whose requests are its own");
  CHECK(w.shares.set_requested(1, 0, -1).error().message() == "queue b: requested: -1 is not in 0 … 2^61");
  w.shares.set_requested(1, 0, largest_amount).value();
  CHECK(w.shares.set_requested(2, 0, 1).error().message() == "queue c: requested: the sum is above 2^61");
  CHECK(w.shares.set_capacity(0, -1).error().message() == "fair shares: capacity: -1 is not in 0 … 2^61");
  CHECK(w.shares.set_capacity(99'999'999, 1).error().message() ==
        "fair shares: resource: there is no resource 99999999");
  CHECK(w.shares.set_requested(99'999'999, 0, 1).error().message() == "fair shares: queue: there is no queue 99999999");
  CHECK(w.shares.set_requested(0, 99'999'999, 1).error().field == "requested");
  CHECK(w.shares.capacity(0) == 10);
}

TEST_CASE("shares are exactly those of fractions, in trees that change step by step") {
  std::size_t compared = 0, shrunk = 0, kept = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    dice roll{seed};
    const std::size_t resources = 1 + roll.below(2);
    amounts capacity;
    for (std::size_t i = 0; i < resources; ++i)
      capacity.push_back(roll.between(1, roll.percent(20) ? 1'000'000'007 : 60));
    const random_tree made = make_tree(roll, 1 + roll.below(12), capacity, roll.percent(20));
    fair_shares shares = fair_shares::make(made.tree, resources, made.terms).value();
    const std::vector<queue_index> leaves = leaves_of(made.tree);
    std::vector<amounts> requested(resources, amounts(made.tree.size()));
    for (std::size_t i = 0; i < resources; ++i) shares.set_capacity(i, capacity[i]).value();
    for (int step = 0; step < 12; ++step) {
      const std::size_t resource = roll.below(resources);
      if (roll.percent(10)) {
        capacity[resource] = roll.between(0, 80);
        shares.set_capacity(resource, capacity[resource]).value();
      } else {
        const queue_index queue = roll.of(leaves);
        requested[resource][queue] = roll.between(0, roll.percent(30) ? 5 : 2 * capacity[resource]);
        shares.set_requested(queue, resource, requested[resource][queue]).value();
      }
      if (roll.percent(40)) continue;
      shares.divide();
      for (std::size_t i = 0; i < resources; ++i) {
        reference plain{made.tree, made.terms, i, requested[i]};
        plain.level(capacity[i], made.tree.roots());
        std::int64_t lows = 0;
        for (const queue_index root : made.tree.roots()) lows += plain.low(root);
        shrunk += lows > capacity[i] ? 1 : 0;
        for (queue_index queue = 0; queue < made.tree.size(); ++queue) {
          CAPTURE(seed, step, i, queue);
          REQUIRE(shares.due(queue, i) == plain.due[queue]);
          REQUIRE(shares.kept(queue, i) == plain.kept(queue));
          kept += plain.kept(queue) > 0 ? 1 : 0;
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 150'000);
  CHECK(shrunk > 1'000);
  CHECK(kept > 5'000);
}

TEST_CASE("a job is refused by the lowest queue that may not have it, with how much would have to end") {
  world w{{{"org"}, {"a", "org"}, {"b", "org"}},
          {{.guaranteed = {6}, .limit = {10}}, {.guaranteed = {2}, .borrowing_limit = {4}}, {.guaranteed = {4}}},
          100};
  w.due({0, 20, 20});
  CHECK(w.check(1, 6).ok());
  quota_verdict no = w.check(1, 9);
  CHECK(no.why == refusal::over_limit);
  CHECK(no.queue == 1);
  CHECK(no.most == 6);
  CHECK(no.missing == 3);
  w.start(2, 8);
  no = w.check(1, 5);
  CHECK(no.queue == 0);
  CHECK(no.missing == 3);
  CHECK(w.said(1, 5) ==
        "queue org would use more GPUs than it may, 10: 3 would have to end; above what they are due: b by 2");
  CHECK(w.said(1, 1) == "quota lets it start");
}

TEST_CASE("closed queues and those that run as many jobs as they may admit nobody, also from above") {
  world w{{{"org"}, {"a", "org"}, {"shut"}}, {{.most_running = 1}, {}, {.admits = false}}, 10};
  CHECK(w.check(2, 0).why == refusal::closed);
  CHECK(w.said(2, 0) == "queue shut admits nobody");
  CHECK(w.check(1, 0).ok());
  w.start(1, 1);
  CHECK(w.check(1, 0).why == refusal::too_many);
  CHECK(w.said(1, 0) == "queue org runs as many jobs as it may, 1: 1 would have to end");
}

TEST_CASE("who borrows takes nothing that is kept for others, who is within its guarantee is not asked") {
  world w{{{"a"}, {"b"}, {"c"}, {"d", "c"}, {"e", "c"}},
          {{.guaranteed = {4}},
           {.guaranteed = {4}, .lending_limit = {1}},
           {},
           {.guaranteed = {2}, .lending_limit = {0}},
           {}},
          10};
  w.due({20, 0, 0, 0, 20});
  CHECK(w.check(0, 4).ok());
  CHECK(w.check(0, 5).ok());
  CHECK(w.check(0, 6).why == refusal::kept_for_others);
  CHECK(w.check(0, 6).missing == 1);
  w.start(4, 3);  // and d keeps its two beside them
  CHECK(w.check(0, 4).ok());
  CHECK(w.check(4, 2).ok());
  CHECK(w.check(4, 3).why == refusal::kept_for_others);
  CHECK(w.said(0, 6).starts_with("queue a would borrow GPUs that others keep: 4 would have to end"));
  w.start(1, 3);
  w.start(3, 2);
  CHECK(w.check(0, 2).ok());
}

}  // namespace gangsched::testing::fair_share_shares_test
