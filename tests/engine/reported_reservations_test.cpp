// Reservations that the host was told of: their end is said once, if it was not the host's own answer.
#include "gangsched/engine/reported_reservations.hpp"

#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::reported_reservations_test {

namespace {

struct fixture {
  gangsched::cluster cluster;
  engine::decision_list decisions{inside(cluster)};
  engine::reported_reservations reported{inside(cluster)};
  node_id node = cluster.add_node(a_node{"n"}.cpu(64)).value();

  pod_id report(const std::string& name) {
    const pod_id pod = cluster.add_pod(a_pod{name}).value();
    REQUIRE(cluster.assume(pod, node));
    reported.add(pod.row);
    return pod;
  }
  /// The pods of which an end is said now, with the reason.
  words ended() {
    decisions.clear();
    reported.report_ended(decisions);
    words texts;
    for (const decision& one : decisions.of_cycle()) {
      CHECK(one.kind == decision_kind::revoke);
      texts.push_back(std::string{cluster.name_of(one.pod)} + ": " + one.reason);
    }
    return texts;
  }
};

}  // namespace

TEST_CASE("the end of a reservation is said once, unless it was answered", "[parts]") {
  fixture f;
  const pod_id a = f.report("a"), b = f.report("b");
  f.reported.remove(b.row);
  REQUIRE(f.cluster.release(a));
  f.reported.end(a.row);
  f.reported.end(b.row);
  CHECK(f.ended() == words{"a: its reservation was given back"});
  CHECK(f.ended().empty());
}

TEST_CASE("where the log was lost the cluster says which reservations have ended", "[parts]") {
  fixture f;
  const pod_id a = f.report("a"), b = f.report("b"), c = f.report("c");
  REQUIRE(f.cluster.release(a));
  REQUIRE(f.cluster.bind(b));
  REQUIRE(f.cluster.remove_pod(c));
  const pod_id d = f.report("d");
  f.reported.look_again();
  CHECK(f.ended() == words{"a: its reservation was given back"});
  REQUIRE(f.cluster.remove_node(f.node));
  f.reported.look_again();
  CHECK(f.ended() == words{"d: its node is gone"});
  CHECK(f.cluster.state_of(d) == pod_state::pending);
}

TEST_CASE("a call that is abandoned leaves reported what was", "[parts]") {
  fixture f;
  const pod_id a = f.report("a"), b = f.report("b");
  f.reported.remember();
  f.reported.end(a.row);
  f.reported.remove(b.row);
  f.report("c");
  f.reported.recall();
  CHECK(f.ended().empty());
  f.reported.end(a.row);
  f.reported.end(b.row);
  CHECK(f.ended().size() == 2);
}

}  // namespace gangsched::testing::reported_reservations_test
