// What keyed scores said of the groups of a class is said again as long as nothing that they read has changed.
#include "world.hpp"

#include "gangsched/fork.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::group_totals_test {

namespace {

int asked = 0;

/// The zone with the most candidates, and says how often it was asked.
struct most_candidates {
  static constexpr std::string_view name = "MostCandidates";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score_key(const pod_view&, node_view<reads::labels> node) const {
    const auto zone = node.label(std::string_view{"topology.kubernetes.io/zone"});
    return zone ? (*zone)[0] : 0;
  }
  void finish_score(const pod_view&, std::span<scored_group> zones) const {
    ++asked;
    for (scored_group& zone : zones) zone.score = zone.population;
  }
};

/// The node with the fewest pods, which it looks up when it is asked.
struct fewest_pods {
  static constexpr std::string_view name = "FewestPods";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score_key(const pod_view&, node_view<reads::name> node) const { return node.id().row; }
  void finish_score(const pod_view&, const cluster_view& cluster, std::span<scored_group> nodes) const {
    ++asked;
    for (scored_group& node : nodes)
      node.score = max_node_score - cluster.node_at(static_cast<row_t>(node.score))->used(kinds::pods);
  }
};
/// The same, which says what it looks up.
struct fewest_pods_told : fewest_pods {
  static constexpr std::string_view name = "FewestPodsTold";
  static constexpr reads finish_reads = reads::usage;
};
/// And one that says less than it looks up.
struct fewest_pods_untold : fewest_pods {
  static constexpr std::string_view name = "FewestPodsUntold";
  static constexpr reads finish_reads = reads::labels;
};
/// The raw score is what it is told of the pod, so that it may not be the same for the next one.
struct by_pod {
  static constexpr std::string_view name = "ByPod";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::labels> node) const {
    return node.label("last") ? 1 : 0;
  }
  void normalize_score(const pod_info& pod, std::span<scored_group> groups) const {
    for (scored_group& group : groups) group.score = (pod.name() == "b") == (group.score == 1) ? 100 : 0;
  }
};

kernel_table with(auto... plugins) { return profile{priority_sort{}, node_resources_fit{}, std::move(plugins)...}; }

void add_pods(world& w, std::initializer_list<const char*> names) {
  for (const char* name : names) w.add(a_pod{name}.cpu(1));
}

}  // namespace

TEST_CASE("scores of groups are asked again when a group has another number of candidates", "[engine]") {
  world w{profile{priority_sort{}, node_resources_fit{{.strategy = node_resources_fit::strategy::most_allocated}},
                  most_candidates{}}};
  for (const char* name : {"a1", "a2", "b1"}) w.add(a_node{name}.cpu(2).zone(std::string{name[0]}));
  add_pods(w, {"1", "2", "3", "4", "5", "6"});
  asked = 0;
  CHECK(w.cycle() == words{"bind 1 a1"});  // looks at all nodes, as the class is new
  CHECK(asked == 1);
  CHECK(w.cycle() == words{"bind 2 a1"});  // from the index
  CHECK(asked == 2);
  CHECK(w.cycle() == words{"bind 3 a2"});  // a1 is full
  CHECK(asked == 3);
  w.add(a_node{"b2"}.cpu(2).zone("b"));
  CHECK(w.cycle() == words{"bind 4 a2"});
  CHECK(asked == 4);
  CHECK(w.cycle() == words{"bind 5 b1"});  // a2 is full
  CHECK(asked == 5);
  CHECK(w.cycle() == words{"bind 6 b1"});  // nothing has changed but amounts
  CHECK(asked == 5);
}

TEST_CASE("a score that looks at the cluster is asked every time, or when what it says it reads has changed",
          "[engine]") {
  const auto nodes_of = [](kernel_table table) {
    world w{std::move(table)};
    for (const char* name : {"n1", "n2", "n3"}) w.add(a_node{name}.cpu(9));
    w.add(a_pod{"there"}.priority(1).select("kubernetes.io/hostname", "n1"));
    add_pods(w, {"1", "2", "3", "4", "5", "6"});
    REQUIRE(w.cluster.remove_pod(w.pod("there")));
    return w.run();
  };
  const words in_turns{"bind 1 n1", "bind 2 n2", "bind 3 n3", "bind 4 n1", "bind 5 n2", "bind 6 n3"};
  asked = 0;
  CHECK(nodes_of(with(fewest_pods{})) == in_turns);
  CHECK(asked == 6);
  CHECK(nodes_of(with(fewest_pods_told{})) == in_turns);
  CHECK(asked == 12);  // each pod changes the usage of a node
  CHECK(nodes_of(with(fewest_pods_untold{})) != in_turns);
}

