#include "gangsched/queues/yunikorn/preemption.hpp"

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gangsched/queues/yunikorn/required_node.hpp"
#include "queues/yunikorn_units.hpp"
#include "support/catch.hpp"

// The cases are those of YuniKorn's own tests (pkg/scheduler), with numbers of ours.
namespace gangsched::testing::yunikorn_preemption_test {

using namespace gangsched::queues;
using namespace gangsched::queues::yunikorn;
using namespace std::chrono_literals;

/// Queues with paths, nodes with room, and one ask that looks for victims.
struct world {
  std::vector<std::pair<std::string, queue_settings>> settings;
  std::vector<node_amounts> nodes;
  std::optional<partition> queues = {};
  std::vector<application_index> applications = {};

  void build() {
    std::vector<queue_link> links{{"root"}};
    std::vector<queue_settings> all(1);
    for (const node_amounts& one : nodes) all[0].max += one.capacity;
    for (const auto& [path, of] : settings) {
      const std::string_view name = path;
      links.push_back({name, name.substr(0, name.rfind('.'))});
      all.push_back(of);
    }
    queues.emplace(partition::make(queue_tree::make(links).value(), all).value());
    for (queue_index queue = 0; queue < queues->tree().size(); ++queue)
      applications.push_back(
          queues->tree().is_leaf(queue) ? queues->add_application({.queue = queue, .user = "ann"}).value() : none);
  }
  ask_index ask(std::string_view path, const resources& request, std::int32_t priority = 0) {
    ask_spec spec;
    spec.application = applications[queues->tree().find(path).value()];
    spec.request = request;
    spec.priority = priority;
    spec.created = std::chrono::seconds{++clock};
    spec.may_preempt = true;
    return queues->add_ask(spec).value();
  }
  ask_index runs(std::string_view path, const resources& request, node_number node, std::int32_t priority = 0) {
    const ask_index made = ask(path, request, priority);
    queues->allocate(made, node).value();
    nodes[node].available -= request;
    return made;
  }
  preemption_plan plan(ask_index which, bool nodes_tried = false) {
    preemption_plan made = preemptor{}.find(*queues, which, nodes, nodes_tried);
    std::ranges::sort(made.victims);
    return made;
  }
  int clock = 0;
};

node_amounts node(node_number which, const resources& capacity) { return {which, capacity, capacity}; }

TEST_CASE("case 13: the newest victim goes, and only as many as the queue needs") {
  world of{{{"root.p", {.max = units(10)}},
            {"root.p.c1", {.guaranteed = units(5)}},
            {"root.p.c2", {.guaranteed = units(5)}}},
           {node(0, units(10)), node(1, units(10))}};
  of.build();
  of.runs("root.p.c1", units(5), 0);
  const ask_index newer = of.runs("root.p.c1", units(5), 1);
  const preemption_plan made = of.plan(of.ask("root.p.c2", units(5)));
  CHECK(made);
  CHECK(made.victims == std::vector{newer});
}

TEST_CASE("case 14: nobody goes for an ask that no node could hold") {
  world of{{{"root.p", {}}, {"root.p.c1", {}}, {"root.p.c2", {.guaranteed = units(6), .max = units(10)}}},
           {node(0, units(5)), node(1, units(5))}};
  of.build();
  of.runs("root.p.c1", units(5), 0);
  of.runs("root.p.c1", units(5), 1);
  CHECK(of.plan(of.ask("root.p.c2", units(6))).refusal == preemption_refusal::no_victims);
}

TEST_CASE("case 15: one victim for one unit, though the parent is over its guarantee") {
  world of{{{"root.p", {.guaranteed = units(2)}}, {"root.p.c1", {}}, {"root.p.c2", {.guaranteed = units(1)}}},
           {node(0, units(3)), node(1, units(3))}};
  of.build();
  for (int i = 0; i < 6; ++i) of.runs("root.p.c1", units(1), static_cast<node_number>(i / 3));
  CHECK(of.plan(of.ask("root.p.c2", units(1))).victims.size() == 1);
}

TEST_CASE("case 16: victims that hold less than the ask are none, although one of them would do") {
  world of{{{"root.p", {.max = units(8)}}, {"root.p.c1", {}}, {"root.p.c2", {.guaranteed = units(5)}}},
           {node(0, units(10)), node(1, units(10))}};
  of.build();
  of.runs("root.p.c1", units(2), 0);
  of.runs("root.p.c1", units(2), 1);
  const preemption_plan made = of.plan(of.ask("root.p.c2", units(5)));
  CHECK(made.refusal == preemption_refusal::short_of_resources);
  CHECK(made.victims.empty());
}

TEST_CASE("case 17: where only one node will do its victims go, unless their priority is higher") {
  for (const std::int32_t priority : {0, 5}) {
    world of{{{"root.p", {.max = units(18)}},
              {"root.p.c1", {}},
              {"root.p.c2", {.guaranteed = units(15)}},
              {"root.p.c3", {}}},
             {node(0, units(30)), node(1, units(30))}};
    of.build();
    const ask_index first = of.runs("root.p.c1", units(5), 0), second = of.runs("root.p.c1", units(5), 1);
    const ask_index third = of.runs("root.p.c3", units(5), 1, priority);
    of.nodes[0].usable = false;
    const preemption_plan made = of.plan(of.ask("root.p.c2", units(10)));
    CHECK(made);
    CHECK(made.node == 1);
    CHECK(made.victims.size() == 2);
    CHECK((std::ranges::find(made.victims, third) == made.victims.end()) == (priority == 5));
    if (priority == 5) CHECK(made.victims == std::vector{first, second});
  }
}

TEST_CASE("case 18: a victim that is gone when it is to be marked leaves everything as it was") {
  world of{{{"root.c1", {}}, {"root.c2", {.guaranteed = units(5)}}}, {node(0, units(10))}};
  of.build();
  const ask_index stays = of.runs("root.c1", units(5), 0), goes = of.runs("root.c1", units(5), 0);
  const ask_index asks = of.ask("root.c2", units(5));
  of.queues->release(goes).value();
  const std::vector<ask_index> victims{stays, goes};
  CHECK_FALSE(of.queues->begin_preemption(asks, victims));
  CHECK_FALSE(of.queues->of_ask(asks).triggered_preemption);
  CHECK(of.queues->of_ask(stays).preempted == 0);
  CHECK(of.queues->usage(0).preempting.empty());
}

TEST_CASE("case 19: a queue keeps its guarantee, and who shares no type with the ask stays") {
  world of{
      {{"root.p", {.max = units(3)}}, {"root.p.c1", {.guaranteed = units(2)}}, {"root.p.c2", {.guaranteed = units(1)}}},
      {node(0, units(5, 700))}};
  of.build();
  resources memory;
  memory.set(1, 100);
  std::vector<ask_index> held;
  for (int i = 0; i < 3; ++i) held.push_back(of.runs("root.p.c2", units(1, 100), 0));
  for (int i = 0; i < 3; ++i) of.runs("root.p.c2", memory, 0);
  CHECK(of.plan(of.ask("root.p.c1", units(2))).victims == std::vector{held[1], held[2]});
}

/// Case 20: leaf2 holds twice 100 at priority -1000, and an ask of leaf1 looks for victims.
struct table_of_20 {
  queue_settings parent1{}, leaf1{.guaranteed = units(200)}, parent2{.guaranteed = units(100), .max = units(200)},
      leaf2{};
  std::int64_t used1 = 0;

