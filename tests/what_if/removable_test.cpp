#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gangsched/profiles.hpp"
#include "gangsched/what_if/autoscaling.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::removable_test {

namespace {

struct running_cluster {
  gangsched::cluster cluster;
  scheduler by{cluster, profiles::kube_default()};
  std::vector<node_id> nodes;

  node_id add_node(const std::string& name, std::int64_t cpu) {
    nodes.push_back(cluster.add_node(a_node{name}.cpu(cpu).memory("64Gi")).value());
    return nodes.back();
  }
  pod_id add_pod(a_pod pod, node_id on) {
    pod.spec.node = on;
    return cluster.add_pod(pod).value();
  }
  [[nodiscard]] std::vector<removable_node> ask(removal_options options = {}) {
    const std::uint64_t before = cluster.digest();
    options.now = instant{1};
    result<std::vector<removable_node>> made = removable(by, nodes, options);
    INFO((made ? std::string{} : made.error().message()));
    REQUIRE(made);
    CHECK(cluster.digest() == before);
    return *std::move(made);
  }
};

std::vector<node_id> nodes_of(const std::vector<removable_node>& all) {
  std::vector<node_id> made;
  for (const removable_node& one : all) made.push_back(one.node);
  return made;
}

a_pod web(const std::string& name, std::int64_t cpu) {
  return std::move(a_pod{name}.cpu(cpu).memory("1Gi").label("app", "web"));
}

}  // namespace

TEST_CASE(
    "nodes whose pods fit elsewhere can be drained, one after another, in the order in which they were asked about") {
  running_cluster in;
  const node_id a = in.add_node("a", 4), b = in.add_node("b", 4), c = in.add_node("c", 4);
  const pod_id p = in.add_pod(web("p", 2), a), q = in.add_pod(web("q", 2), b), r = in.add_pod(web("r", 2), c);
  const std::vector<removable_node> drained = in.ask();
  REQUIRE(nodes_of(drained) == std::vector<node_id>{a});  // two nodes hold three pods, one does not
  REQUIRE(drained[0].moves.size() == 1);
  CHECK(drained[0].moves[0].pod == p);
  CHECK((drained[0].moves[0].node == b || drained[0].moves[0].node == c));
  static_cast<void>(q), static_cast<void>(r);
}

TEST_CASE("an empty node can go, and one whose pod must stay, or with a pod that fits nowhere else, cannot") {
  running_cluster in;
  const node_id empty = in.add_node("empty", 4), kept = in.add_node("kept", 4), big = in.add_node("big", 16);
  const std::vector<pod_id> stays{in.add_pod(web("stays", 1), kept)};
  in.add_pod(web("giant", 12), big);
  CHECK(nodes_of(in.ask({.stay = stays})) == std::vector<node_id>{empty});
  CHECK(nodes_of(in.ask()) == std::vector<node_id>{empty, kept});
}

TEST_CASE("budgets are charged for all nodes together") {
  running_cluster in;
  const node_id a = in.add_node("a", 4), b = in.add_node("b", 4);
  in.add_node("room", 16);
  in.add_pod(web("p", 1), a);
  in.add_pod(web("q", 1), b);
  pod_disruption_budget_spec budget{
      .name = "web", .selector = label_selector{.match_labels = {{"app", "web"}}}, .disruptions_allowed = 1};
  const budget_id id = in.cluster.add_disruption_budget(budget).value();
  CHECK(nodes_of(in.ask()) == std::vector<node_id>{a});
  budget.disruptions_allowed = 0;
  in.cluster.update_disruption_budget(id, budget).value();
  CHECK(nodes_of(in.ask()) == std::vector<node_id>{in.nodes[2]});
  budget.disruptions_allowed = 2;
  in.cluster.update_disruption_budget(id, budget).value();
  CHECK(nodes_of(in.ask()) == std::vector<node_id>{a, b});
}

