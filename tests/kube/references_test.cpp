#include <algorithm>

#include "kube/group_reading.hpp"

namespace gangsched::testing::references_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

const read_options whole{.whole_cluster = true};

std::string pod(const std::string& name, const std::string& spec, const std::string& metadata = "") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + metadata + "}, spec: {" + spec + "}}\n---\n";
}
const std::string node =
    "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 9}}}\n---\n";

}  // namespace

TEST_CASE("who names a priority class that is in no file waits, and the rest goes on", "[kube][references]") {
  const manifests all =
      fine(node + pod("lost", "priorityClassName: gone") + pod("own", "priorityClassName: system-node-critical") +
               pod("settled", "priorityClassName: gone, priority: 7") + pod("plain", ""),
           whole);
  REQUIRE(all.pods.size() == 4);
  CHECK(all.pods[0].unresolved == std::vector<std::string>{"spec.priorityClassName: no priority class \"gone\""});
  for (std::size_t i = 1; i < 4; ++i) CHECK(all.pods[i].unresolved.empty());
  CHECK(warned(all) ==
        std::vector<std::string>{
            "a.yaml:3: Pod default/lost: spec.priorityClassName: no priority class \"gone\"; the pod waits for it"});
  cluster on;
  REQUIRE(apply(on, all));
  CHECK(on.priority_of(*on.find_pod("default", "settled")) == 7);  // its number came with the class
}

TEST_CASE("members of a group whose priority class is in no file wait", "[kube][references]") {
  const manifests all = fine(
      "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {gang: "
      "{minCount: 1}}, "
      "priorityClassName: gone}}\n---\n" +
          pod("a", "schedulingGroup: {podGroupName: g}") + pod("b", ""),
      whole);
  REQUIRE(all.pods.size() == 2);
  CHECK(all.pods[0].unresolved ==
        std::vector<std::string>{"a.yaml:1: PodGroup default/g: spec.priorityClassName: no priority class \"gone\""});
  CHECK(all.pods[1].unresolved.empty());
  cluster on;
  CHECK(apply(on, all));
}

TEST_CASE("who runs on a node that is in no file is left out, and counts for its controller", "[kube][references]") {
  const std::string set =
      "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs}, spec: {replicas: 2, selector: {matchLabels: {a: "
      "b}}, template: "
      "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}\n---\n";
  const std::string owned =
      ", ownerReferences: [{kind: ReplicaSet, name: rs, controller: true, apiVersion: apps/v1, uid: u}]";
  const std::string files = node + set + pod("there", "nodeName: n1") + pod("away", "nodeName: n9", owned);
  const manifests all = fine(files, whole);
  REQUIRE(all.pods.size() == 2);
  CHECK(all.pods[0].spec.name == "there");
  CHECK(all.pods[1].owner_name == "rs");
  CHECK(warned_lines(all) ==
        "a.yaml:7: Pod default/away: spec.nodeName: no node \"n9\": it runs there, and is left out\n");
  cluster on;
  CHECK(apply(on, all));
  CHECK(refusal(files) == "a.yaml:7: Pod default/away: spec.nodeName: no node \"n9\"");  // where others may have it
}

TEST_CASE("a WorkloadPriorityClass or a ResourceFlavor that is not there keeps its pods waiting",
          "[kube][references]") {
  const manifests all = fine(pod("p", "", ", labels: {kueue.x-k8s.io/priority-class: gone}"));
  REQUIRE(all.pods.size() == 1);
  CHECK(all.pods[0].unresolved ==
        std::vector<std::string>{
            "metadata.labels[\"kueue.x-k8s.io/priority-class\"]: no WorkloadPriorityClass \"gone\""});

  const manifests queues = fine(
      "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: q}, spec: {resourceGroups: "
      "[{coveredResources: [cpu], flavors: [{name: gone, resources: [{name: cpu, nominalQuota: 4}]}]}]}}\n");
  const auto q = std::ranges::find_if(queues.queues, [](const queue_manifest& one) { return one.name == "q"; });
  REQUIRE(q != queues.queues.end());
  CHECK(q->spec.state == queue_state::hold);
  CHECK(warned_lines(queues).find("no ResourceFlavor \"gone\": nobody is admitted") != std::string::npos);
  cluster on;
  CHECK(apply(on, queues));
}

