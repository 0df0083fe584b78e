// Volcano's policy on the queues of a cluster: who may start, whose turn it is, and who goes.
#include <map>
#include <optional>

#include "gangsched/model/inside.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/plugins/volcano.hpp"
#include "gangsched/policies/volcano_books.hpp"
#include "jobs_by_dice.hpp"

namespace gangsched::testing::volcano_policy_test {

namespace {

using queues::volcano::action;
using queues::volcano::plugin_name;
using queues::volcano::plugin_tiers;

kernel_table with(volcano_policy policy) {
  return profile{std::move(policy), scheduling_gates{}, node_resources_fit{}, gang_scheduling{}};
}
plugin_tiers tiers_with(plugin_name divides, bool gang = true, double factor = 1.2) {
  plugin_tiers made{{{.name = plugin_name::priority}}, {{.name = plugin_name::overcommit}, {.name = plugin_name::drf}}};
  if (gang) made.front().push_back({.name = plugin_name::gang});
  made.back().front().overcommit_factor = factor;
  made.back().push_back({.name = divides});
  return made;
}

struct volcano_world : core_queues {
  explicit volcano_world(volcano_policy::options chosen = {}) : core_queues(with(volcano_policy{std::move(chosen)})) {}
  volcano_world(std::vector<action> actions, plugin_tiers tiers)
      : volcano_world({.session = {std::move(actions), std::move(tiers)}}) {}

