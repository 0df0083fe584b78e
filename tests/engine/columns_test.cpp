// Columns of nodes and of named scopes, fed by reserve hooks and by the host: decisions, waking, and taking back.
#include "column_plugins.hpp"

#include "gangsched/model/transaction.hpp"
#include "gangsched/scheduling/measure_hooks.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::columns_test {

namespace {

scheduler_options by(wake_rule rule) { return {.ties = tie_rule::lowest_row, .wake = rule}; }

/// A cluster with two licences, and nodes enough.
struct licensed : world {
  scope_row_id matlab;
  explicit licensed(wake_rule rule = wake_rule::one_per_class) : world(with_columns_of(licences{}), by(rule)) {
    for (const char* name : {"n", "m"}) add(a_node{name}.cpu(8));
    matlab = must(cluster.add_scope_row("licences", "matlab"));
    must(cluster.set_column(matlab, "owned", 2));
  }
  using world::add;
  [[nodiscard]] std::int64_t used() const { return cluster.column_of(matlab, "used").value(); }
  static a_pod wants(const std::string& name, std::int64_t count = 1) {
    return a_pod{name}.cpu(1).resource("licences/matlab", quantity{count});
  }
};

}  // namespace

TEST_CASE("licences of the whole cluster limit pods on all nodes, and who waits is woken when one comes back",
          "[engine][columns]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  licensed w{rule};
  for (const char* name : {"a", "b", "c", "d"}) w.add(w.wants(name));
  w.add(a_pod{"plain"}.cpu(1));
  CHECK(w.run() == words{"bind a n", "bind b m", "reject c", "reject d", "bind plain n"});
  CHECK(w.used() == 2);
  CHECK(w.run_at(10s).empty());
  SECTION("by a pod that is removed") {
    w.remove(w.pod("a"));
    CHECK(w.used() == 1);
    const words all = w.run_at(20s);
    REQUIRE(!all.empty());
    CHECK(all[0] == "bind c n");
    CHECK(w.used() == 2);
  }
  SECTION("by the host, which buys some") {
    w.must(w.cluster.set_column(w.matlab, "owned", 4));
    CHECK(sorted(w.run_at(20s)) == words{"bind c m", "bind d n"});
    CHECK(w.used() == 4);
  }
  SECTION("by a bind that fails") {
    w.fail(w.pod("b"));
    CHECK(w.used() == 1);
    CHECK(w.run_at(20s)[0] == "bind c m");
  }
  CHECK(w.scheduler.verify());
}

TEST_CASE("copies of a profile go with clusters of their own, whatever number a column has there",
          "[engine][columns]") {
  kernel_table table = with_columns_of(node_power{});
  observer nobody;
  const bool measured = GENERATE(false, true);
  if (measured) table = measure_hooks(std::move(table), nobody);
  cluster first, second;
  world::must(second.add_node_column("humidity"));
  scheduler in_first{first, table}, in_second{second, table};
  for (cluster* const one : {&first, &second}) {
    const node_id node = world::must(one->add_node(a_node{"n"}.cpu(4).spec));
    world::must(one->set_column(node, "watts", one == &first ? 300 : 100));
    world::must(one->add_pod(a_pod{"p"}.cpu(1).resource("power/watts", quantity{200}).spec));
  }
  CHECK(in_first.schedule_cycle(instant{}).decisions()[0].kind == decision_kind::bind);
  CHECK(in_second.schedule_cycle(instant{}).decisions()[0].kind == decision_kind::reject);
}

TEST_CASE("a gang of which a member finds no licence holds none", "[engine][columns]") {
  licensed w;
  const group_id gang = w.add(a_gang{"gang", 3});
  for (const char* name : {"a", "b", "c"}) w.add(w.wants(name).in(gang));
  CHECK(w.counts()[0] == 1);
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.run() == words{"reject a", "reject b", "reject c"});
  CHECK(w.used() == 0);
  CHECK(inside(w.cluster).digest_with_derived() == before);
  w.add(a_node{"k"}.cpu(8));  // helps nobody: it is no licence
  w.run_at(10s);
  CHECK(w.used() == 0);
  w.must(w.cluster.set_column(w.matlab, "owned", 3));
  CHECK(w.run_at(30s).size() == 3);
  CHECK(w.used() == 3);
}

