#include <chrono>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::cluster_groups_test {

namespace {

group_spec a_basic_group(const char* name) { return {.name = name}; }

// --- groups

TEST_CASE("a group that was added is found by namespace and name", "[model][cluster][group]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 4).permit().cookie(5)).value();
  const group_id blue = c.add_group(a_gang("g").ns("blue")).value();
  const group_id plain = c.add_group(a_basic_group("plain")).value();
  CHECK(c.find_group("default", "g") == g);
  CHECK(c.find_group("blue", "g") == blue);
  CHECK(c.find_group("green", "g") == std::nullopt);
  CHECK(c.find_group("default", "h") == std::nullopt);
  CHECK(c.contains(g));
  CHECK_FALSE(c.contains(group_id{}));
  CHECK(c.name_of(g) == "g");
  CHECK(c.name_of(group_id{}).empty());
  CHECK(c.spec_of(blue)->ns == "blue");
  CHECK(c.namespace_of(blue) == "blue");
  CHECK(c.namespace_of(group_id{}).empty());
  CHECK(c.cookie_of(g) == 5);
  CHECK(c.cookie_of(blue) == 0);
  CHECK(c.cookie_of(group_id{}) == 0);
  const pod_id member = c.add_pod(a_pod("m").in(plain)).value(), alone = c.add_pod(a_pod("alone")).value();
  CHECK(c.group_of(member) == plain);
  CHECK(c.group_of(alone) == group_id{});
  CHECK(c.group_of(pod_id{}) == group_id{});
  CHECK_FALSE(c.is_terminating(member));
  REQUIRE(c.set_terminating(member));
  CHECK(c.is_terminating(member));
  CHECK_FALSE(c.is_terminating(pod_id{}));
  REQUIRE(c.remove_pod(member));
  CHECK(c.group_of(member) == group_id{});
  REQUIRE(c.remove_pod(alone));
  CHECK(c.spec_of(group_id{}) == nullptr);
  CHECK(inside(c).groups.min_count(g.row) == 4);
  CHECK(inside(c).groups.min_count(plain.row) == 1);
  CHECK(inside(c).groups.first[plain.row] == no_row);
}

TEST_CASE("groups that were added are in the change log", "[model][cluster][group]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 4).permit()).value();
  const group_id plain = c.add_group(a_basic_group("plain")).value();
  CHECK(events_since(c, 0) ==
        std::vector<happened>{{change_kind::group_added, g.row}, {change_kind::group_added, plain.row}});
}

TEST_CASE("a group that is wrong is refused and changes nothing", "[model][cluster][group]") {
  cluster c;
  REQUIRE(c.add_group(a_gang("taken")));
  const auto add = [&](errc code, const char* object, const char* field, const group_spec& spec) {
    check_refused(c, code, object, field, [&] { return c.add_group(spec); });
  };
  add(errc::duplicate, "group default/taken", "name", a_gang("taken"));
  add(errc::malformed, "group default/G", "name", a_gang("G"));
  add(errc::out_of_range, "group default/g", "policy.min_count", a_gang("g", 0));
  add(errc::out_of_range, "group default/g", "policy.timeout", a_gang("g").timeout(instant::zero()));
  add(errc::malformed, "group default/g", "topology.within[0]", a_gang("g").topology("?"));
}

TEST_CASE("a group's minimum, timeout, priority and the like may change at any time", "[model][cluster][group]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const group_id g = c.add_group(a_gang("g", 2)).value();
  const pod_id p = c.add_pod(a_pod("p").in(g)).value();
  REQUIRE(c.assume(p, n));
  const std::uint64_t position = inside(c).log.end();
  REQUIRE(c.update_group(g, a_gang("g", 5).timeout(std::chrono::seconds{9}).priority(3).topology("zone").atomic()));
  CHECK(inside(c).groups.min_count(g.row) == 5);
  const group_spec& now = inside(c).groups.record[g.row]->spec;
  CHECK(now.priority == 3);
  CHECK(now.topology.within == std::vector<std::string>{"zone"});
  CHECK(std::get<gang>(now.policy).timeout == std::chrono::seconds{9});
  CHECK(std::get<gang>(now.policy).atomic);
  CHECK(inside(c).groups.members[g.row] == 1);
  CHECK(inside(c).groups.assumed[g.row] == 1);
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::group_updated, g.row, 2, 5}});
}

