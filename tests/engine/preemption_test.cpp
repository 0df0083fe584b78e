// DefaultPreemption through the engine: who goes where, by Kubernetes' rules.
#include "gangsched/plugins/default_preemption.hpp"

#include <map>
#include <memory>
#include <tuple>

#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::preemption_test {

namespace {

kernel_table with(default_preemption preemption = {}) {
  return profile{priority_sort{},    scheduling_gates{}, node_unschedulable{}, node_name{},
                 taint_toleration{}, node_ports{},       node_resources_fit{}, std::move(preemption)};
}

/// A world with nodes of some cores and pods that run there.
struct crowd : world {
  explicit crowd(kernel_table profile = with(), const scheduler_options& options = lowest_first())
      : world(std::move(profile), options) {}
  using world::add;

  a_pod of(const std::string& name, const std::string& on, std::int64_t cores, std::int32_t priority = 0) {
    return a_pod{name}.cpu(cores).priority(priority).on(node(on));
  }
  pod_id runs(const std::string& name, const std::string& on, std::int64_t cores, std::int32_t priority = 0,
              std::optional<instant> start = {}) {
    a_pod made = of(name, on, cores, priority);
    made.spec.start_time = start;
    return add(made);
  }
  void budget(const std::string& name, std::int32_t allowed, std::vector<std::string> disrupted = {}) {
    must(cluster.add_disruption_budget({.name = name,
                                        .selector = label_selector{.match_labels = {{"app", name}}},
                                        .disruptions_allowed = allowed,
                                        .disrupted_pods = std::move(disrupted)}));
  }
  /// What a pod of @p cores and priority 10 comes to.
  words asks(std::int64_t cores, const std::string& name = "p") {
    add(a_pod{name}.cpu(cores).priority(10));
    return run();
  }
  /// What preemption said of it to users.
  [[nodiscard]] std::string unhelpful(const std::string& name = "p") const {
    return must(scheduler.why(pod(name))).post_filter;
  }
};

scheduler_options counting() {
  scheduler_options options = world::lowest_first();
  options.count_reasons = true;
  return options;
}

/// A filter whose parameter the host changes.
struct gate {
  static constexpr std::string_view name = "Gate";
  using points = implements<point::filter>;
  const bool* open;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::name>) const {
    return *open ? status::success() : status::unschedulable("closed");
  }
};

}  // namespace

TEST_CASE("the least important pods go, and no more than needed", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"n"}.cpu(4));
  w.runs("c3", "n", 1, 3);
  w.runs("c1", "n", 1, 1);
  w.runs("c2", "n", 1, 2);
  w.runs("equal", "n", 1, 10);
  CHECK(w.asks(2) == words{"nominate p n", "evict c2 n", "evict c1 n"});
}

TEST_CASE("the room that victims leave is kept for whom they left for, from all but more important pods",
          "[engine][preemption]") {
  crowd w;
  w.add(a_node{"n"}.cpu(4));
  w.runs("low", "n", 4);
  CHECK(w.asks(3) == words{"nominate p n", "evict low n"});
  w.must(w.cluster.remove_pod(w.pod("low")));
  w.add(a_pod{"same"}.cpu(2).priority(10));
  w.add(a_pod{"little"}.cpu(1).priority(10));
  w.add(a_pod{"high"}.cpu(1).priority(11));
  w.must(w.cluster.update_pod(w.pod("p"), a_pod{"p"}.cpu(3).priority(10).nominated(w.node("n")).gate("wait")));
  CHECK(w.run() == words{"bind high n", "reject same", "reject little"});
  const explanation why = *w.scheduler.explain(w.pod("same"));
  CHECK(why.summary == "0/1 nodes are available: 1 Insufficient cpu.");
  w.must(w.cluster.nominate(w.pod("p"), {}));
  CHECK(w.run() == words{"bind same n", "bind little n"});
}

TEST_CASE("of equal priority the younger goes; one without a start time is the youngest", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"n"}.cpu(3));
  w.runs("old", "n", 1, 0, 1s);
  w.runs("newest", "n", 1, 0);
  w.runs("new", "n", 1, 0, 2s);
  CHECK(w.asks(2) == words{"nominate p n", "evict new n", "evict newest n"});
}

