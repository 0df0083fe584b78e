#include "gangsched/kube/manifests.hpp"

#include "kube/group_reading.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::manifests_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

pod_spec pod_of(const std::string& spec, const read_options& how = {}) {
  std::string text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {app: web}}\nspec:\n";
  return fine(text + spec, how).pods.at(0).spec;
}
std::string pod_refusal(const std::string& spec) {
  return reading_refusal("apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {app: web}}\nspec:\n" + spec);
}
std::vector<std::string> names(const manifests& of) {
  std::vector<std::string> all;
  for (const pod_manifest& one : of.pods) all.push_back(one.spec.ns + "/" + one.spec.name);
  return all;
}

}  // namespace

TEST_CASE("a node is read", "[kube][manifests]") {
  const manifests all = fine(R"(
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: a}}
spec:
  unschedulable: true
  taints: [{key: gpu, value: "yes", effect: NoSchedule, timeAdded: "1970-01-01T00:00:09Z"}]
status:
  allocatable: {cpu: 1900m, memory: 8Gi, pods: 110, nvidia.com/gpu: "4"}
  images: [{names: [busybox:1.36], sizeBytes: 4194304}]
  nodeInfo: {kubeletVersion: v1.36.3}
)");
  REQUIRE(all.nodes.size() == 1);
  const node_spec& node = all.nodes[0].spec;
  CHECK(node.name == "n1");
  CHECK(node.labels.at("zone") == "a");
  CHECK(node.unschedulable);
  CHECK(node.taints.at(0).key == "gpu");
  CHECK(all.nodes[0].taints_since == std::vector<std::optional<instant>>{std::chrono::seconds{9}});
  CHECK(node.allocatable.at("cpu") == quantity::from_milli(1900));
  CHECK(node.allocatable.at("pods") == quantity{110});
  CHECK(node.images.at(0).size_bytes == 4194304);
  CHECK(all.nodes[0].from.line == 2);
  CHECK(all.warnings.empty());
}

TEST_CASE("how long a pod tolerates taints is kept beside its tolerations", "[kube][manifests]") {
  const manifests all = fine(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c}]
  tolerations: [{operator: Exists}, {key: a, effect: NoExecute, tolerationSeconds: 5}, {key: b, tolerationSeconds: -1}]
)");
  using seconds = std::optional<std::int64_t>;
  CHECK(all.pods.at(0).toleration_seconds == std::vector<seconds>{std::nullopt, 5, -1});
  CHECK(all.pods.at(0).spec.tolerations.size() == 3);
}

TEST_CASE("a pod is read with all that scheduling reads", "[kube][manifests]") {
  const pod_spec pod = pod_of(R"(
  containers:
  - name: c
    image: nginx
    command: [sleep]
    resources: {requests: {cpu: 0.5, memory: 1Gi}}
    ports: [{containerPort: 80, hostPort: 8080, protocol: UDP, hostIP: 10.0.0.1}]
  initContainers: [{name: i, restartPolicy: Always}]
  overhead: {cpu: 10m}
  nodeSelector: {disk: ssd}
  tolerations: [{operator: Exists}, {key: a, value: b, effect: NoExecute, tolerationSeconds: 5}]
  schedulingGates: [{name: example.com/wait}]
  priority: 7
  preemptionPolicy: Never
  schedulerName: mine
  volumes: [{name: v, image: {reference: model}}, {name: w, emptyDir: {}}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: gen, operator: Gt, values: ["3"]}]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 5, preference: {matchFields: [{key: metadata.name, operator: In, values: [n1]}]}}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {matchLabels: {app: web}}, namespaces: [x], namespaceSelector: {}}
  topologySpreadConstraints:
  - {topologyKey: zone, maxSkew: 2, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, minDomains: 3, nodeTaintsPolicy: Honor}
)");
  CHECK(pod.containers.at(0).requests.at("cpu") == quantity::from_milli(500));
  CHECK(pod.containers.at(0).ports.at(0).host_port == 8080);
  CHECK(pod.containers.at(0).ports.at(0).protocol == protocol::udp);
  CHECK(pod.init_containers.at(0).sidecar);
  CHECK(pod.overhead.at("cpu") == quantity::from_milli(10));
  CHECK(pod.node_selector.at("disk") == "ssd");
  CHECK(pod.tolerations.at(0).op == toleration_operator::exists);
  CHECK(pod.tolerations.at(1).effect == taint_effect::no_execute);
  CHECK(pod.scheduling_gates.at(0) == "example.com/wait");
  CHECK(pod.priority == 7);
  CHECK(pod.preemption == preemption_policy::never);
  CHECK(pod.scheduler_name == "mine");
  CHECK(pod.image_volumes.at(0) == "model");
  CHECK(pod.affinity.required->at(0).match_expressions.at(0).op == selector_operator::gt);
  CHECK(pod.affinity.preferred.at(0).term.match_fields.at(0).values.at(0) == "n1");
  const pod_affinity_term& term = pod.anti_affinity_to_pods.required.at(0);
  CHECK(term.topology_key == "zone");
  CHECK(term.namespace_selector);
  CHECK(pod.topology_spread_constraints.at(0).min_domains == 3);
  CHECK(pod.topology_spread_constraints.at(0).node_taints_policy == node_inclusion::honor);
}