TEST_CASE("a score that is not told what changes is asked again when its own facets change", "[engine]") {
  world w{with(fewest_pods_told{})};
  for (const char* name : {"n1", "n2"}) w.add(a_node{name}.cpu(9));
  add_pods(w, {"1", "2", "3"});
  CHECK(w.run(true) == words{"bind 1 n1", "bind 2 n2", "bind 3 n1"});
  REQUIRE(w.cluster.remove_pod(w.pod("1")));
  REQUIRE(w.cluster.remove_pod(w.pod("3")));
  add_pods(w, {"4", "5"});
  CHECK(w.run(true) == words{"bind 4 n1", "bind 5 n1"});
}

TEST_CASE("a score that sees the pod itself is asked about each", "[engine]") {
  world w{with(by_pod{})};
  w.add(a_node{"n1"}.cpu(9));
  w.add(a_node{"n2"}.cpu(9).label("last", "yes"));
  add_pods(w, {"a", "b", "c", "d", "e"});
  CHECK(w.run() == words{"bind a n1", "bind b n2", "bind c n1", "bind d n1", "bind e n1"});
}

TEST_CASE("a score that reads more than it says is named by check_hooks, and by verify", "[engine][check]") {
  for (const bool check : {true, false}) {
    scheduler_options options = world::lowest_first();
    options.check_hooks = check;
    world w{with(fewest_pods_untold{}), options};
    for (const char* name : {"n1", "n2"}) w.add(a_node{name}.cpu(9));
    add_pods(w, {"1", "2", "3"});
    CHECK(w.decide());
    if (!check) {
      CHECK(w.decide());  // from the index, which remembers it
      const auto wrong = w.scheduler.verify();
      REQUIRE(!wrong);
      CHECK(wrong.error().message().find("what scores say of the same groups") != std::string::npos);
      continue;
    }
    const cycle second = w.scheduler.schedule_cycle(w.now);
    REQUIRE(second.error() != nullptr);
    CHECK(second.error()->message().find("what scores say of the same groups") != std::string::npos);
  }
}

TEST_CASE("with images that come and go a scheduler decides as one that knows nothing yet", "[engine][differential]") {
  std::size_t placed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    dice any{seed};
    world w{profiles::kube_default()};
    const auto node = [&](const std::string& name) {
      a_node made{name};
      made.cpu(any.between(2, 12)).memory("16Gi").zone(std::string(1, static_cast<char>('a' + any.below(3))));
      for (const char* image : {"small", "large"})
        if (any.percent(40)) made.image(image, any.between(50, 900) << 20);
      if (any.percent(20)) made.taint("busy", "", taint_effect::prefer_no_schedule);
      return made;
    };
    std::vector<std::string> nodes;
    for (int i = 0; i < 8; ++i) w.add(node(nodes.emplace_back("n" + std::to_string(i))));
    std::vector<pod_id> running;
    for (int step = 0; step < 120; ++step) {
      const std::size_t what = any.below(10);
      if (what == 0) {
        const std::string name = any.of(nodes);
        w.must(w.cluster.update_node(w.node(name), node(name)));
      } else if (what == 1 && !running.empty()) {
        const std::size_t at = any.below(running.size());
        w.must(w.cluster.remove_pod(running[at]));
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (what == 2 && nodes.size() < 16) {
        w.add(node(nodes.emplace_back("n" + std::to_string(nodes.size()))));
      } else {
        a_pod pod{"p" + std::to_string(step)};
        pod.cpu_milli(250);
        if (any.percent(70)) pod.image(any.percent(50) ? "small" : "large");
        if (any.percent(30)) pod.prefer(3, "topology.kubernetes.io/zone", {"a"});
        w.add(pod);
      }
      forked fresh = w.must(w.scheduler.fork());
      const cycle there = fresh.scheduler.schedule_cycle(w.now), here = w.scheduler.schedule_cycle(w.now);
      REQUIRE(w.said(here.decisions()) == w.said(there.decisions()));
      for (const decision& one : here) {
        if (one.kind != decision_kind::bind) continue;
        ++placed;
        running.push_back(one.pod);
        REQUIRE(w.scheduler.confirm(one.pod));
      }
      REQUIRE(w.scheduler.verify());
    }
  }
  CHECK(placed > 2000);
}

}  // namespace gangsched::testing::group_totals_test
