#include "gangsched/model/cluster_queues.hpp"
#include "kube/queue_reading.hpp"

// LimitRange and ResourceQuota: what the API server admits.

namespace gangsched::testing::quotas_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

std::string range(const std::string& limits, const std::string& ns = "default") {
  return manifest_of("v1", "LimitRange", "name: r, namespace: " + ns, "spec: {limits: [" + limits + "]}");
}
std::string quota_of(const std::string& name, const std::string& spec, const std::string& ns = "default") {
  return manifest_of("v1", "ResourceQuota", "name: " + name + ", namespace: " + ns, "spec: {" + spec + "}");
}
/// A pod of one container.
std::string one(const std::string& name, const std::string& resources, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: c, resources: {" +
         resources + "}}]" + more + "}\n---\n";
}
const resource_list& requests(const manifests& of, const std::string& name) {
  return pod_in(of, name).spec.containers.at(0).requests;
}

}  // namespace

TEST_CASE("a LimitRange gives containers what they do not say", "[kube][queues]") {
  const std::string limits = range(
      "{type: Container, default: {cpu: 2, memory: 2Gi}, defaultRequest: {cpu: 500m}, max: {memory: 4Gi, "
      "nvidia.com/gpu: 1}}");
  const manifests all =
      fine(one("none", "") + one("limited", "limits: {cpu: 1}") + one("asks", "requests: {cpu: 100m}") + limits);
  CHECK(all.warnings.empty());
  // API defaulting comes first: a request from the container's own limit; a default request from the default limit, that from max.
  CHECK(said(requests(all, "none"), "cpu") == "500m");
  CHECK(said(requests(all, "none"), "memory") == "2Gi");
  CHECK(said(requests(all, "none"), "nvidia.com/gpu") == "1");
  CHECK(said(requests(all, "limited"), "cpu") == "1");
  CHECK(said(requests(all, "asks"), "cpu") == "100m");
  CHECK(said(pod_in(all, "asks").limits.at(0), "cpu") == "2");
  CHECK_FALSE(pod_in(all, "none").spec.guaranteed);

  const manifests same = fine(range("{type: Container, default: {cpu: 1, memory: 1Gi}}") + one("p", ""));
  CHECK(pod_in(same, "p").spec.guaranteed);
  // Other namespaces, pods that run, and objects of the API server are as they are.
  const std::string least = "{type: Container, defaultRequest: {cpu: 1}}";
  CHECK(requests(fine(range(least, "other") + one("p", "")), "p").empty());
  CHECK(requests(fine(range(least) + one("p", "", ", nodeName: node")), "p").empty());
  CHECK(requests(fine(range(least) + one("p", ""), {.defaulting = false}), "p").empty());
  // Pods made of templates are new.
  const manifests made =
      fine(range(least) + manifest_of("apps/v1", "ReplicaSet", "name: s",
                                      "spec: {replicas: 2, selector: {}, template: {spec: {containers: "
                                      "[{name: c}], initContainers: [{name: i}]}}}"),
           {.defaulting = false});
  REQUIRE(made.pods.size() == 2);
  CHECK(said(made.pods[1].spec.containers.at(0).requests, "cpu") == "1");
  CHECK(said(made.pods[1].spec.init_containers.at(0).requests, "cpu") == "1");
}