TEST_CASE("how long a pod may run and how long it may take to leave is read", "[kube][manifests]") {
  const auto both = [](const std::string& spec) {
    const pod_manifest pod = fine("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n" + spec).pods.at(0);
    return std::pair{pod.grace_seconds, pod.deadline_seconds.value_or(-1)};
  };
  CHECK(both("  hostname: p\n") == std::pair{std::int64_t{30}, std::int64_t{-1}});
  CHECK(both("  terminationGracePeriodSeconds: 0\n  activeDeadlineSeconds: 600\n") ==
        std::pair{std::int64_t{0}, std::int64_t{600}});
  CHECK(pod_refusal("  activeDeadlineSeconds: 0\n").find("spec.activeDeadlineSeconds") != std::string::npos);
}

TEST_CASE("a folder is no file", "[kube][manifests]") {
  const auto folder = load(".");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().message() == ".: file: cannot be read");
}

TEST_CASE("what the API server would have filled in is filled in, unless the objects come from it",
          "[kube][manifests]") {
  const std::string gpu =
      "  containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1, cpu: 2}, requests: {cpu: 1}}}]\n";
  CHECK(pod_of(gpu).containers[0].requests.at("nvidia.com/gpu") == quantity{1});
  CHECK(pod_of(gpu).containers[0].requests.at("cpu") == quantity{1});
  CHECK(pod_of(gpu, {.defaulting = false}).containers[0].requests.count("nvidia.com/gpu") == 0);

  const std::string host = "  hostNetwork: true\n  containers: [{name: c, ports: [{containerPort: 80}]}]\n";
  CHECK(pod_of(host).containers[0].ports[0].host_port == 80);
  CHECK(pod_of(host, {.defaulting = false}).containers[0].ports[0].host_port == 0);

  const std::string whole =
      "  resources: {limits: {cpu: 4, memory: 8Gi}}\n  containers: [{name: c, resources: {requests: {cpu: 1}}}]\n";
  CHECK(pod_of(whole).resources->at("cpu") == quantity{1});
  CHECK(pod_of(whole).resources->at("memory") == quantity::parse("8Gi").value());

  const std::string keys =
      "  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {}, "
      "matchLabelKeys: [app, none]}]}}\n";
  const auto merged = pod_of(keys).affinity_to_pods.required.at(0).selector->match_expressions;
  REQUIRE(merged.size() == 1);
  CHECK(merged[0].values == std::vector<std::string>{"web"});
  CHECK(pod_of(keys, {.defaulting = false}).affinity_to_pods.required.at(0).selector->match_expressions.empty());

  CHECK(fine("kind: Node\napiVersion: v1\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 4}}")
            .nodes[0]
            .spec.allocatable.at("cpu") == quantity{4});
}

