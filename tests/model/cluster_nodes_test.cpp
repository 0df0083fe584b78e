#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::cluster_nodes_test {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

// --- adding

TEST_CASE("a node that was added is found by its name", "[model][cluster][node]") {
  cluster c;
  const node_id n1 = c.add_node(a_node("n1").cookie(11)).value();
  const node_id n2 = c.add_node(a_node("n2").cookie(22)).value();
  CHECK(c.find_node("n1") == n1);
  CHECK(c.find_node("n2") == n2);
  CHECK(c.find_node("n3") == std::nullopt);
  CHECK(c.contains(n1));
  CHECK_FALSE(c.contains(node_id{}));
  CHECK(c.name_of(n2) == "n2");
  CHECK(c.cookie_of(n2) == 22);
  CHECK(c.nodes() == std::vector{n1, n2});
  CHECK(c.name_of(node_id{}).empty());
  CHECK(c.cookie_of(node_id{}) == 0);
}

TEST_CASE("a node's amounts are integers, cpu in milli-cores, what nobody counts left out", "[model][cluster][node]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")
                                   .cpu_milli(1500)
                                   .memory("1.5Gi")
                                   .gpus(8)
                                   .pods(30)
                                   .resource("hugepages-2Mi", "64Mi")
                                   .resource("storage", "1Ti"))
                        .value();
  CHECK(c.allocatable(n, "cpu") == 1500);
  CHECK(c.allocatable(n, "memory") == 1610612736);
  CHECK(c.allocatable(n, "nvidia.com/gpu") == 8);
  CHECK(c.allocatable(n, "pods") == 30);
  CHECK(c.allocatable(n, "hugepages-2Mi") == 67108864);
  CHECK(c.allocatable(n, "storage") == 0);
  CHECK(c.allocatable(n, "ephemeral-storage") == 0);
  CHECK(c.allocatable(n, "never.heard/of") == 0);
  CHECK(c.requested(n, "cpu") == 0);
  CHECK(c.requested(n, "never.heard/of") == 0);
  CHECK(c.allocatable(node_id{}, "cpu") == 0);
  CHECK(c.requested(node_id{}, "cpu") == 0);
}

TEST_CASE("a node's record holds what plugins read", "[model][cluster][node]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")
                                   .label("b", "2")
                                   .label("a", "1")
                                   .taint("k", "v", taint_effect::no_execute)
                                   .taint("k", "w")
                                   .image("app", 5)
                                   .image("reg:80/app@sha256:0", 6)
                                   .unschedulable())
                        .value();
  const model::cluster_state& state = inside(c);
  const model::node_record& record = *state.nodes.record[n.row];
  const auto text = [&](symbol s) { return std::string{state.names.text(s)}; };
  CHECK(text(record.name) == "n");
  CHECK(record.unschedulable);
  REQUIRE(record.taints.size() == 2);
  CHECK(text(record.taints[0].value) == "v");
  CHECK(record.taints[0].effect == taint_effect::no_execute);
  CHECK(text(record.taints[1].value) == "w");
  REQUIRE(record.images.size() == 2);
  CHECK(text(record.images[0].name) == "app");
  CHECK(text(record.images[1].name) == "reg:80/app@sha256:0");
  CHECK(record.images[1].size_bytes == 6);
  const auto label = [&](const char* key) {
    const auto known = state.names.find(key);
    const auto value = known ? record.label(*known) : std::nullopt;
    return value ? text(*value) : "(none)";
  };
  CHECK(label("a") == "1");
  CHECK(label("b") == "2");
  CHECK(label("k") == "(none)");
}

TEST_CASE("adding a node is one record that touches everything", "[model][cluster][node]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const auto all = changes_since(c, 0);
  REQUIRE(all.size() == 1);
  CHECK(all[0].kind == change_kind::node_added);
  CHECK(all[0].row == n.row);
  CHECK(all[0].facets == reads::everything);
}

TEST_CASE("a node that is wrong is refused and changes nothing", "[model][cluster][node]") {
  cluster c;
  REQUIRE(c.add_node(a_node("n").cpu(4)));
  const auto add = [&](errc code, const char* object, const char* field, const node_spec& spec) {
    check_refused(c, code, object, field, [&] { return c.add_node(spec); });
  };
  add(errc::duplicate, "node n", "name", a_node("n"));
  add(errc::malformed, "node N", "name", a_node("N"));
  add(errc::out_of_range, "node m", "allocatable[\"cpu\"]", a_node("m").cpu(-1));
  add(errc::overflow, "node m", "allocatable[\"cpu\"]", a_node("m").cpu(most));
  add(errc::malformed, "node m", "labels[\"?\"]", a_node("m").label("?", ""));
  add(errc::out_of_range, "node m", "taints[0].effect", a_node("m").taint("k", "", static_cast<taint_effect>(3)));
}

