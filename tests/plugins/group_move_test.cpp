// Gangs that cannot have their minimum where their members are: what full_domain::move does (group_preemption, gang_scheduling).
#include "engine/world.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::group_move_test {

namespace {

struct racks : world {
  /// "a1": in rack a of zone z
  explicit racks(const std::vector<std::string>& nodes, int cpus = 2) {
    for (const std::string& name : nodes) add(a_node{name}.cpu(cpus).label("rack", name.substr(0, 1)).zone("z"));
  }
  group_id gang_of(int least, full_domain policy = full_domain::move, group_id parent = {},
                   const std::string& name = "g") {
    group_spec spec{.name = name, .policy = gang{.min_count = least}, .parent = parent};
    spec.priority = parent ? std::optional<std::int32_t>{} : 9;
    spec.topology = {.within = {"rack"}, .when_full = policy};
    return add(spec);
  }
  pod_id member(group_id group, const std::string& name, const char* on = nullptr) {
    a_pod pod{name};
    pod.cpu(2).priority(9).in(group);
    if (on != nullptr) pod.on(node(on));
    return add(pod);
  }
};

}  // namespace

TEST_CASE("a gang that lost a node moves to another rack as one, when there is no room in its own", "[group][move]") {
  racks w{{"a1", "b1", "b2"}};
  const group_id gang = w.gang_of(2);
  const pod_id left = w.member(gang, "g-0", "a1");
  w.member(gang, "g-2");
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(sorted(w.said(done.decisions())) == words{"evict g-0 a1", "nominate g-2 b2"});
  for (const decision& one : done) {
    if (one.kind == decision_kind::evict)
      CHECK(std::string{one.reason} == "its group moves to where all of it has room");
  }
  // While the first one leaves, the other one waits for it, and keeps its place.
  w.must(w.cluster.set_terminating(left, true));
  CHECK(w.run_at(20s).empty());
  CHECK(w.cluster.nominated_node_of(w.pod("g-2")) == w.node("b2"));
  w.remove(left);
  CHECK(w.run_at(40s).empty());
  w.member(gang, "g-3");
  CHECK(sorted(w.run_at(1min)) == words{"bind g-2 b2", "bind g-3 b1"});
}

TEST_CASE("a gang moves together again whose members run in several racks, or in none", "[group][move]") {
  const std::string elsewhere = GENERATE("b", "");
  const full_domain policy = GENERATE(full_domain::move, full_domain::wait);
  const domain_choice choice = GENERATE(domain_choice::scored, domain_choice::best_fit);
  racks w{{"a1", "a2", "c1", "c2", "c3"}};
  group_spec spec{.name = "g", .policy = gang{.min_count = 3}, .priority = 9};
  spec.topology = {.within = {"rack"}, .choice = choice, .when_full = policy};
  const group_id gang = w.add(spec);
  w.member(gang, "g-0", "a1"), w.member(gang, "g-1", "a2");
  a_node moved{"a1"};
  moved.cpu(2).zone("z");
  w.must(w.cluster.update_node(w.node("a1"), elsewhere.empty() ? moved : moved.label("rack", elsewhere)));
  w.member(gang, "g-2");
  const words said = sorted(w.cycle());
  if (policy == full_domain::wait) {
    CHECK(said == words{"reject g-2"});
    return;
  }
  REQUIRE(said.size() == 3);
  CHECK((said[0] == "evict g-0 a1" && said[1] == "evict g-1 a2"));
  CHECK(said[2].starts_with("nominate g-2 c"));
  w.remove(w.pod("g-0")), w.remove(w.pod("g-1"));
  w.member(gang, "g-3"), w.member(gang, "g-4");
  CHECK(count(w.run_at(1min), "bind ") == 3);
}

TEST_CASE("nobody is evicted for a move that would not have room, nor if the group is to wait", "[group][move]") {
  const bool room = GENERATE(false, true);
  racks w{{"a1", "b1"}};
  if (room) w.add(a_node{"b2"}.cpu(2).label("rack", "b"));
  const group_id gang = w.gang_of(2, room ? full_domain::wait : full_domain::move);
  w.member(gang, "g-0", "a1");
  w.member(gang, "g-2");
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.run() == words{"reject g-2"});
  CHECK(inside(w.cluster).digest_with_derived() == before);
}

