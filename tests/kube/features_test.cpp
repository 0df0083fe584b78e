#include <string>
#include <vector>

#include "kube/group_reading.hpp"

// Features that nodes declare, and those that pods require of them: what kube-scheduler infers of the same specs is in
// conformance/data/features.jsonl.

namespace gangsched::testing::features_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

using names = std::vector<std::string>;

const std::string restarts = "RestartAllContainersOnContainerExits", users = "UserNamespacesHostNetworkSupport";

std::string pod(const std::string& spec) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {" + spec + "}\n";
}
names required(const std::string& spec) { return fine(pod(spec)).pods.at(0).spec.required_features; }
/// A container one of whose rules has this action.
std::string ruled(const std::string& action) {
  return "[{name: c, image: x, restartPolicyRules: [{action: Restart}, {action: " + action +
         ", exitCodes: {operator: In, values: [42]}}]}]";
}
std::string node(const std::string& features) {
  return "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {declaredFeatures: " + features + "}\n";
}

}  // namespace

TEST_CASE("which features a pod requires of its node follows from its spec", "[kube][manifests]") {
  CHECK(required("containers: " + ruled("RestartAllContainers")) == names{restarts});
  CHECK(required("initContainers: " + ruled("RestartAllContainers")) == names{restarts});
  CHECK(required("ephemeralContainers: " + ruled("RestartAllContainers")).empty());
  CHECK(required("containers: " + ruled("Restart")).empty());
  CHECK(required("containers: [{name: c, restartPolicyRules: }]").empty());
  CHECK(required("hostNetwork: true, hostUsers: false") == names{users});
  CHECK(required("hostUsers: false, hostNetwork: true") == names{users});
  CHECK(required("hostNetwork: true, hostUsers: true").empty());
  CHECK(required("hostNetwork: true, hostUsers: null").empty());
  CHECK(required("hostNetwork: true").empty());
  CHECK(required("hostUsers: false").empty());
  CHECK(required("hostUsers: false, hostNetwork: true, containers: " + ruled("RestartAllContainers")) ==
        names{restarts, users});
}

TEST_CASE("a template's pods require what their spec says", "[kube][manifests]") {
  const manifests all = fine(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 2, template: {spec: {hostNetwork: "
      "true, hostUsers: false}}}\n");
  REQUIRE(all.pods.size() == 2);
  for (const pod_manifest& one : all.pods) CHECK(one.spec.required_features == names{users});
}

TEST_CASE("what a node declares is read", "[kube][manifests]") {
  CHECK(fine(node("[A, " + restarts + "]")).nodes.at(0).spec.declared_features == names{"A", restarts});
  CHECK(fine(node("")).nodes.at(0).spec.declared_features.empty());
}

TEST_CASE("features and what they follow from that are of the wrong kind are errors", "[kube][manifests]") {
  const auto says = [](const std::string& text, const std::string& path) {
    CHECK(refusal(text).find(path) != std::string::npos);
  };
  says(node("[A, '']"), "Node n1: status.declaredFeatures[1]: is empty");
  says(node("A"), "status.declaredFeatures");
  says(pod("hostUsers: maybe"), "spec.hostUsers");
  says(pod("containers: [{name: c, restartPolicyRules: [{action: 3}]}]"),
       "spec.containers[0].restartPolicyRules[0].action");
}

}  // namespace gangsched::testing::features_test
