#include "gangsched/plugins/gang_scheduling.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::gang_scheduling_test {

namespace {

/// Remembers who may go.
class room final : public permit_room {
 public:
  explicit room(const cluster& on) : on_(&on) {}
  std::vector<pod_id> inside = {};
  std::vector<pod_id> allowed = {};
  [[nodiscard]] std::span<const pod_id> waiting() const override { return inside; }
  void allow(pod_id pod) override {
    if (std::find(inside.begin(), inside.end(), pod) != inside.end()) allowed.push_back(pod);
  }
  [[nodiscard]] pod_info info(pod_id pod) const override { return pod_info{gangsched::inside(*on_), pod.row}; }

 private:
  const cluster* on_;
};

struct fixture {
  gangsched::cluster cluster;
  node_id node = must(cluster.add_node(a_node{"n"}));
  room waiting{cluster};

  group_id add(const group_spec& spec) { return must(cluster.add_group(spec)); }
  pod_id add(const pod_spec& spec) { return must(cluster.add_pod(spec)); }
  status pre_enqueue(pod_id pod) { return gang_scheduling{}.pre_enqueue(pod_info{inside(cluster), pod.row}); }
  permit_verdict permit(pod_id pod) {
    must(cluster.assume(pod, node));
    gang_scheduling plugin;
    const permit_verdict said = plugin.permit(reservation{inside(cluster), pod.row, node.row, {}}, waiting);
    if (said.verdict.code == code::wait) waiting.inside.push_back(pod);
    return said;
  }
};

}  // namespace

TEST_CASE("GangScheduling: a gang enters the queue when it has its minimum, those that run included") {
  fixture on;
  const group_id gang = on.add(a_gang{"gang", 3});
  const pod_id first = on.add(a_pod{"1"}.in(gang));
  const pod_id alone = on.add(a_pod{"alone"});
  CHECK(on.pre_enqueue(alone).ok());
  CHECK(on.pre_enqueue(first).code == code::unresolvable);
  CHECK(on.pre_enqueue(first).reason ==
        std::string{"waiting for minCount pods from a gang to appear in scheduling queue"});
  on.add(a_pod{"2"}.in(gang).on(on.node));
  CHECK_FALSE(on.pre_enqueue(first).ok());
  on.add(a_pod{"3"}.in(gang));
  CHECK(on.pre_enqueue(first).ok());

  const group_id loose = on.add(group_spec{.name = "basic"});
  CHECK(on.pre_enqueue(on.add(a_pod{"4"}.in(loose))).ok());
}

TEST_CASE("GangScheduling in permit mode: the minimum is let go together, later members at once") {
  fixture on;
  const group_id gang = on.add(a_gang{"gang", 3}.permit().timeout(std::chrono::seconds{7}));
  const group_id other = on.add(a_gang{"other", 2}.permit());
  const pod_id first = on.add(a_pod{"1"}.in(gang));
  const pod_id second = on.add(a_pod{"2"}.in(gang));
  const pod_id third = on.add(a_pod{"3"}.in(gang));
  const pod_id stranger = on.add(a_pod{"x"}.in(other));

  CHECK(on.permit(first).verdict.code == code::wait);
  CHECK(on.permit(stranger).verdict.code == code::wait);
  const permit_verdict waits = on.permit(second);
  CHECK(waits.verdict.code == code::wait);
  CHECK(waits.timeout == std::chrono::seconds{7});
  CHECK(on.waiting.allowed.empty());
  CHECK(on.permit(third).verdict.ok());
  CHECK(on.waiting.allowed == std::vector{first, second});
  on.waiting.inside = {stranger};

  on.waiting.allowed.clear();
  CHECK(on.permit(on.add(a_pod{"4"}.in(gang))).verdict.ok());
  CHECK(on.waiting.allowed.empty());
}

TEST_CASE("GangScheduling in permit mode: members that run count") {
  fixture on;
  const group_id gang = on.add(a_gang{"gang", 2}.permit());
  on.add(a_pod{"1"}.in(gang).on(on.node));
  CHECK(on.permit(on.add(a_pod{"2"}.in(gang))).verdict.ok());
}

TEST_CASE("GangScheduling lets everybody else pass permit") {
  fixture on;
  const group_id gang = on.add(a_gang{"gang", 2});  // group cycle
  const group_id loose = on.add(group_spec{.name = "basic"});
  CHECK(on.permit(on.add(a_pod{"1"}.in(gang))).verdict.ok());
  CHECK(on.permit(on.add(a_pod{"2"}.in(loose))).verdict.ok());
  CHECK(on.permit(on.add(a_pod{"3"})).verdict.ok());
}

TEST_CASE("GangScheduling: placement_feasible") {
  fixture on;
  const group_id gang = on.add(a_gang{"gang", 3});
  const group_id loose = on.add(group_spec{.name = "basic"});
  const auto ask = [&](group_id group, std::uint32_t scheduled, std::uint32_t remaining) {
    const group_view view{inside(on.cluster), group.row};
    return gang_scheduling{}.placement_feasible(view, {.scheduled = scheduled, .remaining = remaining}).code;
  };
  CHECK(ask(gang, 0, 2) == code::unschedulable);
  CHECK(ask(gang, 1, 1) == code::unschedulable);
  CHECK(ask(gang, 0, 3) == code::wait);
  CHECK(ask(gang, 2, 1) == code::wait);
  CHECK(ask(gang, 3, 0) == code::success);
  CHECK(ask(gang, 3, 5) == code::success);
  CHECK(ask(loose, 0, 0) == code::unschedulable);
  CHECK(ask(loose, 0, 1) == code::wait);
  CHECK(ask(loose, 1, 4) == code::success);
}

}  // namespace gangsched::testing::gang_scheduling_test
