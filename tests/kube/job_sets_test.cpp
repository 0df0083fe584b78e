#include "gangsched/model/state.hpp"
#include "kube/group_objects.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::job_sets_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;
using words = std::vector<std::string>;

TEST_CASE("a JobSet is one gang of its jobs", "[kube][workloads]") {
  const manifests all =
      fine(job_set("replicatedJobs: [" + replicated("driver", 1, 1) + ", " + replicated("workers", 2, 3) + "]"));
  REQUIRE(all.pods.size() == 7);
  CHECK(gang_in(all, "s").min_count == 7);
  CHECK(roles(gang_in(all, "s")) == words{"driver 1", "workers 6"});
  CHECK(all.pods[6].spec.rank == 6);
  CHECK(all.pods[6].spec.role == "workers");
  CHECK(all.pods[6].spec.name.starts_with("s-workers-1-2-"));
  CHECK(all.pods[6].spec.labels.at("jobset.sigs.k8s.io/job-global-index") == "2");
  CHECK(fine(job_set("suspend: true, replicatedJobs: [" + replicated("driver", 1, 1) + "]")).pods.empty());
}

TEST_CASE("each Job of a JobSet may have a domain of its own", "[kube][workloads]") {
  const std::string exclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology: rack";
  const auto with = [](std::string text, const std::string& where, const std::string& annotations) {
    text.insert(text.find(where) + where.size(), "metadata: {annotations: {" + annotations + "}}, ");
    return text;
  };
  const auto annotated = [](std::string text, const std::string& annotations) {
    return text.replace(text.find("{name: s}"), 9, "{name: s, annotations: {" + annotations + "}}");
  };
  const auto slices = [](const manifests& of, const std::string& name) {
    std::string all;
    for (const topology_slice& one : group(of, name).spec.topology.slices)
      all += one.key + " " + std::to_string(one.size) + " ";
    return all;
  };
  const std::string workers = replicated("workers", 2, 3), driver = replicated("driver", 1, 1);
  const manifests alike =
      fine(annotated(job_set("replicatedJobs: [" + workers + ", " + replicated("more", 1, 3) + "]"), exclusive));
  CHECK(slices(alike, "s") == "rack 3 ");
  // Nobody of another Job is in it, of any JobSet.
  const auto apart = [](const manifests& of, std::size_t pod) {
    std::string all;
    for (const pod_affinity_term& term : of.pods.at(pod).spec.anti_affinity_to_pods.required) {
      all += term.topology_key + (term.namespace_selector ? " everywhere:" : ":");
      for (const selector_requirement& one : term.selector.value().match_expressions)
        all += " " + one.key.substr(one.key.find('/') + 1) + (one.values.empty() ? "" : " not " + one.values.at(0));
    }
    return all;
  };
  CHECK(apart(alike, 0) == "rack everywhere: jobset-name job-name not s-workers-0");
  CHECK(apart(alike, 5) == "rack everywhere: jobset-name job-name not s-workers-1");
  // Where not all ask for the same, those that ask are a gang of their own.
  const manifests different = fine(annotated(job_set("replicatedJobs: [" + driver + ", " + workers + "]"), exclusive));
  CHECK(group(different, "s", true).spec.composite);
  CHECK(slices(different, "s-workers") == "rack 3 ");
  CHECK(slices(different, "s-driver") == "rack 1 ");
  CHECK(different.warnings.empty());
  const manifests one =
      fine(job_set("replicatedJobs: [" + driver + ", " + with(workers, "template: {", exclusive) + "]"));
  CHECK(slices(one, "s-workers") == "rack 3 ");
  CHECK(slices(one, "s-driver").empty());
  CHECK(apart(one, 0).empty());
  CHECK(apart(one, 1) == "rack everywhere: jobset-name job-name not s-workers-0");
  const manifests in_order = fine(job_set("startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [" + driver +
                                          ", " + with(workers, "template: {", exclusive) + "]"));
  CHECK(slices(in_order, "s-workers") == "rack 3 ");
  CHECK(slices(in_order, "s-driver").empty());
  // By labels that nodes got before, which are tainted too.
  const manifests labelled = fine(annotated(job_set("replicatedJobs: [" + workers + "]"),
                                            exclusive + ", alpha.jobset.sigs.k8s.io/node-selector: \"\""));
  CHECK(slices(labelled, "s").empty());
  CHECK(apart(labelled, 0).empty());
  CHECK(labelled.warnings.empty());
  CHECK(labelled.pods[5].spec.node_selector ==
        label_map{{"alpha.jobset.sigs.k8s.io/namespaced-job", "default_s-workers-1"}});
  REQUIRE(labelled.pods[5].spec.tolerations.size() == 1);
  CHECK(labelled.pods[5].spec.tolerations[0].key == "alpha.jobset.sigs.k8s.io/no-schedule");
}

