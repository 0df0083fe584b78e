#include "gangsched/model/validate.hpp"
#include "kube/queue_reading.hpp"

namespace gangsched::testing::kueue_queues_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

std::string kueue(const std::string& kind, const std::string& name, const std::string& spec,
                  const std::string& version = "v1beta2") {
  return manifest_of("kueue.x-k8s.io/" + version, kind, "name: " + name, "spec: {" + spec + "}");
}
std::string local(const std::string& ns, const std::string& name, const std::string& of, const std::string& more = "") {
  return manifest_of("kueue.x-k8s.io/v1beta2", "LocalQueue", "name: " + name + ", namespace: " + ns,
                     "spec: {clusterQueue: " + of + more + "}");
}
std::string groups(const std::string& flavor, const std::string& quota) {
  return "resourceGroups: [{coveredResources: [cpu], flavors: [{name: " + flavor + ", resources: [{name: cpu, " +
         quota + "}]}]}]";
}
const std::string any_namespace = "namespaceSelector: {}, ";
const std::string flavor_a = kueue("ResourceFlavor", "a", "");

}  // namespace

TEST_CASE("a ClusterQueue's quotas and policies are read, of both versions", "[kube][queues]") {
  for (const auto& [version, cohort] : {std::pair{"v1beta1", "cohort: all"}, std::pair{"v1beta2", "cohortName: all"}}) {
    const manifests all =
        fine(flavor_a +
             kueue("ResourceFlavor", "spot",
                   "nodeLabels: {kind: spot}, nodeTaints: [{key: spot, value: \"true\", effect: NoSchedule}], "
                   "tolerations: [{key: spot, operator: Exists}]") +
             kueue("ClusterQueue", "q", std::string{cohort} + R"(, namespaceSelector: {}, queueingStrategy: StrictFIFO,
  stopPolicy: Hold, fairSharing: {weight: "1500m"},
  preemption: {withinClusterQueue: LowerOrNewerEqualPriority, reclaimWithinCohort: LowerPriority,
               borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 3}},
  flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: MayStopSearch, preference: PreemptionOverBorrowing},
  resourceGroups: [
    {coveredResources: [cpu, memory], flavors: [
      {name: spot, resources: [{name: cpu, nominalQuota: 4, borrowingLimit: 2}, {name: memory, nominalQuota: 8Gi, lendingLimit: 1Gi}]},
      {name: a, resources: [{name: cpu, nominalQuota: 500m}, {name: memory, nominalQuota: 1Gi}]}]}])",
                   version));
    CHECK(all.warnings.empty());
    REQUIRE(all.flavors.size() == 2);
    CHECK(all.flavors[1].spec.node_labels.at("kind") == "spot");
    CHECK(all.flavors[1].spec.taints.at(0).effect == taint_effect::no_schedule);
    CHECK(all.flavors[1].spec.tolerations.at(0).op == toleration_operator::exists);
    const queue_spec& spec = queue(all, "q").spec;
    CHECK(spec.parent == "cohort/all");
    CHECK(spec.heads == head_rule::strict);
    CHECK(spec.state == queue_state::hold);
    CHECK(spec.weight == 1.5);
    CHECK(spec.within_queue == queue_preemption::lower_or_newer_equal_priority);
    CHECK(spec.reclaim == queue_reclaim::lower_priority);
    CHECK(spec.reclaims_to_borrow);
    CHECK(spec.reclaims_to_borrow_up_to == 3);
    CHECK_FALSE(spec.flavors.stops_at_borrowing);
    CHECK(spec.flavors.stops_at_preemption);
    CHECK(spec.flavors.avoids_borrowing);
    REQUIRE(spec.quotas.size() == 2);
    CHECK(spec.quotas[0].flavor == "spot");  // what is preferred stays first
    CHECK(said(spec.quotas[0].guaranteed, "cpu") == "4");
    CHECK(said(spec.quotas[0].borrowing_limit, "cpu") == "2");
    CHECK(said(spec.quotas[0].borrowing_limit, "memory") == "nothing");
    CHECK(said(spec.quotas[0].lending_limit, "memory") == "1Gi");
    CHECK(said(spec.quotas[1].guaranteed, "cpu") == "500m");
    CHECK(queue(all, "cohort/all").kind == "ClusterQueue");  // who implies it
  }
}

