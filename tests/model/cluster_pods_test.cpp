#include <limits>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::cluster_pods_test {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Most of what 64 bits hold of an extended resource: one pod of it fits into a node's words, two do not.
a_pod huge(const char* name) { return a_pod(name).gpus(most / 2 + 2); }

// --- room

TEST_CASE("room that was made in advance changes nothing but when tables grow", "[model][cluster][reserve]") {
  const auto filled = [](const cluster_size& expected) {
    cluster c;
    REQUIRE(c.reserve(expected).has_value());
    const node_id n = c.add_node(a_node("n")).value();
    const group_id g = c.add_group(a_gang("g", 2)).value();
    for (int i = 0; i < 300; ++i) REQUIRE(c.add_pod(a_pod("p" + std::to_string(i)).in(g)).has_value());
    REQUIRE(c.remove_pod(c.find_pod("default", "p7").value()).has_value());
    REQUIRE(c.assume(c.find_pod("default", "p8").value(), n).has_value());
    return inside(c).digest_with_derived();
  };
  const std::uint64_t plain = filled({});
  CHECK(filled({.nodes = 50, .pods = 1000, .groups = 20}) == plain);
  CHECK(filled({.nodes = 1, .pods = 3, .groups = 0}) == plain);
}

// --- adding

TEST_CASE("a pod that was added waits and is found by namespace and name", "[model][cluster][pod]") {
  cluster c;
  const pod_id p = c.add_pod(a_pod("p").cookie(7)).value();
  const pod_id blue = c.add_pod(a_pod("p").ns("blue")).value();
  CHECK(c.find_pod("default", "p") == p);
  CHECK(c.find_pod("blue", "p") == blue);
  CHECK(c.find_pod("green", "p") == std::nullopt);
  CHECK(c.find_pod("default", "q") == std::nullopt);
  CHECK(c.state_of(p) == pod_state::pending);
  CHECK(c.node_of(p) == node_id{});
  CHECK(c.nominated_node_of(p) == node_id{});
  CHECK(c.name_of(p) == "p");
  CHECK(c.cookie_of(p) == 7);
  CHECK(c.pods() == std::vector{p, blue});
  CHECK(c.state_of({}) == pod_state::none);
  CHECK(c.name_of(pod_id{}).empty());
  CHECK(c.cookie_of(pod_id{}) == 0);
  CHECK(c.node_of(pod_id{}) == node_id{});
  CHECK(events_since(c, 0) ==
        std::vector<happened>{{change_kind::pod_added, p.row}, {change_kind::pod_added, blue.row}});
}

TEST_CASE("a pod that runs already counts on its node", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const std::uint64_t position = inside(c).log.end();
  const pod_id p =
      c.add_pod(a_pod("p").cpu_milli(1500).gpus(1).port(80).on(n).nominated(n).container().memory("1Gi")).value();
  CHECK(c.state_of(p) == pod_state::bound);
  CHECK(c.node_of(p) == n);
  CHECK(c.nominated_node_of(p) == node_id{});  // it is there, it need not hope
  CHECK(c.requested(n, "cpu") == 1500);
  CHECK(c.requested(n, "memory") == 1 << 30);
  CHECK(c.requested(n, "nvidia.com/gpu") == 1);
  CHECK(c.requested(n, "pods") == 1);
  const matrix_column& used = inside(c).nodes.used;
  CHECK(used.at(n.row, kinds::scored_cpu) == 1600);
  CHECK(used.at(n.row, kinds::scored_memory) == (std::int64_t{1} << 30) + 200 * 1024 * 1024);
  REQUIRE(inside(c).nodes.ports[n.row].size() == 1);
  CHECK(inside(c).nodes.ports[n.row][0].port == 80);
  const auto all = changes_since(c, position);
  REQUIRE(all.size() == 1);
  CHECK(all[0].kind == change_kind::pod_added);
  CHECK(all[0].node() == n.row);
  CHECK(all[0].facets == (reads::usage | reads::pods | reads::ports | reads::devices));
}

