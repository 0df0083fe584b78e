#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gangsched/queues/yunikorn/partition.hpp"
#include "queues/yunikorn_units.hpp"
#include "support/catch.hpp"

// The cases are those of YuniKorn's own tests (pkg/scheduler), with numbers of ours; those that are not here are recorded.
namespace gangsched::testing::yunikorn_order_test {

using namespace gangsched::queues;
using namespace gangsched::queues::yunikorn;

/// Queues by path; the root has 1000 of both types.
struct queues_of {
  partition queues;

  explicit queues_of(const std::vector<std::pair<std::string, queue_settings>>& children) : queues{made_of(children)} {}

  static partition made_of(const std::vector<std::pair<std::string, queue_settings>>& children) {
    std::vector<queue_link> links{{"root"}};
    std::vector<queue_settings> settings(1);
    settings[0].max = units(1000, 1000);
    for (const auto& [path, of] : children) {
      if (path == "root") {
        settings[0] = of;
        continue;
      }
      const std::string_view name = path;
      links.push_back({name, name.substr(0, name.rfind('.'))});
      settings.push_back(of);
    }
    return partition::make(queue_tree::make(links).value(), settings).value();
  }
  [[nodiscard]] queue_index at(std::string_view path) const { return queues.tree().find(path).value(); }
  application_index application(std::string_view path, std::int64_t submitted = 0, std::string user = "ann",
                                std::vector<std::string> groups = {}) {
    return queues.add_application({at(path), std::move(user), std::move(groups), submitted}).value();
  }
  ask_index ask(application_index of, resources request, std::int32_t priority = 0, int created = 0) {
    ask_spec spec;
    spec.application = of;
    spec.request = request;
    spec.priority = priority;
    spec.created = std::chrono::seconds{created};
    return queues.add_ask(spec).value();
  }
  ask_index running(application_index of, resources request) {
    const ask_index made = ask(of, request);
    queues.allocate(made, 0).value();
    return made;
  }
  [[nodiscard]] std::string order(std::string_view path) const {
    std::string made;
    for (const queue_index child : queues.sorted_children(at(path)))
      made += queues.tree().name(child).substr(queues.tree().name(child).rfind('.') + 1) + " ";
    return made;
  }
};

/// Room for everybody, and a list of who came.
struct endless : node_host {
  std::vector<ask_index> placed;
  std::vector<std::pair<ask_index, bool>> preemptions;
  node_number place(ask_index which) override {
    placed.push_back(which);
    return 0;
  }
  bool preempt(ask_index which, bool nodes_tried) override {
    preemptions.emplace_back(which, nodes_tried);
    return false;
  }
};

TEST_CASE("case 2: without guarantees queues are compared by the maximum that they may have") {
  const auto order = [](bool priority_first) {
    queue_settings root;
    root.max = units(1000);
    root.priority_first = priority_first;
    queues_of of{{{"root", root}, {"root.q0", {}}, {"root.q1", {}}, {"root.q2", {}}, {"root.q3", {}}}};
    const std::int64_t allocated[] = {300, 200, 100, 100};
    const std::int32_t priorities[] = {1, 0, 2, 3};
    for (std::size_t i = 0; i < 4; ++i) {
      const application_index one = of.application("root.q" + std::to_string(i));
      of.running(one, units(allocated[i]));
      of.ask(one, units(1), priorities[i]);
    }
    return of.order("root");
  };
  CHECK(order(false) == "q3 q2 q1 q0 ");
  CHECK(order(true) == "q3 q2 q0 q1 ");
}

TEST_CASE("case 3: fair applications go by what they have of the guarantee, who has least first") {
  queue_settings fair;
  fair.guaranteed = units(50);
  fair.order = application_order::fair;
  queues_of of{{{"root.leaf", fair}}};
  std::vector<application_index> all;
  for (const std::int64_t has : {10, 100, 30, 40}) {
    all.push_back(of.application("root.leaf"));
    of.running(all.back(), units(has));
    of.ask(all.back(), units(1));
  }
  CHECK(of.queues.sorted_applications(of.at("root.leaf")) == std::vector{all[0], all[2], all[3], all[1]});
  of.ask(all[1], units(1), 5);
  CHECK(of.queues.sorted_applications(of.at("root.leaf")).front() == all[1]);
}

TEST_CASE(
    "fair applications are compared by their largest part, then by the next one, and by plain amounts without "
    "guarantees") {
  queue_settings fair;
  fair.guaranteed = units(10, 100);
  fair.order = application_order::fair;
  queues_of of{{{"root.leaf", fair}, {"root.bare", {.order = application_order::fair}}}};
  const auto add = [&](std::string_view path, resources has) {
    const application_index made = of.application(path);
    of.running(made, has);
    of.ask(made, units(1));
    return made;
  };
  const application_index a = add("root.leaf", units(5, 20)), b = add("root.leaf", units(2, 50)),
                          c = add("root.leaf", units(5, 10));
  CHECK(of.queues.sorted_applications(of.at("root.leaf")) ==
        std::vector{c, a, b});  // 0.5 0.1, 0.5 0.2 twice: as they came
  const application_index d = add("root.bare", units(9, 20)), e = add("root.bare", units(1, 30));
  CHECK(of.queues.sorted_applications(of.at("root.bare")) == std::vector{d, e});  // 20 is less than 30
}

TEST_CASE("fifo applications go by priority and submission, or by submission and priority") {
  for (const bool priority_first : {true, false}) {
    queues_of of{{{"root.leaf", {.priority_first = priority_first}}}};
    const application_index late = of.application("root.leaf", 9), early = of.application("root.leaf", 1);
    of.ask(late, units(1), 3);
    of.ask(early, units(1), 2);
    CHECK(of.queues.sorted_applications(of.at("root.leaf")).front() == (priority_first ? late : early));
  }
}

TEST_CASE("case 4: headroom is the least on the way up, where a type that nobody limits is free") {
  resources parent_max, first_max, second_max;
  parent_max.set(0, 20);
  parent_max.set(1, 10);
  first_max.set(0, 10);
  first_max.set(2, 10);
  second_max.set(3, 10);
  queues_of of{{{"root", {}},
                {"root.p", {.max = parent_max}},
                {"root.p.a", {.max = first_max}},
                {"root.p.b", {.max = second_max}}}};
  resources first, second;
  for (const resource_type type : {0u, 1u, 2u}) first.set(type, 5);
  for (const resource_type type : {2u, 3u}) second.set(type, 5);
  of.running(of.application("root.p.a"), first);
  of.running(of.application("root.p.b"), second);
  const auto room = [&](std::string_view path, resource_type type) {
    const resources has = of.queues.headroom(of.at(path));
    return has.has(type) ? has[type] : -1;
  };
  CHECK(room("root.p", 0) == 15);
  CHECK(room("root.p", 1) == 5);
  CHECK(room("root.p", 2) == -1);
  CHECK(room("root.p.a", 0) == 5);
  CHECK(room("root.p.a", 1) == 5);
  CHECK(room("root.p.a", 2) == 5);
  CHECK(room("root.p.b", 0) == 15);
  CHECK(room("root.p.b", 3) == 5);
  CHECK_FALSE(fits_limit(of.queues.headroom(of.at("root.p.a")), first + first));
}

TEST_CASE("case 7: who may run its first allocation is bounded on every level, and one that runs goes on") {
  for (const std::uint32_t most : {1u, 2u}) {
    queues_of of{{{"root", {.max_applications = 2}}, {"root.p", {.max_applications = most}}, {"root.p.leaf", {}}}};
    const application_index first = of.application("root.p.leaf", 1), second = of.application("root.p.leaf", 2);
    of.running(first, units(1));
    const ask_index waiting = of.ask(second, units(1)), more = of.ask(first, units(1), -5);
    CHECK(of.queues.may_run(second) == (most == 2));
    CHECK(of.queues.why_waiting(waiting).queue_applications == (most == 1));
    endless nodes;
    const cycle_outcome done = of.queues.try_allocate(nodes);
    CHECK(done.which == (most == 2 ? waiting : more));
    CHECK(of.queues.usage(of.at("root.p")).applications == most);
  }
}

TEST_CASE("an application counts until it has nothing, and comes back without asking for its limit") {
  queues_of of{{{"root.leaf", {.max_applications = 1}}}};
  const application_index first = of.application("root.leaf", 1), second = of.application("root.leaf", 2);
  const ask_index one = of.running(first, units(1));
  of.ask(second, units(1));
  const ask_index pending = of.ask(first, units(1));
  of.queues.release(one).value();
  CHECK(of.queues.of(first).state == application_state::running);
  CHECK_FALSE(of.queues.may_run(second));
  of.queues.remove_ask(pending).value();
  CHECK(of.queues.of(first).state == application_state::completing);
  CHECK(of.queues.may_run(second));
  of.running(second, units(1));
  of.ask(first, units(1));
  CHECK(of.queues.of(first).state == application_state::running);
  CHECK(of.queues.may_run(first));
  CHECK(of.queues.usage(of.at("root")).applications == 2);
}

TEST_CASE(
    "case 23: the user's limit and its group's hold together, and the group is the first one configured from the leaf "
    "up") {
  const auto limits = [](resources of_user, resources of_group) {
    return std::vector<user_limit>{{{"ann"}, {}, of_user}, {{}, {"dev", "ops"}, of_group}};
  };
  queues_of of{{{"root", {.max = units(1000), .limits = {{{}, {"all"}, units(1)}}}},
                {"root.leaf", {.limits = limits(units(10), units(20))}},
                {"root.tight", {.limits = limits(units(30), units(20))}}}};
  const auto room = [&](application_index which) { return of.queues.user_room(which)[0]; };
  const application_index ann = of.application("root.leaf", 0, "ann", {"ops", "dev"});
  CHECK(room(ann) == 10);
  CHECK(room(of.application("root.tight", 0, "ann", {"ops", "dev"})) == 20);
  const application_index bob = of.application("root.leaf", 0, "bob", {"dev"});
  CHECK(room(bob) == 20);
  of.running(ann, units(4));
  CHECK(room(ann) == 6);
  CHECK(room(bob) == 16);  // of the same group: dev is configured first
  const application_index joe = of.application("root.leaf", 0, "joe", {"ops"});
  CHECK(room(joe) == 20);
  CHECK(room(of.application("root.leaf", 0, "eve", {"all"})) == 1);
  CHECK(of.queues.user_room(of.application("root.leaf", 0, "eve", {"none"})).empty());
}

TEST_CASE(
    "everybody without a limit of its own has that of the wildcard, and one with its own does not fall back to it") {
  queues_of of{{{"root.leaf", {.limits = {{{"*"}, {"*"}, units(5), 1}, {{"ann"}, {}, {}, 2}}}}}};
  const application_index ann = of.application("root.leaf", 0, "ann"), bob = of.application("root.leaf", 0, "bob");
  CHECK(of.queues.user_room(ann).empty());
  CHECK(of.queues.user_room(bob)[0] == 5);
  CHECK(of.queues.user_room(of.application("root.leaf", 0, "ann", {"any"}))[0] == 5);  // by its group
  of.running(bob, units(1));
  const application_index again = of.application("root.leaf", 0, "bob");
  const ask_index waiting = of.ask(again, units(1));
  CHECK(of.queues.why_waiting(waiting).user_applications);
  of.running(ann, units(9));
  of.ask(of.application("root.leaf", 0, "ann"), units(1));
  CHECK(of.queues.why_waiting(waiting).user_applications);
}

TEST_CASE(
    "a queue's priority is the highest that waits below, with offsets on the way up, and only the offset at a fence") {
  queues_of of{{{"root.p", {.priority_offset = 5}},
                {"root.p.a", {.priority_offset = 3, .priority = priority_policy::fence}},
                {"root.p.b", {.priority_offset = -1}}}};
  CHECK_FALSE(of.queues.priority(of.at("root.p")));
  of.ask(of.application("root.p.a"), units(1), 100);
  CHECK(of.queues.priority(of.at("root.p.a")) == 3);
  CHECK(of.queues.priority(of.at("root.p")) == 8);
  const ask_index urgent = of.ask(of.application("root.p.b"), units(5000), 10);  // it can never run, and counts
  CHECK(of.queues.priority(of.at("root.p")) == 14);
  CHECK(of.order("root.p") == "b a ");
  of.queues.remove_ask(urgent).value();
  CHECK(of.queues.priority(of.at("root.p")) == 8);
}

TEST_CASE("nothing blocks what comes after it: who exceeds a quota is passed over") {
  queues_of of{{{"root.a", {.max = units(5), .priority_offset = 10}}, {"root.b", {}}}};
  const application_index a = of.application("root.a"), b = of.application("root.b");
  const ask_index large = of.ask(a, units(6), 9), small = of.ask(a, units(2), 1), other = of.ask(b, units(1), 1);
  endless nodes;
  CHECK(of.queues.try_allocate(nodes).which == small);
  CHECK(of.queues.try_allocate(nodes).which == other);
  CHECK(of.queues.try_allocate(nodes).what == cycle_outcome::kind::nothing);
  CHECK(of.queues.why_waiting(large).queue_quota);
  CHECK(nodes.preemptions == std::vector<std::pair<ask_index, bool>>{{large, false}, {large, false}, {large, false}});
  nodes.preemptions.clear();
  static_cast<void>(of.queues.try_allocate(nodes, 0));
  CHECK(nodes.preemptions.empty());
}

TEST_CASE("what is wrong is refused by object, field and reason, and nothing changes") {
  const auto why = [](const auto& of) { return of ? std::string{} : of.error().message(); };
  queues_of of{{{"root.leaf", {}}}};
  partition& queues = of.queues;
  const application_index one = of.application("root.leaf");
  CHECK(why(queues.add_application({7})) == "queue 7: there is none");
  CHECK(why(queues.add_application({0})) == "queue root: applications are in leaves");
  CHECK(why(queues.add_ask({.application = 9})) == "application 9: there is none");
  CHECK(why(queues.add_ask({.application = one})) ==
        "application 0: request: has to be something, and nothing below 0");
  CHECK(why(queues.add_ask({.application = one, .request = units(-1)})) ==
        "application 0: request: has to be something, and nothing below 0");
  CHECK(why(queues.set_max(1, units(-1))) == "queue root.leaf: max: an amount is below 0");
  CHECK(why(queues.allocate(0, 0)) == "waiting ask 0: there is none");
  const ask_index asked = of.ask(one, units(1));
  CHECK(why(queues.release(asked)) == "allocation 0: there is none");
  CHECK(why(queues.remove_application(one)) == "application 0: it has asks or allocations");
  CHECK(why(queues.allocate(asked, none)) == "ask 0: node: is none");
  CHECK(why(partition::make(queue_tree::make(std::vector<queue_link>{{"root"}}).value(), {})) ==
        "partition: settings: there has to be one for each queue");
  CHECK(why(partition::make(queue_tree::make(std::vector<queue_link>{{"root"}}).value(),
                            std::vector<queue_settings>{{.guaranteed = units(-2)}})) ==
        "queue root: guaranteed: an amount is below 0");
  CHECK(queues.usage(0).pending[0] == 1);
  queues.remove_ask(asked).value();
  queues.remove_application(one).value();
  CHECK(why(queues.add_ask({.application = one, .request = units(1)})) == "application 0: there is none");
}

TEST_CASE("after random events everything that is kept is what a count from the beginning gives") {
  std::size_t events = 0, compared = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 dice{seed};
    const auto roll = [&](unsigned below) { return static_cast<std::int64_t>(dice() % below); };
    const auto random_settings = [&] {
      queue_settings made;
      if (roll(2) != 0) made.guaranteed = units(roll(30), roll(30));
      if (roll(2) != 0) made.max = units(20 + roll(60));
      made.priority_offset = static_cast<std::int32_t>(roll(7)) - 3;
      if (roll(5) == 0) made.priority = priority_policy::fence;
      made.priority_first = roll(4) != 0;
      made.limits = {{{"u0"}, {"g0"}, units(5 + roll(30)), static_cast<std::uint32_t>(roll(3))},
                     {{"*"}, {}, units(5 + roll(30)), static_cast<std::uint32_t>(roll(3))}};
      return made;
    };
    std::vector<std::pair<std::string, queue_settings>> settings;
    for (const char* path : {"root.a", "root.a.x", "root.a.y", "root.b", "root.c", "root.c.z"})
      settings.emplace_back(path, random_settings());
    queues_of of{settings};
    partition& queues = of.queues;
    std::vector<application_index> all;
    for (int i = 0; i < 8; ++i) {
      const char* leaves[] = {"root.a.x", "root.a.y", "root.b", "root.c.z"};
      all.push_back(
          of.application(leaves[roll(4)], roll(5), "u" + std::to_string(roll(3)), {"g" + std::to_string(roll(2))}));
    }
    std::vector<ask_index> waiting, held;
    const auto take = [&](std::vector<ask_index>& from) {
      const std::size_t at = static_cast<std::size_t>(roll(static_cast<unsigned>(from.size())));
      const ask_index made = from[at];
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
      return made;
    };
    for (int step = 0; step < 150; ++step, ++events) {
      const std::int64_t what = roll(6);
      if (what < 3) {
        waiting.push_back(of.ask(all[static_cast<std::size_t>(roll(8))], units(1 + roll(9), roll(5)),
                                 static_cast<std::int32_t>(roll(6)), static_cast<int>(roll(50))));
      } else if (what == 3 && !waiting.empty()) {
        const ask_index one = take(waiting);
        queues.allocate(one, static_cast<node_number>(roll(3))).value();
        held.push_back(one);
      } else if (what == 4 && !held.empty()) {
        queues.release(take(held)).value();
      } else if (what == 5 && !waiting.empty()) {
        if (roll(2) == 0 || held.empty()) {
          queues.remove_ask(take(waiting)).value();
        } else {
          queues.begin_preemption(waiting.back(), std::vector{held.back()}).value();
        }
      }
      std::map<queue_index, queue_usage> expected;
      std::map<std::pair<std::string, queue_index>, resources> of_users;
      const auto count = [&](ask_index which, bool runs) {
        const ask& one = queues.of_ask(which);
        const application& app = queues.of(one.spec.application);
        std::optional<std::int32_t> priority = one.spec.priority;
        for (queue_index up = app.spec.queue; up != no_queue; up = queues.tree().parent(up)) {
          queue_usage& has = expected[up];
          (runs ? has.allocated : has.pending) += one.spec.request;
          for (std::uint32_t i = 0; i < one.preempted; ++i) has.preempting += one.spec.request;
          if (runs) of_users[{app.spec.user, up}] += one.spec.request;
          if (runs) continue;
          has.priority = std::max(has.priority, priority);
          const queue_settings& settings_of = queues.settings(up);
          priority = settings_of.priority == priority_policy::fence ? settings_of.priority_offset
                                                                    : *priority + settings_of.priority_offset;
        }
      };
      for (const ask_index one : waiting) count(one, false);
      for (const ask_index one : held) count(one, true);
      for (queue_index queue = 0; queue < queues.tree().size(); ++queue) {
        const queue_usage &got = queues.usage(queue), &want = expected[queue];
        REQUIRE(same_amounts(got.allocated, want.allocated));
        REQUIRE(same_amounts(got.pending, want.pending));
        REQUIRE(same_amounts(got.preempting, want.preempting));
        REQUIRE(got.priority == want.priority);
        std::uint32_t running = 0, claims = 0;
        for (const application_index one : all) {
          const application& app = queues.of(one);
          REQUIRE((app.state == application_state::running) >= !app.allocations.empty());
          if (!queues.tree().is_within(app.spec.queue, queue)) continue;
          running += app.state == application_state::running ? 1 : 0;
          claims += app.preempting ? 1 : 0;
        }
        REQUIRE(got.applications == running);
        REQUIRE(got.claims == claims);
        ++compared;
      }
      // A user's room, from the limits as they are written.
      const application& app = queues.of(all[0]);
      resources room;
      for (queue_index up = app.spec.queue; up != 0; up = queues.tree().parent(up)) {
        const std::vector<user_limit>& limits = queues.settings(up).limits;
        const resources used = of_users[{app.spec.user, up}];
        room = least(room, minus_where_set(limits[app.spec.user == "u0" ? 0 : 1].max, used));
        if (app.spec.groups.front() != "g0") continue;
        resources of_group;
        for (const ask_index one : held) {
          const application& other = queues.of(queues.of_ask(one).spec.application);
          if (other.spec.groups.front() == "g0" && queues.tree().is_within(other.spec.queue, up))
            of_group += queues.of_ask(one).spec.request;
        }
        room = least(room, minus_where_set(limits[0].max, of_group));
      }
      REQUIRE(same_amounts(queues.user_room(all[0]), room));
    }
  }
  CHECK(events == 6000);
  CHECK(compared == 42000);
}

