// Kueue's policy on the queues of a cluster, as a host sees it: borrowing, reclaim, flavors, orders of queues, gangs.
#include "gangsched/model/transaction.hpp"
#include "kueue_world.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::kueue_test {

using namespace kueue_world;

TEST_CASE("queues without a cohort above them share nothing, and a cohort's own quota is everybody's below it",
          "[engine][kueue]") {
  shared w;
  w.gpus("n", 10);
  queue_spec alone = shared::team("alone", 2);
  alone.parent.clear();
  w.queue(alone);
  w.queue({.name = "all", .quotas = {{.guaranteed = {{gpu, 6}}}}});  // itself 1, beside those below it
  w.queue(shared::team("a", 2));
  w.queue(shared::team("b", 3));
  w.ask("alone", 5);
  w.ask("a", 10);
  CHECK(count(w.act(0s), "bind") == 8);
  CHECK(w.used("alone") == 2);
  CHECK(w.used("a") == 6);
}

TEST_CASE("nobody borrows above his borrowing limit, nor what is not lent", "[engine][kueue]") {
  shared w;
  w.gpus("n", 10);
  w.cohort();
  queue_spec a = shared::team("a", 4), b = shared::team("b", 6);
  a.quotas[0].borrowing_limit[gpu] = 3;
  w.queue(a);
  w.queue(b);
  w.ask("a", 10);
  w.act(0s);
  CHECK(w.used("a") == 7);
  b.quotas[0].lending_limit[gpu] = 2;
  w.update(b);  // nobody is taken anything by that alone
  CHECK(w.act(1min).empty());
  w.remove(w.pod("a-0"));
  CHECK(w.act(2min).empty());
  CHECK(w.used("a") == 6);
}

TEST_CASE("flavors are taken in the queue's order, and a workload's pods of one kind have one flavor",
          "[engine][kueue]") {
  shared w;
  w.flavor("reserved");
  w.flavor("spot");
  w.gpus("s", 4, "spot");
  w.gpus("r", 4, "reserved");
  w.gpus("other", 4);
  w.queue({.name = "q",
           .quotas = {{.flavor = "spot", .guaranteed = {{gpu, 3}}}, {.flavor = "reserved", .guaranteed = {{gpu, 4}}}}});
  w.ask_gang("two", "q", 2, 1);
  w.ask_gang("pair", "q", 2, 1);
  w.ask("q", 4);
  const words said = w.act(0s);
  CHECK(sorted(said) == words{"bind pair-0 r", "bind pair-1 r", "bind q-0 s", "bind q-1 r", "bind q-2 r",
                              "bind two-0 s", "bind two-1 s"});
  CHECK(w.used("q", "spot") == 3);
  CHECK(w.used("q", "reserved") == 4);
}

TEST_CASE("a pod that a flavor's nodes are not for gets the next one", "[engine][kueue]") {
  shared w;
  w.must(
      w.cluster.queues().set_flavor({.name = "spot", .node_labels = {{"kind", "spot"}}, .taints = {{.key = "spot"}}}));
  w.flavor("reserved");
  w.gpus("s", 4, "spot");
  w.gpus("r", 4, "reserved");
  w.queue({.name = "q",
           .quotas = {{.flavor = "spot", .guaranteed = {{gpu, 4}}}, {.flavor = "reserved", .guaranteed = {{gpu, 4}}}}});
  w.ask(a_pod{"careful"}.gpus(1), "q");
  pod_spec bold = a_pod{"bold"}.gpus(1);
  bold.tolerations = {{.key = "spot", .op = toleration_operator::exists}};
  w.ask(bold, "q");
  w.ask(a_pod{"picky"}.gpus(1).select("kind", "reserved"), "q");
  CHECK(sorted(w.act(0s)) == words{"bind bold s", "bind careful r", "bind picky r"});
}