TEST_CASE("every part of a group is part of the state", "[model][cluster][group]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 2)).value();
  group_spec moves = a_gang("g", 2).topology("zone").spec, in_step = a_gang("g", 2).spec;
  moves.topology.when_full = full_domain::move;
  in_step.ratios = {{.to = c.add_group(a_gang("other")).value(), .mine = 2}};
  REQUIRE(c.update_group(g, a_gang("g", 2).topology("zone")));
  const std::uint64_t waiting = inside(c).digest_with_derived();
  REQUIRE(c.update_group(g, moves));
  CHECK(inside(c).digest_with_derived() != waiting);
  REQUIRE(c.update_group(g, a_gang("g", 2)));
  const std::uint64_t before = inside(c).digest_with_derived();
  for (const group_spec& other :
       {in_step, a_gang("g", 3).spec, a_gang("g", 2).timeout(instant{1}).spec, a_gang("g", 2).atomic().spec,
        a_gang("g", 2).priority(0).spec, a_gang("g", 2).topology("zone").spec, a_gang("g", 2).cookie(1).spec}) {
    {
      transaction trial{c};
      REQUIRE(c.update_group(g, other));
      CHECK(inside(c).digest_with_derived() != before);
    }
    CHECK(inside(c).digest_with_derived() == before);
  }
}

TEST_CASE("an update of a group that is wrong is refused and changes nothing", "[model][cluster][group]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 2)).value(), plain = c.add_group(a_basic_group("plain")).value();
  const group_id gone = c.add_group(a_gang("gone")).value();
  REQUIRE(c.remove_group(gone));
  const auto update = [&](errc code, const char* object, const char* field, group_id id, const group_spec& spec) {
    check_refused(c, code, object, field, [&] { return c.update_group(id, spec); });
  };
  update(errc::wrong_state, "group default/h", "name", g, a_gang("h", 2));
  update(errc::wrong_state, "group blue/g", "ns", g, a_gang("g", 2).ns("blue"));
  update(errc::wrong_state, "group default/g", "policy", g, a_basic_group("g"));
  update(errc::wrong_state, "group default/plain", "policy", plain, a_gang("plain"));
  update(errc::wrong_state, "group default/g", "policy.mode", g, a_gang("g", 2).permit());
  update(errc::out_of_range, "group default/g", "policy.min_count", g, a_gang("g", -1));
  for (const group_id wrong : {gone, group_id{}, group_id{12345, 0}}) {
    update(errc::unknown, "group default/gone", "id", wrong, a_gang("gone"));
  }
}

TEST_CASE("a group is gone when it is removed and has no members", "[model][cluster][group]") {
  cluster c;
  const group_id g = c.add_group(a_gang("g", 2)).value();
  const pod_id p = c.add_pod(a_pod("p").in(g)).value();
  REQUIRE(c.remove_pod(p));
  const std::uint64_t position = inside(c).log.end();
  REQUIRE(c.remove_group(g));
  CHECK(events_since(c, position) == std::vector<happened>{{change_kind::group_removed, g.row}});
  CHECK(c.find_group("default", "g") == std::nullopt);
  CHECK_FALSE(c.contains(g));

  const group_id now = c.add_group(a_gang("g", 7)).value();
  REQUIRE(now.row == g.row);
  CHECK(c.find_group("default", "g") == now);
  CHECK(c.name_of(g).empty());
  CHECK(inside(c).groups.first[now.row] == no_row);
  for (const group_id wrong : {g, group_id{}, group_id{12345, 0}}) {
    check_refused(c, errc::unknown, "group", "id", [&] { return c.remove_group(wrong); });
    check_refused(c, errc::unknown, "pod default/q", "group", [&] {
      return wrong ? c.add_pod(a_pod("q").in(wrong)) : c.add_pod(a_pod("q").in({99, 0}));
    });
  }
}

TEST_CASE("members are listed in order of arrival and counted by state", "[model][cluster][group]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const group_id g = c.add_group(a_gang("g", 2)).value();
  const pod_id early = c.add_pod(a_pod("early")).value();
  std::vector<row_t> order;
  order.push_back(c.add_pod(a_pod("a").in(g)).value().row);
  REQUIRE(c.remove_pod(early));
  order.push_back(c.add_pod(a_pod("b").in(g)).value().row);  // takes the row of `early`, a lower one
  order.push_back(c.add_pod(a_pod("c").in(g).on(n)).value().row);
  REQUIRE(order[1] < order[0]);
  std::vector<row_t> rows, reversed;
  const model::cluster_state& state = inside(c);
  for (row_t row = state.groups.first[g.row]; row != no_row; row = state.pods.next_in_group[row]) rows.push_back(row);
  for (row_t row = state.groups.last[g.row]; row != no_row; row = state.pods.prev_in_group[row]) {
    reversed.insert(reversed.begin(), row);
  }
  CHECK(rows == order);
  CHECK(reversed == order);
  CHECK(state.groups.members[g.row] == 3);
  CHECK(state.groups.bound[g.row] == 1);
}