TEST_CASE("a large pod that must go lets smaller, less important ones stay", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"n"}.cpu(4));
  w.runs("large", "n", 3, 5);
  w.runs("small", "n", 1, 1);
  CHECK(w.asks(3) == words{"nominate p n", "evict large n"});
}

TEST_CASE("nodes are chosen by the highest victim, then the sum, then the number", "[engine][preemption]") {
  crowd w;
  const auto node = [&](const char* name, std::vector<std::pair<std::int64_t, std::int32_t>> pods) {
    w.add(a_node{name}.cpu(4));
    for (std::size_t i = 0; i < pods.size(); ++i) {
      w.runs(name + std::to_string(i), name, pods[i].first, pods[i].second);
    }
  };
  SECTION("highest") {
    node("a", {{4, 5}});
    node("b", {{2, 4}, {2, 4}});
    CHECK(w.asks(4) == words{"nominate p b", "evict b0 b", "evict b1 b"});
  }
  SECTION("sum") {
    node("a", {{2, 4}, {2, 3}});
    node("b", {{2, 4}, {2, 2}});
    CHECK(w.asks(4) == words{"nominate p b", "evict b0 b", "evict b1 b"});
  }
  SECTION("negative priorities: fewer victims have the lower sum") {
    node("a", {{2, -5}, {2, -5}});
    node("b", {{4, -5}});
    CHECK(w.asks(4) == words{"nominate p b", "evict b0 b"});
  }
  SECTION("nothing to choose: the first row") {
    node("a", {{4, 1}});
    node("b", {{4, 1}});
    CHECK(w.asks(4) == words{"nominate p a", "evict a0 a"});
  }
}

TEST_CASE("among equals the node goes whose oldest victim of highest priority is youngest", "[engine][preemption]") {
  crowd w;
  for (const char* name : {"a", "b", "c"}) w.add(a_node{name}.cpu(2));
  w.runs("a0", "a", 1, 5, 10s), w.runs("a1", "a", 1, 1, 1s);
  w.runs("b0", "b", 1, 5, 20s), w.runs("b1", "b", 1, 1, 1s);
  w.runs("c0", "c", 1, 5, 15s), w.runs("c1", "c", 1, 1, 99s);
  CHECK(w.asks(2) == words{"nominate p b", "evict b0 b", "evict b1 b"});
}

TEST_CASE("a disruption budget without room is spared if another node will do", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"a"}.cpu(2));
  w.add(a_node{"b"}.cpu(2));
  w.add(w.of("web", "a", 2, 1).label("app", "web"));
  w.runs("higher", "b", 2, 5);
  const bool room = GENERATE(true, false);
  w.budget("web", room ? 1 : 0);
  CHECK(w.asks(2) == (room ? words{"nominate p a", "evict web a"} : words{"nominate p b", "evict higher b"}));
}

TEST_CASE("on a node those that a budget has no room for are put back first", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"n"}.cpu(3));
  w.add(w.of("low", "n", 1, 1).label("app", "web"));
  w.runs("high", "n", 1, 5);
  w.runs("middle", "n", 1, 3);
  w.budget("web", 0);
  CHECK(w.asks(1) == words{"nominate p n", "evict middle n"});
}

TEST_CASE("a budget is used up by everybody who might go, in order of importance", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"n"}.cpu(3));
  w.add(w.of("first", "n", 1, 5).label("app", "web"));
  w.add(w.of("second", "n", 1, 4).label("app", "web"));
  w.add(w.of("third", "n", 1, 3).label("app", "web"));
  // "first" uses the budget up and stays all the same; the others violate and are put back before it.
  w.budget("web", 1);
  CHECK(w.asks(1) == words{"nominate p n", "evict first n"});
}

TEST_CASE("a pod that is disrupted already neither uses a budget up nor breaks it", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"a"}.cpu(1));
  w.add(a_node{"b"}.cpu(1));
  w.add(w.of("web", "a", 1, 1).label("app", "web"));
  w.runs("higher", "b", 1, 5);
  w.budget("web", 0, {"web"});
  CHECK(w.asks(1) == words{"nominate p a", "evict web a"});
}

TEST_CASE("a changed budget counts at once, also where an outcome is remembered", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"a"}.cpu(1));
  w.add(a_node{"b"}.cpu(1));
  w.add(w.of("web", "a", 1, 1).label("app", "web"));
  w.runs("higher", "b", 1, 5);
  CHECK(w.asks(1, "p") == words{"nominate p a", "evict web a"});
  w.remove(w.pod("p"));
  w.budget("web", 0);
  CHECK(w.asks(1, "q") == words{"nominate q b", "evict higher b"});
}

