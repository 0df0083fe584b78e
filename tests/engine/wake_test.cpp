// Which changes wake whom, how many in vain, and that nobody is forgotten.
#include <memory>
#include <stdexcept>
#include <utility>

#include "world.hpp"

#include "gangsched/model/transaction.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::wake_test {

namespace {

/// A node of @p cores cores, full of pods of one core each: "<node>-0", "<node>-1", …
void add_full(world& w, const std::string& name, int cores) {
  const node_id node = w.add(a_node{name}.cpu(cores));
  for (int i = 0; i < cores; ++i) w.add(a_pod{name + "-" + std::to_string(i)}.cpu(1).on(node));
}

/// Needs a running pod labelled role=database on the node, and says nothing of what it reads.
struct near_database {
  static constexpr std::string_view name = "NearDatabase";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_view& pod, node_info node) const {
    if (pod.priority() > 0) return status::success();
    bool found = false;
    node.each_pod([&](const pod_info& other) {
      found |= other.state() == pod_state::bound && other.label("role") == "database";
    });
    return found ? status::success() : status::unschedulable("no database here");
  }
};

/// Rejects where the label says so, and decides by itself what may help: nodes that get the label go.
struct by_hint {
  static constexpr std::string_view name = "ByHint";
  using points = implements<point::filter, point::requeue>;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::labels> node) const {
    return node.label("closed") ? status::unschedulable("closed") : status::success();
  }
  [[nodiscard]] hint requeue(const event& what, const pod_view&) const {
    if (!any(what.facets & reads::labels) || !what.node) return hint::skip;
    return what.node->label("go") ? hint::queue : hint::skip;
  }
};

/// Asks the pod itself: pods of one class differ.
struct own_color {
  static constexpr std::string_view name = "OwnColor";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_info& pod, node_view<reads::labels> node) const {
    const auto mine = pod.label("color");
    return mine && node.label("color") == mine ? status::success() : status::unschedulable("another color");
  }
};

/// Sends back pods whose name begins with "bad", after the choice.
struct picky_reserve {
  static constexpr std::string_view name = "PickyReserve";
  using points = implements<point::reserve>;
  [[nodiscard]] status reserve(const reservation& r) {
    return r.pod.name().starts_with("bad") ? status::unschedulable("bad") : status::success();
  }
  void unreserve(const reservation&) noexcept {}
};

/// Pods that would fit somewhere and yet wait for a change.
words forgotten(world& w) {
  words names;
  for (const pod_id pod : w.cluster.pods()) {
    const model::cluster_state& state = inside(w.cluster);
    const row_t group = state.pods.group[pod.row];
    const bool by_group =
        group != no_row && !(std::holds_alternative<gang>(state.groups.record[group]->spec.policy) &&
                             std::get<gang>(state.groups.record[group]->spec.policy).mode == gang_mode::permit);
    if (w.cluster.state_of(pod) != pod_state::pending || by_group) continue;
    const explanation why = world::must(w.scheduler.explain(pod));
    if (!why.rejected_by.empty()) continue;
    for (const node_verdict& node : why.nodes) {
      if (node.code == code::success) names.push_back(std::string{w.cluster.name_of(pod)} + " fits " + node.name);
    }
  }
  return names;
}

}  // namespace

TEST_CASE("a release wakes a pod if it leaves room enough, and not before", "[engine][wake]") {
  world w;
  add_full(w, "n", 4);
  add_full(w, "other", 1);
  w.add(a_pod{"p"}.cpu(2));
  CHECK(w.run() == words{"reject p"});
  w.now += 1min;
  w.remove(w.pod("n-0"));
  CHECK(w.run().empty());
  w.remove(w.pod("other-0"));
  CHECK(w.run().empty());
  CHECK(w.wake_ups() == 0);
  w.remove(w.pod("n-3"));
  CHECK(w.run() == words{"bind p n"});
  CHECK(w.wake_ups() == 1);
}

