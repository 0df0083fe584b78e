// Who is tried when: order, backoff, flush, gates. What wakes whom is wake_test.cpp.
#include "world.hpp"

#include "support/dice.hpp"

namespace gangsched::testing::queue_test {

namespace {

/// Rejects everybody everywhere, and says nothing of what it reads: every change of a node may help.
struct stubborn {
  static constexpr std::string_view name = "Stubborn";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_view&, node_info) const { return status::unschedulable("never"); }
};

/// PrioritySort as a comparator.
struct sort_by_comparing {
  static constexpr std::string_view name = "SortByComparing";
  using points = implements<point::queue_sort>;
  [[nodiscard]] bool less(const queued& a, const queued& b) const noexcept {
    return a.priority != b.priority ? a.priority > b.priority : a.since < b.since;
  }
};

kernel_table with_stubborn() { return profile{priority_sort{}, gang_scheduling{}, stubborn{}}; }

/// The times from each failure to the next attempt, with something that might help in between.
std::vector<instant> waits(world& w, const node_spec& node, int attempts) {
  const node_id id = w.node(node.name);
  std::vector<instant> all;
  for (int i = 0; i < attempts; ++i) {
    REQUIRE(w.run().size() == 1);
    a_node changed{node.name};
    w.must(w.cluster.update_node(id, changed.label("turn", std::to_string(i))));
    REQUIRE(w.counts() == places{0, 1, 0, 0, 0});
    all.push_back(*w.scheduler.next_deadline() - w.now);
    w.now += all.back();
  }
  return all;
}

}  // namespace

TEST_CASE("the queue serves the higher priority first, then whoever came first", "[engine][queue]") {
  world w;
  w.add(a_pod{"low"});
  w.add(a_pod{"older"}.priority(5));
  w.add(a_pod{"younger"}.priority(5));
  w.add(a_pod{"high"}.priority(9));
  w.add(a_pod{"negative"}.priority(-3));
  CHECK(w.run() == words{"reject high", "reject older", "reject younger", "reject low", "reject negative"});
}

TEST_CASE("the queue serves whoever waits longer since it came or failed last", "[engine][queue]") {
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = wake_rule::all}};
  w.add(a_node{"small"}.cpu(1));
  const pod_id first = w.add(a_pod{"first"}.cpu(2));
  w.add(a_pod{"second"}.cpu(2));
  CHECK(w.run() == words{"reject first", "reject second"});
  // Only the first is tried again in between, because the host changed it.
  w.now = 20s;
  w.must(w.cluster.update_pod(first, a_pod{"first"}.cpu(2).label("touched", "yes")));
  CHECK(w.run() == words{"reject first"});
  w.now = 60s;
  w.add(a_node{"large"}.cpu(8));
  CHECK(w.run() == words{"bind second large", "bind first large"});
}

TEST_CASE("a change of its priority moves a pod in the queue, wherever it waits", "[engine][queue]") {
  SECTION("active") {
    world w;
    w.add(a_pod{"a"});
    const pod_id b = w.add(a_pod{"b"});
    CHECK(w.counts() == places{2, 0, 0, 0, 0});
    w.must(w.cluster.update_pod(b, a_pod{"b"}.priority(7)));
    CHECK(w.run() == words{"reject b", "reject a"});
  }
  SECTION("unschedulable") {
    world w{profiles::kube_default(), {.wake = wake_rule::all}};
    const pod_id a = w.add(a_pod{"a"});
    const pod_id b = w.add(a_pod{"b"});
    w.run();
    w.now = 30s;
    w.must(w.cluster.update_pod(a, a_pod{"a"}.label("touched", "yes")));
    w.must(w.cluster.update_pod(b, a_pod{"b"}.priority(7)));
    CHECK(w.run() == words{"reject b", "reject a"});
  }
}

TEST_CASE("a group stands in the queue with its own priority, or that of its most important member",
          "[engine][queue]") {
  world w;
  const group_id given = w.add(a_gang{"given", 1}.priority(3));
  const group_id derived = w.add(a_gang{"derived", 2});
  w.add(a_pod{"unimportant"}.in(derived));
  w.add(a_pod{"g"}.priority(50).in(given));
  w.add(a_pod{"alone"}.priority(5));
  CHECK(w.counts() == places{2, 0, 0, 1, 0});
  w.add(a_pod{"important"}.priority(10).in(derived));
  CHECK(w.run() == words{"reject important", "reject unimportant", "reject alone", "reject g"});
}