TEST_CASE("preemption is off in a ClusterQueue that does not speak of it", "[kube][queues]") {
  const manifests all = fine(kueue("ClusterQueue", "q", "namespaceSelector: {}"));
  CHECK(queue(all, "q").spec.within_queue == queue_preemption::never);
  CHECK(queue(all, "q").spec.reclaim == queue_reclaim::never);
  CHECK(queue(all, "q").spec.heads == head_rule::best_effort);
  CHECK_FALSE(queue(all, "q").spec.reclaims_to_borrow);
  CHECK(queue(all, "q").spec.flavors.stops_at_borrowing);
  CHECK_FALSE(queue(all, "q").spec.flavors.stops_at_preemption);
}

TEST_CASE("a cohort is guaranteed what it has and what all below it have", "[kube][queues]") {
  const manifests all =
      fine(flavor_a + kueue("ClusterQueue", "q", "cohortName: team, " + groups("a", "nominalQuota: 3")) +
           kueue("ClusterQueue", "r", "cohortName: team, " + groups("a", "nominalQuota: 4")) +
           kueue("Cohort", "team",
                 "parentName: all, fairSharing: {weight: 2}, " +
                     groups("a", "nominalQuota: 1, borrowingLimit: 5, lendingLimit: 6")));
  CHECK(said(quota(all, "cohort/team", "a").guaranteed, "cpu") == "8");
  CHECK(said(quota(all, "cohort/team", "a").borrowing_limit, "cpu") == "5");
  CHECK(said(quota(all, "cohort/team", "a").lending_limit, "cpu") == "6");
  CHECK(queue(all, "cohort/team").spec.weight == 2);
  CHECK(queue(all, "cohort/team").spec.parent == "cohort/all");
  CHECK(said(quota(all, "cohort/all", "a").guaranteed, "cpu") == "8");
  CHECK(refusal(kueue("Cohort", "a", "parentName: b") + kueue("Cohort", "b", "parentName: a")) ==
        "a.yaml:1: Cohort a: spec: \"cohort/a\" is below itself");
}

TEST_CASE("a LocalQueue is a name for its ClusterQueue", "[kube][queues]") {
  const std::string queues = kueue("ClusterQueue", "q", any_namespace) + local("team", "mine", "q");
  const manifests all = fine(queues + pod("p", "namespace: team, labels: {kueue.x-k8s.io/queue-name: mine}") +
                             pod("other", "namespace: team, labels: {kueue.x-k8s.io/queue-name: yours}") +
                             pod("none", "namespace: team"));
  CHECK(pod_in(all, "p").spec.queue == "q");
  CHECK(pod_in(all, "other").spec.queue == "team/yours");  // is not there: it waits for it
  CHECK(pod_in(all, "none").spec.queue.empty());
  CHECK_FALSE(has_queue(all, "team/mine"));
  CHECK(warned(all) ==
        std::vector<std::string>{"a.yaml:16: Pod team/other: no queue \"team/yours\": its pods wait for it"});

  // The LocalQueue `default` has those that say nothing.
  const manifests by_default = fine(kueue("ClusterQueue", "q", any_namespace) + local("team", "default", "q"));
  CHECK(queue(by_default, "q").spec.namespaces == std::vector<std::string>{"team"});
}