TEST_CASE("of an object that comes twice the later one counts, as with apply", "[kube][references]") {
  const std::string high = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: ";
  const manifests all = fine(
      pod("p", "nodeSelector: {at: first}") + pod("q", "") + high + "1\n---\n" +
      "{kind: List, apiVersion: v1, items: [{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: "
      "{nodeSelector: {at: last}}}]}\n---\n" +
      pod("p", "", ", namespace: other") + high + "2\n");
  REQUIRE(all.pods.size() == 3);
  CHECK(all.pods[0].spec.name == "q");
  CHECK(all.pods[1].spec.node_selector == label_map{{"at", "last"}});
  CHECK(all.pods[2].spec.ns == "other");
  REQUIRE(all.priority_classes.size() == 1);
  CHECK(all.priority_classes[0].value == 2);
  CHECK(warned(all) == std::vector<std::string>{"a.yaml:1: Pod default/p: comes again: the later one counts",
                                                "a.yaml:5: PriorityClass high: comes again: the later one counts"});
}

TEST_CASE("whatever has a generateName gets a name of its own", "[kube][references]") {
  const std::string one =
      "{apiVersion: v1, kind: Node, metadata: {generateName: n-}, status: {allocatable: {cpu: 4}}}\n---\n";
  const manifests all = fine(one + one);
  REQUIRE(all.nodes.size() == 2);
  CHECK(all.nodes[0].spec.name.starts_with("n-"));
  CHECK(all.nodes[0].spec.name != all.nodes[1].spec.name);
  CHECK(all.warnings.empty());
}

TEST_CASE("a resource of a node that no pod can name is left out", "[kube][references]") {
  const manifests all =
      fine("{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, 'a.io/{{x}}': 1}}}\n");
  CHECK(all.nodes.at(0).spec.allocatable == resource_list{{"cpu", 4}});
  CHECK(all.warnings.size() == 1);
}

