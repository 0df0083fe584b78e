// The library's own policy of queues, in a cluster: two teams with 40 % and 60 % of the GPUs, as a host sees them.
#include <cstdlib>
#include <map>
#include <numeric>

#include "queue_world.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::fair_share_test {

namespace {

struct shared : gpu_queues {
  explicit shared(kernel_table profile = profiles::with_queues()) : gpu_queues(std::move(profile)) {}

  group_id ask_gang(const std::string& name, const std::string& queue, int members, std::int64_t gpus,
                    disruption_mode disruption = disruption_mode::all, int least = 0, std::int32_t priority = 0,
                    const group_id& parent = {}) {
    a_gang made{name, least == 0 ? members : least};
    made.spec.disruption = disruption;
    made.spec.parent = parent;
    return job(made, queue, a_pod{""}.gpus(gpus), members, priority);
  }
};

/// Ten GPUs on two nodes.
struct two_teams : shared {
  two_teams() {
    gpus("n", 5);
    gpus("m", 5);
    queue(team("infer", 4));
    queue(team("train", 6));
  }
};

}  // namespace

TEST_CASE("teams that both ask for everything take turns by what they are due", "[engine][queues]") {
  two_teams w;
  w.ask("infer", 20);
  w.ask("train", 20);
  const words said = w.act(0s);
  CHECK(count(said, "evict") == 0);
  CHECK(count(said, "bind infer") == 4);
  CHECK(count(said, "bind train") == 6);
}

TEST_CASE("what pods without a queue have is not there for teams: what one is due of the rest comes back",
          "[engine][queues]") {
  shared w;
  w.gpus("n", 4);
  w.queue(shared::team("infer", 2));
  w.queue(shared::team("train", 0));
  w.ask(a_pod{"system-0"}.gpus(1), "");
  w.ask(a_pod{"system-1"}.gpus(1), "");
  w.act(0s);
  w.ask("train", 3);
  CHECK(count(w.act(1s), "bind train") == 2);
  w.ask("infer", 2);
  const words said = w.act(2s);
  CHECK(count(said, "evict train") == 2);
  CHECK(count(said, "bind infer") == 2);
  w.remove(w.pod("system-0"));
  CHECK(count(w.act(60s), "bind train") == 1);
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
  queue_spec infer = shared::team("infer", 4);
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
  queue_spec held = shared::team("held", 0);
  held.state = queue_state::hold;
  w.queue(held);
  w.queue(shared::team("child", 0, "parent"));
  w.ask("held", 1);
  w.ask("missing", 1);
  w.ask("child", 1);
  CHECK(w.act(0s).empty());
  held.state = queue_state::open;
  w.update(held);
  CHECK(count(w.act(60s), "bind held") == 1);
  w.queue(shared::team("parent", 0));
  w.ask("parent", 1);
  CHECK(count(w.act(120s), "bind child") == 1);
  CHECK(w.used("parent") == 1);
  w.queue(shared::team("missing", 0));
  CHECK(count(w.act(180s), "bind missing") == 1);
}