TEST_CASE("whether a queue borrows, or has others go, before it looks at the next flavor is its rule",
          "[engine][kueue]") {
  const auto where = [](flavor_rules rules) {
    shared w;
    w.flavor("first");
    w.flavor("next");
    w.gpus("f", 4, "first");
    w.gpus("n", 4, "next");
    w.cohort();
    const auto in = [](std::int64_t first, std::int64_t next) {
      return std::vector<queue_quota>{{.flavor = "first", .guaranteed = {{gpu, first}}},
                                      {.flavor = "next", .guaranteed = {{gpu, next}}}};
    };
    queue_spec a{.name = "a", .parent = "all", .quotas = in(2, 2), .flavors = rules}, b = a;
    b.name = "b";
    w.queue(a);
    w.queue(b);
    w.ask("a", 2);
    w.act(0s);
    w.ask("a", 1);  // of its own it has none of the first left
    words said = w.act(1min);
    w.ask("b", 2);
    for (const std::string& one : w.act(2min)) said.push_back(one);
    return said;
  };
  CHECK(where({}) == words{"bind a-2 f", "bind b-3 f", "bind b-4 n"});
  CHECK(where({.stops_at_borrowing = false}) == words{"bind a-2 n", "bind b-3 f", "bind b-4 f"});
  CHECK(sorted(where({.stops_at_preemption = true})) ==
        words{"bind a-2 f", "bind a-2 n", "bind b-3 f", "bind b-4 f", "evict a-2 f"});
}

TEST_CASE("a queue that goes strictly in order waits for its first, another one passes it by", "[engine][kueue]") {
  for (const head_rule heads : {head_rule::strict, head_rule::best_effort}) {
    two_teams w;
    queue_spec infer = shared::team("infer", 4);
    infer.heads = heads;
    infer.quotas[0].borrowing_limit[gpu] = 0;
    w.update(infer);
    w.ask("infer", 2);
    w.act(0s);
    w.ask(a_pod{"large"}.gpus(4), "infer");
    w.ask(a_pod{"small"}.gpus(1), "infer");
    w.ask(a_pod{"smaller"}.gpus(1), "infer");
    const words said = w.act(1min);
    if (heads == head_rule::best_effort) {
      CHECK(sorted(said) == words{"bind small n", "bind smaller n"});
      continue;
    }
    CHECK(said.empty());
    w.remove(w.pod("infer-0"));
    CHECK(w.act(2min).empty());
    w.remove(w.pod("infer-1"));
    CHECK(count(w.act(3min), "bind large") == 1);
    w.remove(w.pod("large"));
    CHECK(sorted(w.act(4min)) == words{"bind small n", "bind smaller n"});
  }
}

TEST_CASE("who stands behind the first of a strict queue is asked when that one goes", "[engine][kueue]") {
  two_teams w;
  queue_spec infer = shared::team("infer", 4);
  infer.heads = head_rule::strict;
  w.update(infer);
  pod_spec spec = a_pod{"head"}.gpus(1).select("place", "nowhere");
  pod_id head;
  group_id gang;
  const bool alone = GENERATE(true, false);
  if (alone) {
    head = w.ask(spec, "infer");
  } else {
    gang = w.job(a_gang{"gang", 2}, "infer", a_pod{""}.gpus(1).select("place", "nowhere"), 2);
    head = w.pod("gang-0");
  }
  const pod_id next = w.ask(a_pod{"next"}.gpus(1), "infer");
  REQUIRE(w.act(0s).empty());
  REQUIRE(w.act(100s).empty());
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  {
    transaction trial{w.cluster};
    REQUIRE(w.cluster.remove_pod(head));
  }
  CHECK(inside(w.cluster).digest_with_derived() == before);
  CHECK(w.act(101s).empty());
  spec.queue = "infer";
  enum class way { removed, terminating, gated, moved, given_away, less_important, group_changed, group_removed };
  const way how = GENERATE(way::removed, way::terminating, way::gated, way::moved, way::given_away, way::less_important,
                           way::group_changed, way::group_removed);
  CAPTURE(alone, static_cast<int>(how));
  if (how == way::removed) REQUIRE(w.cluster.remove_pod(head));
  if (how == way::terminating) REQUIRE(w.cluster.set_terminating(head));
  if (how == way::gated) spec.scheduling_gates = {"wait"};
  if (how == way::moved) spec.queue = "train";
  if (how == way::given_away) spec.scheduler_name = "other";
  if (how == way::less_important) spec.priority = -1;
  const bool by_group = how == way::group_changed || how == way::group_removed;
  if (by_group ? alone : !alone && how != way::removed) return;
  group_spec larger = a_gang{"gang", 3};
  larger.queue = "infer";
  if (how == way::group_changed) REQUIRE(w.cluster.update_group(gang, larger));
  if (how == way::group_removed) REQUIRE(w.cluster.remove_group(gang));
  if (how > way::terminating && alone) REQUIRE(w.cluster.update_pod(head, spec));
  CHECK(w.act(150s).size() == 1);
  CHECK(w.cluster.node_of(next));
}