TEST_CASE("annotations of a workload of KAI say where its gang is to be", "[kube][workloads]") {
  std::string text = job_set("replicatedJobs: [" + replicated("workers", 2, 3) + "]");
  text.replace(text.find("{name: s}"), 9,
               "{name: s, annotations: {kai.scheduler/topology: t, kai.scheduler/topology-required-placement: zone, "
               "kai.scheduler/topology-preferred-placement: rack}}");
  const std::string levels =
      "{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: t}, spec: {levels: [{nodeLabel: zone}, "
      "{nodeLabel: block}, {nodeLabel: rack}]}}\n---\n";
  CHECK(group(fine(levels + text), "s").spec.topology.within.empty());  // another scheduler's
  text.replace(text.find("containers:"), 11, "schedulerName: kai-scheduler, containers:");
  CHECK(group(fine(levels + text), "s").spec.topology.within == words{"rack", "block", "zone"});
  CHECK_FALSE(group(fine(levels + text), "s").spec.topology.or_anywhere);
}

TEST_CASE("jobs of a JobSet that wait for others are gangs of their own", "[kube][workloads]") {
  const std::string two = "replicatedJobs: [" + replicated("driver", 1, 1) + ", " + replicated("workers", 2, 3) + "]";
  const manifests in_order = fine(job_set("startupPolicy: {startupPolicyOrder: InOrder}, " + two));
  CHECK(gang_in(in_order, "s-driver").min_count == 1);
  CHECK(gang_in(in_order, "s-workers").min_count == 6);
  REQUIRE(group(in_order, "s-workers").start_after.size() == 1);
  CHECK(group(in_order, "s-workers").start_after[0].on == "s-driver");
  cluster on;
  REQUIRE(apply(on, in_order));
  const group_id driver = on.find_group("default", "s-driver").value();
  CHECK(inside(on).groups.record[on.find_group("default", "s-workers")->row]->spec.start_after.at(0).on == driver);

  const manifests named = fine(job_set("replicatedJobs: [" + replicated("a", 1, 1) + ", " +
                                       replicated("b", 1, 1, ", dependsOn: [{name: a, status: Complete}]") + "]"));
  CHECK(group(named, "s-b").start_after.at(0).until == dependency_state::done);
  CHECK(reading_refusal(
            job_set("replicatedJobs: [" + replicated("a", 1, 1, ", dependsOn: [{name: a, status: Ready}]") + "]")) ==
        "a.yaml:1: JobSet default/s: spec.replicatedJobs[0].dependsOn: \"a\" is no job before this one");
}

TEST_CASE("jobs of a JobSet without a pod keep no other waiting", "[kube][workloads]") {
  const auto after = [](const manifests& of, const std::string& name) {
    words all;
    for (const group_dependency_manifest& one : group(of, name).start_after) all.push_back(one.on);
    return all;
  };
  const std::string order = "startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [";
  const manifests between = fine(
      job_set(order + replicated("a", 1, 1) + ", " + replicated("none", 0, 1) + ", " + replicated("b", 1, 1) + "]"));
  CHECK(between.groups.size() == 2);
  CHECK(after(between, "s-b") == words{"s-a"});
  CHECK(between.pods[1].group == "s-b");
  CHECK(after(fine(job_set(order + replicated("none", 0, 1) + ", " + replicated("b", 1, 1) + "]")), "s-b").empty());
  for (const std::string status : {"Ready", "Complete"})
    CHECK(after(fine(job_set("replicatedJobs: [" + replicated("none", 0, 1) + ", " +
                             replicated("b", 1, 1, ", dependsOn: [{name: none, status: " + status + "}]") + "]")),
                "s-b")
              .empty());
  // A Job whose pods are only put off does not complete.
  std::string stopped = replicated("none", 1, 0);
  stopped.replace(stopped.find("completions: 0"), 14, "completions: 2");
  CHECK(after(fine(job_set("replicatedJobs: [" + stopped + ", " +
                           replicated("b", 1, 1, ", dependsOn: [{name: none, status: Complete}]") + "]")),
              "s-b") == words{"s-none"});
}