TEST_CASE("what a plugin goes by may change, and remembered verdicts go with it", "[engine][preemption]") {
  bool open = false;
  crowd w{profile{priority_sort{}, node_resources_fit{}, gate{&open}, default_preemption{}}};
  w.add(a_node{"a"}.cpu(1));
  w.runs("low", "a", 1, 1);
  CHECK(w.asks(1, "p") == words{"reject p"});
  open = true;
  w.must(w.scheduler.forget_cached());
  CHECK(w.asks(1, "q") == words{"nominate q a", "evict low a"});
}

TEST_CASE("nodes that no eviction can help are not touched", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"cordoned"}.cpu(2).unschedulable());
  w.add(a_node{"tainted"}.cpu(2).taint("k"));
  w.add(a_node{"small"}.cpu(1));
  w.add(a_node{"high"}.cpu(2));
  w.add(a_node{"both"}.cpu(2));
  for (const char* name : {"cordoned", "tainted", "small"}) w.runs(std::string{"on-"} + name, name, 1);
  w.runs("equal", "high", 2, 10);
  w.runs("important", "both", 1, 10);
  w.runs("low", "both", 1, 0);
  CHECK(w.asks(2) == words{"reject p"});
}

TEST_CASE("who is rejected is told by node why preemption does not help, if reasons are counted",
          "[engine][preemption]") {
  const bool limited = GENERATE(false, true);
  crowd w{with(limited ? default_preemption{{.percentage = 0, .absolute = 1}} : default_preemption{}), counting()};
  w.add(a_node{"cordoned"}.cpu(2).unschedulable());
  w.add(a_node{"small"}.cpu(1));
  w.add(a_node{"high"}.cpu(4));
  w.add(a_node{"both"}.cpu(4).memory("1Gi"));
  w.runs("equal", "high", 4, 10);
  w.runs("important", "both", 2, 10);
  w.runs("low", "both", 2, 0);
  a_pod asks = a_pod{"p"}.cpu(3).priority(10);
  w.add(asks);
  CHECK(w.run() == words{"reject p"});
  CHECK(w.unhelpful() ==
        "preemption: 0/4 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling.");
  CHECK(w.must(w.scheduler.why(w.pod("p"))).text() ==
        "0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient cpu. " + w.unhelpful());
  asks.spec.name = "q";
  asks.spec.preemption = preemption_policy::never;
  w.add(asks);
  CHECK(w.run() == words{"reject q"});
  CHECK(w.unhelpful("q") == "preemption: not eligible due to preemptionPolicy=Never.");
  w.add(a_pod{"r"}.cpu(2).priority(10));
  CHECK(w.run() == words{"nominate r both", "evict low both"});
  CHECK(w.unhelpful("r").empty());
}

TEST_CASE("a pod may be told never to preempt", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"n"}.cpu(1));
  w.runs("low", "n", 1);
  a_pod polite = a_pod{"p"}.cpu(1).priority(10);
  polite.spec.preemption = preemption_policy::never;
  w.add(polite);
  CHECK(w.run() == words{"reject p"});
}

TEST_CASE("a pod whose nominated node waits for a preempted pod to end does not preempt again",
          "[engine][preemption]") {
  crowd w{with(), counting()};
  w.add(a_node{"a"}.cpu(2));
  w.add(a_node{"b"}.cpu(2));
  const pod_id victim = w.runs("victim", "a", 2);
  w.runs("other", "b", 2, 5);
  CHECK(w.asks(2) == words{"nominate p a", "evict victim a"});
  const bool preempted = GENERATE(true, false);
  w.must(w.cluster.set_terminating(victim, preempted));
  const words again = w.run_at(6min);
  // Whoever ends for another reason does not count, and is a victim that need not be told.
  CHECK(again == (preempted ? words{"reject p"} : words{"nominate p a"}));
  if (preempted) CHECK(w.unhelpful() == "preemption: not eligible due to a terminating pod on the nominated node.");
  CHECK(w.cluster.nominated_node_of(w.pod("p")) == w.node("a"));
  w.remove(victim);
  CHECK(w.run() == words{"bind p a"});
}

