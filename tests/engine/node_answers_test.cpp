// Pods that all differ: what hooks said to pods that are alike in what the hook reads serves them all, and nobody gets another node for it.
#include "world.hpp"

#include <limits>

#include "gangsched/framework/amount_block.hpp"
#include "gangsched/framework/pod_part.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/affinity_dice.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::node_answers_test {

namespace {

/// Counts how often it is asked; closed to those who do not tolerate it.
struct counted {
  static constexpr std::string_view name = "Counted";
  using points = implements<point::filter, point::score>;
  std::shared_ptr<int> filtered = std::make_shared<int>(0), scored = std::make_shared<int>(0);
  [[nodiscard]] status filter(const pod_part<pod_reads::tolerations>& pod, node_view<reads::labels> node) const {
    ++*filtered;
    return node.label("closed") && pod.tolerations().empty() ? status::unschedulable("closed") : status::success();
  }
  [[nodiscard]] std::int64_t score(const pod_part<pod_reads::node_affinity>& pod, node_view<reads::name> node) const {
    ++*scored;
    return pod.node_selector().empty() ? static_cast<std::int64_t>(node.id().row % 7) : 50;
  }
};

/// The same by the labels that it says it looks at.
struct counted_by_label {
  static constexpr std::string_view name = "CountedByLabel";
  using points = implements<point::filter, point::score>;
  std::shared_ptr<int> filtered = std::make_shared<int>(0), scored = std::make_shared<int>(0);
  [[nodiscard]] status filter(const pod_part<pod_reads::tolerations>& pod, node_view<reads::labels> node) const {
    ++*filtered;
    return node.label("closed") && pod.tolerations().empty() ? status::unschedulable("closed") : status::success();
  }
  [[nodiscard]] bool filter_label_keys(const pod_view& pod, std::vector<symbol>& keys) const {
    if (const auto key = pod.find("closed")) keys.push_back(*key);
    return true;
  }
  [[nodiscard]] std::int64_t score(const pod_part<pod_reads::tolerations>& pod,
                                   node_view<reads::taints | reads::labels> node) const {
    ++*scored;
    return node.label("closed") && pod.tolerations().empty() ? 1 : 2;
  }
  [[nodiscard]] bool score_label_keys(const pod_view& pod, std::vector<symbol>& keys) const {
    return filter_label_keys(pod, keys);
  }
};

/// Sorts nodes by rack; those with a pod that the pod's anti-affinity is about have a group of their own. Counts how often it is asked.
struct counted_key {
  static constexpr std::string_view name = "CountedKey";
  using points = implements<point::filter>;
  std::shared_ptr<int> asked = std::make_shared<int>(0);
  [[nodiscard]] std::int64_t filter_key(
      const pod_view& pod, node_view<reads::labels | reads::taints | reads::name | reads::pods> node) const {
    ++*asked;
    const auto rack = pod.find("rack");
    std::int64_t found = rack ? 2 * std::int64_t{node.label(*rack).value_or(symbol{}).value} : 0;
    for (const counter_id one : pod.spec().counters.anti_affinity) found |= node.count(one) > 0 ? 1 : 0;
    return found;
  }
  void filter_key_reads(const pod_view& pod, key_reads& out) const { out.counters = pod.spec().counters.anti_affinity; }
  void finish_filter(const pod_view&, std::span<filtered_group> groups) const {
    for (filtered_group& one : groups) {
      if ((one.key & 1) != 0) one.verdict = status::unschedulable("taken");
    }
  }
};

/// Fails on nodes with a label.
struct fails_where_told {
  static constexpr std::string_view name = "FailsWhereTold";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_part<pod_reads::tolerations>&, node_view<reads::labels> node) const {
    return node.label("fails") ? status::error("told to") : status::success();
  }
};

/// A score of the class's own for each node, and normalised: nothing that other classes were told helps. Counts how often it is asked.
struct counted_usage {
  static constexpr std::string_view name = "CountedUsage";
  using points = implements<point::score>;
  std::shared_ptr<int> scored = std::make_shared<int>(0);
  [[nodiscard]] std::int64_t score(const pod_view& pod, node_view<reads::allocatable | reads::usage> node) const {
    ++*scored;
    return pod.request(kinds::cpu) + node.free(kinds::cpu);
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    for (scored_group& one : groups) one.score %= 100;
  }
};

