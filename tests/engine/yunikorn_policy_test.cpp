// YuniKorn's policy on the queues of a cluster: who may run, whose turn it is, and who goes for a guarantee.
#include <map>
#include <optional>

#include "gangsched/plugins/yunikorn.hpp"
#include "jobs_by_dice.hpp"

namespace gangsched::testing::yunikorn_policy_test {

namespace {

using options = yunikorn_policy::options;
using queues::yunikorn::application_order;

struct yunikorn_world : core_queues {
  explicit yunikorn_world(options chosen = {})
      : core_queues(
            profile{yunikorn_policy{std::move(chosen)}, scheduling_gates{}, node_resources_fit{}, gang_scheduling{}}) {}
};

}  // namespace

TEST_CASE("the queue that uses less of its guarantee goes first, on every level, and priority before that",
          "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(12));
  w.queue("left", 9);
  w.queue("right", 3);
  w.queue("l1", 0, -1, "left");
  w.queue("r1", 0, -1, "right");
  for (int i = 0; i < 12; ++i) w.ask("l" + std::to_string(i), "l1", 1);
  for (int i = 0; i < 12; ++i) w.ask("r" + std::to_string(i), "r1", 1);
  words said = w.run(true);
  CHECK(count(said, "bind l") == 9);
  CHECK(count(said, "bind r") == 3);

  for (const bool first : {true, false}) {
    options chosen;
    chosen.priority_first = first;
    yunikorn_world by{chosen};
    by.add(a_node{"n"}.cpu(4));
    by.queue("a", 2);
    by.queue("b", 2);
    by.ask("a0", "a", 1, 0, "n");
    by.ask("a1", "a", 1, 5);
    by.ask("b0", "b", 1, 0);
    CHECK(by.run(true) == (first ? words{"bind a1 n", "bind b0 n"} : words{"bind b0 n", "bind a1 n"}));
  }
}

TEST_CASE("a group that comes after its pods is a part of its tree's application as if it had come before",
          "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(8));
  queue_spec a = core_queues::spec_of("a", 0);
  a.max_running = 1;
  w.queue_world::queue(a);
  const group_id root =
      w.world::add(group_spec{.name = "root", .policy = gang{.min_count = 1}, .composite = true, .queue = "a"});
  const auto part = [&](const char* name, int least) {
    group_spec spec = a_gang{name, least};
    spec.parent = root;
    return w.must(w.cluster.add_group(spec));
  };
  w.add(w.of("first-0", "a", 1).in(part("first", 1)));
  const group_id late = w.must(w.cluster.expect_group("default", "late"));
  for (const char* const name : {"late-0", "late-1"}) w.add(w.of(name, "a", 1).in(late));
  CHECK(w.run(true) == words{"bind first-0 n"});
  CHECK(part("late", 2) == late);
  CHECK(sorted(w.run_at(60s)) == words{"bind late-0 n", "bind late-1 n"});
}

TEST_CASE("applications of a queue go by age, or fairly by what they have", "[engine][yunikorn]") {
  for (const bool fair : {false, true}) {
    options chosen;
    chosen.order = fair ? application_order::fair : application_order::fifo;
    yunikorn_world w{chosen};
    w.add(a_node{"n"}.cpu(8));
    w.queue("a");
    w.job("old", "a", 1, 3, 1, 0, {"n", "n"});
    w.job("new", "a", 1, 1, 1);
    CHECK(w.run(true) == (fair ? words{"bind new-0 n", "bind old-2 n"} : words{"bind old-2 n", "bind new-0 n"}));
  }
}

TEST_CASE("nobody gets more than any maximum on the way up, and what waits for one costs nothing",
          "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(16));
  w.queue("top", 0, 6);
  w.queue("a", 0, 4, "top");
  w.queue("b", 0, -1, "top");
  for (int i = 0; i < 8; ++i) w.ask("a" + std::to_string(i), "a", 1);
  for (int i = 0; i < 8; ++i) w.ask("b" + std::to_string(i), "b", 1);
  const words said = w.run(true);
  CHECK(count(said, "bind") == 6);
  CHECK(count(said, "bind a") <= 4);
  const std::uint64_t before = w.wake_ups();
  for (int i = 1; i < 6; ++i) CHECK(w.run_at(std::chrono::seconds{i}).empty());
  CHECK(w.wake_ups() == before);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a gang counts as one: all of its minimum within the maximum, or nothing", "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(16));
  w.queue("a", 0, 4);
  w.job("wide", "a", 5, 5, 1);
  CHECK(count(w.run(), "bind") == 0);
  w.job("fits", "a", 4, 4, 1);
  CHECK(count(w.run_at(1s), "bind fits") == 4);
}