TEST_CASE("a nominated node that cannot do any more does not hold its pod back", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"a"}.cpu(2));
  w.add(a_node{"b"}.cpu(2));
  const pod_id victim = w.runs("victim", "a", 2);
  w.runs("other", "b", 2, 5);
  CHECK(w.asks(2) == words{"nominate p a", "evict victim a"});
  w.must(w.cluster.set_terminating(victim, true));
  w.must(w.cluster.update_node(w.node("a"), a_node{"a"}.cpu(2).unschedulable()));
  CHECK(w.run_at(6min) == words{"nominate p b", "evict other b"});
}

TEST_CASE("who is nominated with equal or higher priority keeps the room; lower ones lose their nomination",
          "[engine][preemption]") {
  crowd w;
  w.add(a_node{"n"}.cpu(4));
  w.runs("low", "n", 4);
  const auto waits = [&](const char* name, std::int32_t priority) {
    return w.add(a_pod{name}.cpu(2).priority(priority).nominated(w.node("n")).gate("wait"));
  };
  const pod_id lower = waits("lower", 9);
  SECTION("equal: no room for four") {
    waits("equal", 10);
    CHECK(w.asks(4) == words{"reject p"});
    CHECK(w.cluster.nominated_node_of(lower) == w.node("n"));
  }
  SECTION("equal: room for two, but nobody may stay") {
    waits("equal", 10);
    CHECK(w.asks(2) == words{"nominate p n", "evict low n"});
    CHECK_FALSE(w.cluster.nominated_node_of(lower));
  }
  SECTION("lower only") {
    CHECK(w.asks(4) == words{"nominate p n", "evict low n"});
    CHECK_FALSE(w.cluster.nominated_node_of(lower));
  }
}

TEST_CASE("host ports are room too", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"a"}.cpu(9));
  w.add(a_node{"b"}.cpu(9));
  w.add(w.of("a-web", "a", 1, 5).port(80));
  w.runs("a-low", "a", 1, 0);
  w.add(w.of("b-web", "b", 1, 6).port(80));
  w.add(a_pod{"p"}.cpu(1).priority(10).port(80));
  CHECK(w.run() == words{"nominate p a", "evict a-web a"});
}

TEST_CASE("a pod that goes already is a victim, but is not told again", "[engine][preemption]") {
  crowd w;
  w.add(a_node{"n"}.cpu(2));
  w.add(w.of("going", "n", 1, 1).terminating());
  w.runs("low", "n", 1);
  CHECK(w.asks(2) == words{"nominate p n", "evict low n"});
}

TEST_CASE("Kubernetes' limit ends the search early; its numbers are checked", "[engine][preemption]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    crowd w{with(default_preemption{{.percentage = 0, .absolute = 2, .seed = seed}})};
    for (int i = 0; i < 6; ++i) {
      w.add(a_node{"n" + std::to_string(i)}.cpu(1));
      w.runs("r" + std::to_string(i), "n" + std::to_string(i), 1, 6 - i);
    }
    const words said = w.asks(1);
    REQUIRE(said.size() == 2);
    CHECK(said[0] != "nominate p n0");  // the worst of any two neighbours is never chosen
  }
  const auto wrong = [](std::int32_t percentage, std::int32_t absolute) {
    return default_preemption::check({.percentage = percentage, .absolute = absolute}).has_value();
  };
  CHECK((wrong(-1, 1) && wrong(101, 1) && wrong(1, -1) && wrong(0, 0)));
  CHECK_FALSE((wrong(0, 1) || wrong(100, 0)));
  CHECK(default_preemption::from({}));
  CHECK(default_preemption::from(argument::fields{{"minCandidateNodesPercentage", 20}}));
  CHECK_FALSE(default_preemption::from(argument::fields{{"minCandidateNodesPercentage", 101}}));
  CHECK_FALSE(
      default_preemption::from(argument::fields{{"minCandidateNodesPercentage", 0}, {"minCandidateNodesAbsolute", 0}}));
  CHECK_FALSE(default_preemption::from(argument::fields{{"typo", 1}}));
}

namespace {

/// An opaque filter that lets everybody pass: nothing can be remembered then.
struct sees_all {
  static constexpr std::string_view name = "SeesAll";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_info&, node_info) const { return status::success(); }
};