/// Rates blocks beyond what a score may be, where it is told to.
struct beyond {
  static constexpr std::string_view name = "Beyond";
  using points = implements<point::score>;
  double says;
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::usage>) const { return 1; }
  [[nodiscard]] bool score_block(const pod_view&, scored_block& nodes) const {
    for (double& score : nodes.score) score = says;
    return true;
  }
};

a_node random_node(dice& roll, const std::string& name) {
  a_node node{name};
  node.cpu(roll.between(1, 32)).memory(std::to_string(roll.between(1, 64)) + "Gi");
  node.label("zone", "z" + std::to_string(roll.below(3))).label("disk", roll.percent(50) ? "ssd" : "hdd");
  if (roll.percent(30)) node.taint("t" + std::to_string(roll.below(3)), "", taint_effect::no_schedule);
  if (roll.percent(30)) node.taint("u", "", taint_effect::prefer_no_schedule);
  if (roll.percent(40)) node.image("image" + std::to_string(roll.below(4)), 500 << 20);
  return node.unschedulable(roll.percent(10));
}

a_pod random_pod(dice& roll, const std::string& name) {
  a_pod pod{name};
  pod.cpu_milli(roll.between(1, 3000)).memory(std::to_string(roll.between(1, 4000)) + "Mi");
  pod.priority(static_cast<std::int32_t>(roll.below(2)));
  for (int i = 0; i < 3; ++i)
    if (roll.percent(25)) pod.tolerate("t" + std::to_string(i));
  if (roll.percent(30)) pod.select("disk", roll.percent(50) ? "ssd" : "hdd");
  if (roll.percent(40))
    pod.prefer(static_cast<std::int32_t>(roll.between(1, 9)), "zone", {"z" + std::to_string(roll.below(3))});
  if (roll.percent(30)) pod.image("image" + std::to_string(roll.below(4)));
  if (roll.percent(10)) pod.port(static_cast<std::int32_t>(80 + roll.below(3)));
  if (roll.percent(10)) pod.avoid("app", "web");
  if (roll.percent(20)) pod.label("app", "web");
  return pod;
}

/// Nodes in zones and racks with a hostname each, and pods with terms and constraints about pods there.
a_node random_node_of_a_rack(dice& roll, const std::string& name) {
  affinity_dice its{roll.next()};
  its.shared_hostnames = false;
  a_node node{name};
  node.spec = its.node(name);
  return node.cpu(roll.between(1, 32));
}
a_pod random_pod_with_terms(dice& roll, const std::string& name) {
  affinity_dice its{roll.next()};
  a_pod pod{name};
  pod.spec = its.pod(name, 40);
  for (topology_spread& one : pod.spec.topology_spread_constraints)
    if (!one.selector) one.match_label_keys.clear();  // which the cluster refuses
  if (roll.percent(40))
    pod.prefer(static_cast<std::int32_t>(roll.between(1, 9)), "rack", {"r" + std::to_string(roll.below(5))});
  return pod.cpu_milli(roll.between(1, 3000));
}

using node_maker = a_node (*)(dice&, const std::string&);
using pod_maker = a_pod (*)(dice&, const std::string&);

