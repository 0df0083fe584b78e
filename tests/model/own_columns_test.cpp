#include "gangsched/model/own_columns.hpp"

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::own_columns_test {

namespace {

std::string refusal(const result<void>& of) { return of ? "none" : of.error().message(); }

}  // namespace

TEST_CASE("the host sets words of nodes, groups and rows of scopes, and every change is in the log once",
          "[model][columns]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const group_id g = c.add_group({.name = "g", .ns = "default"}).value();
  const scope_row_id row = c.add_scope_row("racks", "r1").value();
  REQUIRE(c.add_node_column("watts"));
  REQUIRE(c.add_group_column("share"));
  REQUIRE(c.add_scope_column("racks", "celsius"));
  CHECK(c.column_of(n, "watts") == 0);
  const change_log& log = inside(c).log;
  const std::uint64_t end = log.end();
  REQUIRE(c.set_column(n, "watts", 500));
  REQUIRE(c.set_column(g, "share", -2));
  REQUIRE(c.set_column(row, "celsius", 31));
  REQUIRE(c.set_column(row, "celsius", 31));
  CHECK(c.column_of(n, "watts") == 500);
  CHECK(c.column_of(g, "share") == -2);
  CHECK(c.column_of(row, "celsius") == 31);
  REQUIRE(log.end() == end + 3);
  CHECK(log[end].node() == n.row);
  CHECK(log[end + 1].node() == no_row);
  CHECK(log[end + 1].scope() == scope_number::groups);
  CHECK(log[end + 2].scope() == scope_number::first_named);
  CHECK(log[end + 2].row == row.row);
  CHECK(log[end].facets != log[end + 2].facets);
}

TEST_CASE("a column of a name that is there is the same, and so is a row", "[model][columns]") {
  cluster c;
  const scope_row_id row = c.add_scope_row("racks", "r1").value();
  REQUIRE(c.add_scope_column("racks", "celsius"));
  REQUIRE(c.set_column(row, "celsius", 31));
  REQUIRE(c.add_scope_column("racks", "celsius"));
  CHECK(c.column_of(row, "celsius") == 31);
  CHECK(c.add_scope_row("racks", "r1").value() == row);
  CHECK(c.find_scope_row("racks", "r1") == row);
  CHECK_FALSE(c.find_scope_row("racks", "r2"));
  CHECK_FALSE(c.find_scope_row("licences", "r1"));
  CHECK(c.name_of(row) == "r1");
  CHECK(c.add_scope_row("licences", "r1").value() != row);
}

TEST_CASE("what cannot be set is refused, with its object, column and reason, and changes nothing",
          "[model][columns]") {
  cluster c;
  const node_id n = c.add_node(a_node("n")).value();
  const scope_row_id row = c.add_scope_row("racks", "r1").value();
  model::own_columns& columns = inside(c).columns;
  static_cast<void>(columns.make(columns.scope("racks"), "used", column_writer::reserve_hooks, columns.new_facet()));
  REQUIRE(c.add_node_column("watts"));
  const std::uint64_t digest = inside(c).digest_with_derived();
  CHECK(refusal(c.set_column(n, "volts", 1)) == "node n: column volts: nobody has made it");
  CHECK(refusal(c.set_column(row, "watts", 1)) == "racks/r1: column watts: nobody has made it");
  CHECK(refusal(c.set_column(row, "used", 1)) == "racks/r1: column used: is counted by reserve hooks");
  CHECK(refusal(c.set_column(node_id{}, "watts", 1)) == "node: id: no such object (removed, or of another cluster)");
  CHECK(refusal(c.set_column(group_id{}, "watts", 1)) == "group: id: no such object (removed, or of another cluster)");
  CHECK(refusal(c.set_column(scope_row_id{}, "watts", 1)) ==
        "row: id: no such object (removed, or of another cluster)");
  CHECK(refusal(c.add_node_column("")) == "nodes: column: has no name");
  CHECK(refusal(c.add_group_column("")) == "groups: column: has no name");
  CHECK(refusal(c.add_scope_column("racks", "")) == "racks: column: has no name");
  CHECK_FALSE(c.add_scope_row("racks", ""));
  CHECK_FALSE(c.add_scope_row("", "r1"));
  inside(c).in_hook = true;
  CHECK(c.set_column(n, "watts", 1).error().code == errc::busy);
  CHECK(c.add_scope_row("racks", "r2").error().code == errc::busy);
  CHECK(c.remove_scope_row(row).error().code == errc::busy);
  inside(c).in_hook = false;
  CHECK(inside(c).digest_with_derived() == digest);
  REQUIRE(c.remove_scope_row(row));
  CHECK(c.set_column(row, "used", 1).error().code == errc::unknown);
  CHECK(c.remove_scope_row(row).error().code == errc::unknown);
}

TEST_CASE("words go with their object, and what was noted of it comes to nothing", "[model][columns]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value(), m = c.add_node(a_node("m").cpu(4)).value();
  const scope_row_id row = c.add_scope_row("racks", "r1").value();
  model::own_columns& columns = inside(c).columns;
  const std::uint32_t of_nodes =
      columns.make(scope_number::nodes, "used", column_writer::reserve_hooks, columns.new_facet());
  const std::uint32_t of_racks =
      columns.make(columns.scope("racks"), "used", column_writer::reserve_hooks, columns.new_facet());
  const pod_id p = c.add_pod(a_pod("p").cpu(1)).value();
  REQUIRE(c.assume(p, n));
  columns.note(p.row, {of_nodes, n.row, n.generation, 3});
  columns.note(p.row, {of_nodes, m.row, m.generation, 5});
  columns.note(p.row, {of_racks, row.row, row.generation, 7});
  CHECK(c.column_of(n, "used") == 3);
  const std::uint64_t digest = inside(c).digest_with_derived();
  {
    transaction trial{c};
    REQUIRE(c.remove_node(m));
    REQUIRE(c.remove_scope_row(row));
    const node_id next = c.add_node(a_node("next")).value();
    const scope_row_id other = c.add_scope_row("racks", "r2").value();
    REQUIRE(next.row == m.row);
    REQUIRE(other.row == row.row);
    CHECK(c.column_of(next, "used") == 0);
    REQUIRE(c.release(p));
    CHECK(c.column_of(next, "used") == 0);
    CHECK(c.column_of(other, "used") == 0);
    CHECK(c.column_of(n, "used") == 0);
    REQUIRE(c.assume(p, n));
    REQUIRE(c.release(p));  // nothing is taken back twice
    CHECK(c.column_of(n, "used") == 0);
  }
  CHECK(inside(c).digest_with_derived() == digest);
  CHECK(c.column_of(row, "used") == 7);
  REQUIRE(c.bind(p));
  REQUIRE(c.remove_pod(p));
  CHECK(c.column_of(n, "used") == 0);
  CHECK(c.column_of(m, "used") == 0);
  CHECK(c.column_of(row, "used") == 0);
}

TEST_CASE("a pod that others bind elsewhere leaves what was noted for it, one that is updated keeps it",
          "[model][columns]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value(), m = c.add_node(a_node("m").cpu(4)).value();
  model::own_columns& columns = inside(c).columns;
  const std::uint32_t used =
      columns.make(scope_number::nodes, "used", column_writer::reserve_hooks, columns.new_facet());
  const pod_id p = c.add_pod(a_pod("p").cpu(1)).value(), q = c.add_pod(a_pod("q").cpu(1)).value();
  for (const pod_id pod : {p, q}) {
    REQUIRE(c.assume(pod, n));
    columns.note(pod.row, {used, n.row, n.generation, 1});
  }
  REQUIRE(c.update_pod(p, a_pod("p").cpu(2)));
  CHECK(c.column_of(n, "used") == 2);
  REQUIRE(c.update_pod(p, a_pod("p").cpu(2).on(n)));
  CHECK(c.column_of(n, "used") == 2);
  REQUIRE(c.update_pod(q, a_pod("q").cpu(1).on(m)));
  CHECK(c.column_of(n, "used") == 1);
  CHECK(c.column_of(m, "used") == 0);
}

TEST_CASE("sums wrap, so that what was added can be taken back", "[model][columns]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  model::own_columns& columns = inside(c).columns;
  const std::uint32_t used =
      columns.make(scope_number::nodes, "used", column_writer::reserve_hooks, columns.new_facet());
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const pod_id p = c.add_pod(a_pod("p").cpu(1)).value();
  REQUIRE(c.assume(p, n));
  for (int i = 0; i < 3; ++i) columns.note(p.row, {used, n.row, n.generation, most});
  columns.note(p.row, {used, n.row, n.generation, std::numeric_limits<std::int64_t>::min()});
  REQUIRE(c.release(p));
  CHECK(c.column_of(n, "used") == 0);
}

TEST_CASE("columns are saved and restored by themselves, and others are refused", "[model][columns][snapshot]") {
  const auto objects = [](cluster& of) {
    const node_id n = of.add_node(a_node("n").cpu(4)).value();
    const pod_id p = of.add_pod(a_pod("p").cpu(1)).value();
    REQUIRE(of.assume(p, n));
    return std::pair{n, p};
  };
  cluster c;
  const auto [n, p] = objects(c);
  const scope_row_id gone = c.add_scope_row("racks", "r0").value(), row = c.add_scope_row("racks", "r1").value();
  REQUIRE(c.add_node_column("watts"));
  REQUIRE(c.add_scope_column("racks", "celsius"));
  REQUIRE(c.set_column(n, "watts", 500));
  REQUIRE(c.set_column(row, "celsius", 31));
  REQUIRE(c.remove_scope_row(gone));
  model::own_columns& from = inside(c).columns;
  const std::uint32_t used = from.make(scope_number::nodes, "used", column_writer::reserve_hooks, from.new_facet());
  from.note(p.row, {used, n.row, n.generation, 7});
  const model::saved_columns saved = from.save();
  const model::own_columns::extent all = from.mark();

  cluster d;
  objects(d);
  model::own_columns& to = inside(d).columns;
  REQUIRE(to.restore(saved, {1, 1, 0}));  // as plugins of one scheduler come after those of another
  REQUIRE(to.restore(saved, all));
  REQUIRE(to.restore_words(saved));
  CHECK(d.column_of(n, "watts") == 500);
  CHECK(d.column_of(row, "celsius") == 31);
  CHECK(to.at(used, n.row) == 7);
  CHECK(d.add_scope_row("racks", "r2").value().row == gone.row);
  to.take_back(p.row);
  CHECK(to.at(used, n.row) == 0);

  const auto refused = [&](const auto& harm) {
    cluster other;
    objects(other);
    model::saved_columns bad = saved;
    harm(bad);
    model::own_columns& into = inside(other).columns;
    return !into.restore(bad, all) || !into.restore_words(bad);
  };
  CHECK_FALSE(refused([](auto&) {}));
  CHECK(refused([](auto& bad) { bad.all.pop_back(); }));
  CHECK(refused([](auto& bad) { bad.all[0].scope = 77; }));
  CHECK(refused([](auto& bad) { bad.scopes.push_back("more"); }));
  CHECK(refused([](auto& bad) { bad.names[0].at = 9; }));
  CHECK(refused([](auto& bad) { bad.names.push_back(bad.names[0]); }));
  CHECK(refused([](auto& bad) { bad.rows.free.clear(); }));
  CHECK(refused([](auto& bad) { bad.rows.free = {0, 0}; }));
  CHECK(refused([](auto& bad) { bad.words[0].column = 9; }));
  CHECK(refused([](auto& bad) { bad.words[0].row = 9; }));
  CHECK(refused([](auto& bad) { bad.notes[0].pod = 9; }));
  CHECK(refused([](auto& bad) { bad.notes.push_back(bad.notes[0]); }));
  CHECK(refused([](auto& bad) { bad.notes[0].uses[0].column = 9; }));
  CHECK_FALSE(to.restore(saved, {0, 9, 0}));
}

}  // namespace gangsched::testing::own_columns_test