// --- updating

TEST_CASE("an update replaces the whole spec of a node", "[model][cluster][node]") {
  cluster c;
  const node_id n =
      c.add_node(a_node("n").cpu(4).memory("8Gi").gpus(2).label("a", "1").taint("k").unschedulable()).value();
  REQUIRE(c.update_node(n, a_node("n").cpu(6).label("b", "2").cookie(5)));
  CHECK(c.allocatable(n, "cpu") == 6000);
  CHECK(c.allocatable(n, "memory") == 0);
  CHECK(c.allocatable(n, "nvidia.com/gpu") == 0);
  CHECK(c.cookie_of(n) == 5);
  const model::node_record& record = *inside(c).nodes.record[n.row];
  CHECK(record.labels.size() == 1);
  CHECK(record.taints.empty());
  CHECK_FALSE(record.unschedulable);
  CHECK(c.contains(n));
}

TEST_CASE("an update of a node says which facets it touched", "[model][cluster][node]") {
  cluster c;
  const node_spec before = a_node("n").cpu(4).label("a", "1").taint("k").image("app", 1);
  const node_id n = c.add_node(before).value();
  const auto facets = [&](const node_spec& after) {
    const std::uint64_t position = inside(c).log.end();
    REQUIRE(c.update_node(n, after));
    const auto all = changes_since(c, position);
    REQUIRE(c.update_node(n, before));
    if (all.empty()) return reads::nothing;
    CHECK(all.size() == 1);
    CHECK(all[0].kind == change_kind::node_updated);
    CHECK(all[0].row == n.row);
    return all[0].facets;
  };
  CHECK(facets(a_node(before.name).cpu(4).label("a", "2").taint("k").image("app", 1)) == reads::labels);
  CHECK(facets(a_node(before.name).cpu(4).label("a", "1").image("app", 1)) == reads::taints);
  CHECK(facets(a_node(before.name).cpu(5).label("a", "1").taint("k").image("app", 1)) == reads::allocatable);
  CHECK(facets(a_node(before.name).cpu(4).label("a", "1").taint("k").image("app", 2)) == reads::images);
  CHECK(facets(a_node(before.name).cpu(4).label("a", "1").taint("k").image("app", 1).unschedulable()) ==
        reads::schedulable);
  CHECK(facets(a_node(before.name)) == (reads::labels | reads::taints | reads::allocatable | reads::images));
  CHECK(facets(before) == reads::nothing);  // a heartbeat
  const a_node same = a_node(before.name).cpu(4).label("a", "1").taint("k").image("app", 1);
  CHECK(facets(a_node{same}.declare("X")) == reads::features);
  REQUIRE(c.update_node(n, a_node{same}.declare("Y").declare("X")));
  const auto declares = [&](const node_spec& after) {
    const std::uint64_t position = inside(c).log.end();
    REQUIRE(c.update_node(n, after));
    return !changes_since(c, position).empty();
  };
  CHECK_FALSE(declares(a_node{same}.declare("X").declare("Y").declare("X")));  // a set
  CHECK(declares(a_node{same}.declare("X").declare("X")));
  CHECK(declares(a_node{same}.declare("Z")));
  CHECK(declares(same));
  CHECK(facets(a_node(before.name).cpu(4).label("a", "1").taint("k").image("app", 1).cookie(1)) == reads::name);
}

TEST_CASE("pods stay on a node that has become too small for them", "[model][cluster][node]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const pod_id p = c.add_pod(a_pod("p").cpu(3).on(n)).value();
  REQUIRE(c.update_node(n, a_node("n").cpu(1)));
  CHECK(c.node_of(p) == n);
  CHECK(c.requested(n, "cpu") == 3000);
  CHECK(c.allocatable(n, "cpu") == 1000);
}

TEST_CASE("an update of a node that is wrong is refused and changes nothing", "[model][cluster][node]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const node_id gone = c.add_node(a_node("gone")).value();
  REQUIRE(c.remove_node(gone));
  const auto update = [&](errc code, const char* object, const char* field, node_id id, const node_spec& spec) {
    check_refused(c, code, object, field, [&] { return c.update_node(id, spec); });
  };
  update(errc::wrong_state, "node m", "name", n, a_node("m"));
  update(errc::unknown, "node n", "id", node_id{}, a_node("n"));
  update(errc::unknown, "node n", "id", node_id{999, 0}, a_node("n"));
  update(errc::unknown, "node n", "id", node_id{n.row, n.generation + 1}, a_node("n"));
  update(errc::unknown, "node gone", "id", gone, a_node("gone"));
  update(errc::out_of_range, "node n", "allocatable[\"memory\"]", n, a_node("n").resource("memory", quantity{-1}));
  update(errc::malformed, "node n", "taints[0].key", n, a_node("n").taint(""));
}