TEST_CASE("a queue runs no more jobs at once than it may, and a gang is one", "[engine][queues]") {
  two_teams w;
  queue_spec infer = shared::team("infer", 4);
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
  queue_spec train = shared::team("train", 6);
  train.quotas[0].lending_limit["nvidia.com/gpu"] = 4;
  w.update(train);
  queue_spec infer = shared::team("infer", 4);
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

TEST_CASE("where quotas name more than can be compared nobody of a queue starts, and is told what is too much",
          "[engine][queues]") {
  shared w;
  w.gpus("n", 8);
  queue_spec many = shared::team("many", 0);
  for (int i = 0; i < 63; ++i) many.quotas[0].limit["example.com/" + std::to_string(100 + i)] = 1;
  w.queue(many);
  queue_spec other = shared::team("other", 0);
  other.quotas[0].limit["nvidia.com/gpu"] = 2;
  w.queue(other);
  w.ask("other", 3);
  CHECK(count(w.act(0s), "bind other") == 2);  // they are 64
  other.quotas[0].limit["example.com/zz"] = 1;
  w.update(other);
  w.remove(w.pod("other-0"));
  CHECK(w.act(60s).empty());
  const auto why = w.scheduler.explain(w.pod("other-2"));
  REQUIRE(why);
  CHECK(
      why->summary ==
      "quotas name more kinds of resources than can be compared: queue other: quotas[\"\"]: example.com/zz is one more "
      "than the 64 kinds, by flavor, that quotas may name in all");
  other.quotas[0].limit.erase("example.com/zz");
  w.update(other);
  CHECK(count(w.act(120s), "bind other") == 1);
}

TEST_CASE("what a team does not lend stays free for it below queues that have no limit, too", "[engine][queues]") {
  const int depth = GENERATE(1, 2);
  const bool others = GENERATE(false, true);
  CAPTURE(depth, others);
  shared w;
  w.gpus("n", 5);
  w.gpus("m", 5);
  if (depth == 2) w.queue({.name = "group"});
  w.queue({.name = "company", .parent = depth == 2 ? "group" : ""});
  w.queue(shared::team("infer", 4, "company"));
  queue_spec train = shared::team("train", 6, "company");
  train.quotas[0].lending_limit["nvidia.com/gpu"] = 4;
  w.queue(train);
  if (others) {  // the company has no more for it that there is more for these
    w.gpus("o", 3);
    w.queue(shared::team("guests", 3));
    w.ask("guests", 3);
    w.act(0s);
  }
  w.ask("infer", 10);
  CHECK(count(w.act(10s), "bind infer") == 8);
  w.ask("train", 2);
  const words said = w.act(20s);
  CHECK(count(said, "bind train") == 2);
  CHECK(count(said, "evict") == 0);
}

TEST_CASE("limits by flavor hold on nodes of that flavor, and guarantees of one are taken back there",
          "[engine][queues]") {
  shared w;
  w.add(a_node{"n"}.cpu(64).gpus(4).label("gpu", "h100"));
  w.add(a_node{"m"}.cpu(64).gpus(4).label("gpu", "a100"));
  w.must(w.cluster.queues().set_flavor({.name = "a100", .node_labels = {{"gpu", "a100"}}}));
  w.must(w.cluster.queues().set_flavor({.name = "h100", .node_labels = {{"gpu", "h100"}}}));
  queue_spec a = shared::team("a", 0), b = shared::team("b", 0);
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
      w.queue(shared::team(name, guaranteed[name]));
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
      for (const std::string& one : names) REQUIRE(w.used(one) >= std::min(guaranteed[one], waiting[one]));
    }
    REQUIRE(w.scheduler.verify());
  }
  CHECK(evicted > 300);
  CHECK(bound > 1500);
}

TEST_CASE("what is kept of a queue's quota for whom victims went is kept from members above a gang's minimum, too",
          "[engine][queues]") {
  two_teams w;
  queue_spec infer = shared::team("infer", 4);
  infer.quotas[0].limit["nvidia.com/gpu"] = 6;
  w.update(infer);
  const bool whole = GENERATE(false, true);
  CAPTURE(whole);
  if (whole)
    w.ask_gang("elastic", "infer", 3, 2, disruption_mode::all, 1);
  else
    w.ask_gang("elastic", "infer", 4, 1, disruption_mode::surplus, 3);
  w.act(0s);
  w.ask(a_pod{"more"}.gpus(whole ? 4 : 3), "infer", 1);
  const words said = w.act(10s);
  CHECK(count(said, "evict elastic") == (whole ? 3 : 1));
  CHECK(count(said, "bind more") == 1);
  CHECK(count(said, "bind elastic") == (whole ? 1 : 0));
  CHECK(w.used("infer") == 6);
  for (int minute = 1; minute < 10; ++minute) CHECK(w.act(std::chrono::minutes{minute}).empty());
}