/// The same random story in each world: nodes come, change and go, trials are taken back, pods come, are placed and go. @p kinds: of so
/// many only, if not 0.
words story(world& w, std::uint64_t seed, int nodes_at_first = 80, std::size_t most_pods = 5, std::uint64_t kinds = 0,
            node_maker make_node = random_node, pod_maker make_pod = random_pod) {
  dice roll{seed};
  words all;
  int made = 0;
  const auto add_node = [&] { w.add(make_node(roll, "n" + std::to_string(made++))); };
  for (int i = 0; i < nodes_at_first; ++i) add_node();
  for (int step = 0; step < 120; ++step) {
    const std::vector<node_id> nodes = w.cluster.nodes();
    const node_id one = nodes[roll.below(nodes.size())];
    const std::size_t what = roll.below(10);
    if (what == 0) add_node();
    if (what == 1) w.must(w.cluster.remove_node(one));
    if (what == 2 || what == 3)
      w.must(w.cluster.update_node(one, make_node(roll, std::string{w.cluster.name_of(one)})));
    if (what == 4) {
      transaction trial{w.cluster};
      w.must(w.cluster.update_node(one, make_node(roll, std::string{w.cluster.name_of(one)})));
      w.add(make_node(roll, "trial"));
      if (roll.percent(50)) CHECK(w.scheduler.verify());
    }
    for (std::size_t pods = roll.below(most_pods); pods > 0; --pods) {
      const std::string name = "p" + std::to_string(made++);
      dice kind{kinds == 0 ? 0 : roll.below(kinds)};
      w.add(make_pod(kinds == 0 ? roll : kind, name));
    }
    for (const std::string& word : w.run(true)) all.push_back(word);
    const std::vector<pod_id> pods = w.cluster.pods();
    if (!pods.empty() && roll.percent(50)) w.remove(pods[roll.below(pods.size())]);
    w.now += 1s;
  }
  CHECK(w.scheduler.verify());
  return all;
}

/// Pods of 40 classes, each of which comes once; every second one tolerates "x".
void place_forty_classes(world& w) {
  for (int i = 0; i < 40; ++i) {
    a_pod pod{"p" + std::to_string(i)};
    pod.cpu_milli(i + 1);
    if (i % 2 == 0) pod.tolerate("x");
    w.add(pod);
  }
  w.run(true);
  CHECK(w.scheduler.statistics().index_builds == 0);
}

}  // namespace

TEST_CASE("pods that all differ are placed as by an index for each", "[engine][index]") {
  std::uint64_t without = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    INFO(seed);
    scheduler_options options{.seed = seed, .ties = seed % 2 == 0 ? tie_rule::uniform : tie_rule::lowest_row};
    if (seed % 3 == 0) options.indexed_classes = 1;
    const cluster_options bounds{.log_bound = seed % 4 == 0 ? 8u : cluster_options{}.log_bound};
    world w{profiles::kube_default(), options, bounds};
    options.check_hooks = true;  // an index each, compared with one from nothing
    world indexed{profiles::kube_default(), options, bounds};
    CHECK(story(w, seed) == story(indexed, seed));
    without += w.scheduler.statistics().scans;
    CHECK(w.scheduler.statistics().index_builds < indexed.scheduler.statistics().index_builds);
  }
  CHECK(without > 500);
}

TEST_CASE("pods with terms and constraints that all differ are placed as by an index for each", "[engine][index]") {
  std::uint64_t without = 0;
  for (std::uint64_t seed = 300; seed < 312; ++seed) {
    INFO(seed);
    scheduler_options options{.seed = seed, .ties = seed % 2 == 0 ? tie_rule::uniform : tie_rule::lowest_row};
    const std::uint64_t kinds = seed % 3 == 0 ? 12 : 0;
    if (kinds != 0) options.indexed_at_once = 1 + seed % 4 * 64;
    const int nodes = seed % 4 == 0 ? 60 : 150;
    const auto told = [&](world& w) {
      return story(w, seed, nodes, 6, kinds, random_node_of_a_rack, random_pod_with_terms);
    };
    world w{profiles::kube_default(), options};
    options.check_hooks = true;  // an index each, compared with one from nothing
    world indexed{profiles::kube_default(), options};
    CHECK(told(w) == told(indexed));
    without += w.scheduler.statistics().scans;
  }
  CHECK(without > 1000);
}

TEST_CASE("blocks that cannot come up to the best are left out, and nobody gets another node for it",
          "[engine][index]") {
  std::uint64_t without = 0;
  for (std::uint64_t seed = 100; seed < 104; ++seed) {
    INFO(seed);
    scheduler_options options{.seed = seed, .ties = seed % 2 == 0 ? tie_rule::uniform : tie_rule::lowest_row};
    world w{profiles::kube_default(), options};
    options.check_hooks = true;  // an index each
    world indexed{profiles::kube_default(), options};
    CHECK(story(w, seed, 500, 12) ==
          story(indexed, seed, 500, 12));  // enough for nodes to be put in order, again and again
    without += w.scheduler.statistics().scans;
  }
  CHECK(without > 500);
}

