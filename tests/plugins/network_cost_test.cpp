#include "gangsched/plugins/network_cost.hpp"

#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

using namespace gangsched;
using namespace gangsched::testing;

namespace {

/// Members on nodes with a leaf and a spine.
struct fixture {
  gangsched::cluster cluster;
  group_id gang = must(cluster.add_group(a_gang{"g", 1}));
  int count = 0;

  node_id node(const std::string& name, const std::string& leaf, const std::string& spine) {
    return must(cluster.add_node(a_node{name}.cpu(8).label("leaf", leaf).label("spine", spine)));
  }
  void member(node_id on, const std::string& role = "") {
    pod_spec pod = a_pod{"p" + std::to_string(count++)}.in(gang).on(on);
    pod.role = role;
    must(cluster.add_pod(pod));
  }
  std::int64_t score(network_cost::options chosen) {
    return network_cost{std::move(chosen)}.score_placement(group_view{cluster.state(), gang.row}, placement_view{cluster.state(), ""}, {});
  }
};
const network_cost::options fabric{.levels = {{"leaf", 1}, {"spine", 5}}, .beyond = 10};

}  // namespace

TEST_CASE("NetworkCost: two members cost the innermost level that they share") {
  fixture on;
  const node_id a = on.node("a", "l1", "s1"), b = on.node("b", "l1", "s1"), c = on.node("c", "l2", "s1"), d = on.node("d", "l3", "s2");
  on.member(a);
  CHECK(on.score(fabric) == 100);  // nobody to talk to
  on.member(a);
  CHECK(on.score(fabric) == 100);  // on one node
  on.member(b);
  CHECK(on.score(fabric) == 100 - 100 * 2 / 30);  // two pairs over the leaf
  on.member(c);
  CHECK(on.score(fabric) == 100 - 100 * (2 + 3 * 5) / 60);
  on.member(d);
  CHECK(on.score(fabric) == 100 - 100 * (2 + 3 * 5 + 4 * 10) / 100);
  network_cost::options dearest = fabric;
  dearest.objective = network_cost::objective::maximum;
  CHECK(on.score(dearest) == 0);
}

TEST_CASE("NetworkCost: only roles that talk count, as often as they do") {
  fixture on;
  const node_id a = on.node("a", "l1", "s1"), b = on.node("b", "l1", "s1"), c = on.node("c", "l2", "s1");
  on.member(a, "ps"), on.member(b, "worker"), on.member(c, "worker"), on.member(c, "observer");
  network_cost::options to_server = fabric;
  to_server.demands = {{"ps", "worker", 1}};
  CHECK(on.score(to_server) == 100 - 100 * (1 + 5) / 20);
  to_server.demands.push_back({"worker", "worker", 4});
  CHECK(on.score(to_server) == 100 - 100 * (1 + 5 + 4 * 5) / 60);
}

TEST_CASE("NetworkCost: of two racks with room the one whose nodes are close wins") {
  gangsched::cluster cluster;
  const auto add = [&](const char* name, const char* rack, const char* leaf) {
    must(cluster.add_node(a_node{name}.cpu(2).label("rack", rack).label("leaf", leaf)));
  };
  add("a1", "a", "1"), add("a2", "a", "2"), add("b1", "b", "3"), add("b2", "b", "3");
  plugin_registry plugins = builtin_plugins();
  runtime_profile made{plugins};
  for (const char* name : {"PrioritySort", "NodeResourcesFit", "GangScheduling", "TopologyPlacementGenerator"}) made.enable(name);
  made.enable("NetworkCost", 1, argument::fields{{"levels", argument::list{argument::fields{{"key", "leaf"}, {"cost", 1}}}}, {"beyond", 10}});
  gangsched::scheduler scheduler{cluster, *made.table()};
  const group_id gang = must(cluster.add_group(a_gang{"g", 2}.topology("rack")));
  must(cluster.add_pod(a_pod{"p1"}.cpu(2).in(gang))), must(cluster.add_pod(a_pod{"p2"}.cpu(2).in(gang)));
  const auto cycle = scheduler.schedule_cycle(instant{0});
  int placed = 0;
  for (const decision& one : cycle) {
    ++placed;
    CHECK(cluster.name_of(one.node).substr(0, 1) == "b");
  }
  CHECK(placed == 2);
}

TEST_CASE("NetworkCost: arguments that make no sense are named") {
  const auto wrong = [](argument::fields args) { return network_cost::from(std::move(args)).error().message(); };
  CHECK(wrong({{"beyond", 0}}) == "plugin NetworkCost: args.beyond: 0 is not in 1 to 1000000");
  CHECK(wrong({{"objective", "Best"}}) == "plugin NetworkCost: args.objective: is not Total or Maximum");
  CHECK(wrong({{"levels", argument::list{argument::fields{{"key", "leaf"}, {"cost", 200}}}}}) ==
        "plugin NetworkCost: beyond: is below the last level's cost or 1, or above 1000000");
  CHECK(wrong({{"rails", 1}}) == "plugin NetworkCost: args.rails: there is no such argument");
}