TEST_CASE("only host ports of what runs all the time are held", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  a_pod pod{"p"};
  pod.on(n).port(0).port(80);
  pod.spec.init_containers = {{.ports = {{.host_port = 81}}}, {.ports = {{.host_port = 82}}, .sidecar = true}};
  REQUIRE(c.add_pod(pod));
  std::vector<int> held;
  for (const host_port& port : inside(c).nodes.ports[n.row]) held.push_back(port.port);
  CHECK(held == std::vector{80, 82});
}

TEST_CASE("a pod that is wrong is refused and changes nothing", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value(), gone = c.add_node(a_node("gone")).value();
  const group_id g = c.add_group(a_gang("g")).value(), blue = c.add_group(a_gang("g").ns("blue")).value();
  REQUIRE(c.remove_node(gone));
  REQUIRE(c.set_priority_class({.name = "high", .value = 10}));
  REQUIRE(c.add_pod(a_pod("taken")));
  REQUIRE(c.add_pod(huge("huge").on(n)));
  const auto add = [&](errc code, const char* object, const char* field, const pod_spec& spec) {
    check_refused(c, code, object, field, [&] { return c.add_pod(spec); });
  };
  add(errc::malformed, "pod default/P", "name", a_pod("P"));
  add(errc::duplicate, "pod default/taken", "name", a_pod("taken"));
  add(errc::unknown, "pod default/p", "node", a_pod("p").on(gone));
  add(errc::unknown, "pod default/p", "node", a_pod("p").on({12345, 0}));
  add(errc::unknown, "pod default/p", "nominated_node", a_pod("p").nominated(gone));
  add(errc::unknown, "pod default/p", "group", a_pod("p").in({77, 0}));
  add(errc::malformed, "pod default/p", "group", a_pod("p").in(blue));
  add(errc::malformed, "pod blue/p", "group", a_pod("p").ns("blue").in(g));
  add(errc::malformed, "pod default/p", "node", a_pod("p").on(n).gate("example.com/wait"));
  add(errc::unknown, "pod default/p", "priority_class", a_pod("p").priority_class("low"));
  add(errc::malformed, "pod default/p", "priority", a_pod("p").priority_class("high").priority(9));
  a_pod never = a_pod("p").priority_class("high");
  never.spec.preemption = preemption_policy::never;
  add(errc::malformed, "pod default/p", "preemption", never);
  add(errc::out_of_range, "pod default/p", "containers[0].requests[\"cpu\"]", a_pod("p").cpu(-1));
  add(errc::overflow, "pod default/p", "containers", a_pod("p").gpus(most).container().gpus(1));
  a_pod over = a_pod("p").gpus(most);
  over.spec.overhead = {{"nvidia.com/gpu", 1}};
  add(errc::overflow, "pod default/p", "overhead", over);
  a_pod level = a_pod("p").memory("1");
  level.spec.resources = {{"memory", most}};
  level.spec.overhead = {{"memory", 1}};
  add(errc::overflow, "pod default/p", "overhead", level);
  add(errc::overflow, "pod default/p", "node", huge("p").on(n));
  REQUIRE(c.add_pod(a_pod("p").in(g)));
}

TEST_CASE("usage that would not fit into 64 bits is refused for each of the sums", "[model][cluster][pod]") {
  const auto fills = [](const char* resource, std::int64_t amount) {
    cluster c;
    const node_id n = c.add_node(a_node("n")).value();
    const quantity much = std::string{resource} == "cpu" ? quantity::from_milli(amount) : quantity{amount};
    REQUIRE(c.add_pod(a_pod("p").resource(resource, much).on(n)));
    INFO(resource);
    check_refused(c, errc::overflow, "pod default/q", "node",
                  [&] { return c.add_pod(a_pod("q").resource(resource, much).on(n)); });
  };
  fills("cpu", most / 2 + 1);
  fills("memory", most / 2 + 1);
  fills("ephemeral-storage", most / 2 + 1);
  fills("example.com/dongle", most / 2 + 1);

  // A pod that names no memory counts with 200Mi where scores are concerned.
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  REQUIRE(c.add_pod(a_pod("p").resource("memory", quantity{most - 1000}).on(n)));
  check_refused(c, errc::overflow, "pod default/q", "node", [&] { return c.add_pod(a_pod("q").on(n)); });
}