TEST_CASE("a queue runs as many applications as it may, and the next when one has nothing any more",
          "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(16));
  queue_spec spec = w.spec_of("a", 0, -1, "");
  spec.max_running = 2;
  w.queue(spec);
  w.job("first", "a", 2, 2, 1);
  w.ask("second", "a", 1);
  w.ask("third", "a", 1);
  const words said = w.run(true);
  CHECK(count(said, "bind first") == 2);
  CHECK(count(said, "bind second") == 1);
  CHECK(count(said, "reject third") == 1);
  const std::uint64_t before = w.wake_ups();
  CHECK(w.run_at(5s).empty());
  CHECK(w.wake_ups() == before);
  w.remove(w.pod("second"));
  CHECK(w.run_at(60s) == words{"bind third n"});
}

TEST_CASE("users and groups have limits of their own, of amounts and of applications", "[engine][yunikorn]") {
  options chosen;
  chosen.limits = {{.queue = "a", .user = "ann", .group = "", .max = {{"cpu", 2000}}},
                   {.queue = "a", .user = "*", .group = "", .max_applications = 1}};
  yunikorn_world w{chosen};
  w.add(a_node{"n"}.cpu(16));
  w.queue("a");
  const auto add = [&](const std::string& name, const char* user) {
    w.add(w.of(name, "a", 1).label("yunikorn.apache.org/username", user));
  };
  for (int i = 0; i < 3; ++i) add("ann" + std::to_string(i), "ann");
  for (int i = 0; i < 3; ++i) add("bob" + std::to_string(i), "bob");
  words said = w.run(true);
  CHECK(count(said, "bind ann") == 2);
  CHECK(count(said, "bind bob") == 1);
  w.remove(w.pod("bob0"));
  said = w.run_at(60s);
  CHECK(count(said, "bind bob") == 1);
  CHECK(count(said, "bind ann") == 0);
  group_spec gang_of_ann{.name = "g", .queue = "a"};
  gang_of_ann.policy = gang{.min_count = 3};
  const group_id group = w.add(gang_of_ann);
  for (int i = 0; i < 3; ++i)
    w.add(w.of("cid" + std::to_string(i), "a", 1).in(group).label("yunikorn.apache.org/username", "ann"));
  CHECK(count(w.run_at(61s), "bind") == 0);
}

TEST_CASE("for a queue below its guarantee the newest on a node go of those above theirs, as many as it asks for",
          "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(4));
  w.add(a_node{"m"}.cpu(4));
  w.queue("a", 2);
  w.queue("b", 4);
  for (int i = 0; i < 4; ++i) w.ask("a" + std::to_string(i), "a", 2, 0, i < 2 ? "n" : "m");
  w.ask("b0", "b", 2);
  CHECK(sorted(w.run()) == words{"evict a1 n", "nominate b0 n"});
  w.must(w.cluster.set_terminating(w.pod("a1"), true));
  CHECK(count(w.run_at(2s), "evict") == 0);
  w.remove(w.pod("a1"));
  CHECK(w.run_at(60s) == words{"bind b0 n"});
  w.ask("b1", "b", 4);  // b would be above its guarantee
  CHECK(count(w.run_at(61s), "evict") == 0);
  CHECK(w.scheduler.verify());
}

TEST_CASE("nobody goes without a guarantee, of a higher priority, out of a queue that does not lend, or over a fence",
          "[engine][yunikorn]") {
  for (const std::string how : {"goes", "no guarantee", "priority", "keeps", "fence", "never"}) {
    options chosen;
    if (how == "fence") chosen.preemption_fences = {"other"};
    yunikorn_world w{chosen};
    w.add(a_node{"n"}.cpu(4));
    w.queue("top");
    w.queue("other");
    queue_spec a = w.spec_of("a", 0, -1, "top");
    a.lends_running = how != "keeps";
    w.queue(a);
    w.queue("b", how == "no guarantee" ? 0 : 4, -1, "other");
    for (int i = 0; i < 4; ++i) w.ask("a" + std::to_string(i), "a", 1, how == "priority" ? 1 : 0, "n");
    a_pod one = w.of("b0", "b", 1);
    if (how == "never") one.spec.preemption = preemption_policy::never;
    w.add(one);
    INFO(how);
    CHECK(count(w.run(), "evict") == (how == "goes" ? 1 : 0));
  }
}