TEST_CASE("a LocalQueue that says more is a queue of its own", "[kube][queues]") {
  const std::string fair = "admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}, ";
  const manifests all =
      fine(kueue("ClusterQueue", "q", any_namespace + "queueingStrategy: StrictFIFO") +
           kueue("ClusterQueue", "f", fair + any_namespace) +
           kueue("ClusterQueue", "picky", "namespaceSelector: {matchLabels: {team: red}}") +
           kueue("ClusterQueue", "nobody", "") + manifest_of("v1", "Namespace", "name: red, labels: {team: red}", "") +
           local("red", "stopped", "q", ", stopPolicy: HoldAndDrain") +
           local("red", "half", "f", ", fairSharing: {weight: 500m}") + local("red", "whole", "f") +
           local("red", "in", "picky") + local("blue", "out", "picky") + local("red", "default", "nobody") +
           local("red", "lost", "where"));
  CHECK(queue(all, "red/stopped").spec.state == queue_state::drain);
  CHECK(queue(all, "red/stopped").spec.parent == "q");
  CHECK(queue(all, "red/stopped").spec.heads == head_rule::strict);
  CHECK(queue(all, "red/half").spec.weight == 0.5);
  CHECK(queue(all, "red/whole").spec.weight == 1);
  CHECK(queue(all, "red/in").spec.state == queue_state::open);  // beside blue/out, which is one
  CHECK(queue(all, "blue/out").spec.state == queue_state::hold);
  CHECK(queue(all, "red/default").spec.state == queue_state::hold);  // without a selector it takes no namespace
  CHECK(queue(all, "red/default").spec.namespaces == std::vector<std::string>{"red"});
  CHECK(queue(all, "red/lost").spec.parent == "where");
  CHECK(all.warnings.size() == 3);
}

TEST_CASE("pods are in the queue of their workload, and a workload that Kueue queues is a gang", "[kube][queues]") {
  const std::string queues = kueue("ClusterQueue", "q", any_namespace) + local("default", "mine", "q") +
                             manifest_of("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", "name: high", "value: 7");
  const std::string words = "labels: {kueue.x-k8s.io/queue-name: mine, kueue.x-k8s.io/priority-class: high}";
  const std::string containers = "template: {spec: {containers: [{name: c}]}}";
  const std::string job = manifest_of("batch/v1", "Job", "name: j, " + words,
                                      "spec: {suspend: true, parallelism: 3, completions: 3, " + containers + "}");
  const manifests all = fine(queues + job);
  REQUIRE(all.pods.size() == 3);  // it waits for Kueue: here that is the library
  for (const pod_manifest& one : all.pods) CHECK(one.spec.queue == "q");
  CHECK(gang_in(all, "j").min_count == 3);
  CHECK(group(all, "j").spec.queue == "q");
  CHECK(all.pods[0].spec.priority == 7);
  CHECK(fine(manifest_of("batch/v1", "Job", "name: j", "spec: {suspend: true, " + containers + "}")).pods.empty());

  const manifests fewer =
      fine(queues + manifest_of("batch/v1", "Job",
                                "name: j, " + words + ", annotations: {kueue.x-k8s.io/job-min-parallelism: \"2\"}",
                                "spec: {parallelism: 3, completions: 3, " + containers + "}"));
  CHECK(gang_in(fewer, "j").min_count == 2);

  // Those that are there already know it by their owner.
  const manifests there =
      fine(queues + job + pod("j-1", "ownerReferences: [{kind: Job, name: j, controller: true}]", ", nodeName: node") +
           "apiVersion: v1\nkind: Node\nmetadata: {name: node}\n---\n");
  CHECK(there.pods.size() == 3);
  CHECK(pod_in(there, "j-1").spec.queue == "q");

  const manifests set =
      fine(queues + manifest_of("jobset.x-k8s.io/v1alpha2", "JobSet", "name: s, " + words,
                                "spec: {suspend: true, replicatedJobs: [{name: w, replicas: 2, template: {spec: {" +
                                    containers + "}}}]}"));
  CHECK(set.pods.size() == 2);
  CHECK(group(set, "s").spec.queue == "q");

  // Samples of Kueue's are for kubectl create.
  std::string generated = job + job + pod("x", words);
  for (const std::string name : {"name: j, ", "name: j, ", "name: x, "})
    generated.replace(generated.find(name), name.size(), "generateName: some-, ");
  const manifests created = fine(queues + generated);
  CHECK(created.pods.size() == 7);
  CHECK(created.groups.size() == 2);
  for (const pod_manifest& one : created.pods) CHECK(one.spec.name.starts_with("some-"));

  const manifests single = fine(queues + pod("p", words) + pod("own", words, ", priority: 3"));
  CHECK(pod_in(single, "p").spec.priority == 7);
  CHECK(pod_in(single, "own").spec.priority == 3);
}

