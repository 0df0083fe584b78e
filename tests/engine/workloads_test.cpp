// kube-scheduler's pod groups as of 1.37 (KEP-4671), behaviours numbered B1 and on: quorum, order, the cycle. Topology, trees
// and batching are in workload_trees_test.cpp.
#include "support/inside.hpp"
#include "world.hpp"

#include <memory>

namespace gangsched::testing::workloads_test {

namespace {

/// "p0", "p1", … of a gang
void add_members(world& w, group_id gang, const std::string& name, int count, std::int64_t cores = 1) {
  for (int i = 0; i < count; ++i) w.add(a_pod{name + std::to_string(i)}.cpu(cores).in(gang));
}
group_id add_gang(world& w, const std::string& name, std::int32_t min_count, int members, std::int64_t cores = 1) {
  const group_id gang = w.add(a_gang{name, min_count});
  add_members(w, gang, name, members, cores);
  return gang;
}
std::string why(world& w, std::string_view pod) { return world::must(w.scheduler.explain(w.pod(pod))).summary; }
bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
int count(const words& all, std::string_view start) {
  return static_cast<int>(
      std::count_if(all.begin(), all.end(), [&](const std::string& one) { return one.starts_with(start); }));
}

/// Writes down how far the group has come whenever that is asked.
struct observer {
  static constexpr std::string_view name = "Observer";
  using points = implements<point::placement_feasible>;
  std::shared_ptr<words> asked = std::make_shared<words>();
  [[nodiscard]] status placement_feasible(const group_view&, const group_progress& p) const {
    asked->push_back(std::to_string(p.scheduled) + "+" + std::to_string(p.remaining));
    return status::success();
  }
};
/// Lets nobody go.
struct refuses {
  static constexpr std::string_view name = "Refuses";
  using points = implements<point::permit>;
  permit_verdict permit(const reservation&, permit_room&) { return {status::unschedulable("nobody goes")}; }
};
/// Breaks on pods with the label "broken".
struct fragile {
  static constexpr std::string_view name = "Fragile";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_info& pod, node_info) const {
    return pod.label("broken") ? status::error("it broke") : status::success();
  }
};

}  // namespace

TEST_CASE("B1: a gang below its quorum waits at the gate, and becomes active as a whole", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  const group_id gang = add_gang(w, "g", 3, 2);
  CHECK(w.run().empty());
  CHECK(w.counts() == places{0, 0, 0, 1, 0});
  CHECK(says(why(w, "g0"), "minCount pods"));
  w.add(a_pod{"g2"}.cpu(1).in(gang));
  CHECK(w.counts() == places{1, 0, 0, 0, 0});
  CHECK(w.run() == words{"bind g0 n", "bind g1 n", "bind g2 n"});
}

TEST_CASE("B2: members of a group that is not there wait until it is added", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  const group_id gang = w.must(w.cluster.expect_group("default", "g"));
  add_members(w, gang, "g", 2);
  CHECK(w.run().empty());
  w.add(a_node{"m"}.cpu(9));
  CHECK(w.run_at(1h).empty());
  CHECK(w.counts()[0] == 0);
  CHECK(w.add(a_gang{"g", 2}) == gang);
  CHECK(w.run().size() == 2);
  CHECK(w.cluster.assumed().size() == 2);
}

TEST_CASE("B3: members that run count for the quorum", "[workloads]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(9));
  const group_id gang = w.add(a_gang{"g", 3});
  w.add(a_pod{"g0"}.cpu(1).in(gang).on(n));
  w.add(a_pod{"g1"}.cpu(1).in(gang).on(n));
  CHECK(w.run().empty());
  w.add(a_pod{"g2"}.cpu(1).in(gang));
  CHECK(w.run() == words{"bind g2 n"});
}

TEST_CASE("B4: a basic group has no quorum, and others join it later", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(2));
  const group_id basic = w.add(group_spec{.name = "basic"});
  w.add(a_pod{"a"}.cpu(1).in(basic));
  CHECK(w.run(true) == words{"bind a n"});
  w.add(a_pod{"b"}.cpu(1).in(basic));
  CHECK(w.run(true) == words{"bind b n"});
}