TEST_CASE("what victims released below a maximum is kept for whom they went", "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(8));
  w.queue("org", 0, 1);
  w.queue("b", 1, -1, "org");
  w.queue("c", 0, -1, "org");
  w.ask("low", "c", 1, 0, "n");
  w.ask("high", "b", 1, 1);
  CHECK(w.run_at(1s) == words{"nominate high n", "evict low n"});
  w.remove(w.pod("low"));
  w.ask("again", "c", 1);  // made anew by its controller, while the preemptor waits for its next attempt
  const words said = w.run_each_second(2, 20);
  CHECK(count(said, "evict") == 0);
  CHECK(count(said, "bind high n") == 1);
  CHECK(count(said, "bind again") == 0);
}

TEST_CASE("a gang gets its guarantee as one", "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(3));
  w.add(a_node{"m"}.cpu(3));
  w.queue("a");
  w.queue("b", 4);
  for (int i = 0; i < 6; ++i) w.ask("a" + std::to_string(i), "a", 1, 0, i < 3 ? "n" : "m");
  w.job("wide", "b", 3, 3, 2);  // six of four
  CHECK(count(w.run(), "evict") == 0);
  w.job("gang", "b", 2, 2, 2);
  const words said = w.run_at(1s);
  CHECK(count(said, "evict a") == 4);
  CHECK(count(said, "nominate gang") == 2);
}

TEST_CASE("for who has to be on one node whoever may goes from there, whatever queues are guaranteed",
          "[engine][yunikorn]") {
  core_queues w{profile{yunikorn_policy{}, scheduling_gates{}, node_affinity_plugin{}, node_resources_fit{}}};
  w.add(a_node{"m"}.cpu(4));
  w.add(a_node{"n"}.cpu(4));
  w.add(a_node{"free"}.cpu(1));
  w.queue("a", 8);
  w.queue("b");
  for (int i = 0; i < 2; ++i) w.ask("m" + std::to_string(i), "a", 2, 0, "m");
  w.ask("n0", "a", 2, 0, "n");
  const auto daemon = [&](const std::string& name, const std::string& node, std::int32_t priority = 0) {
    a_pod one = w.of(name, "b", 2, priority);
    one.spec.affinity.required.emplace().push_back(
        {.match_fields = {{"metadata.name", selector_operator::in, {node}}}});
    return one;
  };
  a_pod there = daemon("n1", "n");
  there.on(w.node("n"));
  w.add(there);
  w.add(daemon("low", "n", -1));
  CHECK(w.run() == words{"reject low"});
  w.add(daemon("d", "n"));
  CHECK(count(w.run_at(1s), "evict") == 0);  // as long as all nodes together have no room for it
  w.add(a_node{"more"}.cpu(1));
  CHECK(sorted(w.run_at(400s)) == words{"evict n0 n", "nominate d n", "reject low"});  // n1 has to be there, too
  w.remove(w.pod("n0"));
  CHECK(count(w.run_at(500s), "bind d n") == 1);
  w.add(daemon("e", "n", 5));
  CHECK(count(w.run_at(501s), "evict") == 0);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a member that has to be on one node has nobody of its own gang evicted", "[engine][yunikorn]") {
  core_queues w{
      profile{yunikorn_policy{}, scheduling_gates{}, node_affinity_plugin{}, node_resources_fit{}, gang_scheduling{}}};
  w.add(a_node{"m"}.cpu(2));
  w.add(a_node{"n"}.cpu(4));
  w.add(a_node{"other"}.cpu(1));
  w.add(a_node{"another"}.cpu(1));
  w.queue("a");
  w.queue("b");
  w.ask("old", "a", 2, 0, "n");
  const group_id gang = w.add(a_gang{"gang", 3});
  for (const std::string name : {"l0", "x1", "y2"}) {
    a_pod one = w.of(name, "b", 2);
    one.spec.group = gang;
    if (name == "y2")
      one.spec.affinity.required.emplace().push_back(
          {.match_fields = {{"metadata.name", selector_operator::in, {"n"}}}});
    w.add(one);
  }
  const words said = sorted(w.run());
  CHECK(count(said, "evict old n") == 1);
  CHECK(count(said, "nominate") == 3);
  w.remove(w.pod("old"));
  CHECK(count(w.run_at(60s), "bind") == 3);
}