TEST_CASE("a change of a node wakes a pod if the pod fits there now", "[engine][wake]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(1).taint("dedicated"));
  w.add(a_pod{"p"}.cpu(2).select("disk", "ssd"));
  CHECK(w.run() == words{"reject p"});
  w.now += 1min;
  const auto change = [&](const node_spec& spec) {
    const std::uint64_t before = w.wake_ups();
    w.must(w.cluster.update_node(n, spec));
    w.run();
    return w.wake_ups() - before;
  };
  // One thing after the other becomes right: only the last can help.
  CHECK(change(a_node{"n"}.cpu(1)) == 0);
  CHECK(change(a_node{"n"}.cpu(1).label("disk", "ssd")) == 0);
  CHECK(change(a_node{"n"}.cpu(4).unschedulable().label("disk", "ssd")) == 0);
  CHECK(change(a_node{"n"}.cpu(4).label("disk", "ssd").taint("dedicated")) == 0);
  CHECK(change(a_node{"n"}.cpu(4).label("disk", "ssd").taint("dedicated").image("x", 1)) == 0);
  w.add(a_node{"m"}.cpu(8));
  CHECK(w.run().empty());
  CHECK(change(a_node{"n"}.cpu(4).label("disk", "ssd")) == 1);
  CHECK(w.cluster.node_of(w.pod("p")) == n);
}

TEST_CASE("a node that comes wakes those who fit there", "[engine][wake]") {
  world w;
  w.add(a_pod{"large"}.cpu(4));
  w.add(a_pod{"small"}.cpu(1));
  CHECK(w.run().size() == 2);
  w.now += 1min;
  w.add(a_node{"n"}.cpu(2));
  CHECK(w.run() == words{"bind small n"});
  CHECK(w.wake_ups() == 1);
}

TEST_CASE("trials and assumptions wake nobody, binds and releases do", "[engine][wake]") {
  world w{profile{priority_sort{}, gang_scheduling{}, near_database{}, node_resources_fit{}}};
  const node_id n = w.add(a_node{"n"}.cpu(2));
  w.add(a_pod{"waits"}.cpu(1));
  CHECK(w.run() == words{"reject waits"});
  w.now += 1min;
  SECTION("a transaction of the host that is discarded") {
    transaction trial{w.cluster};
    w.add(a_pod{"running"}.label("role", "database").on(n));
    w.add(a_node{"another"}.cpu(2));
    CHECK(w.scheduler.counts().unschedulable == 1);
    trial.roll_back();
    CHECK(w.run().empty());
    CHECK(w.wake_ups() == 0);
  }
  SECTION("a gang that is tried and does not fit") {
    const group_id gang = w.add(a_gang{"gang", 2});
    w.add(a_pod{"a"}.cpu(1).priority(1).label("role", "database").in(gang));
    w.add(a_pod{"b"}.cpu(4).priority(1).label("role", "database").in(gang));
    CHECK(w.run() == words{"reject a", "reject b"});
    CHECK(w.run().empty());
    CHECK(w.wake_ups() == 0);
  }
  SECTION("an assumption does not, the bind does") {
    const pod_id database = w.add(a_pod{"database"}.cpu(1).priority(1).label("role", "database"));
    CHECK(w.run() == words{"bind database n"});
    CHECK(w.run().empty());
    CHECK(w.wake_ups() == 0);
    w.confirm(database);
    CHECK(w.run() == words{"bind waits n"});
    CHECK(w.wake_ups() == 1);
  }
  SECTION("a release does") {
    const pod_id database = w.add(a_pod{"database"}.priority(1).label("role", "database").on(n));
    const pod_id filler = w.add(a_pod{"filler"}.cpu(2).priority(1));
    CHECK(w.run() == words{"bind filler n", "reject waits"});
    CHECK(w.run().empty());
    const std::uint64_t before = w.wake_ups();
    w.fail(filler);
    CHECK(w.run() == words{"bind waits n"});
    CHECK(w.wake_ups() == before + 1);
    CHECK(w.cluster.contains(database));
  }
}