TEST_CASE("while an index is built in parts pods get the nodes that they would get by a whole one", "[engine][index]") {
  std::uint64_t more_scans = 0;
  for (std::uint64_t seed = 200; seed < 210; ++seed) {
    INFO(seed);
    scheduler_options options{.seed = seed, .ties = seed % 2 == 0 ? tie_rule::uniform : tie_rule::lowest_row};
    options.indexed_at_once = 1 + seed % 3 * 64;
    const cluster_options bounds{.log_bound = seed % 4 == 0 ? 200u : cluster_options{}.log_bound};
    world in_parts{profiles::kube_default(), options, bounds};
    options.indexed_at_once = scheduler_options{}.indexed_at_once;
    world at_once{profiles::kube_default(), options, bounds};
    options.check_hooks = true;
    world checked{profiles::kube_default(), options, bounds};
    const words all = story(in_parts, seed, 400, 8, 5);
    CHECK(all == story(at_once, seed, 400, 8, 5));
    CHECK(all == story(checked, seed, 400, 8, 5));
    CHECK(in_parts.scheduler.statistics().scans > at_once.scheduler.statistics().scans);
    more_scans += in_parts.scheduler.statistics().scans - at_once.scheduler.statistics().scans;
  }
  CHECK(more_scans > 100);
}

TEST_CASE("a key that no other class has is asked about each node once, and then about those that changed",
          "[engine][index]") {
  const counted_usage counting;
  world w{profile{priority_sort{}, node_resources_fit{}, counting}};
  for (int i = 0; i < 100; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(8));
  for (int i = 0; i < 4; ++i) {
    w.add(a_pod{"p" + std::to_string(i)}.cpu_milli(100));
    w.run(true);
    CHECK(*counting.scored == 100 + i);
  }
  CHECK(w.scheduler.statistics().index_builds == 1);
}

TEST_CASE("an index is built of so many nodes at a time, and then it serves", "[engine][index]") {
  scheduler_options options;
  options.indexed_at_once = 128;
  world w{profiles::kube_default(), options};
  for (int i = 0; i < 640; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(64));
  std::uint64_t rows = 0;
  for (int i = 0; i < 12; ++i) {
    w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
    w.run(true);
    const engine_statistics& so_far = w.scheduler.statistics();
    // The first is placed without an index, the next while its memory is got, in two steps, and four fifths of it are built.
    CHECK(so_far.scans == std::min<std::uint64_t>(static_cast<std::uint64_t>(i) + 1, 7));
    if (i >= 1 && i <= 6) CHECK(so_far.rows_evaluated - rows <= 640 + 128 + 2);
    rows = so_far.rows_evaluated;
  }
  CHECK(w.scheduler.statistics().index_builds == 1);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a hook that failed while an index was built in parts has failed then, and not later", "[engine][index]") {
  for (const std::size_t at_once : {std::size_t{128}, std::size_t{1000}}) {
    INFO(at_once);
    scheduler_options options{.ties = tie_rule::lowest_row};
    options.indexed_at_once = at_once;
    world w{profile{priority_sort{}, node_resources_fit{}, fails_where_told{}}, options};
    for (int i = 0; i < 640; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(64));
    int made = 0;
    const auto place_one = [&] {
      const std::string pod = "p" + std::to_string(made++);
      w.add(a_pod{pod}.cpu(1));
      const cycle done = w.scheduler.schedule_cycle(w.now += 1s);
      const bool bound =
          std::any_of(done.begin(), done.end(), [](const decision& one) { return one.kind == decision_kind::bind; });
      if (bound)
        w.must(w.scheduler.confirm(w.pod(pod)));
      else
        w.remove(w.pod(pod));
      return bound;
    };
    for (int i = 0; i < 5; ++i) CHECK(place_one());  // two parts are there
    w.must(w.cluster.update_node(w.node("n600"), a_node{"n600"}.cpu(64).label("fails", "yes")));
    CHECK_FALSE(place_one());
    w.must(w.cluster.update_node(w.node("n0"), a_node{"n0"}.cpu(64).label("fails", "yes")));  // one that was asked
    CHECK_FALSE(place_one());
    for (const char* const name : {"n0", "n600"}) w.must(w.cluster.update_node(w.node(name), a_node{name}.cpu(64)));
    for (int i = 0; i < 10; ++i) CHECK(place_one());
    CHECK(w.scheduler.verify());
  }
}