TEST_CASE("a gang of the permit room preempts with what its waiting members hold", "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(4));
  w.queue("a");
  w.queue("b", 4);
  w.ask("old", "a", 3, 0, "n");
  const group_id gang = w.add(a_gang{"gang", 2}.permit());
  w.add(w.of("small", "b", 1).in(gang));
  w.add(w.of("large", "b", 3).in(gang));
  CHECK(count(w.run(), "evict old n") == 1);
  w.remove(w.pod("old"));
  CHECK(count(w.run_at(60s), "bind large n") == 1);
}

TEST_CASE("a gang that goes as a whole gets its guarantee, and is nobody's victim", "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(4));
  w.queue("a");
  w.queue("b", 4);
  w.queue("c", 2);
  for (int i = 0; i < 4; ++i) w.ask("a" + std::to_string(i), "a", 1, 0, "n");
  a_gang whole{"whole", 2};
  whole.spec.disruption = disruption_mode::all;
  w.job(whole, "b", a_pod{""}.cpu(2), 2, 0, {});
  CHECK(count(w.run(), "evict a") == 4);
  for (int i = 0; i < 4; ++i) w.remove(w.pod("a" + std::to_string(i)));
  CHECK(count(w.run_at(60s), "bind whole") == 2);
  w.ask("c0", "c", 2);
  CHECK(count(w.run_at(61s), "evict") == 0);
}

TEST_CASE(
    "pods without a queue are not limited, and nobody is let into queues that are not there, or have others below",
    "[engine][yunikorn]") {
  yunikorn_world w;
  w.add(a_node{"n"}.cpu(8));
  w.queue("top", 0, 1);
  w.queue("a", 0, -1, "top");
  w.add(a_pod{"free"}.cpu(4));
  w.ask("inner", "top", 1);
  w.ask("lost", "late", 1);
  CHECK(sorted(w.run()) == words{"bind free n", "reject inner", "reject lost"});
  w.queue("late");
  CHECK(w.run_at(60s) == words{"bind lost n"});
}

TEST_CASE("when a queue's maximum is lowered its pods go after its delay, until it is within it",
          "[engine][yunikorn]") {
  options chosen;
  chosen.quota_preemption = {{"top", 60s}, {"a", 30s}};
  yunikorn_world w{chosen};
  w.add(a_node{"n"}.cpu(40));
  w.queue("top", 0, 30);
  w.queue("a", 2, 30, "top");
  w.queue("b", 0, 30, "top");
  for (const std::int64_t cores : {3, 4, 5, 6}) w.ask("a" + std::to_string(cores), "a", cores);
  w.ask("b8", "b", 8);
  w.run(true);
  const yunikorn_policy policy{chosen};
  queues::yunikorn::quota_watch watch;
  const auto said = [&](instant now) {
    words names;
    for (const pod_id pod : policy.over_quota(w.cluster, now, watch)) names.emplace_back(w.cluster.name_of(pod));
    return names;
  };
  CHECK(said(0s).empty());
  w.must(w.cluster.queues().update(*w.cluster.queues().find("a"), w.spec_of("a", 2, 10, "top")));
  CHECK(said(10s).empty());
  CHECK(said(39s).empty());
  CHECK(said(40s) == words{"a3", "a4"});  // eight are to be freed: three and four, and the five would be too many
  for (const char* gone : {"a3", "a4"}) w.must(w.cluster.set_terminating(w.pod(gone), true));
  CHECK(said(41s).empty());
  for (const char* gone : {"a3", "a4"}) w.remove(w.pod(gone));
  CHECK(said(71s).empty());  // one is left to free, and nobody is as small as that
  // The queue above is to free eleven, by what those below have above their guarantees: of a and b 9 and 8, which makes five each.
  w.must(w.cluster.queues().update(*w.cluster.queues().find("a"), w.spec_of("a", 2, 30, "top")));
  w.must(w.cluster.queues().update(*w.cluster.queues().find("top"), w.spec_of("top", 0, 8)));
  CHECK(said(100s).empty());
  CHECK(said(160s) == words{"a5"});
  CHECK(yunikorn_policy{}.over_quota(w.cluster, 1000s, watch).empty());  // nobody opted in
  CHECK(w.scheduler.verify());
}

