// The library's own policy of queues, in a cluster: two teams with 40 % and 60 % of the GPUs, as a host sees them.
#include <map>

#include "gangsched/model/cluster_queues.hpp"
#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::fair_share_test {

namespace {

queue_spec team(const char* name, std::int64_t gpus, const char* parent = "") {
  queue_quota quota;
  if (gpus > 0) quota.guaranteed["nvidia.com/gpu"] = gpus;
  return {.name = name, .parent = parent, .quotas = {std::move(quota)}};
}

/// A cluster whose host does what it is told: who is evicted goes at once, and comes back as a pod that waits.
struct shared : world {
  explicit shared(kernel_table profile = profiles::with_queues()) : world(std::move(profile)) {}

  queue_id queue(const queue_spec& spec) { return must(cluster.queues().add(spec)); }
  void update(const queue_spec& spec) { must(cluster.queues().update(cluster.queues().find(spec.name).value(), spec)); }
  pod_id ask(a_pod pod, const std::string& queue, std::int32_t priority = 0) {
    pod_spec spec = pod;
    spec.queue = queue;
    spec.priority = priority;
    specs[spec.name] = spec;
    return add(spec);
  }
  /// Pods of one GPU each.
  void ask(const std::string& queue, int count, std::int32_t priority = 0) {
    for (int i = 0; i < count; ++i) ask(a_pod{queue + "-" + std::to_string(asked++)}.gpus(1), queue, priority);
  }
  group_id ask_gang(const std::string& name, const std::string& queue, int members, std::int64_t gpus,
                    disruption_mode disruption = disruption_mode::all, int least = 0) {
    a_gang made{name, least == 0 ? members : least};
    made.spec.queue = queue;
    made.spec.disruption = disruption;
    const group_id group = add(made);
    for (int i = 0; i < members; ++i) ask(a_pod{name + "-" + std::to_string(i)}.gpus(gpus).in(group), "");
    return group;
  }
  /// Until nothing happens at this instant; binds and evictions in words.
  words act(instant when) {
    now = when;
    words all;
    for (bool more = true; more;) {
      more = false;
      REQUIRE(all.size() < 5000);
      const gangsched::cycle done = scheduler.schedule_cycle(now);
      INFO((done.error() != nullptr ? done.error()->message() : std::string{}));
      REQUIRE(done.error() == nullptr);
      more = static_cast<bool>(done);
      std::vector<std::pair<pod_id, std::string>> gone;
      for (const decision& one : done) {
        if (one.kind == decision_kind::bind || one.kind == decision_kind::evict) all.push_back(word(one));
        if (one.kind == decision_kind::bind) must(scheduler.confirm(one.pod));
        if (one.kind == decision_kind::evict) gone.emplace_back(one.pod, cluster.name_of(one.pod));
      }
      for (const auto& [pod, name] : gone) {
        remove(pod);
        add(specs.at(name));
      }
    }
    return all;
  }
  [[nodiscard]] std::int64_t used(const char* queue) const {
    const queue_usage usage = cluster.queues().usage_of(cluster.queues().find(queue).value());
    const auto gpus = usage.used.find("nvidia.com/gpu");
    return gpus == usage.used.end() ? 0 : gpus->second;
  }
  std::map<std::string, pod_spec> specs;
  int asked = 0;
};

std::ptrdiff_t count(const words& all, const std::string& what) {
  return std::count_if(all.begin(), all.end(), [&](const std::string& one) { return one.starts_with(what); });
}

/// Ten GPUs on two nodes.
struct two_teams : shared {
  two_teams() {
    add(a_node{"n"}.cpu(64).gpus(5));
    add(a_node{"m"}.cpu(64).gpus(5));
    queue(team("infer", 4));
    queue(team("train", 6));
  }
};

}  // namespace

TEST_CASE("a team borrows what the other one leaves idle, and gives it back when the owner returns, once",
          "[engine][queues]") {
  two_teams w;
  w.ask("infer", 10);
  CHECK(count(w.act(0s), "bind infer") == 10);
  w.ask("train", 8);
  const words back = w.act(10s);
  CHECK(count(back, "evict infer") == 6);
  CHECK(count(back, "evict train") == 0);
  CHECK(w.used("infer") == 4);
  CHECK(w.used("train") == 6);
  for (int minute = 1; minute < 30; ++minute) CHECK(w.act(std::chrono::minutes{minute}).empty());  // nobody wins back
  CHECK(w.scheduler.verify());
  // The owner's work ends: the others are served again.
  for (const auto& [name, spec] : w.specs)
    if (const auto pod = w.cluster.find_pod("default", name); name.starts_with("train") && pod) w.remove(*pod);
  CHECK(count(w.act(40min), "bind infer") == 6);
  CHECK(w.used("infer") == 10);
}