TEST_CASE("a comparator gives the same order as the same rule told as a key", "[engine][queue]") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    dice roll{seed};
    world keyed{profile{priority_sort{}, scheduling_gates{}, gang_scheduling{}, node_resources_fit{}}};
    world compared{profile{sort_by_comparing{}, scheduling_gates{}, gang_scheduling{}, node_resources_fit{}}};
    const auto both = [&](auto&& act) { act(keyed), act(compared); };
    std::vector<std::string> names;
    both([](world& w) {
      w.add(a_node{"n0"}.cpu(6)), w.add(a_node{"n1"}.cpu(6));
      for (const char* name : {"g0", "g1"}) w.add(a_gang{name, 2});
    });
    words served;
    for (int step = 0; step < 150; ++step) {
      const std::size_t kind = roll.below(8);
      if (kind < 4) {
        const std::string name = "p" + std::to_string(step);
        a_pod pod{name};
        pod.cpu(roll.between(1, 4)).priority(static_cast<std::int32_t>(roll.between(0, 3)));
        const bool gated = roll.percent(20);
        const std::size_t group = roll.below(6);
        both([&](world& w) {
          a_pod mine = pod;
          if (gated) mine.gate("wait");
          if (group < 2) mine.in(w.cluster.find_group("default", "g" + std::to_string(group)).value());
          w.add(mine);
        });
        names.push_back(name);
      } else if (kind == 4 && !names.empty()) {
        const std::size_t which = roll.below(names.size());
        both([&](world& w) { w.remove(w.pod(names[which])); });
        names.erase(names.begin() + static_cast<std::ptrdiff_t>(which));
      } else if (kind == 5) {
        const instant later = std::chrono::milliseconds{roll.between(0, 4000)};
        both([&](world& w) { w.now += later; });
      } else {
        for (std::size_t i = roll.below(4); i-- > 0;) {
          const words one = keyed.cycle();
          REQUIRE(compared.cycle() == one);
          served.insert(served.end(), one.begin(), one.end());
        }
      }
      REQUIRE(keyed.counts() == compared.counts());
      REQUIRE(keyed.scheduler.next_deadline() == compared.scheduler.next_deadline());
    }
    CHECK(served.size() > 20);
  }
}

TEST_CASE("the backoff of a pod that keeps failing is 1, 2, 4, 8, 10, 10 seconds", "[engine][queue]") {
  world w{with_stubborn()};
  const a_node node{"n"};
  w.add(node);
  w.add(a_pod{"p"});
  CHECK(waits(w, node, 6) == std::vector<instant>{1s, 2s, 4s, 8s, 10s, 10s});
}

TEST_CASE("the backoff starts and ends where the host says", "[engine][queue]") {
  world w{with_stubborn(), {.initial_backoff = 300ms, .max_backoff = 1s}};
  const a_node node{"n"};
  w.add(node);
  w.add(a_pod{"p"});
  CHECK(waits(w, node, 4) == std::vector<instant>{300ms, 600ms, 1s, 1s});
}

TEST_CASE("a pod that the host cannot bind backs off 1, 2, 4, 8, 10, 10 seconds", "[engine][queue]") {
  world w;
  w.add(a_node{"n"});
  const pod_id pod = w.add(a_pod{"p"});
  std::vector<instant> all;
  for (int i = 0; i < 6; ++i) {
    REQUIRE(w.run() == words{"bind p n"});
    w.fail(pod);
    // No change brings it back early: the node did not reject it.
    w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.label("turn", std::to_string(i))));
    REQUIRE(w.run().empty());
    all.push_back(*w.scheduler.next_deadline() - w.now);
    w.now += all.back();
  }
  CHECK(all == std::vector<instant>{1s, 2s, 4s, 8s, 10s, 10s});
  CHECK(w.run() == words{"bind p n"});
  w.confirm(pod);
}

TEST_CASE("under kube-scheduler's rule a group backs off as one, up to 10 seconds times the root of its members",
          "[engine][queue]") {
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = wake_rule::hints}};
  w.add(a_node{"n"}.cpu(1));
  const group_id gang = w.add(a_gang{"gang", 4});
  for (const char* name : {"a", "b", "c", "d"}) w.add(a_pod{name}.cpu(1).in(gang));
  std::vector<instant> all;
  for (int i = 0; i < 7; ++i) {
    REQUIRE(w.run() == words{"reject a", "reject b", "reject c", "reject d"});
    CHECK(w.counts() == places{0, 1, 0, 0, 0});
    all.push_back(*w.scheduler.next_deadline() - w.now);
    w.now += all.back() - 1ns;
    REQUIRE(w.run().empty());
    w.now += 1ns;
  }
  CHECK(all == std::vector<instant>{1s, 2s, 4s, 8s, 16s, 20s, 20s});
}

