#include "gangsched/plugins/network_cost.hpp"

#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::network_cost_test {

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
    return network_cost{std::move(chosen)}.score_placement(group_view{inside(cluster), gang.row},
                                                           placement_view{inside(cluster), ""}, {});
  }
};
const network_cost::options fabric{.levels = {{"leaf", 1}, {"spine", 5}}, .beyond = 10};

}  // namespace

TEST_CASE("NetworkCost: two members cost the innermost level that they share") {
  fixture on;
  const node_id a = on.node("a", "l1", "s1"), b = on.node("b", "l1", "s1"), c = on.node("c", "l2", "s1"),
                d = on.node("d", "l3", "s2");
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

TEST_CASE("NetworkCost: a matrix says what each two domains of a label cost") {
  fixture on;
  const node_id a = on.node("a", "l1", "s1"), b = on.node("b", "l2", "s1"), c = on.node("c", "l3", "s2"),
                d = on.node("d", "l4", "s3");
  network_cost::options chosen = fabric;
  chosen.matrix = {.key = "spine", .values = {"s1", "s2", "s3"}, .costs = {{0, 6, 9}, {6, 0, 8}, {9, 8, 0}}};
  on.member(a), on.member(b), on.member(c), on.member(d);
  CHECK(on.score(chosen) == 100 - 100 * (5 + 6 + 9 + 6 + 9 + 8) / 60);
  network_cost::options dearest = chosen;
  dearest.objective = network_cost::objective::maximum;
  CHECK(on.score(dearest) == 100 - 100 * 9 / 10);
  // A node of which the matrix knows nothing: only levels, here none that it shares.
  on.member(on.node("e", "l5", "s9"));
  CHECK(on.score(chosen) == 100 - 100 * (5 + 6 + 9 + 6 + 9 + 8 + 4 * 10) / 100);
  // Two on one node, and on nodes beside it in one leaf.
  on.member(d), on.member(on.node("f", "l4", "s3"));
  CHECK(on.score(chosen) == 100 - 100 * (5 + 3 * 2 * 9 + 2 * 6 + 3 * 8 + 2 * 1 + 6 * 10) / 210);
}

TEST_CASE("NetworkCost: without a level of its key the matrix says what one domain costs inside") {
  fixture on;
  const node_id a = on.node("a", "l1", "s1"), b = on.node("b", "l2", "s1"), c = on.node("c", "l3", "s2");
  on.member(a, "ps"), on.member(b, "worker"), on.member(c, "worker"), on.member(c, "worker");
  network_cost::options alone{.beyond = 10};
  alone.matrix = {.key = "spine", .values = {"s1", "s2"}, .costs = {{3, 7}, {7, 4}}};
  CHECK(on.score(alone) == 100 - 100 * (3 + 4 * 7) / 60);  // c's two are on one node
  network_cost::options talk = alone;
  talk.demands = {{"ps", "worker", 2}};
  CHECK(on.score(talk) == 100 - 100 * (3 + 2 * 7) / 30);
  // Levels inside a domain count where they are cheaper.
  on.member(on.node("a2", "l1", "s1"), "ps");
  network_cost::options leaves = alone;
  leaves.levels = {{"leaf", 1}};
  CHECK(on.score(leaves) == 100 - 100 * (1 + 2 * 3 + 6 * 7) / 100);
  leaves.levels = {{"leaf", 5}};
  CHECK(on.score(leaves) == 100 - 100 * (3 + 2 * 3 + 6 * 7) / 100);
}

TEST_CASE("NetworkCost: a matrix and levels that say the same score the same") {
  network_cost::options of_spines{.levels = {{"leaf", 1}}, .beyond = 10};
  of_spines.matrix = {.key = "spine", .values = {"s1", "s2", "s3"}, .costs = {{5, 10, 10}, {10, 5, 10}, {10, 10, 5}}};
  network_cost::options of_leaves{.beyond = 10};
  of_leaves.matrix = {.key = "leaf",
                      .values = {"l1", "l2", "l3", "l4"},
                      .costs = {{1, 5, 10, 10}, {5, 1, 10, 10}, {10, 10, 1, 10}, {10, 10, 10, 1}}};
  network_cost::options both = fabric;
  both.matrix = of_spines.matrix;
  fixture on;
  const node_id nodes[] = {on.node("a", "l1", "s1"), on.node("b", "l1", "s1"), on.node("c", "l2", "s1"),
                           on.node("d", "l3", "s2"), on.node("e", "l4", "s3"), on.node("f", "l4", "s3")};
  for (const std::size_t next : {0u, 0u, 1u, 5u, 2u, 3u, 4u, 4u, 2u}) {
    on.member(nodes[next], next % 2 == 0 ? "even" : "odd");
    for (const network_cost::objective objective : {network_cost::objective::total, network_cost::objective::maximum}) {
      for (const bool talk : {false, true}) {
        const auto score = [&](network_cost::options chosen) {
          chosen.objective = objective;
          if (talk) chosen.demands = {{"even", "odd", 3}, {"even", "even", 1}};
          return on.score(chosen);
        };
        CHECK(score(of_spines) == score(fabric));
        CHECK(score(of_leaves) == score(fabric));
        CHECK(score(both) == score(fabric));
      }
    }
  }
}

TEST_CASE("NetworkCost: of two racks with room the one whose nodes are close wins") {
  gangsched::cluster cluster;
  const auto add = [&](const char* name, const char* rack, const char* leaf) {
    must(cluster.add_node(a_node{name}.cpu(2).label("rack", rack).label("leaf", leaf)));
  };
  add("a1", "a", "1"), add("a2", "a", "2"), add("b1", "b", "3"), add("b2", "b", "3");
  plugin_registry plugins = builtin_plugins();
  runtime_profile made{plugins};
  for (const char* name : {"PrioritySort", "NodeResourcesFit", "GangScheduling", "TopologyPlacementGenerator"})
    made.enable(name);
  made.enable(
      "NetworkCost", 1,
      argument::fields{{"levels", argument::list{argument::fields{{"key", "leaf"}, {"cost", 1}}}}, {"beyond", 10}});
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

TEST_CASE("NetworkCost: a matrix that makes no sense is named, and arguments are read") {
  using matrix = network_cost::cost_matrix;
  const auto wrong = [](matrix made) {
    network_cost::options chosen = fabric;
    chosen.matrix = std::move(made);
    const auto found = network_cost::check(chosen);
    return found ? found->message() : "fine";
  };
  const std::string at = "plugin NetworkCost: matrix.";
  CHECK(wrong({"zone", {"a", "b"}, {{7, 6}, {6, 3}}}) == "fine");
  CHECK(wrong({"spine", {"a", "b"}, {{0, 6}, {6, 5}}}) == "fine");
  CHECK(wrong({"", {"a"}, {{0}}}) == at + "key: is empty");
  CHECK(wrong({"zone", {}, {}}) == at + "values: is empty");
  CHECK(wrong({"zone", {"a", "a"}, {{0, 1}, {1, 0}}}) == at + "values[1]: is there twice");
  CHECK(wrong({"zone", {"a", "b"}, {{0, 1}}}) == at + "costs: has not one row for each value");
  CHECK(wrong({"zone", {"a", "b"}, {{0, 1}, {1}}}) == at + "costs[1]: has not one cost for each value");
  CHECK(wrong({"zone", {"a", "b"}, {{0, 1}, {2, 0}}}) == at + "costs[1][0]: is not what it is the other way round");
  CHECK(wrong({"zone", {"a", "b"}, {{0, -1}, {-1, 0}}}) == at + "costs[1][0]: is below 0, or above beyond");
  CHECK(wrong({"zone", {"a", "b"}, {{0, 11}, {11, 0}}}) == at + "costs[1][0]: is below 0, or above beyond");
  CHECK(wrong({"spine", {"a", "b"}, {{0, 6}, {6, 4}}}) ==
        at + "costs[1][1]: is neither 0 nor the cost of the level with this key");

  const auto read = [](argument::list costs) {
    return network_cost::from(argument::fields{
        {"beyond", 10},
        {"matrix",
         argument::fields{{"key", "spine"}, {"values", argument::list{"s1", "s2"}}, {"costs", std::move(costs)}}}});
  };
  CHECK(read({argument::list{0, 1}}).error().message() == at + "costs: has not one row for each value");
  CHECK(read({argument::list{0, -1}}).error().message() ==
        "plugin NetworkCost: args.matrix.costs[0][1]: -1 is not in 0 to 1000000");
  const auto made = read({argument::list{0, 4}, argument::list{4, 0}});
  REQUIRE(made);
  fixture on;
  on.member(on.node("a", "l1", "s1")), on.member(on.node("b", "l2", "s2"));
  CHECK(made->score_placement(group_view{inside(on.cluster), on.gang.row}, placement_view{inside(on.cluster), ""},
                              {}) == 60);
  CHECK(network_cost::from(argument::fields{{"matrix", argument::fields{{"rows", 1}}}}).error().message() ==
        "plugin NetworkCost: args.matrix.rows: there is no such argument");
}

}  // namespace gangsched::testing::network_cost_test