TEST_CASE("slots that come free one after another wake one pod each, and at most one in vain", "[engine][wake]") {
  world w;
  add_full(w, "n", 3);
  for (int i = 0; i < 10; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
  CHECK(w.run().size() == 10);
  w.now += 1min;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = w.wake_ups();
    w.remove(w.pod("n-" + std::to_string(i)));
    words all = w.run(true);
    CHECK(std::erase_if(all, [](const std::string& one) { return one.starts_with("bind"); }) == 1);
    CHECK(all.size() <= 1);
    CHECK(w.wake_ups() - before <= 2);
    w.now += 1min;
  }
}

TEST_CASE("slots that come free together are filled by a chain that one failure stops", "[engine][wake]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(3));
  const pod_id large = w.add(a_pod{"large"}.cpu(3).on(n));
  for (int i = 0; i < 10; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
  CHECK(w.run().size() == 10);
  w.now += 1min;
  w.remove(large);
  SECTION("at once") {}
  SECTION("after a selector has come that is about none of them") {
    w.scheduler.catch_up(w.now).value();
    w.add(a_pod{"picky"}.gate("g").avoid("app", "a"));
  }
  SECTION("after one has come that is about all of them") {
    w.scheduler.catch_up(w.now).value();
    pod_spec picky = a_pod{"picky"}.gate("g");
    picky.anti_affinity_to_pods.required = {{.topology_key = "zone", .selector = label_selector{}}};
    w.add(picky);
  }
  CHECK(w.run(true) == words{"bind p0 n", "bind p1 n", "bind p2 n", "reject p3"});
  CHECK(w.wake_ups() == 4);
}

TEST_CASE("a pod that arrives and fits wakes nobody of its class", "[engine][wake]") {
  world w;
  add_full(w, "n", 2);
  for (int i = 0; i < 5; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
  w.run();
  w.add(a_node{"m"}.cpu(1));
  w.run(true);
  const std::uint64_t before = w.wake_ups();
  w.now += 1min;
  w.remove(w.pod("n-0"));
  w.add(a_pod{"fast"}.cpu(1).priority(0));
  w.run(true);
  CHECK(w.wake_ups() - before <= 2);
  CHECK(forgotten(w).empty());
}

TEST_CASE("with wake_rule::all a change wakes every pod that it can help", "[engine][wake]") {
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = wake_rule::all}};
  add_full(w, "n", 1);
  for (int i = 0; i < 10; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
  w.add(a_pod{"large"}.cpu(2));
  CHECK(w.run().size() == 11);
  CHECK(w.run_at(1min).empty());
  w.remove(w.pod("n-0"));
  CHECK(w.counts() == places{10, 0, 1, 0, 0});
  CHECK(w.wake_ups() == 10);
  CHECK(w.run().size() == 10);
}

TEST_CASE("other labels of a namespace wake who was kept away from its pods, or wanted to be near them",
          "[engine][wake]") {
  world w;
  const node_id n = w.add(a_node{"n"}.label("kubernetes.io/hostname", "n"));
  w.add(a_pod{"db"}.ns("data").label("app", "db").on(n));
  pod_spec p = a_pod{"p"};
  p.affinity_to_pods.required.push_back({"kubernetes.io/hostname",
                                         label_selector{.match_labels = {{"app", "db"}}},
                                         {},
                                         label_selector{.match_labels = {{"team", "x"}}}});
  w.add(p);
  w.add(a_pod{"elsewhere"}.select("no", "where"));
  CHECK(w.run() == words{"reject p", "reject elsewhere"});
  w.now += 1min;
  w.must(w.cluster.set_namespace({.name = "data", .labels = {{"team", "y"}}}));
  CHECK(w.run() == words{"reject p"});
  w.now += 1min;
  w.must(w.cluster.set_namespace({.name = "data", .labels = {{"team", "x"}}}));
  CHECK(w.run() == words{"bind p n"});
}

TEST_CASE("a plugin's requeue hint decides instead of the engine", "[engine][wake]") {
  world w{profile{priority_sort{}, by_hint{}}};
  const node_id n = w.add(a_node{"n"}.label("closed", "yes"));
  w.add(a_pod{"p"});
  CHECK(w.run() == words{"reject p"});
  w.now += 1min;
  // It could be placed now, but the plugin does not care.
  w.must(w.cluster.update_node(n, a_node{"n"}));
  CHECK(w.run().empty());
  CHECK(w.wake_ups() == 0);
  w.must(w.cluster.update_node(n, a_node{"n"}.label("closed", "yes")));
  // It cannot be placed, but the plugin wants to try.
  w.must(w.cluster.update_node(n, a_node{"n"}.label("closed", "yes").label("go", "now")));
  CHECK(w.run() == words{"reject p"});
  CHECK(w.wake_ups() == 1);
}

TEST_CASE("who is woken and cannot use the room passes it on", "[engine][wake]") {
  SECTION("the host changes the pod") {
    world w;
    add_full(w, "n", 1);
    const pod_id a = w.add(a_pod{"a"}.cpu(1));
    w.add(a_pod{"b"}.cpu(1));
    w.run();
    w.remove(w.pod("n-0"));
    CHECK(w.counts() == places{0, 1, 1, 0, 0});
    SECTION("to another class") { w.must(w.cluster.update_pod(a, a_pod{"a"}.cpu(9))); }
    SECTION("to be gated") { w.must(w.cluster.update_pod(a, a_pod{"a"}.cpu(1).gate("g"))); }
    SECTION("to be deleted") { w.must(w.cluster.set_terminating(a)); }
    SECTION("away") { w.remove(a); }
    words all = w.run();
    std::erase(all, "reject a");
    CHECK(all == words{"bind b n"});
  }
  SECTION("a plugin asks the pod itself") {
    world w{profile{priority_sort{}, own_color{}, node_resources_fit{}}};
    w.add(a_node{"n"}.cpu(1).label("color", "blue"));
    const pod_id filler = w.add(a_pod{"filler"}.cpu(1).label("color", "blue"));
    CHECK(w.run(true) == words{"bind filler n"});
    w.add(a_pod{"red"}.cpu(1).label("color", "red"));
    w.add(a_pod{"blue"}.cpu(1).label("color", "blue"));
    w.run();
    w.remove(filler);
    words all = w.run();
    std::erase(all, "reject red");
    CHECK(all == words{"bind blue n"});
  }
  SECTION("a reserve hook sends it back") {
    world w{profile{priority_sort{}, picky_reserve{}, node_resources_fit{}}};
    add_full(w, "n", 1);
    w.add(a_pod{"bad-1"}.cpu(1));
    w.add(a_pod{"bad-2"}.cpu(1));
    w.add(a_pod{"good"}.cpu(1));
    w.run();
    w.remove(w.pod("n-0"));
    CHECK(w.run() == words{"reject bad-1", "reject bad-2", "bind good n"});
  }
}

TEST_CASE("a group that does not fit is woken by a change that helps one of its members", "[engine][wake]") {
  const bool backs_off = GENERATE(true, false);
  world w{profiles::kube_default(), {.max_backoff = backs_off ? instant{10s} : instant{0}}};
  add_full(w, "n", 2);
  const group_id gang = w.add(a_gang{"gang", 2});
  w.add(a_pod{"a"}.cpu(1).in(gang));
  w.add(a_pod{"b"}.cpu(1).in(gang));
  CHECK(w.run().size() == 2);
  w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(2).label("a", "b")));
  CHECK(w.run().empty());
  w.remove(w.pod("n-0"));
  CHECK(w.run() == words{"reject a", "reject b"});
  w.remove(w.pod("n-1"));
  CHECK(w.run() == words{"bind a n", "bind b n"});
  CHECK(w.wake_ups() == 2);
}