TEST_CASE("arrivals are numbered in order, also where rows are reused", "[model][cluster][pod]") {
  cluster c;
  const pod_id a = c.add_pod(a_pod("a")).value(), b = c.add_pod(a_pod("b")).value();
  REQUIRE(c.remove_pod(a));
  const pod_id d = c.add_pod(a_pod("d")).value();
  CHECK(d.row == a.row);
  CHECK(inside(c).pods.arrival[b.row] < inside(c).pods.arrival[d.row]);
}

// --- priority

TEST_CASE("a pod's priority is its number, that of its class, that of the default class, or 0",
          "[model][cluster][pod]") {
  cluster c;
  const pod_id plain = c.add_pod(a_pod("plain")).value();
  REQUIRE(c.set_priority_class({.name = "high", .value = 10, .preemption = preemption_policy::never}));
  REQUIRE(c.set_priority_class({.name = "usual", .value = 3, .global_default = true}));
  const auto add = [&](const a_pod& pod) { return c.add_pod(pod).value(); };
  CHECK(c.priority_of(plain) == 0);
  CHECK(c.priority_of(add(a_pod("number").priority(-7))) == -7);
  const pod_id high = add(a_pod("high").priority_class("high"));
  CHECK(c.priority_of(high) == 10);
  CHECK(inside(c).classes[inside(c).pods.cls[high.row]].preemption == preemption_policy::never);
  CHECK(c.priority_of(add(a_pod("both").priority_class("high").priority(10))) == 10);
  CHECK(c.priority_of(add(a_pod("default").cpu(1))) == 3);

  // Of two default classes the lower one counts, however they came and went.
  REQUIRE(c.set_priority_class({.name = "other", .value = 2, .global_default = true}));
  CHECK(c.priority_of(add(a_pod("two"))) == 2);
  REQUIRE(c.set_priority_class({.name = "other", .value = 4, .global_default = true}));
  CHECK(c.priority_of(add(a_pod("two-again"))) == 3);
  REQUIRE(c.remove_priority_class("usual"));
  CHECK(c.priority_of(add(a_pod("one"))) == 4);
  REQUIRE(c.remove_priority_class("other"));
  CHECK(c.priority_of(add(a_pod("none"))) == 0);
}

TEST_CASE("pods keep their priority when its class changes or goes", "[model][cluster][pod]") {
  cluster c;
  REQUIRE(c.set_priority_class({.name = "high", .value = 10}));
  const pod_id p = c.add_pod(a_pod("p").priority_class("high")).value();
  REQUIRE(c.set_priority_class({.name = "high", .value = 20}));
  CHECK(c.priority_of(p) == 10);
  REQUIRE(c.remove_priority_class("high"));
  CHECK(c.priority_of(p) == 10);
}

// --- updating

TEST_CASE("an update of a waiting pod replaces its spec", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const pod_id p = c.add_pod(a_pod("p").cpu(1).label("a", "1")).value();
  const std::uint64_t position = inside(c).log.end();
  REQUIRE(c.update_pod(p, a_pod("p").cpu(2).label("b", "2").cookie(9).priority(4).nominated(n)));
  CHECK(c.cookie_of(p) == 9);
  CHECK(inside(c).pods.record[p.row]->details->labels == label_map{{"b", "2"}});
  CHECK(c.priority_of(p) == 4);
  CHECK(inside(c).classes[inside(c).pods.cls[p.row]].request(kinds::cpu) == 2000);
  CHECK(c.nominated_node_of(p) == n);
  CHECK(c.state_of(p) == pod_state::pending);
  CHECK(events_since(c, position) ==
        std::vector<happened>{{change_kind::pod_updated, p.row}, {change_kind::pod_nominated, p.row, no_row, n.row}});
  CHECK(changes_since(c, position)[0].facets == reads::nothing);
  REQUIRE(c.update_pod(p, a_pod("p")));
  CHECK(c.nominated_node_of(p) == node_id{});
}