TEST_CASE("nobody is evicted to drain a node, however unimportant") {
  running_cluster in;
  const node_id a = in.add_node("a", 4), b = in.add_node("b", 4);
  a_pod important = web("important", 4), other = web("other", 4);
  important.spec.priority = 1000;
  in.add_pod(important, a);
  in.add_pod(other, b);
  CHECK(in.ask().empty());
}

TEST_CASE("members of a group that is disrupted as a whole move together") {
  running_cluster in;
  const node_id a = in.add_node("a", 4), b = in.add_node("b", 4), room = in.add_node("room", 8);
  group_spec spec = a_gang{"train", 2};
  spec.disruption = disruption_mode::all;
  const group_id gang = in.cluster.add_group(spec).value();
  const pod_id p = in.add_pod(web("p", 3).in(gang), a), q = in.add_pod(web("q", 3).in(gang), b);
  const std::vector<removable_node> drained = in.ask();
  REQUIRE_FALSE(drained.empty());
  CHECK(drained[0].node == a);
  REQUIRE(drained[0].moves.size() == 2);
  CHECK(drained[0].moves[0].pod == p);
  CHECK(drained[0].moves[1].pod == q);
  const std::vector<pod_id> stays{q};
  CHECK(nodes_of(in.ask({.stay = stays})) == std::vector<node_id>{room});
}

TEST_CASE("of a gang with surplus those go alone that it does not need, and the others together") {
  running_cluster in;
  const node_id a = in.add_node("a", 4), b = in.add_node("b", 4), c = in.add_node("c", 4);
  in.add_node("room", 12);
  group_spec spec = a_gang{"train", 2};
  spec.disruption = disruption_mode::surplus;
  const group_id gang = in.cluster.add_group(spec).value();
  const auto member = [&](const char* name, std::int32_t priority, node_id on) {
    a_pod made = web(name, 3).in(gang);
    made.spec.priority = priority;
    return in.add_pod(made, on);
  };
  const pod_id p = member("p", 10, a), q = member("q", 10, b), extra = member("extra", 0, c);
  const std::vector<pod_id> q_stays{q};
  in.nodes = {c, a};
  const std::vector<removable_node> alone = in.ask({.stay = q_stays});
  REQUIRE(nodes_of(alone) == std::vector<node_id>{c});
  REQUIRE(alone[0].moves.size() == 1);
  CHECK(alone[0].moves[0].pod == extra);
  in.nodes = {a};
  const std::vector<removable_node> together = in.ask();
  REQUIRE(nodes_of(together) == std::vector<node_id>{a});
  REQUIRE(together[0].moves.size() == 3);
  CHECK(together[0].moves[0].pod == p);
}

TEST_CASE("a budget without requirements keeps all pods of its namespace") {
  running_cluster in;
  const node_id a = in.add_node("a", 4), b = in.add_node("b", 4);
  in.add_pod(a_pod{"plain"}.cpu(1), a);  // without labels, too
  in.add_pod(web("web", 1), b);
  const auto add = [&](pod_disruption_budget_spec budget) { return in.cluster.add_disruption_budget(budget).value(); };
  const budget_id none = add({.name = "none", .selector = std::nullopt});
  const budget_id other = add({.name = "other", .ns = "elsewhere", .selector = label_selector{}});
  CHECK(nodes_of(in.ask()) == std::vector<node_id>{a});
  const budget_id all = add({.name = "all", .selector = label_selector{}});
  CHECK(in.ask().empty());
  for (const budget_id one : {none, other, all}) in.cluster.remove_disruption_budget(one).value();
}