TEST_CASE("users are forgotten with their last application, unless they have limits") {
  const std::vector<std::pair<std::string, queue_settings>> queues{
      {"root.a", {.limits = {{.users = {"bob"}, .max_applications = 1}, {.users = {"*"}, .max = units(10, 10)}}}}};
  queues_of w{queues};
  CHECK(w.queues.limits().users() == 1);
  const application_index stays = w.application("root.a", 0, "eve");
  w.running(stays, units(3, 3));
  for (int number = 0; number < 100; ++number) {
    const std::string user = "u" + std::to_string(number);
    const application_index one = w.application("root.a", 1, user), two = w.application("root.a", 1, user);
    const ask_index ran = w.running(one, units(4, 4));
    CHECK(w.queues.user_room(two) == units(6, 6));
    CHECK(w.queues.limits().users() == 3);
    w.queues.release(ran).value();
    w.queues.remove_application(one).value();
    CHECK(w.queues.user_room(two) == units(10, 10));
    CHECK(w.queues.limits().users() == 3);
    w.queues.remove_application(two).value();
    CHECK(w.queues.limits().users() == 2);
  }
  CHECK(w.queues.user_room(stays) == units(7, 7));
  const application_index of_bob = w.application("root.a", 2, "bob");
  w.queues.remove_application(of_bob).value();
  CHECK(w.queues.limits().users() == 2);
}

}  // namespace gangsched::testing::yunikorn_order_test