  [[nodiscard]] std::size_t victims() const {
    world of{{{"root.parent1", parent1},
              {"root.parent1.leaf1", leaf1},
              {"root.parent2", parent2},
              {"root.parent2.leaf2", leaf2}},
             {node(0, units(200 + used1))}};
    of.build();
    if (used1 > 0) of.runs("root.parent1.leaf1", units(used1), 0);
    of.runs("root.parent2.leaf2", units(100), 0, -1000);
    of.runs("root.parent2.leaf2", units(100), 0, -1000);
    return of.plan(of.ask("root.parent1.leaf1", units(200))).victims.size();
  }
};

TEST_CASE("case 20: fences, priorities and guarantees say who is looked at") {
  using enum preemption_policy;
  const auto with = [](auto change) {
    table_of_20 of;
    of.parent2.guaranteed = {};  // so that both may go
    change(of);
    return of.victims();
  };
  const auto fence_at = [](std::int32_t offset) {
    return [offset](queue_settings& of) {
      of.priority = priority_policy::fence;
      of.priority_offset = offset;
    };
  };
  CHECK(with([](table_of_20&) {}) == 2);
  CHECK(with([](table_of_20& of) { of.leaf2.preemption = disabled; }) == 0);
  CHECK(with([](table_of_20& of) { of.parent2.preemption = disabled; }) == 0);
  // A queue that says something itself has nothing from above.
  CHECK(with([](table_of_20& of) {
          of.parent2.preemption = disabled;
          of.leaf2.preemption = preemption_policy::fence;
        }) == 2);
  CHECK(with([](table_of_20& of) { of.parent1.preemption = preemption_policy::fence; }) == 0);
  CHECK(with([](table_of_20& of) { of.leaf1.preemption = preemption_policy::fence; }) == 0);
  CHECK(with([](table_of_20& of) { of.parent2.priority_offset = 1001; }) == 0);
  CHECK(with([](table_of_20& of) { of.parent2.priority_offset = 1000; }) == 2);
  CHECK(with([&](table_of_20& of) { fence_at(1)(of.parent2); }) == 0);
  CHECK(with([&](table_of_20& of) { fence_at(-1001)(of.parent1); }) == 0);
  CHECK(with([](table_of_20& of) { of.parent2.guaranteed = units(200); }) == 0);
  CHECK(with([](table_of_20& of) { of.parent2.preemption = preemption_policy::fence; }) == 2);
  CHECK(with([](table_of_20& of) { of.leaf2.preemption = preemption_policy::fence; }) == 2);
  CHECK(with([&](table_of_20& of) { fence_at(-1)(of.parent2); }) == 2);
  CHECK(with([&](table_of_20& of) { fence_at(-1000)(of.parent1); }) == 2);
  CHECK(with([](table_of_20& of) { of.parent1.max = units(200); }) == 2);  // what it would use is exactly its maximum
  CHECK(with([](table_of_20& of) {                                         // its parent is full: nobody outside helps
          of.used1 = 100;
          of.leaf1.guaranteed = units(300);
          of.parent1.max = units(100);
        }) == 0);
}

TEST_CASE("who opted out or leads its application goes after all others, and within those the newest first") {
  world of{{{"root.c1", {}}, {"root.c2", {.guaranteed = units(2)}}}, {node(0, units(5))}};
  of.build();
  std::vector<ask_index> held;
  for (int i = 0; i < 5; ++i) {
    ask_spec spec;
    spec.application = of.applications[of.queues->tree().find("root.c1").value()];
    spec.request = units(1);
    spec.created = std::chrono::seconds{i};
    spec.opted_out = i == 4;
    spec.originator = i == 3;
    spec.on_required_node = i == 2;
    held.push_back(of.queues->add_ask(spec).value());
    of.queues->allocate(held.back(), 0).value();
    of.nodes[0].available -= units(1);
  }
  CHECK(of.plan(of.ask("root.c2", units(1))).victims == std::vector{held[1]});
  CHECK(of.plan(of.ask("root.c2", units(2))).victims == std::vector{held[0], held[1]});
  of.queues->release(held[0]).value();
  of.queues->release(held[1]).value();
  of.nodes[0].available = {};
  CHECK(of.plan(of.ask("root.c2", units(1))).victims == std::vector{held[3]});
}

TEST_CASE("an ask may try when it may preempt, never did, waited, and did not just try") {
  world of{{{"root.leaf", {}}}, {node(0, units(5))}};
  of.build();
  const preemptor by{15s};
  ask_spec spec;
  spec.application = of.applications[1];
  spec.request = units(1);
  spec.created = 100s;
  const ask_index tame = of.queues->add_ask(spec).value();
  spec.may_preempt = true;
  const ask_index asks = of.queues->add_ask(spec).value();
  spec.on_required_node = true;
  const ask_index bound = of.queues->add_ask(spec).value();
  CHECK_FALSE(by.may_try(*of.queues, tame, 200s));
  CHECK_FALSE(by.may_try(*of.queues, bound, 200s));
  CHECK_FALSE(by.may_try(*of.queues, asks, 129s));
  CHECK(by.may_try(*of.queues, asks, 130s));
  of.queues->note_preemption_try(asks, 130s);
  CHECK_FALSE(by.may_try(*of.queues, asks, 144s));
  CHECK(by.may_try(*of.queues, asks, 145s));
  of.queues->begin_preemption(asks, {}).value();
  CHECK_FALSE(by.may_try(*of.queues, asks, 1000s));
}

/// Ten pods on a node of 100, as upstream's tests of this have them: regular ones, some that opted out, some that lead.
struct required_node_world : world {
  required_node_world() : world{{{"root.a", {}}, {"root.b", {}}}, {node(0, units(100))}} { build(); }
  ask_index pod(std::int64_t amount, std::int32_t priority, int came, bool opted_out = false, bool originator = false) {
    ask_spec spec;
    spec.application = applications[queues->tree().find("root.a").value()];
    spec.request = units(amount);
    spec.priority = priority;
    spec.created = std::chrono::seconds{came};
    spec.opted_out = opted_out;
    spec.originator = originator;
    there.push_back(queues->add_ask(spec).value());
    queues->allocate(there.back(), 0).value();
    return there.back();
  }
  void ten() {
    pod(10, 10, 1), pod(8, 10, 0), pod(10, 15, 2), pod(5, 10, 0), pod(5, 5, 3);
    pod(10, 10, 4, true), pod(8, 10, 0, true), pod(10, 15, 5, true);
    pod(5, 10, 0, true, true), pod(5, 5, 6, false, true);
  }
  /// By place, from 1.
  std::vector<std::size_t> victims(const resources& request, std::int32_t priority, const resources& available) {
    const ask_index which = ask("root.b", request, priority);
    std::vector<std::size_t> made;
    for (const ask_index one : required_node_victims(*queues, which, there, available))
      made.push_back(static_cast<std::size_t>(std::ranges::find(there, one) - there.begin()) + 1);
    queues->remove_ask(which).value();
    return made;
  }
  std::vector<ask_index> there = {};
};

TEST_CASE("for who has to be on a node go who came last, with the lowest priority, and leaders at the very end") {
  required_node_world of;
  of.ten();
  using places = std::vector<std::size_t>;
  CHECK(of.victims(units(76), 20, {}) == places{5, 1, 4, 2, 3, 6, 7, 8, 10, 9});
  CHECK(of.victims(units(25), 20, units(24)) == places{5, 1, 4, 2});  // whatever is free
  CHECK(of.victims(units(5), 20, units(24)) == places{5});
  CHECK(of.victims(units(76 + 24), 20, units(24)).size() == 10);
  CHECK(of.victims(units(76 + 25), 20, units(24)).empty());  // not enough, even so
  CHECK(of.victims(units(5), 1, units(24)).empty());         // of a higher priority
  CHECK(of.victims(units(10), 5, units(24)) == places{5, 10});
  resources both = units(5), other;
  both.set(1, 5), other.set(1, 5);
  CHECK(of.victims(other, 20, {}).empty());  // who holds nothing of it
  CHECK(of.victims(both, 20, {}).empty());
  of.queues->begin_preemption(std::span{&of.there[4], 1}).value();
  CHECK(of.victims(units(5), 20, {}) == places{1});
}

TEST_CASE("who has to be on the node itself, or stays, does not go for who has to be there") {
  required_node_world of;
  ask_spec spec;
  spec.application = of.applications[1];
  spec.request = units(5);
  spec.on_required_node = true;
  for (const bool stays : {false, true}) {
    spec.on_required_node = !stays, spec.stays = stays;
    of.there.push_back(of.queues->add_ask(spec).value());
    of.queues->allocate(of.there.back(), 0).value();
  }
  CHECK(of.victims(units(5), 20, {}).empty());
  of.pod(5, 0, 1);
  CHECK(of.victims(units(5), 20, {}) == std::vector<std::size_t>{3});
}

TEST_CASE(
    "in random partitions victims come from below the fence, from queues over a guarantee, and hold what is asked "
    "for") {
  std::size_t plans = 0, victims = 0, refused = 0;
  preemptor by;
  for (unsigned seed = 0; seed < 9000; ++seed) {
    std::mt19937 dice{seed};
    const auto roll = [&](unsigned below) { return static_cast<std::int64_t>(dice() % below); };
    world of;
    for (const char* path : {"root.a", "root.a.x", "root.a.y", "root.b", "root.b.z", "root.c"}) {
      queue_settings one;
      if (roll(2) != 0) one.guaranteed = units(roll(12), roll(12));
      if (roll(4) == 0) one.max = units(5 + roll(20));
      one.priority_offset = static_cast<std::int32_t>(roll(5)) - 2;
      if (roll(6) == 0) one.priority = priority_policy::fence;
      const std::int64_t policy = roll(10);
      if (policy < 2) one.preemption = policy == 0 ? preemption_policy::fence : preemption_policy::disabled;
      of.settings.emplace_back(path, one);
    }
    for (node_number at = 0; at < 3; ++at) of.nodes.push_back(node(at, units(6 + roll(8), 6 + roll(8))));
    of.build();
    const char* leaves[] = {"root.a.x", "root.a.y", "root.b.z", "root.c"};
    for (int i = 0; i < 14; ++i) {
      const resources request = units(1 + roll(4), roll(4));
      const auto at = static_cast<node_number>(roll(3));
      if (fits(of.nodes[at].available, request))
        of.runs(leaves[roll(4)], request, at, static_cast<std::int32_t>(roll(4)) - 2);
    }
    const ask_index which = of.ask(leaves[roll(4)], units(1 + roll(5), roll(5)), static_cast<std::int32_t>(roll(4)));
    const preemption_plan made = by.find(*of.queues, which, of.nodes, roll(2) != 0);
    if (!made) {
      ++refused;
      REQUIRE(made.victims.empty());
      continue;
    }
    ++plans;
    const queue_index mine = of.queues->of(of.queues->of_ask(which).spec.application).spec.queue;
    resources freed;
    REQUIRE_FALSE(made.victims.empty());
    for (const ask_index victim : made.victims) {
      ++victims;
      const ask& gone = of.queues->of_ask(victim);
      const queue_index theirs = of.queues->of(gone.spec.application).spec.queue;
      REQUIRE(theirs != mine);
      REQUIRE(of.queues->settings(theirs).preemption != preemption_policy::disabled);
      REQUIRE((gone.spec.request.types() & of.queues->of_ask(which).spec.request.types()) != 0);
      REQUIRE(std::ranges::count(made.victims, victim) == 1);
      for (queue_index fence = mine; fence != no_queue; fence = of.queues->tree().parent(fence))
        if (of.queues->settings(fence).preemption == preemption_policy::fence)
          REQUIRE(of.queues->tree().is_within(theirs, fence));
      // It, or a queue above it that is not above the ask's, has more of something than it is guaranteed, or nobody guarantees anything.
      bool guaranteed = false, above = false;
      for (queue_index up = theirs; up != no_queue; up = of.queues->tree().parent(up)) {
        const resources& of_it = of.queues->settings(up).guaranteed;
        if (of_it.empty()) continue;
        above = above || !at_least(of_it, of.queues->usage(up).allocated);
        guaranteed = guaranteed || !of.queues->tree().is_within(mine, up);
      }
      REQUIRE((above || !guaranteed));
      freed += gone.spec.request;
    }
    REQUIRE(fits(of.nodes[made.node].capacity, of.queues->of_ask(which).spec.request));
    REQUIRE_FALSE(strictly_greater_where_set(of.queues->of_ask(which).spec.request, freed));
    of.queues->begin_preemption(which, made.victims).value();
    REQUIRE(same_amounts(of.queues->usage(0).preempting, freed));
  }
  CHECK(plans > 100);
  CHECK(victims > plans);
  CHECK(refused > 5000);
}

}  // namespace gangsched::testing::yunikorn_preemption_test