TEST_CASE("B5: one gated member gates the whole group, gang or basic", "[workloads]") {
  const bool basic = GENERATE(false, true);
  world w;
  w.add(a_node{"n"}.cpu(9));
  const group_id group = basic ? w.add(group_spec{.name = "g"}) : w.add(a_gang{"g", 1});
  w.add(a_pod{"a"}.cpu(1).in(group));
  const pod_id gated = w.add(a_pod{"b"}.cpu(1).in(group).gate("later"));
  CHECK(w.run().empty());
  CHECK(w.counts() == places{0, 0, 0, 1, 0});
  w.must(w.cluster.update_pod(gated, a_pod{"b"}.cpu(1).in(group)));
  CHECK(w.counts() == places{1, 0, 0, 0, 0});
  // A gated member that joins gates it again.
  const pod_id another = w.add(a_pod{"c"}.cpu(1).in(group).gate("later"));
  CHECK(w.run().empty());
  CHECK(w.counts() == places{0, 0, 0, 1, 0});
  w.remove(another);
  CHECK(w.run() == words{"bind a n", "bind b n"});
}

TEST_CASE("B6: a minimum that falls releases a gated gang, one that rises does not", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  const group_id gang = add_gang(w, "g", 3, 2);
  CHECK(w.run().empty());
  w.must(w.cluster.update_group(gang, a_gang{"g", 5}));
  CHECK(w.run().empty());
  CHECK(w.counts() == places{0, 0, 0, 1, 0});
  w.must(w.cluster.update_group(gang, a_gang{"g", 2}));
  CHECK(w.run().size() == 2);
}

TEST_CASE("B7: when the group goes, waiting members wait for it and running ones stay", "[workloads]") {
  const int room = GENERATE(0, 2, 3);  // never, partly, fully scheduled before
  world w;
  if (room != 0) w.add(a_node{"n"}.cpu(room));
  const group_id gang = add_gang(w, "g", 2, 3);
  w.run(true);
  w.must(w.cluster.remove_group(gang));
  if (room == 3) w.add(a_pod{"late"}.cpu(1).in(gang));
  w.add(a_node{"more"}.cpu(9));
  CHECK(w.run_at(1h).empty());
  CHECK(w.counts()[0] == 0);
  int running = 0;
  for (const pod_id pod : w.cluster.pods()) running += w.cluster.state_of(pod) == pod_state::bound ? 1 : 0;
  CHECK(running == room);
  w.add(a_gang{"g", 2});
  CHECK(count(w.run_at(2h), "bind ") == (room == 3 ? 1 : 3 - room));
}

TEST_CASE("B8: an incomplete gang of higher priority holds nobody up", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(1));
  const group_id gang = w.add(a_gang{"g", 2}.priority(100));
  w.add(a_pod{"g0"}.cpu(1).priority(100).in(gang));
  w.add(a_pod{"alone"}.cpu(1));
  CHECK(w.run() == words{"bind alone n"});
}

TEST_CASE("B9: priority first, then age, pods and groups alike", "[workloads]") {
  const bool group_first = GENERATE(true, false);
  const int group_priority = GENERATE(0, 5);
  const int pod_priority = GENERATE(0, 5);
  world w;
  w.add(a_node{"n"}.cpu(9));
  if (!group_first) w.add(a_pod{"p"}.cpu(1).priority(pod_priority));
  const group_id gang = w.add(a_gang{"g", 2}.priority(group_priority));
  for (const char* name : {"g0", "g1"}) w.add(a_pod{name}.cpu(1).priority(group_priority).in(gang));
  if (group_first) w.add(a_pod{"p"}.cpu(1).priority(pod_priority));
  const bool group_goes = group_priority != pod_priority ? group_priority > pod_priority : group_first;
  if (group_goes)
    CHECK(w.run() == words{"bind g0 n", "bind g1 n", "bind p n"});
  else
    CHECK(w.run() == words{"bind p n", "bind g0 n", "bind g1 n"});
}