TEST_CASE("Kueue's Workload is a gang of its pod sets, unless what it is of is in the files", "[kube][queues]") {
  const auto workload = [](const std::string& meta, const std::string& spec, const std::string& status = "") {
    return manifest_of("kueue.x-k8s.io/v1beta2", "Workload", meta,
                       "spec: {queueName: mine, priority: 5, " + spec + "}" + status);
  };
  const std::string queues = kueue("ClusterQueue", "q", any_namespace) + local("default", "mine", "q");
  const std::string containers = "template: {spec: {containers: [{name: c}]}}";
  const std::string sets = "maximumExecutionTimeSeconds: 60, podSets: [{name: driver, count: 1, " + containers +
                           "}, {name: worker, count: 4, minCount: 2, " + containers + "}]";
  const manifests all = fine(queues + workload("name: w", sets));
  CHECK(all.warnings.empty());
  CHECK(all.pods.size() == 5);
  CHECK(pod_in(all, "w-worker-3").spec.role == "worker");
  CHECK(pod_in(all, "w-worker-3").spec.rank == 3);
  CHECK(pod_in(all, "w-driver-0").deadline_seconds == 60);
  CHECK(pod_in(all, "w-driver-0").spec.queue == "q");
  const gang& made = gang_in(all, "w");
  CHECK(made.min_count == 3);
  REQUIRE(made.roles.size() == 2);
  CHECK(made.roles[1].min_count == 2);
  CHECK(group(all, "w").spec.queue == "q");
  CHECK(pod_in(all, "w-worker-0").spec.priority == 5);
  CHECK(fine(queues + workload("name: w", "active: false, " + sets)).pods.empty());
  CHECK(fine(queues + workload("name: w", sets, "\nstatus: {conditions: [{type: Finished, status: \"True\"}]}"))
            .pods.empty());

  const std::string owned = "name: job-j, ownerReferences: [{kind: Job, name: j, controller: true}]";
  const manifests of_job =
      fine(queues + workload(owned, sets) +
           manifest_of("batch/v1", "Job", "name: j",
                       "spec: {suspend: true, parallelism: 2, completions: 2, " + containers + "}"));
  REQUIRE(of_job.pods.size() == 2);  // the Job's
  CHECK(of_job.pods[0].spec.queue == "q");
  const manifests of_pods =
      fine(queues + workload(owned, sets) + pod("p", "ownerReferences: [{kind: Job, name: j, controller: true}]"));
  REQUIRE(of_pods.pods.size() == 1);
  CHECK(of_pods.pods[0].spec.queue == "q");

  CHECK(refusal(workload("name: w", "podSets: [{name: a, count: 1, minCount: 2, " + containers + "}]")) ==
        "a.yaml:4: Workload default/w: spec.podSets[0]: minCount 2 is above count 1");
  CHECK(refusal(workload("name: w", "podSets: [{count: 1}, {count: 1}]"))
            .ends_with("spec.podSets[1]: there is another pod set \"main\""));
  CHECK(refusal(workload("name: w", "podSets: [{count: 2147483647}]"))
            .ends_with("spec: there would be more than 1000000 pods"));
}

