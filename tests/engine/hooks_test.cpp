// Reserve, permit and bind hooks around a placement: order, roll-back, columns of their own, and what they may not do.
#include "support/inside.hpp"
#include "world.hpp"

#include <memory>
#include <set>

namespace gangsched::testing::hooks_test {

namespace {

using journal = std::shared_ptr<words>;

/// Two of a kind, to see the order. Refuses pods labelled refuse=<its name>.
struct first_reserve {
  static constexpr std::string_view name = "First";
  using points = implements<point::reserve>;
  journal log;
  status reserve(const reservation& r) { return note("1+", r); }
  void unreserve(const reservation& r) noexcept { static_cast<void>(note("1-", r)); }
  status note(const char* what, const reservation& r) {
    log->push_back(what + std::string{r.pod.name()});
    return r.pod.label("refuse") == "first" ? status::unschedulable("first") : status::success();
  }
};
struct second_reserve {
  static constexpr std::string_view name = "Second";
  using points = implements<point::reserve>;
  journal log;
  status reserve(const reservation& r) {
    log->push_back("2+" + std::string{r.pod.name()});
    if (r.pod.label("refuse") == "error") return status::error("second is broken");
    return r.pod.label("refuse") == "second" ? status::unschedulable("second") : status::success();
  }
  void unreserve(const reservation& r) noexcept { log->push_back("2-" + std::string{r.pod.name()}); }
};

/// Two licences a node, and every pod draws ten units from the node called "server".
struct licences {
  static constexpr std::string_view name = "Licences";
  using points = implements<point::filter, point::reserve>;
  node_column taken;

  void attach(column_maker& columns) { taken = columns.make_node_column(); }
  [[nodiscard]] status filter(const pod_view&, node_view<reads::own> node) const {
    return node.own(taken) < 2 ? status::success() : status::unschedulable("no licence is left");
  }
  status reserve(const new_reservation& r) {
    r.add(taken, 1);
    r.cluster().each_node([&](const node_info& node) {
      if (node.name() == "server") r.add(taken, node.id(), 10);
    });
    return r.pod.label("refuse") ? status::unschedulable("refused") : status::success();
  }
  void unreserve(const reservation&) noexcept {}
};

/// Rejects pods without a priority, and says nothing of what it reads.
struct never {
  static constexpr std::string_view name = "Never";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_view& pod, node_info) const {
    return pod.priority() > 0 ? status::success() : status::unschedulable("never");
  }
};

struct binder {
  static constexpr std::string_view name = "Binder";
  using points = implements<point::pre_bind, point::bind, point::post_bind>;
  journal log;
  status pre_bind(const reservation& r, decision& d) {
    log->push_back("pre " + std::string{r.pod.name()});
    d.annotation = 1;
    if (r.pod.label("pre") == "error") return status::error("pre_bind is broken");
    return r.pod.label("pre") == "no" ? status::unschedulable("not bound") : status::success();
  }
  status bind(const reservation& r, decision& d) {
    log->push_back("bind " + std::string{r.pod.name()});
    d.annotation += 10;
    if (r.pod.label("bind") == "mine") return status::success();
    return r.pod.label("bind") == "no" ? status::unschedulable("never") : status::skip();
  }
  void post_bind(const reservation& r) noexcept {
    log->push_back("post " + std::string{r.pod.name()} + " " + std::string{r.node.name()});
  }
};
struct other_binder {
  static constexpr std::string_view name = "OtherBinder";
  using points = implements<point::bind>;
  journal log;
  status bind(const reservation& r, decision& d) {
    log->push_back("other " + std::string{r.pod.name()});
    d.annotation += 100;
    return status::success();
  }
};

kernel_table with(auto... plugins) {
  return profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, std::move(plugins)...};
}

/// Calls everything that it may not, from every hook.
struct meddler {
  static constexpr std::string_view name = "Meddler";
  using points =
      implements<point::pre_enqueue, point::requeue, point::pre_filter, point::filter, point::post_filter,
                 point::pre_score, point::score, point::choose_devices, point::reserve, point::permit, point::pre_bind,
                 point::bind, point::post_bind, point::group_pre_filter, point::generate_placements,
                 point::placement_feasible, point::score_placement, point::group_preempt>;
  struct target {
    gangsched::cluster* cluster = nullptr;
    gangsched::scheduler* scheduler = nullptr;
    pod_id pod;
    node_id node;
    std::set<std::string> from;
    words allowed;  ///< what went through
  };
  std::shared_ptr<target> at = std::make_shared<target>();

