// Preemption and the planning of moves asked by themselves: what they answer, and that nothing but nominations is written.
#include "gangsched/engine/preemption.hpp"

#include "engine_parts.hpp"
#include "gangsched/engine/move_planner.hpp"

namespace gangsched::testing::preemption_parts_test {

using engine::preemption_result;

namespace {

struct setting : engine_parts {
  using engine_parts::engine_parts;
  pod_id running(const char* name, node_id node, int cores, int priority = 0) {
    return add(a_pod{name}.cpu(cores).priority(priority).on(node));
  }
  [[nodiscard]] words names_of(std::span<const preemption_result::eviction> victims) const {
    words all;
    for (const auto& one : victims) all.emplace_back(cluster.name_of(one.pod));
    return all;
  }
  /// "pod node", or "pod" alone for one that is to be rejected.
  [[nodiscard]] words said(const preemption_result& found) const {
    words all;
    for (const auto& [pod, node] : found.words) {
      all.emplace_back(cluster.name_of(pod_id{pod, state.pods.rows.generation(pod)}));
      if (node) (all.back() += ' ') += cluster.name_of(*node);
    }
    return all;
  }
  [[nodiscard]] std::string nominated(pod_id pod) const {
    const row_t node = state.pods.nominated[pod.row];
    return node == no_row ? "" : std::string{cluster.name_of(node_id{node, state.nodes.rows.generation(node)})};
  }
};

}  // namespace

TEST_CASE("a pod's preemption nominates it, names the victims, and leaves them where they are",
          "[engine][preemption][parts]") {
  setting s;
  const node_id node = s.add(a_node{"n"}.cpu(2));
  s.running("cheap", node, 2);
  const pod_id pod = s.add(a_pod{"dear"}.cpu(2).priority(9));
  const engine::picked refused = s.picks.pick(pod.row);
  REQUIRE(refused.node == no_row);
  const preemption_result found = s.room.for_pod(pod.row, refused.rejectors);
  CHECK(found.helped);
  CHECK(found.broken.ok());
  CHECK(s.said(found) == words{"dear n"});
  CHECK(s.names_of(found.victims) == words{"cheap"});
  REQUIRE(found.waits.size() == 1);
  CHECK(found.waits[0].pod == pod.row);
  CHECK(found.waits[0].rejectors == refused.rejectors);
  CHECK(s.nominated(pod) == "n");
  CHECK(s.cluster.requested(node, "cpu") == 2000);
}

TEST_CASE("a pod for which nobody may go gets nothing", "[engine][preemption][parts]") {
  setting s;
  const node_id node = s.add(a_node{"n"}.cpu(2));
  s.running("equal", node, 2, 9);
  const pod_id pod = s.add(a_pod{"dear"}.cpu(2).priority(9));
  const std::uint64_t before = s.state.digest_with_derived();
  const preemption_result found = s.room.for_pod(pod.row, s.picks.pick(pod.row).rejectors);
  CHECK_FALSE(found.helped);
  CHECK(found.words.empty());
  CHECK(found.victims.empty());
  CHECK(s.state.digest_with_derived() == before);
}

TEST_CASE("who is nominated takes the nomination of less important pods on the node", "[engine][preemption][parts]") {
  setting s;
  const node_id node = s.add(a_node{"n"}.cpu(2));
  s.running("cheap", node, 2);
  const pod_id meant = s.add(a_pod{"meant"}.cpu(2).priority(1).nominated(node));
  const pod_id pod = s.add(a_pod{"dear"}.cpu(2).priority(9));
  CHECK(s.nominated(meant) == "n");
  CHECK(s.room.for_pod(pod.row, s.picks.pick(pod.row).rejectors).helped);
  CHECK(s.nominated(pod) == "n");
  CHECK(s.nominated(meant).empty());
}

TEST_CASE("a member in permit mode gets room with all whom the minimum lacks, or nobody goes",
          "[engine][preemption][parts]") {
  const int dear = GENERATE(0, 9);
  setting s;
  const node_id a = s.add(a_node{"a"}.cpu(1)), b = s.add(a_node{"b"}.cpu(1));
  s.running("on-a", a, 1), s.running("on-b", b, 1, dear);
  const group_id gang = s.add(a_gang{"g", 2}.permit());
  const pod_id first = s.add(a_pod{"p"}.cpu(1).priority(5).in(gang));
  s.add(a_pod{"q"}.cpu(1).priority(5).in(gang));
  const preemption_result found = s.room.for_pod(first.row, s.picks.pick(first.row).rejectors);
  CHECK(found.helped == (dear == 0));
  CHECK(s.said(found) == (dear == 0 ? words{"p a", "q b"} : words{}));
  CHECK(sorted(s.names_of(found.victims)) == (dear == 0 ? words{"on-a", "on-b"} : words{}));
  CHECK(s.cluster.assumed().empty());
}

TEST_CASE("a gang's preemption nominates its members, and rejects those who have no place",
          "[engine][preemption][parts]") {
  setting s;
  const node_id node = s.add(a_node{"n"}.cpu(2));
  s.running("cheap", node, 2);
  const group_id gang = s.add(a_gang{"g", 2}.priority(9));
  for (const char* name : {"p", "q", "r"}) s.add(a_pod{name}.cpu(1).priority(9).in(gang));
  REQUIRE_FALSE(s.search.place(s.parts.of(gang.row)).verdict.ok());
  const preemption_result found = s.room.for_group(gang.row);
  CHECK(found.helped);
  CHECK(s.said(found) == words{"p n", "q n", "r"});
  CHECK(s.names_of(found.victims) == words{"cheap"});
  CHECK(found.waits.empty());
  CHECK(s.cluster.assumed().empty());
}

TEST_CASE("as in 1.36 members preempt for themselves while their group is placed, and the group waits",
          "[engine][preemption][parts]") {
  kernel_table singly = profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, default_preemption{}};
  setting s{cluster_options{.semantics = kube_semantics{kube_release::v1_36}}, std::move(singly)};
  s.search.let_members_preempt(s.room);
  const node_id a = s.add(a_node{"a"}.cpu(1));
  s.add(a_node{"b"}.cpu(1));
  s.running("cheap", a, 1);
  const group_id gang = s.add(a_gang{"g", 2});
  const pod_id p = s.add(a_pod{"p"}.cpu(1).priority(9).in(gang)), q = s.add(a_pod{"q"}.cpu(1).priority(9).in(gang));
  CHECK(s.room.preempts(gang.row));
  const engine::group_placement tried = s.search.place(s.parts.of(gang.row));
  CHECK(tried.verdict.code == code::unschedulable);
  CHECK(tried.members.empty());
  const preemption_result found = s.room.for_group(gang.row);
  CHECK(found.helped);
  CHECK(s.names_of(found.victims) == words{"cheap"});
  CHECK(sorted({s.nominated(p), s.nominated(q)}) == words{"a", "b"});
  const preemption_result again = s.room.for_group(gang.row);  // it is told once
  CHECK_FALSE(again.helped);
  CHECK(again.victims.empty());
}

TEST_CASE("moves are planned, and nobody moves", "[engine][defragment][parts]") {
  setting s;
  const node_id a = s.add(a_node{"a"}.cpu(2)), b = s.add(a_node{"b"}.cpu(2));
  s.running("on-a", a, 1), s.running("on-b", b, 1);
  const group_id gang = s.add(a_gang{"g", 1});
  s.add(a_pod{"large"}.cpu(2).in(gang));
  const std::uint64_t before = s.state.digest_with_derived();
  const auto plan = engine::move_planner{s.state, s.parts, s.picks, s.reserved, s.search}.plan(gang.row, {});
  REQUIRE(plan);
  CHECK(plan->moves.size() == 1);
  CHECK(plan->placed.size() == 1);
  CHECK(plan->cost == 1);
  CHECK(s.state.digest_with_derived() == before);
  s.add(a_pod{"too-large"}.cpu(4).in(s.add(a_gang{"h", 1})));
  const row_t other = s.cluster.find_group("default", "h").value().row;
  CHECK_FALSE(engine::move_planner{s.state, s.parts, s.picks, s.reserved, s.search}.plan(other, {}));
}

}  // namespace gangsched::testing::preemption_parts_test
