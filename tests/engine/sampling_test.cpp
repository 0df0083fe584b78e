// percentageOfNodesToScore: kube-scheduler with one worker, as the reference does it, node by node.
#include "differential_profiles.hpp"
#include "world.hpp"

namespace gangsched::testing::sampling_test {

namespace {

a_node random_node(dice& roll, std::size_t number) {
  a_node node{"n" + std::to_string(number)};
  node.cpu(static_cast<std::int64_t>(1 + roll.below(4)))
      .memory("8Gi")
      .pods(static_cast<std::int64_t>(1 + roll.below(5)));
  node.zone("z" + std::to_string(roll.below(4)));
  if (roll.percent(50)) node.label(color_label, roll.percent(50) ? "red" : "green");
  if (roll.percent(10)) node.taint("dedicated", "ml");
  return node;
}

a_pod random_pod(dice& roll, const std::string& name, std::size_t nodes) {
  a_pod pod{name};
  pod.cpu_milli(static_cast<std::int64_t>(100 + 300 * roll.below(5)));
  if (roll.percent(15)) pod.tolerate("dedicated", "ml");
  if (roll.percent(10)) pod.select(color_label, "red");
  if (roll.percent(15)) {  // by name: the list that is gone round is a short one
    std::vector<node_selector_term> terms;
    for (std::size_t i = 0; i < 3; ++i) {
      terms.push_back(
          {.match_fields = {{"metadata.name", selector_operator::in, {"n" + std::to_string(roll.below(nodes))}}}});
    }
    pod.spec.affinity.required = std::move(terms);
  }
  return pod;
}

void agree(std::uint64_t seed) {
  dice roll{seed};
  threefold_profile made = make_profile(static_cast<unsigned>(seed % profile_kinds), roll);
  const std::int32_t percentage = std::vector{0, 5, 30, 70, 100}[roll.below(5)];
  made.compiled.percentage_of_nodes_to_score = percentage;
  const tie_rule ties = std::vector{tie_rule::kube_heap, tie_rule::uniform, tie_rule::lowest_row}[roll.below(3)];
  world w{std::move(made.compiled), {.seed = seed, .ties = ties}};
  reference::world plain;
  const reference::options rules{made.rules, seed, ties, percentage};
  const std::size_t nodes = 60 + roll.below(200);
  for (std::size_t i = 0; i < nodes; ++i) {
    const a_node node = random_node(roll, i);
    plain.put_node(w.add(node), node);
  }
  std::uint64_t decisions = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    if (roll.percent(5)) {
      const auto gone = w.cluster.find_node("n" + std::to_string(roll.below(nodes)));
      if (gone && w.cluster.remove_node(*gone)) plain.drop_node(*gone);
    }
    a_pod pod = random_pod(roll, "p" + std::to_string(i), nodes);
    if (roll.percent(15)) {
      if (const auto hoped = w.cluster.find_node("n" + std::to_string(roll.below(nodes)))) pod.nominated(*hoped);
    }
    const pod_id id = w.add(pod);
    plain.put_pod(id, pod);
    const cycle done = w.scheduler.schedule_cycle(w.now);
    REQUIRE(done.decisions().size() == 1);
    const reference::choice expected = reference::choose(plain, id, rules, decisions);
    decisions = w.scheduler.statistics().decisions;
    plain.start = expected.start;
    const decision& got = done.decisions()[0];
    INFO("seed " << seed << ", pod " << i << ", " << nodes << " nodes, " << percentage << " %");
    REQUIRE((got.kind == decision_kind::bind) == (expected.node != no_row));
    if (expected.node == no_row) {
      w.must(w.cluster.remove_pod(id));
      plain.pods.erase(id);
      continue;
    }
    REQUIRE(got.node.row == expected.node);
    REQUIRE(got.score == expected.score);
    w.confirm(id);
    plain.place(id, expected.node, reference::stage::bound);
  }
  CHECK(w.scheduler.verify());
}

}  // namespace

TEST_CASE("with a part of the nodes scored the engine and the reference agree", "[engine][sampling]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) agree(seed);
}

TEST_CASE("how many feasible nodes are enough", "[engine][sampling]") {
  // The first pod goes to the first node; of nodes all examined it is the next that is emptier, else the first of the next round.
  const auto second_begins_at = [](int nodes, std::optional<std::int32_t> percentage) {
    kernel_table table = profile{priority_sort{}, node_resources_fit{}};
    table.percentage_of_nodes_to_score = percentage;
    world w{std::move(table), {.ties = tie_rule::kube_heap}};
    for (int i = 0; i < nodes; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(1));
    w.add(a_pod{"a"});
    w.add(a_pod{"b"});
    w.run();
    return w.cluster.node_of(w.pod("b")).row;
  };
  CHECK(second_begins_at(99, 10) == 1);  // few: all of them
  CHECK(second_begins_at(400, {}) == 1);
  CHECK(second_begins_at(400, 100) == 1);
  CHECK(second_begins_at(400, 10) == 100);  // never fewer than 100
  CHECK(second_begins_at(400, 30) == 120);
  CHECK(second_begins_at(1000, 0) == 420);
  CHECK(second_begins_at(6000, 0) == 300);
}

}  // namespace gangsched::testing::sampling_test