// --- removing

TEST_CASE("removing a node removes its bound pods and makes its assumed ones pending again", "[model][cluster][node]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 2)).value();
  const node_id n = c.add_node(a_node("n").cpu(16)).value(), other = c.add_node(a_node("other").cpu(16)).value();
  const pod_id bound1 = c.add_pod(a_pod("bound1").cpu(1).port(80).on(n).in(g).cookie(11)).value();
  const pod_id waits = c.add_pod(a_pod("waits").cpu(2).port(81).in(g)).value();
  const pod_id bound2 = c.add_pod(a_pod("bound2").ns("team").cpu(1).on(n).terminating()).value();
  const pod_id elsewhere = c.add_pod(a_pod("elsewhere").cpu(1).on(other).in(g)).value();
  const pod_id hopes = c.add_pod(a_pod("hopes").nominated(n)).value();
  const pod_id hopes_not = c.add_pod(a_pod("hopes-not").nominated(other)).value();
  REQUIRE(c.assume(waits, n));
  CHECK(c.requested(n, "cpu") == 4000);

  const std::uint64_t position = inside(c).log.end();
  const std::vector<removed_pod> gone = c.remove_node(n).value();

  REQUIRE(gone.size() == 2);
  CHECK(gone[0].id == bound1);
  CHECK(gone[0].ns == "default");
  CHECK(gone[0].name == "bound1");
  CHECK(gone[0].cookie == 11);
  CHECK(gone[1].id == bound2);
  CHECK(gone[1].ns == "team");
  CHECK(gone[1].name == "bound2");
  CHECK(gone[1].cookie == 0);
  CHECK_FALSE(c.contains(n));
  CHECK(c.nodes() == std::vector{other});
  CHECK(c.state_of(bound1) == pod_state::none);
  CHECK(c.state_of(bound2) == pod_state::none);
  CHECK(c.find_pod("default", "bound1") == std::nullopt);
  CHECK(c.state_of(waits) == pod_state::pending);
  CHECK(c.node_of(waits) == node_id{});
  CHECK(c.node_of(elsewhere) == other);
  CHECK(c.nominated_node_of(hopes) == node_id{});
  CHECK(c.nominated_node_of(hopes_not) == other);
  const model::group_table& groups = inside(c).groups;
  CHECK(groups.members[g.row] == 2);
  CHECK(groups.assumed[g.row] == 0);
  CHECK(groups.bound[g.row] == 1);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::pod_released, waits.row, n.row, no_row},
                                                           {change_kind::pod_removed, bound1.row, n.row, g.row},
                                                           {change_kind::pod_removed, bound2.row, n.row, no_row},
                                                           {change_kind::pod_nominated, hopes.row, n.row, no_row},
                                                           {change_kind::node_removed, n.row}});

  // Nothing of the old node is left for the next one in its row.
  const node_id next = c.add_node(a_node("next").cpu(2)).value();
  CHECK(next.row == n.row);
  CHECK(next != n);
  CHECK(c.requested(next, "cpu") == 0);
  CHECK(c.requested(next, "pods") == 0);
  CHECK(inside(c).nodes.ports[next.row].empty());
  CHECK(inside(c).nodes.first_pod[next.row] == no_row);
  REQUIRE(c.assume(waits, next));
}

TEST_CASE("a node's name is free again once it is removed, and its old id names nothing", "[model][cluster][node]") {
  cluster c;
  const node_id old = c.add_node(a_node("n").cpu(4).gpus(1).cookie(1)).value();
  CHECK(c.remove_node(old).value().empty());
  CHECK(c.find_node("n") == std::nullopt);
  const node_id now = c.add_node(a_node("n").memory("1Gi").cookie(2)).value();
  REQUIRE(now.row == old.row);
  CHECK(c.find_node("n") == now);
  CHECK(c.allocatable(now, "cpu") == 0);
  CHECK(c.allocatable(now, "nvidia.com/gpu") == 0);
  CHECK_FALSE(c.contains(old));
  CHECK(c.name_of(old).empty());
  CHECK(c.cookie_of(old) == 0);
  CHECK(c.allocatable(old, "memory") == 0);
  check_refused(c, errc::unknown, "node", "id", [&] { return c.remove_node(old); });
  check_refused(c, errc::unknown, "node", "id", [&] { return c.remove_node({}); });
}