  void meddle(const char* from) const noexcept {
    if (at->scheduler == nullptr) return;
    at->from.insert(from);
    const auto expect = [&](const char* what, const auto& said) {
      if (said || said.error().code != errc::busy) at->allowed.push_back(std::string{from} + " " + what);
    };
    const auto expect_cycle = [&](const char* what, const gangsched::cycle& said) {
      if (said.error() == nullptr || said.error()->code != errc::busy)
        at->allowed.push_back(std::string{from} + " " + what);
    };
    gangsched::scheduler& s = *at->scheduler;
    expect_cycle("schedule_cycle", s.schedule_cycle(1h));
    expect_cycle("permit", s.permit(1h));
    expect_cycle("fail", s.fail(at->pod, ""));
    expect("confirm", s.confirm(at->pod));
    expect("allow", s.allow(at->pod));
    expect("reject", s.reject(at->pod, ""));
    expect("restore", s.restore(at->pod, {}));
    expect("explain", s.explain(at->pod));
    expect("verify", s.verify());
    static_cast<void>(s.counts());
    static_cast<void>(s.next_deadline());
    gangsched::cluster& c = *at->cluster;
    expect("add_node", c.add_node(a_node{"new"}));
    expect("update_node", c.update_node(at->node, a_node{"n"}));
    expect("remove_node", c.remove_node(at->node));
    expect("add_pod", c.add_pod(a_pod{"new"}));
    expect("update_pod", c.update_pod(at->pod, a_pod{"target"}));
    expect("remove_pod", c.remove_pod(at->pod));
    expect("set_terminating", c.set_terminating(at->pod));
    expect("assume", c.assume(at->pod, at->node));
    expect("bind", c.bind(at->pod));
    expect("release", c.release(at->pod));
    expect("nominate", c.nominate(at->pod, at->node));
    expect("add_group", c.add_group(a_gang{"new"}));
    expect("set_namespace", c.set_namespace({.name = "x"}));
    expect("set_priority_class", c.set_priority_class({.name = "x"}));
  }

  [[nodiscard]] status pre_enqueue(const pod_info&) const { return meddle("pre_enqueue"), status::success(); }
  [[nodiscard]] hint requeue(const event&, const pod_view&) const { return meddle("requeue"), hint::queue; }
  [[nodiscard]] status pre_filter(const pod_view&) const { return meddle("pre_filter"), status::success(); }
  [[nodiscard]] status filter(const pod_view& pod, node_info node) const {
    meddle("filter");
    return pod.request("cpu") > node.free("cpu") ? status::unschedulable("full") : status::success();
  }
  [[nodiscard]] victim_plan post_filter(trial&, const pod_info&) const { return meddle("post_filter"), victim_plan{}; }
  [[nodiscard]] status pre_score(const pod_view&) const { return meddle("pre_score"), status::success(); }
  [[nodiscard]] std::int64_t score(const pod_view&, node_info) const { return meddle("score"), 1; }
  [[nodiscard]] device_rules choose_devices(const pod_view&, node_info) const {
    return meddle("choose_devices"), device_rules{};
  }
  status reserve(const reservation&) { return meddle("reserve"), status::success(); }
  void unreserve(const reservation&) noexcept { meddle("unreserve"); }
  permit_verdict permit(const reservation&, permit_room&) { return meddle("permit"), permit_verdict{}; }
  status pre_bind(const reservation&, decision&) { return meddle("pre_bind"), status::success(); }
  status bind(const reservation&, decision&) { return meddle("bind"), status::success(); }
  void post_bind(const reservation&) noexcept { meddle("post_bind"); }
  [[nodiscard]] status group_pre_filter(const group_view&) const {
    return meddle("group_pre_filter"), status::success();
  }
  [[nodiscard]] status generate_placements(const group_view&, const cluster_view& c, const placement_sink& sink) const {
    meddle("generate_placements");
    placement one{"one", {}, false};
    c.each_node([&](const node_info& node) { one.nodes.push_back(node.id()); });
    sink(one), sink(one);
    return status::success();
  }
  [[nodiscard]] status placement_feasible(const group_view&, const group_progress& p) const {
    meddle("placement_feasible");
    return p.scheduled > 0 ? status::success() : status::wait();
  }
  [[nodiscard]] std::int64_t score_placement(const group_view&, const placement_view&,
                                             std::span<const assignment>) const {
    return meddle("score_placement"), 1;
  }
  [[nodiscard]] victim_plan group_preempt(trial&, const group_view&) const {
    return meddle("group_preempt"), victim_plan{};
  }
};

}  // namespace

