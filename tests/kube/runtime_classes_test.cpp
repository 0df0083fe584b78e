#include "kube/group_reading.hpp"

namespace gangsched::testing::runtime_classes_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

TEST_CASE("new pods get what their RuntimeClass says", "[kube][workloads]") {
  const std::string sandboxed =
      "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata, overhead: {podFixed: "
      "{cpu: "
      "250m, memory: 120Mi}}, scheduling: {nodeSelector: {runtime: kata}, tolerations: [{key: runtime, value: kata, "
      "effect: "
      "NoSchedule}, {operator: Exists, effect: NoExecute, tolerationSeconds: 9}]}}\n---\n";
  const auto pod = [](const std::string& more, const std::string& name = "p") {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {containers: [{name: c}], " + more +
           "}}\n---\n";
  };
  const std::string in_template =
      "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {selector: {matchLabels: {a: b}}, template: "
      "{metadata: {labels: {a: b}}, spec: {runtimeClassName: kata, containers: [{name: c}]}}}}\n---\n";
  const manifests all =
      fine(pod("runtimeClassName: kata, nodeSelector: {zone: z}, tolerations: [{key: runtime, value: kata, "
               "effect: NoSchedule}]") +
           in_template + sandboxed + pod("runtimeClassName: kata, nodeName: n1", "runs"));
  CHECK(all.warnings.empty());
  REQUIRE(all.pods.size() == 3);
  CHECK(all.pods[0].spec.node_selector == label_map{{"runtime", "kata"}, {"zone", "z"}});
  CHECK(all.pods[2].spec.node_selector == label_map{{"runtime", "kata"}});
  for (const std::size_t i : {0u, 2u}) {
    CHECK(all.pods[i].spec.overhead.at("cpu") == quantity::from_milli(250));
    CHECK(all.pods[i].spec.tolerations.size() == 2);
    CHECK(all.pods[i].toleration_seconds == std::vector<std::optional<std::int64_t>>{std::nullopt, 9});
  }
  CHECK(all.pods[1].spec.overhead.empty());  // it was admitted before

  CHECK(
      reading_refusal(sandboxed + pod("runtimeClassName: kata, nodeSelector: {runtime: runc}")) ==
      "a.yaml:3: Pod default/p: spec.nodeSelector: \"runtime\" is \"runc\", and \"kata\" in the RuntimeClass \"kata\"");
  CHECK(reading_refusal(sandboxed + pod("runtimeClassName: kata, overhead: {cpu: 1}")) ==
        "a.yaml:3: Pod default/p: spec.overhead: is not that of the RuntimeClass \"kata\"");
  std::vector<error> mistakes;
  CHECK(fine(sandboxed + pod("runtimeClassName: kata, overhead: {cpu: 1}") + pod("overhead: {cpu: 1}", "q"),
             {.mistakes = &mistakes})
            .pods.size() == 1);
  CHECK(mistakes.size() == 1);
  CHECK(warned(fine(pod("runtimeClassName: nvidia") + pod("runtimeClassName: nvidia", "q"))) ==
        std::vector<std::string>{
            "a.yaml:1: Pod default/p: spec.runtimeClassName: no RuntimeClass \"nvidia\": its overhead and "
            "its nodes do not count"});
}

}  // namespace gangsched::testing::runtime_classes_test