namespace {

/// Two pods that want to be in one rack, and find none with room for both. Who is woken is tried at once.
struct two_in_a_rack : world {
  group_spec spec = a_gang{"gang", 2};
  group_id gang;

  two_in_a_rack(const a_node& first, const a_node& second)
      : world(profiles::kube_default(), {.max_backoff = instant{0}}) {
    for (const a_node& one : {first, second}) add(one);
    spec.topology.within = {"rack"};
    gang = add(spec);
    for (const char* name : {"p1", "p2"}) add(a_pod{name}.cpu(1).in(gang));
    CHECK(run().size() == 2);
    CHECK_FALSE(placed());
  }
  using world::add;
  [[nodiscard]] bool placed() const { return cluster.state_of(pod("p1")) != pod_state::pending; }
};

}  // namespace

TEST_CASE("a group that does not fit is tried again when it asks for something else", "[engine][wake]") {
  two_in_a_rack w{a_node{"n1"}.cpu(1).label("rack", "a"), a_node{"n2"}.cpu(1).label("rack", "b")};
  w.must(w.cluster.update_group(w.gang, w.spec));  // the same
  CHECK(w.run().empty());
  w.spec.topology.or_anywhere = true;
  w.must(w.cluster.update_group(w.gang, w.spec));
  CHECK(w.run().size() == 2);
  CHECK(w.placed());
}

