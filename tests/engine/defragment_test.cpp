// Plans of moves that make a gang fit: what they say can be done, and nothing of it is.
#include <tuple>

#include "gangsched/model/cluster_queues.hpp"
#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::defragment_test {

namespace {

struct fragmented : world {
  using world::add;
  using world::world;
  pod_id runs(const std::string& name, const std::string& on, std::vector<std::string> cards) {
    a_pod made = a_pod{name}.cpu(1).cards(static_cast<std::int32_t>(cards.size())).on(node(on));
    for (const std::string& id : cards) made.spec.held_devices.push_back({.id = id});
    return add(made);
  }
  group_id gang(std::uint32_t members, device_request request) {
    const group_id made = add(a_gang{"gang", static_cast<std::int32_t>(members)});
    for (std::uint32_t i = 0; i < members; ++i) add(a_pod{"m" + std::to_string(i)}.cpu(1).device(request).in(made));
    return made;
  }
  std::optional<move_plan> plan(group_id group, const move_options& options = {}) {
    const std::uint64_t before = inside(cluster).digest_with_derived();
    std::optional<move_plan> made = must(scheduler.plan_moves(group, options));
    CHECK(inside(cluster).digest_with_derived() == before);
    return made;
  }
  /// Does what the plan says; the gang must fit then.
  void carry_out(const move_plan& plan) {
    std::vector<a_pod> moved;
    for (const pod_move& one : plan.moves) {
      a_pod made = a_pod{std::string{cluster.name_of(one.pod)}}
                       .cpu(1)
                       .cards(static_cast<std::int32_t>(one.devices.size()))
                       .on(one.to);
      for (const device_grant& grant : one.devices)
        made.spec.held_devices.push_back({.id = std::string{cluster.name_of(one.to, grant)}});
      moved.push_back(made);
    }
    for (const pod_move& one : plan.moves) must(cluster.remove_pod(one.pod));
    for (const a_pod& one : moved) add(one);
    const words said = run_at(now + 1h);
    CHECK(said.size() == plan.placed.size());
    for (const std::string& one : said) CHECK(one.starts_with("bind"));
  }
};

}  // namespace

TEST_CASE("two half-full nodes become a full and an empty one", "[engine][defragment]") {
  fragmented w;
  for (const char* name : {"a", "b"}) w.add(a_node{name}.cpu(64).cards(4));
  w.runs("p", "a", {"0"}), w.runs("q", "a", {"2"}), w.runs("r", "b", {"0"}), w.runs("s", "b", {"3"});
  const group_id gang = w.gang(1, {.count = 4});
  CHECK(w.run() == words{"reject m0"});
  const auto plan = w.plan(gang);
  REQUIRE(plan);
  CHECK(plan->cost == 2);
  REQUIRE(plan->moves.size() == 2);
  CHECK(plan->moves[0].from == plan->moves[1].from);
  CHECK(plan->moves[0].to != plan->moves[0].from);
  w.carry_out(*plan);
}

TEST_CASE("what is cheap to move is moved, and what must stay stays", "[engine][defragment]") {
  fragmented w;
  for (const char* name : {"a", "b"}) w.add(a_node{name}.cpu(64).cards(4));
  w.runs("p", "a", {"0"}), w.runs("r", "b", {"0"});
  const group_id gang = w.gang(1, {.count = 4});
  CHECK(w.run() == words{"reject m0"});
  const auto costs = [](std::int64_t p, std::int64_t r) {
    return move_options{.cost = [=](const pod_info& pod) { return pod.name() == "p" ? p : r; }};
  };
  CHECK(w.cluster.name_of(w.plan(gang, costs(9, 3))->moves[0].pod) == "r");
  CHECK(w.plan(gang, costs(9, 3))->cost == 3);
  CHECK(w.cluster.name_of(w.plan(gang, costs(2, -1))->moves[0].pod) == "p");
  CHECK_FALSE(w.plan(gang, costs(-1, -1)));
  move_options none;
  none.most_moves = 0;
  CHECK_FALSE(w.plan(gang, none));
  w.carry_out(*w.plan(gang, costs(9, 3)));
}

TEST_CASE("several nodes are cleared for a gang, as few as will do", "[engine][defragment]") {
  fragmented w;
  for (int i = 0; i < 8; ++i) {
    w.add(a_node{"n" + std::to_string(i)}.cpu(64).cards(4));
    w.runs("p" + std::to_string(i), "n" + std::to_string(i), {"1"});
  }
  const group_id gang = w.gang(3, {.count = 4});
  w.run();
  const auto plan = w.plan(gang);
  REQUIRE(plan);
  CHECK(plan->moves.size() == 3);
  CHECK(plan->placed.size() == 3);
  w.carry_out(*plan);
}