TEST_CASE("what an API server asks of containers and selectors is asked where that is wanted", "[kube][references]") {
  const auto told = [](const std::string& text) {
    const std::string strict = reading_refusal(text, {.api_server_rules = true});
    if (strict != "fine") CHECK(reading_refusal(text) == "fine");  // parts of objects do otherwise
    return strict;
  };
  const auto controller = [](const std::string& kind, const std::string& spec) {
    const std::string api = kind == "ReplicationController"      ? "v1"
                            : kind == "Job" || kind == "CronJob" ? "batch/v1"
                                                                 : "apps/v1";
    return "{apiVersion: " + api + ", kind: " + kind + ", metadata: {name: x}, spec: {" + spec + "}}\n";
  };
  const std::string containers = "containers: [{name: c, image: i}]", labels = "metadata: {labels: {a: b}}, ";
  const std::string good = "template: {" + labels + "spec: {" + containers + "}}",
                    selector = "selector: {matchLabels: {a: b}}, ";

  CHECK(told(pod("p", containers)) == "fine");
  CHECK(told("{apiVersion: v1, kind: Pod, metadata: {name: p}}\n") == "a.yaml:1: Pod default/p: needs a spec");
  CHECK(told(pod("p", "")) == "a.yaml:1: Pod default/p: spec: needs containers");
  CHECK(told(pod("p", "containers: [{image: i}]")) == "a.yaml:1: Pod default/p: spec.containers[0]: needs a name");
  CHECK(told(pod("p", "containers: [{name: A}]")).find("\"A\" is no name of a container") != std::string::npos);
  CHECK(told(pod("p", "containers: [{name: c}], initContainers: [{name: c}]")) ==
        "a.yaml:1: Pod default/p: spec.containers[0]: another container is called \"c\"");
  CHECK(told(pod("p", "containers: [{name: c, volumeMounts: [{name: v, mountPath: /v}]}]")) ==
        "a.yaml:1: Pod default/p: spec.containers[0].volumeMounts[0]: no volume \"v\"");
  CHECK(told(pod(
            "p",
            "containers: [{name: c, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, emptyDir: {}}]")) ==
        "fine");

  for (const char* const kind : {"Deployment", "ReplicaSet", "StatefulSet"}) {
    CHECK(told(controller(kind, selector + good)) == "fine");
    CHECK(told(controller(kind, good)) == "a.yaml:1: " + std::string{kind} + " default/x: spec: needs a selector");
    CHECK(told(controller(kind, "selector: {matchLabels: {a: c}}, " + good)).find("does not match the labels") !=
          std::string::npos);
  }
  CHECK(told(controller("ReplicationController", good)) == "fine");
  CHECK(told(controller("ReplicationController", "template: {spec: {" + containers + "}}")).find("needs a selector") !=
        std::string::npos);
  CHECK(told(controller("Deployment", selector + "template: {" + labels + "spec: {containers: [{name: c}]}}")) ==
        "a.yaml:1: Deployment default/x: spec.template.spec.containers[0]: needs an image");
  CHECK(told(controller("Job", "template: {spec: {}}")).find("spec.template.spec: needs containers") !=
        std::string::npos);
  CHECK(told(controller("CronJob", "schedule: x, jobTemplate: {spec: {" + good + "}}")) == "fine");
  CHECK(told(controller("CronJob", "schedule: x, jobTemplate: {spec: {}}")) ==
        "a.yaml:1: CronJob default/x: spec.jobTemplate.spec: needs a template");
  // Volumes of its claim templates are not in the template.
  CHECK(told(controller(
            "StatefulSet",
            selector + "template: {" + labels +
                "spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /d}]}]}}")) == "fine");
}

TEST_CASE("a DaemonSet has a pod for each node that it may run on", "[kube][references]") {
  const auto machine = [](const std::string& name, const std::string& more) {
    return "{apiVersion: v1, kind: Node, metadata: {name: " + name + ", labels: {os: linux}}, spec: {" + more +
           "}, status: {allocatable: {cpu: 4, pods: 9}}}\n---\n";
  };
  const std::string owned =
      ", ownerReferences: [{kind: DaemonSet, name: ds, controller: true, apiVersion: apps/v1, uid: u}]";
  const auto set = [](const std::string& spec) {
    return "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: ds}, spec: {selector: {matchLabels: {a: b}}, "
           "template: {metadata: "
           "{labels: {a: b}}, spec: {containers: [{name: c, image: i}]" +
           spec + "}}}}\n---\n";
  };
  const std::string nodes = machine("plain", "") +
                            machine("cordoned",
                                    "unschedulable: true, taints: [{key: "
                                    "node.kubernetes.io/unschedulable, effect: NoSchedule}]") +
                            machine("tainted", "taints: [{key: mine, effect: NoSchedule}]") + machine("served", "") +
                            machine("preferred", "taints: [{key: mine, effect: PreferNoSchedule}]") +
                            pod("old", "nodeName: served", owned);
  const auto places = [](const manifests& all) {
    std::vector<std::string> to;
    for (const pod_manifest& one : all.pods) {
      if (one.spec.name == "old") continue;
      CHECK(one.owner_kind == "DaemonSet");
      CHECK(one.spec.name.starts_with("ds-"));
      to.push_back(one.spec.affinity.required->at(0).match_fields.at(0).values.at(0));
    }
    return to;
  };
  const manifests all = fine(set("") + nodes);  // whatever the order
  CHECK(places(all) == std::vector<std::string>{"plain", "cordoned", "preferred"});
  cluster on;
  REQUIRE(apply(on, all));
  CHECK(places(fine(nodes + set(", tolerations: [{operator: Exists}]"))) ==
        std::vector<std::string>{"plain", "cordoned", "tainted", "preferred"});
  CHECK(places(fine(nodes + set(", nodeSelector: {os: windows}"))).empty());
  CHECK(
      places(fine(nodes +
                  set(", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                      "[{matchFields: [{key: metadata.name, operator: In, values: [plain]}]}]}}}"))) ==
      std::vector<std::string>{"plain"});
}

