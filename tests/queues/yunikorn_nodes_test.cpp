#include "gangsched/queues/yunikorn/node_book.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "queues/yunikorn_units.hpp"
#include "support/catch.hpp"

// Nodes, reservations and back-off. The cases are those of YuniKorn's own tests (pkg/scheduler), with numbers of ours.
namespace gangsched::testing::yunikorn_nodes_test {

using namespace gangsched::queues;
using namespace gangsched::queues::yunikorn;
using namespace std::chrono_literals;

const std::vector<std::pair<resource_type, double>> both{{0, 1}, {1, 1}};

struct world {
  partition queues;
  node_book nodes;
  world(const std::vector<std::pair<std::string, queue_settings>>& with, const std::vector<resources>& capacities,
        node_book::options chosen)
      : queues(make(with, capacities)), nodes(queues, std::move(chosen)) {
    for (std::size_t i = 0; i < capacities.size(); ++i)
      nodes.add_node("node-" + std::to_string(i), capacities[i]).value();
  }
  static partition make(const std::vector<std::pair<std::string, queue_settings>>& with,
                        const std::vector<resources>& capacities) {
    std::vector<queue_link> links{{"root"}};
    std::vector<queue_settings> settings(1);
    for (const resources& one : capacities) settings[0].max += one;
    for (const auto& [name, its] : with) {
      links.push_back({name, "root"});
      settings.push_back(its);
    }
    return partition::make(queue_tree::make(links).value(), settings).value();
  }
  application_index application(queue_index queue) {
    return queues.add_application({.queue = queue, .user = "ann"}).value();
  }
  ask_index ask(application_index of, const resources& request, instant created = {}) {
    return queues.add_ask({.application = of, .request = request, .created = created}).value();
  }
  int run(instant now, cycle_outcome::kind what = cycle_outcome::kind::placed) {
    int made = 0;
    for (;;) {
      const cycle_outcome done = nodes.cycle(now);
      if (done.what == cycle_outcome::kind::nothing) return made;
      if (done.what == what) ++made;
    }
  }
};

TEST_CASE("case 8: an application with too many asks without a node backs off") {
  const auto make = [](std::uint32_t after) {
    return world{{{"root.default", {.backoff_after = after, .backoff = 30s}}},
                 {units(10), units(10)},
                 {.reservation_delay = instant::max()}};
  };
  world of = make(2);
  const application_index which = of.application(1);
  for (int i = 0; i < 3; ++i) of.ask(which, units(15));
  CHECK(of.run(5s) == 0);
  CHECK(of.queues.of(which).backs_off_until == 35s);
  const ask_index fits = of.ask(which, units(1), 1s);
  CHECK(of.run(34s) == 0);
  CHECK(of.queues.waits(fits));
  CHECK(of.run(35s) == 0);  // it is behind the three: two of them, and it backs off again
  CHECK(of.queues.of(which).backs_off_until == 65s);
  // Another application of the queue does not.
  of.ask(of.application(1), units(1));
  CHECK(of.run(36s) == 1);
  // Two alone are none too many, and without a threshold no number is.
  for (const std::uint32_t after : {2u, 0u}) {
    world other = make(after);
    const application_index its = other.application(1);
    for (std::uint32_t i = 0; i < (after == 0 ? 9u : after); ++i) other.ask(its, units(15));
    CHECK(other.run(5s) == 0);
    CHECK_FALSE(other.queues.of(its).backs_off_until);
  }
  // Asks over a quota do not count.
  world quota{{{"root.default", {.max = units(12), .backoff_after = 2}}},
              {units(10), units(10)},
              {.reservation_delay = instant::max()}};
  const application_index over = quota.application(1);
  for (int i = 0; i < 5; ++i) quota.ask(over, units(15));
  CHECK(quota.run(5s) == 0);
  CHECK_FALSE(quota.queues.of(over).backs_off_until);
}

TEST_CASE("an application that backs off without end is not tried again") {
  world of{{{"root.default", {.backoff_after = 1, .backoff = instant::max()}}},
           {units(10), units(10)},
           {.reservation_delay = instant::max()}};
  const application_index which = of.application(1);
  for (int i = 0; i < 2; ++i) of.ask(which, units(15));
  CHECK(of.run(5s) == 0);
  CHECK(of.queues.of(which).backs_off_until == instant::max());
  of.ask(which, units(1), -1s);  // before the others
  CHECK(of.run(6s) == 0);
}

TEST_CASE("case 22: a node's score is the mean of what is used, by weight") {
  const std::vector<std::pair<resource_type, double>> weights{{0, 4}, {1, 1}};
  booked_node node{"n", units(2000, 16000), units(1500, 4000)};
  CHECK(std::abs(node_score(node, weights, node_order::fair) - 0.35) < 1e-12);
  CHECK(std::abs(node_score(node, weights, node_order::binpacking) - 0.65) < 1e-12);
  node.available = units(500, 12000);
  CHECK(std::abs(node_score(node, weights, node_order::fair) - 0.65) < 1e-12);
  CHECK(std::abs(node_score(node, weights, node_order::binpacking) - 0.35) < 1e-12);
}

TEST_CASE("case 24: asks that fit no node reserve one each, and nothing is left of that when the application goes") {
  const resources node = units(50'000'000, 50'000), job = units(20'000'000, 20'000);
  world of{{{"root.default", {}}}, {node, node}, {.weights = both}};
  const application_index which = of.application(1);
  std::vector<ask_index> six;
  for (int i = 0; i < 6; ++i) six.push_back(of.ask(which, job));
  CHECK(of.run(1s) == 4);
  CHECK(of.nodes.reserved_by(six[4]) == none);  // too young
  CHECK(of.run(3s, cycle_outcome::kind::reserved) == 2);
  CHECK(of.nodes.reserved_by(six[4]) == 0);
  CHECK(of.nodes.reserved_by(six[5]) == 1);
  CHECK(of.run(4s) == 0);
  of.nodes.remove_application(which).value();
  for (const booked_node& one : of.nodes.nodes()) {
    CHECK(one.reserved_for == none);
    CHECK(same_amounts(one.available, one.capacity));
  }
  CHECK(is_zero(of.queues.usage(1).allocated));
  CHECK(is_zero(of.queues.usage(0).pending));
}

TEST_CASE("case 24: a reserved node is its ask's, which is tried first and may land elsewhere") {
  world of{{{"root.a", {}}, {"root.b", {}}}, {units(5), units(5)}, {.weights = both}};
  const application_index a = of.application(1), b = of.application(2);
  const ask_index large = of.ask(a, units(3)), other = of.ask(b, units(3), 1s);
  CHECK(of.run(2s) == 2);
  const ask_index waits = of.ask(a, units(3), 2s);
  CHECK(of.run(5s, cycle_outcome::kind::reserved) == 1);
  const node_number its = of.nodes.reserved_by(waits);
  REQUIRE(its != none);
  const ask_index small = of.ask(b, units(1), 5s);
  CHECK(of.run(6s) == 1);  // two units are free on each node, but one of them is kept
  CHECK(of.queues.of_ask(small).node == 1 - its);
  // Room elsewhere is taken, and the reservation is over.
  of.nodes.release(small).value();
  of.nodes.release(of.queues.of_ask(large).node == its ? other : large).value();
  CHECK(of.run(7s) == 1);
  CHECK(of.queues.of_ask(waits).node == 1 - its);
  CHECK(of.nodes.reserved_by(waits) == none);
}

TEST_CASE("case 24: an ask that no longer fits its quota keeps its reservation for a while") {
  world of{{{"root.a", {.max = units(8)}}}, {units(4), units(4)}, {.weights = both, .reservation_wait = 60min}};
  const application_index which = of.application(1);
  of.ask(which, units(3));
  of.ask(which, units(3), 1s);
  CHECK(of.run(2s) == 2);
  const ask_index waits = of.ask(which, units(2), 2s);
  CHECK(of.run(5s, cycle_outcome::kind::reserved) == 1);
  of.queues.set_max(1, units(7)).value();
  CHECK(of.run(60min) == 0);
  CHECK(of.nodes.reserved_by(waits) != none);
  CHECK(of.run(60min + 6s) == 0);
  CHECK(of.nodes.reserved_by(waits) == none);
}

TEST_CASE("an ask that is held is not placed by its reservation") {
  world of{{{"root.a", {}}}, {units(5)}, {.weights = both}};
  const application_index which = of.application(1);
  const ask_index first = of.ask(which, units(3));
  CHECK(of.run(1s) == 1);
  of.queues.set_max(0, units(10)).value();
  const ask_index waits = of.ask(which, units(3), 1s);
  CHECK(of.run(5s, cycle_outcome::kind::reserved) == 1);
  of.nodes.release(first).value();
  of.queues.hold(waits, true).value();
  CHECK(of.run(6s) == 0);
  of.queues.hold(waits, false).value();
  CHECK(of.run(7s) == 1);
  CHECK(of.nodes.nodes()[0].reserved_for == none);
}

TEST_CASE("a node that is not usable is nobody's reservation, and nobody is placed there by one") {
  world of{{{"root.a", {}}}, {units(5), units(5)}, {.weights = both}};
  of.queues.set_max(0, units(20)).value();
  const application_index which = of.application(1);
  const ask_index first = of.ask(which, units(3)), second = of.ask(which, units(3));
  CHECK(of.run(1s) == 2);
  const ask_index waits = of.ask(which, units(3), 1s);
  CHECK(of.run(5s, cycle_outcome::kind::reserved) == 1);
  const node_number its = of.nodes.reserved_by(waits);
  REQUIRE(its != none);
  of.nodes.set_usable(its, false);
  CHECK(of.nodes.reserved_by(waits) == none);
  of.nodes.release(of.queues.of_ask(first).node == its ? first : second).value();
  CHECK(of.run(6s) == 0);
  CHECK(of.nodes.reserved_by(waits) == 1 - its);
  of.nodes.set_usable(its, true);
  CHECK(of.run(7s) == 1);
  CHECK(of.queues.of_ask(waits).node == its);
}

TEST_CASE("an ask that evicts on another node than it has reserved has that one reserved, and no other") {
  world of{{{"root.a", {.guaranteed = units(10)}}, {"root.b", {}}}, {units(6), units(6)}, {.weights = both}};
  const application_index a = of.application(1), b = of.application(2);
  of.nodes.allocate(of.ask(a, units(3)), 0).value();
  const ask_index victim = of.ask(b, units(5));
  of.nodes.allocate(victim, 1).value();
  const ask_index waits =
      of.queues.add_ask({.application = a, .request = units(4), .created = 0s, .may_preempt = true}).value();
  CHECK(of.run(3s, cycle_outcome::kind::reserved) == 1);
  CHECK(of.nodes.reserved_by(waits) == 0);  // where least is missing
  CHECK(of.run(60s, cycle_outcome::kind::preempting) == 1);
  CHECK(of.nodes.last_plan()->victims == std::vector{victim});
  CHECK(of.nodes.nodes()[0].reserved_for == none);
  CHECK(of.nodes.nodes()[1].reserved_for == waits);
  of.nodes.release(victim).value();
  CHECK(of.run(61s) == 1);
  CHECK(of.queues.of_ask(waits).node == 1);
}

TEST_CASE("case 24: binpacking fills one node, and two queues share twenty slots fairly") {
  world packed{{{"root.a", {}}}, {units(100, 20), units(100, 20)}, {.order = node_order::binpacking, .weights = both}};
  const application_index which = packed.application(1);
  for (int i = 0; i < 9; ++i) packed.ask(which, units(10, 1));
  CHECK(packed.run(1s) == 9);
  CHECK(std::ranges::count(packed.nodes.nodes(), units(10, 11), &booked_node::available) == 1);
  CHECK(std::ranges::count(packed.nodes.nodes(), units(100, 20), &booked_node::available) == 1);

  world fair{{{"root.a", {}}, {"root.b", {}}}, {units(100, 10), units(100, 10)}, {.weights = both}};
  for (const queue_index queue : {1u, 2u}) {
    const application_index its = fair.application(queue);
    for (int i = 0; i < 20; ++i) fair.ask(its, units(10, 1));
  }
  CHECK(fair.run(1s) == 20);
  CHECK(same_amounts(fair.queues.usage(1).allocated, units(100, 10)));
  CHECK(same_amounts(fair.queues.usage(2).allocated, units(100, 10)));
}

TEST_CASE("in random partitions no node is overfull, nor reserved for who does not wait, nor twice for one ask") {
  std::size_t placed = 0, reserved = 0, kept = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 dice{seed};
    const auto roll = [&](unsigned below) { return static_cast<std::int64_t>(dice() % below); };
    world of{{{"root.a", {.guaranteed = units(roll(10))}}, {"root.b", {.max = units(6 + roll(10), 20)}}},
             {units(4 + roll(6), 8), units(4 + roll(6), 8), units(4 + roll(6), 8)},
             {.order = roll(2) == 0 ? node_order::fair : node_order::binpacking, .weights = both}};
    const application_index which[] = {of.application(1), of.application(2), of.application(2)};
    std::vector<ask_index> waiting, running;
    instant now = 0s;
    for (int step = 0; step < 60; ++step) {
      now += std::chrono::seconds{roll(3)};
      if (roll(2) == 0) {
        ask_spec spec{.application = which[roll(3)], .request = units(1 + roll(5), roll(4)), .created = now};
        spec.may_preempt = roll(3) == 0;
        of.queues.add_ask(spec).value();
      }
      if (roll(3) == 0 && !running.empty()) {
        const std::size_t at = static_cast<std::size_t>(roll(static_cast<unsigned>(running.size())));
        of.nodes.release(running[at]).value();
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      }
      for (int i = 0; i < 20; ++i) {
        const cycle_outcome done = of.nodes.cycle(now);
        if (done.what == cycle_outcome::kind::nothing) break;
        if (done.what == cycle_outcome::kind::placed) running.push_back(done.which), ++placed;
        if (done.what == cycle_outcome::kind::reserved) ++reserved;
      }
      std::vector<ask_index> holders;
      for (node_number node = 0; node < 3; ++node) {
        const booked_node& one = of.nodes.nodes()[node];
        resources used;
        for (const ask_index ask : running)
          if (of.queues.of_ask(ask).node == node) used += of.queues.of_ask(ask).spec.request;
        REQUIRE(same_amounts(one.capacity, one.available + used));
        REQUIRE(at_least(one.available, {}));
        if (one.reserved_for == none) continue;
        ++kept;
        REQUIRE(of.queues.waits(one.reserved_for));
        holders.push_back(one.reserved_for);
      }
      std::ranges::sort(holders);
      REQUIRE(std::ranges::adjacent_find(holders) == holders.end());
    }
  }
  CHECK(placed > 3000);
  CHECK(reserved > 300);
  CHECK(kept > 1000);
}

}  // namespace gangsched::testing::yunikorn_nodes_test