TEST_CASE("gates that come or go are told", "[model][cluster][pod]") {
  cluster c;
  const pod_id p = c.add_pod(a_pod("p").gate("a/b").gate("a/c")).value();
  std::uint64_t position = inside(c).log.end();
  REQUIRE(c.update_pod(p, a_pod("p").gate("a/b").gate("a/c").label("x", "y")));
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_updated, p.row}});
  position = inside(c).log.end();
  REQUIRE(c.update_pod(p, a_pod("p").gate("a/c")));
  CHECK(events_since(c, position) ==
        std::vector<happened>{{change_kind::pod_updated, p.row}, {change_kind::pod_gated, p.row}});
}

TEST_CASE("an update of a bound pod moves its usage", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(8)).value();
  REQUIRE(c.add_pod(a_pod("neighbour").cpu(1).port(80).on(n)));
  const pod_id p = c.add_pod(a_pod("p").cpu(2).port(80).gpus(1).on(n)).value();
  REQUIRE(c.add_pod(a_pod("other").cpu(1).on(n)));
  const std::uint64_t position = inside(c).log.end();
  REQUIRE(c.update_pod(p, a_pod("p").cpu(3).memory("1Gi").port(443).on(n)));
  CHECK(c.state_of(p) == pod_state::bound);
  CHECK(c.requested(n, "cpu") == 5000);
  CHECK(c.requested(n, "memory") == 1 << 30);
  CHECK(c.requested(n, "nvidia.com/gpu") == 0);
  CHECK(c.requested(n, "pods") == 3);
  const auto ports = inside(c).nodes.ports[n.row];
  REQUIRE(ports.size() == 2);
  CHECK(ports[0].port == 80);
  CHECK(ports[1].port == 443);
  const auto all = changes_since(c, position);
  REQUIRE(all.size() == 1);
  CHECK(all[0].kind == change_kind::pod_updated);
  CHECK(all[0].node() == n.row);
  CHECK(all[0].facets == (reads::usage | reads::pods | reads::ports | reads::devices));
}

TEST_CASE("a pod may be replaced by one as huge, which would not fit beside it", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const pod_id p = c.add_pod(huge("p").on(n)).value();
  REQUIRE(c.update_pod(p, huge("p").label("a", "b").on(n)));
  CHECK(c.requested(n, "nvidia.com/gpu") == most / 2 + 2);
  REQUIRE(c.update_pod(p, a_pod("p").gpus(most).on(n)));
  CHECK(c.requested(n, "nvidia.com/gpu") == most);
  REQUIRE(c.add_pod(a_pod("q").on(n)));
  check_refused(c, errc::overflow, "pod default/r", "node", [&] { return c.add_pod(a_pod("r").gpus(1).on(n)); });
  const pod_id r = c.add_pod(a_pod("r").gpus(1)).value();
  check_refused(c, errc::overflow, "pod default/r", "node", [&] { return c.update_pod(r, a_pod("r").gpus(1).on(n)); });
}

TEST_CASE("an update that gives a waiting pod a node binds it there", "[model][cluster][pod]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 2)).value();
  const node_id n = c.add_node(a_node("n").cpu(8)).value();
  const pod_id p = c.add_pod(a_pod("p").cpu(2).in(g).nominated(n)).value();
  const std::uint64_t position = inside(c).log.end();
  REQUIRE(c.update_pod(p, a_pod("p").cpu(3).in(g).on(n)));
  CHECK(c.state_of(p) == pod_state::bound);
  CHECK(c.node_of(p) == n);
  CHECK(c.nominated_node_of(p) == node_id{});
  CHECK(c.requested(n, "cpu") == 3000);
  CHECK(inside(c).groups.bound[g.row] == 1);
  CHECK(inside(c).groups.assumed[g.row] == 0);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_updated, p.row},
                                                           {change_kind::pod_nominated, p.row, n.row, no_row},
                                                           {change_kind::pod_assumed, p.row, no_row, n.row},
                                                           {change_kind::pod_bound, p.row, no_row, n.row}});
}

