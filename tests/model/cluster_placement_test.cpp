#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::cluster_placement_test {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::vector<row_t> pods_on(const cluster& c, node_id node) {
  std::vector<row_t> rows;
  const model::cluster_state& state = inside(c);
  for (row_t row = state.nodes.first_pod[node.row]; row != no_row; row = state.pods.next_on_node[row]) {
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST_CASE("a pod goes from pending to assumed to bound", "[model][cluster][placement]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 1)).value();
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const pod_id p = c.add_pod(a_pod("p").cpu(3).port(80).in(g)).value();
  const model::group_table& groups = inside(c).groups;

  std::uint64_t position = inside(c).log.end();
  REQUIRE(c.assume(p, n));
  CHECK(c.state_of(p) == pod_state::assumed);
  CHECK(c.node_of(p) == n);
  CHECK(c.assumed() == std::vector{p});
  CHECK(c.requested(n, "cpu") == 3000);
  CHECK(groups.assumed[g.row] == 1);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_assumed, p.row, no_row, n.row}});
  CHECK(changes_since(c, position)[0].facets == (reads::usage | reads::pods | reads::ports));

  position = inside(c).log.end();
  REQUIRE(c.bind(p));
  CHECK(c.state_of(p) == pod_state::bound);
  CHECK(c.assumed().empty());
  CHECK(c.requested(n, "cpu") == 3000);
  CHECK(groups.assumed[g.row] == 0);
  CHECK(groups.bound[g.row] == 1);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_bound, p.row, no_row, n.row}});
}

TEST_CASE("a released pod is pending again and its node as before", "[model][cluster][placement]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 1)).value();
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const pod_id p = c.add_pod(a_pod("p").cpu(3).port(80).in(g)).value();
  REQUIRE(c.assume(p, n));
  const std::uint64_t position = inside(c).log.end();
  REQUIRE(c.release(p));
  CHECK(c.state_of(p) == pod_state::pending);
  CHECK(c.node_of(p) == node_id{});
  CHECK(c.requested(n, "cpu") == 0);
  CHECK(c.requested(n, "pods") == 0);
  CHECK(inside(c).nodes.ports[n.row].empty());
  CHECK(pods_on(c, n).empty());
  CHECK(inside(c).groups.assumed[g.row] == 0);
  CHECK(inside(c).groups.members[g.row] == 1);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_released, p.row, n.row, no_row}});
  REQUIRE(c.assume(p, n));
}

TEST_CASE("each call applies to pods in its states only", "[model][cluster][placement]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const pod_id pending = c.add_pod(a_pod("pending")).value();
  const pod_id assumed = c.add_pod(a_pod("assumed")).value();
  const pod_id bound = c.add_pod(a_pod("bound").on(n)).value();
  REQUIRE(c.assume(assumed, n));
  const auto wrong = [&](const char* object, auto call) { check_refused(c, errc::wrong_state, object, "state", call); };
  wrong("pod default/assumed", [&] { return c.assume(assumed, n); });
  wrong("pod default/bound", [&] { return c.assume(bound, n); });
  wrong("pod default/pending", [&] { return c.bind(pending); });
  wrong("pod default/bound", [&] { return c.bind(bound); });
  wrong("pod default/pending", [&] { return c.release(pending); });
  wrong("pod default/bound", [&] { return c.release(bound); });
  wrong("pod default/assumed", [&] { return c.nominate(assumed, n); });
  wrong("pod default/bound", [&] { return c.nominate(bound, n); });
}

TEST_CASE("a pod is assumed only on a node that exists and can count it", "[model][cluster][placement]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value(), gone = c.add_node(a_node("gone")).value();
  REQUIRE(c.remove_node(gone));
  REQUIRE(c.add_pod(a_pod("huge").gpus(most).on(n)));
  const pod_id p = c.add_pod(a_pod("p").gpus(1)).value();
  check_refused(c, errc::overflow, "pod default/p", "node", [&] { return c.assume(p, n); });
  check_refused(c, errc::unknown, "node", "id", [&] { return c.assume(p, gone); });
  check_refused(c, errc::unknown, "node", "id", [&] { return c.assume(p, {}); });
  check_refused(c, errc::unknown, "node", "id", [&] { return c.nominate(p, gone); });
  check_refused(c, errc::unknown, "node", "id", [&] { return c.nominate(p, {12345, 0}); });
}