TEST_CASE("who is nominated to a node stays that when a more important pod of another queue is nominated there, too",
          "[engine][queues]") {
  shared w;
  w.add(a_node{"n"}.cpu(64).gpus(4));
  w.queue(shared::team("a", 2));
  w.queue(shared::team("b", 2));
  w.ask(a_pod{"large"}.gpus(3), "b", 2);  // more than b is due
  w.ask(a_pod{"small"}.gpus(1), "b", 0);
  CHECK(count(w.act(0s), "bind") == 2);
  w.ask(a_pod{"owner"}.gpus(2), "a", -1);
  w.ask(a_pod{"within"}.gpus(2), "b", 1);
  const words said = w.act(10s);
  CHECK(sorted(said) == words{"bind owner n", "bind within n", "evict large n", "evict small n"});
  for (int minute = 1; minute < 30; ++minute) CHECK(w.act(std::chrono::minutes{minute}).empty());
}

TEST_CASE("a job of groups is as old as it ever was, whatever pods of it are made anew", "[engine][queues]") {
  two_teams w;
  queue_spec infer = shared::team("infer", 4);
  infer.quotas[0].limit["nvidia.com/gpu"] = 6;
  infer.within_queue = queue_preemption::lower_or_newer_equal_priority;
  w.update(infer);
  w.ask_gang("old", "infer", 4, 1, disruption_mode::surplus, 2);
  w.ask_gang("new", "infer", 4, 1, disruption_mode::surplus, 2);
  CHECK(count(w.act(0s), "bind") == 6);
  instant now{};
  for (const char* name : {"old-0", "old-3"}) {
    w.remove(w.pod(name));
    w.act(now += 1min);
    CHECK(w.used("infer") == 6);
    w.ask(w.specs.at(name), "");
    const words said = w.act(now += 1min);
    CHECK(count(said, "evict new") == 1);
    CHECK(count(said, "evict old") == 0);
    CHECK(count(said, std::string{"bind "} + name) == 1);
    for (int quiet = 0; quiet < 10; ++quiet) CHECK(w.act(now += 1min).empty());
  }
}

TEST_CASE(
    "a job that is more than its queue is due takes the place of none that is covered, or others would take it back",
    "[engine][queues]") {
  shared w;
  w.add(a_node{"n"}.cpu(64).gpus(4).label("place", "n"));
  w.add(a_node{"m"}.cpu(64).gpus(4));
  for (const char* name : {"a", "b"}) {
    w.queue(shared::team(name, 4));
    w.ask(a_pod{std::string{name} + "-small"}.gpus(4).select("place", "n"), name);
  }
  CHECK(w.act(0s) == words{"bind a-small n"});
  for (const char* name : {"a", "b"}) w.ask_gang(std::string{name} + "-wide", name, 2, 4, disruption_mode::all, 2, 1);
  for (int minute = 0; minute < 10; ++minute) CHECK(w.act(std::chrono::minutes{minute}).empty());
  // What a lesser job borrows it may have.
  w.ask(a_pod{"a-more"}.gpus(4), "a");
  CHECK(w.act(10min) == words{"bind a-more m"});
  w.ask(a_pod{"a-most"}.gpus(4).select("place", "n"), "a", 2);
  CHECK(count(w.act(11min), "evict a-small") == 1);
  w.ask(a_pod{"a-other"}.gpus(4), "a", 1);
  CHECK(w.act(12min) == words{"evict a-more m", "bind a-other m"});
  for (int minute = 13; minute < 20; ++minute) CHECK(w.act(std::chrono::minutes{minute}).empty());
}

