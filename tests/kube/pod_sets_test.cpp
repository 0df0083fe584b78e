#include "kube/group_objects.hpp"

namespace gangsched::testing::pod_sets_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

using words = std::vector<std::string>;

std::string ray(const std::string& spec) {
  return "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec: {" + spec + "}\n---\n";
}
std::string head() { return "headGroupSpec: {" + templated() + "}, "; }
std::string workers(const std::string& more) {
  return "workerGroupSpecs: [{groupName: w, " + templated() + ", " + more + "}]";
}
std::string volcano(const std::string& spec) {
  return "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec: {" + spec + "}\n---\n";
}

}  // namespace

TEST_CASE("a Volcano Job becomes its tasks' pods and their gang", "[kube][workloads]") {
  const std::string tasks = "tasks: [{name: ps, replicas: 1, " + templated() +
                            "}, {name: worker, replicas: 3, minAvailable: 2, " + templated() + "}]";
  const manifests all = fine(volcano("minAvailable: 3, priorityClassName: high, " + tasks));
  REQUIRE(all.pods.size() == 4);
  CHECK(all.pods[0].spec.name == "j-ps-0");
  CHECK(all.pods[3].spec.name == "j-worker-2");
  CHECK(all.pods[3].spec.role == "worker");
  CHECK(all.pods[3].spec.rank == 2);
  CHECK(all.pods[3].spec.priority_class == "high");
  CHECK(all.pods[3].group == "j");
  CHECK(gang_in(all, "j").min_count == 3);
  CHECK(roles(gang_in(all, "j")) == words{"ps 1", "worker 2"});
  CHECK(group(all, "j").priority_class == "high");
  // Fewer in all than the tasks need: Volcano does not count tasks then.
  CHECK(roles(gang_in(fine(volcano("minAvailable: 2, " + tasks)), "j")).empty());
  CHECK(gang_in(fine(volcano(tasks)), "j").min_count == 3);
  CHECK(reading_refusal(volcano("minAvailable: 5, " + tasks)) ==
        "a.yaml:4: Job default/j: spec.minAvailable: 5 is above 4, the replicas of all tasks");
  CHECK(reading_refusal(volcano("tasks: [{name: a, replicas: 1, minAvailable: 2, " + templated() + "}]")) ==
        "a.yaml:4: Job default/j: spec.tasks[0]: minAvailable 2 is above replicas 1");
  CHECK(
      reading_refusal(volcano("tasks: [{name: a, template: {spec: {priority: 1, tolerations: [{operator: Equal}]}}}]"))
          .find("spec.tasks[0].template.spec.tolerations[0].operator") != std::string::npos);
}

TEST_CASE("partitions of a Volcano Job's task are sub-groups of its gang", "[kube][workloads]") {
  const auto job = [](const std::string& policy, const std::string& more = "") {
    return volcano("networkTopology: {highestTierAllowed: 2}, " + more +
                   "tasks: [{name: w, replicas: 6, partitionPolicy: {" + policy + "}, " + templated() + "}]") +
           "{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: r}, spec: {tier: 1}}\n---\n"
           "{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: s}, spec: {tier: 2}}\n---\n";
  };
  const std::string pairs =
      "totalPartitions: 3, partitionSize: 2, networkTopology: {mode: hard, highestTierAllowed: 1}";
  const manifests all = fine(job(pairs));
  CHECK(all.warnings.empty());
  REQUIRE(all.pods.size() == 6);
  CHECK(all.pods[3].spec.labels.at("volcano.sh/partition-id") == "1");
  CHECK(all.pods[3].group == "j-w-1");
  CHECK(all.groups.size() == 4);
  CHECK(gang_in(all, "j", true).min_count == 3);
  CHECK(group(all, "j", true).spec.topology.within.size() == 2);
  CHECK(gang_in(all, "j-w-1").min_count == 2);
  CHECK(group(all, "j-w-1").parent == "j");
  CHECK(group(all, "j-w-1").spec.topology.within == words{"topology.volcano.sh/tier-1"});
  cluster on;
  CHECK(apply(on, all));

  // Two of three suffice, if no more members are asked for than they have.
  CHECK(gang_in(fine(job(pairs + ", minPartitions: 2")), "j", true).min_count == 2);
  CHECK(gang_in(fine(job(pairs + ", minPartitions: 2", "minAvailable: 6, ")), "j", true).min_count == 3);
  // A task beside it that has no partitions stays in a group of the job's name.
  const manifests both =
      fine(volcano("tasks: [{name: m, replicas: 1, " + templated() + "}, {name: w, replicas: 4, partitionPolicy: " +
                   "{totalPartitions: 2, partitionSize: 2}, " + templated() + "}]"));
  CHECK(both.pods[0].group == "j");
  CHECK(gang_in(both, "j").min_count == 1);
  CHECK(gang_in(both, "j", true).min_count == 3);

  CHECK(reading_refusal(job("totalPartitions: 4, partitionSize: 2")) ==
        "a.yaml:4: Job default/j: spec.tasks[0]: replicas 6 are not 4 partitions of 2");
  CHECK(reading_refusal(job(pairs + ", minPartitions: 4")) ==
        "a.yaml:4: Job default/j: spec.tasks[0].partitionPolicy: minPartitions 4 is above totalPartitions 3");
  CHECK(reading_refusal(volcano(
            "tasks: [{name: w, replicas: 2, minAvailable: 1, partitionPolicy: {totalPartitions: 1, partitionSize: 2, " +
            std::string{"minPartitions: 1}, "} + templated() + "}]")) ==
        "a.yaml:4: Job default/j: spec.tasks[0]: minAvailable 1 is not minPartitions 1 of 2");
  CHECK(reading_refusal(job("totalPartitions: 0, partitionSize: 2"))
            .find("partitionPolicy.totalPartitions: 0 is not in") != std::string::npos);
}