TEST_CASE("a gated pod is not assumed before its last gate is gone", "[model][cluster][placement]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const pod_id p = c.add_pod(a_pod("p").gate("a/b")).value();
  check_refused(c, errc::wrong_state, "pod default/p", "scheduling_gates", [&] { return c.assume(p, n); });
  REQUIRE(c.update_pod(p, a_pod("p")));
  CHECK(c.assume(p, n));
}

TEST_CASE("many pods come and go on one node in any order", "[model][cluster][placement]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(100)).value();
  std::vector<pod_id> pods;
  for (int i = 0; i < 6; ++i) {
    pods.push_back(c.add_pod(a_pod("p" + std::to_string(i)).cpu(1)).value());
    REQUIRE(c.assume(pods.back(), n));
  }
  for (const int i : {5, 0, 2, 3, 1, 4}) {  // head, tail, middle, …
    const pod_id pod = pods[static_cast<std::size_t>(i)];
    REQUIRE(c.release(pod));
    const std::vector<row_t> rows = pods_on(c, n);
    CHECK(std::find(rows.begin(), rows.end(), pod.row) == rows.end());
    CHECK(c.requested(n, "pods") == static_cast<std::int64_t>(rows.size()));
    CHECK(c.requested(n, "cpu") == 1000 * static_cast<std::int64_t>(rows.size()));
  }
  CHECK(inside(c).nodes.first_pod[n.row] == no_row);
}

// --- terminating

TEST_CASE("a pod that is being deleted keeps what it holds and is told once", "[model][cluster][placement]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const pod_id bound = c.add_pod(a_pod("bound").cpu(1).on(n)).value();
  const pod_id pending = c.add_pod(a_pod("pending")).value();
  const std::uint64_t position = inside(c).log.end();
  REQUIRE(c.set_terminating(bound));
  REQUIRE(c.set_terminating(pending));
  const std::uint64_t digest = inside(c).digest_with_derived();
  REQUIRE(c.set_terminating(bound));
  CHECK(inside(c).digest_with_derived() == digest);
  CHECK(c.state_of(bound) == pod_state::bound);
  CHECK(c.requested(n, "cpu") == 1000);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_terminating, bound.row, no_row, n.row},
                                                           {change_kind::pod_terminating, pending.row}});
  const auto all = changes_since(c, position);
  CHECK(all[0].facets == reads::pods);
  CHECK(all[1].facets == reads::nothing);
  REQUIRE(c.remove_pod(bound));
  CHECK(c.requested(n, "cpu") == 0);
}

TEST_CASE("a pod that is being deleted is not assumed, but one that was assumed may still come to run",
          "[model][cluster][placement]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const pod_id p = c.add_pod(a_pod("p")).value(), q = c.add_pod(a_pod("q")).value(), r = c.add_pod(a_pod("r")).value();
  REQUIRE(c.assume(q, n));
  REQUIRE(c.assume(r, n));
  for (const pod_id pod : {p, q, r}) REQUIRE(c.set_terminating(pod));
  check_refused(c, errc::wrong_state, "pod default/p", "terminating", [&] { return c.assume(p, n); });
  CHECK(c.bind(q));
  CHECK(c.release(r));
  check_refused(c, errc::wrong_state, "pod default/r", "terminating", [&] { return c.assume(r, n); });
}

// --- nominations

TEST_CASE("a nomination is set, moved and cleared, and told when it changes", "[model][cluster][placement]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value(), m = c.add_node(a_node("m")).value();
  const pod_id p = c.add_pod(a_pod("p")).value();
  const std::uint64_t position = inside(c).log.end();
  REQUIRE(c.nominate(p, n));
  CHECK(c.nominated_node_of(p) == n);
  CHECK(c.requested(n, "pods") == 0);  // it holds nothing
  REQUIRE(c.nominate(p, n));           // no news
  REQUIRE(c.nominate(p, m));
  REQUIRE(c.nominate(p, {}));
  REQUIRE(c.nominate(p, {}));  // no news
  CHECK(c.nominated_node_of(p) == node_id{});
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_nominated, p.row, no_row, n.row},
                                                           {change_kind::pod_nominated, p.row, n.row, m.row},
                                                           {change_kind::pod_nominated, p.row, m.row, no_row}});
}