// --- namespaces and priority classes

TEST_CASE("a namespace is added, relabelled and removed by name", "[model][cluster][namespace]") {
  cluster c;
  const std::uint64_t empty = inside(c).digest_with_derived();
  REQUIRE(c.set_namespace({.name = "blue", .labels = {{"team", "a"}}}));
  const std::uint64_t with_a = inside(c).digest_with_derived();
  CHECK(with_a != empty);
  REQUIRE(c.set_namespace({.name = "blue", .labels = {{"team", "b"}}}));
  CHECK(inside(c).digest_with_derived() != with_a);
  const auto& table = inside(c).named.namespaces;
  const row_t row = table.by_name.find({}, "blue");
  REQUIRE(row != no_row);
  CHECK(table.record[row]->spec.labels == label_map{{"team", "b"}});
  REQUIRE(c.remove_namespace("blue"));
  CHECK(table.by_name.find({}, "blue") == no_row);
  CHECK(events_since(c, 0) == std::vector<happened>(3, {change_kind::namespace_changed, no_row}));
  REQUIRE(c.set_namespace({.name = "green"}));
  CHECK(table.by_name.find({}, "green") == row);  // the row is reused

  check_refused(c, errc::unknown, "namespace blue", "name", [&] { return c.remove_namespace("blue"); });
  check_refused(c, errc::malformed, "namespace B", "name", [&] { return c.set_namespace({.name = "B"}); });
  check_refused(c, errc::malformed, "namespace b", "labels[\"?\"]", [&] {
    return c.set_namespace({.name = "b", .labels = {{"?", ""}}});
  });
}

TEST_CASE("a priority class is added, changed and removed by name", "[model][cluster][priority]") {
  cluster c;
  REQUIRE(c.set_priority_class({.name = "high", .value = 5}));
  const std::uint64_t five = inside(c).digest_with_derived();
  REQUIRE(c.set_priority_class({.name = "high", .value = 6}));
  CHECK(inside(c).digest_with_derived() != five);
  REQUIRE(c.set_priority_class({.name = "high", .value = 5}));
  CHECK(inside(c).digest_with_derived() == five);  // nothing reads the history of a class
  REQUIRE(c.set_priority_class({.name = "high", .value = 5, .preemption = preemption_policy::never}));
  CHECK(inside(c).digest_with_derived() != five);
  CHECK(c.find_priority_class("high") == 5);
  CHECK(c.find_priority_class("low") == std::nullopt);
  REQUIRE(c.remove_priority_class("high"));
  CHECK(c.find_priority_class("high") == std::nullopt);
  check_refused(c, errc::unknown, "priority class high", "name", [&] { return c.remove_priority_class("high"); });
  check_refused(c, errc::malformed, "priority class ?", "name", [&] { return c.set_priority_class({.name = "?"}); });
  check_refused(c, errc::out_of_range, "priority class p", "preemption",
                [&] { return c.set_priority_class({.name = "p", .preemption = static_cast<preemption_policy>(2)}); });
}

// --- trees

/// A group of groups that needs @p min_count of them.
group_spec a_composite(const char* name, std::int32_t min_count = 1, group_id parent = {}) {
  return {.name = name, .policy = gang{.min_count = min_count}, .composite = true, .parent = parent};
}
group_spec a_leaf(const char* name, group_id parent) { return {.name = name, .policy = gang{}, .parent = parent}; }

TEST_CASE("a group can be joined before it is there, and after it was removed", "[model][cluster][group]") {
  cluster c;
  const group_id early = c.expect_group("default", "g").value();
  CHECK(c.expect_group("default", "g").value() == early);
  const pod_id p = c.add_pod(a_pod("p").in(early)).value();
  CHECK(c.spec_of(early) == nullptr);
  check_refused(c, errc::wrong_state, "group default/g", "name", [&] { return c.update_group(early, a_gang("g", 2)); });
  REQUIRE(c.add_group(a_gang("g", 2)).value() == early);
  REQUIRE(c.spec_of(early) != nullptr);
  CHECK(std::get<gang>(c.spec_of(early)->policy).min_count == 2);
  CHECK(inside(c).groups.members[early.row] == 1);
  check_refused(c, errc::duplicate, "group default/g", "name", [&] { return c.add_group(a_gang("g", 2)); });

  REQUIRE(c.remove_group(early));
  CHECK(c.spec_of(early) == nullptr);
  CHECK(c.contains(early));
  REQUIRE(c.remove_pod(p));
  CHECK_FALSE(c.contains(early));  // with its last member
  CHECK(c.find_group("default", "g") == std::nullopt);
}

