// Hooks that see nothing of a node but its amounts are asked once for nodes with the same amounts; the answers are those of asking all.
#include <map>

#include "gangsched/framework/amount_block.hpp"
#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::amount_memory_test {

namespace {

/// Counts how often it is asked; refuses nodes with an odd number of pods if @p odd_too is false.
struct by_amounts {
  static constexpr std::string_view name = "ByAmounts";
  using points = implements<point::filter, point::score>;
  std::size_t* filtered;
  std::size_t* scored;
  bool odd_too = true;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::allocatable | reads::usage> node) const {
    ++*filtered;
    return odd_too || node.used(kinds::pods) % 2 == 0 ? status::success() : status::unschedulable("odd");
  }
  [[nodiscard]] std::int64_t capacity(const pod_view&, node_view<reads::allocatable | reads::usage> node) const {
    return node.free(kinds::pods);
  }
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::usage> node) const {
    ++*scored;
    return std::max<std::int64_t>(0, 100 - node.used(kinds::pods));
  }
};

/// Refuses what is labelled so, and says so before or after the other.
struct by_label {
  static constexpr std::string_view name = "ByLabel";
  using points = implements<point::filter>;
  std::size_t* asked;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::labels | reads::pods> node) const {
    ++*asked;
    return node.label("closed") ? status::unschedulable("closed") : status::success();
  }
};

/// Takes one pod where few volumes can be attached.
struct by_limits {
  static constexpr std::string_view name = "ByLimits";
  using points = implements<point::filter, point::score>;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::allocatable | reads::usage> node) const {
    const bool few = std::any_of(node.volume_limits().begin(), node.volume_limits().end(),
                                 [](const auto& one) { return one.most < 2; });
    return few && node.used(kinds::pods) > 0 ? status::unschedulable("few volumes") : status::success();
  }
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::usage>) const { return 0; }
};

/// Takes few pods, fewer of those that want more; told to, it says what is no score.
struct few_pods {
  static constexpr std::string_view name = "FewPods";
  using points = implements<point::filter, point::score>;
  using room = node_view<reads::allocatable | reads::usage>;
  const bool* wrong;
  [[nodiscard]] static std::int64_t most(const pod_view& pod) { return 6 - pod.request(kinds::cpu) / 1000; }
  [[nodiscard]] std::int64_t rate(std::int64_t pods) const { return *wrong ? 101 : 100 - 7 * pods; }
  [[nodiscard]] status filter(const pod_view& pod, room node) const {
    return node.used(kinds::pods) < most(pod) ? status::success() : status::unschedulable("many");
  }
  [[nodiscard]] std::int64_t score(const pod_view&, room node) const { return rate(node.used(kinds::pods)); }
};

/// The same in blocks.
struct few_pods_in_blocks {
  static constexpr std::string_view name = few_pods::name;
  using points = few_pods::points;
  few_pods plain;
  std::size_t* narrow;
  [[nodiscard]] status filter(const pod_view& pod, few_pods::room node) const { return plain.filter(pod, node); }
  [[nodiscard]] std::int64_t score(const pod_view& pod, few_pods::room node) const { return plain.score(pod, node); }
  [[nodiscard]] bool filter_block(const pod_view& pod, filtered_block& nodes) const {
    if (!nodes.exact(kinds::pods)) return false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool many = nodes.used(kinds::pods)[i] >= static_cast<double>(few_pods::most(pod));
      nodes.rejected |= std::uint64_t{many} << i;
    }
    return true;
  }
  [[nodiscard]] bool score_block(const pod_view&, scored_block& nodes) const {
    if (!nodes.exact(kinds::pods)) return false;
    *narrow += nodes.size() < amount_block::rows;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      nodes.score[i] = static_cast<double>(plain.rate(static_cast<std::int64_t>(nodes.used(kinds::pods)[i])));
    return true;
  }
};

/// A profile of these alone.
template <class... P>
kernel_table only(P... plugins) {
  kernel_table table;
  add_plugin(table, lower(priority_sort{}));
  (add_plugin(table, lower(plugins)), ...);
  return table;
}

void add_nodes(world& w, int count) {
  for (int i = 0; i < count; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(64));
}