TEST_CASE("arguments of YuniKorn's policy are read by name", "[engine][yunikorn]") {
  using fields = argument::fields;
  using list = argument::list;
  CHECK(yunikorn_policy::from({}));
  CHECK(yunikorn_policy::from(fields{
      {"applicationSortPolicy", "fair"},
      {"applicationSortPriority", "disabled"},
      {"preemptionFences", list{"a"}},
      {"quotaPreemptionDelays", fields{{"a", 60}}},
      {"limits", list{argument{fields{{"queue", "a"}, {"user", "*"}, {"maxResources", fields{{"cpu", 4000}}}}}}}}));
  const auto wrong = [](argument args) { return yunikorn_policy::from(args).error().code; };
  CHECK(wrong(fields{{"applicationSortPolicy", "random"}}) == errc::unknown);
  CHECK(wrong(fields{{"queues", 1}}) == errc::unknown);
  CHECK(wrong(fields{{"quotaPreemptionDelays", fields{{"a", 0}}}}) == errc::out_of_range);
  CHECK(wrong(fields{{"limits", list{argument{fields{{"queue", "a"}}}}}}) == errc::malformed);
  CHECK(wrong(fields{{"limits", list{argument{fields{{"user", "ann"}}}}}}) == errc::malformed);
}

TEST_CASE(
    "in random clusters queues and users stay within their limits, gangs are whole, and each instant comes to rest",
    "[engine][yunikorn]") {
  std::size_t bound = 0, evicted = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    dice roll{seed};
    options chosen;
    chosen.priority_first = roll.percent(70);
    chosen.order = roll.percent(50) ? application_order::fair : application_order::fifo;
    const std::int64_t of_ann = roll.between(2, 8);
    chosen.limits = {{.queue = "top", .user = "ann", .group = "", .max = {{"cpu", of_ann * 1000}}}};
    yunikorn_world w{chosen};
    for (int i = 0; i < 3; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(6));
    jobs_by_dice jobs{w, roll};
    w.queue("top", 0, jobs.limits["top"] = roll.between(8, 18));
    std::int64_t most = 0;
    for (const std::string name : {"a", "b", "c"}) {
      const std::int64_t guaranteed = roll.between(0, 6), limit = guaranteed + roll.between(0, 8);
      queue_spec spec = w.spec_of(name, guaranteed, jobs.limits[name] = limit, name == "c" ? "" : "top");
      if (name == "a") spec.max_running = most = roll.between(1, 4);
      w.queue(spec);
    }
    std::vector<std::pair<pod_id, std::int64_t>> anns;
    const auto ask = [&](const std::string& name, const char* queue) {
      const std::int64_t cores = roll.between(1, 3);
      a_pod one = w.of(name, queue, cores, static_cast<std::int32_t>(roll.below(3)));
      const bool ann = one.spec.queue != "c" && roll.percent(50);
      if (ann) one.label("yunikorn.apache.org/username", "ann");
      const pod_id made = w.add(one);
      if (ann) anns.emplace_back(made, cores);
    };
    const auto look = [&] {
      CHECK(w.cluster.queues().usage_of(*w.cluster.queues().find("a")).running <= most);
      std::int64_t has = 0;
      for (const auto& [pod, cores] : anns)
        if (w.cluster.contains(pod) && w.cluster.node_of(pod)) has += cores;
      CHECK(has <= of_ann);
    };
    for (int step = 0; step < 40; ++step) {
      CAPTURE(seed, step);
      jobs.step(ask, look);
    }
    bound += jobs.bound, evicted += jobs.evicted, refused += jobs.refused;
    REQUIRE(w.scheduler.verify());
  }
  CHECK(bound > 1000);
  CHECK(evicted > 30);
  CHECK(refused > 1000);
}

}  // namespace gangsched::testing::yunikorn_policy_test