TEST_CASE("groups and groups of groups have names of their own", "[model][cluster][group]") {
  cluster c;
  const group_id pods = c.add_group(a_gang("g")).value(), groups = c.add_group(a_composite("g")).value();
  CHECK(pods != groups);
  CHECK(c.find_group("default", "g") == pods);
  CHECK(c.find_group("default", "g", true) == groups);
  check_refused(c, errc::malformed, "pod default/p", "group", [&] { return c.add_pod(a_pod("p").in(groups)); });
}

TEST_CASE("a tree of groups is the same in whatever order it is told", "[model][cluster][group]") {
  cluster down, up;
  const group_id root = down.add_group(a_composite("root")).value();
  const group_id middle = down.add_group(a_composite("middle", 1, root)).value();
  REQUIRE(down.add_group(a_leaf("leaf", middle)));
  const group_id later = up.expect_group("default", "middle", true).value();
  REQUIRE(up.add_group(a_leaf("leaf", later)));
  REQUIRE(up.add_group(a_composite("middle", 1, up.expect_group("default", "root", true).value())));
  REQUIRE(up.add_group(a_composite("root")));
  for (const cluster* c : {&down, &up}) {
    const model::group_table& groups = inside(*c).groups;
    const auto row = [&](const char* name, bool composite) { return c->find_group("default", name, composite)->row; };
    CHECK(groups.root(row("leaf", false)) == row("root", true));
    CHECK(groups.parent[row("leaf", false)] == row("middle", true));
    CHECK(groups.first_child[row("root", true)] == row("middle", true));
    CHECK(groups.children[row("middle", true)] == 1);
  }
}

TEST_CASE("children stand in order of arrival", "[model][cluster][group]") {
  cluster c;
  const group_id root = c.add_group(a_composite("root")).value();
  const group_id early = c.expect_group("default", "a").value();
  const group_id b = c.add_group(a_leaf("b", root)).value(), d = c.add_group(a_leaf("d", root)).value();
  REQUIRE(c.add_group(a_leaf("a", root)));
  const model::group_table& groups = inside(c).groups;
  std::vector<row_t> order;
  for (row_t at = groups.first_child[root.row]; at != no_row; at = groups.next_sibling[at]) order.push_back(at);
  CHECK(order == std::vector<row_t>{early.row, b.row, d.row});
  CHECK(groups.last_child[root.row] == d.row);
  REQUIRE(c.remove_group(b));
  CHECK(groups.children[root.row] == 2);
  CHECK(groups.next_sibling[early.row] == d.row);
}

TEST_CASE("a tree that makes no sense is refused and changes nothing", "[model][cluster][group]") {
  cluster c;
  const group_id root = c.add_group(a_composite("root")).value();
  const group_id two = c.add_group(a_composite("two", 1, root)).value();
  const group_id three = c.add_group(a_composite("three", 1, two)).value();
  REQUIRE(c.add_group(a_leaf("four", three)));
  const auto add = [&](errc code, const char* field, const group_spec& spec) {
    check_refused(c, code, "group default/x", field, [&] { return c.add_group(spec); });
  };
  add(errc::out_of_range, "parent", a_composite("x", 1, three));  // no room for groups in it
  const group_id x = c.expect_group("default", "x", true).value();
  const group_id below = c.add_group(a_composite("below", 1, x)).value();
  add(errc::malformed, "parent", a_composite("x", 1, below));
  add(errc::malformed, "parent", a_composite("x", 1, x));
  REQUIRE(c.add_group(a_leaf("deep", below)));
  add(errc::out_of_range, "parent", a_composite("x", 1, two));
  add(errc::malformed, "parent", a_leaf("x", c.find_group("default", "deep").value()));
  add(errc::unknown, "parent", a_leaf("x", {99, 0}));
  group_spec other = a_leaf("x", root);
  other.workload = "another";
  add(errc::malformed, "workload", other);
  group_spec apart = a_leaf("x", root);
  apart.start_after = {{.on = {99, 0}}};
  add(errc::unknown, "start_after[0].on", apart);
  apart.start_after = {{.on = root}}, apart.affinity = {{root, "zone"}, {{99, 0}, "zone"}};
  add(errc::unknown, "affinity[1].to", apart);

  group_spec whole = a_composite("whole");
  whole.disruption = disruption_mode::all, whole.priority = 5, whole.preemption = preemption_policy::never;
  const group_id strict = c.add_group(whole).value();
  group_spec child = a_leaf("x", strict);
  add(errc::malformed, "disruption", child);
  child.disruption = disruption_mode::all, child.priority = 6;
  add(errc::malformed, "priority", child);
  child.priority = 5, child.preemption = preemption_policy::preempt_lower_priority;
  add(errc::malformed, "preemption", child);
  child.preemption = preemption_policy::never;
  CHECK(c.add_group(child));
  whole.priority = 7;
  check_refused(c, errc::malformed, "group default/whole", "priority", [&] { return c.update_group(strict, whole); });
}