TEST_CASE("a gang that goes as a whole grows by what its queue is due, one with surplus by what is free",
          "[engine][queues]") {
  two_teams w;
  w.ask(a_pod{"too-wide"}.gpus(6), "train");  // for any node: it waits, and train is due six
  const disruption_mode mode = GENERATE(disruption_mode::all, disruption_mode::surplus);
  w.ask_gang("elastic", "infer", 6, 1, mode, 3);
  CHECK(count(w.act(0s), "bind elastic") == (mode == disruption_mode::all ? 4 : 6));
  CHECK(w.act(60s).empty());
}

TEST_CASE("gangs, priorities, limits and trees of queues come to rest, too", "[engine][queues][property]") {
  const char* const text = std::getenv("GANGSCHED_WORLDS");
  const std::uint64_t worlds = text == nullptr ? 400 : std::stoull(text);
  std::uint64_t evicted = 0, bound = 0;
  std::vector<std::uint64_t> seeds(worlds);
  std::iota(seeds.begin(), seeds.end(), 0);
  seeds.insert(seeds.end(), {3432, 20235, 24185, 123039});  // in which evictions did not end once
  for (const std::uint64_t seed : seeds) {
    dice roll{seed};
    shared w;
    const bool places = roll.percent(40);  // some pods want one node
    for (int i = 0; i < 3; ++i)
      w.add(a_node{"n" + std::to_string(i)}.cpu(64).gpus(4).label("place", std::to_string(i)));
    w.queue(shared::team("org", roll.between(0, 6)));
    const std::vector<std::string> names{"a", "b", "c"};
    for (const std::string& name : names) {
      queue_spec spec = shared::team(name, roll.between(0, 3), name == "c" ? "" : "org");
      spec.weight = static_cast<double>(roll.between(1, 3));
      spec.within_queue = static_cast<queue_preemption>(roll.below(3));
      spec.reclaim = roll.percent(60) ? queue_reclaim::any : static_cast<queue_reclaim>(roll.below(3));
      if (roll.percent(30)) spec.quotas[0].limit["nvidia.com/gpu"] = roll.between(4, 8);
      if (roll.percent(20)) spec.max_running = static_cast<std::int32_t>(roll.between(2, 5));
      if (roll.percent(10)) spec.state = queue_state::drain;
      w.queue(spec);
    }
    const auto one_pod = [&](const std::string& name) {
      a_pod made{name};
      made.gpus(roll.between(1, 4));
      if (places && roll.percent(40)) made.select("place", std::to_string(roll.below(3)));
      return made;
    };
    const auto said = [&](instant when) {
      CAPTURE(seed, when.count());
      const words all = w.act(when);
      evicted += static_cast<std::uint64_t>(count(all, "evict"));
      bound += static_cast<std::uint64_t>(count(all, "bind"));
      return all;
    };
    for (int job = 0; job < 10; ++job) {
      const std::string name = "j" + std::to_string(job), &queue = roll.of(names);
      const auto priority = static_cast<std::int32_t>(roll.between(-1, 2));
      const auto gang_of = [&](const std::string& its_name, disruption_mode mode, const group_id& parent) {
        const int members = static_cast<int>(roll.between(1, 4)), least = static_cast<int>(roll.between(1, members));
        const std::int64_t gpus = roll.between(1, 2);
        const bool alike = roll.percent(70);
        const group_id made = w.ask_gang(its_name, queue, alike ? members : 0, gpus, mode, least, priority, parent);
        for (int i = alike ? members : 0; i < members; ++i)  // of different sizes
          w.ask(one_pod(its_name + "-" + std::to_string(i)).in(made), "", priority);
      };
      if (roll.percent(45)) {
        gang_of(name, static_cast<disruption_mode>(roll.below(3)), {});
      } else if (roll.percent(20)) {
        group_spec tree{.name = name + "-tree",
                        .policy = gang{.min_count = static_cast<std::int32_t>(roll.between(1, 2))},
                        .composite = true};
        tree.queue = queue;
        tree.disruption = roll.percent(50) ? disruption_mode::all : disruption_mode::single;
        const group_id parent = w.add(tree);
        for (const char* which : {"-a", "-b"}) {
          const auto mode = static_cast<disruption_mode>(roll.below(3));
          gang_of(name + which, tree.disruption == disruption_mode::all ? disruption_mode::all : mode, parent);
        }
      } else {
        w.ask(one_pod(name), queue, priority);
      }
      said(std::chrono::minutes{job});
    }
    for (int minute = 10; minute < 60; ++minute) {
      CAPTURE(seed, minute);
      const bool quiet = count(said(std::chrono::minutes{minute}), "evict") == 0;
      if (minute >= 40) REQUIRE(quiet);
    }
    REQUIRE(w.scheduler.verify());
  }
  CHECK(evicted > worlds);
  CHECK(bound > worlds * 5);
}

