// The pods that permit hooks hold: who waits, until when, and what an abandoned call leaves of it.
#include "gangsched/engine/waiting_pods.hpp"

#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::waiting_pods_test {

namespace {

/// A node and assumed pods on it.
struct fixture {
  gangsched::cluster cluster;
  engine::waiting_pods waiting{inside(cluster)};
  node_id node = cluster.add_node(a_node{"n"}.cpu(64)).value();

  pod_id assume(const std::string& name, std::optional<group_id> group = {}) {
    a_pod spec{name};
    if (group) spec.in(*group);
    const pod_id pod = cluster.add_pod(spec).value();
    REQUIRE(cluster.assume(pod, node));
    return pod;
  }
  void hold(pod_id pod, instant until) {
    engine::waiting_pods::entry one{pod, cluster.attempt_of(pod), 0};
    engine::waiting_pods::hold(one, 0, instant{0}, until);
    waiting.add(std::move(one));
  }
  [[nodiscard]] std::vector<pod_id> all() const {
    std::vector<pod_id> pods;
    waiting.each([&](const engine::waiting_pods::entry& one) { pods.push_back(one.pod); });
    return pods;
  }
};

}  // namespace

TEST_CASE("a pod waits as long as it has the node by the same attempt", "[parts]") {
  fixture f;
  const pod_id a = f.assume("a"), b = f.assume("b");
  f.hold(a, 10s);
  f.hold(b, 5s);
  CHECK(f.all() == std::vector{a, b});
  CHECK(f.waiting.next_deadline() == instant{5s});

  REQUIRE(f.cluster.release(b));
  CHECK(f.all() == std::vector{a});
  CHECK(f.waiting.next_deadline() == instant{10s});
  REQUIRE(f.cluster.assume(b, f.node));  // another attempt
  CHECK_FALSE(f.waiting.has(b.row));

  f.waiting.remove(a.row);
  CHECK(f.waiting.count() == 0);
  CHECK_FALSE(f.waiting.empty());  // until it is compacted
  f.waiting.compact();
  f.waiting.end_call();
  CHECK(f.waiting.empty());
}

TEST_CASE("who was taken back by the host has no place any more, though the log was not read", "[parts]") {
  fixture f;
  const pod_id a = f.assume("a");
  f.hold(a, 10s);
  REQUIRE(f.cluster.release(a));
  f.waiting.compact();
  f.waiting.end_call();
  REQUIRE(f.cluster.assume(a, f.node));
  engine::waiting_pods copied{inside(f.cluster)};
  copied = f.waiting;  // as a fork has it: with no room for more than it holds
  CHECK_FALSE(copied.has(a.row));
}

TEST_CASE("the first time that a plugin holds a pod counts, and no longer than 15 minutes", "[parts]") {
  engine::waiting_pods::entry one{};
  engine::waiting_pods::hold(one, 2, instant{1s}, 10s);
  engine::waiting_pods::hold(one, 2, instant{5s}, 60s);
  engine::waiting_pods::hold(one, 0, instant{1s}, 24h);
  CHECK(one.plugins == 0b101);
  CHECK(one.deadline[2] == instant{11s});
  CHECK(one.deadline[0] == instant{1s} + instant{15min});
}

TEST_CASE("groups that changed are named once, and only while somebody waits", "[parts]") {
  fixture f;
  const group_id gang = f.cluster.add_group(a_gang("g", 1)).value(),
                 other = f.cluster.add_group(a_gang("h", 1)).value();
  f.waiting.group_changed(gang.row);
  CHECK(f.waiting.take_changed_groups().empty());

  const pod_id a = f.assume("a", gang), b = f.assume("b", other), c = f.assume("c", gang);
  for (const pod_id pod : {a, b, c}) f.hold(pod, 10s);
  CHECK(f.waiting.members_of(gang.row) == std::vector{a.row, c.row});
  f.waiting.group_changed(gang.row);
  f.waiting.group_changed(gang.row);
  f.waiting.group_changed(no_row);
  CHECK(f.waiting.take_changed_groups() == std::vector{gang.row});
  CHECK(f.waiting.take_changed_groups().empty());
  f.waiting.all_groups_changed();
  CHECK(f.waiting.take_changed_groups() == std::vector{gang.row, other.row, gang.row});
}

TEST_CASE("a call that is abandoned leaves in the permit room who was there", "[parts]") {
  fixture f;
  const pod_id a = f.assume("a"), b = f.assume("b"), c = f.assume("c");
  f.hold(a, 10s);
  f.hold(b, 10s);
  f.waiting.remember();
  f.hold(c, 10s);
  f.waiting.remove(a.row);
  f.waiting.find(b.row)->plugins = 0;
  f.waiting.find(b.row)->rejected = "no";
  f.waiting.recall();
  CHECK(f.all() == std::vector{a, b});
  CHECK(f.waiting.find(b.row)->plugins == 1);
  CHECK(f.waiting.find(b.row)->rejected == nullptr);
}

}  // namespace gangsched::testing::waiting_pods_test