TEST_CASE("a pod may have to change its GPUs where it is", "[engine][defragment]") {
  fragmented w;
  node_spec box = a_node{"box"}.cpu(64);
  box.devices = make_node_devices(gpu_machine::two_quads);
  w.add(box);
  w.runs("p", "box", {"1"}), w.runs("q", "box", {"6"});
  const group_id gang = w.gang(1, {.count = 4, .within = device_scope::nvlink});
  CHECK(w.run() == words{"reject m0"});
  const auto plan = w.plan(gang);
  REQUIRE(plan);
  REQUIRE(plan->moves.size() == 1);
  CHECK(plan->moves[0].from == plan->moves[0].to);
  w.carry_out(*plan);
}

TEST_CASE("a gang that fits needs no moves, one that is too large has no plan", "[engine][defragment]") {
  fragmented w;
  w.add(a_node{"a"}.cpu(64).cards(4));
  w.runs("p", "a", {"0"});
  const group_id fits = w.gang(1, {.count = 3});
  const auto plan = w.plan(fits);
  REQUIRE(plan);
  CHECK(plan->moves.empty());
  CHECK(plan->placed.size() == 1);
  w.run();
  const group_id large = w.add(a_gang{"large", 1});
  w.add(a_pod{"l"}.cards(5).in(large));
  w.run();
  CHECK_FALSE(w.plan(large));
  CHECK_FALSE(w.scheduler.plan_moves(group_id{}));
}

TEST_CASE("a plan holds once the moved pods are where they go", "[engine][defragment]") {
  fragmented w;
  for (const auto& [name, zone, cpu] : {std::tuple{"a", "z0", 4}, std::tuple{"b", "z1", 1}, std::tuple{"c", "z0", 3}})
    w.add(a_node{name}.cpu(cpu).label("zone", zone).label("host", name));
  w.add(a_pod{"guest"}.cpu(3).label("app", "x").on(w.node("a")));
  const group_id gang = w.add(a_gang{"gang", 1});
  const label_selector alike{.match_labels = {{"app", "x"}}};
  // The guest's new node is in the member's zone: that has two pods then, and the other zone none.
  a_pod member = a_pod{"spread"}.cpu(4).label("app", "x").in(gang);
  member.spec.topology_spread_constraints = {{.topology_key = "zone", .selector = alike}};
  const pod_id spread = w.add(member);
  CHECK_FALSE(w.plan(gang));
  w.must(w.cluster.remove_pod(spread));
  // With the guest away the member would be the first of its kind; the guest is elsewhere.
  member = a_pod{"near"}.cpu(4).label("app", "x").in(gang);
  member.spec.affinity_to_pods.required = {{.topology_key = "host", .selector = alike}};
  w.add(member);
  CHECK_FALSE(w.plan(gang));
}

TEST_CASE("nobody moves for a group that would not be tried", "[engine][defragment]") {
  fragmented w;
  w.add(a_node{"a"}.cpu(4)), w.add(a_node{"c"}.cpu(3));
  w.add(a_pod{"guest"}.cpu(3).on(w.node("a")));
  const group_id first = w.add(a_gang{"first", 1});
  const auto moves = [&](const group_spec& group, a_pod member) {
    const group_id id = w.add(group);
    w.add(member.cpu(4).in(id));
    const std::optional<move_plan> plan = w.plan(id);
    return plan ? static_cast<std::int64_t>(plan->moves.size()) : -1;
  };
  CHECK(moves(a_gang{"free", 1}, a_pod{"free-0"}) == 1);
  group_spec later = a_gang{"later", 1}, other = a_gang{"other", 1};
  later.start_after = {{first}};
  CHECK(moves(later, a_pod{"later-0"}) == -1);
  other.priority = 7;
  CHECK(moves(other, a_pod{"other-0"}) == -1);
  a_pod gated{"gated-0"};
  gated.spec.scheduling_gates = {"quota"};
  CHECK(moves(a_gang{"gated", 1}, gated) == -1);
  const group_id expected = w.must(w.cluster.expect_group("default", "expected"));
  w.add(a_pod{"expected-0"}.cpu(4).in(expected));
  CHECK_FALSE(w.plan(expected));
}

TEST_CASE("nobody moves for a group that is not admitted", "[engine][defragment]") {
  fragmented w{profile{kai_policy{}, scheduling_gates{}, node_resources_fit{}, gang_scheduling{}}};
  w.add(a_node{"a"}.cpu(4)), w.add(a_node{"c"}.cpu(3));
  w.add(a_pod{"guest"}.cpu(3).on(w.node("a")));
  w.must(
      w.cluster.queues().add({.name = "held", .quotas = {{.guaranteed = {{"cpu", 9}}}}, .state = queue_state::hold}));
  group_spec held = a_gang{"held", 1};
  held.queue = "held";
  const group_id gang = w.add(held);
  w.add(a_pod{"held-0"}.cpu(4).in(gang));
  CHECK_FALSE(w.plan(gang));
}

}  // namespace gangsched::testing::defragment_test