  using queue_world::queue;
  queue_id queue(const std::string& name, double weight = 1, std::int64_t deserved = 0, std::int64_t capability = -1,
                 const std::string& parent = "") {
    queue_spec spec = spec_of(name, deserved, capability, parent);
    spec.weight = weight;
    return queue(spec);
  }
};

}  // namespace

TEST_CASE("by proportion a queue gets what it deserves by weight, and what others do not ask for",
          "[engine][volcano]") {
  volcano_world w;
  w.add(a_node{"n"}.cpu(12));
  w.queue("a", 1);
  w.queue("b", 2);
  for (int i = 0; i < 12; ++i) w.ask("a" + std::to_string(i), "a", 1);
  for (int i = 0; i < 12; ++i) w.ask("b" + std::to_string(i), "b", 1);
  const words said = w.run(true);
  CHECK(count(said, "bind a") == 4);
  CHECK(count(said, "bind b") == 8);
  CHECK(w.scheduler.verify());
  volcano_world alone;
  alone.add(a_node{"n"}.cpu(12));
  alone.queue("a", 1);
  alone.queue("b", 2);
  for (int i = 0; i < 11; ++i) alone.ask("a" + std::to_string(i), "a", 1);
  alone.ask("b0", "b", 1);
  CHECK(count(alone.run(true), "bind") == 12);
}

TEST_CASE("who is above what its queue deserves waits without an attempt until that is more", "[engine][volcano]") {
  volcano_world w;
  w.add(a_node{"n"}.cpu(8));
  w.queue("a");
  w.queue("b");
  w.ask("a0", "a", 4, 0, "n");
  const pod_id runs = w.ask("b0", "b", 4, 0, "n");
  a_pod gated{"b1"};
  gated.cpu(2).gate("later").spec.queue = "b";
  w.add(gated);
  w.ask("a1", "a", 1);
  CHECK(w.run() == words{"reject a1"});
  const std::uint64_t before = w.wake_ups();
  for (int i = 0; i < 5; ++i) CHECK(w.run_at(std::chrono::seconds{10 + i}).empty());
  CHECK(w.wake_ups() == before);
  w.remove(runs);  // b asks for less, so that a deserves more
  CHECK(w.run_at(60s) == words{"bind a1 n"});
}

TEST_CASE("a queue may have its capability and no more, and those above theirs", "[engine][volcano]") {
  volcano_world w;
  w.add(a_node{"n"}.cpu(16));
  w.queue("company", 1, 0, 5);
  w.queue("a", 1, 0, 3, "company");
  w.queue("b", 1, 0, -1, "company");
  for (int i = 0; i < 5; ++i) w.ask("a" + std::to_string(i), "a", 1);
  for (int i = 0; i < 5; ++i) w.ask("b" + std::to_string(i), "b", 1);
  const words said = w.run(true);
  CHECK(count(said, "bind a") <= 3);
  CHECK(count(said, "bind") == 5);
  w.ask("inner", "company", 1);
  CHECK(w.run_at(1s) == words{"reject inner"});  // queues with others below them have no jobs
}

TEST_CASE("what is guaranteed to one queue no other gets, asked for or not", "[engine][volcano]") {
  volcano_world w;
  w.add(a_node{"n"}.cpu(8));
  w.queue("a");
  queue_quota kept{.guaranteed = {{"cpu", 3}}, .lending_limit = {{"cpu", 0}}};
  w.queue({.name = "b", .quotas = {kept}});
  for (int i = 0; i < 8; ++i) w.ask("a" + std::to_string(i), "a", 1);
  CHECK(count(w.run(true), "bind a") == 5);
}

TEST_CASE("a job is let in while what it needs to start fits its queue and the cluster times a factor",
          "[engine][volcano]") {
  volcano_world w;
  w.add(a_node{"n"}.cpu(10));
  w.queue("a", 1, 0, 4);
  w.queue("b");
  w.job("wide", "a", 5, 5, 1);
  const words said = w.run();
  CHECK(count(said, "reject wide") == 5);
  CHECK(w.counts()[2] > 0);
  w.job("huge", "b", 13, 13, 1);  // 13 of 10 · 1.2
  CHECK(count(w.run_at(1s), "reject huge") == 13);
  w.job("fits", "a", 3, 3, 1);
  CHECK(count(w.run_at(2s), "bind fits") == 3);
  // Neither is tried again for nothing.
  const std::uint64_t before = w.wake_ups();
  for (int i = 3; i < 9; ++i) CHECK(w.run_at(std::chrono::seconds{i}).empty());
  CHECK(w.wake_ups() == before);
}

TEST_CASE("a gang starts as one or not at all, and what it would be above deserved waits", "[engine][volcano]") {
  volcano_world w;
  w.add(a_node{"n"}.cpu(4));
  w.add(a_node{"m"}.cpu(4));
  w.queue("a");
  w.queue("b");
  w.job("first", "a", 4, 4, 1);
  w.job("second", "b", 4, 6, 1);
  const words said = w.run(true);
  CHECK(count(said, "bind first") == 4);
  CHECK(count(said, "bind second") == 4);
}

TEST_CASE("whose turn it is: the queue's priority and share, then the job's priority, then who has less",
          "[engine][volcano]") {
  volcano_world w{{action::allocate}, tiers_with(plugin_name::proportion)};
  w.add(a_node{"n"}.cpu(4));
  w.queue("a");
  w.queue("b");
  w.ask("a0", "a", 1, 0, "n");
  w.ask("a1", "a", 1, 9);
  w.ask("b0", "b", 1, 0);
  w.ask("b1", "b", 1, 5);
  CHECK(w.run(true) == words{"bind b1 n", "bind a1 n", "bind b0 n"});

  volcano_world jobs{{action::allocate}, tiers_with(plugin_name::proportion)};
  jobs.add(a_node{"n"}.cpu(4));
  jobs.queue("a");
  jobs.job("runs", "a", 1, 3, 1, 0, {"n", "n"});  // its minimum is met
  jobs.ask("new", "a", 1);
  CHECK(jobs.run(true) == words{"bind new n", "bind runs-2 n"});
}

TEST_CASE("by hierarchy the branch goes first that has less for its weight", "[engine][volcano]") {
  plugin_tiers tiers{{{.name = plugin_name::gang}}, {{.name = plugin_name::drf, .hierarchy = true}}};
  volcano_world w{{action::allocate}, tiers};
  w.add(a_node{"n"}.cpu(12));
  w.queue("science", 1);
  w.queue("sales", 3);
  w.queue("physics", 1, 0, -1, "science");
  w.queue("stores", 1, 0, -1, "sales");
  for (int i = 0; i < 20; ++i) w.ask("p" + std::to_string(i), "physics", 1);
  for (int i = 0; i < 20; ++i) w.ask("s" + std::to_string(i), "stores", 1);
  const words said = w.run(true);
  CHECK(count(said, "bind p") == 3);
  CHECK(count(said, "bind s") == 9);
}

TEST_CASE("weights below 1 divide as others do", "[engine][volcano]") {
  plugin_tiers tiers{{{.name = plugin_name::gang}}, {{.name = plugin_name::drf, .hierarchy = true}}};
  volcano_world w{{action::allocate}, tiers};
  w.add(a_node{"n"}.cpu(12));
  w.queue("stores", 0.75);
  w.queue("physics", 0.25);
  for (int i = 0; i < 20; ++i) w.ask("p" + std::to_string(i), "physics", 1);
  for (int i = 0; i < 20; ++i) w.ask("s" + std::to_string(i), "stores", 1);
  const words said = w.run(true);
  CHECK(count(said, "bind p") == 3);
  CHECK(count(said, "bind s") == 9);
}

TEST_CASE("what a trial placed is in no share and no reservation once it is taken back", "[engine][volcano]") {
  const plugin_tiers tiers{{{.name = plugin_name::gang}}, {{.name = plugin_name::drf, .hierarchy = true}}};
  volcano_world w{{action::allocate}, tiers};
  const node_id node = w.add(a_node{"n"}.cpu(12));
  w.queue("a");
  const pod_id pod = w.ask("a0", "a", 4);
  volcano_books books;
  const cluster_view view{detail::inside(w.cluster)};
  books.read(view, tiers);
  const queues::queue_index queue = books.find(view.pod(pod)->queue());
  const auto kept = [&] { return books.reserved(view, queue, {}).inqueue.get(queues::volcano::cpu); };
  {
    transaction trial{w.cluster};
    w.must(w.cluster.assume(pod, node));
    CHECK(books.hierarchy(view)->leaves.size() == 1);
    CHECK(kept() == 0);  // it runs
  }
  CHECK(books.hierarchy(view)->leaves.empty());
  {
    transaction trial{w.cluster};
    w.must(w.cluster.nominate(pod, node));
    CHECK(kept() == 4000);
  }
  CHECK(kept() == 0);
}

TEST_CASE("a queue that has less than it deserves takes it from members above the minimum of jobs of others",
          "[engine][volcano]") {
  volcano_world w{{action::allocate, action::reclaim}, tiers_with(plugin_name::capacity)};
  w.add(a_node{"n"}.cpu(8));
  w.queue("a", 1, 4);
  w.queue("b", 1, 4);
  w.job("big", "a", 2, 8, 1, 0, std::vector<std::string>(8, "n"));
  w.ask("b0", "b", 2);
  const words said = sorted(w.run());
  CHECK(said == words{"evict big-6 n", "evict big-7 n", "nominate b0 n"});
  w.must(w.cluster.set_terminating(w.pod("big-6"), true));
  w.must(w.cluster.set_terminating(w.pod("big-7"), true));
  CHECK(count(w.run_at(2s), "evict") == 0);
  CHECK(w.cluster.nominated_node_of(w.pod("b0")) == w.node("n"));
  w.remove(w.pod("big-6"));
  w.remove(w.pod("big-7"));
  CHECK(w.run_at(60s) == words{"bind b0 n"});
  w.ask("b1", "b", 3);  // b has two of the four
  CHECK(w.run_at(61s) == words{"reject b1"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("nobody reclaims from a queue that does not lend, from critical pods, from those labelled, or too early",
          "[engine][volcano]") {
  for (const std::string how : {"free", "keeps", "critical", "labelled", "early", "minimum"}) {
    plugin_tiers tiers{{{.name = plugin_name::capacity}}};
    if (how != "free" && how != "keeps") tiers.front().push_back({.name = plugin_name::gang});
    volcano_world w{{action::allocate, action::reclaim}, tiers};
    w.add(a_node{"n"}.cpu(4));
    queue_spec a{.name = "a"};
    a.lends_running = how != "keeps";
    if (how == "early") a.reclaim_min_runtime = 1h;
    w.queue(a);
    w.queue("b", 1, 4);
    group_spec spec{.name = "job", .queue = "a"};
    spec.policy = gang{.min_count = how == "minimum" || how == "free" || how == "keeps" ? 4 : 1};
    const group_id group = w.add(spec);
    for (int i = 0; i < 4; ++i) {
      a_pod one{"a" + std::to_string(i)};
      one.cpu(1).in(group).on(w.node("n"));
      if (how == "critical") one.priority(2'000'000'000);
      if (how == "labelled") one.label("volcano.sh/preemptable", "false");
      one.spec.start_time = instant{0};
      w.add(one);
    }
    w.now = 60s;
    w.ask("b0", "b", 1);
    INFO(how);
    CHECK(count(w.run(), "evict") == (how == "free" ? 1 : 0));
  }
}

TEST_CASE(
    "within a queue a job of higher priority has members above a minimum go, and a whole gang fits or nobody goes",
    "[engine][volcano]") {
  volcano_world w{{action::allocate, action::preempt}, tiers_with(plugin_name::proportion)};
  w.add(a_node{"n"}.cpu(3));
  w.add(a_node{"m"}.cpu(3));
  w.queue("a");
  w.job("low", "a", 2, 6, 1, 0, {"n", "n", "n", "m", "m", "m"});
  w.job("too", "a", 3, 3, 2, 9);  // five would have to go: two stay
  CHECK(count(w.run(), "evict") == 0);
  w.job("high", "a", 2, 2, 2, 9);
  const words said = w.run_at(1s);
  CHECK(count(said, "evict low") == 4);
  CHECK(count(said, "nominate high") == 2);
  w.ask("equal", "a", 1, 0);
  CHECK(count(w.run_at(2s), "evict") == 0);
}

TEST_CASE("pods without a queue are not limited and go first, and for queues that are not there everybody waits",
          "[engine][volcano]") {
  volcano_world w;
  w.add(a_node{"n"}.cpu(4));
  w.queue("a");
  w.ask("a0", "a", 1, 9);
  w.add(a_pod{"free"}.cpu(3));
  CHECK(w.run() == words{"bind free n", "bind a0 n"});
  w.ask("lost", "late", 0);
  CHECK(w.run_at(1s) == words{"reject lost"});
  w.queue("late");
  CHECK(w.run_at(60s) == words{"bind lost n"});
}

TEST_CASE("Volcano's configuration is read as it is written", "[engine][volcano]") {
  using fields = argument::fields;
  using list = argument::list;
  const auto tier = [](list plugins) { return argument{fields{{"plugins", argument{std::move(plugins)}}}}; };
  const auto of = [](const char* called) { return argument{fields{{"name", called}}}; };
  CHECK(volcano_policy::from({}));
  const argument fine{fields{
      {"actions", "enqueue, allocate, preempt, reclaim, backfill"},
      {"tiers",
       list{tier({of("priority"), argument{fields{{"name", "gang"}, {"enablePreemptable", false}}}, of("conformance")}),
            tier({argument{fields{{"name", "overcommit"}, {"arguments", fields{{"overcommit-factor", 1.5}}}}},
                  of("drf"), of("predicates"), of("proportion"), of("nodeorder")})}}}};
  CHECK(volcano_policy::from(fine));
  const auto wrong = [&](argument args) { return volcano_policy::from(args).error(); };
  CHECK(wrong(fields{{"actions", "enqueue, shuffle"}}).code == errc::unknown);
  CHECK(wrong(fields{{"tiers", list{tier({of("tdm")})}}}).code == errc::unknown);
  CHECK(wrong(fields{{"tiers", list{tier({of("gang"), of("gang")})}}}).code == errc::malformed);
  CHECK(wrong(fields{{"tiers", list{tier({of("proportion"), of("capacity")})}}}).object == "plugin Volcano");
  CHECK(wrong(fields{{"tiers", list{tier({argument{fields{{"name", "gang"}, {"enableHierarchy", true}}}})}}}).code ==
        errc::unknown);
}

TEST_CASE("in random clusters queues stay within their limits, gangs are whole, and each instant comes to rest",
          "[engine][volcano]") {
  std::size_t bound = 0, evicted = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    dice roll{seed};
    std::vector<action> actions{action::allocate};
    if (roll.percent(70)) actions.insert(actions.begin(), action::enqueue);
    if (roll.percent(70)) actions.push_back(action::reclaim);
    if (roll.percent(70)) actions.push_back(action::preempt);
    plugin_tiers tiers =
        tiers_with(roll.percent(50) ? plugin_name::capacity : plugin_name::proportion, roll.percent(80));
    if (roll.percent(30)) tiers.back()[1].hierarchy = true;
    volcano_world w{actions, tiers};
    for (int i = 0; i < 3; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(6));
    jobs_by_dice jobs{w, roll};
    w.queue("company", 2, 0, jobs.limits["company"] = roll.between(8, 18));
    for (const std::string name : {"a", "b", "c"}) {
      const std::int64_t deserved = roll.between(0, 8);
      w.queue(name, static_cast<double>(roll.between(1, 4)), deserved,
              jobs.limits[name] = deserved + roll.between(0, 8), name == "c" ? "" : "company");
    }
    const auto ask = [&](const std::string& name, const char* queue) {
      w.ask(name, queue, roll.between(1, 3), static_cast<std::int32_t>(roll.below(3)));
    };
    for (int step = 0; step < 40; ++step) {
      CAPTURE(seed, step);
      jobs.step(ask, [] {});
    }
    bound += jobs.bound, evicted += jobs.evicted, refused += jobs.refused;
    REQUIRE(w.scheduler.verify());
  }
  CHECK(bound > 1000);
  CHECK(evicted > 50);
  CHECK(refused > 1000);
}

}  // namespace gangsched::testing::volcano_policy_test