TEST_CASE("teams that both ask for everything take turns by what they are due", "[engine][queues]") {
  two_teams w;
  w.ask("infer", 20);
  w.ask("train", 20);
  const words said = w.act(0s);
  CHECK(count(said, "evict") == 0);
  CHECK(count(said, "bind infer") == 4);
  CHECK(count(said, "bind train") == 6);
}

TEST_CASE("a gang that its team is due takes as few as it has to, whole gangs of borrowers or their surplus first",
          "[engine][queues]") {
  two_teams w;
  w.ask_gang("small", "infer", 2, 1);
  w.ask_gang("large", "infer", 4, 1);
  w.ask_gang("elastic", "infer", 4, 1, disruption_mode::surplus, 2);
  CHECK(count(w.act(0s), "bind") == 10);
  w.ask_gang("mine", "train", 2, 1);
  const words surplus = w.act(10s);
  CHECK(sorted(words(surplus.begin(), surplus.begin() + 2)) == words{"evict elastic-2 m", "evict elastic-3 m"});
  CHECK(count(surplus, "evict") == 2);
  CHECK(w.used("train") == 2);
  w.ask_gang("more", "train", 4, 1);
  const words rest = w.act(20s);
  CHECK(count(rest, "evict") <= 6);
  CHECK(count(rest, "evict train") == 0);
  CHECK(w.used("train") == 6);
  CHECK(w.used("infer") <= 4);
  for (int minute = 1; minute < 10; ++minute) CHECK(count(w.act(std::chrono::minutes{minute}), "evict") == 0);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a gang that is more than its team is due takes nothing from others, and starts when there is room",
          "[engine][queues]") {
  two_teams w;
  w.ask("infer", 4);
  w.ask("train", 2);
  w.act(0s);
  w.ask_gang("wide", "infer", 5, 1);
  CHECK(w.act(10s).empty());
  w.remove(w.pod("infer-0"));
  CHECK(count(w.act(60s), "bind wide") == 5);
}

TEST_CASE("who is over a limit waits without attempts until usage or the limit changes, and is told why",
          "[engine][queues]") {
  two_teams w;
  queue_spec infer = team("infer", 4);
  infer.quotas[0].limit["nvidia.com/gpu"] = 6;
  infer.within_queue = queue_preemption::never;
  w.update(infer);
  w.ask("infer", 8);
  CHECK(count(w.act(0s), "bind") == 6);
  const auto wakes = w.wake_ups();
  w.ask("train", 1);
  CHECK(count(w.act(30s), "bind train") == 1);
  CHECK(w.wake_ups() == wakes);
  const auto why = w.scheduler.explain(w.pod("infer-7"));
  REQUIRE(why);
  CHECK(why->rejected_by == "FairShare");
  CHECK(why->summary ==
        "over the limit of its queue: queue infer would use more nvidia.com/gpu than it may, 6: 1 would have to end");
  infer.quotas[0].limit["nvidia.com/gpu"] = 7;
  w.update(infer);
  CHECK(count(w.act(60s), "bind infer") == 1);
  w.remove(w.pod("infer-0"));
  CHECK(count(w.act(120s), "bind infer") == 1);
}

TEST_CASE("a more important pod of a team takes the place of a lesser one, at the team's limit too",
          "[engine][queues]") {
  two_teams w;
  queue_spec infer = team("infer", 4);
  infer.quotas[0].limit["nvidia.com/gpu"] = 4;
  w.update(infer);
  w.ask("infer", 4);
  w.act(0s);
  w.ask("infer", 1, 5);
  const words said = w.act(10s);
  CHECK(count(said, "evict infer") == 1);
  CHECK(count(said, "bind infer-4") == 1);
  CHECK(w.used("infer") == 4);
}

TEST_CASE("room that a team took back is kept for it, also from more important pods of the others",
          "[engine][queues]") {
  two_teams w;
  w.ask("infer", 10, 100);
  w.act(0s);
  w.ask("train", 6);
  for (int minute = 0; minute < 10; ++minute) {
    const words said = w.act(std::chrono::minutes{minute});
    CHECK(count(said, "evict") == (minute == 0 ? 6 : 0));
  }
  CHECK(w.used("train") == 6);
}

TEST_CASE("queues that are held, are not there, or have queues below let nobody in", "[engine][queues]") {
  two_teams w;
  queue_spec held = team("held", 0);
  held.state = queue_state::hold;
  w.queue(held);
  w.queue(team("child", 0, "parent"));
  w.ask("held", 1);
  w.ask("missing", 1);
  w.ask("child", 1);
  CHECK(w.act(0s).empty());
  held.state = queue_state::open;
  w.update(held);
  CHECK(count(w.act(60s), "bind held") == 1);
  w.queue(team("parent", 0));
  w.ask("parent", 1);
  CHECK(count(w.act(120s), "bind child") == 1);
  CHECK(w.used("parent") == 1);
  w.queue(team("missing", 0));
  CHECK(count(w.act(180s), "bind missing") == 1);
}

