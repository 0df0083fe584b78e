// What plugins that go by load, or let pods stay, read of manifests.
#include "gangsched/kube/manifests.hpp"
#include "gangsched/policies/pod_bounds.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::load_test {

namespace {

kube::manifests manifests_of(const std::string& text) {
  auto made = kube::read(kube::source{"a.yaml", text});
  INFO((made ? std::string{} : made.error().message()));
  REQUIRE(made);
  return std::move(*made);
}

kube::manifests class_with(const std::string& annotations) {
  return manifests_of("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: c, annotations: {" +
                      annotations + "}}, value: 7}\n");
}

const std::string minimum = "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority: ",
                  seconds = "preemption-toleration.scheduling.x-k8s.io/toleration-seconds: ";

}  // namespace

TEST_CASE("limits of containers come to the cluster, where they keep nothing free", "[kube][manifests][load]") {
  cluster on;
  const std::string node =
      "{apiVersion: v1, kind: Node, metadata: {name: node}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: "
      "9}}}\n---\n";
  const std::string pod =
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: node,\n"
      "initContainers: [{name: i, resources: {limits: {cpu: 3}, requests: {cpu: 500m}}}],\n"
      "containers: [{name: a, resources: {requests: {cpu: 1}}}, {name: b, resources: {limits: {cpu: 2}, requests: "
      "{cpu: "
      "1}}}]}}\n";
  REQUIRE(kube::apply(on, manifests_of(node + pod)));
  const pod_id there = on.find_pod("default", "p").value();
  const pod_class& cls = inside(on).classes[inside(on).class_of(there.row)];
  CHECK(limit_of(cls, kinds::cpu) == 3000);
  std::vector<std::int64_t> limits;
  each_container(cls, kinds::cpu,
                 [&](container_kind, const auto&, const auto& limit) { limits.push_back(limit.value_or(-1)); });
  CHECK(limits == std::vector<std::int64_t>{3000, -1, 2000});
  CHECK(on.requested(*on.find_node("node"), "cpu") == 2000);
}

TEST_CASE("a priority class says whom its pods stay for, and how long", "[kube][manifests]") {
  const auto both = class_with(minimum + "'1000', " + seconds + "'-5'");
  CHECK(both.priority_classes.at(0).minimum_preemptable == 1000);
  CHECK(both.priority_classes.at(0).toleration_seconds == -5);
  CHECK(both.warnings.empty());
  const auto none = class_with("");
  CHECK_FALSE(none.priority_classes.at(0).minimum_preemptable);
  CHECK(none.priority_classes.at(0).toleration_seconds == 0);
  for (const std::string& text : {minimum + "'1.5'", minimum + "''", minimum + "'3000000000'", seconds + "' 5'",
                                  seconds + "'++5'", minimum + "'1', " + seconds + "'soon'"}) {
    INFO(text);
    const auto wrong = class_with(text);
    CHECK(wrong.priority_classes.at(0).minimum_preemptable == std::numeric_limits<std::int32_t>::min());
    CHECK(wrong.warnings.size() == 1);
  }
}

}  // namespace gangsched::testing::load_test
