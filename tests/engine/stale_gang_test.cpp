// gang::stale_after: members that are left of a gang go when they have been too few for too long (KAI 24).
#include "engine_parts.hpp"
#include "gangsched/engine/stale_gangs.hpp"
#include "world.hpp"

namespace gangsched::testing::stale_gang_test {

namespace {

/// A gang of three with a grace of a minute, whose members run.
struct shrinking : world {
  group_spec spec;
  group_id group;

  explicit shrinking(std::optional<instant> grace = instant{60s}, std::int32_t minimum = 3, int members = 3) {
    add(a_node{"n"}.cpu(8));
    spec = a_gang{"gang", minimum};
    std::get<gang>(spec.policy).stale_after = grace;
    group = add(spec);
    for (int i = 0; i < members; ++i) add_member(i);
    run(true);
  }
  using world::add;
  void add_member(int number) { add(a_pod{"p" + std::to_string(number)}.cpu(1).in(group)); }
  words at(instant when) { return now = when, run(true); }
};

}  // namespace

TEST_CASE("a gang that lost a member is evicted after its grace, and not before", "[engine][group][stale]") {
  shrinking w;
  w.remove(w.pod("p1"));
  CHECK(w.at(instant{10s}).empty());
  CHECK(w.scheduler.next_deadline() == instant{70s});
  CHECK(w.at(instant{69s}).empty());
  CHECK(w.at(instant{70s}) == words{"evict p0 n", "evict p2 n"});
  CHECK(w.at(instant{100s}).empty());
  CHECK(w.at(instant{130s}).size() == 2);  // nobody listened
  for (const char* name : {"p0", "p2"}) w.must(w.cluster.set_terminating(w.pod(name)));
  CHECK(w.at(instant{500s}).empty());
  CHECK_FALSE(w.scheduler.next_deadline());
}

TEST_CASE("a member that goes away on its own terms counts as gone", "[engine][group][stale]") {
  shrinking w;
  w.must(w.cluster.set_terminating(w.pod("p1")));
  w.at(instant{0s});
  CHECK(w.at(instant{60s}) == words{"evict p0 n", "evict p2 n"});
}

TEST_CASE("a gang that is whole again in time stays, and its grace begins anew", "[engine][group][stale]") {
  shrinking w;
  w.remove(w.pod("p1"));
  w.at(instant{0s});
  w.now = instant{50s};
  w.add_member(7);
  w.run(true);
  CHECK(w.at(instant{200s}).empty());
  w.remove(w.pod("p7"));
  CHECK(w.at(instant{201s}).empty());
  CHECK(w.at(instant{261s}).size() == 2);
}

TEST_CASE("who is evicted for its gang is not evicted for somebody else in the same call", "[engine][group][stale]") {
  shrinking w{instant{60s}, 3, 3};
  w.remove(w.pod("p1"));
  w.at(instant{0s});
  w.add(a_pod{"high"}.cpu(7).priority(100));
  CHECK(w.at(instant{60s}) == words{"evict p0 n", "evict p2 n", "nominate high n"});
}

TEST_CASE("members of stale groups, one in the other, are evicted once", "[engine][group][stale]") {
  world w;
  w.add(a_node{"n"}.cpu(8));
  group_spec top{.name = "top", .policy = gang{.min_count = 1}, .composite = true};
  std::get<gang>(top.policy).stale_after = instant{60s};
  group_spec below = a_gang{"below", 2};
  std::get<gang>(below.policy).stale_after = instant{60s};
  below.parent = w.add(top);
  const group_id gang = w.add(below);
  for (const char* name : {"a", "b"}) w.add(a_pod{name}.cpu(1).in(gang));
  CHECK(w.run(true).size() == 2);
  w.remove(w.pod("b"));
  CHECK(w.run_at(1s).empty());
  CHECK(w.run_at(61s) == words{"evict a n"});
}

TEST_CASE("who is not stale", "[engine][group][stale]") {
  SECTION("without a grace") {
    shrinking w{std::nullopt};
    w.remove(w.pod("p1"));
    w.at(instant{0s});
    CHECK(w.at(instant{1h}).empty());
  }
  SECTION("above the minimum") {
    shrinking w{instant{60s}, 2};
    w.remove(w.pod("p1"));
    w.at(instant{0s});
    CHECK(w.at(instant{1h}).empty());
  }
  SECTION("done") {
    shrinking w;
    w.spec.done = true;
    w.must(w.cluster.update_group(w.group, w.spec));
    w.remove(w.pod("p1"));
    w.at(instant{0s});
    CHECK(w.at(instant{1h}).empty());
  }
  SECTION("with a minimum that was lowered") {
    shrinking w;
    w.remove(w.pod("p1"));
    w.at(instant{0s});
    std::get<gang>(w.spec.policy).min_count = 2;
    w.must(w.cluster.update_group(w.group, w.spec));
    CHECK(w.at(instant{1h}).empty());
  }
  SECTION("nobody runs") {
    shrinking w;
    for (const char* name : {"p0", "p1", "p2"}) w.remove(w.pod(name));
    w.at(instant{0s});
    CHECK(w.at(instant{1h}).empty());
  }
}

TEST_CASE("a role below its minimum is too few, too", "[engine][group][stale]") {
  world w;
  w.add(a_node{"n"}.cpu(8));
  const group_id group =
      w.add({.name = "ray", .policy = gang{.min_count = 1, .roles = {{"head", 1}}, .stale_after = instant{60s}}});
  for (const char* name : {"head", "worker"}) {
    a_pod pod = a_pod{name}.cpu(1).in(group);
    pod.spec.role = name;
    w.add(pod);
  }
  w.run(true);
  w.remove(w.pod("head"));
  w.run(true);
  w.now = instant{60s};
  CHECK(w.run(true) == words{"evict worker n"});
}

TEST_CASE("what a tree says goes for all below it, and a gang that ran before the scheduler came counts",
          "[engine][group][stale]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(8));
  const group_id tree =
      w.add({.name = "tree", .policy = gang{.min_count = 2, .stale_after = instant{60s}}, .composite = true});
  std::vector<group_id> leaves;
  for (const char* name : {"a", "b"})
    leaves.push_back(w.add({.name = name, .policy = gang{.min_count = 2}, .parent = tree}));
  w.add(a_pod{"a0"}.cpu(1).in(leaves[0]).on(n));
  w.add(a_pod{"b0"}.cpu(1).in(leaves[1]).on(n));
  w.add(a_pod{"b1"}.cpu(1).in(leaves[1]).on(n));
  scheduler late{w.cluster, profiles::kube_default(), world::lowest_first()};
  CHECK_FALSE(late.schedule_cycle(instant{5s}));
  CHECK(late.next_deadline() == instant{65s});
  CHECK(w.said(late.schedule_cycle(instant{65s}).decisions()) == words{"evict a0 n", "evict b0 n", "evict b1 n"});
}

TEST_CASE("a grace below nothing is refused", "[engine][group][stale]") {
  cluster c;
  const auto made = c.add_group({.name = "g", .policy = gang{.stale_after = instant{-1s}}});
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().field == "policy.stale_after");
}

TEST_CASE("gangs that change while nobody asks which are stale take no more memory each time",
          "[engine][group][stale][parts]") {
  engine_parts w;
  std::vector<group_id> gangs;
  const node_id node = w.add(a_node{"n"}.cpu(8));
  for (const std::string name : {"one", "two"}) {
    group_spec spec = a_gang{name, 2};
    std::get<gang>(spec.policy).stale_after = instant{60s};
    gangs.push_back(w.add(spec));
    w.add(a_pod{name}.cpu(1).in(gangs.back()).on(node));
  }
  engine::stale_gangs stale{w.state, w.entities};
  for (int i = 0; i < 1000; ++i) stale.group_changed(gangs[static_cast<std::size_t>(i % 2)].row);
  CHECK(stale.save().changed.size() <= 100);
  std::vector<row_t> evicted;
  const auto evict = [&](row_t pod) { evicted.push_back(pod); };
  stale.recheck(0s, evict);
  CHECK(stale.next_due() == instant{60s});
  stale.recheck(60s, evict);
  CHECK(evicted.size() == 2);
}

}  // namespace gangsched::testing::stale_gang_test