TEST_CASE("pods tolerate what the flavors of their queue have them tolerate", "[kube][queues]") {
  const std::string flavors =
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: spot}, spec: {nodeLabels: {kind: "
      "spot}, "
      "tolerations: [{key: spot, operator: Exists}, {key: closed, operator: Exists}]}}\n---\n"
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: own}, spec: {nodeLabels: {kind: "
      "own}, "
      "nodeTaints: [{key: closed, value: x, effect: NoSchedule}]}}\n---\n"
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q}, spec: {namespaceSelector: {}, "
      "resourceGroups: [{coveredResources: [cpu], flavors: [{name: spot, resources: [{name: cpu, nominalQuota: 4}]}, "
      "{name: own, resources: [{name: cpu, nominalQuota: 4}]}]}]}}\n---\n"
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: l, namespace: default}, spec: "
      "{clusterQueue: q}}"
      "\n---\n";
  const manifests all = fine(flavors + pod("p", "labels: {kueue.x-k8s.io/queue-name: l}") + pod("free", ""));
  REQUIRE(pod_in(all, "p").spec.tolerations.size() == 1);  // the other one would let it come to "own"
  CHECK(pod_in(all, "p").spec.tolerations.front().key == "spot");
  CHECK(pod_in(all, "free").spec.tolerations.empty());
  REQUIRE(all.warnings.size() == 1);
  CHECK(all.warnings.front().object == "a.yaml:1: ResourceFlavor spot");
}

TEST_CASE("a job that names who has to allow its admission first is not admitted", "[kube][queues]") {
  const auto job = [](const std::string& name, const std::string& gates) {
    return "{apiVersion: batch/v1, kind: Job, metadata: {name: " + name +
           ", labels: {kueue.x-k8s.io/queue-name: l}, annotations: {kueue.x-k8s.io/admission-gated-by: \"" + gates +
           "\"}}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}"
           "\n---\n";
  };
  const manifests all = fine(job("held", "example.com/a,example.com/b") + job("free", ""));
  REQUIRE(all.pods.size() == 2);
  CHECK(all.pods[0].spec.scheduling_gates == std::vector<std::string>{"kueue.x-k8s.io/admission-gated-by"});
  CHECK(all.pods[1].spec.scheduling_gates.empty());
}

TEST_CASE("mistakes in Kueue's objects name object, field and reason", "[kube][queues]") {
  const auto of = [](const std::string& spec) { return refusal(flavor_a + kueue("ClusterQueue", "q", spec)); };
  const std::string at = "a.yaml:9: ClusterQueue q: ", first = "spec.resourceGroups[0].flavors[0].resources[0]";
  CHECK(of(groups("a", "nominalQuota: -1")) == at + first + ".nominalQuota: -1 is negative");
  CHECK(of(groups("a", "nominalQuota: much")).starts_with(at + first + ".nominalQuota: \"much\" is no quantity"));
  CHECK(of(groups("a", "borrowingLimit: 1")) == at + first + ".borrowingLimit: goes with a cohort");
  CHECK(of("cohortName: c, " + groups("a", "borrowingLimit: 1")) == at + first + ": needs a nominalQuota");
  CHECK(of("cohortName: c, " + groups("a", "nominalQuota: 1, lendingLimit: 2")) ==
        at + first + ": lendingLimit is above nominalQuota");
  CHECK(of("resourceGroups: [{coveredResources: [cpu, memory], flavors: [{name: a, resources: [{name: cpu, "
           "nominalQuota: 1}]}]}]") ==
        at + "spec.resourceGroups[0]: the flavor \"a\" has other resources than those covered");
  CHECK(of("resourceGroups: [{coveredResources: [cpu]}, {coveredResources: [cpu]}]") ==
        at + "spec.resourceGroups[1]: \"cpu\" is covered already");
  CHECK(of("resourceGroups: [{coveredResources: [], flavors: [{name: a}, {name: a}]}]") ==
        at + "spec.resourceGroups[0].flavors[1]: the flavor \"a\" is there already");
  CHECK(of("queueingStrategy: LIFO") ==
        at + "spec.queueingStrategy: \"LIFO\" is not one of BestEffortFIFO, StrictFIFO");
  CHECK(of("fairSharing: {weight: -2}") == at + "spec.fairSharing.weight: -2 is negative");
  CHECK(refusal(pod("p", "labels: {kueue.x-k8s.io/queue-name: a, kai.scheduler/queue: b}")) ==
        "a.yaml:1: Pod default/p: metadata.labels[\"kai.scheduler/queue\"]: is in two queues: in \"b\", and in "
        "\"default/a\" by metadata.labels[\"kueue.x-k8s.io/queue-name\"]");
}

TEST_CASE("what Kueue has and the library does not is said", "[kube][queues]") {
  const manifests all = fine(kueue("ClusterQueue", "q", R"(namespaceSelector: {},
  preemption: {reclaimWithinCohort: Any}, admissionChecksStrategy: {admissionChecks: [{name: c}]},
  concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors}}, colour: red)"));
  std::vector<std::string> fields;
  for (const warning& one : all.warnings) fields.push_back(one.field);
  CHECK(fields ==
        std::vector<std::string>{"spec.admissionChecksStrategy", "spec.concurrentAdmissionPolicy", "spec.colour"});
}