TEST_CASE("what a LimitRange does not allow is an error", "[kube][queues]") {
  const auto of = [](const std::string& item, const std::string& resources, const std::string& more = "") {
    return refusal(range("{type: Container, " + item + "}") + one("p", resources, more));
  };
  const std::string at = "a.yaml:6: Pod default/p: spec.containers[0].resources.";
  CHECK(of("max: {cpu: 2}", "limits: {cpu: 3}") ==
        at + "limits.cpu: 3 is too much: the LimitRange \"r\" has 2, the max of cpu for a container");
  CHECK(of("max: {cpu: 2}", "limits: {cpu: 2}") == "fine");
  CHECK(of("max: {cpu: 2}", "requests: {cpu: 3}") ==
        at + "requests.cpu: 3 is too much: the LimitRange \"r\" has 2, the max of cpu for a container");
  CHECK(of("min: {cpu: 1}", "requests: {cpu: 500m}") ==
        at + "requests.cpu: 500m is too little: the LimitRange \"r\" has 1, the min of cpu for a container");
  CHECK(of("min: {cpu: 1}", "") == "fine");  // it is the default request
  CHECK(of("min: {cpu: 1}", "limits: {cpu: 500m}, requests: {cpu: 1}") ==
        at + "limits.cpu: 500m is too little: the LimitRange \"r\" has 1, the min of cpu for a container");
  CHECK(of("maxLimitRequestRatio: {cpu: 2}", "requests: {cpu: 1}, limits: {cpu: 2}") == "fine");
  CHECK(of("maxLimitRequestRatio: {cpu: 1500m}", "requests: {cpu: 1}, limits: {cpu: 2}") ==
        at + "limits.cpu: 2 is too much for a request of 1: the LimitRange \"r\" has 1500m, the maxLimitRequestRatio "
             "of cpu for a container");
  CHECK(of("maxLimitRequestRatio: {cpu: 2}", "requests: {cpu: 1}") ==
        at + "limits.cpu: is not there: the LimitRange \"r\" has 2, the maxLimitRequestRatio of cpu for a container");
  CHECK(of("max: {nvidia.com/gpu: 1}", "limits: {nvidia.com/gpu: 2}")
            .starts_with(at + "limits[\"nvidia.com/gpu\"]: 2 is too much"));
  CHECK(of("max: {cpu: 1}", "limits: {cpu: 1}", ", initContainers: [{name: i, resources: {limits: {cpu: 2}}}]")
            .starts_with("a.yaml:6: Pod default/p: spec.initContainers[0].resources.limits.cpu: 2 is too much"));
}

TEST_CASE("a LimitRange of pods counts all their containers", "[kube][queues]") {
  const auto of = [](const std::string& item, const std::string& containers) {
    return refusal(range("{type: Pod, " + item + "}") +
                   manifest_of("v1", "Pod", "name: p", "spec: {" + containers + "}"));
  };
  const auto asks = [](const std::string& cpu, const std::string& more = "") {
    return "{name: c, resources: {limits: {cpu: " + cpu + "}}" + more + "}";
  };
  const std::string two = "containers: [" + asks("1") + ", " + asks("2") + "]";
  CHECK(of("max: {cpu: 3}", two) == "fine");
  CHECK(of("max: {cpu: 2500m}", two) ==
        "a.yaml:6: Pod default/p: spec.containers: 3 is too much: the LimitRange \"r\" has 2500m, the max of cpu for a "
        "pod");
  CHECK(of("min: {cpu: 4}", two).find("3 is too little") != std::string::npos);
  // An init container counts where it takes more; one that stays is there beside the others.
  CHECK(of("max: {cpu: 3}", two + ", initContainers: [" + asks("3") + "]") == "fine");
  CHECK(of("max: {cpu: 3}", two + ", initContainers: [" + asks("4") + "]").find("4 is too much") != std::string::npos);
  CHECK(of("max: {cpu: 4}",
           two + ", initContainers: [" + asks("1", ", restartPolicy: Always") + ", " + asks("3") + "]") == "fine");
  CHECK(of("max: {cpu: 4}", two + ", initContainers: [" + asks("1500m", ", restartPolicy: Always") + "]")
            .find("4500m is too much") != std::string::npos);
}