TEST_CASE("pods that are nominated to a node are in its list, until they run, are gone, or the node is",
          "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(8)).value();
  const node_id m = c.add_node(a_node("m").cpu(8)).value();
  const auto at = [&](node_id node) {
    std::vector<std::string> names;
    const model::cluster_state& state = inside(c);
    for (row_t pod = state.nodes.first_nominated[node.row]; pod != no_row; pod = state.pods.next_nominated[pod]) {
      names.push_back(state.pods.record[pod]->name);
    }
    return names;
  };
  using list = std::vector<std::string>;
  const pod_id p = c.add_pod(a_pod("p").nominated(n)).value();
  const pod_id q = c.add_pod(a_pod("q").nominated(n)).value();
  const pod_id r = c.add_pod(a_pod("r").nominated(n)).value();
  const pod_id s = c.add_pod(a_pod("s").nominated(m)).value();
  CHECK(at(n) == list{"r", "q", "p"});
  REQUIRE(c.nominate(q, m));
  CHECK(at(n) == list{"r", "p"});
  CHECK(at(m) == list{"q", "s"});
  REQUIRE(c.assume(r, m));
  REQUIRE(c.remove_pod(p));
  CHECK(at(n).empty());
  REQUIRE(c.nominate(s, {}));
  CHECK(at(m) == list{"q"});
  REQUIRE(c.remove_node(m));
  CHECK_FALSE(c.nominated_node_of(q));
  REQUIRE(c.nominate(q, n));
  CHECK(at(n) == list{"q"});
}

TEST_CASE("the lowest priority on nodes is that of the pods that are on nodes", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(8)).value();
  const auto lowest = [&] { return inside(c).assigned.priorities.lowest(); };
  CHECK_FALSE(lowest());
  REQUIRE(c.add_pod(a_pod("waits").priority(-9)));
  CHECK_FALSE(lowest());
  const pod_id high = c.add_pod(a_pod("high").priority(7).on(n)).value();
  const pod_id low = c.add_pod(a_pod("low").priority(-3)).value();
  CHECK(lowest() == 7);
  REQUIRE(c.assume(low, n));
  CHECK(lowest() == -3);
  REQUIRE(c.update_pod(high, a_pod("high").priority(-5).on(n)));
  CHECK(lowest() == -5);
  REQUIRE(c.remove_pod(high));
  REQUIRE(c.release(low));
  CHECK_FALSE(lowest());
}

TEST_CASE("a pod that is being deleted may be so because it was preempted", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(8)).value();
  const pod_id p = c.add_pod(a_pod("p").on(n)).value();
  const auto preempted = [&](pod_id pod) { return inside(c).pods.preempted[pod.row]; };
  REQUIRE(c.set_terminating(p));
  CHECK_FALSE(preempted(p));
  const std::uint64_t position = inside(c).log.end();
  REQUIRE(c.set_terminating(p, true));
  CHECK(preempted(p));
  REQUIRE(c.set_terminating(p, true));
  REQUIRE(c.set_terminating(p));
  CHECK(preempted(p));
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_terminating, p.row, no_row, n.row}});
  pod_spec spec = a_pod("q").on(n);
  spec.preempted = true;
  CHECK_FALSE(preempted(c.add_pod(spec).value()));
  spec.name = "r";
  spec.terminating = true;
  CHECK(preempted(c.add_pod(spec).value()));
}