TEST_CASE("pods of a Volcano Job that are there are not made again", "[kube][workloads]") {
  const manifests all = fine(
      volcano("tasks: [{name: a, replicas: 2, " + templated() + "}]") +
      "{apiVersion: v1, kind: Pod, metadata: {name: j-a-0, labels: {volcano.sh/job-name: j}, annotations: "
      "{volcano.sh/task-spec: a, scheduling.k8s.io/group-name: j-1234}}, spec: {containers: [{name: c}]}}\n---\n"
      "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: j-1234}, spec: {minMember: 2}}\n");
  REQUIRE(all.pods.size() == 2);
  CHECK(all.pods[0].group == "j-1234");
  CHECK(all.pods[1].spec.name == "j-a-1");
  CHECK(all.pods[1].group == "j-1234");  // the one that Volcano has made
  CHECK(all.groups.size() == 1);
}

TEST_CASE("a RayCluster is one gang of its head and its workers", "[kube][workloads]") {
  const auto made = [](const std::string& spec) { return fine(ray(spec)); };
  // As KubeRay's tests have it (batchscheduler/volcano/volcano_scheduler_test.go).
  const manifests plain = made(head() + workers("replicas: 2"));
  CHECK(gang_in(plain, "r").min_count == 3);
  CHECK(plain.pods.size() == 3);
  CHECK(roles(gang_in(plain, "r")) == words{"head 1", "w 2"});
  CHECK(plain.pods[0].spec.role == "head");
  CHECK(plain.pods[0].spec.name.starts_with("r-head-"));
  CHECK(plain.pods[2].spec.labels.at("ray.io/group") == "w");
  CHECK(gang_in(made(head() + workers("replicas: 2, numOfHosts: 2")), "r").min_count == 5);
  const manifests scaled =
      made("enableInTreeAutoscaling: true, " + head() + workers("replicas: 2, minReplicas: 1, maxReplicas: 4"));
  CHECK(gang_in(scaled, "r").min_count == 2);
  CHECK(gang_in(scaled, "r").desired_count == 3);
  CHECK(gang_in(scaled, "r").max_count == 5);
  CHECK(scaled.pods.size() == 3);
  // Counts outside their bounds are those of the bound.
  CHECK(made(head() + workers("replicas: 9, maxReplicas: 2")).pods.size() == 3);
  CHECK(made(head() + workers("minReplicas: 2")).pods.size() == 3);
  CHECK(made("suspend: true, " + head() + workers("replicas: 2")).pods.empty());
  CHECK(reading_refusal(ray(head() + workers("minReplicas: 3, maxReplicas: 2"))) ==
        "a.yaml:4: RayCluster default/r: spec.workerGroupSpecs[0]: minReplicas 3 is above maxReplicas 2");
  CHECK(reading_refusal(ray(workers("replicas: 1"))) == "a.yaml:4: RayCluster default/r: spec: needs a headGroupSpec");
  CHECK(reading_refusal(ray(head() + workers("replicas: 20")), {.max_pods = 10}) ==
        "a.yaml:4: RayCluster default/r: spec: there would be more than 10 pods");
  CHECK(reading_refusal(ray(head() + workers("replicas: 2147483647, numOfHosts: 2147483647")))
            .find("there would be more than") != std::string::npos);
}