TEST_CASE("what a victim has of a scope is free in the trial, and free for its preemptor when it is gone",
          "[engine][columns]") {
  licensed w;
  w.add(w.wants("a"));
  w.add(w.wants("b"));
  CHECK(w.run(true) == words{"bind a n", "bind b m"});
  w.add(w.wants("urgent").priority(10));
  CHECK(w.run() == words{"nominate urgent n", "evict a n"});
  CHECK(w.used() == 2);  // until it is gone
  w.remove(w.pod("a"));
  CHECK(w.used() == 1);
  CHECK(w.run_at(10s) == words{"bind urgent n"});
  CHECK(w.used() == 2);
}

TEST_CASE("a trial without pods counts nothing of theirs, and then as before", "[engine][columns]") {
  licensed w;
  const group_id gang = w.add(a_gang{"gang", 2});
  for (const char* name : {"a", "b"}) w.add(w.wants(name).in(gang));
  CHECK(w.run(true).size() == 2);
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  {
    transaction trial{w.cluster};
    w.must(w.cluster.remove_pod(w.pod("a")));
    CHECK(w.used() == 1);
    w.must(w.cluster.set_column(w.matlab, "owned", 9));
    static_cast<void>(w.must(w.cluster.add_scope_row("licences", "other")));
  }
  CHECK(w.used() == 2);
  CHECK(inside(w.cluster).digest_with_derived() == before);
  CHECK_FALSE(w.cluster.find_scope_row("licences", "other"));
}

TEST_CASE("nodes in racks that get too hot take nobody, and pods are tried when a rack cools down",
          "[engine][columns]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  world w{with_columns_of(rack_temperature{}), by(rule)};
  for (const char* name : {"a1", "a2", "b1"}) w.add(a_node{name}.cpu(1).label("rack", std::string(1, name[0])));
  const scope_row_id a = w.must(w.cluster.add_scope_row("racks", "a")),
                     b = w.must(w.cluster.add_scope_row("racks", "b"));
  w.must(w.cluster.set_column(a, "celsius", 40));
  w.add(a_pod{"p"}.cpu(1));
  CHECK(w.run() == words{"bind p b1"});
  w.must(w.cluster.set_column(b, "celsius", 40));
  w.add(a_pod{"q"}.cpu(1));
  w.add(a_pod{"r"}.cpu(1));
  CHECK(w.run() == words{"reject q", "reject r"});
  const std::uint64_t before = w.wake_ups();
  w.must(w.cluster.set_column(a, "celsius", 40));  // nothing new
  CHECK(w.run_at(10s).empty());
  CHECK(w.wake_ups() == before);
  w.must(w.cluster.set_column(a, "celsius", 30));
  CHECK(sorted(w.run_at(20s)) == words{"bind q a1", "bind r a2"});
  w.remove(w.pod("p"));
  w.add(a_pod{"s"}.cpu(1));
  CHECK(w.run_at(30s) == words{"reject s"});
  w.must(w.cluster.remove_scope_row(b));  // nobody measures it any more
  CHECK(w.run_at(40s) == words{"bind s b1"});
}