TEST_CASE("a plugin's column is zero on a new node, whoever had its row before", "[model][cluster][node]") {
  cluster c;
  REQUIRE(c.add_node(a_node("n0")));
  model::cluster_state& state = inside(c);
  const std::uint32_t column =
      state.columns.make(scope_number::nodes, "", column_writer::reserve_hooks, state.columns.new_facet());
  const node_id n = c.add_node(a_node("n")).value();
  state.columns.set(column, n.row, 5);
  const std::uint64_t digest = inside(c).digest_with_derived();
  state.columns.set(column, n.row, 6);
  CHECK(inside(c).digest_with_derived() != digest);
  REQUIRE(c.remove_node(n));
  const node_id next = c.add_node(a_node("next")).value();
  REQUIRE(next.row == n.row);
  CHECK(state.columns.at(column, next.row) == 0);
}

TEST_CASE("resource names may keep coming, also after nodes were tried and discarded", "[model][cluster][node]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").resource("example.com/r0", quantity{7})).value();
  for (int i = 1; i <= 40; ++i) {
    {
      transaction trial{c};
      for (int k = 0; k < i; ++k) REQUIRE(c.add_node(a_node("trial-" + std::to_string(k)).cpu(k)));
    }
    a_node next{"n"};
    for (int k = 0; k <= i; ++k) next.resource("example.com/r" + std::to_string(k), quantity{100 * i + k});
    REQUIRE(c.update_node(n, next));
    for (int k = 0; k <= i; ++k) CHECK(c.allocatable(n, "example.com/r" + std::to_string(k)) == 100 * i + k);
  }
  CHECK(c.nodes() == std::vector{n});
}

// --- all of them

TEST_CASE("a hook can change nothing: every call is refused while one runs", "[model][cluster]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const group_id g = c.add_group(a_gang("g", 1)).value();
  const pod_id p = c.add_pod(a_pod("p")).value(), q = c.add_pod(a_pod("q")).value();
  REQUIRE(c.assume(q, n));
  REQUIRE(c.set_namespace({.name = "blue"}));
  REQUIRE(c.set_priority_class({.name = "high", .value = 1}));
  const auto busy = [&](std::string_view object, auto call) { check_refused(c, errc::busy, object, "", call); };
  inside(c).in_hook = true;
  busy("node m", [&] { return c.add_node(a_node("m")); });
  busy("node n", [&] { return c.update_node(n, a_node("n")); });
  busy("node", [&] { return c.remove_node(n); });
  busy("pod default/r", [&] { return c.add_pod(a_pod("r")); });
  busy("pod default/p", [&] { return c.update_pod(p, a_pod("p")); });
  busy("pod", [&] { return c.remove_pod(p); });
  busy("pod", [&] { return c.set_terminating(p); });
  busy("pod", [&] { return c.assume(p, n); });
  busy("pod", [&] { return c.bind(q); });
  busy("pod", [&] { return c.release(q); });
  busy("pod", [&] { return c.nominate(p, n); });
  busy("group default/h", [&] { return c.add_group(a_gang("h")); });
  busy("group default/g", [&] { return c.update_group(g, a_gang("g")); });
  busy("group", [&] { return c.remove_group(g); });
  busy("namespace blue", [&] { return c.set_namespace({.name = "blue"}); });
  busy("namespace blue", [&] { return c.remove_namespace("blue"); });
  busy("priority class high", [&] { return c.set_priority_class({.name = "high"}); });
  busy("priority class high", [&] { return c.remove_priority_class("high"); });
  inside(c).in_hook = false;
  CHECK(c.remove_pod(p));
}

TEST_CASE("a cluster is a value that can be moved", "[model][cluster]") {
  cluster one;
  const node_id n = one.add_node(a_node("n").cpu(4)).value();
  const pod_id p = one.add_pod(a_pod("p").cpu(1).on(n)).value();
  const std::uint64_t digest = inside(one).digest_with_derived();
  cluster other = std::move(one);
  CHECK(inside(other).digest_with_derived() == digest);
  one = cluster{};
  CHECK(one.nodes().empty());
  one = std::move(other);
  CHECK(inside(one).digest_with_derived() == digest);
  CHECK(one.node_of(p) == n);
  REQUIRE(one.remove_pod(p));
}

TEST_CASE("the same calls make the same digest", "[model][cluster]") {
  const auto make = [] {
    cluster c;
    const node_id n = c.add_node(a_node("n").cpu(4).label("a", "b")).value();
    REQUIRE(c.add_pod(a_pod("p").cpu(1).on(n).label("x", "y")));
    return inside(c).digest_with_derived();
  };
  CHECK(make() == make());
}

}  // namespace

}  // namespace gangsched::testing::cluster_nodes_test