TEST_CASE("reserve hooks run in order, and a gang's trial undoes them in reverse", "[engine][hooks]") {
  const journal log = std::make_shared<words>();
  world w{with(first_reserve{log}, second_reserve{log})};
  w.add(a_node{"n"}.cpu(2));
  const group_id gang = w.add(a_gang{"gang", 3});
  for (const char* name : {"a", "b", "c"}) w.add(a_pod{name}.cpu(1).in(gang));
  CHECK(w.run().size() == 3);
  CHECK(*log == words{"1+a", "2+a", "1+b", "2+b", "2-b", "1-b", "2-a", "1-a"});
  log->clear();
  w.add(a_node{"m"}.cpu(1));
  CHECK(w.run() == words{"bind a n", "bind b n", "bind c m"});
  CHECK(*log == words{"1+a", "2+a", "1+b", "2+b", "1+c", "2+c"});
  log->clear();
  w.fail(w.pod("b"));
  CHECK(*log == words{"2-b", "1-b"});
}

TEST_CASE("a reserve hook that refuses has all of them undone, also those not reached", "[engine][hooks]") {
  const journal log = std::make_shared<words>();
  world w{with(first_reserve{log}, second_reserve{log})};
  w.add(a_node{"n"}.cpu(8));
  w.add(a_pod{"p"}.cpu(1).label("refuse", "first"));
  w.add(a_pod{"q"}.cpu(1).label("refuse", "second"));
  CHECK(w.run() == words{"reject p", "reject q"});
  CHECK(*log == words{"1+p", "2-p", "1-p", "1+q", "2+q", "2-q", "1-q"});
  CHECK(w.cluster.requested(w.node("n"), "cpu") == 0);
  CHECK(w.counts() == places{0, 0, 2, 0, 0});
}

TEST_CASE("a member that a reserve hook refuses stays out, the gang goes on without it", "[engine][hooks]") {
  const journal log = std::make_shared<words>();
  world w{with(first_reserve{log}, second_reserve{log})};
  w.add(a_node{"n"}.cpu(8));
  const group_id gang = w.add(a_gang{"gang", 2});
  w.add(a_pod{"a"}.cpu(1).in(gang));
  w.add(a_pod{"refused"}.cpu(1).label("refuse", "second").in(gang));
  w.add(a_pod{"b"}.cpu(1).in(gang));
  CHECK(w.run() == words{"bind a n", "bind b n", "reject refused", "reject refused"});
  CHECK(w.cluster.requested(w.node("n"), "cpu") == 2000);
  CHECK(w.wake_ups() == 0);
}

TEST_CASE("a reserve hook's error is the group's, and nothing stays reserved", "[engine][hooks]") {
  const journal log = std::make_shared<words>();
  world w{with(first_reserve{log}, second_reserve{log})};
  w.add(a_node{"n"}.cpu(8));
  const group_id gang = w.add(a_gang{"gang", 1});
  w.add(a_pod{"a"}.cpu(1).in(gang));
  w.add(a_pod{"b"}.cpu(1).label("refuse", "error").in(gang));
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.error() != nullptr);
  CHECK(done.error()->message().find("second is broken") != std::string::npos);
  CHECK(w.cluster.assumed().empty());
  CHECK(*log == words{"1+a", "2+a", "1+b", "2+b", "2-b", "1-b", "2-a", "1-a"});
}