TEST_CASE("mistakes name file, line, object, path and reason", "[kube][manifests]") {
  CHECK(pod_refusal("  containers:\n  - name: c\n    resources: {requests: {cpu: 1x}}") ==
        "a.yaml:7: Pod default/p: spec.containers[0].resources.requests.cpu: \"1x\" is no quantity: expected a number "
        "and an "
        "optional suffix, such as 100m or 1.5Gi");
  const std::string job =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{name: "
      "c}]}}}\n---\n";
  CHECK(fine(job + job).pods.size() == 1);
  CHECK(pod_refusal("  containers: nothing") == "a.yaml:5: Pod default/p: spec.containers: has to be a list, not text");
  CHECK(pod_refusal("  nodeSelector: {a: true}") ==
        "a.yaml:5: Pod default/p: spec.nodeSelector.a: has to be text, not true or false (\"true\" in quotes is text)");
  CHECK(pod_refusal("  priority: 3000000000") ==
        "a.yaml:5: Pod default/p: spec.priority: 3000000000 is not in -2147483648 to 2147483647");
  CHECK(pod_refusal("  priority: 1.5") == "a.yaml:5: Pod default/p: spec.priority: 1.5 is no whole number");
  CHECK(pod_refusal("  tolerations:\n  - operator: Sometimes") ==
        "a.yaml:6: Pod default/p: spec.tolerations[0].operator: \"Sometimes\" is not one of Equal, Exists");
  CHECK(pod_refusal("  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, "
                    "labelSelector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}}]}}")
            .find("\"Gt\" is not one of In, NotIn, Exists, DoesNotExist") != std::string::npos);
  CHECK(reading_refusal("kind: Pod\napiVersion: v1\nmetadata: 5") ==
        "a.yaml:3: Pod: metadata: has to be an object, not a number");
  CHECK(reading_refusal("- 1") == "a.yaml:1: document: is no object");
  CHECK(reading_refusal("a: 1") == "a.yaml:1: document: has no kind");
}

TEST_CASE("a pod requests as a whole no less than its containers do together", "[kube][manifests]") {
  const auto made = [](const std::string& whole, const std::string& more = "") {
    return read(source{"a.yaml",
                       "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  resources: {requests: {cpu: " + whole +
                           "}}\n  containers:\n  - {name: a, image: x, resources: {requests: {cpu: 1}}}\n"
                           "  - {name: b, image: x, resources: {limits: {cpu: 500m}}}\n" +
                           more},
                {.api_server_rules = true});
  };
  const std::string init = "  initContainers:\n  - {name: i, image: x, resources: {requests: {cpu: 2}}";
  CHECK_FALSE(made("1500m", init + "}\n").has_value());
  CHECK(made("2", init + "}\n").has_value());
  CHECK_FALSE(made("3400m", init + ", restartPolicy: Always}\n").has_value());
  CHECK(made("3500m", init + ", restartPolicy: Always}\n").has_value());
  CHECK(made("1500m").has_value());
  REQUIRE_FALSE(made("1").has_value());
  CHECK(made("1").error().message() ==
        "a.yaml:5: Pod default/p: spec.resources.requests.cpu: 1 is less than what the containers request together, "
        "1500m");
}

TEST_CASE("what the model finds wrong is said in the manifest's words", "[kube][manifests]") {
  CHECK(pod_refusal("  tolerations:\n  - {key: a, value: b}\n  - {value: b}") ==
        "a.yaml:7: Pod default/p: spec.tolerations[1].operator: has to be exists when the key is empty");
  CHECK(pod_refusal("  containers:\n  - resources:\n      requests:\n        nvidia.com/gpu: -1") ==
        "a.yaml:8: Pod default/p: spec.containers[0].resources.requests[\"nvidia.com/gpu\"]: is negative");
  CHECK(
      pod_refusal("  topologySpreadConstraints:\n  - {topologyKey: z, maxSkew: 0, whenUnsatisfiable: DoNotSchedule}") ==
      "a.yaml:6: Pod default/p: spec.topologySpreadConstraints[0].maxSkew: 0 is below 1");
  CHECK(pod_refusal("  affinity:\n    nodeAffinity:\n      preferredDuringSchedulingIgnoredDuringExecution:\n      - "
                    "weight: 101\n") ==
        "a.yaml:8: Pod default/p: "
        "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: 101 is not in 1 to 100");
  CHECK(reading_refusal("kind: Node\napiVersion: v1\nmetadata:\n  name: N_1\n")
            .starts_with("a.yaml:4: Node N_1: metadata.name: \"N_1\" is not a DNS"));
}

TEST_CASE("fields that do not exist are warnings", "[kube][manifests]") {
  const manifests all = fine(
      "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec:\n  prority: 5\n  containers: [{name: c, imagee: x}]\n");
  REQUIRE(all.warnings.size() == 2);
  CHECK(all.warnings[0].message() == "a.yaml:5: Pod default/p: spec.prority: there is no such field; it is left out");
  CHECK(all.warnings[1].field == "spec.containers[0].imagee");
  CHECK(fine("kind: Thing\napiVersion: example.com/v1\n").warnings.at(0).reason ==
        "Thing of example.com/v1 is not read; it is left out");
}

TEST_CASE("objects that no scheduler reads are counted in one warning", "[kube][manifests]") {
  const manifests all = fine(R"(
{kind: Secret, apiVersion: v1, metadata: {name: s}}
---
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: "system:node"}}
---
{kind: Secret, apiVersion: example.com/v1, metadata: {name: s}}
---
kind: List
apiVersion: v1
items:
- {kind: ConfigMap, apiVersion: v1, metadata: {name: a}}
- {kind: ConfigMap, apiVersion: v1, metadata: {name: b}}
---
{kind: RuntimeThing, apiVersion: node.k8s.io/v1, metadata: {name: r}}
)");
  REQUIRE(all.warnings.size() == 3);
  CHECK(all.warnings[0].reason == "Secret of example.com/v1 is not read; it is left out");
  CHECK(all.warnings[1].reason == "RuntimeThing of node.k8s.io/v1 is not read; it is left out");
  CHECK(all.warnings[2].message() == "ignored: 1 ClusterRole, 2 ConfigMap, 1 Secret");
}