TEST_CASE("names of all objects are DNS subdomains", "[kube][references]") {
  CHECK(reading_refusal("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: 'a-{{x}}'}}\n") ==
        "a.yaml:1: DeviceClass a-{{x}}: metadata.name: \"a-{{x}}\" is not a DNS subdomain");
  CHECK(reading_refusal(
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:x'}}\n") == "fine");
}

TEST_CASE("a claim of a pod is of one kind", "[kube][references]") {
  const std::string wrong =
      "a.yaml:1: Pod default/p: spec.resourceClaims[0]: needs either resourceClaimName or resourceClaimTemplateName";
  CHECK(reading_refusal(pod("p", "resourceClaims: [{name: c}]")) == wrong);
  CHECK(reading_refusal(pod("p", "resourceClaims: [{name: c, resourceClaimName: a, resourceClaimTemplateName: b}]")) ==
        wrong);
}

TEST_CASE("a pod that was stored keeps its priority, whatever became of its class", "[kube][references]") {
  const std::string classes =
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 2000}\n---\n";
  const std::string was = "priority: 1000, priorityClassName: high";
  const manifests all = fine(node + classes + pod("waits", was) + pod("runs", was + ", nodeName: n1") +
                                 pod("never", "priority: 2000, priorityClassName: high, preemptionPolicy: Never") +
                                 pod("same", "priority: 2000, priorityClassName: high"),
                             {.defaulting = false});
  const std::string rest = " of its class \"high\": it keeps what it has, without the class\n";
  CHECK(warned_lines(all) == "a.yaml:5: Pod default/waits: spec.priority: 1000 is not the 2000" + rest +
                                 "a.yaml:7: Pod default/runs: spec.priority: 1000 is not the 2000" + rest +
                                 "a.yaml:9: Pod default/never: spec.preemptionPolicy: Never is not the policy" + rest);
  cluster on;
  const auto done = apply(on, all);
  if (!done) FAIL(done.error().message());
  CHECK(on.priority_of(*on.find_pod("default", "waits")) == 1000);
  CHECK(on.priority_of(*on.find_pod("default", "runs")) == 1000);
  CHECK(on.priority_of(*on.find_pod("default", "never")) == 2000);
  CHECK(all.pods[3].spec.priority_class == "high");
  // An API server refuses such a pod when it is new.
  const read_options strict{.api_server_rules = true};
  const auto full = [&](const std::string& spec) { return pod("p", "containers: [{name: c}], " + spec); };
  CHECK(reading_refusal(node + classes + full(was), strict) ==
        "a.yaml:5: Pod default/p: spec.priority: 1000 is not the 2000 of its class \"high\"");
  CHECK(reading_refusal(node + classes + full(was + ", nodeName: n1"), strict) == "fine");
  // A host that has its classes elsewhere.
  cluster host;
  REQUIRE(host.set_priority_class({"high", 2000}));
  REQUIRE(apply(host, fine(pod("p", was))));
  CHECK(host.priority_of(*host.find_pod("default", "p")) == 1000);
  REQUIRE(apply(host, fine(pod("system", "priority: 7, priorityClassName: system-node-critical"))));
  CHECK(host.priority_of(*host.find_pod("default", "system")) == 7);
}

}  // namespace gangsched::testing::references_test