TEST_CASE("what a reserve hook adds to its column limits others, and is given back exactly once", "[engine][hooks]") {
  world w{with(licences{})};
  const node_id n = w.add(a_node{"n"}.cpu(8));
  const node_id server = w.add(a_node{"server"}.cpu(0));
  const auto taken = [&](node_id node) { return inside(w.cluster).columns.at(0, node.row); };
  const group_id gang = w.add(a_gang{"gang", 2});
  const pod_id a = w.add(a_pod{"a"}.cpu(1).in(gang));
  const pod_id b = w.add(a_pod{"b"}.cpu(1).in(gang));
  REQUIRE(w.run() == words{"bind a n", "bind b n"});
  CHECK(taken(n) == 2);
  CHECK(taken(server) == 20);
  w.add(a_pod{"third"}.cpu(1));
  CHECK(w.run() == words{"reject third"});
  SECTION("a confirmed pod keeps it until it is removed") {
    w.confirm(a), w.confirm(b);
    CHECK(w.run().empty());
    CHECK(taken(server) == 20);
    w.remove(a);
    CHECK(w.run() == words{"bind third n"});
    CHECK(taken(n) == 2);
    CHECK(taken(server) == 20);
    w.remove(b);
    CHECK(w.run().empty());
    CHECK(taken(n) == 1);
  }
  SECTION("fail") {
    w.fail(a);
    CHECK(taken(n) == 1);
    CHECK(w.run() == words{"bind third n"});
    w.fail(b);
    CHECK(w.run().empty());
    CHECK(taken(n) == 1);
    CHECK(taken(server) == 10);
  }
  SECTION("the pod is removed before its bind is confirmed, and its row used again") {
    w.remove(a);
    const pod_id other = w.add(a_pod{"other"}.cpu(1));
    REQUIRE(other.row == a.row);
    // The third was there first.
    const words all = w.run();
    CHECK(sorted(all) == words{"bind other n", "reject third"});
    CHECK(taken(n) == 2);
    CHECK(taken(server) == 20);
  }
  SECTION("the host releases the pod itself") {
    w.must(w.cluster.release(a));
    w.run();
    CHECK(taken(n) == 2);  // by the third
    CHECK(taken(server) == 20);
  }
  SECTION("the host binds the pod elsewhere") {
    const node_id m = w.add(a_node{"m"}.cpu(8));
    w.must(w.cluster.update_pod(a, a_pod{"a"}.cpu(1).in(gang).on(m)));
    const words all = w.run();
    REQUIRE(all.size() == 2);
    CHECK(all[0] == "revoke a n");
    CHECK(taken(n) + taken(m) == 2);  // of b and third
    CHECK(taken(server) == 20);
    w.remove(a);
    CHECK(w.run().empty());
    CHECK(taken(server) == 20);
  }
  SECTION("its node is removed: what it drew elsewhere comes back, and the row begins anew") {
    w.must(w.cluster.remove_node(n));
    CHECK(w.counts()[0] + w.counts()[1] > 0);
    CHECK(taken(server) == 0);
    const node_id again = w.add(a_node{"again"}.cpu(8));
    REQUIRE(again.row == n.row);
    CHECK(taken(again) == 0);
    w.run_at(1h);
    CHECK(taken(again) == 2);
  }
  SECTION("the node it draws from is removed") {
    w.must(w.cluster.remove_node(server));
    const node_id other = w.add(a_node{"other"}.cpu(0));
    REQUIRE(other.row == server.row);
    w.fail(a), w.fail(b);
    CHECK(taken(other) == 0);
    CHECK(taken(n) == 0);
  }
  CHECK(w.scheduler.verify());
}

TEST_CASE("what a placement adds to columns wakes nobody, what is given back does", "[engine][hooks]") {
  world w{with(never{}, licences{})};
  w.add(a_node{"n"}.cpu(8));
  w.add(a_pod{"waits"}.cpu(1));
  CHECK(w.run() == words{"reject waits"});
  w.add(a_pod{"alone"}.cpu(1).priority(1));
  const group_id gang = w.add(a_gang{"gang", 1});
  w.add(a_pod{"member"}.cpu(1).priority(1).in(gang));
  CHECK(w.run() == words{"bind alone n", "bind member n"});
  CHECK(w.run().empty());
  CHECK(w.wake_ups() == 0);
  w.fail(w.pod("alone"));
  CHECK(w.run() == words{"reject waits"});
  CHECK(w.wake_ups() == 1);
}

TEST_CASE("a gang that fails, or is refused, leaves its plugin's columns as they were", "[engine][hooks]") {
  world w{with(licences{})};
  w.add(a_node{"n"}.cpu(8));
  w.add(a_node{"server"}.cpu(0));
  const group_id gang = w.add(a_gang{"gang", 3});
  for (const char* name : {"a", "b", "c"}) w.add(a_pod{name}.cpu(1).in(gang));
  CHECK(w.counts()[0] == 1);
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.run() == words{"reject a", "reject b", "reject c"});
  w.add(a_pod{"refused"}.cpu(1).label("refuse", "yes"));
  w.remove(w.pod("refused"));
  CHECK(w.run().empty());
  CHECK(inside(w.cluster).columns.at(0, w.node("n").row) == 0);
  CHECK(inside(w.cluster).columns.at(0, w.node("server").row) == 0);
  CHECK(before != 0);
  w.add(a_pod{"refused"}.cpu(1).label("refuse", "yes"));
  const std::uint64_t queued = inside(w.cluster).digest_with_derived();
  CHECK(w.run() == words{"reject refused"});
  CHECK(inside(w.cluster).digest_with_derived() == queued);
}