TEST_CASE("an update that gives an assumed pod a node binds it there, wherever it was assumed",
          "[model][cluster][pod]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 2)).value();
  const node_id here = c.add_node(a_node("here").cpu(8)).value(), there = c.add_node(a_node("there").cpu(8)).value();
  const pod_id stays = c.add_pod(a_pod("stays").cpu(2).in(g)).value();
  const pod_id moves = c.add_pod(a_pod("moves").cpu(2).port(80).in(g)).value();
  REQUIRE(c.assume(stays, here));
  REQUIRE(c.assume(moves, here));

  std::uint64_t position = inside(c).log.end();
  REQUIRE(c.update_pod(stays, a_pod("stays").cpu(1).in(g).on(here)));
  CHECK(c.state_of(stays) == pod_state::bound);
  CHECK(c.requested(here, "cpu") == 3000);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_updated, stays.row, here.row, no_row},
                                                           {change_kind::pod_bound, stays.row, no_row, here.row}});
  position = inside(c).log.end();
  REQUIRE(c.update_pod(moves, a_pod("moves").cpu(4).port(80).in(g).on(there)));
  CHECK(c.state_of(moves) == pod_state::bound);
  CHECK(c.node_of(moves) == there);
  CHECK(c.requested(here, "cpu") == 1000);
  CHECK(c.requested(there, "cpu") == 4000);
  CHECK(inside(c).nodes.ports[here.row].empty());
  CHECK(inside(c).nodes.ports[there.row].size() == 1);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_released, moves.row, here.row, no_row},
                                                           {change_kind::pod_updated, moves.row},
                                                           {change_kind::pod_assumed, moves.row, no_row, there.row},
                                                           {change_kind::pod_bound, moves.row, no_row, there.row}});
  CHECK(inside(c).groups.bound[g.row] == 2);
  CHECK(inside(c).groups.assumed[g.row] == 0);
}

TEST_CASE("an update of an assumed pod that says nothing of a node leaves it assumed", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(8)).value();
  const pod_id p = c.add_pod(a_pod("p").cpu(2)).value();
  REQUIRE(c.assume(p, n));
  REQUIRE(c.update_pod(p, a_pod("p").cpu(5)));
  CHECK(c.state_of(p) == pod_state::assumed);
  CHECK(c.requested(n, "cpu") == 5000);
}

TEST_CASE("an update can begin a pod's deletion but not take it back", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const pod_id p = c.add_pod(a_pod("p").on(n)).value();
  const std::uint64_t position = inside(c).log.end();
  REQUIRE(c.update_pod(p, a_pod("p").on(n).terminating()));
  CHECK(inside(c).pods.terminating[p.row]);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_updated, p.row, n.row, no_row},
                                                           {change_kind::pod_terminating, p.row, no_row, n.row}});
  REQUIRE(c.update_pod(p, a_pod("p").on(n)));
  CHECK(inside(c).pods.terminating[p.row]);
}

TEST_CASE("an update of a pod that is wrong is refused and changes nothing", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value(), m = c.add_node(a_node("m")).value();
  const node_id lost = c.add_node(a_node("lost")).value();
  REQUIRE(c.remove_node(lost));
  const group_id g = c.add_group(a_gang("g")).value(), other = c.add_group(a_gang("other")).value();
  const pod_id p = c.add_pod(a_pod("p").in(g)).value();
  const pod_id bound = c.add_pod(a_pod("bound").on(n)).value();
  REQUIRE(c.add_pod(huge("huge").on(m)));
  const pod_id waits = c.add_pod(a_pod("waits")).value();
  REQUIRE(c.assume(waits, n));
  const pod_id gone = c.add_pod(a_pod("gone")).value();
  REQUIRE(c.remove_pod(gone));
  const auto update = [&](errc code, const char* object, const char* field, pod_id pod, const pod_spec& spec) {
    check_refused(c, code, object, field, [&] { return c.update_pod(pod, spec); });
  };
  update(errc::unknown, "pod default/gone", "id", gone, a_pod("gone"));
  update(errc::unknown, "pod default/p", "id", {}, a_pod("p"));
  update(errc::unknown, "pod default/p", "id", {12345, 0}, a_pod("p"));
  update(errc::unknown, "pod default/p", "id", {p.row, p.generation + 1}, a_pod("p"));
  update(errc::wrong_state, "pod default/q", "name", p, a_pod("q").in(g));
  update(errc::wrong_state, "pod blue/waits", "ns", waits, a_pod("waits").ns("blue"));
  update(errc::wrong_state, "pod default/p", "group", p, a_pod("p").in(other));
  update(errc::wrong_state, "pod default/p", "group", p, a_pod("p"));
  update(errc::wrong_state, "pod default/waits", "group", waits, a_pod("waits").in(g));
  update(errc::wrong_state, "pod default/bound", "node", bound, a_pod("bound").on(m));
  update(errc::wrong_state, "pod default/bound", "node", bound, a_pod("bound"));
  update(errc::unknown, "pod default/p", "node", p, a_pod("p").in(g).on(lost));
  update(errc::unknown, "pod default/p", "nominated_node", p, a_pod("p").in(g).nominated(lost));
  update(errc::malformed, "pod default/p", "labels[\"?\"]", p, a_pod("p").in(g).label("?", ""));
  update(errc::malformed, "pod default/p", "node", p, a_pod("p").in(g).on(n).gate("a/b"));
  update(errc::unknown, "pod default/p", "priority_class", p, a_pod("p").in(g).priority_class("none"));
  update(errc::overflow, "pod default/p", "containers", p, a_pod("p").in(g).gpus(most).container().gpus(1));
  update(errc::overflow, "pod default/p", "node", p, huge("p").in(g).on(m));
  update(errc::overflow, "pod default/waits", "node", waits, huge("waits").on(m));
  REQUIRE(c.add_pod(huge("also-huge").on(n)));
  update(errc::overflow, "pod default/bound", "node", bound, huge("bound").on(n));
  update(errc::overflow, "pod default/waits", "node", waits, huge("waits"));
}