TEST_CASE("in a queue the more important goes first, then the earlier", "[engine][kueue]") {
  two_teams w;
  queue_spec infer = shared::team("infer", 2);
  infer.quotas[0].borrowing_limit[gpu] = 0;
  infer.within_queue = queue_preemption::never;
  w.update(infer);
  w.ask("infer", 3);
  w.ask("infer", 1, 5);
  CHECK(w.act(0s) == words{"bind infer-3 n", "bind infer-0 n"});
}

TEST_CASE("a gang gets quota for all that it needs or for nobody, and goes as a whole", "[engine][kueue]") {
  two_teams w;
  w.ask("train", 3);
  w.act(0s);
  w.ask_gang("wide", "infer", 8, 1);
  CHECK(w.act(10s).empty());
  w.remove(w.pod("train-0"));
  CHECK(count(w.act(60s), "bind wide") == 8);
  w.ask("train", 1);  // one GPU of those lent costs the whole gang
  const words back = w.act(120s);
  CHECK(count(back, "evict wide") == 8);
  CHECK(count(back, "bind train") == 1);
  CHECK(count(back, "bind wide") == 0);
}

TEST_CASE("members above a gang's minimum join as far as there is quota, where the others are", "[engine][kueue]") {
  // In the first flavor that has quota for most of them; without partial admission in the first that has it for the minimum.
  for (const bool partial : {true, false}) {
    shared w{{.partial_admission = partial}};
    w.flavor("first");
    w.flavor("next");
    w.gpus("f", 4, "first");
    w.gpus("n", 5, "next");
    w.queue({.name = "q",
             .quotas = {{.flavor = "first", .guaranteed = {{gpu, 3}}}, {.flavor = "next", .guaranteed = {{gpu, 4}}}}});
    const group_id elastic = w.ask_gang("elastic", "q", 5, 1, 0, 2);
    CHECK(count(w.act(0s), "bind elastic") == (partial ? 4 : 3));
    CHECK(w.used("q", partial ? "next" : "first") == (partial ? 4 : 3));
    CHECK(w.used("q") == (partial ? 4 : 3));
    const auto why = w.scheduler.explain(w.pod("elastic-4"));
    REQUIRE(why);
    CHECK(why->summary.find(partial ? "4 of 5 pods of its workload are admitted; queue q: "
                                    : "3 of 5 pods of its workload are admitted; queue q: ") != std::string::npos);
    // What is there later is for who waits, pod by pod.
    queue_spec more = *w.cluster.queues().spec_of(w.cluster.queues().find("q").value());
    more.quotas[partial ? 1 : 0].guaranteed[gpu] = 5;
    w.update(more);
    CHECK(count(w.act(60s), "bind elastic") == 1);
    CHECK(w.cluster.contains(elastic));
  }
}

