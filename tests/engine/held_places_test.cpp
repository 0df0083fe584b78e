// What YuniKorn does with placeholders (partition_test.go, application_test.go), with reservations: docs/queues/yunikorn.md#placeholders.
#include "reservation_pods.hpp"

namespace gangsched::testing::held_places_test {

namespace {

/// A gang of as many reservations, each of so many CPUs, for pods of the job.
std::vector<pod_id> hold(world& w, int members, int cpu, bool once = true) {
  const group_id held = w.add(a_gang{"held", members});
  std::vector<pod_id> made;
  for (int i = 0; i < members; ++i) {
    pod_spec one = holder("r" + std::to_string(i), cpu, "job", once);
    one.group = held;
    made.push_back(w.add(one));
  }
  return made;
}

}  // namespace

TEST_CASE(
    "cases 9 and 10: a pod that is larger than what is held takes the rest from its node, a smaller one leaves some",
    "[engine][reservations]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(5)), m = w.add(a_node{"m"}.cpu(4));
  pod_spec filler = a_pod{"filler"}.cpu(2);
  filler.node = m;
  w.add(filler);
  const pod_id r = hold(w, 1, 2).front();
  CHECK(w.run(true) == words{"bind r0 n"});
  SECTION("larger, with room beside it") {
    w.add(owner("real", 5, "job"));
    CHECK(w.run(true) == words{"bind real n", "evict r0 n"});
    CHECK(w.cluster.requested(n, "cpu") == 5000);
  }
  SECTION("larger, without") {
    pod_spec other = a_pod{"other"}.cpu(2);
    other.node = n;
    w.add(other);
    w.add(owner("real", 4, "job"));
    CHECK(w.run(true) == words{"reject real"});
    CHECK(w.cluster.left_of(r, "cpu") == 2000);  // what is held stays
    w.remove(w.pod("filler"));
    w.now += 60s;
    CHECK(w.run(true) == words{"bind real m"});
    CHECK(!w.cluster.reservation_of(w.pod("real")));
    CHECK(w.cluster.left_of(r, "cpu") == 2000);
  }
  SECTION("smaller: the whole is charged until it runs") {
    w.add(owner("real", 1, "job"));
    CHECK(w.cluster.requested(n, "cpu") == 2000);
    CHECK(w.run(true) == words{"bind real n", "evict r0 n"});
    CHECK(w.cluster.requested(n, "cpu") == 1000);
  }
  CHECK(w.scheduler.verify());
}

TEST_CASE("more pods than places: the others are placed like any", "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(6));
  hold(w, 2, 2);
  CHECK(count(w.run(true), "bind r") == 2);
  for (int i = 0; i < 3; ++i) w.add(owner("real" + std::to_string(i), 2, "job"));
  CHECK(count(w.run(true), "bind real") == 3);
  int drawn = 0;
  for (int i = 0; i < 3; ++i) drawn += w.cluster.reservation_of(w.pod("real" + std::to_string(i))) ? 1 : 0;
  CHECK(drawn == 2);
  CHECK(w.scheduler.verify());
}

TEST_CASE("where a place cannot be used its pod goes elsewhere, and what is held stays or goes with its node",
          "[engine][reservations]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(2));
  const pod_id r = hold(w, 1, 2).front();
  CHECK(w.run(true) == words{"bind r0 n"});
  const node_id m = w.add(a_node{"m"}.cpu(2));
  SECTION("the node is closed") {
    node_spec closed = a_node{"n"}.cpu(2);
    closed.unschedulable = true;
    w.must(w.cluster.update_node(n, closed));
    w.add(owner("real", 2, "job"));
    CHECK(w.run(true) == words{"bind real m"});
    CHECK(w.cluster.requested(n, "cpu") == 2000);  // both, until the host ends the reservation
    CHECK(w.cluster.requested(m, "cpu") == 2000);
    w.remove(r);
    CHECK(w.cluster.requested(n, "cpu") == 0);
  }
  SECTION("the node is lost") {
    w.remove(r);
    w.must(w.cluster.remove_node(n));
    w.add(owner("real", 2, "job"));
    CHECK(w.run(true) == words{"bind real m"});
  }
  CHECK(w.scheduler.verify());
}

TEST_CASE("what holds a place is preempted like a pod of its priority", "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(4));
  const pod_id r = hold(w, 1, 3).front();
  CHECK(w.run(true) == words{"bind r0 n"});
  w.add(a_pod{"important"}.cpu(4).priority(10));
  CHECK(sorted(w.run(true)) == words{"evict r0 n", "nominate important n"});
  w.must(w.cluster.set_terminating(r, true));
  w.add(owner("real", 3, "job"));
  CHECK(count(w.run(true), "bind") == 0);  // nobody has that place any more
  w.remove(r);
  w.now += 60s;
  CHECK(count(w.run(true), "bind important") == 1);
  w.remove(w.pod("important"));
  w.now += 60s;
  CHECK(w.run(true) == words{"bind real n"});
  CHECK(!w.cluster.reservation_of(w.pod("real")));
  CHECK(w.scheduler.verify());
}

TEST_CASE("case 11: a gang of reservations holds all of its places or none, and until its time",
          "[engine][reservations]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(5));
  hold(w, 3, 2);
  CHECK(count(w.run(true), "bind") == 0);  // two would have room
  CHECK(w.cluster.requested(n, "cpu") == 0);
  pod_spec one = holder("single", 2, "job");
  one.reservation->expires = w.now + 15min;
  w.add(one);
  CHECK(count(w.run(true), "bind single") == 1);
  w.now += 15min;
  CHECK(count(w.run(true), "evict single") == 1);
  CHECK(w.scheduler.verify());
}

}  // namespace gangsched::testing::held_places_test
