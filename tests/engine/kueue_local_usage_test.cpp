// Admission fair sharing on a cluster: namespaces of a queue that used less in the past go first.
#include <bit>
#include <cmath>

#include "gangsched/policies/kueue_local_usage.hpp"
#include "gangsched/queues/kueue/admission_controller.hpp"
#include "kueue_world.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::kueue_local_usage_test {

using namespace kueue_world;

namespace {

/// Queues that go by what their namespaces used; the host says the time to the usage as to the scheduler.
struct remembered_usage : shared {
  kueue_local_usage usage;
  std::map<std::string, pod_id> pods = {};

  explicit remembered_usage(const std::vector<std::string>& queues, queues::kueue::local_usage_options decay)
      : shared({.by_local_usage = queues}), usage({.queues = queues, .decay = std::move(decay)}) {}

  pod_id ask(const std::string& name, const std::string& queue, const std::string& ns, std::int64_t gpus,
             std::int32_t priority = 0) {
    pod_spec pod = a_pod{name}.gpus(gpus);
    pod.ns = ns;
    return pods[name] = shared::ask(pod, queue, priority);
  }
  void end(const std::string& name) { remove(pods.at(name)); }
  words act(instant when) {
    must(usage.advance(cluster, when));
    return shared::act(when, [&] { must(usage.advance(cluster, when)); });
  }
  [[nodiscard]] double score(const std::string& local) const {
    const auto row = cluster.find_scope_row(kueue_local_queues, local);
    return row ? std::bit_cast<double>(cluster.column_of(*row, kueue_local_score).value()) : 0;
  }
};

/// A team with four GPUs, and nothing to borrow.
queue_spec alone(const std::string& name) {
  queue_spec made = shared::team(name, 4);
  made.parent.clear();
  made.within_queue = queue_preemption::never;
  return made;
}

}  // namespace

TEST_CASE("a namespace that used less goes first, whatever the priority, until the past is forgotten",
          "[engine][kueue][local_usage]") {
  remembered_usage w{{"team"}, {.half_life = 1h, .sampling_interval = 1min}};
  w.gpus("n", 8);
  w.queue(alone("team"));
  for (int i = 0; i < 4; ++i) w.ask("old-" + std::to_string(i), "team", "heavy", 1);
  CHECK(count(w.act(0s), "bind old") == 4);
  for (int minute = 1; minute <= 60; ++minute) w.act(std::chrono::minutes{minute});
  CHECK(w.score("team/heavy") > 1.9);  // half of four
  CHECK(w.score("team/heavy") < 2.2);  // and what starting cost
  CHECK(w.score("team/light") == 0);
  w.ask("more", "team", "heavy", 1, 5);
  w.ask("late-0", "team", "light", 1);
  w.ask("late-1", "team", "light", 1);
  w.end("old-0");
  CHECK(w.act(61min) == words{"bind late-0 n"});
  w.end("old-1");
  CHECK(w.act(62min) == words{"bind late-1 n"});
  for (const char* name : {"old-2", "old-3", "late-0", "late-1"}) w.end(name);
  CHECK(w.act(63min) == words{"bind more n"});
  w.end("more");
  for (int hour = 2; hour < 60; ++hour) w.act(std::chrono::hours{hour});
  CHECK(w.score("team/heavy") < 1e-9);
  w.ask("first", "team", "light", 3);
  w.ask("second", "team", "heavy", 3, 5);
  w.act(60h);  // of the two, what is left of heavy's past decides
  CHECK(w.used("team") == 3);
}

TEST_CASE("what a namespace uses follows pods that are resized", "[engine][kueue][local_usage]") {
  remembered_usage w{{"team"}, {.half_life = 1h, .sampling_interval = 1min}};
  w.gpus("n", 8);
  w.queue(alone("team"));
  const pod_id pod = w.ask("one", "team", "heavy", 4);
  CHECK(w.act(0s) == words{"bind one n"});
  for (int hour = 1; hour < 30; ++hour) w.act(std::chrono::hours{hour});
  CHECK(std::abs(w.score("team/heavy") - 4) < 0.001);
  pod_spec smaller = a_pod{"one"}.gpus(1).on(w.node("n"));
  smaller.ns = "heavy";
  smaller.queue = "team";
  w.must(w.cluster.update_pod(pod, smaller));
  for (int hour = 30; hour < 60; ++hour) w.act(std::chrono::hours{hour});
  CHECK(std::abs(w.score("team/heavy") - 1) < 0.001);
  w.end("one");
  for (int hour = 60; hour < 90; ++hour) w.act(std::chrono::hours{hour});
  CHECK(std::abs(w.score("team/heavy") - 0) < 0.001);
}

