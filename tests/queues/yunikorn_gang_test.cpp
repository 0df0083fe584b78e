#include "gangsched/queues/yunikorn/gang_application.hpp"

#include <random>
#include <string>
#include <vector>

#include "queues/yunikorn_units.hpp"
#include "support/catch.hpp"

// Placeholders. The cases are those of YuniKorn's own tests (pkg/scheduler), with numbers of ours.
namespace gangsched::testing::yunikorn_gang_test {

using namespace gangsched::queues;
using namespace gangsched::queues::yunikorn;
using namespace std::chrono_literals;

/// root.default with a user limit that bounds nothing, so that the user is charged; one application with the task group "tg".
struct world {
  partition queues;
  node_book nodes;
  application_index which;
  gang_application gang;
  instant now = 1s;

  explicit world(const std::vector<std::int64_t>& capacities, std::uint32_t members,
                 gang_style style = gang_style::soft, instant reservation_delay = instant::max())
      : queues(make()),
        nodes(queues, {.reservation_delay = reservation_delay, .preempts = false}),
        which(queues.add_application({.queue = 1, .user = "ann"}).value()),
        gang(nodes, which, {.groups = {{"tg", members}}, .style = style, .timeout = 15min}) {
    for (std::size_t i = 0; i < capacities.size(); ++i)
      nodes.add_node("node-" + std::to_string(i), units(capacities[i], capacities[i])).value();
  }
  static partition make() {
    std::vector<queue_settings> settings(2);
    settings[1].limits = {{.users = {"ann"}, .max = units(1000, 1000)}};
    return partition::make(queue_tree::make(std::vector<queue_link>{{"root"}, {"root.default", "root"}}).value(),
                           settings)
        .value();
  }
  [[nodiscard]] ask_spec of(std::int64_t size) const {
    return {.application = which, .request = units(size, size), .created = now};
  }
  ask_index placeholder(std::int64_t size) { return gang.add_placeholder(of(size), "tg").value(); }
  ask_index real(std::int64_t size, const char* group = "tg") { return gang.add(of(size), group).value(); }
  /// Who is placed by cycles, one after another.
  std::vector<ask_index> run() {
    std::vector<ask_index> placed;
    for (;;) {
      const cycle_outcome done = nodes.cycle(now);
      if (done.what != cycle_outcome::kind::placed) return placed;
      gang.placed(done.which, now);
      placed.push_back(done.which);
    }
  }
  [[nodiscard]] resources charged() const { return queues.usage(1).allocated; }
  [[nodiscard]] resources left_to_user() const { return queues.user_room(which); }
  [[nodiscard]] resources used(node_number node) const {
    return nodes.nodes()[node].capacity - nodes.nodes()[node].available;
  }
};

bool operator==(const gang_application::counts& a, const gang_application::counts& b) {
  return a.total == b.total && a.replaced == b.replaced && a.timed_out == b.timed_out;
}

TEST_CASE("case 9: a placeholder that is smaller than the real ask goes, and nothing is charged when it is gone") {
  world of{{5}, 1};
  const ask_index placeholder = of.placeholder(2);
  CHECK(of.run() == std::vector{placeholder});
  CHECK(same_amounts(of.charged(), units(2, 2)));
  of.real(5);
  CHECK(of.run().empty());  // it waits for the placeholder
  CHECK_FALSE(of.gang.try_replace());
  CHECK(of.gang.take_released() == std::vector{placeholder});
  CHECK(of.gang.take_released().empty());
  CHECK(same_amounts(of.charged(), units(2, 2)));
  CHECK(same_amounts(of.left_to_user(), units(998, 998)));
  REQUIRE(of.gang.confirm(placeholder));
  CHECK_FALSE(of.gang.confirm(placeholder));
  CHECK((of.gang.of("tg") == gang_application::counts{1, 0, 1}));
  CHECK(is_zero(of.charged()));
  CHECK(is_zero(of.used(0)));
  CHECK(same_amounts(of.left_to_user(), units(1000, 1000)));
}

TEST_CASE("case 9: a real ask that is larger than each of five placeholders releases all five") {
  world of{{10}, 5};
  std::vector<ask_index> five;
  for (int i = 0; i < 5; ++i) five.push_back(of.placeholder(2));
  CHECK(of.run().size() == 5);
  const ask_index real = of.real(10);
  CHECK_FALSE(of.gang.try_replace());
  CHECK(of.gang.take_released() == five);
  CHECK(same_amounts(of.used(0), units(10, 10)));
  for (const ask_index one : five) of.gang.confirm(one).value();
  CHECK((of.gang.of("tg") == gang_application::counts{5, 0, 5}));
  CHECK(of.run() == std::vector{real});  // no placeholder is left to wait for
}

TEST_CASE("case 10: what a larger placeholder holds stays charged until the host confirms the swap") {
  world of{{5}, 1};
  const ask_index placeholder = of.placeholder(2);
  of.run();
  const ask_index real = of.real(1);
  const auto made = of.gang.try_replace();
  REQUIRE(made);
  CHECK(made->real == real);
  CHECK(made->placeholder == placeholder);
  CHECK(made->node == 0);
  CHECK(same_amounts(of.charged(), units(2, 2)));
  CHECK(same_amounts(of.used(0), units(2, 2)));
  CHECK(same_amounts(of.left_to_user(), units(998, 998)));
  CHECK_FALSE(of.gang.try_replace());
  CHECK(of.run().empty());
  CHECK(of.gang.take_released() == std::vector{placeholder});
  of.gang.confirm(placeholder).value();
  CHECK(same_amounts(of.charged(), units(1, 1)));
  CHECK(same_amounts(of.used(0), units(1, 1)));
  CHECK(same_amounts(of.left_to_user(), units(999, 999)));
  CHECK(same_amounts(of.gang.held(), units(1, 1)));
  CHECK((of.gang.of("tg") == gang_application::counts{1, 1, 0}));
  CHECK(of.gang.phase() == gang_phase::running);
}

TEST_CASE("case 11: placeholders that were not all placed in time go, and stay charged until they are confirmed") {
  for (const gang_style style : {gang_style::soft, gang_style::hard}) {
    world of{{5}, 3, style};
    std::vector<ask_index> asked;
    for (int i = 0; i < 3; ++i) asked.push_back(of.placeholder(2));
    CHECK(of.run() == std::vector{asked[0], asked[1]});
    CHECK(of.gang.phase() == gang_phase::accepted);
    CHECK(of.gang.deadline() == of.now + 15min);
    of.gang.expire(of.now + 15min - 1ns);
    CHECK(of.gang.phase() == gang_phase::accepted);
    of.gang.expire(of.now + 15min);
    CHECK(of.gang.phase() == (style == gang_style::soft ? gang_phase::resuming : gang_phase::failing));
    CHECK(of.gang.take_released() == std::vector{asked[0], asked[1]});  // and the third is gone at once
    CHECK((of.gang.of("tg") == gang_application::counts{3, 0, 1}));
    CHECK(is_zero(of.queues.usage(1).pending));
    CHECK(same_amounts(of.charged(), units(4, 4)));
    CHECK(same_amounts(of.left_to_user(), units(996, 996)));
    of.gang.confirm(asked[0]).value();
    CHECK(same_amounts(of.charged(), units(2, 2)));
    of.gang.confirm(asked[1]).value();
    CHECK(is_zero(of.charged()));
    CHECK((of.gang.of("tg") == gang_application::counts{3, 0, 3}));
    CHECK(of.gang.phase() == (style == gang_style::soft ? gang_phase::running : gang_phase::failing));
    if (style == gang_style::hard) continue;
    const ask_index real = of.real(5);
    CHECK(of.run() == std::vector{real});
  }
}

TEST_CASE("case 12: an application that runs gives up only placeholders that nobody has taken, and no preempted one") {
  world of{{10}, 4};
  std::vector<ask_index> asked;
  for (int i = 0; i < 4; ++i) asked.push_back(of.placeholder(2));
  of.run();
  CHECK(of.gang.phase() == gang_phase::running);
  of.real(2);
  REQUIRE(of.gang.try_replace()->placeholder == asked[0]);
  CHECK(of.gang.take_released() == std::vector{asked[0]});
  of.queues.begin_preemption(std::vector{asked[2]}).value();
  of.gang.expire(of.now + 15min);
  CHECK(of.gang.phase() == gang_phase::running);
  CHECK(of.gang.take_released() == std::vector{asked[1], asked[3]});
  for (const ask_index one : asked) of.gang.confirm(one).value();
  CHECK((of.gang.of("tg") == gang_application::counts{4, 1, 3}));
  CHECK(same_amounts(of.charged(), units(2, 2)));
  CHECK(is_zero(of.queues.usage(1).preempting));
}

TEST_CASE("more real asks than placeholders: the others are placed like any other when no placeholder is left") {
  world of{{10}, 1};
  const ask_index placeholder = of.placeholder(2);
  of.run();
  const ask_index other = of.real(2, "nobody's");
  CHECK(of.run() == std::vector{other});  // a task group without placeholders
  const ask_index first = of.real(2);
  of.now += 1s;
  const ask_index second = of.real(2);
  CHECK(of.run().empty());
  REQUIRE(of.gang.try_replace()->real == first);
  CHECK_FALSE(of.gang.try_replace());
  CHECK(of.run().empty());
  of.gang.confirm(placeholder).value();
  CHECK(of.run() == std::vector{second});
  CHECK(same_amounts(of.charged(), units(6, 6)));
}

TEST_CASE("where the placeholder's node is closed its ask goes to another one, and both nodes are charged until then") {
  world of{{4, 6}, 1};
  const ask_index placeholder = of.placeholder(2);
  of.run();
  const node_number from = of.queues.of_ask(placeholder).node;
  of.nodes.set_usable(from, false);
  const ask_index real = of.real(2);
  const auto made = of.gang.try_replace();
  REQUIRE(made);
  CHECK(made->node == 1 - from);
  CHECK(same_amounts(of.used(from), units(2, 2)));
  CHECK(same_amounts(of.used(1 - from), units(2, 2)));
  CHECK(same_amounts(of.charged(), units(2, 2)));

  SECTION("the host confirms") { of.gang.confirm(placeholder).value(); }
  SECTION("the placeholder's node is lost, which confirms it") { of.gang.node_lost(from); }
  SECTION("the real ask's node is lost: it waits again, for no placeholder") {
    of.gang.node_lost(1 - from);
    CHECK(of.queues.waits(real));
    of.gang.confirm(placeholder).value();
    CHECK((of.gang.of("tg") == gang_application::counts{1, 0, 1}));
    of.nodes.set_usable(from, true);
    CHECK(of.run() == std::vector{real});
    return;
  }
  CHECK(is_zero(of.used(from)));
  CHECK(same_amounts(of.used(1 - from), units(2, 2)));
  CHECK(same_amounts(of.charged(), units(2, 2)));
  CHECK((of.gang.of("tg") == gang_application::counts{1, 1, 0}));
}

TEST_CASE("a node that is lost takes placeholders with it, and who was to run there waits again") {
  world of{{4, 4}, 4};
  for (int i = 0; i < 4; ++i) of.placeholder(2);
  CHECK(of.run().size() == 4);
  const ask_index real = of.real(2);
  const auto made = of.gang.try_replace();
  REQUIRE(made);
  of.gang.node_lost(made->node);
  CHECK((of.gang.of("tg") == gang_application::counts{4, 0, 2}));
  CHECK(same_amounts(of.charged(), units(4, 4)));
  CHECK(is_zero(of.used(made->node)));
  const auto again = of.gang.try_replace();
  REQUIRE(again);
  CHECK(again->real == real);
  CHECK(again->node != made->node);
}

TEST_CASE("an ask that comes to be held has no node reserved, and gets its placeholder's place only") {
  world of{{4}, 1, gang_style::soft, 2s};
  const ask_index filler = of.real(3, "nobody's");
  CHECK(of.run() == std::vector{filler});
  const ask_index real = of.real(2);  // there is no placeholder yet
  of.now += 10s;
  CHECK(of.run().empty());
  REQUIRE(of.nodes.reserved_by(real) == 0);
  const ask_index placeholder = of.placeholder(2);
  CHECK(of.nodes.reserved_by(real) == none);
  of.nodes.release(filler).value();
  CHECK(of.run() == std::vector{placeholder});
  REQUIRE(of.gang.try_replace()->real == real);
  CHECK(of.run().empty());
  of.gang.confirm(placeholder).value();
  CHECK(same_amounts(of.used(0), units(2, 2)));
  CHECK(same_amounts(of.charged(), units(2, 2)));
  CHECK(of.nodes.nodes()[0].reserved_for == none);
}

TEST_CASE("real asks and placeholders that wait are withdrawn") {
  world of{{4, 4}, 2};
  const ask_index placed = of.placeholder(4);
  CHECK(of.run() == std::vector{placed});
  const node_number from = of.queues.of_ask(placed).node;

  SECTION("a real ask; who gets its number is not taken for it") {
    const ask_index real = of.real(1);
    of.gang.remove(real).value();
    CHECK_FALSE(of.queues.waits(real));
    REQUIRE(of.real(1, "nobody's") == real);
    CHECK_FALSE(of.gang.try_replace());
    CHECK(of.run() == std::vector{real});
  }
  SECTION("a placeholder: it counts as timed out, and nobody waits for it") {
    const ask_index other = of.placeholder(5);
    of.gang.remove(other).value();
    CHECK((of.gang.of("tg") == gang_application::counts{2, 0, 1}));
    of.gang.remove(of.real(1, "nobody's")).value();
    CHECK(is_zero(of.queues.usage(1).pending));
  }
  SECTION("a real ask that was to have a place: its room elsewhere is free at once, the placeholder goes") {
    of.nodes.set_usable(from, false);
    const ask_index real = of.real(2);
    REQUIRE(of.gang.try_replace()->node == 1 - from);
    CHECK(same_amounts(of.used(1 - from), units(2, 2)));
    of.gang.remove(real).value();
    CHECK(is_zero(of.used(1 - from)));
    CHECK(of.gang.take_released() == std::vector{placed});
    of.gang.confirm(placed).value();
    CHECK((of.gang.of("tg") == gang_application::counts{1, 0, 1}));
    CHECK(is_zero(of.used(from)));
    CHECK(is_zero(of.charged()));
  }
  SECTION("nothing else is") {
    CHECK(of.gang.remove(placed).error().code == errc::unknown);
    CHECK(of.gang.remove(99).error().code == errc::unknown);
    const application_index other = of.queues.add_application({.queue = 1, .user = "ann"}).value();
    const ask_spec theirs{.application = other, .request = units(1, 1)};
    CHECK(of.gang.remove(of.queues.add_ask(theirs).value()).error().code == errc::wrong_state);
    CHECK(of.gang.add(theirs, "tg").error().code == errc::wrong_state);
    CHECK(of.gang.add_placeholder(theirs, "tg").error().reason == "the ask is of application 1");
    CHECK(of.queues.of(other).pending.size() == 1);
    CHECK((of.gang.of("tg") == gang_application::counts{1, 0, 0}));
  }
}

TEST_CASE(
    "an application runs when all placeholders had a node, also where some were replaced before; who was lost has to "
    "come again") {
  world of{{2, 2}, 2};
  const ask_index first = of.placeholder(2);
  of.run();
  SECTION("replaced") {
    of.real(2);
    REQUIRE(of.gang.try_replace());
    of.gang.confirm(first).value();
  }
  SECTION("too small") {
    of.real(3);
    CHECK_FALSE(of.gang.try_replace());
    of.gang.confirm(first).value();
  }
  SECTION("lost") {
    of.gang.node_lost(of.queues.of_ask(first).node);
    of.placeholder(2);
    CHECK(of.run().size() == 1);
    CHECK(of.gang.phase() == gang_phase::accepted);
    of.nodes.set_usable(0, true);
    of.nodes.set_usable(1, true);
  }
  CHECK(of.gang.phase() == gang_phase::accepted);
  of.placeholder(2);
  CHECK(of.run().size() == 1);
  CHECK(of.gang.phase() == gang_phase::running);
}

TEST_CASE("a hard gang that fails takes all real asks that wait with it, but those that have a place") {
  world of{{4}, 2, gang_style::hard};
  const ask_index placeholder = of.placeholder(2);
  of.run();
  const ask_index real = of.real(2);
  REQUIRE(of.gang.try_replace()->real == real);
  of.real(9);
  of.real(9, "nobody's");
  of.real(9, "");
  CHECK(of.run().empty());
  of.gang.expire(of.now + 15min);
  CHECK(of.gang.phase() == gang_phase::failing);
  CHECK(of.queues.of(of.which).pending == std::vector{real});
  of.gang.confirm(placeholder).value();
  CHECK(of.queues.runs(real));
}

TEST_CASE("the place that an ask has found is not given up for a larger one") {
  world of{{2, 4}, 1};
  const ask_index placeholder = of.placeholder(2);
  of.run();
  const node_number from = of.queues.of_ask(placeholder).node;
  of.nodes.set_usable(from, false);
  const ask_index real = of.real(2);
  of.now += 1s;
  of.real(3);
  REQUIRE(of.gang.try_replace()->real == real);
  CHECK(of.gang.take_released() == std::vector{placeholder});
}

TEST_CASE("in random lives of gangs what is charged is what placeholders and real asks hold, on nodes too") {
  std::size_t replaced = 0, timed_out = 0, elsewhere = 0, withdrawn = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 dice{seed};
    const auto roll = [&](unsigned below) { return static_cast<std::int64_t>(dice() % below); };
    world of{{4 + roll(8), 4 + roll(8), 4 + roll(8)},
             static_cast<std::uint32_t>(1 + roll(6)),
             roll(2) == 0 ? gang_style::soft : gang_style::hard};
    std::vector<ask_index> to_confirm;
    for (int step = 0; step < 60; ++step) {
      of.now += std::chrono::seconds{roll(60)};
      switch (roll(9)) {
        case 0: of.placeholder(1 + roll(3)); break;
        case 1: of.real(1 + roll(4)); break;
        case 2:
          if (const auto made = of.gang.try_replace())
            elsewhere += made->node != of.queues.of_ask(made->placeholder).node ? 1 : 0;
          break;
        case 3: of.gang.expire(of.now); break;
        case 4: of.nodes.set_usable(static_cast<node_number>(roll(3)), roll(3) != 0); break;
        case 5:
          if (roll(10) == 0) of.gang.node_lost(static_cast<node_number>(roll(3)));
          break;
        case 6:
          if (const auto& waiting = of.queues.of(of.which).pending; !waiting.empty() && roll(3) == 0) {
            of.gang.remove(waiting[static_cast<std::size_t>(roll(static_cast<unsigned>(waiting.size())))]).value();
            ++withdrawn;
          }
          break;
        default:
          if (!to_confirm.empty()) {
            static_cast<void>(of.gang.confirm(to_confirm.back()));  // it may have gone with its node
            to_confirm.pop_back();
          }
      }
      of.run();
      for (const ask_index one : of.gang.take_released()) to_confirm.push_back(one);
      resources sum;
      for (const ask_index one : of.queues.of(of.which).allocations) sum += of.queues.of_ask(one).spec.request;
      REQUIRE(same_amounts(sum, of.charged()));
      REQUIRE(same_amounts(of.gang.held() + of.gang.held_by_placeholders(), sum));
      resources on_nodes;
      for (node_number node = 0; node < 3; ++node) {
        REQUIRE(at_least(of.nodes.nodes()[node].available, {}));
        on_nodes += of.used(node);
      }
      REQUIRE(at_least(on_nodes, sum));  // more only while somebody has two nodes
      const auto counts = of.gang.of("tg");
      REQUIRE(counts.replaced + counts.timed_out <= counts.total);
    }
    const auto counts = of.gang.of("tg");
    replaced += counts.replaced;
    timed_out += counts.timed_out;
  }
  CHECK(replaced > 100);
  CHECK(timed_out > 100);
  CHECK(elsewhere > 20);
  CHECK(withdrawn > 100);
}

}  // namespace gangsched::testing::yunikorn_gang_test