TEST_CASE("a gang that has its minimum does not move for one member more", "[group][move]") {
  racks w{{"a1", "a2", "b1", "b2", "b3"}};
  const group_id gang = w.gang_of(2);
  w.member(gang, "g-0", "a1"), w.member(gang, "g-1", "a2");
  w.member(gang, "g-2");
  CHECK(w.run() == words{"reject g-2"});
}

TEST_CASE("a gang whose domains are chosen by room moves too, and what is not bound yet is taken back",
          "[group][move]") {
  racks w{{"a1", "b1", "b2"}};
  const group_id gang = w.gang_of(2);
  group_spec spec = inside(w.cluster).groups.record[gang.row]->spec;
  spec.topology.choice = domain_choice::best_fit;
  w.must(w.cluster.update_group(gang, spec));
  const pod_id first = w.member(gang, "g-0");
  w.must(w.cluster.assume(first, w.node("a1")));
  w.member(gang, "g-1");
  CHECK(sorted(w.run()) == words{"nominate g-1 b2", "revoke g-0 a1"});
  CHECK(sorted(w.run_at(1min)) == words{"bind g-0 b1", "bind g-1 b2"});
}

TEST_CASE("less important pods go before the gang does", "[group][move]") {
  racks w{{"a1", "a2", "b1", "b2"}};
  const group_id gang = w.gang_of(2);
  w.member(gang, "g-0", "a1");
  w.add(a_pod{"low"}.cpu(2).on(w.node("a2")));
  w.member(gang, "g-1");
  CHECK(sorted(w.run()) == words{"evict low a2", "nominate g-1 a2"});
}

TEST_CASE("no member of a gang that moves starts before the last one has left, also if there is room by then",
          "[group][move]") {
  racks w{{"a1", "a2", "b1", "b2", "b3"}};
  const group_id gang = w.gang_of(3);
  w.member(gang, "g-0", "a1"), w.member(gang, "g-1", "a2");
  w.member(gang, "g-2");
  CHECK(sorted(w.run()) == words{"evict g-0 a1", "evict g-1 a2", "nominate g-2 b3"});
  for (const char* name : {"g-0", "g-1"}) w.must(w.cluster.set_terminating(w.pod(name), true));
  w.remove(w.pod("g-0"));
  w.member(gang, "g-3");
  CHECK(sorted(w.run_at(1min)) == words{"reject g-2", "reject g-3"});
  w.remove(w.pod("g-1"));
  w.member(gang, "g-4");
  w.run_at(2min);
  for (const char* name : {"g-2", "g-3", "g-4"}) {
    CHECK(w.cluster.name_of(w.cluster.node_of(w.pod(name))).starts_with("b"));
  }
}

TEST_CASE("of a tree the group that lacks members moves alone, within what the tree says", "[group][move][tree]") {
  racks w{{"a1", "a2", "b1", "b2", "c1"}};
  w.add(a_node{"d1"}.cpu(8).label("rack", "d").zone("elsewhere"));
  group_spec job{.name = "job", .policy = gang{.min_count = 2}, .composite = true, .priority = 9};
  job.topology.within = {"topology.kubernetes.io/zone"};
  const group_id tree = w.add(job);
  const group_id one = w.gang_of(1, full_domain::move, tree, "one"), two = w.gang_of(2, full_domain::move, tree, "two");
  w.member(one, "one-0", "c1");
  w.member(two, "two-0", "a1");
  w.add(a_pod{"other"}.cpu(2).priority(99).on(w.node("a2")));
  w.member(two, "two-1");
  CHECK(sorted(w.run()) == words{"evict two-0 a1", "nominate two-1 b2"});
}

TEST_CASE("a move from nowhere, or of members that are placed one by one, is refused", "[group][move]") {
  world w;
  const auto field = [&](const group_spec& spec) {
    const result<group_id> made = w.cluster.add_group(spec);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == errc::malformed);
    CHECK(made.error().object == "group default/g");
    return made.error().field;
  };
  CHECK(field({.name = "g", .topology = {.when_full = full_domain::move}}) == "topology.when_full");
  CHECK(field({.name = "g",
               .policy = gang{.mode = gang_mode::permit},
               .topology = {.within = {"rack"}, .when_full = full_domain::move}}) == "topology.within");
}

}  // namespace gangsched::testing::group_move_test