TEST_CASE("a queue that goes strictly in order goes by usage first", "[engine][kueue][local_usage]") {
  remembered_usage w{{"team"}, {.half_life = 1h, .sampling_interval = 1min}};
  w.gpus("n", 8);
  queue_spec team = alone("team");
  team.heads = head_rule::strict;
  w.queue(team);
  w.ask("old", "team", "heavy", 2);
  w.act(0s);
  w.act(30min);
  w.ask("small", "team", "heavy", 1, 5);
  w.ask("wide", "team", "light", 3);
  CHECK(w.act(31min).empty());  // light's is first, and has no room
  w.end("old");
  CHECK(w.act(32min) == words{"bind wide n", "bind small n"});
}

TEST_CASE("victims within a queue are of the namespace that used more first", "[engine][kueue][local_usage]") {
  remembered_usage w{{"team"}, {.half_life = 1h, .sampling_interval = 1min}};
  w.gpus("n", 8);
  queue_spec team = alone("team");
  team.within_queue = queue_preemption::lower_priority;
  w.queue(team);
  w.ask("heavy-0", "team", "heavy", 2);
  w.act(0s);
  w.act(30min);
  w.ask("light-0", "team", "light", 2);  // who came last would go first
  w.act(31min);
  w.ask("urgent", "team", "other", 2, 9);
  const words said = w.act(32min);
  CHECK(count(said, "evict heavy-0") == 1);
  CHECK(count(said, "evict light-0") == 0);
  CHECK(count(said, "bind urgent") == 1);
}

TEST_CASE("weights divide what a namespace used, and what is known of it outlives queues that change and the host",
          "[engine][kueue][local_usage]") {
  remembered_usage w{{"team"}, {.half_life = 1h, .sampling_interval = 1min}};
  w.gpus("n", 8);
  w.queue(alone("team"));
  w.must(w.usage.set({.name = "light", .queue = "team", .weight = 4, .consumed = {{gpu, 6}}}));
  w.must(w.usage.set({.name = "heavy", .queue = "team", .weight = 1, .consumed = {{gpu, 2}}}));
  w.act(0s);
  CHECK(w.score("team/light") == 1.5);
  CHECK(w.score("team/heavy") == 2);
  queue_spec more = alone("team");
  more.quotas[0].guaranteed[gpu] = 5;
  w.update(more);
  w.act(10s);
  CHECK(w.score("team/light") <= 1.5);
  CHECK(w.score("team/light") > 1.49);
  const auto all = w.usage.local_queues();
  REQUIRE(all.size() == 2);
  kueue_local_usage next{{.queues = {"team"}, .decay = {.half_life = 1h, .sampling_interval = 1min}}};
  for (const auto& one : all) w.must(next.set(one));
  w.must(next.advance(w.cluster, 20s));
  CHECK(w.score("team/light") > 1.49);
  CHECK_FALSE(w.usage.set({.name = "x", .queue = "team", .weight = std::numeric_limits<double>::infinity()}));
  CHECK_FALSE(w.usage.set({.name = "x", .queue = "team", .consumed = {{gpu, -1}}}));
}

TEST_CASE("namespaces that have used nothing for long go, with their rows, and with queues that have gone",
          "[engine][kueue][local_usage]") {
  remembered_usage w{{"team", "other"}, {.half_life = 1h, .sampling_interval = 1min}};
  w.gpus("n", 8);
  w.queue(alone("team"));
  w.queue(alone("other"));
  w.must(w.usage.set({.name = "dear", .queue = "team", .weight = 2}));
  std::size_t most = 0;
  const auto rows = [&](int of) {
    std::size_t there = 0;
    for (int number = 0; number < of; ++number)
      there += w.cluster.find_scope_row(kueue_local_queues, "team/space-" + std::to_string(number)) ? 1 : 0;
    return there;
  };
  for (int hour = 0; hour < 200; ++hour) {
    const std::string name = "p" + std::to_string(hour);
    w.ask(name, "team", "space-" + std::to_string(hour), 1);
    CHECK(w.act(std::chrono::hours{hour}).size() == 1);
    w.end(name);
    most = std::max({most, w.usage.local_queues().size(), rows(hour + 1)});
  }
  CHECK(most < 40);
  w.act(300h);
  CHECK(w.usage.local_queues().size() == 1);
  CHECK(rows(200) == 0);
  CHECK(w.cluster.find_scope_row(kueue_local_queues, "team/dear"));
  for (const char* ns : {"space-1", "space-2"}) {
    w.ask(ns, "other", ns, 1);
    w.act(301h);
    w.end(ns);
  }
  w.act(301h);
  CHECK(w.usage.local_queues().size() == 3);
  w.must(w.cluster.queues().remove(w.cluster.queues().find("other").value()));
  w.act(302h);
  CHECK(w.usage.local_queues().size() == 3);  // it may come back
  CHECK_FALSE(w.cluster.find_scope_row(kueue_local_queues, "other/space-1"));
  w.queue(alone("third"));
  w.act(400h);
  CHECK(w.usage.local_queues().size() == 1);
}