// --- removing

TEST_CASE("a removed pod leaves its node and its group as if it had not been", "[model][cluster][pod]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 3)).value();
  const node_id n = c.add_node(a_node("n").cpu(8)).value();
  std::vector<pod_id> members;
  for (const char* name : {"first", "middle", "last"}) {
    members.push_back(c.add_pod(a_pod(name).cpu(1).port(80).in(g)).value());
  }
  REQUIRE(c.assume(members[0], n));
  REQUIRE(c.assume(members[1], n));
  REQUIRE(c.bind(members[1]));
  const model::cluster_state& state = inside(c);
  const auto list = [&] {
    std::vector<row_t> rows;
    for (row_t row = state.groups.first[g.row]; row != no_row; row = state.pods.next_in_group[row]) rows.push_back(row);
    return rows;
  };
  CHECK(list() == std::vector{members[0].row, members[1].row, members[2].row});

  std::uint64_t position = state.log.end();
  REQUIRE(c.remove_pod(members[1]));  // bound
  CHECK(list() == std::vector{members[0].row, members[2].row});
  CHECK(state.groups.bound[g.row] == 0);
  CHECK(state.groups.assumed[g.row] == 1);
  CHECK(c.requested(n, "cpu") == 1000);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_removed, members[1].row, n.row, g.row}});
  CHECK(changes_since(c, position)[0].facets == (reads::usage | reads::pods | reads::ports));

  REQUIRE(c.remove_pod(members[0]));  // assumed: the others keep waiting
  CHECK(list() == std::vector{members[2].row});
  CHECK(state.groups.assumed[g.row] == 0);
  CHECK(c.requested(n, "cpu") == 0);
  CHECK(state.nodes.ports[n.row].empty());
  CHECK(state.nodes.first_pod[n.row] == no_row);

  position = state.log.end();
  REQUIRE(c.remove_pod(members[2]));  // pending
  CHECK(list().empty());
  CHECK(state.groups.last[g.row] == no_row);
  CHECK(state.groups.members[g.row] == 0);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_removed, members[2].row, no_row, g.row}});
  CHECK(changes_since(c, position)[0].facets == reads::nothing);
  CHECK(c.pods().empty());
}