TEST_CASE("a LimitRange that contradicts itself is an error", "[kube][queues]") {
  const std::string at = "a.yaml:4: LimitRange default/r: spec.limits[0]";
  CHECK(refusal(range("{type: Container, min: {cpu: 2}, max: {cpu: 1}}")) ==
        at + ".min.cpu: 2 is above 1, its defaultRequest");
  CHECK(refusal(range("{type: Container, default: {cpu: 2}, max: {cpu: 1}}")) ==
        at + ".defaultRequest.cpu: 2 is above 1, its max");
  CHECK(refusal(range("{type: Pod, default: {cpu: 2}}")) ==
        at + ": a pod as a whole has no default and no defaultRequest");
  CHECK(refusal(range("{type: Node}")) == at + ".type: \"Node\" is not one of Container, Pod, PersistentVolumeClaim");
  CHECK(refusal(range("{max: {cpu: 1}}")) == at + ": needs a type");
  CHECK(refusal(range("{type: Pod, max: {cpu: -1}}")) == at + ".max.cpu: -1 is negative");
  CHECK(refusal(range("{type: Pod, maxLimitRequestRatio: {cpu: 500m}}")) ==
        at + ".maxLimitRequestRatio.cpu: 500m is below 1");
  CHECK(refusal(range("{type: PersistentVolumeClaim, max: {storage: 1Gi}}") + one("p", "")) == "fine");
  const auto claim = [&](const std::string& size, const std::string& status = "") {
    return refusal(range("{type: PersistentVolumeClaim, min: {storage: 1Gi}, max: {storage: 4Gi}}") +
                   "\n---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: {resources: "
                   "{requests: {storage: " +
                   size + "}}}" + status + "}");
  };
  CHECK(claim("1Gi") == "fine");
  CHECK(claim("4Gi") == "fine");
  CHECK(claim("5Gi", ", status: {phase: Pending}") == "fine");  // it was let in before
  const std::string storage = "PersistentVolumeClaim default/d: spec.resources.requests.storage: ";
  CHECK(claim("512Mi").ends_with(storage +
                                 "512Mi is too little: the LimitRange \"r\" has 1Gi, the min of storage for a claim"));
  CHECK(claim("5Gi").ends_with(storage +
                               "5Gi is too much: the LimitRange \"r\" has 4Gi, the max of storage for a claim"));
  std::string many;
  for (int i = 0; i < 101; ++i) many += "{type: Pod}, ";
  CHECK(refusal(range(many)) == "a.yaml:4: LimitRange default/r: spec.limits: has more than 100 entries");
}

TEST_CASE("a ResourceQuota is a queue with a limit, of its namespace", "[kube][queues]") {
  const manifests all =
      fine(quota_of("compute",
                    "hard: {requests.cpu: 4, cpu: 5, memory: 8Gi, requests.nvidia.com/gpu: 2, pods: 10, count/pods: 9, "
                    "services: 3, requests.storage: 1Ti, hugepages-2Mi: 1Gi}") +
           quota_of("more", "hard: {cpu: 3}") + quota_of("claims", "hard: {persistentvolumeclaims: 3}") +
           one("p", "requests: {cpu: 1, memory: 1Gi}"));
  CHECK(all.warnings.empty());
  const resource_list& limit = quota(all, "default/compute").limit;
  CHECK(said(limit, "cpu") == "4");
  CHECK(said(limit, "memory") == "8Gi");
  CHECK(said(limit, "nvidia.com/gpu") == "2");
  CHECK(said(limit, "pods") == "9");
  CHECK(said(limit, "hugepages-2Mi") == "1Gi");
  CHECK(limit.size() == 5);
  // Of two for all pods each pod is in both.
  CHECK(queue(all, "default/compute").spec.namespaces.empty());
  CHECK(queue(all, "default/more").spec.parent == "default/compute");
  CHECK(queue(all, "default/more").spec.namespaces == std::vector<std::string>{"default"});
  CHECK_FALSE(has_queue(all, "default/claims"));
  CHECK(pod_in(all, "p").spec.queue.empty());  // by its namespace
}

