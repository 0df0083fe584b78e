// Pods that are resized in place: what they count as, as in k8s.io/component-helpers 0.36 resource.PodRequests with UseStatusResources.
#include <string>

#include "gangsched/kube/manifests.hpp"
#include "kube/group_reading.hpp"

namespace gangsched::testing::kube_resizes_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

const std::string infeasible = "conditions: [{type: PodResizePending, status: 'True', reason: Infeasible}], ";

pod_spec pod(const std::string& spec, const std::string& status) {
  const manifests all =
      fine("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: node1, " + spec + "}, status: {" +
           status + "}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: node1}}\n");
  return all.pods.at(0).spec;
}
std::string app(const std::string& requests) {
  return "containers: [{name: c, resources: {requests: {" + requests + "}}}]";
}
std::string is(const std::string& allocated, const std::string& actuated) {
  return "containerStatuses: [{name: other, allocatedResources: {cpu: 77}, resources: {}}, {name: c, "
         "allocatedResources: {" +
         allocated + "}, resources: {requests: {" + actuated + "}}}]";
}

TEST_CASE("a container that is resized counts as the largest of what it asks for, was allocated and has",
          "[kube][resize]") {
  CHECK(pod(app("cpu: 2"), is("cpu: 4", "cpu: 8")).containers[0].requests == resource_list{{"cpu", 8}});
  CHECK(pod(app("cpu: 2"), is("cpu: 9", "cpu: 8")).containers[0].requests == resource_list{{"cpu", 9}});
  CHECK(pod(app("cpu: 64"), is("cpu: 4", "cpu: 4")).containers[0].requests == resource_list{{"cpu", 64}});
  CHECK(pod(app("cpu: 2, memory: 5"), is("cpu: 4", "memory: 3")).containers[0].requests ==
        resource_list{{"cpu", 4}, {"memory", 5}});
  CHECK(pod(app("cpu: 64"), infeasible + is("cpu: 4", "cpu: 3")).containers[0].requests == resource_list{{"cpu", 4}});
}

TEST_CASE("a status without resources, as of who has not run yet, says nothing of requests", "[kube][resize]") {
  CHECK(pod(app("cpu: 2"), "containerStatuses: [{name: c, allocatedResources: {cpu: 9}}]").containers[0].requests ==
        resource_list{{"cpu", 2}});
  CHECK(pod(app("cpu: 2"), "phase: Running").containers[0].requests == resource_list{{"cpu", 2}});
}

TEST_CASE("of init containers only sidecars are resized", "[kube][resize]") {
  const std::string init =
      "initContainers: [{name: a, resources: {requests: {cpu: 1}}}, {name: b, restartPolicy: Always, "
      "resources: {requests: {cpu: 1}}}], containers: [{name: c}]";
  const pod_spec made = pod(init,
                            "initContainerStatuses: [{name: a, resources: {requests: {cpu: 5}}}, {name: b, resources: "
                            "{requests: {cpu: 6}}}]");
  CHECK(made.init_containers[0].requests == resource_list{{"cpu", 1}});
  CHECK(made.init_containers[1].requests == resource_list{{"cpu", 6}});
}

TEST_CASE("a pod with resources of its own is resized as a whole, in those", "[kube][resize]") {
  const std::string own = "resources: {requests: {cpu: 2}}, containers: [{name: c}]";
  const std::string status = "allocatedResources: {cpu: 4, memory: 7}, resources: {requests: {cpu: 3}}";
  CHECK(pod(own, status).resources == resource_list{{"cpu", 4}});
  CHECK(pod("resources: {requests: {cpu: 9}}, containers: [{name: c}]", infeasible + status).resources ==
        resource_list{{"cpu", 4}});
}

}  // namespace

}  // namespace gangsched::testing::kube_resizes_test