TEST_CASE("B10: of two gangs that arrive interleaved the one whose first pod came first is placed whole",
          "[workloads]") {
  const bool a_first = GENERATE(true, false);
  world w;
  w.add(a_node{"n"}.cpu(4));
  const group_id a = w.add(a_gang{"a", 3}), b = w.add(a_gang{"b", 3});
  for (const char* number : {"0", "1", "2"}) {
    if (a_first) w.add(a_pod{std::string{"a"} + number}.cpu(1).in(a));
    w.add(a_pod{std::string{"b"} + number}.cpu(1).in(b));
    if (!a_first) w.add(a_pod{std::string{"a"} + number}.cpu(1).in(a));
  }
  const words all = w.run();
  CHECK(count(all, a_first ? "bind a" : "bind b") == 3);
  CHECK(count(all, a_first ? "reject b" : "reject a") == 3);
  CHECK(w.cluster.assumed().size() == 3);
}

TEST_CASE("B11: the same inputs in the same order give the same result, also where chance decides", "[workloads]") {
  const auto decided = [] {
    world w{profiles::kube_default(), {.seed = 7}};
    for (int i = 0; i < 24; ++i)
      w.add(a_node{"n" + std::to_string(i)}.cpu(3).label("rack", "r" + std::to_string(i % 4)));
    for (int i = 0; i < 6; ++i) {
      const group_id gang =
          w.add(i % 2 == 0 ? a_gang{"g" + std::to_string(i), 4} : a_gang{"g" + std::to_string(i), 4}.topology("rack"));
      add_members(w, gang, "p" + std::to_string(i) + "-", 6, 1 + i % 2);
    }
    return w.run();
  };
  const words first = decided();
  CHECK(count(first, "bind ") > 20);
  CHECK(decided() == first);
}

TEST_CASE("B12: 3 of 4 fit, min 3", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(3));
  add_gang(w, "g", 3, 4);
  CHECK(w.run(true) == words{"bind g0 n", "bind g1 n", "bind g2 n", "reject g3", "reject g3"});
  w.add(a_node{"m"}.cpu(1));
  CHECK(w.run() == words{"bind g3 m"});
}

TEST_CASE("B13: 2 of 4 fit, min 3: nobody is bound and the cluster is as before", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(2));
  add_gang(w, "g", 3, 4);
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.run() == words{"reject g0", "reject g1", "reject g2", "reject g3"});
  CHECK(inside(w.cluster).digest_with_derived() == before);
}

TEST_CASE("B14: min 3 of 5: after the third failure nobody else is tried", "[workloads]") {
  observer seen;
  world w{profile{priority_sort{}, seen, gang_scheduling{}, node_resources_fit{}}};
  w.add(a_node{"n"}.cpu(1));
  add_gang(w, "g", 3, 5, 2);
  const cycle done = w.scheduler.schedule_cycle(w.now);
  CHECK(*seen.asked == words{"0+5", "0+4", "0+3", "0+2"});
  REQUIRE(done.decisions().size() == 5);
  for (const decision& one : done) {
    CHECK(one.kind == decision_kind::reject);
    CHECK(std::string{one.reason} == "minCount cannot be satisfied");
  }
}

TEST_CASE("B15: with fewer pending and scheduled than the minimum nobody is tried", "[workloads]") {
  observer seen;
  world w{profile{priority_sort{}, seen, gang_scheduling{}, node_resources_fit{}}};
  w.add(a_node{"n"}.cpu(9));
  add_gang(w, "g", 3, 3);
  w.must(w.cluster.set_terminating(w.pod("g1")));
  const std::uint64_t picks = w.scheduler.statistics().decisions;
  CHECK(count(w.run(), "bind ") == 0);
  CHECK(w.scheduler.statistics().decisions == picks);
  CHECK(w.cluster.assumed().empty());
}