TEST_CASE("quota of what no pod can request is left out, and said", "[kube][queues]") {
  const manifests all = fine(flavor_a + kueue("ClusterQueue", "q", R"(namespaceSelector: {}, resourceGroups: [
    {coveredResources: [cpu, gpu.memory], flavors: [
      {name: a, resources: [{name: cpu, nominalQuota: 4}, {name: gpu.memory, nominalQuota: 80Gi}]}]}])"));
  REQUIRE(all.warnings.size() == 1);
  CHECK(all.warnings[0].object == "a.yaml:6: ClusterQueue q");
  CHECK(all.warnings[0].field == "spec");
  CHECK(all.warnings[0].reason == "no pod can request \"gpu.memory\": its quota is left out");
  REQUIRE(queue(all, "q").spec.quotas.size() == 1);
  CHECK(queue(all, "q").spec.quotas[0].guaranteed == resource_list{{"cpu", 4}});
  CHECK(check(queue(all, "q").spec) == std::nullopt);
}

TEST_CASE("lists of a ClusterQueue are as long as Kueue's may be", "[kube][queues][limits]") {
  std::string many = "resourceGroups: [";
  for (int i = 0; i < 17; ++i) many += "{coveredResources: [r" + std::to_string(i) + "]}, ";
  CHECK(refusal(kueue("ClusterQueue", "q", many + "]")) ==
        "a.yaml:4: ClusterQueue q: spec.resourceGroups: has more than 16 entries");
  std::string names = "resourceGroups: [{coveredResources: [";
  for (int i = 0; i < 65; ++i) names += "r" + std::to_string(i) + ", ";
  CHECK(refusal(kueue("ClusterQueue", "q", names + "]}]")) ==
        "a.yaml:4: ClusterQueue q: spec.resourceGroups[0].coveredResources: has more than 64 entries");
  // Sums of cohorts in cohorts: each has what all below it have, in flavors of its own.
  std::string chain;
  for (int i = 0; i < 1100; ++i) {
    const std::string name = "f" + std::to_string(i);
    chain += "---\n{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: " + name + "}}\n---\n" +
             "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: " + name + "}, spec: {parentName: f" +
             std::to_string(i + 1) + ", " + groups(name, "nominalQuota: 1") + "}}\n";
  }
  CHECK(refusal(chain).ends_with("spec: there is quota of more than 1000 flavors below it"));
}

}  // namespace gangsched::testing::kueue_queues_test
