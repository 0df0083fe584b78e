#include "gangsched/queues/yunikorn/quota_preemption.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "queues/yunikorn_units.hpp"
#include "support/catch.hpp"

// The cases are those of YuniKorn's own tests (pkg/scheduler), with numbers of ours.
namespace gangsched::testing::yunikorn_quota_preemption_test {

using namespace gangsched::queues;
using namespace gangsched::queues::yunikorn;
using namespace std::chrono_literals;

struct world {
  partition queues;
  std::vector<application_index> applications = {};

  explicit world(const std::vector<std::pair<std::string, queue_settings>>& with) : queues(make(with)) {
    for (queue_index queue = 0; queue < queues.tree().size(); ++queue)
      applications.push_back(
          queues.tree().is_leaf(queue) ? queues.add_application({.queue = queue, .user = "ann"}).value() : none);
  }
  static partition make(const std::vector<std::pair<std::string, queue_settings>>& with) {
    std::vector<queue_link> links;
    std::vector<queue_settings> settings;
    for (const auto& [path, its] : with) {
      const std::string_view name = path;
      const std::size_t dot = name.rfind('.');
      links.push_back({name, dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot)});
      settings.push_back(its);
    }
    return partition::make(queue_tree::make(links).value(), settings).value();
  }
  [[nodiscard]] queue_index at(std::string_view path) const { return queues.tree().find(path).value(); }
  ask_index runs(std::string_view path, const resources& request, ask_spec spec = {}) {
    spec.application = applications[at(path)];
    spec.request = request;
    const ask_index made = queues.add_ask(spec).value();
    queues.allocate(made, 0).value();
    return made;
  }
  [[nodiscard]] std::vector<std::int64_t> gone(std::string_view path) const {
    std::vector<std::int64_t> sizes;
    for (const ask_index one : over_quota_victims(queues, at(path)))
      sizes.push_back(queues.of_ask(one).spec.request[0]);
    return sizes;
  }
};

TEST_CASE("case 21: who would free more than is to be freed stays") {
  struct one {
    std::vector<std::int64_t> running;
    std::int64_t to_free;
    std::vector<std::int64_t> victims;
  };
  for (const one& of : std::vector<one>{{{9, 11}, 10, {9}},
                                        {{5, 6, 3, 4}, 8, {3, 4}},
                                        {{11}, 1, {}},
                                        {{10, 8}, 8, {8}},
                                        {{5, 6, 9}, 10, {5}},
                                        {{}, 0, {}}}) {
    std::int64_t used = 0;
    world w{{{"root", {}}, {"root.leaf", {}}}};
    for (const std::int64_t size : of.running) {
      w.runs("root.leaf", units(size));
      used += size;
    }
    CHECK(w.gone("root.leaf").empty());  // no maximum, nobody goes
    w.queues.set_max(1, units(used - of.to_free)).value();
    CHECK(w.gone("root.leaf") == of.victims);
  }
}

TEST_CASE("case 21: what is to be freed is at most what queues have above their guarantees, and not what is going") {
  const auto freed = [](std::int64_t guaranteed_above) {
    world w{{{"root", {}},
             {"root.p", {.guaranteed = guaranteed_above == 0 ? resources{} : units(guaranteed_above)}},
             {"root.p.leaf", {.max = units(1000)}}}};
    for (int i = 0; i < 15; ++i) w.runs("root.p.leaf", units(100, 7));
    return w.gone("root.p.leaf").size();
  };
  CHECK(freed(0) == 5);
  CHECK(freed(1200) == 3);
  CHECK(freed(900) == 5);
  CHECK(freed(1500) == 5);  // nobody on the way is above a guarantee: none bounds it
  world w{{{"root", {}}, {"root.leaf", {.max = units(10)}}}};
  std::vector<ask_index> held;
  for (int i = 0; i < 4; ++i) held.push_back(w.runs("root.leaf", units(5)));
  const std::vector<ask_index> first = over_quota_victims(w.queues, 1);
  CHECK(first.size() == 2);
  w.queues.begin_preemption(first).value();
  CHECK(over_quota_victims(w.queues, 1).empty());
  CHECK(is_over_max(w.queues, 1));
  for (const ask_index one : first) w.queues.release(one).value();
  CHECK_FALSE(is_over_max(w.queues, 1));
  CHECK(is_zero(w.queues.usage(0).preempting));
  CHECK_FALSE(w.queues.begin_preemption(first));  // they are gone
}