TEST_CASE("B16: a gang that runs is left alone when a new member fits nowhere", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(2));
  const group_id gang = add_gang(w, "g", 2, 2);
  CHECK(w.run(true).size() == 2);
  w.add(a_pod{"new"}.cpu(1).in(gang));
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.decisions().size() == 1);
  CHECK(done.decisions()[0].kind == decision_kind::reject);
  CHECK(done.decisions()[0].code == code::unschedulable);
  CHECK(std::string{done.decisions()[0].reason} == "no pods were schedulable");
  CHECK(w.cluster.state_of(w.pod("g0")) == pod_state::bound);
  CHECK(w.cluster.state_of(w.pod("g1")) == pod_state::bound);
}

TEST_CASE(
    "B17: of two new members the one that fits is bound; the other is tried again at once, with its old timestamp",
    "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(3));
  const group_id gang = add_gang(w, "g", 2, 2);
  CHECK(w.run(true).size() == 2);
  w.add(a_pod{"new0"}.cpu(1).in(gang));
  w.add(a_pod{"new1"}.cpu(1).in(gang));
  CHECK(w.cycle() == words{"bind new0 n", "reject new1"});
  w.now += 1s;
  w.add(a_pod{"later"});
  CHECK(w.cycle() == words{"reject new1"});
  CHECK(w.cycle() == words{"bind later n"});
  CHECK(w.cycle().empty());  // nobody of it was placed: it waits
  CHECK(w.must(w.scheduler.standing(w.pod("new1"))).failures == 1);
}

TEST_CASE("B17: members whom a permit hook sends back do not have the others tried at once, or there were no end to it",
          "[workloads]") {
  world w{profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, refuses{}}};
  w.add(a_node{"n"}.cpu(3));
  const group_id group = w.add(group_spec{.name = "g"});
  w.add(a_pod{"a"}.cpu(2).in(group));
  w.add(a_pod{"b"}.cpu(2).in(group));
  CHECK(sorted(w.run()) == words{"reject a", "reject b"});
}

TEST_CASE("B17: under 1.36 those that are left wait for their backoff", "[workloads]") {
  world w{profiles::kube_default(), world::lowest_first(), {.semantics = kube_semantics{kube_release::v1_36}}};
  w.add(a_node{"n"}.cpu(3));
  const group_id gang = add_gang(w, "g", 2, 2);
  CHECK(w.run(true).size() == 2);
  w.add(a_pod{"new0"}.cpu(1).in(gang));
  w.add(a_pod{"new1"}.cpu(1).in(gang));
  CHECK(w.run() == words{"bind new0 n", "reject new1"});
}

TEST_CASE("B18: an error of a plugin for one member is the whole group's", "[workloads]") {
  world w{profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, fragile{}}};
  w.add(a_node{"n"}.cpu(9));
  const group_id gang = w.add(a_gang{"g", 1});
  w.add(a_pod{"a"}.cpu(1).in(gang));
  w.add(a_pod{"b"}.cpu(1).label("broken", "yes").in(gang));
  w.add(a_pod{"c"}.cpu(1).in(gang));
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.error() != nullptr);
  CHECK(says(done.error()->message(), "default/g"));
  REQUIRE(done.decisions().size() == 3);
  for (const decision& one : done) {
    CHECK(one.code == code::error);
    CHECK(says(one.reason, "it broke"));
  }
  CHECK(w.cluster.assumed().empty());
  const queue_standing stands = w.must(w.scheduler.standing(w.pod("a")));
  CHECK(stands.place == queue_place::error_backoff);
  CHECK(stands.errors == 1);
  CHECK(stands.failures == 0);
}

