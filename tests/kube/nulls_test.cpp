#include "kube/group_reading.hpp"

// A field without a value is as if it were not there; an entry of a map without one is there and empty, or zero (sigs.k8s.io/json).

namespace gangsched::testing::nulls_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

pod_spec pod_of(const std::string& spec) {
  return fine("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {" + spec + "}\n").pods.at(0).spec;
}

}  // namespace

TEST_CASE("an entry of a map of texts that has no value is empty text", "[kube][manifests]") {
  const pod_spec pod = pod_of(
      "nodeSelector: {gpu: , pool: ~}, topologySpreadConstraints: [{topologyKey: z, maxSkew: 1, whenUnsatisfiable: "
      "DoNotSchedule, labelSelector: {matchLabels: {app: }}}]");
  CHECK(pod.node_selector == label_map{{"gpu", ""}, {"pool", ""}});
  CHECK(pod.topology_spread_constraints.at(0).selector->match_labels == label_map{{"app", ""}});
  const manifests node = fine(
      "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {node-role.kubernetes.io/gpu: }}\nspec: {taints: }\n");
  CHECK(node.nodes.at(0).spec.labels == label_map{{"node-role.kubernetes.io/gpu", ""}});
  CHECK(node.nodes[0].spec.taints.empty());
  const manifests group = fine(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {kueue.x-k8s.io/queue-name: , other: }}\nspec: "
      "{}\n");
  CHECK(group.pods.at(0).annotations == label_map{{"kueue.x-k8s.io/queue-name", ""}});
}

TEST_CASE("an amount that has no value is zero, so that it has no default either", "[kube][manifests]") {
  const pod_spec pod = pod_of(
      "containers: [{name: c, resources: {requests: {cpu: }, limits: {cpu: 8, memory: 1Gi, nvidia.com/gpu: null}}}], "
      "overhead: {cpu: }");
  CHECK(pod.containers.at(0).requests == resource_list{{"cpu", quantity{}},
                                                       {"memory", quantity{std::int64_t{1} << 30}},
                                                       {"nvidia.com/gpu", quantity{}}});
  CHECK(pod.overhead == resource_list{{"cpu", quantity{}}});
}

}  // namespace gangsched::testing::nulls_test
