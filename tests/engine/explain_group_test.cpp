#include "engine/world.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::explain_group_test {

namespace {

struct racks {
  gangsched::cluster cluster;
  std::optional<gangsched::scheduler> scheduler;

  racks() { scheduler.emplace(cluster, profiles::kube_default()); }
  node_id node(const char* name, const char* rack, int gpus) {
    return cluster.add_node(a_node{name}.cpu(64).gpus(gpus).label("rack", rack)).value();
  }
  std::vector<pod_id> members(group_id group, int count, int gpus) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back("m" + std::to_string(i));
    return cluster.add_pods(a_pod{"m"}.cpu(1).gpus(gpus).in(group), names).value();
  }
  void drain() {
    while (const auto cycle = scheduler->schedule_cycle(instant{0})) {
      for (const decision& one : cycle) {
        if (one.kind == decision_kind::bind) REQUIRE(scheduler->confirm(one.pod));
      }
    }
  }
};

TEST_CASE("a group is told how far it comes in each domain, what lacks in the nearest, and what would help",
          "[engine][explain][group]") {
  racks w;
  for (const char* name : {"n11", "n12", "n13"}) w.node(name, "rack-1", 2);
  for (const char* name : {"n31", "n32"}) w.node(name, "rack-3", 6);
  w.node("n17", "rack-3", 2);
  const group_id gang = w.cluster.add_group(a_gang("g", 8).topology("rack")).value();
  w.members(gang, 8, 2);
  w.drain();
  const auto before = inside(w.cluster).digest_with_derived();
  const std::vector<group_explanation> why = w.scheduler->explain(gang).value();
  REQUIRE(why.size() == 1);
  CHECK(why[0].group == gang);
  CHECK(why[0].summary == "rack-3: 7 of 8 members fit, 8 are needed, 2 nvidia.com/gpu short on n31");
  CHECK(why[0].change == "free or add 2 nvidia.com/gpu on n31");
  REQUIRE(why[0].placements.size() == 2);
  CHECK(why[0].placements[0].name == "rack-3");
  CHECK(why[0].placements[0].fit == 7);
  CHECK(why[0].placements[0].wanted == 8);
  CHECK(why[0].placements[1].name == "rack-1");
  CHECK(why[0].placements[1].fit == 3);
  CHECK(inside(w.cluster).digest_with_derived() == before);
}

TEST_CASE("the change that is told helps", "[engine][explain][group]") {
  racks w;
  w.node("n1", "a", 2);
  const node_id n2 = w.node("n2", "a", 1);
  const group_id gang = w.cluster.add_group(a_gang("g", 2).topology("rack")).value();
  w.members(gang, 2, 2);
  w.drain();
  const std::vector<group_explanation> why = w.scheduler->explain(gang).value();
  REQUIRE(why.size() == 1);
  CHECK(why[0].change == "free or add 1 nvidia.com/gpu on n2");
  REQUIRE(w.cluster.update_node(n2, a_node{"n2"}.cpu(64).gpus(2).label("rack", "a")));
  std::size_t bound = 0;
  while (const auto cycle = w.scheduler->schedule_cycle(std::chrono::seconds{60})) {
    for (const decision& one : cycle) bound += one.kind == decision_kind::bind ? 1 : 0;
  }
  CHECK(bound == 2);
}

TEST_CASE("groups of a tree are explained each; those that wait for somebody say for whom",
          "[engine][explain][group]") {
  racks w;
  w.node("n1", "a", 1);
  const group_id root =
      w.cluster.add_group({.name = "tree", .policy = gang{.min_count = 2}, .composite = true}).value();
  group_spec leaf = a_gang("fits", 1);
  leaf.parent = root;
  const group_id fits = w.cluster.add_group(leaf).value();
  leaf.name = "too-large";
  const group_id large = w.cluster.add_group(leaf).value();
  REQUIRE(w.cluster.add_pod(a_pod{"p"}.gpus(1).in(fits)));
  REQUIRE(w.cluster.add_pod(a_pod{"q"}.gpus(3).in(large)));
  w.drain();
  const std::vector<group_explanation> why = w.scheduler->explain(root).value();
  REQUIRE(why.size() == 2);
  CHECK(why[0].name == "fits");
  CHECK(why[0].summary == "1 of 1 members fit");
  CHECK(why[1].summary == "0 of 1 members fit, 1 are needed, 2 nvidia.com/gpu short on n1");

  const group_id later = w.cluster.expect_group("default", "later").value();
  REQUIRE(w.cluster.add_pod(a_pod{"r"}.in(later)));
  w.drain();
  CHECK(w.scheduler->explain(later).value()[0].summary == "waiting for the group \"later\" to be added");
  CHECK(w.scheduler->explain(group_id{99, 0}).error().code == errc::unknown);
}