TEST_CASE("no pod that is being bound gives way to one that moves") {
  running_cluster in;
  node_spec closed = a_node{"a"}.cpu(4).memory("64Gi");
  closed.unschedulable = true;
  in.nodes.push_back(in.cluster.add_node(closed).value());
  a_pod high = web("high", 3);
  high.spec.priority = 100;
  in.add_pod(high, in.nodes.front());
  in.add_node("b", 4);
  const pod_id low = in.cluster.add_pod(web("low", 3)).value();
  while (in.by.schedule_cycle(instant{1})) {
  }
  REQUIRE(in.cluster.state_of(low) == pod_state::assumed);
  in.nodes.resize(1);
  CHECK(in.ask().empty());
}

TEST_CASE("a node that somebody who waits is nominated to is needed") {
  running_cluster in;
  const node_id a = in.add_node("a", 4), b = in.add_node("b", 4);
  const pod_id leaves = in.add_pod(web("leaves", 4), a);
  in.add_pod(web("runs", 1), b);
  a_pod important = web("waits", 4);
  important.spec.priority = 10;
  const pod_id waits = in.cluster.add_pod(important).value();
  in.cluster.nominate(waits, a).value();
  in.cluster.set_terminating(leaves, true).value();
  CHECK(nodes_of(in.ask()).empty());
  in.cluster.remove_pod(waits).value();
  CHECK(nodes_of(in.ask()) == std::vector<node_id>{a});
}

TEST_CASE("pods of daemon sets go with their node") {
  running_cluster in;
  const node_id a = in.add_node("a", 4), b = in.add_node("b", 4);
  for (const node_id node : {a, b}) {
    a_pod agent = web(node == a ? "agent-a" : "agent-b", 3);
    agent.spec.controller = {controller_kind::daemon_set, "agent"};
    in.add_pod(agent, node);
  }
  const std::vector<removable_node> drained = in.ask();
  REQUIRE(nodes_of(drained) == std::vector<node_id>{a, b});
  CHECK(drained[0].moves.empty());
}

TEST_CASE("pods that go with their node move nowhere") {
  running_cluster in;
  const node_id a = in.add_node("a", 4);
  const std::vector<pod_id> mirrors{in.add_pod(web("static", 3), a)};
  CHECK(in.ask().empty());
  const std::vector<removable_node> drained = in.ask({.with_node = mirrors});
  REQUIRE(nodes_of(drained) == std::vector<node_id>{a});
  CHECK(drained[0].moves.empty());
}

TEST_CASE("random clusters: what is said to be removable can be drained as it is said") {
  std::size_t drained_in_all = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    dice any{seed};
    running_cluster in;
    std::map<node_id, std::int64_t> free;
    std::map<pod_id, std::pair<node_id, std::int64_t>> at;
    for (int i = 0; i < 8; ++i) {
      const std::int64_t cpu = any.between(4, 16);
      free[in.add_node("n" + std::to_string(i), cpu)] = cpu;
    }
    for (int i = 0; i < 24; ++i) {
      const node_id on = any.of(in.nodes);
      const std::int64_t cpu = any.between(1, 4);
      if (free[on] < cpu) continue;
      free[on] -= cpu;
      at[in.add_pod(web("p" + std::to_string(i), cpu), on)] = {on, cpu};
    }
    for (const removable_node& one : in.ask()) {
      ++drained_in_all;
      for (const assignment& move : one.moves) {
        auto& [where, cpu] = at.at(move.pod);
        CHECK(where == one.node);
        where = move.node;
        free.at(move.node) -= cpu;
        CHECK(free.at(move.node) >= 0);
      }
      for (const auto& [pod, where] : at) CHECK(where.first != one.node);
      free.erase(one.node);
    }
  }
  CHECK(drained_in_all > 60);
}

TEST_CASE("a node that nobody knows is refused") {
  running_cluster in;
  const std::vector<node_id> nobody{node_id{7, 1}};
  CHECK(removable(in.by, nobody, {.now = instant{1}}).error().code == errc::unknown);
  CHECK(removable(in.by, nobody, {.now = instant{1}}).error().object == "among[0]");
}

}  // namespace gangsched::testing::removable_test