/// The rule without engine, trial or memory, for pods that only want cores.
struct plain_rule {
  struct pod {
    std::string name, node, app;
    std::int64_t cores;
    std::int32_t priority;
    std::optional<instant> start;
    std::size_t arrival;
  };
  std::map<std::string, std::int64_t> nodes;  // cores, by name, which is by row
  std::vector<pod> pods;
  std::map<std::string, int> budgets;

  [[nodiscard]] std::int64_t used(const std::string& node) const {
    std::int64_t sum = 0;
    for (const pod& one : pods) sum += one.node == node ? one.cores : 0;
    return sum;
  }
  /// What is said to users where nobody can be helped.
  [[nodiscard]] std::string unhelpful(std::int64_t cores, std::int32_t priority) const {
    std::map<std::string, int> counts;
    for (const auto& [node, size] : nodes) {
      std::int64_t left = size - used(node);
      bool anybody = false;
      for (const pod& one : pods) {
        if (one.node == node && one.priority < priority) anybody = true, left += one.cores;
      }
      const char* const helpless = "Preemption is not helpful for scheduling";
      ++counts[cores > size ? helpless : anybody ? "Insufficient cpu" : "No preemption victims found for incoming pod"];
    }
    words parts;
    for (const auto& [text, times] : counts) parts.push_back(std::to_string(times) + " " + text);
    std::sort(parts.begin(), parts.end());
    std::string said = "preemption: 0/" + std::to_string(nodes.size()) + " nodes are available";
    for (const std::string& part : parts) said += (part == parts.front() ? ": " : ", ") + part;
    return said + ".";
  }
  [[nodiscard]] words answer(const std::string& name, std::int64_t cores, std::int32_t priority) const {
    using price = std::tuple<int, std::int32_t, std::int64_t, std::size_t, std::int64_t>;
    std::optional<price> best;
    words said{"reject " + name};
    for (const auto& [node, size] : nodes) {
      if (cores > size || used(node) + cores <= size) continue;
      std::vector<pod> lower;
      for (const pod& one : pods) {
        if (one.node == node && one.priority < priority) lower.push_back(one);
      }
      const auto start = [](const pod& one) { return one.start.value_or(instant::max()).count(); };
      std::sort(lower.begin(), lower.end(), [&](const pod& a, const pod& b) {
        return std::tuple{-std::int64_t{a.priority}, start(a), a.arrival} <
               std::tuple{-std::int64_t{b.priority}, start(b), b.arrival};
      });
      std::int64_t left = size - used(node);
      for (const pod& one : lower) left += one.cores;
      if (left < cores || lower.empty()) continue;
      std::map<std::string, int> allowed = budgets;
      std::vector<std::pair<bool, pod>> line, gone;
      for (const pod& one : lower) line.emplace_back(allowed.contains(one.app) && --allowed[one.app] < 0, one);
      int broken = 0;
      for (const bool violating : {true, false}) {
        for (const auto& [violates, one] : line) {
          if (violates != violating) continue;
          if (left - one.cores >= cores)
            left -= one.cores;
          else
            gone.emplace_back(violates, one), broken += violates ? 1 : 0;
        }
      }
      std::stable_sort(gone.begin(), gone.end(), [&](const auto& a, const auto& b) {
        return std::pair{-std::int64_t{a.second.priority}, start(a.second)} <
               std::pair{-std::int64_t{b.second.priority}, start(b.second)};
      });
      std::int64_t sum = 0, earliest = start(gone.front().second);
      for (const auto& [violates, one] : gone) {
        sum += one.priority + (std::int64_t{1} << 31);
        if (one.priority == gone.front().second.priority) earliest = std::min(earliest, start(one));
      }
      const price here{broken, gone.front().second.priority, sum, gone.size(), -earliest};
      if (best && !(here < *best)) continue;
      best = here;
      said = {"nominate " + name + " " + node};
      for (const auto& entry : gone) said.push_back("evict " + entry.second.name + " " + node);
    }
    return said;
  }
};

}  // namespace