TEST_CASE("a whole tree has one priority and one preemption policy, whoever says them", "[model][cluster][group]") {
  cluster c;
  const group_id root = c.add_group(a_composite("root")).value();
  const group_id mid = c.add_group(a_composite("mid", 1, root)).value();
  group_spec first = a_leaf("first", mid);
  first.priority = 5, first.preemption = preemption_policy::never;
  REQUIRE(c.add_group(first));
  group_spec second = a_leaf("second", root);
  second.priority = 6;
  check_refused(c, errc::malformed, "group default/second", "priority", [&] { return c.add_group(second); });
  second.priority = 5, second.preemption = preemption_policy::preempt_lower_priority;
  check_refused(c, errc::malformed, "group default/second", "preemption", [&] { return c.add_group(second); });
  second.preemption = preemption_policy::never;
  REQUIRE(c.add_group(second));
  group_spec top = a_composite("root");
  top.priority = 7;
  check_refused(c, errc::malformed, "group default/root", "priority", [&] { return c.update_group(root, top); });
  top.priority = 5;
  CHECK(c.update_group(root, top));
  // A group that was expected brings those below it along.
  const group_id late = c.expect_group("default", "late", true).value();
  group_spec below = a_leaf("below", late);
  below.priority = 8;
  REQUIRE(c.add_group(below));
  check_refused(c, errc::malformed, "group default/late", "priority",
                [&] { return c.add_group(a_composite("late", 1, root)); });
  CHECK(c.add_group(a_composite("late")));
}

TEST_CASE("a gang had its minimum, in whatever order it and its members are told", "[model][cluster][group]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const group_id g = c.expect_group("default", "g").value();
  for (const char* name : {"p", "q"}) REQUIRE(c.add_pod(a_pod(name).in(g).on(n)));
  REQUIRE(c.add_group(a_gang("g", 2)));
  CHECK(inside(c).groups.satisfied[g.row]);
  const group_id more = c.add_group(a_gang("more", 3)).value();
  for (const char* name : {"r", "s"}) REQUIRE(c.add_pod(a_pod(name).in(more).on(n)));
  CHECK_FALSE(inside(c).groups.satisfied[more.row]);
  REQUIRE(c.update_group(more, a_gang("more", 2)));
  CHECK(inside(c).groups.satisfied[more.row]);
  const group_id idle = c.add_group(a_gang("idle", 2)).value();
  REQUIRE(c.update_group(idle, a_gang("idle", 1)));
  CHECK_FALSE(inside(c).groups.satisfied[idle.row]);
}

TEST_CASE("trees are part of what a roll-back undoes", "[model][cluster][group]") {
  cluster c;
  const group_id root = c.add_group(a_composite("root")).value();
  const group_id leaf = c.add_group(a_leaf("leaf", root)).value();
  REQUIRE(c.add_pod(a_pod("p").in(leaf)));
  const std::uint64_t before = inside(c).digest_with_derived();
  {
    transaction trial{c};
    REQUIRE(c.add_group(a_leaf("other", root)));
    REQUIRE(c.remove_group(leaf));
    REQUIRE(c.remove_group(root));
    REQUIRE(c.expect_group("default", "later"));
    CHECK(inside(c).digest_with_derived() != before);
  }
  CHECK(inside(c).digest_with_derived() == before);
}

}  // namespace

}  // namespace gangsched::testing::cluster_groups_test
