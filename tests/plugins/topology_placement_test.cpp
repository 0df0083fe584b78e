#include "gangsched/plugins/topology_placement.hpp"

#include "gangsched/plugins.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::topology_placement_test {

namespace {

using names = std::vector<std::string>;

struct fixture {
  gangsched::cluster cluster;

  node_id add(const a_node& node) { return must(cluster.add_node(node)); }
  group_id add(const group_spec& spec) { return must(cluster.add_group(spec)); }
  pod_id add(const a_pod& pod) { return must(cluster.add_pod(pod)); }
  a_node rack(const std::string& name, const std::string& rack) {
    return a_node{name}.cpu(2).memory("4Gi").label("rack", rack);
  }

  /// What the generator says: placements as "rack" or "rack=a" with their tier, or one word for its status.
  names placements(group_id group) {
    names all;
    const status said = topology_placement{}.generate_placements(
        group_view{inside(cluster), group.row}, cluster_view{inside(cluster)}, [&](const placement& made) {
          std::string text = made.all ? "all" : made.each_of;
          if (!made.only.empty()) (text += '=') += made.only;
          all.push_back(text += ' ' + std::to_string(made.tier));
        });
    if (said.code == code::skip) return {"skip"};
    if (!said.ok()) return {said.code == code::error ? "error" : "other", said.reason};
    return all;
  }
  /// Node by member, in the order of decisions.
  names run() {
    gangsched::scheduler scheduler{cluster, profiles::kube_default(), {.ties = tie_rule::lowest_row}};
    names all;
    while (const auto cycle = scheduler.schedule_cycle(instant{0})) {
      for (const decision& one : cycle) {
        std::string text{to_string(one.kind)};
        ((text += ' ') += cluster.name_of(one.pod)) += one.node ? ' ' : '.';
        all.push_back(text += cluster.name_of(one.node));
      }
    }
    return all;
  }
};

}  // namespace

TEST_CASE("TopologyPlacementGenerator: a placement per value of each key in turn, and at last all nodes") {
  fixture on;
  on.add(on.rack("n1", "b"));
  on.add(a_node{"n2"});
  on.add(on.rack("n3", "a"));
  on.add(on.rack("n4", "b"));
  CHECK(on.placements(on.add(a_gang{"g", 2}.topology("rack"))) == names{"rack 0"});
  group_spec soft = a_gang{"h", 2}.topology("rack");
  soft.topology.within.push_back("zone"), soft.topology.or_anywhere = true;
  CHECK(on.placements(on.add(soft)) == names{"rack 0", "zone 1", "all 2"});
  CHECK(on.placements(on.add(a_gang{"i", 2})) == names{"skip"});
}

TEST_CASE("TopologyPlacementGenerator: where members are the others have to go") {
  fixture on;
  const node_id n1 = on.add(on.rack("n1", "a"));
  const node_id n2 = on.add(on.rack("n2", "b"));
  const node_id n3 = on.add(a_node{"n3"});
  on.add(on.rack("n4", "b"));
  const group_id sticky = on.add(a_gang{"sticky", 1}.topology("rack"));
  on.add(a_pod{"s-0"}.in(sticky).on(n2));
  on.add(a_pod{"s-1"}.in(sticky));
  CHECK(on.placements(sticky) == names{"rack=b 0"});
  on.add(a_pod{"s-2"}.in(sticky).on(n1));
  CHECK(on.placements(sticky) == names{"error", "more than 1 domain found for the pod group"});
  const group_id lost = on.add(a_gang{"lost", 1}.topology("rack"));
  on.add(a_pod{"l-0"}.in(lost).on(n3));
  CHECK(on.placements(lost) == names{"error", "no topology domain found for a pod of the group"});
}

TEST_CASE("TopologyPlacementGenerator: members of groups below count for a group of groups") {
  fixture on;
  on.add(on.rack("n1", "a"));
  const node_id n2 = on.add(on.rack("n2", "b"));
  group_spec tree = a_gang{"tree", 1}.topology("rack");
  tree.composite = true;
  const group_id root = on.add(tree);
  group_spec leaf = a_gang{"leaf", 1};
  leaf.parent = root;
  on.add(a_pod{"p"}.in(on.add(leaf)).on(n2));
  CHECK(on.placements(root) == names{"rack=b 0"});
}

