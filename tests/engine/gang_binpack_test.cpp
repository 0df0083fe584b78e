// The numbers of examples/gang_binpack.cpp: recomputed by hand from Koordinator's formula, 20 + 2 + 1 = 23 parts,
// (20 * dongle + 2 * cpu + memory) / 23 with every share truncated: 794/23, 1288/23, 1782/23, 2276/23.
#include <gangsched/gangsched.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::gang_binpack_test {

namespace {

using namespace gangsched::literals;
constexpr const char* dongle = "example.com/dongle";

kernel_table fit_plus() {
  const auto by = [](const char* type, int weight) { return argument::fields{{"type", type}, {"weight", weight}}; };
  const argument packs{argument::fields{{"resources", argument::fields{{dongle, by("MostAllocated", 20)},
                                                                       {"cpu", by("LeastAllocated", 2)},
                                                                       {"memory", by("LeastAllocated", 1)}}}}};
  const plugin_registry plugins = builtin_plugins();
  return runtime_profile{plugins}
      .enable("PrioritySort")
      .enable("NodeResourcesFit")
      .disable("NodeResourcesFit", point::score)
      .enable("NodeResourcesFitPlus", 1, packs)
      .enable("GangScheduling")
      .table()
      .value();
}

cluster two_workers() {
  cluster made;
  for (const char* name : {"worker-a", "worker-b"}) {
    REQUIRE(made.add_node(
        {.name = name, .allocatable = {{dongle, 8}, {"cpu", "2000m"_q}, {"memory", "2200M"_q}, {"pods", 110}}}));
  }
  return made;
}

/// The workers, their scheduler, and a host that confirms every bind.
struct workers {
  explicit workers(const scheduler_options& options) : hosts(two_workers()), core(hosts, fit_plus(), options) {}

  cluster hosts;
  scheduler core;
  int added = 0;

  std::vector<pod_id> add_pods(group_id group, int count) {
    std::vector<pod_id> pods;
    for (int i = 0; i < count; ++i) {
      pods.push_back(hosts
                         .add_pod({.name = "pod-" + std::to_string(added++),
                                   .containers = {{.requests = {{dongle, 2}, {"cpu", "40m"_q}, {"memory", "40Mi"_q}}}},
                                   .group = group})
                         .value());
    }
    return pods;
  }
  /// Runs everybody who can; the scores of the nodes chosen, in order.
  std::vector<std::int64_t> run() {
    std::vector<std::int64_t> scores;
    while (auto cycle = core.schedule_cycle(instant{})) {
      for (const decision& d : cycle) {
        if (d.kind != decision_kind::bind) continue;
        scores.push_back(d.score);
        REQUIRE(core.confirm(d.pod));
      }
    }
    return scores;
  }
  /// Dongles in use, fuller node first.
  std::vector<std::int64_t> dongles() {
    std::vector<std::int64_t> used;
    for (const node_id node : hosts.nodes()) used.push_back(hosts.requested(node, dongle));
    std::sort(used.rbegin(), used.rend());
    return used;
  }
  /// What the pod would score, better node first; nodes that reject it are absent.
  std::vector<std::int64_t> sheet(pod_id pod) {
    std::vector<std::int64_t> totals;
    for (const node_verdict& node : core.explain(pod).value().nodes) {
      if (node.code == code::success) totals.push_back(node.total);
    }
    std::sort(totals.rbegin(), totals.rend());
    return totals;
  }
};

using numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a gang of three lands on one node, scaled to five it fills it and puts one pod on the other",
          "[engine][gang]") {
  const auto seed = GENERATE(range<std::uint64_t>(0, 8));
  workers w{{.seed = seed}};

  const group_id train = w.hosts.add_group({.name = "train", .policy = gang{.min_count = 3}}).value();
  const auto first = w.add_pods(train, 3);
  CHECK(w.sheet(first[0]) == numbers{34, 34});
  CHECK(w.run() == numbers{34, 56, 77});
  CHECK(w.dongles() == numbers{6, 0});
  for (const pod_id pod : first) CHECK(w.hosts.state_of(pod) == pod_state::bound);

  REQUIRE(w.hosts.update_group(train, {.name = "train", .policy = gang{.min_count = 5}}));
  const auto more = w.add_pods(train, 2);
  CHECK(w.sheet(more[0]) == numbers{98, 34});
  CHECK(w.run() == numbers{98, 34});
  CHECK(w.dongles() == numbers{8, 2});
}

TEST_CASE("the score sheet of each step names plugin, score and weight", "[engine][gang][explain]") {
  workers w{{.ties = tie_rule::lowest_row}};
  const group_id train = w.hosts.add_group({.name = "train", .policy = gang{.min_count = 1}}).value();
  for (const numbers& expected : {numbers{34, 34}, {56, 34}, {77, 34}, {98, 34}, {34}}) {
    const auto pod = w.add_pods(train, 1);
    const explanation sheet = w.core.explain(pod[0]).value();
    REQUIRE(sheet.nodes.size() == 2);
    CHECK(w.sheet(pod[0]) == expected);
    for (const node_verdict& node : sheet.nodes) {
      if (node.code != code::success) {
        CHECK(node.plugin == "NodeResourcesFit");
        CHECK(node.reasons == std::vector<std::string>{"Insufficient example.com/dongle"});
        continue;
      }
      REQUIRE(node.scores.size() == 1);
      CHECK(node.scores[0].plugin == "NodeResourcesFitPlus");
      CHECK(node.scores[0].raw == node.total);
      CHECK(node.scores[0].weight == 1);
    }
    CHECK(w.run() == numbers{expected[0]});
  }
  CHECK(w.dongles() == numbers{8, 2});
}

TEST_CASE("members that wait for each other in the permit room land on the same nodes", "[engine][gang][permit]") {
  workers w{{}};
  const group_id train =
      w.hosts.add_group({.name = "train", .policy = gang{.min_count = 5, .mode = gang_mode::permit}}).value();
  const auto pods = w.add_pods(train, 5);
  for (int waiting = 1; waiting <= 4; ++waiting) {
    const cycle one = w.core.schedule_cycle(instant{});
    REQUIRE(one.decisions().size() == 1);
    CHECK(one.decisions()[0].kind == decision_kind::wait);
    CHECK(w.core.counts().waiting == static_cast<std::size_t>(waiting));
  }
  CHECK(w.run() == numbers{34});  // the fifth need not wait
  for (const decision& d : w.core.permit(instant{})) {
    CHECK(d.kind == decision_kind::bind);
    CHECK(w.core.confirm(d.pod));
  }
  for (const pod_id pod : pods) CHECK(w.hosts.state_of(pod) == pod_state::bound);
  CHECK(w.dongles() == numbers{8, 2});
}

TEST_CASE("in the walk-through a gang that does not fit leaves nothing behind", "[engine][gang]") {
  workers w{{}};
  const group_id train = w.hosts.add_group({.name = "train", .policy = gang{.min_count = 5}}).value();
  w.add_pods(train, 5);
  w.run();
  REQUIRE(w.dongles() == numbers{8, 2});

  const group_id large = w.hosts.add_group({.name = "large", .policy = gang{.min_count = 4}}).value();
  const auto pods = w.add_pods(large, 4);  // room for three
  const std::uint64_t before = inside(w.hosts).digest_with_derived();
  CHECK(w.run().empty());
  CHECK(inside(w.hosts).digest_with_derived() == before);
  for (const pod_id pod : pods) CHECK(w.hosts.state_of(pod) == pod_state::pending);
  CHECK(w.core.verify());
}

}  // namespace gangsched::testing::gang_binpack_test