TEST_CASE("scopes say which pods a ResourceQuota is about", "[kube][queues]") {
  const auto in = [](const std::string& scopes, const std::string& pod) {
    const manifests all = fine(quota_of("q", "hard: {pods: 1}, " + scopes) + pod);
    return all.pods.at(0).spec.queue == "default/q";
  };
  const std::string best = one("p", ""), asks = one("p", "requests: {cpu: 1}"),
                    ends = one("p", "", ", activeDeadlineSeconds: 9"), high = one("p", "", ", priorityClassName: high");
  CHECK(in("scopes: [BestEffort]", best));
  CHECK_FALSE(in("scopes: [BestEffort]", asks));
  CHECK(in("scopes: [NotBestEffort]", asks));
  CHECK_FALSE(in("scopes: [NotBestEffort]", best));
  CHECK(in("scopes: [Terminating]", ends));
  CHECK_FALSE(in("scopes: [Terminating]", best));
  CHECK(in("scopes: [NotTerminating]", best));
  CHECK_FALSE(in("scopes: [NotTerminating]", ends));
  CHECK(in("scopes: [BestEffort, Terminating]", ends));
  CHECK_FALSE(in("scopes: [NotBestEffort, Terminating]", ends));
  CHECK(in("scopes: [PriorityClass]", high));
  CHECK_FALSE(in("scopes: [PriorityClass]", best));
  CHECK_FALSE(in("scopes: [VolumeAttributesClass]", best));
  const auto by_class = [](const std::string& what) {
    return "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, " + what + "}]}";
  };
  CHECK(in(by_class("operator: In, values: [low, high]"), high));
  CHECK_FALSE(in(by_class("operator: In, values: [low]"), high));
  CHECK(in(by_class("operator: NotIn, values: [low]"), high));
  CHECK(in(by_class("operator: Exists"), high));
  CHECK(in(by_class("operator: DoesNotExist"), best));
  CHECK_FALSE(in(by_class("operator: DoesNotExist"), high));
  const auto term = [](const std::string& more) {
    return ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, "
           "labelSelector: {}" +
           more + "}]}}";
  };
  CHECK(in("scopes: [CrossNamespacePodAffinity]", one("p", "", term(", namespaces: [x]"))));
  CHECK(in("scopes: [CrossNamespacePodAffinity]", one("p", "", term(", namespaceSelector: {}"))));
  CHECK_FALSE(in("scopes: [CrossNamespacePodAffinity]", one("p", "", term(""))));

  const std::string at = "a.yaml:4: ResourceQuota default/q: spec.";
  CHECK(refusal(quota_of("q", "scopes: [Some]")).starts_with(at + "scopes[0]: \"Some\" is not one of Terminating"));
  CHECK(refusal(quota_of("q", by_class("operator: In"))) == at + "scopeSelector.matchExpressions[0]: needs values");
  CHECK(refusal(quota_of("q", by_class("operator: Exists, values: [x]"))) ==
        at + "scopeSelector.matchExpressions[0]: has values beside Exists or DoesNotExist");
  CHECK(
      refusal(quota_of("q", "scopeSelector: {matchExpressions: [{scopeName: BestEffort, operator: DoesNotExist}]}")) ==
      at + "scopeSelector.matchExpressions[0]: has another operator than Exists, which only PriorityClass and "
           "VolumeAttributesClass may");
}

TEST_CASE("scopes within each other are queues within each other", "[kube][queues]") {
  const std::string by_class = "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [";
  const manifests all = fine(
      quota_of("high", "hard: {pods: 1}, " + by_class + "high]}]}") +
      quota_of("some", "hard: {pods: 5}, " + by_class + "high, low]}]}") + quota_of("all", "hard: {pods: 9}") +
      quota_of("ending", "hard: {pods: 1}, scopes: [Terminating]") + one("h", "", ", priorityClassName: high") +
      one("l", "", ", priorityClassName: low, activeDeadlineSeconds: 9") + one("e", "", ", activeDeadlineSeconds: 9"));
  CHECK(pod_in(all, "h").spec.queue == "default/high");
  CHECK(queue(all, "default/high").spec.parent == "default/some");
  CHECK(queue(all, "default/some").spec.parent == "default/all");
  // Pods are in queues that have none below them.
  CHECK(pod_in(all, "l").spec.queue == "default/some/others");
  CHECK(queue(all, "default/some/others").spec.parent == "default/some");
  CHECK(pod_in(all, "e").spec.queue.empty());
  CHECK(queue(all, "default/all").spec.namespaces.empty());
  CHECK(queue(all, "default/all/others").spec.parent == "default/all");
  CHECK(queue(all, "default/all/others").spec.namespaces == std::vector<std::string>{"default"});
  CHECK_FALSE(has_queue(all, "default/ending"));  // l would be in two
  CHECK(warned(all) ==
        std::vector<std::string>{
            "a.yaml:16: ResourceQuota default/ending: spec.scopeSelector: selects some of the pods of \"some\" "
            "and others: a pod has one queue; it is left out"});
}

TEST_CASE("a ResourceQuota holds for pods that are in no other queue", "[kube][queues]") {
  const std::string volcano = manifest_of("scheduling.volcano.sh/v1beta1", "Queue", "name: v", "");
  const manifests apart = fine(volcano + quota_of("q", "hard: {pods: 2}") +
                               pod("a", "annotations: {gangsched.dev/queue: v}") + one("c", ""));
  CHECK(pod_in(apart, "a").spec.queue == "v");
  CHECK(pod_in(apart, "c").spec.queue.empty());
  CHECK(queue(apart, "default/q").spec.parent.empty());
  CHECK(queue(apart, "default/q").spec.namespaces == std::vector<std::string>{"default"});
  CHECK(warned(apart) ==
        std::vector<std::string>{"a.yaml:6: ResourceQuota default/q: pods of its namespace are in the queue \"v\": it "
                                 "holds for those that are in none"});
  // The namespace itself may be another queue's.
  const manifests elastic =
      fine(manifest_of("scheduling.x-k8s.io/v1alpha1", "ElasticQuota", "name: e", "spec: {min: {cpu: 1}}") +
           quota_of("q", "hard: {pods: 2}"));
  CHECK(queue(elastic, "default/q").spec.namespaces.empty());
  CHECK(queue(elastic, "default/e").spec.namespaces == std::vector<std::string>{"default"});
  cluster on;
  REQUIRE(apply(on, apart));
  CHECK(on.queues().name_of(on.queues().queue_of(on.find_pod("default", "c").value())) == "default/q");
}

