#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "fair_share_worlds.hpp"
#include "gangsched/queues/fair_share/reclaim.hpp"
#include "gangsched/queues/fair_share/turns.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::fair_share_reclaim_test {

using namespace fair_share_worlds;
using units = std::vector<std::uint32_t>;

namespace {

struct job {
  queue_index queue = no_queue;
  amounts needs = {};
  std::int32_t priority = 0;
  std::uint64_t arrival = 0;
  bool runs = false;
  instant start{};
  bool spared_by_own = false, spared_by_others = false;
  own_victims own = own_victims::lower_priority;
  others_victims others = others_victims::any;
  std::int64_t lost_work = 0;
};

/// Jobs that run or wait, of which only the sum counts: no nodes.
struct world {
  world(queue_tree tree, const std::vector<queue_terms>& terms, amounts there)
      : capacity(std::move(there)),
        shares(fair_shares::make(std::move(tree), capacity.size(), terms).value()),
        now(shares.tree(), capacity.size()) {
    for (std::size_t i = 0; i < capacity.size(); ++i) shares.set_capacity(i, capacity[i]).value();
  }
  std::uint32_t add(job one) {
    one.arrival = jobs.size();
    for (std::size_t i = 0; i < capacity.size(); ++i)
      shares.set_requested(one.queue, i, shares.requested(one.queue, i) + one.needs[i]).value();
    shares.divide();
    jobs.push_back(std::move(one));
    return static_cast<std::uint32_t>(jobs.size() - 1);
  }
  void start(std::uint32_t which) {
    jobs[which].runs = true;
    jobs[which].start = instant{++clock};
    now.start(jobs[which].queue, jobs[which].needs);
  }
  void end(std::uint32_t which) {
    jobs[which].runs = false;
    now.end(jobs[which].queue, jobs[which].needs);
  }
  /// Running jobs as units; who[i] is the job of unit i.
  void collect() {
    running.clear();
    who.clear();
    for (std::uint32_t i = 0; i < jobs.size(); ++i) {
      const job& one = jobs[i];
      if (!one.runs) continue;
      running.push_back({one.queue, one.needs, one.priority, one.arrival, one.lost_work, one.start, one.spared_by_own,
                         one.spared_by_others});
      who.push_back(i);
    }
  }
  void begin(const job& for_whom) {
    collect();
    plan.begin(shares, now,
               {for_whom.queue, for_whom.needs, for_whom.priority, for_whom.arrival, for_whom.own, for_whom.others},
               running);
  }
  [[nodiscard]] std::int64_t free(std::size_t resource) const {
    std::int64_t left = capacity[resource];
    for (const queue_index root : shares.tree().roots()) left -= now.used(root, resource);
    return left;
  }
  [[nodiscard]] bool fits(const job& one) const {
    for (std::size_t i = 0; i < capacity.size(); ++i)
      if (free(i) < one.needs[i]) return false;
    return true;
  }
  /// Takes as many in order as it has to, and puts those back that need not go. Nobody if that does not help.
  std::optional<units> reclaim(std::uint32_t which) {
    begin(jobs[which]);
    amounts missing;
    for (std::size_t i = 0; i < capacity.size(); ++i) missing.push_back(jobs[which].needs[i] - free(i));
    units taken;
    const auto enough = [&] { return std::ranges::all_of(missing, [](std::int64_t one) { return one <= 0; }); };
    while (!enough()) {
      const std::optional<std::uint32_t> unit = plan.take_next();
      if (!unit) return std::nullopt;
      taken.push_back(*unit);
      for (std::size_t i = 0; i < missing.size(); ++i) missing[i] -= running[*unit].amounts[i];
    }
    units gone;
    for (auto unit = taken.rbegin(); unit != taken.rend(); ++unit) {
      const std::span<const std::int64_t> held = running[*unit].amounts;
      bool needless = true;
      for (std::size_t i = 0; i < missing.size(); ++i) needless = needless && missing[i] + held[i] <= 0;
      if (needless) plan.give_back(*unit);
      if (needless)
        for (std::size_t i = 0; i < missing.size(); ++i) missing[i] += held[i];
      else
        gone.push_back(who[*unit]);
    }
    return gone;
  }
  /// By queue: of its jobs, the most important first, whether each runs and is covered; or whether it runs.
  [[nodiscard]] std::vector<std::vector<bool>> words(bool are_covered = true) const {
    std::vector<std::uint32_t> order(jobs.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return jobs[a].priority > jobs[b].priority; });
    std::vector<std::vector<bool>> made(shares.tree().size());
    std::vector<amounts> room(shares.tree().size());
    for (queue_index queue = 0; queue < room.size(); ++queue)
      for (std::size_t i = 0; i < capacity.size(); ++i) room[queue].push_back(shares.due(queue, i));
    for (const std::uint32_t which : order) {
      const job& one = jobs[which];
      bool covered = one.runs;
      for (std::size_t i = 0; i < capacity.size(); ++i) covered = covered && one.needs[i] <= room[one.queue][i];
      for (std::size_t i = 0; covered && i < capacity.size(); ++i) room[one.queue][i] -= one.needs[i];
      made[one.queue].push_back(are_covered ? covered : one.runs);
    }
    return made;
  }
  /// Whether the job would be within what its queue is due.
  [[nodiscard]] bool is_due(const job& one) const {
    for (std::size_t i = 0; i < capacity.size(); ++i)
      if (one.needs[i] > 0 && now.used(one.queue, i) + one.needs[i] > shares.due(one.queue, i)) return false;
    return true;
  }