TEST_CASE("lists, also of one kind, are their items", "[kube][manifests]") {
  const manifests all = fine(R"(
kind: List
apiVersion: v1
items:
- {kind: Node, apiVersion: v1, metadata: {name: n1}}
- {kind: PodList, apiVersion: v1, items: [{metadata: {name: a}}, {metadata: {name: b, namespace: x}}]}
)");
  CHECK(all.nodes.size() == 1);
  CHECK(names(all) == std::vector<std::string>{"default/a", "x/b"});
}

TEST_CASE("controllers become pods with their names", "[kube][manifests]") {
  const std::string rest = "\n  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}\n";
  const std::string set =
      "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: rs}\nspec:\n  replicas: 3\n  selector: {matchLabels: "
      "{app: web}}" +
      rest;
  const manifests all = fine(set);
  REQUIRE(all.pods.size() == 3);
  CHECK(names(fine(set)) == names(all));
  for (const pod_manifest& one : all.pods) {
    CHECK(one.spec.name.size() == std::string{"rs-bcdfg"}.size());
    CHECK(one.owner_kind == "ReplicaSet");
    CHECK(one.spec.labels.at("app") == "web");
  }
  CHECK(all.controllers.at(0).name == "rs");

  const manifests deployment =
      fine("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: {matchLabels: {app: web}}" +
           rest);
  REQUIRE(deployment.pods.size() == 1);
  const std::string hash = deployment.pods[0].spec.labels.at("pod-template-hash");
  CHECK(deployment.pods[0].spec.name.starts_with("d-" + hash + "-"));
  CHECK(deployment.controllers.at(0).name == "d-" + hash);
  CHECK(deployment.controllers.at(0).selector->match_labels.at("pod-template-hash") == hash);

  const manifests stateful = fine(
      "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s, namespace: x}\nspec:\n  replicas: 2\n  ordinals: "
      "{start: 4}" +
      rest);
  CHECK(names(stateful) == std::vector<std::string>{"x/s-4", "x/s-5"});
  CHECK(stateful.pods[1].spec.labels.at("apps.kubernetes.io/pod-index") == "5");

  const manifests job =
      fine("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  parallelism: 5\n  completions: 3" + rest);
  CHECK(job.pods.size() == 3);
  const manifests indexed = fine(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  parallelism: 2\n  completions: 3\n  "
      "completionMode: Indexed" +
      rest);
  REQUIRE(indexed.pods.size() == 2);
  CHECK(indexed.pods[1].spec.name.starts_with("j-1-"));
  CHECK(indexed.pods[1].spec.labels.at("batch.kubernetes.io/job-completion-index") == "1");
  CHECK(fine("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  suspend: true" + rest).pods.empty());

  const manifests cron = fine(
      "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec:\n  schedule: '* * * * *'\n  jobTemplate:\n    "
      "spec:\n"
      "      template: {spec: {containers: [{name: c}]}}\n",
      {.now = std::chrono::minutes{90}});
  REQUIRE(cron.pods.size() == 1);
  CHECK(cron.pods[0].spec.name.starts_with("c-90-"));
  CHECK(cron.pods[0].owner_name == "c-90");
}