TEST_CASE("with a quota of a resource containers have to say what they take of it", "[kube][queues]") {
  const std::string cpu = quota_of("q", "hard: {requests.cpu: 4}");
  CHECK(refusal(cpu + one("p", "")) ==
        "a.yaml:6: Pod default/p: spec.containers[0].resources.requests.cpu: is not there, and the ResourceQuota \"q\" "
        "has a bound of it");
  CHECK(refusal(cpu + one("p", "requests: {cpu: 1}")) == "fine");
  CHECK(refusal(cpu + range("{type: Container, defaultRequest: {cpu: 1}}") + one("p", "")) == "fine");
  CHECK(refusal(cpu + "apiVersion: v1\nkind: Node\nmetadata: {name: node}\n---\n" + one("p", "", ", nodeName: node")) ==
        "fine");
  CHECK(refusal(cpu + one("p", "requests: {cpu: 1}", ", initContainers: [{name: i}]"))
            .starts_with("a.yaml:6: Pod default/p: spec.initContainers[0].resources.requests.cpu"));
  const std::string limits = quota_of("q", "hard: {limits.memory: 4Gi}");
  CHECK(refusal(limits + one("p", "requests: {memory: 1}"))
            .starts_with("a.yaml:6: Pod default/p: spec.containers[0].resources.limits.memory: is not there"));
  CHECK(warned(fine(limits + one("p", "limits: {memory: 1}"))) ==
        std::vector<std::string>{"a.yaml:4: ResourceQuota default/q: spec.hard[\"limits.memory\"]: requests are "
                                 "counted, limits are not; it is left out"});
  CHECK(refusal(quota_of("q", "hard: {cpu: -1}")) ==
        "a.yaml:4: ResourceQuota default/q: spec.hard.cpu: -1 is negative");
  std::string many;
  for (int i = 0; i < 101; ++i) many += quota_of("q" + std::to_string(i), "hard: {pods: 1}");
  CHECK(refusal(many) == "a.yaml:501: ResourceQuota default/q100: the namespace has more than 100");
}

namespace {

std::string claim_of(const std::string& name, const std::string& size, const std::string& more = "",
                     const std::string& rest = "") {
  return manifest_of(
      "v1", "PersistentVolumeClaim", "name: " + name,
      "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: " + size + "}}" + more + "}\n" + rest);
}
std::string user_of(const std::string& claim, const std::string& more = "") {
  return one("of-" + claim, "", ", volumes: [{name: v, persistentVolumeClaim: {claimName: " + claim + "}}]" + more);
}
std::vector<std::string> claims_in(const manifests& of) {
  std::vector<std::string> names;
  for (const volume_claim_manifest& claim : of.volume_claims) names.push_back(claim.name);
  return names;
}

}  // namespace