TEST_CASE("pods of a RayCluster have the containers that KubeRay adds", "[kube][workloads]") {
  const auto made = [](const std::string& spec) { return fine(ray(spec + head() + workers("replicas: 1"))); };
  const auto cpu_of = [](const manifests& all, std::size_t pod, std::size_t at) {
    return all.pods.at(pod).spec.containers.at(at).requests.at("cpu");
  };
  const manifests plain = made("");
  CHECK(plain.pods.at(0).spec.containers.size() == 1);
  CHECK(plain.pods.at(0).spec.init_containers.empty());
  REQUIRE(plain.pods.at(1).spec.init_containers.size() == 1);  // it waits for the head
  CHECK(plain.pods[1].spec.init_containers[0].requests.at("cpu") == quantity::from_milli(200));
  CHECK(plain.pods[1].spec.init_containers[0].requests.at("memory") == quantity{std::int64_t{256} << 20});
  CHECK(plain.pods[1].spec.labels.at("ray.io/is-ray-node") == "yes");
  CHECK(made("enableInTreeAutoscaling: false, ").pods.at(0).spec.containers.size() == 1);
  // The autoscaler is beside the head, wherever in the object it is asked for.
  const manifests scaled = made("enableInTreeAutoscaling: true, ");
  REQUIRE(scaled.pods.at(0).spec.containers.size() == 2);
  CHECK(cpu_of(scaled, 0, 1) == quantity::from_milli(500));
  CHECK(scaled.pods[0].spec.containers[1].requests.at("memory") == quantity{std::int64_t{512} << 20});
  CHECK(fine(ray(head() + workers("replicas: 1") + ", enableInTreeAutoscaling: true"))
            .pods.at(0)
            .spec.containers.size() == 2);
  CHECK(cpu_of(made("autoscalerOptions: {resources: {limits: {cpu: 2}}}, enableInTreeAutoscaling: true, "), 0, 1) ==
        quantity{2});
}

TEST_CASE("labels of a RayCluster say more of its gang", "[kube][workloads]") {
  const auto labelled = [](const std::string& labels) {
    return "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {generateName: r-, labels: {" + labels + "}}\nspec: {" +
           head() + workers("replicas: 2") +
           "}\n---\n{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: a}, "
           "spec: {tier: 1}}\n";
  };
  const manifests all =
      fine(labelled("volcano.sh/network-topology-mode: hard, volcano.sh/network-topology-highest-tier-allowed: \"1\", "
                    "ray.io/priority-class-name: high"));
  REQUIRE(all.groups.size() == 1);
  CHECK(all.groups[0].spec.name.starts_with("r-"));
  CHECK(all.groups[0].spec.topology.within == words{"topology.volcano.sh/tier-1"});
  CHECK(all.groups[0].priority_class == "high");
  CHECK(all.pods.at(2).spec.priority_class == "high");
  CHECK(reading_refusal(labelled("volcano.sh/network-topology-mode: loose")).find("is not one of hard, soft") !=
        std::string::npos);
}

TEST_CASE("pods of a RayCluster that are there count", "[kube][workloads]") {
  const manifests all = fine(ray(head() + workers("replicas: 2")) +
                             "{apiVersion: v1, kind: Pod, metadata: {name: r-w-worker-1, labels: {ray.io/cluster: r, "
                             "ray.io/group: w, ray.io/node-type: "
                             "worker}}, spec: {containers: [{name: c}]}}\n");
  REQUIRE(all.pods.size() == 3);
  CHECK(all.pods[0].group == "r");
  CHECK(all.pods[0].spec.role == "w");
  CHECK(all.pods[1].spec.role == "head");
  CHECK(all.pods[2].spec.role == "w");
}

TEST_CASE("a RayJob's submitter is no member", "[kube][workloads]") {
  const auto job = [](const std::string& more) {
    return "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: j}\nspec: {" + more + "rayClusterSpec: {" + head() +
           workers("replicas: 2") + "}}\n---\n";
  };
  const manifests all = fine(job(""));
  REQUIRE(all.pods.size() == 4);
  CHECK(gang_in(all, "j").min_count == 3);  // R3
  CHECK(all.pods[0].group == "j");
  CHECK(all.pods[3].group.empty());
  CHECK(all.pods[3].spec.containers.at(0).requests.at("cpu") == quantity::from_milli(500));
  CHECK(fine(job("submissionMode: HTTPMode, ")).pods.size() == 3);
  const manifests beside = fine(job("submissionMode: SidecarMode, "));
  REQUIRE(beside.pods.at(0).spec.containers.size() == 2);
  CHECK(beside.pods[0].spec.containers[1].requests.at("memory") == quantity{std::int64_t{200} << 20});
  CHECK(beside.pods[0].limits.at(1).at("memory") == quantity{std::int64_t{1} << 30});
  // A cluster that the RayJob has made already has the gang.
  const manifests stored = fine(job("") +
                                "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: j-abcde, ownerReferences: "
                                "[{kind: RayJob, name: j, controller: true}]}\nspec: {" +
                                head() + workers("replicas: 2") + "}\n");
  CHECK(stored.groups.size() == 1);
  CHECK(stored.pods.size() == 3);
}