  amounts capacity;
  fair_shares shares;
  usage_counts now;
  std::vector<job> jobs;
  std::vector<running_unit> running;
  units who;
  reclaim_plan plan;
  std::int64_t clock = 0;
};

queue_tree tree_of(const std::vector<queue_link>& links) { return queue_tree::make(links).value(); }

/// Two teams, 40 % and 60 % of ten GPUs.
struct two_teams : world {
  two_teams() : world(tree_of({{"infer"}, {"train"}}), {{.guaranteed = {4}}, {.guaranteed = {6}}}, {10}) {}
  std::uint32_t run(queue_index queue, std::int64_t gpus, std::int32_t priority = 0) {
    const std::uint32_t made = add({.queue = queue, .needs = {gpus}, .priority = priority});
    start(made);
    return made;
  }
  std::uint32_t wait(queue_index queue, std::int64_t gpus, std::int32_t priority = 0) {
    return add({.queue = queue, .needs = {gpus}, .priority = priority});
  }
};

/// The rules once more, everything counted anew for each victim.
struct plain_plan {
  const world& w;
  const job& who;
  std::vector<bool> taken = std::vector<bool>(w.running.size());

  [[nodiscard]] std::int64_t left(queue_index queue, std::size_t resource) const {
    std::int64_t used = 0;
    for (std::size_t i = 0; i < taken.size(); ++i)
      if (!taken[i] && w.shares.tree().is_within(w.running[i].queue, queue)) used += w.running[i].amounts[resource];
    return used;
  }
  [[nodiscard]] bool covered(std::size_t unit) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < taken.size(); ++i)
      if (w.running[i].queue == w.running[unit].queue) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return w.running[a].priority > w.running[b].priority; });
    amounts used(w.capacity.size());
    for (const std::size_t i : order) {
      bool fits = true;
      for (std::size_t r = 0; r < used.size(); ++r)
        fits = fits && used[r] + w.running[i].amounts[r] <= w.shares.due(w.running[i].queue, r);
      if (i == unit) return fits;
      for (std::size_t r = 0; fits && r < used.size(); ++r) used[r] += w.running[i].amounts[r];
    }
    return false;
  }
  [[nodiscard]] bool own(std::size_t unit) const { return w.running[unit].queue == who.queue; }
  /// Whether the preemptor would be, in the place of who is less important.
  [[nodiscard]] bool who_covered() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const running_unit& one = w.running[i];
      const bool first = one.priority > who.priority || (one.priority == who.priority && one.arrival < who.arrival);
      if (own(i) && first) order.push_back(i);
    }
    amounts left = who.needs;
    for (const std::size_t i : order)
      for (std::size_t r = 0; covered(i) && r < left.size(); ++r) left[r] += w.running[i].amounts[r];
    bool fits = true;
    for (std::size_t r = 0; r < left.size(); ++r) fits = fits && left[r] <= w.shares.due(who.queue, r);
    return fits;
  }
  [[nodiscard]] bool is_due() const {
    for (std::size_t r = 0; r < w.capacity.size(); ++r)
      if (who.needs[r] > 0 && left(who.queue, r) + who.needs[r] > w.shares.due(who.queue, r)) return false;
    return true;
  }
  [[nodiscard]] bool allowed(std::size_t unit) const {
    const running_unit& one = w.running[unit];
    if (taken[unit]) return false;
    if (own(unit)) {
      if (one.spared_by_own || who.own == own_victims::never || (covered(unit) && !who_covered())) return false;
      const bool newer = who.own == own_victims::lower_or_newer_equal_priority && one.arrival > who.arrival;
      return one.priority < who.priority || (newer && one.priority == who.priority);
    }
    if (one.spared_by_others || who.others == others_victims::never || covered(unit) || !is_due()) return false;
    if (who.others == others_victims::lower_priority && one.priority >= who.priority) return false;
    const queue_tree& tree = w.shares.tree();
    const queue_index both = tree.common_ancestor(one.queue, who.queue);
    for (std::size_t r = 0; r < w.capacity.size(); ++r) {
      bool may = who.needs[r] > 0 && one.amounts[r] > 0;
      for (queue_index up = who.queue; up != both; up = tree.parent(up))
        may = may && left(up, r) + who.needs[r] <= w.shares.due(up, r);
      for (queue_index up = one.queue; up != both; up = tree.parent(up)) may = may && left(up, r) > w.shares.due(up, r);
      if (may) return true;
    }
    return false;
  }
  /// How much of its due a queue has, as a fraction.
  [[nodiscard]] saturation part(queue_index queue) const {
    saturation most;
    for (std::size_t r = 0; r < w.capacity.size(); ++r) {
      const saturation one{left(queue, r), w.shares.due(queue, r)};
      if (one.used > 0 && (one.due < w.shares.requested(queue, r) || one.used > one.due) && most.less_than(one))
        most = one;
    }
    return most;
  }
  [[nodiscard]] std::vector<queue_index> path(queue_index queue) const {
    std::vector<queue_index> made;
    for (; queue != no_queue; queue = w.shares.tree().parent(queue)) made.insert(made.begin(), queue);
    return made;
  }
  /// Whether a goes before b. Both allowed.
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const {
    const running_unit &x = w.running[a], &y = w.running[b];
    if (own(a) != own(b)) return !own(a);
    const queue_tree& tree = w.shares.tree();
    const auto near = [&](const running_unit& one) {
      const queue_index both = tree.common_ancestor(one.queue, who.queue);
      return both == no_queue ? 0 : tree.depth(both) + 1;
    };
    if (near(x) != near(y)) return near(x) < near(y);
    if (x.queue != y.queue) {
      const std::vector<queue_index> left_path = path(x.queue), right_path = path(y.queue);
      std::size_t at = 0;
      while (left_path[at] == right_path[at]) ++at;
      const saturation left_part = part(left_path[at]), right_part = part(right_path[at]);
      if (right_part.less_than(left_part)) return true;
      if (left_part.less_than(right_part)) return false;
      return left_path[at] < right_path[at];
    }
    if (x.priority != y.priority) return x.priority < y.priority;
    if (x.lost_work != y.lost_work) return x.lost_work < y.lost_work;
    return x.start > y.start;
  }
  std::optional<std::uint32_t> take_next() {
    std::optional<std::uint32_t> best;
    for (std::uint32_t i = 0; i < taken.size(); ++i)
      if (allowed(i) && (!best || before(i, *best))) best = i;
    if (best) taken[*best] = true;
    return best;
  }
};