TEST_CASE("a ResourceQuota bounds claims of volumes: what is too much is not made, and its pods wait",
          "[kube][queues]") {
  using names = std::vector<std::string>;
  const std::string bound = "\nstatus: {phase: Bound}";
  // The third is 1Gi too much, the fourth fits: one is admitted after another, and what is bound counts first.
  const manifests all = fine(quota_of("q", "hard: {requests.storage: 10Gi}") + claim_of("a", "4Gi") +
                             claim_of("b", "3Gi") + claim_of("c", "2Gi") + claim_of("d", "1Gi") +
                             claim_of("old", "2Gi", "", bound) + user_of("c") + user_of("d"));
  CHECK(claims_in(all) == names{"a", "b", "d", "old"});
  const std::string why =
      "exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=9Gi, limited: requests.storage=10Gi";
  CHECK(pod_in(all, "of-c").unresolved == names{"persistentvolumeclaim \"c\": " + why});
  CHECK(pod_in(all, "of-d").unresolved.empty());
  REQUIRE(all.warnings.size() == 2);  // that no StorageClass is there is the other
  CHECK(all.warnings[0].message() == "a.yaml:18: PersistentVolumeClaim default/c: " + why + "; pods that name it wait");
  CHECK_FALSE(has_queue(all, "default/q"));  // it bounds no pods

  // Claims are counted by number, and by class: one without a class has the default one.
  const std::string fast =
      manifest_of("storage.k8s.io/v1", "StorageClass",
                  "name: fast, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}", "provisioner: p");
  const std::string two = claim_of("a", "4Gi") + claim_of("b", "3Gi", ", storageClassName: fast") +
                          claim_of("c", "9Gi", ", storageClassName: ''");
  const auto left = [&](const std::string& hard) {
    return claims_in(fine(fast + two + quota_of("q", "hard: {" + hard + "}")));
  };
  CHECK(left("persistentvolumeclaims: 2") == names{"a", "b"});
  CHECK(left("count/persistentvolumeclaims: 1") == names{"a"});
  CHECK(left("fast.storageclass.storage.k8s.io/requests.storage: 6Gi") == names{"a", "c"});
  CHECK(left("fast.storageclass.storage.k8s.io/requests.storage: 7Gi") == names{"a", "b", "c"});
  CHECK(left("fast.storageclass.storage.k8s.io/persistentvolumeclaims: 0") == names{"c"});
  CHECK(left("slow.storageclass.storage.k8s.io/persistentvolumeclaims: 0") == names{"a", "b", "c"});

  // All quotas of the namespace hold, those of others and those about pods do not.
  const std::string none = "hard: {persistentvolumeclaims: 0}";
  CHECK(claims_in(fine(two + quota_of("q", "hard: {requests.storage: 20Gi}") + quota_of("r", none))).empty());
  CHECK(claims_in(fine(two + quota_of("q", none, "other"))).size() == 3);
  CHECK(claims_in(fine(two + quota_of("q", none + ", scopes: [BestEffort]"))).size() == 3);
  CHECK(claims_in(fine(two + quota_of("q", none + ", scopes: [VolumeAttributesClass]"))).size() == 3);
  const std::string gold = claim_of("g", "1Gi", ", volumeAttributesClassName: gold");
  CHECK(claims_in(fine(two + gold + quota_of("q", none + ", scopes: [VolumeAttributesClass]"))) ==
        names{"a", "b", "c"});
  const auto scoped = [&](const std::string& op) {
    return claims_in(fine(two + gold +
                          quota_of("q", none +
                                            ", scopeSelector: {matchExpressions: [{scopeName: "
                                            "VolumeAttributesClass, operator: " +
                                            op + ", values: [gold]}]}")));
  };
  CHECK(scoped("In") == names{"a", "b", "c"});
  CHECK(scoped("NotIn") == names{"g"});
}

TEST_CASE("claims that a StatefulSet or a pod makes are held against quotas, those of pods that run are not",
          "[kube][queues]") {
  const std::string storage = "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 4Gi}}}";
  const std::string set = manifest_of("apps/v1", "StatefulSet", "name: s",
                                      "spec: {replicas: 3, selector: {}, template: {spec: {containers: [{name: c}]}}, "
                                      "volumeClaimTemplates: [{metadata: "
                                      "{name: data}, " +
                                          storage + "}]}");
  const manifests all = fine(quota_of("q", "hard: {requests.storage: 10Gi}") + set);
  REQUIRE(all.volume_claims.size() == 2);
  CHECK(pod_in(all, "s-1").unresolved.empty());
  REQUIRE(pod_in(all, "s-2").unresolved.size() == 1);
  CHECK(pod_in(all, "s-2").unresolved[0].starts_with("persistentvolumeclaim \"data-s-2\": exceeded quota: q, "));
  // One that runs has its claim, however much it is, and nobody else gets what is over then.
  const manifests runs = fine(quota_of("q", "hard: {requests.storage: 10Gi}") + claim_of("b", "1Gi") +
                              claim_of("a", "12Gi") + user_of("a", ", nodeName: node"));
  REQUIRE(runs.volume_claims.size() == 1);
  CHECK(runs.volume_claims[0].name == "a");
  const manifests ephemeral =
      fine(quota_of("q", "hard: {requests.storage: 3Gi}") +
           one("p", "", ", volumes: [{name: v, ephemeral: {volumeClaimTemplate: {" + storage + "}}}]"));
  CHECK(ephemeral.volume_claims.empty());
  CHECK(pod_in(ephemeral, "p").unresolved.size() == 1);
}

