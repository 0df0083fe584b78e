#include <map>
#include <random>

#include "engine/world.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/framework/profile.hpp"

namespace gangsched::testing::why_test {

namespace {

scheduler_options counting(wake_rule wake = wake_rule::one_per_class) {
  scheduler_options options = world::lowest_first();
  options.count_reasons = true;
  options.wake = wake;
  return options;
}

std::string text(const world& w, std::string_view pod) {
  const result<why_rejected> why = w.scheduler.why(w.pod(pod));
  return why ? why->text() : "error: " + why.error().reason;
}

words plugins(const world& w, std::string_view pod) { return world::must(w.scheduler.why(w.pod(pod))).plugins; }

/// Remembers what became of its own words.
struct talking_gate {
  static constexpr std::string_view name = "TalkingGate";
  using points = implements<point::pre_enqueue>;
  std::shared_ptr<std::string> said = std::make_shared<std::string>("nobody asked");
  [[nodiscard]] status pre_enqueue(const pod_info& pod) const {
    const char* const text = pod.say("closed to " + std::string{pod.name()});
    *said = text;
    return status::unresolvable(text);
  }
};

TEST_CASE("nobody keeps what a hook says for a scheduler that is gone", "[engine][why]") {
  const talking_gate gate;
  const auto table = [&] { return kernel_table{profile{priority_sort{}, node_resources_fit{}, gate}}; };
  cluster on;
  {
    scheduler first{on, table()};
    REQUIRE(on.add_pod(a_pod{"p"}.cpu(1).spec));
    static_cast<void>(first.schedule_cycle(instant{}));
    CHECK(*gate.said == "closed to p");
  }
  const scheduler second{on, table()};  // asks about the pod before its first call
  CHECK(gate.said->empty());
}

TEST_CASE("a reject says who rejected the pod, by either wake rule and without counting", "[engine][why]") {
  const wake_rule wake = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  scheduler_options options = world::lowest_first();
  options.wake = wake;
  world w{profiles::kube_default(), options};
  w.add(a_node{"full"}.cpu(1));
  w.add(a_node{"closed"}.cpu(8).unschedulable());
  w.add(a_pod{"p"}.cpu(2));
  CHECK(w.scheduler.why(w.pod("p")).error().code == errc::wrong_state);
  CHECK(w.run() == words{"reject p"});
  const why_rejected why = world::must(w.scheduler.why(w.pod("p")));
  CHECK(why.plugins == words{"NodeUnschedulable", "NodeResourcesFit"});
  CHECK(why.reasons.empty());
  CHECK(why.code == code::unschedulable);
  CHECK(world::must(w.scheduler.standing(w.pod("p"))).rejected.unschedulable_plugins ==
        words{"NodeUnschedulable", "NodeResourcesFit"});
  w.add(a_node{"free"}.cpu(2));
  CHECK(w.run_at(20s) == words{"bind p free"});
  CHECK(w.scheduler.why(w.pod("p")).error().code == errc::wrong_state);
  CHECK(w.scheduler.why(pod_id{99, 0}).error().code == errc::unknown);
}

TEST_CASE("no reason is said of 0 nodes, also if the pod is nominated to the one that had it", "[engine][why]") {
  world w{profiles::kube_default(), counting()};
  w.add(a_node{"n"}.cpu(4));
  w.add(a_pod{"high"}.cpu(3).priority(10).on(w.node("n")));
  w.add(a_pod{"first"}.cpu(2).priority(5));
  CHECK(w.run() == words{"reject first"});
  w.add(a_pod{"low"}.cpu(1).on(w.node("n")));  // could go, but that would not help
  pod_spec second = a_pod{"second"}.cpu(2).priority(5);
  second.nominated_node = w.node("n");
  w.add(second);
  CHECK(w.run() == words{"reject second"});
  CHECK(text(w, "second") ==
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu.");
}

TEST_CASE("counted reasons are those of the attempt, and stay when the cluster moves on", "[engine][why]") {
  const wake_rule wake = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  world w{profiles::kube_default(), counting(wake)};
  for (const char* name : {"a", "b", "c"}) w.add(a_node{name}.cpu(1).memory("1Gi"));
  for (const char* name : {"d", "e"}) w.add(a_node{name}.cpu(8).unschedulable());
  w.add(a_pod{"p"}.cpu(2).memory("2Gi"));
  CHECK(w.run() == words{"reject p"});
  const std::string line =
      "0/5 nodes are available: 2 node(s) were unschedulable, 3 Insufficient cpu, 3 Insufficient memory. preemption: "
      "0/5 nodes are "
      "available: 5 Preemption is not helpful for scheduling.";
  CHECK(text(w, "p") == line);
  const why_rejected why = world::must(w.scheduler.why(w.pod("p")));
  CHECK(why.nodes == 5);
  CHECK(why.reasons == std::vector<counted_reason>{{"NodeResourcesFit", "Insufficient cpu", 3},
                                                   {"NodeResourcesFit", "Insufficient memory", 3},
                                                   {"NodeUnschedulable", "node(s) were unschedulable", 2}});
  const std::uint64_t asked = w.scheduler.statistics().rows_evaluated;
  w.add(a_node{"f"}.cpu(1));
  CHECK(text(w, "p") == line);
  CHECK(w.scheduler.statistics().rows_evaluated == asked);  // nothing was asked
}

struct closed {
  static constexpr std::string_view name = "Closed";
  using points = implements<point::pre_filter, point::filter>;
  status pre_filter(const pod_view& pod) const {
    return pod.priority() == 7 ? status::unresolvable(pod.say("closed to priority " + std::to_string(pod.priority())))
                               : status::success();
  }
  status filter(const pod_view&, node_view<reads::nothing>) const { return status::success(); }
};
struct picky {
  static constexpr std::string_view name = "Picky";
  using points = implements<point::reserve, point::permit>;
  status reserve(const new_reservation& made) const {
    return made.pod.name() == "r" ? status::unschedulable(made.pod.say("not " + std::string{made.pod.name()}))
                                  : status::success();
  }
  void unreserve(const reservation&) const noexcept {}
  permit_verdict permit(const reservation& made, permit_room&) const {
    if (made.pod.name() != "q") return {status::success()};
    return {status::unschedulable(made.node.say("no permit on " + std::string{made.node.name()}))};
  }
};

TEST_CASE("words of who is no filter are there, too", "[engine][why]") {
  world w{profile{priority_sort{}, closed{}, picky{}}, counting()};
  w.add(a_node{"n"}.cpu(8));
  w.add(a_pod{"p"}.priority(7));
  w.add(a_pod{"q"});
  w.add(a_pod{"r"});
  for (int i = 0; i < 3; ++i) {
    const gangsched::cycle done = w.decide();
    REQUIRE(done.decisions().size() == 1);
    CHECK(done.decisions()[0].kind == decision_kind::reject);
    CHECK(done.decisions()[0].reason != nullptr);
  }
  CHECK(text(w, "p") == "0/1 nodes are available: closed to priority 7.");
  CHECK(plugins(w, "p") == words{"Closed"});
  CHECK(text(w, "q") == "no permit on n");
  CHECK(plugins(w, "q") == words{"Picky"});
  CHECK(text(w, "r") == "not r");
  CHECK(plugins(w, "r") == words{"Picky"});
}

/// Pods ask for licences of the whole cluster as resources "licences/NAME", of which there are two each.
struct own_licences {
  static constexpr std::string_view name = "OwnLicences";
  using points = implements<point::filter, point::reserve>;
  scope_column used;

  void attach(column_maker& columns) { used = columns.make_scope_column("licences", "used"); }
  template <class Visit>
  static void each_wanted(const pod_view& pod, const Visit& visit) {
    constexpr std::string_view group = "licences/";
    for (const amount& one : pod.requests()) {
      const std::string_view kind = pod.kind_name(one.kind);
      if (kind.starts_with(group)) visit(kind.substr(group.size()), one.value);
    }
  }
  std::int64_t filter_key(const pod_view&, node_view<reads::nothing>) const { return 0; }
  void finish_filter(const pod_view& pod, const cluster_view& cluster, std::span<filtered_group> groups) const {
    each_wanted(pod, [&](std::string_view licence, std::int64_t count) {
      const auto row = cluster.find_row(used, licence);
      const std::int64_t taken = row ? cluster.own(used, *row) : 0;
      if (taken + count <= 2) return;
      const std::string text = "no licence left for " + std::string{licence} + ": " + std::to_string(taken) + " taken";
      for (filtered_group& group : groups) group.verdict = status::unschedulable(cluster.say(text));
    });
  }
  status reserve(const new_reservation& r) const {
    each_wanted(r.pod, [&](std::string_view licence, std::int64_t count) { r.add(used, licence, count); });
    return status::success();
  }
  void unreserve(const reservation&) const noexcept {}
};

kernel_table with_licences() {
  return profile{priority_sort{}, gang_scheduling{}, node_resources_fit{{.ignored_groups = {"licences"}}},
                 own_licences{}};
}

TEST_CASE("a gang's rejection names the member that found no node, who rejected it and in which words",
          "[engine][why][group]") {
  const bool by_hints = GENERATE(false, true);
  world w{with_licences(), counting(by_hints ? wake_rule::hints : wake_rule::one_per_class)};
  w.add(a_node{"n1"}.cpu(8));
  w.add(a_node{"n2"}.cpu(8));
  const group_id gang = w.add(a_gang{"g", 3});
  for (const char* name : {"m1", "m2", "m3"}) w.add(a_pod{name}.resource("licences/matlab", "1").in(gang));
  CHECK(w.run() == words{"reject m1", "reject m2", "reject m3"});
  for (const char* name : {"m1", "m2", "m3"}) {
    const why_rejected why = world::must(w.scheduler.why(w.pod(name)));
    CHECK(why.plugins == words{"OwnLicences"});
    CHECK(why.group == "there is no place for the group's minimum");
    CHECK(why.member == w.pod("m3"));
    CHECK(why.placed == 2);
    CHECK(why.reasons == std::vector<counted_reason>{{"OwnLicences", "no licence left for matlab: 2 taken", 2}});
    CHECK(why.text() ==
          "there is no place for the group's minimum: 2 found a node, then m3: "
          "0/2 nodes are available: 2 no licence left for matlab: 2 taken.");
  }
  const explanation told = world::must(w.scheduler.explain(w.pod("m3")));
  CHECK(told.summary ==
        "2/2 nodes are available. Its group: there is no place for the group's minimum; "
        "2 of 3 members fit, m3: no licence left for matlab: 2 taken (n1)");
  REQUIRE(told.lacks.size() == 1);
  CHECK(told.lacks[0].pod == w.pod("m3"));
  CHECK(told.lacks[0].plugin == "OwnLicences");
  CHECK(told.lacks[0].missing == "no licence left for matlab: 2 taken (n1)");
  CHECK(world::must(w.scheduler.explain(w.pod("m1"))).lacks.size() == 1);
}

TEST_CASE("whom a group does without is told what it lacks itself", "[engine][why][group]") {
  const bool gang_of_two = GENERATE(false, true);
  world w{profiles::kube_default(), counting()};
  w.add(a_node{"n"}.cpu(3));
  a_gang made{"g", 2};
  if (!gang_of_two) made.spec.policy = basic{};
  const group_id group = w.add(made);
  for (const char* name : {"a", "b"}) w.add(a_pod{name}.cpu(1).in(group));
  w.add(a_pod{"large"}.cpu(2).in(group));
  w.add(a_pod{"picky"}.cpu(1).select("disk", "ssd").in(group));
  const auto own = [&] {
    CHECK(text(w, "large") == "0/1 nodes are available: 1 Insufficient cpu.");
    CHECK(plugins(w, "large") == words{"NodeResourcesFit"});
    CHECK(text(w, "picky") == "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.");
    CHECK(plugins(w, "picky") == words{"NodeAffinity"});
    CHECK_FALSE(world::must(w.scheduler.why(w.pod("picky"))).member);
  };
  const cycle first = w.decide();
  CHECK(w.said(first.decisions()) == words{"bind a n", "bind b n", "reject large", "reject picky"});
  own();
  for (const char* name : {"a", "b"}) w.confirm(w.pod(name));
  w.run();  // no member finds a node
  own();
}

TEST_CASE("a member that is tried before its gang has its minimum is told what it lacks itself, too",
          "[engine][why][group]") {
  world w{profiles::kube_default(), counting()};
  w.add(a_node{"n"}.cpu(3));
  const group_id group = w.add(a_gang{"g", 2});
  w.add(a_pod{"large"}.cpu(4).in(group));
  w.add(a_pod{"picky"}.cpu(1).select("disk", "ssd").in(group));
  for (const char* name : {"a", "b"}) w.add(a_pod{name}.cpu(1).in(group));
  const cycle first = w.decide();
  CHECK(w.said(first.decisions()) == words{"bind a n", "bind b n", "reject large", "reject picky"});
  CHECK(text(w, "large") == "0/1 nodes are available: 1 Insufficient cpu.");
  CHECK(text(w, "picky") == "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.");
}

TEST_CASE("of a basic group of whom nobody finds a node each is told what it lacks itself", "[engine][why][group]") {
  world w{profiles::kube_default(), counting()};
  w.add(a_node{"n"}.cpu(1));
  a_gang made{"g"};
  made.spec.policy = basic{};
  const group_id group = w.add(made);
  w.add(a_pod{"large"}.cpu(2).in(group));
  w.add(a_pod{"picky"}.cpu(1).select("disk", "ssd").in(group));
  CHECK(w.run() == words{"reject large", "reject picky"});
  CHECK(text(w, "large") == "0/1 nodes are available: 1 Insufficient cpu.");
  CHECK(text(w, "picky") == "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.");
  CHECK(plugins(w, "picky") == words{"NodeAffinity"});
}

TEST_CASE("what a text was put together from may change: whoever waits keeps its words", "[engine][why]") {
  world w{with_licences(), counting()};
  w.add(a_node{"n1"}.cpu(8));
  const group_id gang = w.add(a_gang{"g", 3});
  for (const char* name : {"m1", "m2", "m3"}) w.add(a_pod{name}.resource("licences/matlab", "1").in(gang));
  w.run();
  for (int i = 0; i < 50; ++i) {
    w.add(a_pod{"other-" + std::to_string(i)}.resource("licences/other-" + std::to_string(i), "3"));
    w.run();
  }
  CHECK(world::must(w.scheduler.why(w.pod("m1"))).reasons.at(0).text == "no licence left for matlab: 2 taken");
  CHECK(text(w, "other-7") == "0/1 nodes are available: 1 no licence left for other-7: 0 taken.");
}

topology_spread evenly() {
  topology_spread made;
  made.topology_key = "zone";
  made.selector = label_selector{.match_labels = {{"app", "web"}}};
  return made;
}

TEST_CASE("counted reasons are those that explain finds, on random clusters, and counting changes no decision",
          "[engine][why][property]") {
  const auto seed = static_cast<unsigned>(GENERATE(range(0, 40)));
  CAPTURE(seed);
  world counted{profiles::kube_default(), counting(seed % 2 == 0 ? wake_rule::one_per_class : wake_rule::hints)};
  scheduler_options plain_options = counting(seed % 2 == 0 ? wake_rule::one_per_class : wake_rule::hints);
  plain_options.count_reasons = false;
  world plain{profiles::kube_default(), plain_options};
  std::mt19937 random{seed};
  const auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
  std::size_t compared = 0;
  int made = 0;
  for (int step = 0; step < 60; ++step) {
    if (step < 6 || below(8) == 0) {
      auto node = a_node{"n" + std::to_string(step)}.cpu(1 + below(3)).memory(below(2) == 0 ? "1Gi" : "4Gi");
      if (below(4) == 0) node.unschedulable();
      if (below(4) == 0) node.taint("team", "a");
      if (below(2) == 0) node.label("disk", "ssd");
      node.label("zone", below(2) == 0 ? "x" : "y");
      counted.add(node), plain.add(node);
    }
    auto pod = a_pod{"p" + std::to_string(made++)}.cpu(1 + below(3)).label("app", "web");
    if (below(3) == 0) pod.memory("2Gi");
    if (below(4) == 0) pod.select("disk", "ssd");
    if (below(5) == 0) pod.priority(5);
    if (below(3) == 0) pod.spec.topology_spread_constraints = {evenly()};
    if (below(6) == 0) pod.port(8080);
    counted.add(pod), plain.add(pod);
    counted.now = plain.now = std::chrono::seconds{step};
    for (bool more = true; more;) {
      const gangsched::cycle mine = counted.decide();
      const gangsched::cycle other = plain.decide();
      REQUIRE(counted.said(mine.decisions()) == plain.said(other.decisions()));
      more = static_cast<bool>(mine);
      // (explain asks nodes that pods are nominated to with those there, also where they reject the pod without.)
      const auto all = counted.cluster.pods();
      const bool nominated = std::any_of(all.begin(), all.end(), [&](pod_id one_pod) {
        return static_cast<bool>(counted.cluster.nominated_node_of(one_pod));
      });
      for (const decision& one : mine.decisions()) {
        if (one.kind == decision_kind::bind) counted.confirm(one.pod), plain.confirm(one.pod);
        if (one.kind != decision_kind::reject || nominated) continue;
        why_rejected filters = world::must(counted.scheduler.why(one.pod));
        filters.post_filter.clear();
        CHECK(filters.text() == world::must(counted.scheduler.explain(one.pod)).summary);
        CHECK(world::must(counted.scheduler.why(one.pod)).plugins == world::must(plain.scheduler.why(one.pod)).plugins);
        ++compared;
      }
      for (const decision& one : mine.decisions()) {
        if (one.kind == decision_kind::evict) {
          counted.remove(one.pod), plain.remove(one.pod);
        }
      }
    }
  }
  CHECK(compared > 5);
}

}  // namespace

}  // namespace gangsched::testing::why_test
