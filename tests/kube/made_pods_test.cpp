#include <algorithm>

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

std::vector<std::string> indices(const manifests& of) {
  std::vector<std::string> all;
  for (const pod_manifest& one : of.pods) all.push_back(one.spec.labels.at("batch.kubernetes.io/job-completion-index"));
  return all;
}

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

TEST_CASE("a paused Deployment makes no ReplicaSet, and those that it has go on", "[kube][manifests]") {
  const std::string paused =
      controller("apps/v1", "Deployment", "paused: true, replicas: 2, selector: {matchLabels: {app: w}}, ",
                 "containers: [{name: c}]");
  CHECK(fine(paused).pods.empty());
  CHECK(
      fine(paused +
           "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: w-1, ownerReferences: [{kind: Deployment, "
           "name: w, controller: true}]}\nspec: {replicas: 2, selector: {matchLabels: {app: w}}, template: {metadata: "
           "{labels: {app: w}}, spec: {containers: [{name: c}]}}}\n")
          .pods.size() == 2);
}

TEST_CASE("an Indexed Job makes the indices that neither succeeded nor failed nor run", "[kube][manifests]") {
  const auto job = [](const std::string& spec, const std::string& status) {
    return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {completionMode: Indexed, " + spec +
           ", template: {spec: {containers: [{name: c}]}}}\nstatus: {" + status + "}\n";
  };
  const auto running = [](const std::string& index) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: j-" + index +
           "-x, labels: {batch.kubernetes.io/job-completion-index: \"" + index +
           "\"}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u, controller: true}]}\nspec: "
           "{nodeName: n1}\n";
  };
  const std::string five = "completions: 5, parallelism: 3";
  CHECK(indices(fine(job(five, ""))) == words{"0", "1", "2"});
  CHECK(indices(fine(job(five, "succeeded: 3, completedIndexes: \"0-2\""))) == words{"3", "4"});
  CHECK(indices(fine(job(five, "succeeded: 2, completedIndexes: \"0,3\""))) == words{"1", "2", "4"});
  CHECK(indices(fine(job(five, "succeeded: 1, failed: 1, completedIndexes: \"1\", failedIndexes: \"0\""))) ==
        words{"2", "3", "4"});
  CHECK(indices(fine(job(five, "succeeded: 2, completedIndexes: \"0,1\"") + running("3"))) == words{"3", "2", "4"});
  // More pods than are to run at once are not made, whichever indices those that run have.
  CHECK(indices(fine(job(five, "") + running("4") + running("3"))) == words{"4", "3", "0"});
  CHECK(fine(job(five, "succeeded: 5, completedIndexes: \"0-4\"")).pods.empty());
  // As the controller: what is no interval is left out, and so is what is beyond the completions.
  CHECK(indices(fine(job(five, "succeeded: 2, completedIndexes: \"x,1,9-20\""))) == words{"0", "2", "3"});
  CHECK(indices(fine(job("completions: 2000000000, parallelism: 2",
                         "succeeded: 1999999999, completedIndexes: "
                         "\"0-1999999997,1999999999\""))) == words{"1999999998"});
}

TEST_CASE("a Job without completions makes no more pods once one has succeeded", "[kube][manifests]") {
  const std::string job =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: 3, template: {spec: {}}}\nstatus: ";
  CHECK(fine(job + "{active: 3}\n").pods.size() == 3);
  CHECK(fine(job + "{active: 2, succeeded: 1}\n").pods.empty());
}

TEST_CASE("pods of a DaemonSet in the host's network tolerate that the node has none yet", "[kube][references]") {
  const std::string node =
      "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nspec: {taints: [{key: "
      "node.kubernetes.io/network-unavailable, effect: NoSchedule}]}\n";
  const auto set = [](const std::string& spec) {
    return controller("apps/v1", "DaemonSet", "selector: {matchLabels: {app: w}}, ", spec);
  };
  const manifests all = fine(node + set("hostNetwork: true"));
  REQUIRE(all.pods.size() == 1);
  CHECK(std::ranges::count(all.pods[0].spec.tolerations, "node.kubernetes.io/network-unavailable", &toleration::key) ==
        1);
  CHECK(fine(node + set("hostNetwork: false")).pods.empty());
  CHECK(fine(node + set("containers: []")).pods.empty());
}

TEST_CASE("what a SparkApplication says of a pod is added to its template, whichever comes first",
          "[kube][workloads]") {
  const auto app = [](const std::string& driver) {
    return fine(
               "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi}\nspec: {type: "
               "Scala, driver: {" +
               driver + "}, executor: {instances: 0}}\n")
        .pods.at(0);
  };
  const std::string said =
      "annotations: {scheduling.volcano.sh/queue-name: q}, labels: {mine: a}, nodeSelector: {disk: ssd}, "
      "schedulerName: volcano, priorityClassName: high";
  const std::string pod_template =
      "template: {metadata: {labels: {mine: b, other: c}}, spec: {schedulerName: other, priorityClassName: low, "
      "nodeSelector: {os: linux}}}";
  for (const std::string& text : {said + ", " + pod_template, pod_template + ", " + said}) {
    INFO(text);
    const pod_manifest driver = app(text);
    CHECK(driver.spec.labels.at("mine") == "a");
    CHECK(driver.spec.labels.at("other") == "c");
    CHECK(driver.annotations.contains("scheduling.volcano.sh/queue-name"));
    CHECK(driver.spec.node_selector == label_map{{"disk", "ssd"}, {"os", "linux"}});
    CHECK(driver.spec.scheduler_name == "volcano");
    CHECK(driver.spec.priority_class == "high");
  }
  CHECK(app("labels: {mine: a}, template: {spec: {}}").spec.labels.at("mine") == "a");
}

}  // namespace gangsched::testing::made_pods_test