TEST_CASE("B19: a group whose pods disagree is not tried", "[workloads]") {
  const int what = GENERATE(0, 1, 2, 3);
  observer seen;
  world w{profile{priority_sort{}, seen, gang_scheduling{}, node_resources_fit{}}};
  const node_id n = w.add(a_node{"n"}.cpu(9));
  const group_id gang = w.add(a_gang{"g", 2}.priority(5));
  const auto member = [&](const char* name) { return a_pod{name}.cpu(1).priority(5).in(gang); };
  w.add(member("a")), w.add(member("b"));
  a_pod odd = member("odd");
  if (what == 0) odd.priority(6);
  if (what == 1) odd.spec.scheduler_name = "another";
  if (what == 2) odd.spec.preemption = preemption_policy::never;
  if (what == 3) odd.priority(6).on(n);  // those that run count
  w.add(odd);
  const cycle done = w.scheduler.schedule_cycle(w.now);
  CHECK(done.decisions().size() >= 2);
  for (const decision& one : done) {
    CHECK(one.kind == decision_kind::reject);
    CHECK(one.code == code::error);
  }
  CHECK(seen.asked->empty());
  CHECK(says(why(w, "a"), what == 0 || what == 3 ? "priority differs"
                          : what == 1            ? "scheduler names"
                                                 : "preemption policies"));
}

TEST_CASE("B20: a member that goes between pop and cycle is left out", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  const group_id gang = add_gang(w, "g", 2, 3);
  REQUIRE(w.must(w.scheduler.pop(w.now))->group == gang);
  w.remove(w.pod("g1"));
  w.must(w.scheduler.add_unschedulable(gang, {}, w.now));
  CHECK(w.run_at(10s) == words{"bind g0 n", "bind g2 n"});
}

TEST_CASE("B20: with all members gone the attempt is over, and those that came meanwhile are tried", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  const group_id gang = add_gang(w, "g", 2, 2);
  REQUIRE(w.must(w.scheduler.pop(w.now))->group == gang);
  add_members(w, gang, "late", 2);
  w.remove(w.pod("g0")), w.remove(w.pod("g1"));
  CHECK(w.run().empty());  // it is still being tried
  w.must(w.scheduler.done(gang));
  CHECK(w.scheduler.in_flight().empty());
  CHECK(w.run_at(10s) == words{"bind late0 n", "bind late1 n"});
}

TEST_CASE("B21: a member that comes during the attempt is in the next one, whether this one succeeds or fails",
          "[workloads]") {
  const bool succeeds = GENERATE(true, false);
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(9));
  const group_id gang = add_gang(w, "g", 2, 2);
  REQUIRE(w.must(w.scheduler.pop(w.now))->group == gang);
  w.add(a_pod{"late"}.cpu(1).in(gang));
  CHECK(w.run().empty());
  if (succeeds) {
    for (const char* name : {"g0", "g1"}) w.must(w.cluster.assume(w.pod(name), n)), w.must(w.cluster.bind(w.pod(name)));
    w.must(w.scheduler.done(gang));
    CHECK(w.run_at(10s) == words{"bind late n"});
  } else {
    w.must(w.scheduler.add_unschedulable(gang, {{"NodeResourcesFit"}, {}}, w.now));
    CHECK(w.run_at(10s) == words{"bind g0 n", "bind g1 n", "bind late n"});
  }
}

TEST_CASE("B22: what changes of the tree during the attempt holds for the next one", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  const group_id root = w.add(group_spec{.name = "root", .policy = gang{.min_count = 1}, .composite = true});
  group_spec leaf{.name = "a", .policy = gang{.min_count = 2}, .parent = root};
  add_members(w, w.add(leaf), "a", 2);
  REQUIRE(w.must(w.scheduler.pop(w.now))->group == root);
  leaf.name = "b";
  add_members(w, w.add(leaf), "b", 2);
  w.must(w.cluster.update_group(root, group_spec{.name = "root", .policy = gang{.min_count = 2}, .composite = true}));
  CHECK(w.run().empty());
  w.must(w.scheduler.add_unschedulable(root, {}, w.now));
  CHECK(w.run_at(10s) == words{"bind a0 n", "bind a1 n", "bind b0 n", "bind b1 n"});
}

TEST_CASE("B23: a member that cannot be bound comes back alone, and is placed again as its group", "[workloads]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  add_gang(w, "g", 3, 3);
  CHECK(w.run().size() == 3);
  w.confirm(w.pod("g0"));
  CHECK(w.fail(w.pod("g1")).empty());
  CHECK(w.cluster.assumed() == std::vector<pod_id>{w.pod("g2")});
  CHECK(w.cluster.state_of(w.pod("g0")) == pod_state::bound);
  CHECK(w.run_at(10s) == words{"bind g1 n"});
}