TEST_CASE("a node that comes where one was, or in a trial, while an index is begun is in it or not",
          "[engine][index]") {
  scheduler_options options;
  options.indexed_at_once = 64;
  world w{profiles::kube_default(), options};
  for (int i = 0; i < 300; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(8));
  w.must(w.cluster.remove_node(w.node("n150")));
  for (int i = 0; i < 12; ++i) {
    w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
    CHECK(w.run(true).size() == 1);
    if (i == 1) w.add(a_node{"large"}.cpu(64));  // in the row that n150 had; the index has its first memory
    if (i != 3) continue;
    transaction trial{w.cluster};
    w.add(a_node{"trial"}.cpu(640));
    w.add(a_pod{"q"}.cpu(1));
    CHECK(w.scheduler.explain(w.pod("q")));
  }
  CHECK(w.scheduler.statistics().index_builds == 1);
  CHECK(w.scheduler.verify());
}

TEST_CASE("nodes are put in order a stretch at a time, and a pod's node is still one of the best", "[engine][index]") {
  world w{profiles::kube_default(), scheduler_options{.ties = tie_rule::lowest_row, .indexed_classes = 1}};
  dice roll{5};
  for (int i = 0; i < 9000; ++i) w.add(random_node(roll, "n" + std::to_string(i)));
  std::size_t compared = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string name = "p" + std::to_string(i);
    w.add(random_pod(roll, name));
    const bool compare = i % 16 == 15;
    std::string expected;
    if (compare) {
      std::int64_t best = -1;
      const result<explanation> said = w.scheduler.explain(w.pod(name));
      REQUIRE(said);
      for (const node_verdict& one : said->nodes)
        if (one.code == code::success && one.total > best) best = one.total, expected = one.name;
    }
    const words done = w.run(true);
    if (!compare || expected.empty()) continue;
    CHECK(done == words{"bind " + name + " " + expected});
    ++compared;
  }
  CHECK(compared > 15);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a hook that reads a part of the pod is asked once for all that are alike in it", "[engine][index]") {
  const counted plugin;
  world w{profile{priority_sort{}, node_resources_fit{}, counted{plugin}}};
  for (int i = 0; i < 100; ++i) {
    a_node node{"n" + std::to_string(i)};
    node.cpu(64);
    if (i % 2 == 0) node.label("closed", "yes");
    w.add(node);
  }
  place_forty_classes(w);
  CHECK(*plugin.filtered == 200);  // 100 nodes for each of two lists of tolerations
  CHECK(*plugin.scored == 100);
  // A node that changes is asked about again, and no other.
  w.must(w.cluster.update_node(w.node("n1"), a_node{"n1"}.cpu(64).label("closed", "yes")));
  w.add(a_pod{"q"}.cpu_milli(777));
  CHECK(w.run(true).size() == 1);
  CHECK(*plugin.filtered == 201);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a hook that says which labels it looks at is asked once for all nodes that are alike in them",
          "[engine][index]") {
  const counted_by_label plugin;
  world w{profile{priority_sort{}, node_resources_fit{}, counted_by_label{plugin}}};
  const auto node_of = [](int i, bool closed) {
    a_node node{"n" + std::to_string(i)};
    node.cpu(64).label("own", std::to_string(i));
    if (closed) node.label("closed", "yes");
    return node;
  };
  for (int i = 0; i < 100; ++i) w.add(node_of(i, i % 2 == 0));
  place_forty_classes(w);
  CHECK(*plugin.filtered == 4);  // nodes that are closed and others, for each of two lists of tolerations
  CHECK(*plugin.scored == 4);
  w.must(w.cluster.update_node(w.node("n1"), node_of(1, true)));
  w.add(a_pod{"q"}.cpu_milli(777));
  CHECK(w.run(true).size() == 1);
  CHECK(*plugin.filtered == 5);
  w.add(a_pod{"r"}.cpu_milli(778).tolerate("y"));
  CHECK(w.run(true).size() == 1);
  CHECK(*plugin.filtered == 7);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a key that says what it is computed from is asked once for all classes that are alike in that",
          "[engine][index]") {
  const counted_key plugin;
  world w{profile{priority_sort{}, node_resources_fit{}, counted_key{plugin}}};
  for (int i = 0; i < 100; ++i)
    w.add(a_node{"n" + std::to_string(i)}
              .cpu(64)
              .label("rack", "r" + std::to_string(i % 4))
              .label("kubernetes.io/hostname", "n" + std::to_string(i)));
  for (int i = 0; i < 20; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu_milli(i + 1).avoid("app", std::to_string(i)));
  w.run(true);
  CHECK(*plugin.asked == 100);
  // Where a pod is that the anti-affinity is about the key is another one, and is asked for.
  w.add(a_pod{"web"}.cpu_milli(500).label("app", "web").on(w.node("n7")));
  w.add(a_pod{"q"}.cpu(63).avoid("app", "web"));
  const words done = w.run(true);
  CHECK(done.size() == 1);
  CHECK(done != words{"bind q n7"});
  CHECK(*plugin.asked == 101);
  CHECK(w.scheduler.statistics().index_builds == 0);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a block is rated in [0, 100], or the cycle ends with an error", "[engine][index]") {
  for (const double says : {101.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    world w{profile{priority_sort{}, node_resources_fit{}, beyond{says}}};
    for (int i = 0; i < 3; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(4));
    w.add(a_pod{"p"}.cpu(1));
    const cycle done = w.scheduler.schedule_cycle(w.now);
    REQUIRE(done.error() != nullptr);
    CHECK(done.error()->message().find("Beyond") != std::string::npos);
  }
  world w{profile{priority_sort{}, node_resources_fit{}, beyond{100.0}}};
  w.add(a_node{"n"}.cpu(4));
  w.add(a_pod{"p"}.cpu(1));
  CHECK(w.run(true) == words{"bind p n"});
}

TEST_CASE("a class that comes again soon gets an index, one that comes seldom does not", "[engine][index]") {
  world w;
  for (int i = 0; i < 64; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(64));
  for (int i = 0; i < 20; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
  w.run(true);
  CHECK(w.scheduler.statistics().index_builds == 1);
  CHECK(w.scheduler.statistics().scans == 1);
  for (int turn = 0; turn < 3; ++turn)
    for (int i = 0; i < 30; ++i) w.add(a_pod{"q" + std::to_string(turn) + "-" + std::to_string(i)}.cpu_milli(100 + i));
  w.run(true);
  CHECK(w.scheduler.statistics().index_builds == 1);
  CHECK(w.scheduler.statistics().scans == 91);
}

TEST_CASE("as many classes have an index as take the memory of 64 in a large cluster", "[engine][index]") {
  const auto built = [](std::size_t indexed_classes) {
    world w{profile{priority_sort{}, node_resources_fit{}}, scheduler_options{.indexed_classes = indexed_classes}};
    for (int i = 0; i < 2600; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(64));
    for (int turn = 0; turn < 4; ++turn)
      for (int i = 0; i < 70; ++i)
        w.add(a_pod{"q" + std::to_string(turn) + "-" + std::to_string(i)}.cpu_milli(100 + i));
    w.run(true);
    CHECK(w.scheduler.verify());
    return w.scheduler.statistics().index_builds;
  };
  CHECK(built(0) == 70);    // one each
  CHECK(built(64) == 210);  // each is gone when its class comes again
}

TEST_CASE("a node that comes late is found by classes whose hooks have no keys", "[engine][index]") {
  world w{profile{priority_sort{}, node_resources_fit{}}};
  w.add(a_node{"first"}.cpu(1));
  w.add(a_pod{"p"}.cpu_milli(900));
  CHECK(w.run(true) == words{"bind p first"});
  w.add(a_node{"late"}.cpu(1));
  w.add(a_pod{"q"}.cpu_milli(901));
  CHECK(w.run(true) == words{"bind q late"});
  CHECK(w.scheduler.statistics().index_builds == 0);
}

}  // namespace gangsched::testing::node_answers_test