TEST_CASE("namespaces are admitted in the order of Kueue's controller, and scores are the same to the last bit",
          "[engine][kueue][local_usage][property]") {
  namespace kueue = queues::kueue;
  std::size_t admitted = 0, compared = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    dice roll{seed};
    const kueue::local_usage_options decay{.half_life = std::chrono::minutes{roll.between(1, 60)},
                                           .sampling_interval = std::chrono::minutes{roll.between(1, 5)}};
    remembered_usage w{{"a", "b"}, decay};
    w.gpus("n", 8);
    kueue::configuration_spec spec{.flavors = {{"every"}}};
    for (const char* name : {"a", "b"}) {
      w.queue(alone(name));
      spec.queues.push_back({.name = name, .groups = {{{gpu}, {{"every", {{4}}}}}}, .by_local_usage = true});
    }
    kueue::admission_controller by{kueue::configuration::make(spec).value(), {.local_usage = decay}};
    const std::vector<std::string> queues{"a", "b"}, spaces{"x", "y", "z"};
    for (const std::string& queue : queues) {
      for (const std::string& ns : spaces) {
        const kueue::local_queue_spec one{
            .name = ns, .queue = queue, .weight = static_cast<double>(roll.between(1, 3))};
        by.set_local_queue(one).value();
        w.must(w.usage.set(one));
      }
    }
    std::map<std::string, kueue::workload_id> ids;
    std::vector<std::string> running;
    int number = 0;
    for (int minute = 0; minute < 60; ++minute) {
      CAPTURE(minute);
      const instant now = std::chrono::minutes{minute};
      for (std::size_t goes = roll.below(3); goes > 0 && !running.empty(); --goes) {
        const std::size_t which = roll.below(running.size());
        w.end(running[which]);
        by.remove(ids.at(running[which])).value();
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
      }
      for (std::size_t comes = roll.below(4); comes > 0; --comes) {
        const std::string name = "p" + std::to_string(100 + number++), queue = roll.of(queues), ns = roll.of(spaces);
        const std::int64_t gpus = roll.between(1, 2);
        const auto priority = static_cast<std::int32_t>(roll.below(3));
        w.ask(name, queue, ns, gpus, priority);
        ids[name] = by.add({.name = name,
                            .uid = name,
                            .queue = queue,
                            .local_queue = ns,
                            .priority = priority,
                            .created = instant{number},
                            .pod_sets = {{.requests = {{gpu, gpus}}}}})
                        .value();
      }
      std::vector<std::string> by_cluster, by_controller;
      for (const std::string& one : w.act(now)) by_cluster.push_back(one.substr(5, 4));
      by.advance(now);
      for (bool more = true; more;) {
        more = false;
        for (const kueue::cycle_entry& one : by.cycle(now).entries()) {
          more = true;
          if (one.result == kueue::entry_result::admitted) by_controller.push_back(by[one.workload].name);
        }
      }
      running.insert(running.end(), by_cluster.begin(), by_cluster.end());
      admitted += by_cluster.size();
      std::sort(by_cluster.begin(), by_cluster.end());
      std::sort(by_controller.begin(), by_controller.end());
      REQUIRE(by_cluster == by_controller);
      for (const std::string& queue : queues) {
        for (const std::string& ns : spaces) {
          const auto local = by.usage_of_local_queues().find(by.of().find_queue(queue).value(), ns);
          REQUIRE(w.score(queue + "/" + ns) == (local ? by.usage_of_local_queues().score(*local) : 0));
          ++compared;
        }
      }
    }
    CHECK(w.scheduler.verify());
  }
  CHECK(admitted > 1000);
  CHECK(compared > 10'000);
}

}  // namespace gangsched::testing::kueue_local_usage_test