TEST_CASE("pods that a controller has already are not made again", "[kube][manifests]") {
  const manifests all = fine(R"(
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: rs}
spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {}}}
---
apiVersion: v1
kind: Pod
metadata: {name: rs-old, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, controller: true, uid: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: done}
status: {phase: Succeeded}
)");
  CHECK(all.pods.size() == 2);
  CHECK(all.pods[0].spec.name == "rs-old");
}

TEST_CASE("controllers make a bounded number of pods", "[kube][manifests]") {
  const auto made = read(
      source{
          "a.yaml",
          "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: rs}\nspec: {replicas: 2000000000, template: {}}\n"},
      {.max_pods = 10});
  REQUIRE_FALSE(made);
  CHECK(made.error().message() == "a.yaml:1: ReplicaSet default/rs: spec: there would be more than 10 pods");
  CHECK(reading_refusal(
            "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: rs}\nspec: {template: {spec: {tolerations: "
            "[{}]}}}") ==
        "a.yaml:1: ReplicaSet default/rs: spec.template.spec.tolerations[0].operator: has to be exists when the key is "
        "empty");
}

TEST_CASE("groups, classes, services and budgets are read", "[kube][manifests]") {
  const manifests all = fine(R"(
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
preemptionPolicy: Never
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  schedulingConstraints: {topology: [{key: rack}]}
  priorityClassName: high
---
apiVersion: scheduling.k8s.io/v1alpha1
kind: Workload
metadata: {name: w, namespace: x}
spec: {podGroups: [{name: a, policy: {gang: {minCount: 2}}}, {name: b, policy: {basic: {}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b}
spec: {selector: {matchLabels: {app: web}}, maxUnavailable: 20%}
status: {disruptionsAllowed: 1, disruptedPods: {q: '2026-01-01T00:00:00Z', p: '2026-01-01T00:00:00Z'}}
---
apiVersion: v1
kind: Namespace
metadata: {name: x, labels: {team: a}}
)");
  CHECK(all.priority_classes.at(0).value == 1000);
  REQUIRE(all.groups.size() == 3);
  CHECK(std::get<gang>(all.groups[0].spec.policy).min_count == 4);
  CHECK(all.groups[0].spec.topology.within == std::vector<std::string>{"rack"});
  CHECK(all.groups[1].spec.name == "w-a");
  CHECK(std::holds_alternative<basic>(all.groups[2].spec.policy));
  CHECK(all.services.at(0).selector.at("app") == "web");
  CHECK(all.budgets.at(0).max_unavailable->percent);
  CHECK(all.budgets.at(0).disrupted_pods == std::vector<std::string>{"p", "q"});
  CHECK(all.namespaces.at(0).labels.at("kubernetes.io/metadata.name") == "x");
  CHECK(all.warnings.empty());
}

TEST_CASE("objects are read one by one", "[kube][manifests]") {
  const auto object = [](const std::string& text) { return parse_yaml({"one", text})->at(0).root; };
  CHECK(read_service(object("metadata: {name: s}\nspec: {selector: {a: b}}"), "one")->selector.at("a") == "b");
  const auto set = read_controller(object("metadata: {name: r, namespace: x}\nspec: {selector: {matchLabels: {a: b}}}"),
                                   "ReplicaSet", "one");
  CHECK(set->ns == "x");
  CHECK(set->selector->match_labels.at("a") == "b");
  CHECK(read_disruption_budget(object("metadata: {name: b}\nstatus: {disruptionsAllowed: 2}"), "one")
            ->disruptions_allowed == 2);
  CHECK(read_pod_group(object("metadata: {name: g}\nspec: {schedulingPolicy: {basic: {}}}"), "one")->spec.name == "g");
  CHECK(read_node(object("metadata: {name: a}"), "one")->spec.name == "a");
  CHECK(read_pod(object("metadata: {name: a}\nspec: {nodeName: b}"), "one")->node == "b");
  CHECK(read_namespace(object("metadata: {name: A}"), "one").error().object == "one:1: Namespace A");
  CHECK(read_pod_group(object("metadata: {name: g}\nspec: {schedulingPolicy: {}}"), "one").error().message() ==
        "one:2: PodGroup default/g: spec.schedulingPolicy: needs either basic or gang");
}

TEST_CASE("a budget without a status allows what the disruption controller would", "[kube][manifests]") {
  const auto allowed = [](const std::string& spec, int running, int pending) {
    std::string text =
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {selector: {matchLabels: {a: "
        "b}}, " +
        spec + "}\n";
    for (int i = 0; i < running + pending; ++i) {
      text += "---\n{apiVersion: v1, kind: Pod, metadata: {name: p" + std::to_string(i) + ", labels: {a: b}}, spec: {" +
              (i < running ? "nodeName: x" : "") + "}}\n";
    }
    const manifests all = fine(text);
    return disruptions_allowed(all, all.budgets.at(0));
  };
  CHECK(allowed("minAvailable: 2", 5, 0) == 3);
  CHECK(allowed("minAvailable: 7", 5, 0) == 0);
  CHECK(allowed("minAvailable: 50%", 5, 0) == 2);
  CHECK(allowed("maxUnavailable: 1", 5, 0) == 1);
  CHECK(allowed("maxUnavailable: 1", 5, 1) == 0);
  CHECK(allowed("maxUnavailable: 30%", 5, 0) == 2);
  CHECK(allowed("maxUnavailable: 10", 3, 0) == 3);
  const manifests read =
      fine("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nstatus: {disruptionsAllowed: 7}\n");
  CHECK(disruptions_allowed(read, read.budgets[0]) == 7);
}

TEST_CASE("times are read to the nanosecond", "[kube][manifests]") {
  const auto start = [](const std::string& when) {
    return fine("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {startTime: '" + when + "'}")
        .pods[0]
        .spec.start_time->count();
  };
  CHECK(start("1970-01-01T00:00:01Z") == 1'000'000'000);
  CHECK(start("2000-02-29T12:00:00.000000005Z") == 951825600'000'000'005);
  CHECK(start("1970-01-01T02:00:00+02:00") == 0);
  CHECK(reading_refusal("apiVersion: v1\nkind: Pod\nmetadata: {name: p, deletionTimestamp: yesterday}")
            .find("is no time like") != std::string::npos);
}

TEST_CASE("a pod that a preemption ends is known by its first DisruptionTarget condition", "[kube][manifests]") {
  const auto preempted = [](const std::string& conditions) {
    return fine("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {conditions: [" + conditions + "]}")
        .pods[0]
        .spec.preempted;
  };
  const std::string ready = "{type: Ready, status: 'True'}, ";
  const std::string by_scheduler = "{type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler}";
  const std::string by_eviction = "{type: DisruptionTarget, status: 'True', reason: EvictionByEvictionAPI}";
  CHECK(preempted(ready + by_scheduler));
  CHECK_FALSE(preempted(""));
  CHECK_FALSE(preempted(by_eviction + ", " + by_scheduler));
  CHECK_FALSE(preempted("{type: DisruptionTarget, status: 'False', reason: PreemptionByScheduler}"));
  CHECK(reading_refusal("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {conditions: [{type: 7}]}")
            .find("status.conditions[0].type") != std::string::npos);
}

TEST_CASE("manifests are applied as a whole or not at all", "[kube][manifests]") {
  const std::string good = R"({apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 9}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g},
 spec: {schedulingPolicy: {gang: {minCount: 1}}, priorityClassName: high}}
---
{apiVersion: v1, kind: Pod, metadata: {name: runs}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: waits}, spec: {schedulingGroup: {podGroupName: g}, priorityClassName: system-cluster-critical}}
)";
  cluster on;
  const std::uint64_t before = on.digest();
  if (const auto done = apply(on, fine(good)); !done) FAIL(done.error().message());
  CHECK(on.requested(*on.find_node("n1"), "cpu") == 1000);
  CHECK(on.state_of(*on.find_pod("default", "runs")) == pod_state::bound);
  CHECK(on.state_of(*on.find_pod("default", "waits")) == pod_state::pending);

  cluster other;
  const auto refused =
      apply(other, fine(good + "---\n{apiVersion: v1, kind: Pod, metadata: {name: lost},\n spec: {nodeName: n9}}\n"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() == "a.yaml:12: Pod default/lost: spec.nodeName: no node \"n9\"");
  CHECK(other.digest() == before);
  CHECK(other.nodes().empty());
  const auto twice = apply(on, fine(good));
  REQUIRE_FALSE(twice);
  CHECK(twice.error().message() == "a.yaml:3: Node n1: metadata.name: exists already");
}

TEST_CASE("a pod is Guaranteed if every container's limits are its requests", "[kube]") {
  const auto guaranteed = [](const std::string& spec, const std::string& status = "", bool defaulting = true) {
    const std::string text =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {" + spec + "}\nstatus: {" + status + "}\n";
    auto made = read(source{"a.yaml", text}, {.defaulting = defaulting});
    if (!made) FAIL(made.error().message());
    return made->pods.at(0).spec.guaranteed;
  };
  const std::string limits = "limits: {cpu: 2, memory: 1Gi}", same = "requests: {cpu: 2000m, memory: 1024Mi}";
  const auto c = [](const std::string& resources) { return "{name: c, resources: {" + resources + "}}"; };
  const auto only = [&](const std::string& resources) { return "containers: [" + c(resources) + "]"; };
  CHECK(guaranteed(only(limits)));
  CHECK(guaranteed(only(limits + ", " + same), "", false));
  CHECK_FALSE(guaranteed(only(limits), "", false));  // stored objects have their requests
  CHECK_FALSE(guaranteed(only(same)));
  CHECK_FALSE(guaranteed(only(limits + ", requests: {cpu: 1}")));
  CHECK_FALSE(guaranteed(only("limits: {cpu: 2}")));
  CHECK_FALSE(guaranteed(only("limits: {cpu: 0, memory: 1Gi}")));
  CHECK(guaranteed(only("limits: {cpu: 2, memory: 1Gi, nvidia.com/gpu: 1}")));
  CHECK_FALSE(guaranteed("containers: [" + c(limits) + ", {name: b}]"));
  CHECK_FALSE(guaranteed(only(limits) + ", initContainers: [{name: i}]"));
  CHECK(guaranteed(only(limits) + ", initContainers: [" + c(limits) + "]"));
  CHECK(guaranteed("resources: {" + limits + "}, containers: [{name: c}]"));  // the pod's own count instead
  CHECK_FALSE(guaranteed("resources: {" + same + "}, " + only(limits)));
  CHECK(guaranteed(only(same), "qosClass: Guaranteed"));
  CHECK_FALSE(guaranteed(only(limits), "qosClass: Burstable"));
}

TEST_CASE("mistakes are collected, and what has them is left out as if it were not there", "[kube][manifests]") {
  const auto pod_of = [](const std::string& name, const std::string& cpu) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           "}\nspec: {containers: [{name: c, resources: {requests: {cpu: " + cpu + "}}}]}\n---\n";
  };
  const std::string group =
      "apiVersion: scheduling.k8s.io/v1alpha3\nkind: PodGroup\nmetadata: {name: g}\nspec: "
      "{schedulingPolicy: {gang: {minCount: 0}}}\n---\n";
  const std::vector<source> files{{"a.yaml", pod_of("a", "1x") + pod_of("b", "1") + group},
                                  {"b.yaml", "{"},
                                  {"c.yaml", pod_of("c", "2") + pod_of("d", "2y")}};
  std::vector<error> mistakes;
  const auto made = read(files, {.mistakes = &mistakes});
  REQUIRE(made.has_value());
  std::vector<std::string> names, objects;
  for (const pod_manifest& one : made->pods) names.push_back(one.spec.name);
  for (const error& one : mistakes) objects.push_back(one.object);
  CHECK(names == std::vector<std::string>{"b", "c"});
  CHECK(made->groups.empty());
  REQUIRE(objects.size() == 4);
  CHECK(objects[0].starts_with("b.yaml:1"));
  CHECK(objects[1].starts_with("a.yaml:4: Pod default/a"));
  CHECK(objects[2].find("PodGroup default/g") != std::string::npos);
  CHECK(objects[3].starts_with("c.yaml:9: Pod default/d"));
  const auto first = read(files);
  REQUIRE_FALSE(first.has_value());
  CHECK(first.error().message() == mistakes[0].message());

  std::string many;
  for (int i = 0; i < 102; ++i) many += pod_of("p" + std::to_string(i), "x");
  mistakes.clear();
  const auto too_many = read(source{"a.yaml", many}, {.mistakes = &mistakes});
  CHECK_FALSE(too_many.has_value());
  CHECK(mistakes.size() == 100);
}

TEST_CASE("objects that name no namespace get the one that is asked for", "[kube][manifests]") {
  const auto made = read(
      source{"a.yaml",
             "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}\n---\napiVersion: v1\nkind: Node\n"
             "metadata: {name: n1}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: own}\nspec: {}\n"},
      {.ns = "team"});
  REQUIRE(made.has_value());
  CHECK(made->pods.at(0).spec.ns == "team");
  CHECK(made->pods.at(1).spec.ns == "own");
}

}  // namespace gangsched::testing::manifests_test