/// How many pods go to each node.
std::map<std::string, int> placed_on(world& w) {
  std::map<std::string, int> made;
  for (const std::string& word : w.run()) ++made[word.substr(word.rfind(' ') + 1)];
  return made;
}

}  // namespace

TEST_CASE("Nodes that become alike are asked about once", "[engine][amounts]") {
  std::size_t filtered = 0, scored = 0;
  world w{only(by_amounts{&filtered, &scored})};
  add_nodes(w, 20);
  for (int i = 0; i < 60; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
  const std::map<std::string, int> made = placed_on(w);
  CHECK(made.size() == 20);
  for (const auto& [node, pods] : made) CHECK(pods == 3);
  // Each of 20 when the index was built, and a node with one, two and three pods; the last of which nobody asked about.
  CHECK(filtered <= 20 + 3);
  CHECK(filtered >= 20 + 2);
  CHECK(scored == filtered);
}

TEST_CASE("Where few nodes are alike the memory rests, and then begins again", "[engine][amounts]") {
  std::size_t filtered = 0, scored = 0;
  world w{only(by_amounts{&filtered, &scored})};
  for (int i = 0; i < 2000; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(64 + i));
  int pods = 0;
  const auto place = [&](int count) {
    std::map<std::string, int> made;
    for (int i = 0; i < count; ++i) {
      w.add(a_pod{"p" + std::to_string(pods++)}.cpu(1));
      made.merge(placed_on(w));
    }
    return made;
  };
  // A pod on each of some, no two of which are alike: everything is asked, and after 64 in vain the next 1,024 are not looked up.
  CHECK(place(100).size() == 100);
  CHECK(filtered == 2000 + 99);  // (the last of them is asked about when the next pod comes)
  // New nodes are alike, and asked about one by one while it rests …
  for (int i = 0; i < 200; ++i) w.add(a_node{"m" + std::to_string(i)}.cpu(64));
  CHECK(place(1).size() == 1);
  CHECK(filtered == 2100 + 200);
  CHECK(place(2099).size() == 2099);
  // … but not for ever: of the second pods on them some find the memory awake.
  const std::size_t before = filtered;
  CHECK(place(2200).size() == 2200);
  CHECK(filtered < before + 2200);
}

TEST_CASE("What is seen beside amounts is asked of every node, in the profile's order", "[engine][amounts]") {
  std::size_t filtered = 0, scored = 0, asked = 0;
  const bool label_first = GENERATE(true, false);
  const by_amounts amounts{&filtered, &scored, false};
  world w{label_first ? only(by_label{&asked}, amounts) : only(amounts, by_label{&asked})};
  add_nodes(w, 10);
  for (const char* name : {"n3", "n4"}) {
    node_spec closed = a_node{name}.cpu(64);
    closed.labels["closed"] = "yes";
    REQUIRE(w.cluster.update_node(w.node(name), closed));
  }
  for (int i = 0; i < 12; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
  std::map<std::string, int> made = placed_on(w);
  // One pod makes a node odd.
  for (int i = 0; i < 10; ++i) CHECK(made["n" + std::to_string(i)] == (i == 3 || i == 4 ? 0 : 1));
  CHECK(filtered == (label_first ? 8u : 10u) + 1);
  // Label first: of every node, and of each that took a pod. Amounts first: only of those that are even.
  CHECK(asked == (label_first ? 10u + 8u : 10u));
}

TEST_CASE("Volume limits are seen beside amounts", "[engine][amounts]") {
  world w{only(by_limits{})};
  node_spec limited = a_node{"limited"}.cpu(64);
  limited.volume_limits["csi"] = 1;
  w.add(limited);
  w.add(a_node{"plain"}.cpu(64));
  for (int i = 0; i < 6; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
  std::map<std::string, int> made = placed_on(w);
  CHECK(made["limited"] == 1);
  CHECK(made["plain"] == 5);
}

TEST_CASE("Rows that change between two picks of a class are asked about together as one by one",
          "[engine][amounts][differential]") {
  std::size_t evaluated = 0, placed = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    dice any{seed};
    world w;
    const auto node = [&](const std::string& name) {
      a_node made{name};
      made.cpu_milli(any.between(500, 9000)).memory(std::to_string(any.between(700, 20000)) + "Mi");
      if (any.percent(20)) made.zone(std::string(1, static_cast<char>('a' + any.below(3))));
      if (any.percent(10)) made.taint("kept", "", taint_effect::no_schedule);
      if (any.percent(10)) made.taint("busy", "", taint_effect::prefer_no_schedule);
      return made;
    };
    std::vector<std::string> nodes;
    for (int i = 0; i < 150; ++i) w.add(node(nodes.emplace_back("n" + std::to_string(i))));
    std::vector<pod_id> running;
    for (int step = 0; step < 60; ++step) {
      for (int i = 0; i < 30; ++i) {
        a_pod pod{"p" + std::to_string(step) + "-" + std::to_string(i)};
        pod.cpu_milli(100 + 10 * (i % 10)).memory("150Mi");
        if (i % 10 == 3) pod.prefer(2, "topology.kubernetes.io/zone", {"b"});
        if (i % 10 == 4) pod.tolerate("kept");
        if (i % 10 == 5) pod.port(80);
        w.add(pod);
      }
      for (const char* change : {"node", "node", "gone"}) {
        if (change[0] == 'n') {
          const std::string name = any.of(nodes);
          w.must(w.cluster.update_node(w.node(name), node(name)));
        } else if (!running.empty()) {
          const std::size_t at = any.below(running.size());
          w.must(w.cluster.remove_pod(running[at]));
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
        }
      }
      while (const cycle made = w.decide()) {
        for (const decision& one : made) {
          if (one.kind != decision_kind::bind) continue;
          ++placed;
          running.push_back(one.pod);
          REQUIRE(w.scheduler.confirm(one.pod));
        }
        if (any.percent(10)) REQUIRE(w.scheduler.verify());
      }
      REQUIRE(w.scheduler.verify());
    }
    evaluated += w.scheduler.statistics().rows_evaluated;
  }
  CHECK(placed > 10'000);
  CHECK(evaluated > 8 * placed);  // ten classes: several nodes have changed at most picks
}

TEST_CASE("Blocks of few rows say what is said of each, errors included", "[engine][amounts][differential]") {
  std::size_t narrow = 0, filtered = 0, scored = 0, binds = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    dice any{seed};
    bool wrong = false;
    const by_amounts beside{&filtered, &scored};
    world by_row{only(few_pods{&wrong}, beside)}, by_block{only(few_pods_in_blocks{{&wrong}, &narrow}, beside)};
    for (world* const w : {&by_row, &by_block}) add_nodes(*w, 90);
    std::vector<std::string> running;
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t shuffled = any.next();
      for (int i = 0; i < 18; ++i) {
        const std::string name = "p" + std::to_string(step) + "-" + std::to_string(i);
        for (world* const w : {&by_row, &by_block}) w->add(a_pod{name}.cpu_milli(500 * (1 + i % 6)));
      }
      for (std::uint64_t i = 0; i < 14 && !running.empty(); ++i) {
        const std::size_t at = (shuffled >> i) % running.size();
        for (world* const w : {&by_row, &by_block}) w->must(w->cluster.remove_pod(w->pod(running[at])));
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      }
      const words said = by_row.run(true);
      REQUIRE(by_block.run(true) == said);
      for (const std::string& word : said) {
        if (!word.starts_with("bind ")) continue;
        ++binds;
        running.push_back(word.substr(5, word.rfind(' ') - 5));
      }
      REQUIRE(by_block.scheduler.verify());
    }
    // The nodes that changed since the last pick of the class are said to have what is no score.
    for (int i = 1; i < 6; ++i) by_block.add(a_pod{"late" + std::to_string(i)}.cpu_milli(500 * (1 + i)));
    by_block.run(true);
    by_block.add(a_pod{"last"}.cpu_milli(500));
    const std::size_t before = narrow;
    wrong = true;
    const cycle failed = by_block.scheduler.schedule_cycle(by_block.now);
    REQUIRE(failed.error() != nullptr);
    CHECK(failed.error()->message().find("FewPods") != std::string::npos);
    CHECK(narrow > before);
  }
  CHECK(binds > 5'000);
  CHECK(narrow > binds / 2);
}

}  // namespace gangsched::testing::amount_memory_test