TEST_CASE(
    "what is remembered of nodes changes no answer: random clusters, changes and preemptors against the plain rule",
    "[engine][preemption]") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    dice roll{seed};
    kernel_table forgetful = with();
    add_plugin(forgetful, lower(sees_all{}));
    const bool counts = seed % 2 == 0;
    crowd w{seed % 3 == 2 ? std::move(forgetful) : with(), counts ? counting() : world::lowest_first()};
    plain_rule rule;
    std::size_t named = 0;
    const auto new_node = [&] {
      const std::string name = "n" + std::to_string(100 + rule.nodes.size());
      rule.nodes[name] = roll.between(1, 6);
      w.add(a_node{name}.cpu(rule.nodes[name]));
    };
    const auto new_pod = [&] {
      const auto on = std::next(rule.nodes.begin(), static_cast<std::ptrdiff_t>(roll.below(rule.nodes.size())));
      plain_rule::pod one{"r" + std::to_string(named),
                          on->first,
                          "a" + std::to_string(roll.below(3)),
                          roll.between(0, 3),
                          static_cast<std::int32_t>(roll.between(-3, 11)),
                          {},
                          named};
      ++named;
      if (roll.percent(80)) one.start = std::chrono::seconds{roll.between(0, 4)};
      a_pod made = w.of(one.name, one.node, one.cores, one.priority);
      made.label("app", one.app).spec.start_time = one.start;
      w.add(made);
      rule.pods.push_back(one);
    };
    const bool many = seed % 10 == 0;  // more than what is remembered of a block's nodes together
    for (std::size_t i = 1 + roll.below(many ? 120 : 8); i-- > 0;) new_node();
    for (std::size_t i = roll.below(many ? 500 : 25); i-- > 0;) new_pod();
    const std::vector<std::pair<std::int64_t, std::int32_t>> kinds{{roll.between(1, 5), 10}, {roll.between(1, 5), 3}};
    for (int step = 0; step < 25; ++step) {
      switch (roll.below(7)) {
        case 0: new_node(); break;
        case 1:
        case 2: new_pod(); break;
        case 3:
          if (rule.pods.empty()) break;
          {
            const std::size_t which = roll.below(rule.pods.size());
            w.remove(w.pod(rule.pods[which].name));
            rule.pods.erase(rule.pods.begin() + static_cast<std::ptrdiff_t>(which));
          }
          break;
        case 4: {
          const std::string app = "a" + std::to_string(roll.below(3));
          if (const auto known = w.cluster.find_disruption_budget("default", app))
            w.must(w.cluster.remove_disruption_budget(*known));
          rule.budgets[app] = static_cast<int>(roll.between(0, 3));
          w.budget(app, rule.budgets[app]);
          break;
        }
        default: break;
      }
      const auto& [cores, priority] = roll.of(kinds);
      const std::string name = "p" + std::to_string(step);
      w.add(a_pod{name}.cpu(cores).priority(priority));
      const words said = w.run();
      INFO("seed " << seed << ", step " << step << ": " << cores << " cores, priority " << priority);
      REQUIRE_FALSE(said.empty());
      if (said[0].starts_with("bind")) {
        const auto fits = [&](const auto& node) { return rule.used(node.first) + cores <= node.second; };
        REQUIRE(std::any_of(rule.nodes.begin(), rule.nodes.end(), fits));
      } else {
        REQUIRE(said == rule.answer(name, cores, priority));
        if (counts && said[0].starts_with("reject")) REQUIRE(w.unhelpful(name) == rule.unhelpful(cores, priority));
      }
      w.remove(w.pod(name));
    }
  }
}

TEST_CASE("who is not protected any more by the most important pod of its group can be preempted",
          "[engine][preemption]") {
  for (const bool runs : {false, true}) {
    world w;
    w.add(a_node{"n"}.cpu(2));
    if (runs) w.add(a_node{"other"}.cpu(1));
    a_gang made{"g"};
    made.spec.policy = basic{};
    const group_id group = w.add(made);
    w.add(a_pod{"lesser"}.cpu(2).in(group).on(w.node("n")));
    a_pod greater{"greater"};
    greater.cpu(runs ? 1 : 64).priority(40).in(group);
    const pod_id protector = w.add(runs ? greater.on(w.node("other")) : greater);
    w.add(a_pod{"asks"}.cpu(2).priority(20));
    w.run();
    w.now += 400s;
    CHECK(std::ranges::count(w.run(), "reject asks") == 1);
    w.must(w.cluster.remove_pod(protector));
    w.now += 400s;
    CHECK(w.run() == words{"nominate asks n", "evict lesser n"});
  }
}

}  // namespace gangsched::testing::preemption_test