TEST_CASE("a group that finds no domain is tried again when nodes get the label", "[engine][wake]") {
  two_in_a_rack w{a_node{"n1"}.cpu(1), a_node{"n2"}.cpu(1)};
  for (const char* name : {"n1", "n2"}) {
    CHECK_FALSE(w.placed());
    w.must(w.cluster.update_node(w.node(name), a_node{name}.cpu(1).label("rack", "a")));
    w.run();
  }
  CHECK(w.placed());
}

TEST_CASE("classes and groups of classes that are no more wake nobody", "[engine][wake]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(1));
  const group_id gang = w.add(a_gang{"gang", 1});
  const pod_id alone = w.add(a_pod{"alone"}.cpu(7));
  const pod_id member = w.add(a_pod{"member"}.cpu(8).in(gang));
  w.add(a_pod{"other"}.cpu(9).in(gang));
  CHECK(w.run().size() == 3);
  w.remove(alone);
  w.remove(member);
  CHECK(w.run().empty());
  // So many classes come and go that the two are swept.
  for (int i = 0; i < 3000; ++i) {
    w.remove(w.add(a_pod{"p"}.gate("g").cpu_milli(1 + i)));
    if (i % 100 == 0) w.run();
  }
  w.must(w.cluster.update_node(n, a_node{"n"}.cpu(10)));
  CHECK(w.run() == words{"bind other n"});
}

TEST_CASE("a selector that comes between a wake-up and its attempt forgets nobody", "[engine][wake]") {
  world w;
  add_full(w, "n", 2);
  w.add(a_pod{"large-a"}.cpu(2).label("app", "a"));
  w.add(a_pod{"large-b"}.cpu(2).label("app", "b"));
  w.add(a_pod{"small-a"}.cpu(1).label("app", "a"));
  w.add(a_pod{"small-b"}.cpu(1).label("app", "b"));
  CHECK(w.run().size() == 4);
  w.remove(w.pod("n-0"));
  CHECK(w.counts() == places{0, 1, 3, 0, 0});  // small-a, for both
  w.add(a_pod{"picky"}.gate("g").avoid("app", "a"));
  // They are of two classes now; the first is gone before its turn.
  CHECK(w.counts()[3] == 1);
  w.remove(w.pod("small-a"));
  CHECK(w.run() == words{"bind small-b n"});
}