TEST_CASE("power per node is the host's to say and reserve hooks' to count", "[engine][columns]") {
  world w{with_columns_of(node_power{})};
  const node_id n = w.add(a_node{"n"}.cpu(8)), m = w.add(a_node{"m"}.cpu(8));
  const auto wants = [](const std::string& name, std::int64_t watts) {
    return a_pod{name}.cpu(1).resource("power/watts", quantity{watts});
  };
  w.must(w.cluster.set_column(m, "watts", 500));
  w.add(wants("a", 300));
  w.add(wants("b", 300));
  CHECK(w.run() == words{"bind a m", "reject b"});
  CHECK(w.cluster.column_of(m, "watts used") == 300);
  CHECK(w.cluster.column_of(n, "watts used") == 0);
  w.must(w.cluster.set_column(n, "watts", 200));
  CHECK(w.run_at(10s).empty());  // asked, and too little
  w.must(w.cluster.set_column(n, "watts", 300));
  CHECK(w.run_at(20s) == words{"bind b n"});
  const group_id gang = w.add(a_gang{"gang", 2});
  w.add(wants("c", 200).in(gang));
  w.add(wants("d", 200).in(gang));
  CHECK(w.run_at(21s) == words{"reject c", "reject d"});
  CHECK(w.cluster.column_of(m, "watts used") == 300);
  w.must(w.cluster.remove_node(n));
  const node_id again = w.add(a_node{"again"}.cpu(8));
  REQUIRE(again.row == n.row);
  CHECK(w.cluster.column_of(again, "watts") == 0);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a number wakes who was rejected by others, before the number would have been looked at",
          "[engine][columns]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all);  // (by hints only its rejectors hear)
  world w{with_columns_of(node_power{}), by(rule)};
  a_node machine{"n"};
  const node_id n = w.add(machine.cpu(1));
  w.add(a_pod{"p"}.cpu(2).resource("power/watts", quantity{300}));
  CHECK(w.run() == words{"reject p"});
  w.must(w.cluster.update_node(n, machine.cpu(8)));
  CHECK(w.run_at(10s).empty());  // it would fit, but for power
  w.must(w.cluster.set_column(n, "watts", 300));
  CHECK(w.run_at(30s) == words{"bind p n"});
}

namespace {

/// Rejects by a column of the host's that others may know, too.
template <int Which>
struct reader {
  static constexpr std::string_view name = Which == 0 ? "First" : "Second";
  using points = implements<point::filter>;
  by_host<node_column> column = {};
  std::string of;
  std::shared_ptr<int> asked = std::make_shared<int>(0);
  void attach(column_maker& columns) { column = columns.node_column_by_host(of); }
  [[nodiscard]] status filter(const pod_view&, node_view<reads::own> node) const {
    ++*asked;
    return node.own(column) == 0 ? status::success() : status::unschedulable("closed");
  }
};

}  // namespace

TEST_CASE("a hook is asked again for columns of its own plugin, not for those of others", "[engine][columns]") {
  reader<0> first{.of = "first"};
  reader<1> second{.of = "second"};
  SECTION("each its own") {
    world w{with_columns_of(first, second)};
    const node_id n = w.add(a_node{"n"}.cpu(8));
    for (int i = 0; i < 30; ++i) w.add(a_node{"x" + std::to_string(i)}.cpu(1));
    w.add(a_pod{"p"}.cpu(2));
    CHECK(w.run() == words{"bind p n"});
    w.must(w.cluster.set_column(n, "second", 0));
    w.add(a_pod{"q"}.cpu(2));
    CHECK(w.run() == words{"bind q n"});
    const int before = *first.asked, others = *second.asked;
    w.must(w.cluster.set_column(w.node("x0"), "second", 1));
    w.must(w.cluster.set_column(w.node("x1"), "second", 1));
    w.add(a_pod{"r"}.cpu(2));
    CHECK(w.run() == words{"bind r n"});
    CHECK(*first.asked == before);
    CHECK(*second.asked == others);  // those nodes are too small in any case
    w.must(w.cluster.set_column(n, "first", 1));
    w.add(a_pod{"s"}.cpu(2));
    CHECK(w.run() == words{"reject s"});
    CHECK(*first.asked > before);
    const std::uint64_t woken = w.wake_ups();
    w.must(w.cluster.set_column(n, "second", 1));
    w.must(w.cluster.set_column(n, "second", 0));
    CHECK(w.run_at(10s).empty());
    CHECK(w.wake_ups() == woken);
    w.must(w.cluster.set_column(n, "first", 0));
    CHECK(w.run_at(20s) == words{"bind s n"});
  }
  SECTION("one that both asked for by its name") {
    first.of = second.of = "shared";
    world w{with_columns_of(first, second)};
    const node_id n = w.add(a_node{"n"}.cpu(8));
    w.must(w.cluster.set_column(n, "shared", 1));
    CHECK(inside(w.cluster).columns.size() == 1);
    w.add(a_pod{"p"}.cpu(2));
    CHECK(w.run() == words{"reject p"});
    w.must(w.cluster.set_column(n, "shared", 0));
    CHECK(w.run_at(10s) == words{"bind p n"});
  }
}

