// What keyed scores said of the groups of a class is said again as long as nothing that they read has changed.
#include "world.hpp"

#include "gangsched/fork.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::group_scores_test {

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

/// The zone with the last letter, of those that have candidates: how many does not matter.
struct last_zone : most_candidates {
  static constexpr std::string_view name = "LastZone";
  static constexpr bool reads_population = false;
  void finish_score(const pod_view&, std::span<scored_group> zones) const {
    ++asked;
    for (scored_group& zone : zones) zone.score = zone.score == zones.back().score ? 100 : 0;
  }
};
/// One that counts them, and says that it does not.
struct most_candidates_untold : most_candidates {
  static constexpr std::string_view name = "MostCandidatesUntold";
  static constexpr bool reads_population = false;
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

/// The node with the highest word of the host's.
struct warmest {
  static constexpr std::string_view name = "Warmest";
  using points = implements<point::score>;
  static constexpr reads finish_reads = reads::own;
  by_host<node_column> warmth;
  void attach(column_maker& columns) { warmth = columns.node_column_by_host("warmth"); }
  [[nodiscard]] std::int64_t score_key(const pod_view&, node_view<reads::name> node) const { return node.id().row; }
  void finish_score(const pod_view&, const cluster_view& cluster, std::span<scored_group> nodes) const {
    for (scored_group& node : nodes) node.score = cluster.node_at(static_cast<row_t>(node.score))->own(warmth);
  }
};
/// Keeps a pod out of the zone that its name begins with.
struct not_at_home {
  static constexpr std::string_view name = "NotAtHome";
  using points = implements<point::filter>;
  [[nodiscard]] std::int64_t filter_key(const pod_view& pod, node_view<reads::labels> node) const {
    return most_candidates{}.score_key(pod, node);
  }
  void finish_filter(const pod_info& pod, std::span<filtered_group> zones) const {
    for (filtered_group& zone : zones)
      if (zone.key == pod.name()[0]) zone.verdict = status::unschedulable("it is at home there");
  }
};
/// ImageLocality, and counts how often it is asked.
struct counting_images : image_locality {
  static constexpr std::string_view name = "CountingImages";
  void finish_score(const pod_view& pod, const data& d, const cluster_view& cluster,
                    std::span<scored_group> groups) const {
    ++asked;
    image_locality::finish_score(pod, d, cluster, groups);
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
  CHECK(w.cycle() == words{"bind 1 a1"});
  CHECK(asked == 1);
  CHECK(w.cycle() == words{"bind 2 a1"});  // nothing has changed but amounts
  CHECK(asked == 1);
  CHECK(w.cycle() == words{"bind 3 a2"});  // a1 is full
  CHECK(asked == 2);
  w.add(a_node{"b2"}.cpu(2).zone("b"));
  CHECK(w.cycle() == words{"bind 4 a2"});
  CHECK(asked == 3);
  CHECK(w.cycle() == words{"bind 5 b1"});  // a2 is full
  CHECK(asked == 4);
  CHECK(w.cycle() == words{"bind 6 b1"});  // nothing has changed but amounts
  CHECK(asked == 4);
}

TEST_CASE("scores that do not depend on how many candidates groups have are asked again when other groups have any",
          "[engine]") {
  world w{profile{priority_sort{}, node_resources_fit{{.strategy = node_resources_fit::strategy::most_allocated}},
                  last_zone{}}};
  for (const char* name : {"a1", "a2", "a3", "b1", "b2"}) w.add(a_node{name}.cpu(1).zone(std::string{name[0]}));
  add_pods(w, {"1", "2", "3", "4"});
  asked = 0;
  CHECK(w.cycle() == words{"bind 1 b1"});
  CHECK(asked == 1);
  CHECK(w.cycle() == words{"bind 2 b2"});  // b1 is full, but zone b still has candidates
  CHECK(asked == 1);
  CHECK(w.cycle() == words{"bind 3 a1"});  // all of b is full
  CHECK(asked == 2);
  CHECK(w.cycle() == words{"bind 4 a2"});  // a1 is full, but zone a still has candidates
  CHECK(asked == 2);
  CHECK(w.scheduler.verify());
  w.add(a_node{"c1"}.cpu(1).zone("c"));
  add_pods(w, {"5", "6"});
  asked = 0;
  CHECK(w.cycle() == words{"bind 5 c1"});
  CHECK(asked == 1);
  CHECK(w.cycle() == words{"bind 6 a3"});
  CHECK(asked == 2);
}

TEST_CASE("scores of groups are asked again when a keyed filter leaves other groups open", "[engine]") {
  world w{with(most_candidates{}, not_at_home{})};
  for (const char* name : {"a1", "a2", "a3", "b1", "b2", "c1"}) w.add(a_node{name}.cpu(99).zone(std::string{name[0]}));
  add_pods(w, {"x1", "x2", "x3", "a4", "a5", "x6", "x7"});
  asked = 0;
  const auto zone_of_next = [&] { return w.cycle().at(0).substr(8, 1); };
  const std::string zones[] = {"a", "a", "a", "b", "b", "a", "a"};
  const int times[] = {1, 1, 1, 2, 2, 3, 3};
  for (int i = 0; i < 7; ++i) {
    CAPTURE(i);
    CHECK(zone_of_next() == zones[i]);
    CHECK(asked == times[i]);
    if (i == 4) CHECK(w.scheduler.verify());
    asked = times[i];
  }
}

TEST_CASE("a score that looks at the cluster is asked every time, or when what it says it reads has changed",
          "[engine]") {
  const auto nodes_of = [](auto plugin) {
    world w{profile{priority_sort{}, std::move(plugin)}};
    for (const char* name : {"n1", "n2", "n3"}) w.add(a_node{name}.cpu(9));
    add_pods(w, {"1", "2", "3", "4", "5", "6"});
    return w.run();
  };
  const words in_turns{"bind 1 n1", "bind 2 n2", "bind 3 n3", "bind 4 n1", "bind 5 n2", "bind 6 n3"};
  asked = 0;
  CHECK(nodes_of(fewest_pods{}) == in_turns);
  CHECK(asked == 6);
  CHECK(nodes_of(fewest_pods_told{}) == in_turns);
  CHECK(asked == 12);  // each pod changes the usage of a node
  CHECK(nodes_of(fewest_pods_untold{}) != in_turns);
}

TEST_CASE("a score that says what it looks at is asked again when pods leave", "[engine]") {
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
      CHECK(wrong.error().message().find("the score of groups by one of FewestPodsUntold") != std::string::npos);
      continue;
    }
    const cycle second = w.scheduler.schedule_cycle(w.now);
    REQUIRE(second.error() != nullptr);
    CHECK(second.error()->message().find("the score of groups by one of FewestPodsUntold") != std::string::npos);
  }
}