TEST_CASE("B24: a gang that failed is tried again though nothing changed, under kube-scheduler's rule", "[workloads]") {
  world w{profiles::kube_default(), {.wake = wake_rule::hints}};
  w.add(a_node{"n"}.cpu(1));
  add_gang(w, "g", 2, 2);
  CHECK(w.run().size() == 2);
  CHECK(w.run_at(999ms).empty());
  CHECK(w.run_at(1s) == words{"reject g0", "reject g1"});
}

TEST_CASE("B25: a group of four backs off 1, 2, 4, … seconds, up to 10 times the root of four", "[workloads]") {
  world w{profiles::kube_default(), {.wake = wake_rule::hints}};
  w.add(a_node{"n"}.cpu(1));
  add_gang(w, "g", 4, 4);
  for (const int seconds : {1, 2, 4, 8, 16, 20, 20}) {
    CHECK(w.run().size() == 4);
    CHECK(w.run_at(w.now + std::chrono::seconds{seconds} - 1ms).empty());
    w.now += 1ms;
  }
  CHECK(w.run().size() == 4);
}

TEST_CASE("B13: a tree that fails leaves the cluster as before, too", "[workloads]") {
  world w;
  for (const char* name : {"a", "b"}) w.add(a_node{name}.cpu(2).label("rack", name));
  const group_id root = w.add(group_spec{.name = "root", .policy = gang{.min_count = 2}, .composite = true});
  for (const char* name : {"x", "y"}) {
    group_spec leaf{.name = name, .policy = gang{.min_count = 2}, .parent = root};
    leaf.topology.within = {"rack"};
    add_members(w, w.add(leaf), name, 3, *name == 'x' ? 1 : 2);
  }
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(count(w.run(), "reject ") == 6);
  CHECK(inside(w.cluster).digest_with_derived() == before);
  CHECK(w.scheduler.verify());
}

TEST_CASE("in 1.36 a member that waits for a gate of its own while others of its group run is gated", "[workloads]") {
  world w{profiles::kube_default(), world::lowest_first(), {.semantics = kube_semantics{kube_release::v1_36}}};
  w.add(a_node{"n"}.cpu(4));
  const group_id group = w.add(group_spec{.name = "g"});
  w.add(a_pod{"first"}.cpu(1).in(group));
  CHECK(w.run(true) == words{"bind first n"});
  const pod_id gated = w.add(a_pod{"gated"}.cpu(1).in(group).gate("wait"));
  w.add(a_pod{"third"}.cpu(1).in(group));
  CHECK(w.run(true) == words{"bind third n"});
  w.must(w.scheduler.catch_up(w.now));
  CHECK(w.must(w.scheduler.standing(gated)).place == queue_place::gated);
  w.must(w.cluster.update_pod(gated, a_pod{"gated"}.cpu(1).in(group)));
  CHECK(w.run(true) == words{"bind gated n"});
}

TEST_CASE("in 1.36 a gang whose members wait for gates of their own is not bound below its minimum by a domain choice",
          "[workloads]") {
  world w{profiles::kube_default(), world::lowest_first(), {.semantics = kube_semantics{kube_release::v1_36}}};
  w.add(a_node{"n"}.cpu(9));
  a_gang made{"g", 2};
  made.spec.topology.choice = domain_choice::best_fit;
  const group_id group = w.add(made);
  w.add(a_pod{"open"}.cpu(1).in(group));
  const pod_id gated = w.add(a_pod{"gated"}.cpu(1).in(group).gate("wait"));
  CHECK(w.run() == words{"reject open"});
  w.must(w.cluster.update_pod(gated, a_pod{"gated"}.cpu(1).in(group)));
  CHECK(sorted(w.run_at(1min)) == words{"bind gated n", "bind open n"});
}

}  // namespace gangsched::testing::workloads_test