TEST_CASE("members who fit one by one but not in slices are said not to fit", "[engine][explain][group][slices]") {
  racks w;
  for (const char* name : {"n1", "n2"}) w.node(name, name, 3);
  group_spec spec = a_gang("g", 6);
  spec.topology.slices = {{"rack", 2}};
  const group_id gang = w.cluster.add_group(spec).value();
  w.members(gang, 6, 1);
  w.drain();
  std::vector<group_explanation> why = w.scheduler->explain(gang).value();
  REQUIRE(why[0].placements.size() == 1);
  CHECK(why[0].placements[0].fit == 6);
  CHECK_FALSE(why[0].placements[0].feasible);
  CHECK(why[0].summary == "6 of 6 members fit, slices of 2 that share rack do not fit");
  CHECK(why[0].change.empty());
  w.node("n3", "n1", 1);
  why = w.scheduler->explain(gang).value();
  CHECK(why[0].placements[0].feasible);
  CHECK(why[0].summary == "6 of 6 members fit");
}

TEST_CASE("members beyond those that may share a domain do not fit", "[engine][explain][group]") {
  racks w;
  for (const char* name : {"n1", "n2"}) w.node(name, name, 8);
  group_spec spec = a_gang("g", 5);
  spec.topology.spread_key = "rack";
  spec.topology.spread_most = 2;
  const group_id gang = w.cluster.add_group(spec).value();
  w.members(gang, 5, 1);
  w.drain();
  const std::vector<group_explanation> why = w.scheduler->explain(gang).value();
  CHECK_FALSE(why[0].placements[0].feasible);
  CHECK(why[0].summary == "4 of 5 members fit, 5 are needed, each domain of rack has as many members as may share one");
}

TEST_CASE("enough members without those that a role needs do not fit", "[engine][explain][group]") {
  racks w;
  w.node("n1", "a", 4);
  group_spec spec = a_gang("g", 2);
  std::get<gangsched::gang>(spec.policy).roles = {{"driver", 1}};
  const group_id gang = w.cluster.add_group(spec).value();
  w.members(gang, 3, 1);
  a_pod driver = a_pod{"driver"}.cpu(1).gpus(5).in(gang);
  driver.spec.role = "driver";
  REQUIRE(w.cluster.add_pod(driver));
  w.drain();
  const std::vector<group_explanation> why = w.scheduler->explain(gang).value();
  CHECK(why[0].placements[0].fit == 3);
  CHECK_FALSE(why[0].placements[0].feasible);
  CHECK(why[0].summary ==
        "3 of 4 members fit, 0 of 1 members of the role \"driver\" fit, 1 nvidia.com/gpu short on n1");
  CHECK(why[0].change == "free or add 1 nvidia.com/gpu on n1");
}

TEST_CASE("a group that only a search in full places is said to fit", "[engine][explain][group]") {
  racks w;
  w.node("n1", "a", 4);
  w.node("n2", "a", 3);
  const group_id gang = w.cluster.add_group(a_gang("g", 3)).value();
  for (const auto& [name, gpus] : {std::pair{"p1", 2}, {"p2", 3}, {"p3", 2}})
    REQUIRE(w.cluster.add_pod(a_pod{name}.cpu(1).gpus(gpus).in(gang)));
  const std::vector<group_explanation> why = w.scheduler->explain(gang).value();
  CHECK(why[0].placements[0].feasible);
  CHECK(why[0].summary == "3 of 3 members fit");
  CHECK(why[0].placements[0].lacks.empty());
}

}  // namespace

TEST_CASE("a group whose members disagree with it is said to be that, and not to fit", "[engine][group][explain]") {
  world w;
  w.add(a_node{"n"}.cpu(4));
  const group_id group = w.add(a_gang{"g", 1}.priority(5));
  w.add(a_pod{"p"}.cpu(1).priority(4).in(group));
  CHECK(w.run() == words{"reject p"});
  const auto why = w.must(w.scheduler.explain(group));
  REQUIRE(why.size() == 1);
  CHECK(why[0].summary == "a member's priority differs from that of its group");
  CHECK(why[0].placements.empty());
}

TEST_CASE("what is said of a group of a tree heeds the affinity of groups above it", "[engine][group][explain][tree]") {
  world w;
  w.add(a_node{"n"}.cpu(4).label("rack", "r"));
  const group_id other = w.add(a_gang{"other", 1});
  w.add(a_pod{"there"}.cpu(1).in(other).on(w.node("n")));
  group_spec top{.name = "top", .policy = gang{.min_count = 1}, .composite = true};
  top.affinity = {{.to = other, .key = "rack", .apart = true}};
  group_spec below{.name = "below", .policy = gang{.min_count = 1}};
  below.parent = w.add(top);
  w.add(a_pod{"p"}.cpu(1).in(w.add(below)));
  CHECK(w.run() == words{"reject p"});
  for (const group_explanation& one : w.must(w.scheduler.explain(below.parent)))
    for (const placement_verdict& where : one.placements) CHECK_FALSE(where.feasible);
}

}  // namespace gangsched::testing::explain_group_test
