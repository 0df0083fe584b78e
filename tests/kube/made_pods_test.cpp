#include "kube/group_reading.hpp"

// Pods that controllers make, where their status and what they add themselves count.

namespace gangsched::testing::made_pods_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

const std::string repelled =
    "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
    "kubernetes.io/hostname, labelSelector: {matchLabels: {app: w}}, ";

std::string controller(const std::string& api, const std::string& kind, const std::string& spec,
                       const std::string& pod_spec) {
  return "---\napiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: w}\nspec: {" + spec +
         "template: {metadata: {labels: {app: w, tier: web}}, spec: {" + pod_spec + "}}}\n";
}

/// "key In value" of what the first term adds to its labelSelector.
std::vector<std::string> added(const pod_affinity_term& term) {
  std::vector<std::string> all;
  for (const selector_requirement& one : term.selector->match_expressions)
    all.push_back(one.key + (one.op == selector_operator::in ? " In " : " NotIn ") + one.values.at(0));
  return all;
}
std::vector<std::string> kept_apart(const pod_manifest& pod) {
  return added(pod.spec.anti_affinity_to_pods.required.at(0));
}
using words = std::vector<std::string>;

}  // namespace

TEST_CASE("matchLabelKeys see labels that a controller adds to its pods", "[kube][manifests]") {
  SECTION("a Deployment: pods of other revisions do not repel") {
    const std::string text = controller("apps/v1", "Deployment", "replicas: 2, selector: {matchLabels: {app: w}}, ",
                                        repelled + "matchLabelKeys: [tier, pod-template-hash, none]}]}}");
    for (const bool defaulting : {true, false}) {
      const manifests all = fine(text, {.defaulting = defaulting});
      REQUIRE(all.pods.size() == 2);
      const std::string hash = all.pods[0].spec.labels.at("pod-template-hash");
      CHECK(kept_apart(all.pods[0]) == words{"tier In web", "pod-template-hash In " + hash});
      CHECK(kept_apart(all.pods[1]) == kept_apart(all.pods[0]));
    }
  }
  SECTION("a Job, and each of its indices") {
    const manifests all =
        fine(controller("batch/v1", "Job", "completions: 2, parallelism: 2, completionMode: Indexed, ",
                        repelled + "matchLabelKeys: [batch.kubernetes.io/job-completion-index], mismatchLabelKeys: "
                                   "[job-name]}]}}"));
    REQUIRE(all.pods.size() == 2);
    CHECK(kept_apart(all.pods[0]) == words{"batch.kubernetes.io/job-completion-index In 0", "job-name NotIn w"});
    CHECK(kept_apart(all.pods[1]) == words{"batch.kubernetes.io/job-completion-index In 1", "job-name NotIn w"});
  }
  SECTION("a StatefulSet, in a term that is preferred") {
    const manifests all = fine(controller(
        "apps/v1", "StatefulSet", "replicas: 1, serviceName: s, selector: {matchLabels: {app: w}}, ",
        "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: "
        "{topologyKey: z, labelSelector: {}}}, {weight: 2, podAffinityTerm: {topologyKey: z, labelSelector: {}, "
        "matchLabelKeys: [apps.kubernetes.io/pod-index]}}]}}"));
    REQUIRE(all.pods.size() == 1);
    const auto& terms = all.pods[0].spec.affinity_to_pods.preferred;
    CHECK(added(terms.at(0).term).empty());
    CHECK(added(terms.at(1).term) == words{"apps.kubernetes.io/pod-index In 0"});
  }
  SECTION("a workload of several kinds of pods") {
    const manifests all = fine(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: js}\nspec: {replicatedJobs: [{name: a, "
        "template: {spec: {parallelism: 1, completions: 1, template: {spec: {" +
        repelled + "matchLabelKeys: [jobset.sigs.k8s.io/jobset-name]}]}}}}}}}]}\n");
    REQUIRE(all.pods.size() == 1);
    CHECK(kept_apart(all.pods[0]) == words{"jobset.sigs.k8s.io/jobset-name In js"});
  }
}

}  // namespace gangsched::testing::made_pods_test