TEST_CASE("what jobs of a JobSet came to counts for those that depend on them", "[kube][workloads]") {
  const auto set = [](const std::string& status, const std::string& until) {
    return "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec: {replicatedJobs: [" +
           replicated("a", 2, 1) + ", " + replicated("b", 1, 1, ", dependsOn: [{name: a, status: " + until + "}]") +
           "]}\nstatus: {replicatedJobsStatus: [{name: a, " + status + "}]}\n---\n";
  };
  const manifests done = fine(set("succeeded: 2, ready: 0, failed: 0", "Complete"));
  CHECK(done.warnings.empty());
  CHECK(done.pods.size() == 1);
  CHECK(group(done, "s-b").start_after.empty());
  CHECK(group(fine(set("succeeded: 1, ready: 1, failed: 0", "Ready")), "s-b").start_after.empty());
  CHECK(group(fine(set("succeeded: 1, ready: 1, failed: 0", "Complete")), "s-b").start_after.size() == 1);
  CHECK(group(fine(set("succeeded: 1, ready: 0, failed: 0", "Ready")), "s-b").start_after.size() == 1);
  // Of Jobs that are in the files only those that are not there yet get pods.
  const std::string first =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: s-a-0, ownerReferences: [{apiVersion: "
      "jobset.x-k8s.io/v1alpha2, kind: JobSet, name: s, controller: true}]}\nspec: {completions: 1, " +
      templated("labels: {jobset.sigs.k8s.io/jobset-name: s, jobset.sigs.k8s.io/replicatedjob-name: a}") +
      "}\nstatus: {succeeded: 1, conditions: [{type: Complete, status: \"True\"}]}\n---\n";
  std::string second = first;
  second.replace(second.find("s-a-0"), 5, "s-a-1");
  const manifests stored = fine(set("succeeded: 2, ready: 0, failed: 0", "Complete") + first + second);
  REQUIRE(stored.pods.size() == 1);
  CHECK(stored.pods[0].group == "s-b");
}

TEST_CASE("each copy of a LeaderWorkerSet is a gang of the leader and its workers", "[kube][workloads]") {
  const auto set = [](const std::string& meta, const std::string& spec) {
    return "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: l" + meta + "}\nspec: {" +
           spec + "}\n---\n";
  };
  const std::string inner = "leaderWorkerTemplate: {size: 3, workerTemplate: {spec: {containers: [{name: c}]}}}";
  const manifests all = fine(set("", "replicas: 2, " + inner));
  REQUIRE(all.pods.size() == 6);
  CHECK(all.pods[0].spec.name == "l-0");
  CHECK(all.pods[0].spec.role == "leader");
  CHECK(all.pods[5].spec.name == "l-1-2");
  CHECK(all.pods[5].spec.role == "worker");
  CHECK(all.pods[5].spec.rank == 2);
  CHECK(all.pods[5].group == "l-1");
  CHECK(gang_in(all, "l-1").min_count == 3);
  CHECK(roles(gang_in(all, "l-0")) == words{"leader 1", "worker 2"});
  const manifests apart =
      fine(set(", annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: rack}", "replicas: 2, " + inner));
  CHECK(group(apart, "l-1").spec.topology.within == words{"rack"});
  CHECK(apart.warnings.empty());
  // No pod of another set, or of another copy, is there.
  const auto& others = apart.pods.at(5).spec.anti_affinity_to_pods.required;
  const auto says = [&](std::size_t term, std::size_t at) {
    const selector_requirement& one = others.at(term).selector.value().match_expressions.at(at);
    constexpr const char* ops[] = {" in ", " not in ", " exists", " lacks"};
    return one.key.substr(one.key.find('/') + 1) + ops[static_cast<std::size_t>(one.op)] +
           (one.values.empty() ? "" : one.values.at(0));
  };
  REQUIRE(others.size() == 2);
  CHECK(words{says(0, 0), says(0, 1)} == words{"group-index exists", "name not in l"});
  CHECK(words{says(1, 0), says(1, 1), says(1, 2)} == words{"worker-index exists", "name in l", "group-index not in 1"});
  CHECK(others[1].topology_key == "rack");
  CHECK_FALSE(others[0].namespace_selector);
  const manifests some =
      fine(set("", "replicas: 2, " + inner) +
           "{apiVersion: v1, kind: Pod, metadata: {name: l-1, labels: {leaderworkerset.sigs.k8s.io/name: l, "
           "leaderworkerset.sigs.k8s.io/group-index: \"1\", leaderworkerset.sigs.k8s.io/worker-index: \"0\"}}, "
           "spec: {containers: [{name: c}]}}\n");
  CHECK(some.pods.size() == 6);
  CHECK(some.pods[0].group == "l-1");
  CHECK(some.pods[0].spec.role == "leader");
  CHECK(reading_refusal(set("", "leaderWorkerTemplate: {size: 0}")).find("0 is not in 1 to") != std::string::npos);
  CHECK(reading_refusal(set("", "leaderWorkerTemplate: {size: 1}")) ==
        "a.yaml:4: LeaderWorkerSet default/l: spec: needs a workerTemplate");
}

TEST_CASE("sub-groups of a LeaderWorkerSet have their own domains, also with a leader beside them",
          "[kube][workloads]") {
  const auto set = [](int size, const std::string& policy) {
    return "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: l, annotations: "
           "{leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology: rack}}\nspec: {leaderWorkerTemplate: {size: " +
           std::to_string(size) + ", subGroupPolicy: {subGroupSize: 2" + policy +
           "}, workerTemplate: {spec: {containers: [{name: c}]}}}}\n---\n";
  };
  const auto parts = [](const manifests& of) {
    std::string all;
    for (const pod_manifest& one : of.pods) {
      const auto found = one.spec.labels.find("leaderworkerset.sigs.k8s.io/subgroup-index");
      all += found == one.spec.labels.end() ? "-" : found->second;
    }
    return all;
  };
  const manifests alike = fine(set(4, ""));
  CHECK(parts(alike) == "0011");
  CHECK(group(alike, "l-0").spec.topology.slices.at(0).size == 2);
  CHECK(alike.pods[3].spec.affinity_to_pods.required.empty());
  CHECK(alike.pods[3].spec.anti_affinity_to_pods.required.size() == 1);
  CHECK(alike.warnings.empty());
  const manifests more = fine(set(5, ""));
  CHECK(more.warnings.empty());
  CHECK(parts(more) == "00011");
  CHECK(group(more, "l-0").spec.topology.slices.empty());
  const pod_spec& last = more.pods[4].spec;
  const std::string key = last.labels.at("leaderworkerset.sigs.k8s.io/subgroup-key");
  CHECK(more.pods[3].spec.labels.at("leaderworkerset.sigs.k8s.io/subgroup-key") == key);
  CHECK(more.pods[0].spec.labels.at("leaderworkerset.sigs.k8s.io/subgroup-key") != key);
  REQUIRE(last.affinity_to_pods.required.size() == 1);
  CHECK(last.affinity_to_pods.required[0].topology_key == "rack");
  CHECK(last.affinity_to_pods.required[0].selector->match_expressions.at(0).values == words{key});
  REQUIRE(last.anti_affinity_to_pods.required.size() == 1);
  CHECK(last.anti_affinity_to_pods.required[0].selector->match_expressions.at(1).op == selector_operator::not_in);
  const manifests alone = fine(set(5, ", subGroupPolicyType: LeaderExcluded"));
  CHECK(parts(alone) == "-0011");
  CHECK(alone.pods[0].spec.affinity_to_pods.required.empty());
  CHECK(alone.pods[1].spec.affinity_to_pods.required.size() == 1);
  CHECK(reading_refusal(set(4, ", subGroupPolicyType: LeaderExcluded"))
            .ends_with("spec: 4 pods of a group cannot be in sub-groups of 2"));
}

TEST_CASE("pods of a LeaderWorkerSet have claims of its templates", "[kube][workloads]") {
  const manifests all = fine(
      "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: l}\nspec: "
      "{leaderWorkerTemplate: {size: 2, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: "
      "[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}], workerTemplate: {spec: {containers: [{name: "
      "c}]}}}}\n");
  words claims;
  for (const volume_claim_manifest& one : all.volume_claims) claims.push_back(one.name);
  CHECK(claims == words{"data-l-0", "data-l-0-1"});
}

}  // namespace gangsched::testing::job_sets_test