TEST_CASE("columns survive a log that forgets faster than the scheduler reads", "[engine][hooks]") {
  world w{with(licences{}), world::lowest_first(), {.log_bound = 4}};
  const node_id n = w.add(a_node{"n"}.cpu(8));
  const node_id server = w.add(a_node{"server"}.cpu(0));
  const auto taken = [&](node_id node) { return inside(w.cluster).columns.at(0, node.row); };
  for (int round = 0; round < 20; ++round) {
    const std::string name = "p" + std::to_string(round);
    w.add(a_pod{name}.cpu(1));
    w.add(a_pod{name + "x"}.cpu(1));
    CHECK(w.run().size() == 2);
    CHECK(taken(n) == 2);
    for (const char* end : {"", "x"}) w.remove(w.pod(name + end));
    for (int i = 0; i < round; ++i) w.remove(w.add(a_pod{"noise"}.gate("g")));
    CHECK(w.run().empty());
    CHECK(taken(n) == 0);
    CHECK(taken(server) == 0);
  }
}

TEST_CASE("bind hooks run before a bind decision is handed out, post_bind after the confirmation", "[engine][hooks]") {
  const journal log = std::make_shared<words>();
  world w{with(binder{log}, other_binder{log})};
  w.add(a_node{"n"}.cpu(8));
  w.add(a_pod{"p"}.cpu(1));
  const cycle first = w.scheduler.schedule_cycle(w.now);
  REQUIRE(first.decisions().size() == 1);
  CHECK(first.decisions()[0].annotation == 111);
  CHECK(*log == words{"pre p", "bind p", "other p"});
  log->clear();
  w.confirm(w.pod("p"));
  CHECK(*log == words{"post p n"});
  log->clear();
  w.add(a_pod{"q"}.cpu(1).label("bind", "mine"));
  const cycle second = w.scheduler.schedule_cycle(w.now);
  REQUIRE(second.decisions().size() == 1);
  CHECK(second.decisions()[0].annotation == 11);
  CHECK(*log == words{"pre q", "bind q"});
}

TEST_CASE("a bind hook that refuses takes the pod back before the host hears of it", "[engine][hooks]") {
  const journal log = std::make_shared<words>();
  world w{with(binder{log}, other_binder{log})};
  w.add(a_node{"n"}.cpu(8));
  const auto label = GENERATE(std::pair{"pre", "no"}, std::pair{"pre", "error"}, std::pair{"bind", "no"});
  w.add(a_pod{"p"}.cpu(1).label(label.first, label.second));
  CHECK(w.scheduler.schedule_cycle(w.now).decisions()[0].kind == decision_kind::reject);
  CHECK(w.cluster.requested(w.node("n"), "cpu") == 0);
  CHECK(w.counts() == places{0, 1, 0, 0, 0});
  CHECK_FALSE(w.scheduler.schedule_cycle(w.now));
  CHECK(w.scheduler.next_deadline() == instant{1s});
}

TEST_CASE("a hook that calls the scheduler or changes the cluster is told that they are busy", "[engine][hooks]") {
  meddler plugin;
  world w{profile{priority_sort{}, plugin}};
  plugin.at->cluster = &w.cluster;
  plugin.at->scheduler = &w.scheduler;
  plugin.at->node = w.add(a_node{"n"}.cpu(4).cards(1));
  plugin.at->pod = w.add(a_pod{"target"}.cpu(1).milli(100));
  CHECK(w.counts() == places{1, 0, 0, 0, 0});
  CHECK(w.run() == words{"bind target n"});
  w.confirm(plugin.at->pod);
  const group_id gang = w.add(a_gang{"gang", 1});
  w.add(a_pod{"member"}.cpu(1).in(gang));
  w.add(a_pod{"too-large"}.cpu(9).in(gang));
  w.add(a_pod{"alone"}.cpu(9));
  CHECK(w.run().size() == 4);  // too-large is tried again at once
  const group_id hopeless = w.add(a_gang{"hopeless", 1});
  w.add(a_pod{"another"}.cpu(9).in(hopeless));
  CHECK(w.run() == words{"reject another"});
  w.fail(w.pod("member"));
  w.must(w.cluster.update_node(plugin.at->node, a_node{"n"}.cpu(4).label("x", "y")));
  CHECK(w.scheduler.next_deadline());
  w.run();
  CHECK(plugin.at->allowed == words{});
  CHECK(plugin.at->from == std::set<std::string>{"pre_enqueue", "requeue", "pre_filter", "filter", "post_filter",
                                                 "pre_score", "score", "choose_devices", "reserve", "unreserve",
                                                 "permit", "pre_bind", "bind", "post_bind", "group_pre_filter",
                                                 "generate_placements", "placement_feasible", "score_placement",
                                                 "group_preempt"});
  // And nobody is busy afterwards.
  CHECK(w.cluster.add_pod(a_pod{"new"}));
  CHECK(w.scheduler.schedule_cycle(w.now));
}

}  // namespace gangsched::testing::hooks_test