TEST_CASE("members of a group that fail together count as one failure", "[engine][queue]") {
  world w;
  w.add(a_node{"n"}.cpu(4));
  const group_id gang = w.add(a_gang{"gang", 4});
  for (const char* name : {"a", "b", "c", "d"}) w.add(a_pod{name}.cpu(1).in(gang));
  REQUIRE(w.run() == words{"bind a n", "bind b n", "bind c n", "bind d n"});
  for (const char* name : {"a", "b", "c", "d"}) w.fail(w.pod(name));
  CHECK(w.run().empty());
  CHECK(w.scheduler.next_deadline() == instant{1s});
  CHECK(w.run_at(1s).size() == 4);
}

TEST_CASE("a rejected pod is tried again after more than five minutes even if nothing changes", "[engine][queue]") {
  world w;
  w.now = 7s;
  w.add(a_pod{"p"});
  CHECK(w.run() == words{"reject p"});
  CHECK(w.counts() == places{0, 0, 1, 0, 0});
  CHECK(w.scheduler.next_deadline() == instant{7s} + 5min + 1ns);
  CHECK(w.run_at(instant{7s} + 5min).empty());
  CHECK(w.run_at(instant{7s} + 5min + 1ns) == words{"reject p"});
  CHECK(w.wake_ups() == 0);
}

TEST_CASE("a backoff is cut short only by a change that can help, and only when nobody is active", "[engine][queue]") {
  world w;
  w.add(a_node{"n"}.cpu(2));
  const pod_id first = w.add(a_pod{"first"}.cpu(2).priority(10));
  const pod_id important = w.add(a_pod{"important"}.cpu(2).priority(9));
  w.now = 100s;
  CHECK(w.run(true) == words{"bind first n", "reject important"});
  w.now += 200ms;
  CHECK(w.run().empty());
  w.add(a_pod{"too-large"}.cpu(3));
  CHECK(w.run() == words{"reject too-large"});
  CHECK(w.run().empty());
  w.add(a_pod{"tiny"}.cpu_milli(1).select("no", "where"));
  w.remove(first);
  // Active goes before backoff, priority or not.
  CHECK(w.cycle() == words{"reject tiny"});
  CHECK(w.counts() == places{0, 1, 2, 0, 0});
  CHECK(w.run() == words{"bind important n"});
  w.confirm(important);
}

TEST_CASE("a scheduling gate holds a pod back until it is lifted", "[engine][queue]") {
  world w;
  w.add(a_node{"n"});
  const pod_id gated = w.add(a_pod{"gated"}.gate("quota"));
  const pod_id free = w.add(a_pod{"free"});
  CHECK(w.counts() == places{1, 0, 0, 1, 0});
  // A gate that comes before the pod's turn holds it as well.
  w.must(w.cluster.update_pod(free, a_pod{"free"}.gate("late")));
  CHECK(w.run().empty());
  CHECK(w.counts() == places{0, 0, 0, 2, 0});
  CHECK_FALSE(w.scheduler.next_deadline());
  w.must(w.cluster.update_pod(gated, a_pod{"gated"}));
  CHECK(w.run() == words{"bind gated n"});
  w.must(w.cluster.update_pod(free, a_pod{"free"}));
  CHECK(w.run() == words{"bind free n"});
}

TEST_CASE("a gang waits at the gate until its minimum is there, or is lowered", "[engine][queue]") {
  const auto mode = GENERATE(gang_mode::group_cycle, gang_mode::permit);
  world w;
  w.add(a_node{"n"});
  a_gang spec{"gang", 3};
  if (mode == gang_mode::permit) spec.permit();
  const group_id gang = w.add(spec);
  w.add(a_pod{"a"}.in(gang));
  w.add(a_pod{"b"}.in(gang));
  CHECK(w.run().empty());
  CHECK(w.counts()[3] == (mode == gang_mode::permit ? 2 : 1));
  SECTION("the third member comes") {
    w.add(a_pod{"c"}.in(gang));
    words all = w.run();
    for (const std::string& one : w.permit()) all.push_back(one);
    std::erase_if(all, [](const std::string& one) { return one.starts_with("wait"); });
    CHECK(sorted(all) == words{"bind a n", "bind b n", "bind c n"});
  }
  SECTION("the minimum is lowered") {
    w.must(w.cluster.update_group(gang, spec.min_count(2)));
    w.run(), w.permit();
    CHECK(w.cluster.assumed().size() == 2);
  }
  SECTION("a gated third member holds a group cycle back until its gate is lifted") {
    const pod_id third = w.add(a_pod{"c"}.gate("quota").in(gang));
    w.run(), w.permit();
    CHECK(w.cluster.assumed().empty() == (mode == gang_mode::group_cycle));
    w.must(w.cluster.update_pod(third, a_pod{"c"}.in(gang)));
    w.run(), w.permit();
    CHECK(w.cluster.assumed().size() == 3);
  }
}