TEST_CASE("the fullest rack that fits is taken: 3 of 4, 5 of 6 and 4 of 6 cpus") {
  fixture on;
  std::vector<node_id> nodes;
  for (const char* name : {"a1", "a2", "b1", "b2", "b3", "c1", "c2", "c3"})
    nodes.push_back(on.add(on.rack(name, std::string(1, *name))));
  const auto run = [&](const char* name, int cpus, std::size_t node) {
    on.add(a_pod{name}.cpu(cpus).memory("1Mi").on(nodes[node]));
  };
  run("u1", 1, 2), run("u2", 1, 3), run("u3", 1, 5);
  const group_id gang = on.add(a_gang{"g", 3}.topology("rack"));
  for (const char* name : {"g-0", "g-1", "g-2"}) on.add(a_pod{name}.cpu(1).memory("1Mi").in(gang));
  const names said = on.run();
  REQUIRE(said.size() == 3);
  for (const std::string& one : said) CHECK(one.substr(0, 5) == "bind ");
  for (const std::string& one : said) CHECK(one[9] == 'b');
}

TEST_CASE("PodGroupPodsCount: of equally full racks the one for more members") {
  fixture on;
  for (const char* name : {"a1", "b1", "b2"}) on.add(on.rack(name, std::string(1, *name)));
  const group_id gang = on.add(a_gang{"g", 2}.topology("rack"));
  for (const char* name : {"g-0", "g-1", "g-2", "g-3"}) on.add(a_pod{name}.cpu(1).memory("2Gi").in(gang));
  const names said = on.run();
  REQUIRE(said.size() == 4);
  for (const std::string& one : said) CHECK(one.substr(0, 10).back() == 'b');
}

TEST_CASE("PodGroupPodsCount counts members with a node, and never more than its bound") {
  fixture on;
  const node_id n = on.add(a_node{"n"});
  const group_id gang = on.add(a_gang{"g", 2});
  on.add(a_pod{"g-0"}.in(gang).on(n));
  on.add(a_pod{"g-1"}.in(gang));
  const group_view group{inside(on.cluster), gang.row};
  const placement_view everywhere{inside(on.cluster), ""};
  CHECK(pod_group_pods_count::relative_to_best);
  CHECK(pod_group_pods_count{}.score_placement(group, everywhere, {}) == 1);
  CHECK(pod_group_pods_count{}.placement_bound(everywhere, {1, 1, {}}) == 2);
}

TEST_CASE("NodeResourcesFit rates a placement by what is used of all its nodes, whatever its strategy") {
  fixture on;
  const node_id n1 = on.add(a_node{"n1"}.cpu(2).memory("4Gi").gpus(4));
  const node_id n2 = on.add(a_node{"n2"}.cpu(2).memory("4Gi"));
  const group_id gang = on.add(a_gang{"g", 2});
  on.add(a_pod{"other"}.cpu(1).memory("2Gi").gpus(4).on(n1));
  const pod_id one = on.add(a_pod{"g-0"}.cpu(2).memory("1Gi").in(gang).on(n2));
  const std::vector<assignment> members{{one, n2}};
  const group_view group{inside(on.cluster), gang.row};
  const placement_view all{inside(on.cluster), ""};
  const std::vector<row_t> second{n2.row};
  const auto score = [&](const placement_view& where, node_resources_fit::options how) {
    return node_resources_fit{std::move(how)}.score_placement(group, where, members);
  };
  CHECK(score(all, {}) == (75 + 37) / 2);  // 3 of 4 cpus, 3 of 8 Gi
  CHECK(score({inside(on.cluster), "n2", second}, {}) == (100 + 25) / 2);
  CHECK(score(all, {.resources = {{"cpu", 3}, {"memory", 1}}}) == (3 * 75 + 37) / 4);
  // Nobody of the group wants a GPU: how many are used does not matter.
  CHECK(score(all, {.resources = {{"cpu", 1}, {"nvidia.com/gpu", 5}}}) == 75);
  CHECK(score({inside(on.cluster), "none", {}}, {}) == 0);

  // What the members ask for on top of what is used: no placement of theirs can score more.
  const pod_class& cls = inside(on.cluster).classes[inside(on.cluster).pods.cls[one.row]];
  const std::vector<placement_demand::part> parts{{&cls, 1}};
  const auto bound = [&](node_resources_fit::options how) {
    return node_resources_fit{std::move(how)}.placement_bound(all, {1, 1, parts});
  };
  CHECK(bound({}) == (100 + 50) / 2);
  CHECK(bound({.resources = {{"cpu", 1}, {"nvidia.com/gpu", 5}}}) == 100);
}

}  // namespace gangsched::testing::topology_placement_test