struct random_world {
  explicit random_world(dice& roll, std::size_t most_queues)
      : capacity(1 + roll.below(2)),
        w([&] {
          for (std::int64_t& one : capacity) one = roll.between(4, 24);
          random_tree made = make_tree(roll, 1 + roll.below(most_queues), capacity, roll.percent(10));
          return world{std::move(made.tree), made.terms, capacity};
        }()),
        leaves(leaves_of(w.shares.tree())) {}
  void add(dice& roll, bool plain) {
    job one{.queue = roll.of(leaves)};
    for (const std::int64_t there : capacity)
      one.needs.push_back(
          roll.percent(20) ? 0 : roll.between(1, std::max<std::int64_t>(1, there / (roll.percent(70) ? 4 : 1))));
    one.priority = static_cast<std::int32_t>(roll.below(3));
    if (!plain) {
      one.spared_by_own = roll.percent(10);
      one.spared_by_others = roll.percent(10);
      one.own = static_cast<own_victims>(roll.below(3));
      one.others = static_cast<others_victims>(roll.below(3));
      one.lost_work = static_cast<std::int64_t>(roll.below(3));
    }
    w.add(std::move(one));
  }
  amounts capacity;
  world w;
  std::vector<queue_index> leaves;
};

}  // namespace

TEST_CASE("the owner has its guarantee back from who borrowed it, the least important first") {
  two_teams w;
  for (int i = 0; i < 4; ++i) w.run(0, 1);
  const std::uint32_t low = w.run(0, 2, -1), late = w.run(0, 4);
  const std::uint32_t back = w.wait(1, 5);
  CHECK(w.reclaim(back).value() == units{late, low});
  w.end(late);
  w.end(low);
  w.start(back);
  CHECK_FALSE(w.reclaim(low));
  CHECK_FALSE(w.reclaim(late));
  const std::uint32_t more = w.wait(1, 2);  // 7 of 6
  CHECK_FALSE(w.reclaim(more));
}