TEST_CASE("a gang that its queue has quota for only in part starts with fewer, never with less than its minimum",
          "[engine][kueue]") {
  two_teams w;
  w.ask("train", 5);
  w.act(0s);
  w.ask_gang("wide", "infer", 8, 1, 0, 4);
  CHECK(count(w.act(10s), "bind wide") == 5);  // four of its own, and one that train does not use
  w.ask_gang("more", "infer", 3, 1, 0, 2);
  CHECK(w.act(20s).empty());
  w.remove(w.pod("train-0"));
  // One GPU is there: too little for the minimum of the second, and the first goes on growing.
  CHECK(w.act(60s) == words{"bind wide-5 n"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("who can have others go for all of its pods does so, rather than start with fewer", "[engine][kueue]") {
  two_teams w;
  w.ask("infer", 10);
  w.act(0s);
  w.ask_gang("wide", "train", 6, 1, 0, 1);
  const words said = w.act(10s);
  CHECK(count(said, "evict infer") == 6);
  CHECK(count(said, "bind wide") == 6);
  // Of eight no more than six are train's: as many as can be had go.
  two_teams v;
  v.ask("infer", 10);
  v.act(0s);
  v.ask_gang("wide", "train", 8, 1, 0, 1);
  const words fewer = v.act(10s);
  CHECK(count(fewer, "evict infer") == 6);
  CHECK(count(fewer, "bind wide") == 6);
}

TEST_CASE("gangs of a tree that starts with fewer pods give up equal parts of what they can do without",
          "[engine][kueue]") {
  two_teams w;
  queue_spec infer = shared::team("infer", 4);
  infer.quotas[0].borrowing_limit[gpu] = 2;
  w.update(infer);
  const a_gang root = a_gang{"tree", 2}.priority(0);
  group_spec top = root;
  top.composite = true;
  top.queue = "infer";
  const group_id tree = w.add(top);
  for (const char* part : {"a", "b"}) {
    group_spec below = a_gang{std::string{"tree-"} + part, 1};
    below.parent = tree;
    w.job(below, "", a_pod{""}.gpus(1), 4, 0);
  }
  // Six of eight: each gang of four may do without three, and goes without one.
  const words said = w.act(0s);
  CHECK(count(said, "bind tree-a") == 3);
  CHECK(count(said, "bind tree-b") == 3);
}

TEST_CASE("by default nobody borrows at the cost of others; with reclaims_to_borrow from those below its priority",
          "[engine][kueue]") {
  two_teams w;
  w.ask("infer", 4);
  w.ask("train", 6, 4);
  w.act(0s);
  queue_spec third = shared::team("third", 0);
  w.queue(third);
  w.ask("third", 1, 9);
  CHECK(w.act(2min).empty());
  third.reclaims_to_borrow = true;
  third.reclaims_to_borrow_up_to = 3;
  w.update(third);
  CHECK(w.act(3min).empty());  // nobody borrows, so there is nobody to take from
  w.update(shared::team("train", 5));
  CHECK(w.act(3min + 1s).empty());  // train does, and is too important
  w.update(shared::team("train", 7));
  w.update(shared::team("infer", 3));
  const words said = w.act(4min);
  CHECK(count(said, "evict infer") == 1);
  CHECK(count(said, "bind third") == 1);
}

TEST_CASE("a workload that its queue has no quota for waits without attempts, and is told in Kueue's words",
          "[engine][kueue]") {
  two_teams w;
  queue_spec infer = shared::team("infer", 4);
  infer.quotas[0].borrowing_limit[gpu] = 2;
  infer.within_queue = queue_preemption::never;
  w.update(infer);
  w.ask("infer", 8);
  CHECK(count(w.act(0s), "bind") == 6);
  const auto wakes = w.wake_ups();
  w.ask("train", 2);
  CHECK(count(w.act(30s), "bind train") == 2);
  w.gpus("more", 5);
  CHECK(w.act(60s).empty());
  CHECK(w.wake_ups() == wakes);
  const auto why = w.scheduler.explain(w.pod("infer-7"));
  REQUIRE(why);
  CHECK(why->rejected_by == "Kueue");
  CHECK(why->summary ==
        "couldn't assign flavors to its pods: insufficient unused quota, and nobody may be preempted for it: queue "
        "infer: insufficient unused quota for nvidia.com/gpu in flavor every node, 1 more needed");
  w.ask(a_pod{"huge"}.gpus(7), "infer");
  w.act(90s);
  const auto never = w.scheduler.explain(w.pod("huge"));
  REQUIRE(never);
  CHECK(
      never->summary ==
      "couldn't assign flavors to its pods: insufficient quota: queue infer: insufficient quota for nvidia.com/gpu in "
      "flavor every node: 7 requested, at most 6 could be had");
  infer.quotas[0].borrowing_limit[gpu] = 3;
  w.update(infer);
  CHECK(count(w.act(120s), "bind infer") == 1);
  w.remove(w.pod("infer-0"));
  CHECK(count(w.act(180s), "bind infer") == 1);
}

TEST_CASE("a resource that no queue has quota of is free; one that only others have is not to be had",
          "[engine][kueue]") {
  two_teams w;
  w.ask(a_pod{"cpus"}.cpu_milli(2000).gpus(1), "infer");
  CHECK(w.act(0s) == words{"bind cpus n"});
  queue_spec other{.name = "other", .quotas = {{.guaranteed = {{"cpu", 8}}}}};
  w.queue(other);
  w.ask(a_pod{"again"}.cpu_milli(2000).gpus(1), "infer");
  CHECK(w.act(1min).empty());
  const auto why = w.scheduler.explain(w.pod("again"));
  REQUIRE(why);
  CHECK(why->summary ==
        "couldn't assign flavors to its pods: insufficient quota: queue infer: queue infer has no quota of cpu");
}

TEST_CASE("victims are looked for on one node where those that Kueue would name leave no room on any",
          "[engine][kueue]") {
  shared w;
  for (const char* name : {"n", "m"}) w.gpus(name, 4);
  w.cohort();
  w.queue(shared::team("owner", 4));
  w.queue(shared::team("borrower", 4));
  for (int i = 0; i < 8; ++i) {  // the newest, whom Kueue would take, are on both nodes
    w.ask(a_pod{"b-" + std::to_string(i)}.gpus(1).on(w.node(i % 2 == 0 ? "n" : "m")), "borrower");
  }
  w.ask(a_pod{"whole"}.gpus(4), "owner");
  const words said = w.act(10s);
  CHECK(count(said, "evict b") == 4);
  CHECK(count(said, "bind whole") == 1);
  for (int minute = 1; minute < 10; ++minute) CHECK(w.act(std::chrono::minutes{minute}).empty());
  CHECK(w.used("owner") == 4);
}

TEST_CASE("a gang whose room is on few nodes has those go who are there", "[engine][kueue]") {
  shared w;
  for (const char* name : {"n", "m", "k", "l"}) w.gpus(name, 4);
  w.cohort();
  w.queue(shared::team("owner", 8));
  w.queue(shared::team("borrower", 8));
  for (int i = 0; i < 16; ++i) {
    const char* const node = std::vector<const char*>{"n", "m", "k", "l"}.at(static_cast<std::size_t>(i % 4));
    w.ask(a_pod{"b-" + std::to_string(i)}.gpus(1).on(w.node(node)), "borrower");
  }
  w.ask_gang("whole", "owner", 2, 4);
  const words said = w.act(10s);
  CHECK(count(said, "evict b") == 8);
  CHECK(count(said, "bind whole") == 2);
  for (int minute = 1; minute < 10; ++minute) CHECK(w.act(std::chrono::minutes{minute}).empty());
}

TEST_CASE("nobody goes for a workload that would find no node all the same", "[engine][kueue]") {
  two_teams w;
  w.ask("infer", 10);
  w.act(0s);
  w.ask(a_pod{"nowhere"}.gpus(1).select("kind", "none"), "train");
  w.ask(a_pod{"too-large"}.gpus(6), "train");
  CHECK(w.act(10s).empty());
}

TEST_CASE("with fair sharing queues have equal parts of what nobody owns, and the larger part gives way",
          "[engine][kueue]") {
  const auto run = [](bool fair) {
    shared w{{.fair_sharing = {.enabled = fair}}};
    w.gpus("n", 12);
    w.queue({.name = "all", .quotas = {{.guaranteed = {{gpu, 12}}}}});
    for (const char* name : {"a", "b", "c"}) w.queue(shared::team(name, 0));
    w.ask("a", 12);
    w.act(0s);
    w.ask("b", 12);
    w.ask("c", 12);
    for (int minute = 1; minute < 20; ++minute) w.act(std::chrono::minutes{minute});
    CHECK(w.scheduler.verify());
    return std::vector<std::int64_t>{w.used("a"), w.used("b"), w.used("c")};
  };
  CHECK(run(true) == std::vector<std::int64_t>{4, 4, 4});
  CHECK(run(false) == std::vector<std::int64_t>{12, 0, 0});
}

TEST_CASE("heads of queues go by fair shares, those that borrow nothing first", "[engine][kueue]") {
  shared w{{.fair_sharing = {.enabled = true}}};
  w.gpus("n", 12);
  w.cohort();
  w.queue(shared::team("owns", 6));
  queue_spec heavy = shared::team("heavy", 0);
  heavy.weight = 2;
  w.queue(heavy);
  w.queue(shared::team("light", 0));
  w.ask("light", 6);
  w.ask("heavy", 6);
  w.ask("owns", 2);
  const words said = w.act(0s);
  REQUIRE(said.size() == 6);
  CHECK(count(words(said.begin(), said.begin() + 2), "bind owns") == 2);
  CHECK(w.used("heavy") + w.used("light") == 4);
  CHECK(w.used("heavy") > w.used("light"));
}

TEST_CASE("queues that are held, not there, or have queues below let nobody in", "[engine][kueue]") {
  two_teams w;
  queue_spec infer = shared::team("infer", 4);
  infer.state = queue_state::hold;
  w.update(infer);
  w.ask("infer", 1);
  w.ask("missing", 1);
  w.ask("all", 1);
  CHECK(w.act(0s).empty());
  infer.state = queue_state::open;
  w.update(infer);
  CHECK(count(w.act(60s), "bind infer") == 1);
  w.queue(shared::team("missing", 0));
  CHECK(count(w.act(120s), "bind missing") == 1);
}

TEST_CASE("arguments of Kueue's policy are those of its configuration", "[engine][kueue]") {
  using fields = argument::fields;
  using list = argument::list;
  const auto fault = [](const argument& args) {
    const auto made = kueue_policy::from(args);
    return made ? std::string{} : made.error().message();
  };
  CHECK(fault({}).empty());
  CHECK(fault(fields{{"fairSharing",
                      fields{{"enable", true},
                             {"preemptionStrategies", list{"LessThanOrEqualToFinalShare", "LessThanInitialShare"}}}}})
            .empty());
  CHECK(
      fault(fields{{"fairSharing", fields{{"preemptionStrategies", list{}}}}}) ==
      "plugin Kueue: args.fairSharing.preemptionStrategies: has to be one strategy, or LessThanOrEqualToFinalShare and "
      "then LessThanInitialShare");
  CHECK(fault(fields{{"fairSharing", fields{{"enable", 1}}}}) ==
        "plugin Kueue: args.fairSharing.enable: has to be true or false");
  CHECK(fault(fields{{"partialAdmission", false}}).empty());
  CHECK(fault(fields{{"partialAdmission", "no"}}) == "plugin Kueue: args.partialAdmission: has to be true or false");
  CHECK(fault(fields{{"fair", true}}) == "plugin Kueue: args.fair: there is no such argument");
}

}  // namespace gangsched::testing::kueue_test