TEST_CASE("no more than one wake-up per change is in vain, and nobody is forgotten", "[engine][wake]") {
  std::uint64_t events[2] = {};  // without, and with a plugin that asks every pod itself
  std::uint64_t in_vain[2] = {};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    dice roll{seed};
    const bool colored = seed % 4 == 3;
    kernel_table table = profiles::kube_default();
    if (colored) add_plugin(table, lower(own_color{}));
    world w{table, {.seed = seed}};
    std::vector<std::string> running;
    const auto node_of = [&](int which) {
      a_node spec{"n" + std::to_string(which)};
      spec.cpu(roll.between(1, 8))
          .label("color", roll.percent(50) ? "red" : "blue")
          .label("disk", roll.percent(70) ? "ssd" : "hdd");
      if (roll.percent(20)) spec.taint("dedicated", "x");
      return spec.unschedulable(roll.percent(10));
    };
    for (int i = 0; i < 6; ++i) w.add(node_of(i));
    words waiting;
    for (int step = 0; step < 160; ++step) {
      const std::size_t kind = roll.below(5);
      w.now += std::chrono::milliseconds{roll.between(0, 3000)};
      const std::uint64_t woken = w.wake_ups();
      words arrived;
      if (kind < 3) {
        a_pod pod{"p" + std::to_string(step)};
        pod.cpu(roll.between(1, 4)).label("color", roll.percent(50) ? "red" : "blue");
        if (roll.percent(30)) pod.tolerate("dedicated", "x");
        if (roll.percent(30)) pod.select("disk", "ssd");
        // Selectors that come and go split and join the classes.
        pod.label("app", roll.percent(50) ? "web" : "job");
        if (roll.percent(10)) pod.avoid("app", roll.percent(50) ? "web" : "other");
        w.add(pod);
        arrived.push_back(pod.spec.name);
      } else if (kind == 3 && !running.empty()) {
        const std::size_t which = roll.below(running.size());
        w.remove(w.pod(running[which]));
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const int which = static_cast<int>(roll.below(6));
        w.must(w.cluster.update_node(w.node("n" + std::to_string(which)), node_of(which)));
      }
      ++events[colored];
      std::uint64_t helped = 0;
      for (const std::string& one : w.run(true)) {
        if (!one.starts_with("bind ")) continue;
        const std::string name = one.substr(5, one.find(' ', 5) - 5);
        running.push_back(name);
        if (std::find(arrived.begin(), arrived.end(), name) == arrived.end()) ++helped;
      }
      in_vain[colored] += w.wake_ups() - woken - std::min(helped, w.wake_ups() - woken);
      REQUIRE(forgotten(w) == words{});
    }
  }
  INFO(in_vain[0] << " of " << events[0] << ", " << in_vain[1] << " of " << events[1]);
  CHECK(events[0] + events[1] == 20 * 160);
  CHECK(in_vain[0] <= events[0]);  // several classes may be helped by the same room
}

TEST_CASE("a pod whose class lost the filter that rejected it is woken by whatever happens next", "[wake]") {
  world w;
  w.add(a_node{"small"}.cpu(1).zone("a"));
  w.add(a_node{"large"}.cpu(8).zone("a"));
  a_pod loner{"loner"};
  loner.cpu(1).avoid("app", "web", "topology.kubernetes.io/zone");
  w.add(loner.on(w.node("small")));
  w.add(a_pod{"web"}.cpu(2).label("app", "web"));
  CHECK(w.run() == words{"reject web"});
  w.now += 60s;
  // Nobody minds it any more; and the node that changes has no room for it.
  w.remove(w.pod("loner"));
  CHECK(w.run() == words{"bind web large"});
}