TEST_CASE("who need not go stays, and a job that is more than its queue is due takes nothing from others") {
  two_teams w;
  const std::uint32_t small = w.run(0, 1), large = w.run(0, 8);
  const std::uint32_t back = w.wait(1, 3);
  CHECK(w.reclaim(back).value() == units{large});
  CHECK(w.jobs[small].runs);
  CHECK_FALSE(w.reclaim(w.wait(1, 7)));
}

TEST_CASE("without guarantees the parts are those of weights, and who has more gives it back") {
  world w{tree_of({{"a"}, {"b"}}), {{}, {.weight = 2 * weight_unit}}, {9}};
  units first;
  for (int i = 0; i < 9; ++i) {
    first.push_back(w.add({.queue = 0, .needs = {1}}));
    w.start(first.back());
  }
  std::size_t gone = 0;
  for (int i = 0; i < 9; ++i) {
    const std::uint32_t one = w.add({.queue = 1, .needs = {1}});
    const std::optional<units> victims = w.reclaim(one);
    if (!victims) continue;
    for (const std::uint32_t victim : *victims) w.end(victim);
    w.start(one);
    gone += victims->size();
  }
  CHECK(gone == 6);
  CHECK(w.now.used(0, 0) == 3);
  CHECK(w.now.used(1, 0) == 6);
}

TEST_CASE(
    "a branch is helped by its own borrowers before it takes from others, and a branch within its due gives nothing") {
  world w{tree_of({{"org"}, {"a", "org"}, {"b", "org"}, {"lab"}}), {{}, {}, {}, {}}, {16}};
  const std::uint32_t borrowed = w.add({.queue = 2, .needs = {4}});
  w.add({.queue = 2, .needs = {4}});
  for (int i = 0; i < 4; ++i) w.add({.queue = 3, .needs = {2}});
  for (std::uint32_t i = 0; i < w.jobs.size(); ++i) w.start(i);
  const std::uint32_t mine = w.add({.queue = 1, .needs = {4}});
  w.add({.queue = 3, .needs = {9}});
  CHECK(w.reclaim(mine).value() == units{borrowed + 1});
}

TEST_CASE("what is spared is not taken, nor is a higher priority where the queue says so") {
  two_teams w;
  w.run(0, 5);
  const std::uint32_t second = w.run(0, 5), back = w.wait(1, 3);
  CHECK(w.reclaim(back).value() == units{second});
  w.jobs[back].others = others_victims::lower_priority;
  CHECK_FALSE(w.reclaim(back));
  w.jobs[back].priority = 1;
  CHECK(w.reclaim(back).value() == units{second});
  w.jobs[second].spared_by_others = true;
  CHECK_FALSE(w.reclaim(back));
  w.jobs[second].spared_by_others = false;
  w.jobs[back].others = others_victims::never;
  CHECK_FALSE(w.reclaim(back));
}

TEST_CASE("in its own queue a job takes by priority, and by age where the queue says so") {
  two_teams w;
  const std::uint32_t old_one = w.run(1, 6);
  const std::uint32_t equal = w.wait(1, 6), above = w.wait(1, 6, 1);
  w.run(0, 4);
  CHECK_FALSE(w.reclaim(equal));
  CHECK(w.reclaim(above).value() == units{old_one});
  w.end(old_one);
  w.start(equal);
  w.jobs[old_one].own = own_victims::lower_or_newer_equal_priority;
  CHECK(w.reclaim(old_one).value() == units{equal});
  w.jobs[equal].spared_by_own = true;
  CHECK_FALSE(w.reclaim(old_one));
}