TEST_CASE("case 21: first goes who holds most of what is to be freed and least else; leaders and who opted out last") {
  world w{{{"root", {}}, {"root.leaf", {}}}};
  const auto named = [&](const resources& request, ask_spec spec = {}) { return w.runs("root.leaf", request, spec); };
  const ask_index leads = named(units(1), {.created = 90min, .originator = true});
  const ask_index opted_out = named(units(1), {.created = 90min, .opted_out = true});
  const ask_index other_type = named(units(1, 1), {.created = 90min});
  const ask_index important = named(units(1), {.priority = 5, .created = 90min});
  const ask_index old = named(units(1), {.created = 30min});
  const ask_index large = named(units(2), {.created = 110min});
  const ask_index newest = named(units(1), {.created = 61min});  // of the same hour as the larger one
  named(units(1), {.created = 90min, .on_required_node = true});
  resources memory;
  memory.set(1, 50);
  named(memory, {.created = 90min});
  w.queues.set_max(1, units(1)).value();  // all may go but the one that needs its node
  CHECK(over_quota_victims(w.queues, 1) == std::vector{newest, large, old, important, other_type, opted_out, leads});
}

/// Upstream's hierarchy: leaf1 with leaf11.leaf111 and leaf12, leaf2 with leaf21.leaf211 and leaf22, leaf3, leaf4.
world hierarchy(const resources& guaranteed, const resources& max) {
  const queue_settings with{.guaranteed = guaranteed};
  world w{{{"p", {.guaranteed = max, .max = max}},
           {"p.leaf1", with},
           {"p.leaf1.leaf11", with},
           {"p.leaf1.leaf11.leaf111", with},
           {"p.leaf1.leaf12", with},
           {"p.leaf2", {}},
           {"p.leaf2.leaf21", {}},
           {"p.leaf2.leaf21.leaf211", {}},
           {"p.leaf2.leaf22", {}},
           {"p.leaf3", {}},
           {"p.leaf4", with}}};
  for (const std::int64_t size : {9, 10, 11}) w.runs("p.leaf1.leaf11.leaf111", units(size));
  for (const std::int64_t size : {9, 11}) w.runs("p.leaf1.leaf12", units(size));
  for (const std::int64_t size : {8, 9, 10, 11, 12}) w.runs("p.leaf2.leaf21.leaf211", units(size));
  for (const std::int64_t size : {9, 10, 11}) w.runs("p.leaf2.leaf22", units(size));
  w.runs("p.leaf4", units(10));
  return w;
}

TEST_CASE("case 21: a queue hands down what is to be freed by what those below have above their guarantees") {
  CHECK(hierarchy(units(10), units(10)).gone("p") == std::vector<std::int64_t>{9, 10, 9, 8, 9, 10, 11, 12, 9, 10, 11});
  CHECK(hierarchy({}, units(10)).gone("p") == std::vector<std::int64_t>{9, 10, 9, 8, 9, 10, 11, 9, 10});
  for (const std::int64_t max : {20, 5}) {
    world w{{{"p", {.guaranteed = units(max), .max = units(max)}},
             {"p.leaf1", {}},
             {"p.leaf1.leaf11", {}},
             {"p.leaf1.leaf11.leaf111", {}},
             {"p.leaf1.leaf12", {}},
             {"p.leaf2", {}},
             {"p.leaf2.leaf21", {}},
             {"p.leaf2.leaf21.leaf211", {}},
             {"p.leaf2.leaf22", {}},
             {"p.leaf3", {}},
             {"p.leaf4", {}}}};
    for (const char* leaf :
         {"p.leaf1.leaf11.leaf111", "p.leaf1.leaf12", "p.leaf2.leaf21.leaf211", "p.leaf2.leaf22", "p.leaf4"})
      for (const std::int64_t size : {13, 12}) w.runs(leaf, units(size));
    CHECK(w.gone("p") == std::vector<std::int64_t>{12, 12, 12, 12, 12});
  }
}

TEST_CASE("case 21: somebody goes when a queue has been above its maximum for its delay, and again after another") {
  world w{{{"root", {}},
           {"root.p", {.quota_preemption_delay = 60s}},
           {"root.p.a", {.quota_preemption_delay = 30s}},
           {"root.q", {}}}};
  for (const char* leaf : {"root.p.a", "root.q"})
    for (int i = 0; i < 4; ++i) w.runs(leaf, units(5));
  quota_watch watch;
  CHECK(watch.due(w.queues, 0s).empty());
  CHECK(watch.next() == instant::max());
  w.queues.set_max(w.at("root.p.a"), units(10)).value();
  w.queues.set_max(w.at("root.q"), units(10)).value();  // says no delay: never
  CHECK(watch.due(w.queues, 10s).empty());
  CHECK(watch.next() == 40s);
  CHECK(watch.due(w.queues, 39s).empty());
  CHECK(watch.due(w.queues, 40s) == std::vector{w.at("root.p.a")});
  CHECK(watch.due(w.queues, 41s).empty());
  CHECK(watch.due(w.queues, 70s).size() == 1);
  w.queues.set_max(w.at("root.p.a"), units(20)).value();
  CHECK(watch.due(w.queues, 80s).empty());
  CHECK(watch.next() == instant::max());
  // Of two whose time it is the upper one; nobody below it then.
  w.queues.set_max(w.at("root.p"), units(15)).value();
  w.queues.set_max(w.at("root.p.a"), units(15)).value();
  CHECK(watch.due(w.queues, 100s).empty());
  CHECK(watch.due(w.queues, 160s) == std::vector{w.at("root.p")});
  CHECK(watch.due(w.queues, 161s) == std::vector{w.at("root.p.a")});
}