TEST_CASE("plugins beyond the twentieth share facets, which costs questions and no answer", "[engine][columns]") {
  world w{with_columns_of(reader<0>{.of = "last"})};
  const node_id n = w.add(a_node{"n"}.cpu(8));
  for (int i = 0; i < 40; ++i) w.must(w.cluster.add_node_column("c" + std::to_string(i)));
  w.must(w.cluster.set_column(n, "last", 1));
  w.add(a_pod{"p"}.cpu(2));
  CHECK(w.run() == words{"reject p"});
  for (int i = 0; i < 40; ++i) w.must(w.cluster.set_column(n, "c" + std::to_string(i), 1));
  CHECK(w.run_at(10s).empty());
  w.must(w.cluster.set_column(n, "last", 0));
  CHECK(w.run_at(20s) == words{"bind p n"});
}

TEST_CASE("a scheduler that is made anew finds columns with names, and what pods have of them", "[engine][columns]") {
  gangsched::cluster cluster;
  const auto cycle_all = [&](scheduler& with) {
    while (const gangsched::cycle done = with.schedule_cycle(instant{0})) REQUIRE(done.error() == nullptr);
  };
  REQUIRE(cluster.add_node(a_node{"n"}.cpu(8)));
  const scope_row_id row = cluster.add_scope_row("licences", "matlab").value();
  REQUIRE(cluster.add_scope_column("licences", "owned"));  // before anybody asks for it
  REQUIRE(cluster.set_column(row, "owned", 1));
  const pod_id a = cluster.add_pod(licensed::wants("a")).value();
  {
    scheduler first{cluster, with_columns_of(licences{}), by(wake_rule::one_per_class)};
    cycle_all(first);
    REQUIRE(first.confirm(a));
  }
  CHECK(cluster.column_of(row, "used") == 1);
  scheduler second{cluster, with_columns_of(licences{}), by(wake_rule::one_per_class)};
  const pod_id b = cluster.add_pod(licensed::wants("b")).value();
  cycle_all(second);
  CHECK(cluster.state_of(b) == pod_state::pending);
  REQUIRE(cluster.remove_pod(a));
  CHECK(cluster.column_of(row, "used") == 0);
  cycle_all(second);
  CHECK(cluster.column_of(row, "used") == 1);
  CHECK(cluster.state_of(b) == pod_state::assumed);
}

namespace {

/// At most two pods of a group have a node, by the host's word more.
struct group_quota {
  static constexpr std::string_view name = "GroupQuota";
  using points = implements<point::group_pre_filter, point::reserve>;
  group_column used;
  by_host<group_column> most;
  void attach(column_maker& columns) {
    used = columns.make_group_column("used");
    most = columns.group_column_by_host("most");
  }
  [[nodiscard]] status group_pre_filter(const group_view& group) const {
    return group.own(used) + group.min_count() <= group.own(most) ? status::success()
                                                                  : status::unschedulable("over quota");
  }
  status reserve(const new_reservation& r) { return r.add(used, 1), status::success(); }
  void unreserve(const reservation&) noexcept {}
};

}  // namespace

TEST_CASE("groups have columns, and are tried again when the host sets one", "[engine][columns]") {
  world w{with_columns_of(group_quota{})};
  w.add(a_node{"n"}.cpu(8));
  const group_id gang = w.add(a_gang{"gang", 2});
  for (const char* name : {"a", "b"}) w.add(a_pod{name}.cpu(1).in(gang));
  w.add(a_pod{"alone"}.cpu(1));
  CHECK(sorted(w.run()) == words{"bind alone n", "reject a", "reject b"});
  CHECK(w.run_at(10s).empty());
  w.must(w.cluster.set_column(gang, "most", 2));
  CHECK(sorted(w.run_at(20s)) == words{"bind a n", "bind b n"});
  CHECK(w.cluster.column_of(gang, "used") == 2);
  w.remove(w.pod("a"));
  CHECK(w.cluster.column_of(gang, "used") == 1);
  w.must(w.cluster.remove_group(gang));  // expected from then on
  CHECK(w.cluster.column_of(gang, "most") == 0);
  CHECK(w.cluster.column_of(gang, "used") == 1);
  w.remove(w.pod("b"));
  CHECK_FALSE(w.cluster.column_of(gang, "used"));
}