TEST_CASE("a score that counts candidates although it says that it does not is named by check_hooks, and by verify",
          "[engine][check]") {
  for (const bool check : {true, false}) {
    CAPTURE(check);
    scheduler_options options = world::lowest_first();
    options.check_hooks = check;
    world w{with(most_candidates_untold{}), options};
    for (const char* name : {"a1", "a2", "a3", "b1"}) w.add(a_node{name}.cpu(1).zone(std::string{name[0]}));
    add_pods(w, {"1", "2", "3"});
    CHECK(w.decide());
    const cycle second =
        w.scheduler.schedule_cycle(w.now);  // from the index, which remembers the scores; a2 is full then
    const auto verified = w.scheduler.verify();
    const cycle third = w.scheduler.schedule_cycle(w.now);
    const error* const checked = second.error() != nullptr ? second.error() : third.error();
    const error* const wrong = check ? checked : !verified ? &verified.error() : nullptr;
    REQUIRE(wrong != nullptr);
    CHECK(wrong->message().find("the score of groups by one of MostCandidatesUntold") != std::string::npos);
  }
}

TEST_CASE("a score that reads columns of the host is asked again when one is set", "[engine][columns]") {
  world w{with(warmest{})};
  for (int i = 1; i < 20; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(99));
  w.must(w.cluster.set_column(w.node("n1"), "warmth", 50));
  add_pods(w, {"1", "2", "3"});
  CHECK(w.run() == words{"bind 1 n1", "bind 2 n1", "bind 3 n1"});
  w.must(w.cluster.set_column(w.node("n2"), "warmth", 90));
  add_pods(w, {"4", "5"});
  CHECK(w.run() == words{"bind 4 n2", "bind 5 n2"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("with images that come and go a scheduler decides as one that knows nothing yet", "[engine][differential]") {
  std::size_t placed = 0;
  asked = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    CAPTURE(seed);
    dice any{seed};
    world w{profile{priority_sort{}, taint_toleration{}, node_resources_fit{}, counting_images{}}};
    const auto node = [&](const std::string& name) {
      a_node made{name};
      made.cpu(64).memory("64Gi");
      for (const char* image : {"small", "large"})
        if (any.percent(40)) made.image(image + std::string{":latest"}, any.between(50, 900) << 20);
      // Those that are closed count for shares all the same, and are in no group.
      if (name.back() % 2 == 0) made.taint("closed", "", taint_effect::no_schedule);
      return made;
    };
    std::vector<std::string> nodes;
    for (int i = 0; i < 80; ++i) w.add(node(nodes.emplace_back("n" + std::to_string(i))));
    for (int step = 0; step < 40; ++step) {
      const std::size_t what = any.below(4);
      const std::string name = any.of(nodes);
      if (what == 0) w.must(w.cluster.update_node(w.node(name), node(name)));
      if (what == 1) w.add(node(nodes.emplace_back("n" + std::to_string(nodes.size()))));
      if (what == 2 && w.cluster.remove_node(w.node(name))) {  // with its pods
        std::erase(nodes, name);
        w.add(node(nodes.emplace_back("m" + std::to_string(step))));
      }
      for (int i = 0; i < 6; ++i) {
        w.add(a_pod{"p" + std::to_string(step) + "-" + std::to_string(i)}.cpu_milli(250).image(
            any.percent(80) ? "small" : "large"));
        forked fresh = w.must(w.scheduler.fork());
        const int before = asked;
        const cycle there = fresh.scheduler.schedule_cycle(w.now);
        asked = before;
        const cycle here = w.scheduler.schedule_cycle(w.now);
        REQUIRE(w.said(here.decisions()) == w.said(there.decisions()));
        REQUIRE(here.decisions().size() == 1);
        REQUIRE(w.scheduler.confirm(here.decisions()[0].pod));
        ++placed;
      }
      const int before = asked;
      REQUIRE(w.scheduler.verify());
      asked = before;
    }
  }
  CHECK(placed == 25 * 40 * 6);
  CHECK(static_cast<std::size_t>(asked) < placed / 2);  // mostly it is remembered what it said
}

TEST_CASE("as many nodes as are asked about together, and one more", "[engine]") {
  for (const int changed : {1, 2, 63, 64, 65, 128, 130}) {
    CAPTURE(changed);
    world w;
    const auto node = [](int i, int cpu) { return a_node{"n" + std::to_string(i)}.cpu_milli(cpu + i); };
    for (int i = 0; i < 2200; ++i) w.add(node(i, 5000));
    for (int i = 0; i < 1200; ++i)
      w.add(a_pod{"p" + std::to_string(i)}.cpu_milli(100));  // so that nothing is remembered of amounts
    w.run(true);
    for (int i = 0; i < changed; ++i)
      w.must(w.cluster.update_node(w.node("n" + std::to_string(3 * i)), node(3 * i, 90000)));
    w.add(a_pod{"last"}.cpu_milli(100));
    const words last = w.run();
    REQUIRE(last.size() == 1);
    CHECK(last[0] == "bind last n0");  // all that changed are as good, and the others worse
    CHECK(w.scheduler.verify());
  }
}

}  // namespace gangsched::testing::group_scores_test