TEST_CASE("delays up to the end of time end then, not at once") {
  world w{{{"root", {}}, {"root.a", {.max = units(1), .quota_preemption_delay = instant::max()}}}};
  w.runs("root.a", units(2));
  quota_watch watch;
  CHECK(watch.due(w.queues, 10s).empty());
  CHECK(watch.next() == instant::max());
  CHECK(watch.due(w.queues, 11s).empty());
  // A partition made anew says after one delay that the next is without end.
  world shorter{{{"root", {}}, {"root.a", {.max = units(1), .quota_preemption_delay = 30s}}}};
  shorter.runs("root.a", units(2));
  quota_watch other;
  CHECK(other.due(shorter.queues, 10s).empty());
  CHECK(other.due(w.queues, 40s).size() == 1);
  CHECK(other.next() == instant::max());
  CHECK(other.due(w.queues, 41s).empty());
}

TEST_CASE("what is handed down is rounded down in whole units: one of 49 for 49 is one") {
  world w{{{"p", {.max = units(0)}}, {"p.a", {}}, {"p.b", {}}}};
  w.runs("p.a", units(1));
  w.runs("p.b", units(48));
  CHECK(w.gone("p") == std::vector<std::int64_t>{1, 48});
}

TEST_CASE("in random trees nobody goes whom a maximum does not need, and no queue below falls under its guarantee") {
  std::size_t plans = 0, victims = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::mt19937 dice{seed};
    const auto roll = [&](unsigned below) { return static_cast<std::int64_t>(dice() % below); };
    std::vector<std::pair<std::string, queue_settings>> with{{"root", {}}};
    for (const char* path : {"root.a", "root.a.x", "root.a.y", "root.b", "root.b.z", "root.c"}) {
      queue_settings one;
      if (roll(3) == 0) one.guaranteed = units(roll(8), roll(8));
      with.emplace_back(path, one);
    }
    world w{with};
    const char* leaves[] = {"root.a.x", "root.a.y", "root.b.z", "root.c"};
    for (int i = 0; i < 16; ++i) {
      ask_spec spec{.priority = static_cast<std::int32_t>(roll(3)), .created = std::chrono::minutes{roll(300)}};
      spec.on_required_node = roll(9) == 0;
      spec.originator = roll(9) == 0;
      spec.opted_out = roll(9) == 0;
      w.runs(leaves[roll(4)], units(1 + roll(5), roll(5)), spec);
    }
    const queue_index lowered = static_cast<queue_index>(roll(static_cast<unsigned>(w.queues.tree().size())));
    const resources used = w.queues.usage(lowered).allocated;
    w.queues.set_max(lowered, units(used[0] - roll(static_cast<unsigned>(used[0] + 1)))).value();
    const std::vector<ask_index> gone = over_quota_victims(w.queues, lowered);
    plans += gone.empty() ? 0 : 1;
    std::vector<resources> left;
    for (queue_index queue = 0; queue < w.queues.tree().size(); ++queue)
      left.push_back(w.queues.usage(queue).allocated);
    for (const ask_index one : gone) {
      ++victims;
      const ask& its = w.queues.of_ask(one);
      const queue_index leaf = w.queues.of(its.spec.application).spec.queue;
      REQUIRE(w.queues.tree().is_within(leaf, lowered));
      REQUIRE_FALSE(its.spec.on_required_node);
      REQUIRE(its.spec.request[0] > 0);  // the maximum is of the first type
      REQUIRE(std::ranges::count(gone, one) == 1);
      for (queue_index up = leaf; up != no_queue; up = w.queues.tree().parent(up)) left[up] -= its.spec.request;
    }
    const resources& max = w.queues.settings(lowered).max;
    REQUIRE((gone.empty() || left[lowered][0] >= max[0]));  // never more than is needed
    // What a queue below gives is no more than it has above its guarantee, where siblings have as much as is needed above theirs.
    resources above;
    for (const queue_index child : w.queues.tree().children(lowered)) {
      const queue_settings& its = w.queues.settings(child);
      const std::int64_t more = w.queues.usage(child).allocated[0] - its.guaranteed[0];
      if (more > 0 && (its.guaranteed.empty() || its.guaranteed.has(0))) above += units(more);
    }
    if (above[0] < used[0] - max[0]) continue;
    for (const queue_index child : w.queues.tree().children(lowered))
      if (w.queues.settings(child).guaranteed.has(0) && left[child][0] != w.queues.usage(child).allocated[0])
        REQUIRE(left[child][0] >= w.queues.settings(child).guaranteed[0]);
  }
  CHECK(plans > 1000);
  CHECK(victims > 3000);
}

}  // namespace gangsched::testing::yunikorn_quota_preemption_test