namespace {

/// Nodes whose pods are said to be noisy take nobody else.
struct quiet {
  static constexpr std::string_view name = "Quiet";
  using points = implements<point::filter>;
  by_host<pod_column> noise;
  void attach(column_maker& columns) { noise = columns.pod_column_by_host("noise"); }
  [[nodiscard]] status filter(const pod_view&, node_view<reads::own | reads::pods> node) const {
    std::int64_t sum = 0;
    node.each_pod([&](const pod_info& pod) { sum += pod.own(noise); });
    return sum <= 10 ? status::success() : status::unschedulable("too noisy");
  }
};

}  // namespace

TEST_CASE("pods have columns of the host's, which are news of the node that they are on", "[engine][columns]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  world w{with_columns_of(quiet{}), by(rule)};
  w.add(a_node{"n"}.cpu(8));
  const pod_id a = w.add(a_pod{"a"}.cpu(1)), b = w.add(a_pod{"b"}.cpu(1));
  w.must(w.cluster.set_column(b, "noise", 9));  // it waits: no node hears of it
  CHECK(w.run(true) == words{"bind a n", "bind b n"});
  CHECK(w.cluster.column_of(b, "noise") == 9);
  w.must(w.cluster.set_column(a, "noise", 2));
  w.add(a_pod{"c"}.cpu(1));
  CHECK(w.run() == words{"reject c"});
  const std::uint64_t woken = w.wake_ups();
  w.must(w.cluster.set_column(a, "noise", 2));  // nothing new
  CHECK(w.run_at(10s).empty());
  CHECK(w.wake_ups() == woken);
  SECTION("that changes") {
    w.must(w.cluster.set_column(a, "noise", 1));
    CHECK(w.run_at(20s) == words{"bind c n"});
  }
  SECTION("that goes with its pod, and is nobody's who comes in its place") {
    const row_t row = b.row;
    w.remove(b);
    CHECK(w.run_at(20s) == words{"bind c n"});
    const pod_id d = w.add(a_pod{"d"}.cpu(1));
    REQUIRE(d.row == row);
    CHECK(w.cluster.column_of(d, "noise") == 0);
    CHECK_FALSE(w.cluster.column_of(b, "noise"));
    CHECK(w.run_at(21s) == words{"bind d n"});
  }
  CHECK(w.scheduler.verify());
}

TEST_CASE("words of pods are under the undo log, and in the digest", "[engine][columns]") {
  gangsched::cluster cluster;
  REQUIRE(cluster.add_pod_column("noise"));
  CHECK(cluster.add_pod_column("").error().code == errc::malformed);
  const pod_id p = cluster.add_pod(a_pod{"p"}).value();
  CHECK(cluster.column_of(p, "noise") == 0);
  const std::uint64_t before = inside(cluster).digest_with_derived();
  {
    transaction trial{cluster};
    REQUIRE(cluster.set_column(p, "noise", 3));
    CHECK(cluster.column_of(p, "noise") == 3);
    CHECK(inside(cluster).digest_with_derived() != before);
    REQUIRE(cluster.remove_pod(p));
    const pod_id other = cluster.add_pod(a_pod{"other"}).value();
    REQUIRE(cluster.set_column(other, "noise", 4));
  }
  CHECK(cluster.column_of(p, "noise") == 0);
  CHECK(inside(cluster).digest_with_derived() == before);
  REQUIRE(cluster.set_column(p, "noise", 3));
  CHECK(cluster.set_column(p, "loudness", 1).error().code == errc::unknown);
  REQUIRE(cluster.remove_pod(p));
  CHECK(cluster.set_column(p, "noise", 1).error().code == errc::unknown);
  CHECK_FALSE(cluster.column_of(p, "noise"));
}

}  // namespace gangsched::testing::columns_test