namespace {

/// Where some work that runs would be a gain if it was lost, nodes are not left out by what their pods cost: all are tried. Such is here
/// the work of bystanders, or nobody's; but who goes is the same, since bystanders stay.
struct full_nodes : shared {
  full_nodes(std::uint64_t seed, std::int64_t work_of_bystanders)
      : shared(profile{fair_share_policy{{.lost_work =
                                              [work_of_bystanders](const pod_info& pod) {
                                                return pod.name().starts_with("bystander") ? work_of_bystanders
                                                                                           : std::int64_t{0};
                                              }}},
                       arrival_sort{}, node_resources_fit{}, gang_scheduling{}}),
        roll(seed) {
    gpus("far", 0);
    const int nodes = static_cast<int>(roll.between(2, 6));
    for (int i = 0; i < nodes; ++i) gpus("n" + std::to_string(i), sizes.emplace_back(roll.between(1, 4)));
    for (const char* const name : {"a", "b", "c"}) {
      queue_spec spec = team(name, roll.between(0, 5));
      if (roll.percent(30)) spec.quotas[0].limit["nvidia.com/gpu"] = roll.between(5, 9);
      if (roll.percent(20)) spec.quotas[0].lending_limit["nvidia.com/gpu"] = 0;
      spec.within_queue = static_cast<queue_preemption>(roll.below(3));
      queue(spec);
      a_pod bystander{"bystander-" + spec.name};
      ask(bystander.cpu_milli(1).queue(spec.name).on(node("far")), "", 1'000);
    }
    for (int i = 0; i < nodes; ++i)
      for (std::int64_t left = sizes[static_cast<std::size_t>(i)]; left > 0;) {
        const std::int64_t its = roll.between(1, std::min<std::int64_t>(left, 2));
        a_pod one{"r" + std::to_string(asked++)};
        one.gpus(its).queue(std::string(1, "abc"[roll.below(3)])).on(node("n" + std::to_string(i)));
        one.spec.start_time = std::chrono::seconds{roll.between(0, 5)};
        ask(one, "", static_cast<std::int32_t>(roll.below(2)));
        left -= its;
      }
  }
  words step(int number) {
    a_pod one{"p" + std::to_string(number)};
    ask(one.gpus(roll.between(1, 2)), std::string(1, "abc"[roll.below(3)]), static_cast<std::int32_t>(roll.below(3)));
    return act(std::chrono::minutes{10 + number});
  }
  dice roll;
  std::vector<std::int64_t> sizes = {};
};

}  // namespace

TEST_CASE("of nodes where somebody would have to go the best is found, whether all are tried or not",
          "[engine][queues][property]") {
  std::ptrdiff_t evicted = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    full_nodes some{seed, 0}, all{seed, -1};
    for (int i = 0; i < 8; ++i) {
      const words said = some.step(i);
      REQUIRE(said == all.step(i));
      evicted += count(said, "evict");
    }
  }
  CHECK(evicted > 300);
}

}  // namespace gangsched::testing::fair_share_test