TEST_CASE("a pod's id names nothing once it is removed, whoever gets its row", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const group_id g = c.add_group(a_gang("g")).value();
  const pod_id old = c.add_pod(a_pod("p").in(g).nominated(n).terminating().cookie(3)).value();
  REQUIRE(c.remove_pod(old));
  CHECK(c.find_pod("default", "p") == std::nullopt);
  const pod_id now = c.add_pod(a_pod("p")).value();
  REQUIRE(now.row == old.row);
  CHECK(c.find_pod("default", "p") == now);
  CHECK_FALSE(c.contains(old));
  CHECK(c.state_of(old) == pod_state::none);
  CHECK(c.name_of(old).empty());
  CHECK(c.cookie_of(old) == 0);
  CHECK(c.cookie_of(now) == 0);
  CHECK(c.nominated_node_of(now) == node_id{});
  CHECK_FALSE(inside(c).pods.terminating[now.row]);
  CHECK(inside(c).pods.group[now.row] == no_row);
  for (const pod_id wrong : {old, pod_id{}, pod_id{12345, 0}}) {
    check_refused(c, errc::unknown, "pod", "id", [&] { return c.remove_pod(wrong); });
    check_refused(c, errc::unknown, "pod", "id", [&] { return c.set_terminating(wrong); });
    check_refused(c, errc::unknown, "pod", "id", [&] { return c.assume(wrong, n); });
    check_refused(c, errc::unknown, "pod", "id", [&] { return c.bind(wrong); });
    check_refused(c, errc::unknown, "pod", "id", [&] { return c.release(wrong); });
    check_refused(c, errc::unknown, "pod", "id", [&] { return c.nominate(wrong, n); });
  }
}

// --- many at a time

TEST_CASE("pods that are alike are added together, as if one by one", "[model][cluster][pod]") {
  cluster one, many;
  const auto prepare = [](cluster& c) {
    REQUIRE(c.add_node(a_node("n")));
    return c.add_group(gangsched::testing::a_gang("g", 2)).value();
  };
  const group_id g = prepare(one);
  prepare(many);
  pod_spec like = a_pod("p").cpu(2).label("app", "x").in(g);
  like.rank = 4;
  const std::vector<std::string> names{"p-1", "p-0", "p-2"};
  const std::vector<pod_id> made = many.add_pods(like, names).value();
  for (std::size_t i = 0; i < names.size(); ++i) {
    like.name = names[i];
    CHECK(one.add_pod(like).value() == made[i]);
    ++*like.rank;
  }
  CHECK(inside(one).digest_with_derived() == inside(many).digest_with_derived());
  CHECK(many.add_pods(like, {}).value().empty());
}

TEST_CASE("pods that are added together are refused together", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  REQUIRE(c.add_pod(a_pod("there")));
  const auto refused = [&](errc code, const char* object, const char* field, const pod_spec& like,
                           std::vector<std::string> names) {
    check_refused(c, code, object, field, [&] { return c.add_pods(like, names); });
  };
  refused(errc::duplicate, "pod default/there", "name", a_pod("p"), {"a", "there"});
  refused(errc::duplicate, "pod default/a", "name", a_pod("p"), {"a", "b", "a"});
  refused(errc::malformed, "pod default/B", "name", a_pod("p"), {"a", "B"});
  refused(errc::malformed, "pod default/a", "node", a_pod("p").on(n), {"a"});
  refused(errc::unknown, "pod default/a", "group", a_pod("p").in({7, 0}), {"a"});
  pod_spec last = a_pod("p");
  last.rank = std::numeric_limits<std::int32_t>::max();
  refused(errc::overflow, "pod default/a", "rank", last, {"a", "b"});
  CHECK(c.add_pods(last, std::vector<std::string>{"alone"}));
}

TEST_CASE("running pods are resized together, if all fit where they are", "[model][cluster][pod]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(8)).value();
  const pod_id a = c.add_pod(a_pod("a").cpu(3).on(n)).value(), b = c.add_pod(a_pod("b").cpu(3).on(n)).value();
  const std::vector<pod_id> both{a, b};
  const auto resize = [&](int first, int second) {
    const std::vector<pod_spec> specs{a_pod("a").cpu(first).on(n), a_pod("b").cpu(second).on(n)};
    return c.resize_pods(both, specs);
  };
  check_refused(c, errc::wrong_state, "pod default/a", "requests", [&] { return resize(5, 4); });
  CHECK(resize(5, 4).error().reason == "1000 of cpu would be short on node n");
  REQUIRE(resize(5, 3));
  CHECK(c.requested(n, "cpu") == 8000);
  check_refused(c, errc::malformed, "pod", "specs", [&] { return c.resize_pods(both, {}); });
}

}  // namespace

}  // namespace gangsched::testing::cluster_pods_test