TEST_CASE("victims come in the same order as by the rules without any memory") {
  std::size_t victims = 0, from_others = 0, plans = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    dice roll{seed};
    random_world made{roll, 9};
    world& w = made.w;
    const std::size_t count = 2 + roll.below(14);
    for (std::size_t i = 0; i < count; ++i) made.add(roll, false);
    for (std::uint32_t i = 0; i < count; ++i)
      if (roll.percent(80) && w.fits(w.jobs[i])) w.start(i);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (w.jobs[i].runs) continue;
      w.begin(w.jobs[i]);
      plain_plan plain{w, w.jobs[i]};
      ++plans;
      while (true) {
        for (std::uint32_t unit = 0; unit < w.running.size(); ++unit) {
          CAPTURE(seed, i, unit);
          REQUIRE(w.plan.may_take(unit) == plain.allowed(unit));
        }
        const std::optional<std::uint32_t> next = w.plan.take_next(), expected = plain.take_next();
        CAPTURE(seed, i, next.value_or(99), expected.value_or(99));
        REQUIRE(next == expected);
        if (!next) break;
        ++victims;
        from_others += w.running[*next].queue != w.jobs[i].queue ? 1 : 0;
      }
    }
  }
  CHECK(plans > 20'000);
  CHECK(victims > 10'000);
  CHECK(from_others > 2'000);
}

TEST_CASE("nobody wins back what was reclaimed, and everybody gets what it is due in finitely many steps") {
  std::size_t reclaims = 0, starts = 0, asked_back = 0, satisfied = 0;
  for (std::uint64_t seed = 0; seed < 100'000; ++seed) {
    dice roll{seed};
    random_world made{roll, 6};
    world& w = made.w;
    const std::size_t count = 3 + roll.below(9);
    for (std::size_t i = 0; i < count; ++i) made.add(roll, true);
    for (job& one : w.jobs) one.own = own_victims::never;  // its own queue's priorities are another matter
    auto words = w.words();
    units order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t quiet = 0, steps = 0; quiet < count; ++steps) {
      REQUIRE(steps < 10'000);
      if (quiet == 0)  // whoever likes goes next
        for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[roll.below(i)]);
      const std::uint32_t which = order[quiet];
      if (w.jobs[which].runs || (!w.fits(w.jobs[which]) && !w.is_due(w.jobs[which]))) {
        ++quiet;
        continue;
      }
      CAPTURE(seed, steps, which);
      const bool free = w.fits(w.jobs[which]);
      const std::optional<units> victims = free ? units{} : w.reclaim(which);
      REQUIRE(victims);  // what is due is had at once
      for (const std::uint32_t victim : *victims) w.end(victim);
      REQUIRE(w.fits(w.jobs[which]));
      w.start(which);
      quiet = 0;
      ++(free ? starts : reclaims);
      auto after = w.words();
      for (std::size_t queue = 0; queue < words.size(); ++queue) REQUIRE(after[queue] >= words[queue]);
      if (!free) {
        REQUIRE(after != words);
        for (const std::uint32_t victim : *victims) {
          w.begin(w.jobs[victim]);
          const auto unit = static_cast<std::uint32_t>(std::find(w.who.begin(), w.who.end(), which) - w.who.begin());
          REQUIRE_FALSE(w.plan.may_take(unit));
          ++asked_back;
        }
      }
      words = std::move(after);
    }
    for (const job& one : w.jobs) {
      if (one.runs) continue;
      REQUIRE_FALSE(w.is_due(one));
      ++satisfied;
    }
  }
  CHECK(starts > 300'000);
  CHECK(reclaims > 20'000);
  CHECK(asked_back > 20'000);
  CHECK(satisfied > 100'000);
}

TEST_CASE(
    "priorities within queues, sizes and borrowing together come to rest, too, and each eviction is a step there") {
  std::size_t preemptions = 0, swaps = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    dice roll{seed};
    random_world made{roll, 5};
    world& w = made.w;
    const std::size_t count = 3 + roll.below(9);
    for (std::size_t i = 0; i < count; ++i) made.add(roll, false);
    units order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t quiet = 0, steps = 0; quiet < count; ++steps) {
      CAPTURE(seed);
      REQUIRE(steps < 10'000);
      if (quiet == 0)
        for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[roll.below(i)]);
      const std::uint32_t which = order[quiet++];
      if (w.jobs[which].runs) continue;
      const std::optional<units> victims = w.fits(w.jobs[which]) ? units{} : w.reclaim(which);
      if (!victims) continue;
      const auto covered = w.words(), running = w.words(false);
      for (const std::uint32_t victim : *victims) w.end(victim);
      w.start(which);
      const auto covered_then = w.words(), running_then = w.words(false);
      for (std::size_t queue = 0; queue < covered.size(); ++queue) REQUIRE(covered_then[queue] >= covered[queue]);
      if (!victims->empty() && covered_then == covered) {
        ++swaps;
        for (std::size_t queue = 0; queue < covered.size(); ++queue)
          REQUIRE((queue == w.jobs[which].queue ? running_then[queue] > running[queue]
                                                : running_then[queue] == running[queue]));
      }
      preemptions += victims->size();
      quiet = 0;
    }
  }
  CHECK(preemptions > 10'000);
  CHECK(swaps > 100);
}

}  // namespace gangsched::testing::fair_share_reclaim_test