TEST_CASE("what is kept for a pod is told of again when it asks for something else, and not when others count it",
          "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const pod_id p = c.add_pod(a_pod("p").cpu(1).label("app", "web").nominated(n)).value();
  // Pods with its label are counted from now on, so that its class is another one.
  c.add_pod(a_pod("apart").avoid("app", "web")).value();
  std::uint64_t position = inside(c).log.end();
  REQUIRE(c.update_pod(p, a_pod("p").cpu(1).label("app", "web").nominated(n)));
  CHECK(events_since(c, position).empty());
  REQUIRE(c.update_pod(p, a_pod("p").cpu(2).label("app", "web").nominated(n)));
  CHECK(events_since(c, position) ==
        std::vector<happened>{{change_kind::pod_updated, p.row}, {change_kind::pod_nominated, p.row, n.row, n.row}});
}

TEST_CASE("a nomination ends when its pod is assumed, wherever, and does not come back",
          "[model][cluster][placement]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value(), m = c.add_node(a_node("m")).value();
  const pod_id p = c.add_pod(a_pod("p").nominated(n)).value();
  REQUIRE(c.assume(p, m));
  CHECK(c.nominated_node_of(p) == node_id{});
  REQUIRE(c.release(p));
  CHECK(c.nominated_node_of(p) == node_id{});
}

// --- restart

TEST_CASE("after a restart the host loads what it knows, in the order of what refers to what", "[model][cluster]") {
  cluster c;
  REQUIRE(c.set_priority_class({.name = "high", .value = 100}));
  REQUIRE(c.set_namespace({.name = "blue", .labels = {{"team", "a"}}}));
  const node_id n1 = c.add_node(a_node("n1").cpu(8)).value(), n2 = c.add_node(a_node("n2").cpu(8)).value();
  const group_id g = c.add_group(a_gang("g", 3).ns("blue")).value();
  const auto member = [&](const char* name) { return a_pod(name).ns("blue").in(g).cpu(1).priority_class("high"); };
  const pod_id bound = c.add_pod(member("bound").on(n1)).value();
  const pod_id leaving = c.add_pod(member("leaving").on(n2).terminating()).value();
  const pod_id hopeful = c.add_pod(member("hopeful").nominated(n2)).value();
  const pod_id waiting = c.add_pod(member("waiting")).value();
  const pod_id dying = c.add_pod(member("dying").terminating()).value();

  CHECK(c.requested(n1, "cpu") == 1000);
  CHECK(c.requested(n2, "cpu") == 1000);
  CHECK(c.state_of(leaving) == pod_state::bound);
  CHECK(inside(c).pods.terminating[leaving.row]);
  CHECK(c.state_of(hopeful) == pod_state::pending);
  CHECK(c.nominated_node_of(hopeful) == n2);
  CHECK(c.state_of(dying) == pod_state::pending);
  CHECK(inside(c).pods.terminating[dying.row]);
  const model::group_table& groups = inside(c).groups;
  CHECK(groups.members[g.row] == 5);
  CHECK(groups.bound[g.row] == 2);
  CHECK(groups.assumed[g.row] == 0);
  CHECK(groups.first[g.row] == bound.row);
  CHECK(groups.last[g.row] == dying.row);
  CHECK(c.assumed().empty());

  REQUIRE(c.assume(waiting, n1));
  REQUIRE(c.assume(hopeful, n2));
  CHECK(c.assumed() == std::vector{hopeful, waiting});
  REQUIRE(c.bind(hopeful));
  CHECK(c.assumed() == std::vector{waiting});
}

}  // namespace

}  // namespace gangsched::testing::cluster_placement_test