TEST_CASE("a pod that is being deleted leaves the queue from wherever it stands", "[engine][queue]") {
  world w;
  w.add(a_node{"n"}.cpu(1));
  const pod_id active = w.add(a_pod{"active"});
  CHECK(w.counts() == places{1, 0, 0, 0, 0});
  w.must(w.cluster.set_terminating(active));
  CHECK(w.counts() == places{0, 0, 0, 0, 0});

  const pod_id rejected = w.add(a_pod{"rejected"}.cpu(2));
  CHECK(w.run() == words{"reject rejected"});
  w.must(w.cluster.set_terminating(rejected));
  const pod_id gated = w.add(a_pod{"gated"}.gate("g"));
  CHECK(w.counts() == places{0, 0, 0, 1, 0});
  w.must(w.cluster.set_terminating(gated));
  const pod_id failed = w.add(a_pod{"failed"});
  CHECK(w.run() == words{"bind failed n"});
  w.fail(failed);
  CHECK(w.counts() == places{0, 1, 0, 0, 0});
  w.must(w.cluster.set_terminating(failed));
  CHECK(w.counts() == places{0, 0, 0, 0, 0});

  // One that holds a node gives it back when its binding fails, and is not queued again.
  const pod_id assumed = w.add(a_pod{"assumed"}.cpu(1));
  CHECK(w.run() == words{"bind assumed n"});
  w.must(w.cluster.set_terminating(assumed));
  w.fail(assumed);
  CHECK(w.counts() == places{0, 0, 0, 0, 0});
  CHECK_FALSE(w.scheduler.next_deadline());
  w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(8)));
  CHECK(w.run_at(1h).empty());
}

TEST_CASE("a group whose members are being deleted leaves the queue, also when the log has moved on",
          "[engine][queue]") {
  const std::size_t log_bound = GENERATE(as<std::size_t>{}, 4, 65536);
  world w{profiles::kube_default(), world::lowest_first(), {.log_bound = log_bound}};
  const group_id gang = w.add(a_gang{"gang", 2});
  const pod_id a = w.add(a_pod{"a"}.in(gang));
  CHECK(w.counts() == places{0, 0, 0, 1, 0});
  w.must(w.cluster.set_terminating(a));
  for (int i = 0; i < 8; ++i) w.add(a_node{"n-" + std::to_string(i)});
  CHECK(w.counts() == places{0, 0, 0, 0, 0});
}

TEST_CASE("a group whose members are gone or being deleted leaves the queue", "[engine][queue]") {
  world w;
  const group_id gang = w.add(a_gang{"gang", 2});
  const pod_id a = w.add(a_pod{"a"}.in(gang));
  const pod_id b = w.add(a_pod{"b"}.in(gang));
  const bool tried = GENERATE(false, true);
  if (tried) {
    CHECK(w.run() == words{"reject a", "reject b"});
    CHECK(w.scheduler.next_deadline() == 5min + 1ns);
  } else {
    CHECK(w.counts() == places{1, 0, 0, 0, 0});
  }
  SECTION("removed") { w.remove(a), w.remove(b); }
  SECTION("terminating") { w.must(w.cluster.set_terminating(a)), w.must(w.cluster.set_terminating(b)); }
  CHECK(w.counts() == places{0, 0, 0, 0, 0});
  CHECK_FALSE(w.scheduler.next_deadline());
  CHECK(w.run_at(1h).empty());
}

TEST_CASE("after a restart pods stand where the host says they stood", "[engine][queue]") {
  world w;
  const pod_id a = w.add(a_pod{"a"});
  const pod_id b = w.add(a_pod{"b"});
  const pod_id c = w.add(a_pod{"c"});
  const pod_id gated = w.add(a_pod{"gated"}.gate("g"));
  w.now = 101s;
  w.must(w.scheduler.restore(a, {.failures = 3, .since = 100s}));
  w.must(w.scheduler.restore(b, {.failures = 0, .since = 90s}));
  w.must(w.scheduler.restore(c, {.failures = 0, .since = 80s}));
  w.must(w.scheduler.restore(gated, {.failures = 2, .since = 10s}));
  CHECK(w.counts() == places{2, 1, 0, 1, 0});
  CHECK(w.run() == words{"reject c", "reject b"});
  CHECK(w.scheduler.next_deadline() == instant{104s});
  CHECK(w.run_at(104s) == words{"reject a"});
  // Its fourth failure.
  w.now = 105s;
  w.add(a_node{"n"});
  CHECK(w.counts() == places{1, 0, 2, 1, 0});
  const words all = w.run();
  CHECK(sorted(all) == words{"bind a n", "bind b n", "bind c n"});
  const auto refused = w.scheduler.restore(a, {.failures = 1, .since = 105s});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::wrong_state);
}

}  // namespace gangsched::testing::queue_test