TEST_CASE("LimitRanges and ResourceQuotas are about pods, and a Reservation is none", "[kube][queues]") {
  const auto held = [](const std::string& resources) {
    return manifest_of("scheduling.koordinator.sh/v1alpha1", "Reservation", "name: held",
                       "spec: {owners: [{}], template: {spec: {containers: [{name: c, resources: {requests: {" +
                           resources + "}}}]}}}");
  };
  const manifests ranged = fine(range("{type: Container, max: {cpu: 4}, min: {cpu: 100m}}") + held("memory: 1Gi"));
  CHECK(requests(ranged, "held") == resource_list{{"memory", quantity{std::int64_t{1} << 30}}});
  CHECK(refusal(range("{type: Pod, min: {cpu: 1}}") + held("memory: 1Gi")) == "fine");
  const manifests counted =
      fine(quota_of("q", "hard: {cpu: 2}") + quota_of("short", "hard: {pods: 1}, scopes: [Terminating]") +
           held("memory: 1Gi") + one("p", "requests: {cpu: 1}") +
           one("e", "requests: {cpu: 1}", ", activeDeadlineSeconds: 9"));
  CHECK(warned_lines(counted).empty());
  cluster on;
  REQUIRE(apply(on, counted));
  const auto queue_of = [&](const char* name) {
    const queue_id its = on.queues().queue_of(on.find_pod("default", name).value());
    return its ? std::string{on.queues().name_of(its)} : std::string{"none"};
  };
  CHECK(queue_of("held") == "none");
  CHECK(queue_of("p") == "default/q/others");
  CHECK(queue_of("e") == "default/short");
  // Without one the namespace is the queue's, whoever comes later.
  const manifests without = fine(quota_of("q", "hard: {cpu: 2}") + one("p", "requests: {cpu: 1}"));
  CHECK(queue(without, "default/q").spec.namespaces == std::vector<std::string>{"default"});
}

TEST_CASE("a scope of priority classes counts who has the default class", "[kube][queues]") {
  const auto priority = [](const std::string& name, const std::string& value) {
    return manifest_of("scheduling.k8s.io/v1", "PriorityClass", "name: " + name, "value: " + value);
  };
  const auto in = [&](const std::string& what, const std::string& pod) {
    const manifests all =
        fine(priority("more", "20\nglobalDefault: true") + priority("std", "10\nglobalDefault: true") +
             priority("top", "30\nglobalDefault: true") + priority("other", "5") +
             quota_of("q", "hard: {pods: 1}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, " + what +
                               "}]}") +
             pod);
    return all.pods.at(0).spec.queue == "default/q";
  };
  const std::string plain = one("p", ""), own = one("p", "", ", priorityClassName: other"),
                    number = one("p", "", ", priority: 10");
  CHECK(in("operator: In, values: [std]", plain));  // the lowest of several
  CHECK_FALSE(in("operator: In, values: [more, top]", plain));
  CHECK_FALSE(in("operator: NotIn, values: [std]", plain));
  CHECK(in("operator: Exists", plain));
  CHECK_FALSE(in("operator: DoesNotExist", plain));
  CHECK_FALSE(in("operator: In, values: [std]", own));
  CHECK(in("operator: DoesNotExist", number));  // it has a priority already
}

TEST_CASE("a namespace has a bounded number of ResourceQuotas of claims too", "[kube][limits]") {
  const auto many = [](int count, const std::string& hard) {
    std::string text;
    for (int i = 0; i < count; ++i) text += quota_of("q" + std::to_string(i), "hard: {" + hard + "}");
    return text;
  };
  const std::string claims = "persistentvolumeclaims: 1";
  CHECK(refusal(many(100, claims)) == "fine");
  CHECK(refusal(many(101, claims)) == "a.yaml:501: ResourceQuota default/q100: the namespace has more than 100");
  CHECK(refusal(many(100, claims) + quota_of("last", "hard: {pods: 1}")) ==
        "a.yaml:501: ResourceQuota default/last: the namespace has more than 100");
  CHECK(refusal(many(101, "services: 1")) == "fine");  // they bound nothing that is read
}

}  // namespace gangsched::testing::quotas_test