TEST_CASE("a JobFlow is the Jobs of its templates, one after the other; a CronJob of Volcano's is one run",
          "[kube][workloads]") {
  const auto object = [](const std::string& version, const std::string& kind, const std::string& name,
                         const std::string& spec) {
    return "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + spec +
           "}\n---\n";
  };
  const std::string tasks = "tasks: [{name: t, replicas: 2, " + templated() + "}]";
  const auto template_of = [&](const std::string& name) {
    return object("flow.volcano.sh/v1alpha1", "JobTemplate", name, tasks);
  };
  const std::string flow =
      object("flow.volcano.sh/v1alpha1", "JobFlow", "f", "flows: [{name: a}, {name: b, dependsOn: {targets: [a]}}]");
  const manifests all = fine(flow + template_of("a") + template_of("b"));
  REQUIRE(all.pods.size() == 4);
  CHECK(all.pods[0].spec.name == "f-a-t-0");
  CHECK(all.pods[2].group == "f-b");
  CHECK(group(all, "f-a").start_after.empty());
  REQUIRE(group(all, "f-b").start_after.size() == 1);
  CHECK(group(all, "f-b").start_after[0].on == "f-a");
  CHECK(group(all, "f-b").start_after[0].until == dependency_state::done);
  CHECK(fine(template_of("a")).pods.empty());
  // Of a snapshot the Jobs that were made count, and a flow that is done makes none.
  const std::string there = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: f-a}\nspec: {" + tasks +
                            "}\nstatus: {state: {phase: Completed}}\n---\n";
  const manifests stored = fine(flow + template_of("a") + template_of("b") + there);
  REQUIRE(stored.pods.size() == 2);
  CHECK(stored.pods[0].spec.name == "f-b-t-0");
  CHECK(group(stored, "f-b").start_after.empty());
  std::string failed = there;
  failed.replace(failed.find("Completed"), 9, "Failed");
  CHECK(group(fine(flow + template_of("a") + template_of("b") + failed), "f-b").start_after.size() == 1);
  // A Job that is a tree of its sub-groups is waited for as a whole.
  std::string parts = template_of("a");
  parts.insert(parts.find("replicas"), "partitionPolicy: {totalPartitions: 2, partitionSize: 1}, ");
  const manifests tree = fine(flow + parts + template_of("b"));
  CHECK(group(tree, "f-a", true).spec.composite);
  REQUIRE(group(tree, "f-b").start_after.size() == 1);
  CHECK(group(tree, "f-b").start_after[0].composite);
  CHECK(fine(flow.substr(0, flow.find("---")) + "status: {state: {phase: Succeed}}\n---\n" + template_of("a"))
            .pods.empty());
  // What is wrong with a template is where the template is.
  const auto refused = read(std::vector<source>{{"flow.yaml", flow},
                                                {"template.yaml", object("flow.volcano.sh/v1alpha1", "JobTemplate", "a",
                                                                         "minAvailable: -1")}},
                            {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().starts_with("template.yaml:4: JobTemplate default/a: "));
  const auto partly = read(source{"a.yaml", flow + template_of("a")}, {});
  REQUIRE(partly);
  REQUIRE(partly->warnings.size() == 1);
  CHECK(partly->warnings[0].reason == "no JobTemplate \"b\": its Job is not made");

  const std::string run = "schedule: '* * * * *', jobTemplate: {spec: {" + tasks + "}}";
  const manifests cron = fine(object("batch.volcano.sh/v1alpha1", "CronJob", "c", run));
  REQUIRE(cron.pods.size() == 2);
  CHECK(cron.pods[0].spec.name.starts_with("c-"));
  CHECK(gang_in(cron, cron.pods[0].group).min_count == 2);
  CHECK(fine(object("batch.volcano.sh/v1alpha1", "CronJob", "c", run + ", suspend: true")).pods.empty());
  CHECK(
      fine(object("batch.volcano.sh/v1alpha1", "CronJob", "c", run) +
           "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: c-1, ownerReferences: [{kind: CronJob, "
           "name: c, controller: true}]}\nspec: {" +
           tasks + "}\n")
          .pods.size() == 2);
}

TEST_CASE("a RayService and a RayCronJob make a RayCluster's pods", "[kube][workloads]") {
  const auto of_kind = [](const std::string& kind, const std::string& spec) {
    return "apiVersion: ray.io/v1\nkind: " + kind + "\nmetadata: {name: x}\nspec: {" + spec + "}\n---\n";
  };
  const std::string cluster = "{" + head() + workers("replicas: 2") + "}";
  const manifests service = fine(of_kind("RayService", "serveConfigV2: '', rayClusterConfig: " + cluster));
  REQUIRE(service.pods.size() == 3);
  CHECK(service.pods[0].spec.name.starts_with("x-"));
  CHECK(service.pods[0].spec.labels.at("ray.io/node-type") == "head");
  CHECK(gang_in(service, "x").min_count == 3);
  CHECK(fine(of_kind("RayService", "suspend: true, rayClusterConfig: " + cluster)).pods.empty());
  // The submitter of the job is no member.
  const std::string run = "schedule: '* * * * *', jobTemplate: {rayClusterSpec: " + cluster + "}";
  const manifests cron = fine(of_kind("RayCronJob", run));
  CHECK(cron.pods.size() == 4);
  CHECK(gang_in(cron, "x").min_count == 3);
  const manifests suspended = fine(of_kind("RayCronJob", run + ", suspend: true"));
  CHECK(suspended.pods.empty());
  CHECK(suspended.groups.empty());
  // What it has made has its gang itself.
  const std::string owned = ", ownerReferences: [{kind: RayService, name: x, controller: true}]";
  CHECK(fine(of_kind("RayService", "rayClusterConfig: " + cluster) +
             "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: x-abcde" + owned + "}\nspec: " + cluster + "\n")
            .pods.size() == 3);
}

TEST_CASE("a job of Kubeflow's is one gang of its roles", "[kube][workloads]") {
  const auto job = [](const std::string& kind, const std::string& spec, const std::string& version = "v1") {
    return "apiVersion: kubeflow.org/" + version + "\nkind: " + kind + "\nmetadata: {name: t}\nspec: {" + spec + "}\n";
  };
  const auto role = [](const std::string& name, int replicas) {
    return name + ": {replicas: " + std::to_string(replicas) + ", " + templated() + "}";
  };
  const std::string specs = "pytorchReplicaSpecs: {" + role("Master", 1) + ", " + role("Worker", 3) + "}";
  const manifests torch = fine(job("PyTorchJob", specs));
  REQUIRE(torch.pods.size() == 4);
  CHECK(torch.pods[0].spec.name == "t-master-0");
  CHECK(torch.pods[0].spec.labels.at("training.kubeflow.org/job-role") == "master");
  CHECK(torch.pods[3].spec.name == "t-worker-2");
  CHECK(torch.pods[3].spec.labels.at("training.kubeflow.org/replica-type") == "worker");
  CHECK(torch.pods[3].spec.rank == 2);
  CHECK(roles(gang_in(torch, "t")) == words{"master 1", "worker 3"});
  CHECK(fine(job("PyTorchJob", "runPolicy: {suspend: true}, " + specs)).pods.empty());

  const manifests elastic = fine(job("PyTorchJob", "elasticPolicy: {minReplicas: 2, maxReplicas: 5}, " + specs));
  CHECK(gang_in(elastic, "t").min_count == 3);
  CHECK(gang_in(elastic, "t").max_count == 6);
  const manifests some = fine(
      job("PyTorchJob", "runPolicy: {schedulingPolicy: {minAvailable: 2, queue: q, priorityClass: high}}, " + specs));
  CHECK(gang_in(some, "t").min_count == 2);
  CHECK(roles(gang_in(some, "t")).empty());
  CHECK(some.pods[0].spec.priority_class == "high");

  const std::string mpi = "mpiReplicaSpecs: {" + role("Launcher", 1) + ", " + role("Worker", 2) + "}";
  const manifests old = fine(job("MPIJob", mpi));
  CHECK(old.pods.at(0).spec.name == "t-launcher");
  CHECK(gang_in(old, "t").min_count == 3);
  const manifests now = fine(job("MPIJob", mpi, "v2beta1"));
  CHECK(now.pods.at(0).spec.name.starts_with("t-launcher-"));
  CHECK(now.pods.at(1).spec.labels.at("training.kubeflow.org/job-role") == "worker");
  CHECK(gang_in(now, "t").min_count == 3);
  // Where the launcher waits for the workers it is no member.
  const manifests waits = fine(job("MPIJob", "launcherCreationPolicy: WaitForWorkersReady, " + mpi, "v2beta1"));
  CHECK(waits.pods.size() == 3);
  CHECK(waits.pods[0].group.empty());
  CHECK(gang_in(waits, "t").min_count == 2);

  // Pods that are there are counted, and members.
  const std::string there =
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: t-worker-0, labels: {"
      "training.kubeflow.org/job-name: t, training.kubeflow.org/replica-type: worker}}\n"
      "spec: {nodeName: n1, containers: [{name: c}]}\n";
  const manifests partly = fine(job("PyTorchJob", specs) + there);
  REQUIRE(partly.pods.size() == 4);
  CHECK(partly.pods[0].group == "t");
  CHECK(partly.pods[0].spec.role == "worker");
  CHECK(reading_refusal(job("TFJob", "runPolicy: {}")).find("needs tfReplicaSpecs") != std::string::npos);

  const auto amounts = [](std::int64_t milli, std::int64_t mebibytes) {
    return resource_list{{"cpu", quantity::from_milli(milli)}, {"memory", quantity{mebibytes << 20}}};
  };
  // Init containers of the training operator: workers wait for a master, launchers get kubectl.
  CHECK(torch.pods[0].spec.init_containers.empty());
  REQUIRE(torch.pods[3].spec.init_containers.size() == 1);
  CHECK(torch.pods[3].spec.init_containers[0].requests == amounts(50, 10));
  const manifests alone = fine(job("PyTorchJob", "pytorchReplicaSpecs: {" + role("Worker", 1) + "}"));
  CHECK(alone.pods.at(0).spec.init_containers.empty());
  REQUIRE(old.pods[0].spec.init_containers.size() == 1);
  resource_list brings = amounts(100, 512);
  brings["ephemeral-storage"] = quantity{std::int64_t{5} << 30};
  CHECK(old.pods[0].spec.init_containers[0].requests == brings);
  CHECK(old.pods[1].spec.init_containers.empty());
  CHECK(now.pods[0].spec.init_containers.empty());
}

TEST_CASE("a TrainJob is a JobSet of its runtime's, with its own nodes", "[kube][workloads]") {
  const auto object = [](const std::string& kind, const std::string& meta, const std::string& spec) {
    return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " + kind + "\nmetadata: {" + meta + "}\nspec: {" + spec +
           "}\n---\n";
  };
  const std::string pods = "template: {spec: {containers: [{name: node, resources: {requests: {cpu: 1}}}]}}";
  const std::string node =
      "{name: node, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
      "trainer}}, spec: {" +
      pods + "}}}";
  const std::string runtime =
      object("ClusterTrainingRuntime", "name: torch",
             "mlPolicy: {numNodes: 1, torch: {}}, template: {spec: {replicatedJobs: [" + node + "]}}");
  const auto job = [&](const std::string& more) {
    return object("TrainJob", "name: t, namespace: team", more + "runtimeRef: {name: torch}");
  };
  CHECK(fine(runtime).pods.empty());
  CHECK(fine(runtime + job("")).pods.size() == 1);
  const manifests all =
      fine(job("trainer: {numNodes: 3, resourcesPerNode: {requests: {nvidia.com/gpu: 4}}}, ") + runtime);
  REQUIRE(all.pods.size() == 3);
  CHECK(all.pods[2].spec.ns == "team");
  CHECK(all.pods[2].spec.name.starts_with("t-node-0-2-"));
  CHECK(all.pods[2].spec.containers.at(0).requests.at("nvidia.com/gpu") == quantity{std::int64_t{4}});
  CHECK_FALSE(all.pods[2].spec.containers.at(0).requests.contains("cpu"));
  CHECK(gang_in(all, "t").min_count == 3);
  CHECK(fine(runtime + job("suspend: true, ")).pods.empty());
  // Its launcher trains too, so that there is a node less.
  const std::string mpi = object(
      "TrainingRuntime", "name: torch, namespace: team",
      "mlPolicy: {mpi: {runLauncherAsNode: true}}, template: {spec: {replicatedJobs: [{name: launcher, template: "
      "{spec: {" +
          pods + "}}}, " + node + "]}}");
  const manifests launched = fine(mpi + job("trainer: {numNodes: 4}, "));
  CHECK(launched.pods.empty());  // it names a runtime of the cluster
  const manifests own = fine(mpi + object("TrainJob", "name: t, namespace: team",
                                          "trainer: {numNodes: 4}, runtimeRef: {kind: TrainingRuntime, name: torch}"));
  CHECK(own.pods.size() == 4);
  // There is one at least, and what a runtime says of nodes is of the jobs that train.
  const auto with_nodes = [&](const std::string& runtime_of, const std::string& more) {
    return fine(runtime_of + object("TrainJob", "name: t, namespace: team",
                                    more + "runtimeRef: {kind: TrainingRuntime, name: torch}"))
        .pods.size();
  };
  CHECK(with_nodes(mpi, "trainer: {numNodes: 1}, ") == 2);
  std::string of_three = mpi;
  of_three.insert(of_three.find("mpi:"), "numNodes: 3, ");
  CHECK(with_nodes(of_three, "") == 4);
  // The JobSet that is there already makes the pods.
  CHECK(fine(runtime + job("trainer: {numNodes: 3}, ") +
             "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: t, namespace: team}\nspec: {"
             "replicatedJobs: [" +
             replicated("node", 1, 2) + "]}\n")
            .pods.size() == 2);
}

TEST_CASE("a SparkApplication is a driver and its executors", "[kube][workloads]") {
  const auto app = [](const std::string& spec) {
    return "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi}\nspec: {" + spec +
           "}\n";
  };
  const std::string pods =
      "driver: {coreRequest: 500m, memory: 512m}, executor: {instances: 2, cores: 2, memory: 8g, "
      "gpu: {name: nvidia.com/gpu, quantity: 1}}";
  const manifests all = fine(app("type: Scala, " + pods));
  REQUIRE(all.pods.size() == 3);
  CHECK(all.groups.empty());
  CHECK(all.pods[0].spec.name == "pi-driver");
  const auto asks = [](const pod_manifest& pod, const char* what) {
    return pod.spec.containers.at(0).requests.at(what);
  };
  constexpr std::int64_t mebi = std::int64_t{1} << 20;
  CHECK(asks(all.pods[0], "cpu") == quantity::from_milli(500));
  CHECK(asks(all.pods[0], "memory") == quantity{(512 + 384) * mebi});  // the least overhead
  CHECK(asks(all.pods[1], "cpu") == quantity{std::int64_t{2}});
  CHECK(asks(all.pods[1], "memory") == quantity{(8192 + 819) * mebi + 209715});  // a tenth
  CHECK(asks(all.pods[1], "nvidia.com/gpu") == quantity{std::int64_t{1}});
  CHECK(asks(fine(app("type: Python, memoryOverheadFactor: '0.5', " + pods)).pods.at(1), "memory") ==
        quantity{12288 * mebi});
  CHECK(fine(app("type: R, dynamicAllocation: {enabled: true, initialExecutors: 4}, " + pods)).pods.size() == 5);
  CHECK(fine(app("type: R, suspend: true, " + pods)).pods.empty());
  const manifests gang = fine(app("type: Java, batchScheduler: volcano, " + pods));
  CHECK(gang_in(gang, "pi").min_count == 1);
  CHECK(gang.pods[2].group == "pi");
  CHECK(gang.pods[2].spec.scheduler_name == "volcano");
  CHECK(reading_refusal(app("driver: {memory: 5x}")).find("spec.driver.memory") != std::string::npos);
}

TEST_CASE("what an AppWrapper wraps is read, in its namespace and queue", "[kube][workloads]") {
  const auto wrapper = [](const std::string& more, const std::string& status = "") {
    return "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: a, namespace: team, labels: "
           "{kueue.x-k8s.io/queue-name: q}}\nspec: {" +
           more + "components: [{template: {apiVersion: batch/v1, kind: Job, metadata: {generateName: j-}, spec: {" +
           templated() + "}}}]}\n" + status;
  };
  const manifests all = fine(wrapper(""));
  REQUIRE(all.pods.size() == 1);
  CHECK(all.pods[0].spec.ns == "team");
  CHECK(all.pods[0].spec.name.starts_with("j-"));
  CHECK(all.pods[0].annotations.at("kueue.x-k8s.io/queue-name") == "q");
  CHECK(fine(wrapper("suspend: true, ")).pods.size() == 1);  // Kueue starts it
  CHECK(fine(wrapper("", "status: {phase: Failed}\n")).pods.empty());
  CHECK(reading_refusal("apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: a}\nspec: {}\n")
            .find("needs spec.components") != std::string::npos);
  // What is wrong beside a component is the wrapper's.
  CHECK(reading_refusal(
            "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: a}\nspec: {components: "
            "[{template: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}}, {}]}\n")
            .find("AppWrapper default/a: spec.components[1]: needs a template") != std::string::npos);
}

TEST_CASE("workloads that have ended, or are being deleted, make no pods", "[kube][workloads]") {
  const auto with = [](const std::string& text, const std::string& status) {
    return text.substr(0, text.find("---")) + "status: {" + status + "}\n";
  };
  const auto ended = [](const std::string& condition) {
    return "conditions: [{type: " + condition + ", status: 'True'}]";
  };
  const std::string job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: b}\nspec: {" + templated() + "}\n";
  const std::string set = job_set("replicatedJobs: [" + replicated("driver", 1, 1) + "]");
  const std::string tasks = volcano("tasks: [{name: t, replicas: 2, " + templated() + "}]");
  CHECK(fine(with(job, "conditions: [{type: Failed, status: 'False'}]")).pods.size() == 1);
  CHECK(fine(with(job, ended("Failed"))).pods.empty());
  CHECK(fine(with(job, ended("SuccessCriteriaMet"))).pods.empty());
  CHECK(fine(with(set, ended("Suspended"))).pods.size() == 1);
  CHECK(fine(with(set, ended("Completed"))).pods.empty());
  CHECK(fine(with(set, ended("Completed"))).groups.empty());
  CHECK(fine(with(tasks, "state: {phase: Running}")).pods.size() == 2);
  CHECK(fine(with(tasks, "state: {phase: Aborted}")).pods.empty());
  CHECK(fine(with(ray(head() + workers("replicas: 2")), "")).pods.size() == 3);
  const std::string deleted = "deletionTimestamp: '2026-01-01T00:00:00Z', ";
  CHECK(fine("apiVersion: apps/v1\nkind: Deployment\nmetadata: {" + deleted +
             "name: d}\nspec: {replicas: 3, selector: {matchLabels: {a: b}}, " + templated("labels: {a: b}") + "}\n")
            .pods.empty());
  CHECK(fine("apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {" + deleted + "name: r}\nspec: {" + head() +
             workers("replicas: 2") + "}\n")
            .pods.empty());
}

TEST_CASE("pod sets that ask for topology in their own ways are gangs below a gang", "[kube][workloads]") {
  const std::string rack = "annotations: {kueue.x-k8s.io/podset-required-topology: rack}";
  const manifests all =
      fine(job_set("replicatedJobs: [" + replicated("a", 1, 2, "", rack) + ", " + replicated("b", 1, 3) + "]"));
  CHECK(gang_in(all, "s", true).min_count == 2);
  CHECK(group(all, "s-a").parent == "s");
  CHECK(group(all, "s-a").spec.topology.within == words{"rack"});
  CHECK(gang_in(all, "s-b").min_count == 3);
  CHECK(group(all, "s-b").spec.topology.within.empty());
  CHECK(all.pods[4].group == "s-b");
  cluster on;
  CHECK(apply(on, all));
  // Those of one podset-group-name stay together.
  const std::string shared =
      "annotations: {kueue.x-k8s.io/podset-required-topology: rack, kueue.x-k8s.io/podset-group-name: x}";
  const manifests together = fine(job_set("replicatedJobs: [" + replicated("a", 1, 2, "", shared) + ", " +
                                          replicated("b", 1, 3, "", shared) + "]"));
  REQUIRE(together.groups.size() == 1);
  CHECK(group(together, "s").spec.topology.within == words{"rack"});
  // What needs fewer members than it has, whichever they are, is a gang of the first.
  const auto task = [&](const std::string& name, const std::string& meta) {
    return "{name: " + name + ", replicas: 3, " + templated(meta) + "}";
  };
  const manifests some =
      fine(volcano("minAvailable: 4, tasks: [" + task("a", "") + ", " + task("b", rack) + ", " + task("c", "") + "]"));
  CHECK(gang_in(some, "j", true).min_count == 2);
  CHECK(gang_in(some, "j-a").min_count == 3);
  CHECK(gang_in(some, "j-b").min_count == 1);
  CHECK(std::holds_alternative<basic>(group(some, "j-c").spec.policy));
  REQUIRE(some.warnings.size() == 1);
  CHECK(
      some.warnings[0].message() ==
      "a.yaml:1: Job default/j: spec: 4 of the members that it needs may be any: here they are the first, as its pods "
      "ask for topology in their own ways");
}

TEST_CASE("a RayJob that is split by topology keeps its submitter out", "[kube][workloads]") {
  const std::string rack = "annotations: {kueue.x-k8s.io/podset-preferred-topology: rack}";
  const manifests all =
      fine("apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: j}\nspec: {rayClusterSpec: {" + head() +
           "enableInTreeAutoscaling: true, workerGroupSpecs: [{groupName: w, replicas: 2, minReplicas: 1, " +
           templated(rack) + "}, {groupName: idle, minReplicas: 0, " + templated() + "}]}}\n");
  CHECK(all.groups.size() == 4);
  CHECK(gang_in(all, "j", true).min_count == 2);
  CHECK(gang_in(all, "j-w").min_count == 1);
  CHECK(gang_in(all, "j-w").desired_count == 2);
  CHECK(group(all, "j-w").spec.topology.or_anywhere);
  CHECK(std::holds_alternative<basic>(group(all, "j-idle").spec.policy));
  cluster on;
  CHECK(apply(on, all));
}

TEST_CASE("templates that name a group have that group", "[kube][workloads]") {
  const manifests all = fine(
      volcano("tasks: [{name: a, replicas: 2, " + templated("labels: {scheduling.x-k8s.io/pod-group: own}") + "}]") +
      "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: own}, spec: {minMember: 2}}\n");
  REQUIRE(all.groups.size() == 1);
  CHECK(all.pods.at(0).group == "own");
  CHECK(all.warnings.at(0).reason.find("it makes none itself") != std::string::npos);
}

TEST_CASE("workloads read from an API server make nothing, and the same files make the same pods",
          "[kube][workloads]") {
  const std::string text = ray(head() + workers("replicas: 2"));
  CHECK(fine(text, {.expand = false}).pods.empty());
  CHECK(fine(text, {.expand = false}).groups.empty());
  const manifests once = fine(text), again = fine(text);
  for (std::size_t i = 0; i < once.pods.size(); ++i) CHECK(once.pods[i].spec.name == again.pods[i].spec.name);
}

}  // namespace gangsched::testing::pod_sets_test