TEST_CASE("who waited for victims, and lost the filter that rejected it, is woken as well", "[wake]") {
  world w;
  w.add(a_node{"small"}.cpu(4).zone("a"));
  w.add(a_node{"large"}.cpu(8).zone("a"));
  a_pod loner{"loner"};
  loner.cpu(1).avoid("app", "web", "topology.kubernetes.io/zone");
  const pod_id victim = w.add(loner.on(w.node("large")));
  w.add(a_pod{"web"}.cpu(2).label("app", "web").priority(30));
  CHECK(w.run() == words{"nominate web large", "evict loner large"});
  w.must(w.cluster.update_node(w.node("large"), a_node{"large"}.cpu(8).zone("a").unschedulable()));
  w.now += 1s;
  CHECK(w.run() == words{"reject web"});
  w.now += 60s;
  w.must(w.cluster.remove_pod(victim));
  CHECK(w.run() == words{"bind web small"});
}

TEST_CASE("a group that went with its last member wakes nobody, whatever the log still says of it", "[wake]") {
  for (std::size_t bound = 1; bound <= 12; ++bound) {
    world w{profiles::kube_default(), world::lowest_first(), {.log_bound = bound}};
    w.add(a_node{"n"}.cpu(4));
    a_gang made{"g"};
    made.spec.policy = basic{};
    const group_id group = w.add(made);
    const pod_id one = w.add(a_pod{"one"}.cpu(1).in(group)), two = w.add(a_pod{"two"}.cpu(1).in(group));
    const pod_id large = w.add(a_pod{"large"}.cpu(8).in(group));
    CHECK(w.run(true).size() == 4);  // the first two are bound
    w.must(w.cluster.remove_pod(one));
    w.must(w.cluster.remove_group(group));
    w.must(w.cluster.remove_pod(two));
    w.must(w.cluster.remove_pod(large));
    CHECK(w.run().empty());
    CHECK(w.scheduler.verify());
  }
}

namespace {
/// Groups of nodes, judged for the pod itself.
struct not_for_a {
  static constexpr std::string_view name = "NotForA";
  using points = implements<point::filter>;
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::nothing>) const { return 0; }
  void finish_filter(const pod_info& pod, const cluster_view&, std::span<filtered_group> groups) const {
    if (pod.name() == "a") groups[0].verdict = status::unschedulable("not for a");
  }
};
}  // namespace

TEST_CASE("where a keyed filter judges for the pod, others of its class are tried all the same", "[engine][wake]") {
  world w{profile{priority_sort{}, node_resources_fit{}, not_for_a{}}};
  w.add(a_node{"n"}.cpu(1));
  w.add(a_pod{"there"}.cpu(1).on(w.node("n")));
  w.add(a_pod{"a"}.cpu(1));
  w.add(a_pod{"b"}.cpu(1));
  CHECK(w.run() == words{"reject a", "reject b"});
  w.remove(w.pod("there"));
  CHECK(w.run_at(60s) == words{"reject a", "bind b n"});
}

namespace {

/// Fails once, when it is told to.
struct fails_once {
  static constexpr std::string_view name = "FailsOnce";
  using points = implements<point::filter>;
  std::shared_ptr<bool> now = std::make_shared<bool>(false);

  [[nodiscard]] status filter(const pod_view&, node_view<reads::nothing>) const {
    if (std::exchange(*now, false)) throw std::runtime_error("not now");
    return status::success();
  }
};

}  // namespace

TEST_CASE("a pod is woken when the filter that is asked whether a change helps it fails", "[wake]") {
  const fails_once filter;
  world w{profile{priority_sort{}, node_unschedulable{}, node_resources_fit{}, filter}};
  const node_id n = w.add(a_node{"n"}.cpu(4).unschedulable());
  w.add(a_pod{"p"}.cpu(1));
  CHECK(w.run() == words{"reject p"});
  w.must(w.cluster.update_node(n, a_node{"n"}.cpu(4)));
  *filter.now = true;
  CHECK(w.run() == words{"bind p n"});
  CHECK(!*filter.now);
}

}  // namespace gangsched::testing::wake_test