TEST_CASE("a queue runs no more jobs at once than it may, and a gang is one", "[engine][queues]") {
  two_teams w;
  queue_spec infer = team("infer", 4);
  infer.max_running = 2;
  w.update(infer);
  w.ask_gang("pair", "infer", 2, 1);
  w.ask("infer", 2);
  CHECK(count(w.act(0s), "bind") == 3);
  w.remove(w.pod("infer-0"));
  CHECK(count(w.act(60s), "bind infer-1") == 1);
}

TEST_CASE("what a team does not lend stays free for it, and who has run too briefly is not taken", "[engine][queues]") {
  two_teams w;
  queue_spec train = team("train", 6);
  train.quotas[0].lending_limit["nvidia.com/gpu"] = 4;
  w.update(train);
  queue_spec infer = team("infer", 4);
  infer.reclaim_min_runtime = 10min;
  w.update(infer);
  for (int i = 0; i < 10; ++i) {
    a_pod one{"infer-" + std::to_string(i)};
    one.gpus(1).spec.start_time = instant{0s};
    w.ask(one, "infer");
  }
  CHECK(count(w.act(0s), "bind infer") == 8);
  w.ask("train", 4);
  const words first = w.act(5min);
  CHECK(count(first, "bind train") == 2);
  CHECK(count(first, "evict") == 0);
  const words later = w.act(20min);
  CHECK(count(later, "evict infer") == 2);
  CHECK(w.used("train") == 4);
}

TEST_CASE("limits by flavor hold on nodes of that flavor, and guarantees of one are taken back there",
          "[engine][queues]") {
  shared w;
  w.add(a_node{"n"}.cpu(64).gpus(4).label("gpu", "h100"));
  w.add(a_node{"m"}.cpu(64).gpus(4).label("gpu", "a100"));
  w.must(w.cluster.queues().set_flavor({.name = "a100", .node_labels = {{"gpu", "a100"}}}));
  w.must(w.cluster.queues().set_flavor({.name = "h100", .node_labels = {{"gpu", "h100"}}}));
  queue_spec a = team("a", 0), b = team("b", 0);
  a.quotas = {{.flavor = "h100", .guaranteed = {{"nvidia.com/gpu", 3}}},
              {.flavor = "a100", .limit = {{"nvidia.com/gpu", 2}}}};
  b.quotas = {{.flavor = "h100", .guaranteed = {{"nvidia.com/gpu", 1}}}};
  w.queue(a);
  w.queue(b);
  w.ask("b", 8);
  CHECK(count(w.act(0s), "bind") == 8);
  w.ask("a", 8);
  const words said = w.act(10s);
  CHECK(count(said, "evict b") >= 3);
  const queue_id of_a = w.cluster.queues().find("a").value();
  CHECK(w.cluster.queues().usage_of(of_a, "h100").used.at("nvidia.com/gpu") >= 3);
  CHECK(w.cluster.queues().usage_of(of_a, "a100").used["nvidia.com/gpu"] <= 2);
  for (int minute = 1; minute < 10; ++minute) CHECK(count(w.act(std::chrono::minutes{minute}), "evict") == 0);
}

TEST_CASE("in random clusters nobody goes twice for the same requests, and each queue has what it is due",
          "[engine][queues][property]") {
  std::ptrdiff_t evicted = 0, bound = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    dice roll{seed};
    shared w;
    const int nodes = 2 + static_cast<int>(roll.below(3));
    for (int i = 0; i < nodes; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(64).gpus(4));
    std::int64_t left = nodes * 4;
    std::map<std::string, std::int64_t> guaranteed, waiting;
    const std::vector<std::string> names{"a", "b", "c"};
    for (const std::string& name : names) {
      guaranteed[name] = roll.between(0, left);
      left -= guaranteed[name];
      w.queue(team(name.c_str(), guaranteed[name]));
    }
    for (int wave = 0; wave < 4; ++wave) {
      CAPTURE(seed, wave);
      const std::string& name = roll.of(names);
      const int more = static_cast<int>(roll.between(1, nodes * 4));
      w.ask(name, more);
      waiting[name] += more;
      const words said = w.act(std::chrono::minutes{wave * 10 + 1});
      evicted += count(said, "evict");
      bound += count(said, "bind");
      CHECK(count(said, "evict " + name) == 0);
      for (int minute = 2; minute < 8; ++minute) REQUIRE(w.act(std::chrono::minutes{wave * 10 + minute}).empty());
      for (const std::string& one : names) REQUIRE(w.used(one.c_str()) >= std::min(guaranteed[one], waiting[one]));
    }
    REQUIRE(w.scheduler.verify());
  }
  CHECK(evicted > 300);
  CHECK(bound > 1500);
}

}  // namespace gangsched::testing::fair_share_test
