#include "gangsched/kube/manifests.hpp"
#include "gangsched/model/node_load.hpp"
#include "kube/group_reading.hpp"

// Koordinator's colocation: what nodes lend, and which pods borrow it.
namespace gangsched::testing::colocation_manifests_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

error refused(const std::string& text) {
  const auto made = read(source{"a.yaml", text});
  REQUIRE_FALSE(made.has_value());
  return made.error();
}

std::string object(const std::string& api, const std::string& kind, const std::string& name, const std::string& rest) {
  return "{apiVersion: " + api + ", kind: " + kind + ", metadata: {name: " + name + rest + "}\n---\n";
}
std::string node(const std::string& name, const std::string& more = "", const std::string& amounts = "") {
  const std::string has = "{cpu: 10, memory: 100Gi, pods: 9" + amounts + "}";
  return object("v1", "Node", name, more + "}, status: {allocatable: " + has + ", capacity: " + has + "}");
}
std::string pod(const std::string& name, const std::string& metadata, const std::string& spec = "") {
  return object(
      "v1", "Pod", name,
      metadata + "}, spec: {containers: [{name: c, resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 4}}}]" +
          spec + "}");
}
std::string profile(const std::string& name, const std::string& spec, const std::string& metadata = "") {
  return object("config.koordinator.sh/v1alpha1", "ClusterColocationProfile", name,
                metadata + "}, spec: {" + spec + "}");
}
std::string metric(const std::string& of, const std::string& status) {
  return object("slo.koordinator.sh/v1alpha1", "NodeMetric", of,
                "}, status: {updateTime: \"2026-01-01T00:00:00Z\", " + status + "}");
}
std::string config(const std::string& json, const std::string& name = "slo-controller-config") {
  return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  colocation-config: '" + json +
         "'\n---\n";
}
const std::string classes = object("scheduling.k8s.io/v1", "PriorityClass", "koord-batch", "}, value: 5000") +
                            object("scheduling.k8s.io/v1", "PriorityClass", "koord-mid", "}, value: 7000");

const pod_manifest& of(const manifests& all, std::string_view name) {
  const auto found =
      std::find_if(all.pods.begin(), all.pods.end(), [&](const pod_manifest& one) { return one.spec.name == name; });
  REQUIRE(found != all.pods.end());
  return *found;
}
const resource_list batch{{"kubernetes.io/batch-cpu", quantity{2000}},
                          {"kubernetes.io/batch-memory", quantity{std::int64_t{1} << 30}}};
const resource_list own{{"cpu", quantity{2}}, {"memory", quantity{std::int64_t{1} << 30}}};

}  // namespace

TEST_CASE("a profile makes new pods that it selects borrow what nodes lend", "[kube][colocation]") {
  const manifests all =
      fine(classes + node("n1") + object("v1", "Namespace", "offline", ", labels: {lend: \"yes\"}}") +
           profile("b",
                   "selector: {matchLabels: {app: crawl}}, namespaceSelector: {matchLabels: {lend: \"yes\"}}, "
                   "qosClass: BE, priorityClassName: koord-batch, koordinatorPriority: 7, schedulerName: other, "
                   "labels: {x: w}, labelKeysMapping: {app: copied, none: empty}, labelSuffixes: {app: -x}, "
                   "annotations: {scheduling.koordinator.sh/a: b}") +
           pod("borrows", ", namespace: offline, labels: {app: crawl}") + pod("elsewhere", ", labels: {app: crawl}") +
           pod("other", ", namespace: offline") +
           pod("runs", ", namespace: offline, labels: {app: crawl}", ", nodeName: n1"));
  const pod_manifest& made = of(all, "borrows");
  CHECK(made.spec.containers[0].requests == batch);
  REQUIRE(made.limits.size() == 1);
  CHECK(made.limits[0] == resource_list{{"kubernetes.io/batch-cpu", quantity{4000}}});
  CHECK(made.spec.containers[0].limits.empty());
  CHECK(made.spec.labels == label_map{{"app", "crawl-x"},
                                      {"copied", "crawl"},
                                      {"empty", ""},
                                      {"koordinator.sh/priority", "7"},
                                      {"koordinator.sh/qosClass", "BE"},
                                      {"x", "w"}});
  CHECK(made.spec.priority == 5000);
  CHECK(made.spec.priority_class == "koord-batch");
  CHECK(made.spec.scheduler_name == "other");
  CHECK(made.annotations.at("scheduling.koordinator.sh/a") == "b");
  for (const char* const name : {"elsewhere", "other", "runs"}) {
    CHECK(of(all, name).spec.containers[0].requests == own);
    CHECK_FALSE(of(all, name).spec.labels.contains("x"));
  }
}

TEST_CASE("profiles are applied in the order of their names, to pods of templates too", "[kube][colocation]") {
  const manifests all =
      fine(classes + profile("b", "priorityClassName: koord-batch, labels: {x: b}") +
           profile("a", "priorityClassName: koord-mid, labels: {x: a, v: a}") +
           profile("c", "labels: {z: c}, probability: 0%") +
           object("apps/v1", "ReplicaSet", "web",
                  "}, spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, "
                  "spec: {containers: [{name: c, resources: {requests: {cpu: 2, memory: 1Gi}}}]}}}"));
  REQUIRE(all.pods.size() == 2);
  for (const pod_manifest& one : all.pods) {
    CHECK(one.spec.labels.at("x") == "b");
    CHECK(one.spec.labels.at("v") == "a");
    CHECK_FALSE(one.spec.labels.contains("z"));
    CHECK(one.spec.containers[0].requests == batch);
  }
}

TEST_CASE("which resources a pod requests follows from its band", "[kube][colocation]") {
  const std::string every = profile("all", "labels: {x: w}");
  const auto requests = [&](const std::string& metadata, const std::string& spec = "", const std::string& more = "") {
    return of(fine(classes + every + more + pod("p", metadata, spec)), "p").spec.containers[0].requests;
  };
  CHECK(requests("") == own);
  CHECK(requests(", labels: {koordinator.sh/qosClass: BE}") == batch);
  CHECK(requests("", ", priorityClassName: koord-batch") == batch);
  CHECK(requests(", labels: {koordinator.sh/priority-class: koord-batch}", ", priority: 9000") == batch);
  CHECK(requests("", ", priorityClassName: koord-mid").contains("kubernetes.io/mid-cpu"));
  CHECK(requests("", ", priority: 3500") == own);  // free has no resources of its own
  CHECK(requests("", ", priority: 5500",
                 profile("kept", "labels: {z: z}",
                         ", annotations: {config.koordinator.sh/skip-update-resources: \"\"}")) == own);
}

TEST_CASE("labels and annotations that profiles give say what a pod's own would", "[kube][colocation]") {
  const std::string gpus = profile(
      "gpus",
      "selector: {matchLabels: {app: infer}}, annotations: {gpu-fraction: \"0.5\", gangsched.dev/max-wait: 10m}");
  const std::string template_of_two =
      "}, spec: {replicas: 2, selector: {matchLabels: {app: infer}}, template: {metadata: {labels: {app: infer}}, "
      "spec: {containers: [{name: c}]}}}";
  const manifests shares = fine(gpus + pod("p", ", labels: {app: infer}") + pod("q", "") +
                                object("apps/v1", "ReplicaSet", "web", template_of_two) +
                                object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "set",
                                       "}, spec: {leaderWorkerTemplate: {size: 2, workerTemplate: {metadata: {labels: "
                                       "{app: infer}}, spec: {containers: [{name: c}]}}}}"));
  REQUIRE(shares.pods.size() == 6);
  for (const pod_manifest& one : shares.pods) {
    INFO(one.spec.name);
    REQUIRE(one.spec.devices.size() == (one.spec.name == "q" ? 0u : 1u));
    CHECK(one.spec.max_wait == (one.spec.name == "q" ? instant{} : instant{std::chrono::minutes{10}}));
    if (one.spec.name != "q") CHECK(one.spec.devices[0].milli == 500);
  }

  // In place of what the pod said itself, beside what its containers ask for.
  const manifests over =
      fine(gpus + object("v1", "Pod", "p",
                         ", labels: {app: infer}, annotations: {gpu-fraction: \"0.3\", gangsched.dev/held-devices: "
                         "\"[GPU-0]\"}}, spec: {containers: [{name: c, resources: {requests: {koordinator.sh/rdma: "
                         "50}, limits: {koordinator.sh/rdma: 50}}}]}"));
  REQUIRE(of(over, "p").spec.devices.size() == 2);
  CHECK(of(over, "p").spec.devices[0].device_class == "rdma");
  CHECK(of(over, "p").spec.devices[1].milli == 500);
  CHECK(of(over, "p").held_devices.size() == 1);
  CHECK_FALSE(of(over, "p").spec.containers[0].requests.contains("koordinator.sh/rdma"));

  const manifests words =
      fine(profile("all",
                   "qosClass: LSE, labels: {scheduling.koordinator.sh/reservation-ignored: \"false\"}, annotations: "
                   "{scheduling.koordinator.sh/resource-spec: '{\"requiredCPUBindPolicy\": \"SpreadByPCPUs\"}', "
                   "scheduling.koordinator.sh/reservation-affinity: '{\"name\": \"held\"}', "
                   "scheduling.koordinator.sh/load-estimated-scaling-factors: '{\"cpu\": 30}'}") +
           pod("p", ", annotations: {scheduling.koordinator.sh/reservation-affinity: '{\"name\": \"other\"}'}"));
  const pod_spec& told = of(words, "p").spec;
  CHECK(told.bind_cpus.policy == cpu_bind_policy::spread_by_pcpus);
  CHECK(told.load.cpu_percent == 30);
  REQUIRE(told.reservation_affinity.has_value());
  CHECK(told.reservation_affinity->name == "held");

  // A gang's, too.
  const manifests gang = fine(profile("all", "labels: {gang.scheduling.koordinator.sh/name: g}") +
                              object("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", "g", "}, spec: {minMember: 1}") +
                              profile("gang", "annotations: {gang.scheduling.koordinator.sh/name: g}") + pod("p", ""));
  CHECK(of(gang, "p").group == "g");

  const std::string wrong = profile("wrong", "annotations: {gpu-fraction: \"7\"}") + pod("p", "");
  CHECK(refused(wrong).message() ==
        "a.yaml:3: Pod default/p: metadata.annotations.gpu-fraction: \"7\" is no fraction in 0.01 to 1");
  std::vector<error> mistakes;
  CHECK(fine(wrong + node("n1"), {.mistakes = &mistakes}).pods.empty());
  CHECK(mistakes.size() == 1);
  CHECK(
      warned(fine(profile("warns", "annotations: {nvidia.com/use-gpuuuid: x}") +
                  object("apps/v1", "ReplicaSet", "web", template_of_two))) ==
      std::vector<std::string>{"a.yaml:3: Pod default/web-vbsqg: metadata.annotations[\"nvidia.com/use-gpuuuid\"]: is "
                               "not modelled; it is left out"});
}

TEST_CASE("matchLabelKeys see the labels that profiles give", "[kube][colocation]") {
  const std::string terms =
      "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, "
      "labelSelector: "
      "{}, matchLabelKeys: [given]}]}}";
  const manifests all = fine(
      profile("all", "labels: {given: \"yes\"}") + pod("p", "", ", " + terms) +
      pod("runs", ", labels: {given: before}", ", nodeName: n1, " + terms) +
      object("apps/v1", "ReplicaSet", "web",
             "}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: "
             "{containers: [{name: c}], " +
                 terms + "}}}"));
  REQUIRE(all.pods.size() == 3);
  for (const pod_manifest& one : all.pods) {
    const auto& expressions = one.spec.anti_affinity_to_pods.required.at(0).selector->match_expressions;
    REQUIRE(expressions.size() == 1);
    CHECK(expressions[0].values == std::vector<std::string>{one.spec.name == "runs" ? "before" : "yes"});
  }
}

TEST_CASE("what of profiles cannot be had is said", "[kube][colocation]") {
  const manifests all = fine(profile("a", "priorityClassName: nobody, labels: {x: w}") +
                             profile("b", "probability: 30, patch: {spec: {}}, unknown: 1") + pod("p", ""));
  CHECK(of(all, "p").spec.labels.empty());
  std::vector<std::string> fields;
  for (const warning& one : all.warnings) fields.push_back(one.field);
  for (const char* const field : {"spec.priorityClassName", "spec.probability", "spec.patch", "spec.unknown"})
    CHECK(std::count(fields.begin(), fields.end(), field) == 1);
  CHECK(refused(profile("a", "qosClass: best")).field == "spec.qosClass");
  CHECK(refused(profile("a", "probability: 101")).field == "spec.probability");
}

TEST_CASE("what a node's annotation reserves is no pod's, and is not lent", "[kube][colocation]") {
  const auto reserving = [](const std::string& annotation, const std::string& capacity = "{cpu: 10, memory: 100Gi}") {
    return object(
        "v1", "Node", "n1",
        ", annotations: {node.koordinator.sh/reservation: '" + annotation +
            "'}}, status: {allocatable: {cpu: 10, memory: 100Gi, kubernetes.io/batch-cpu: 9, pods: 9}, capacity: " +
            capacity + "}");
  };
  const auto has = [&](const std::string& annotation, const char* resource) {
    cluster on;
    REQUIRE(apply(on, fine(reserving(annotation))).has_value());
    return on.allocatable(*on.find_node("n1"), resource);
  };
  CHECK(has(R"({"resources": {"cpu": "1500m", "memory": "4Gi"}})", "cpu") == 8500);
  CHECK(has(R"({"resources": {"cpu": "1500m", "memory": "4Gi"}})", "memory") >> 30 == 96);
  CHECK(has(R"({"resources": {"cpu": "1500m"}, "reservedCPUs": "0-2"})", "cpu") == 7000);  // the list counts
  CHECK(has(R"({"reservedCPUs": "0-2", "applyPolicy": "ReservedCPUsOnly"})", "cpu") == 10000);
  CHECK(has(R"({"resources": {"cpu": "99"}})", "cpu") == 0);
  CHECK(has(R"({"resources": {"kubernetes.io/batch-cpu": "5"}})", "kubernetes.io/batch-cpu") == 9);
  CHECK(refused(reserving(R"({"reservedCPUs": "0-"})")).field ==
        "metadata.annotations[\"node.koordinator.sh/reservation\"].reservedCPUs");

  const auto kept = [&](const std::string& capacity) {
    const manifests all = fine(reserving(R"({"reservedCPUs": "0-1"})", capacity));
    CHECK(all.nodes[0].reserved_cpus == std::vector<std::uint32_t>{0, 1});
    return all.nodes[0].reserved.at("cpu");
  };
  CHECK(kept("{cpu: 11}") == quantity{2});
  CHECK(kept("{cpu: 14}") == quantity{4});  // kubelet keeps more
  const std::string config_of_all = config(R"({"enable": true, "cpuReclaimThresholdPercent": 100})");
  const std::string used = metric("n1", "nodeMetric: {nodeUsage: {resources: {cpu: 1, memory: 1Gi}}}");
  cluster on;
  std::string node_text = reserving(R"({"resources": {"cpu": 3}})", "{cpu: 12, memory: 100Gi}");
  node_text.replace(node_text.find("kubernetes.io/batch-cpu: 9, "), 28, "");
  REQUIRE(apply(on, fine(node_text + used + config_of_all)).has_value());
  CHECK(on.allocatable(*on.find_node("n1"), "cpu") == 7000);
  CHECK(on.allocatable(*on.find_node("n1"), "kubernetes.io/batch-cpu") == 9000);  // 12 without 3
}

TEST_CASE("what a node says of colocation counts before the configuration", "[kube][colocation]") {
  const std::string used = metric(
      "n1",
      "nodeMetric: {nodeUsage: {resources: {cpu: 1, memory: 10Gi}}, systemUsage: {resources: {cpu: 1, memory: 10Gi}}}");
  const auto lent = [&](const std::string& metadata, const std::string& enabled = "true") {
    cluster on;
    const auto done = apply(on, fine(node("n1", metadata) + used + config("{\"enable\": " + enabled + "}")));
    REQUIRE(done.has_value());
    return std::pair{on.allocatable(*on.find_node("n1"), "kubernetes.io/batch-cpu"),
                     on.allocatable(*on.find_node("n1"), "kubernetes.io/batch-memory") >> 30};
  };
  const auto annotated = [](const std::string& json) {
    return ", annotations: {node.koordinator.sh/colocation-strategy: '" + json + "'}";
  };
  using amounts = std::pair<std::int64_t, std::int64_t>;
  CHECK(lent("") == amounts{5000, 55});  // 60 % and 65 % without what is used
  CHECK(lent(", labels: {node.koordinator.sh/cpu-reclaim-ratio: \"0.8\", node.koordinator.sh/memory-reclaim-ratio: "
             "\"0.905\"}") == amounts{7000, 80});
  CHECK(lent(", labels: {node.koordinator.sh/cpu-reclaim-ratio: much}") == amounts{5000, 55});
  CHECK(lent(annotated(R"({"cpuReclaimThresholdPercent": 70})")) == amounts{6000, 55});
  CHECK(lent(annotated(R"({"cpuReclaimThresholdPercent": 70})") +
             ", labels: {node.koordinator.sh/cpu-reclaim-ratio: \"0.9\"}") == amounts{8000, 55});
  CHECK(lent(annotated(R"({"enable": false})")) == amounts{0, 0});
  CHECK(lent(annotated(R"({"enable": true})"), "false") == amounts{0, 0});
  CHECK(lent(annotated(R"({"cpuReclaimThresholdPercent": 70, "memoryReclaimThresholdPercent": "much"})")) ==
        amounts{5000, 55});
  CHECK(fine(node("n1", annotated("[]"))).warnings.size() == 1);
}

TEST_CASE("measurements become columns, and nodes lend what follows", "[kube][colocation]") {
  const std::string used =
      "nodeMetric: {nodeUsage: {resources: {cpu: 5, memory: 30Gi}}, "
      "systemUsage: {resources: {cpu: 1500m, memory: 4Gi}}, "
      "aggregatedNodeUsages: [{duration: 5m0s, usage: {p95: {resources: {cpu: 6}}}}]}, "
      "podsMetric: [{name: web, namespace: default, priority: koord-mid, podUsage: {resources: {cpu: 2, memory: "
      "8Gi}}}, "
      "{name: gone, namespace: default, podUsage: {resources: {cpu: 500m, memory: 1Gi}}}, "
      "{name: old, namespace: default, priority: koord-batch, podUsage: {resources: {cpu: 3}}}], "
      "hostApplicationMetric: [{name: h, priority: koord-prod, usage: {resources: {memory: 1Gi}}}], "
      "prodReclaimableMetric: {resource: {resources: {cpu: 1, memory: 2Gi}}}";
  const std::string text =
      node("n1") + node("n2") + node("n3", ", labels: {pool: mute}") + node("n4", "", ", kubernetes.io/batch-cpu: 77") +
      pod("web", "", ", nodeName: n1, priority: 9000") + metric("n1", used) + metric("n3", used) + metric("n4", used);
  const auto make = [&](const std::string& more) {
    cluster made;
    const auto done = apply(made, fine(text + more));
    INFO((done ? std::string{} : done.error().message()));
    REQUIRE(done.has_value());
    return made;
  };
  const auto lent = [](const cluster& on, const char* name) {
    const node_id n = *on.find_node(name);
    return std::vector<std::int64_t>{
        on.allocatable(n, "kubernetes.io/batch-cpu"), on.allocatable(n, "kubernetes.io/batch-memory") >> 30,
        on.allocatable(n, "kubernetes.io/mid-cpu"), on.allocatable(n, "kubernetes.io/mid-memory") >> 30};
  };
  using amounts = std::vector<std::int64_t>;

  const cluster measured = make("");
  const node_id n1 = *measured.find_node("n1");
  const auto count = [&](auto id, std::string_view column) {
    return node_load::count(measured.column_of(id, column).value());
  };
  CHECK(count(n1, node_load::cpu_used) == 5000);
  CHECK(count(n1, node_load::cpu_system) == 2000);  // with whom nobody knows any more
  CHECK(count(n1, node_load::memory_system) == std::int64_t{6} << 30);
  CHECK(count(n1, node_load::cpu_reclaimable) == 1000);
  CHECK(count(n1, "load.cpu.p95.300") == 6000);
  CHECK(count(n1, node_load::memory_capacity) == std::int64_t{100} << 30);
  const pod_id web = *measured.find_pod("default", "web");
  CHECK(count(web, node_load::memory_used) == std::int64_t{8} << 30);
  CHECK(measured.column_of(web, node_load::other_class) == 1);
  CHECK(measured.column_of(*measured.find_node("n2"), node_load::measured) == 0);
  CHECK(lent(measured, "n1") == amounts{0, 0, 0, 0});  // nothing says that anything is to be lent

  const cluster lending = make(config(
      R"({"enable": true, "cpuReclaimThresholdPercent": 70, "memoryReclaimThresholdPercent": 80, "memoryCalculatePolicy": "request", )"
      R"("nodeConfigs": [{"name": "none", "enable": false}, {"nodeSelector": {"matchLabels": {"pool": "mute"}}, "enable": false}]})"));
  CHECK(lent(lending, "n1") == amounts{3000, 79, 1000, 2});  // 10 - 3 - 2 - 2; 100 - 20 - 0 - 1
  CHECK(lent(lending, "n2") == amounts{0, 0, 0, 0});
  CHECK(lent(lending, "n3") == amounts{0, 0, 0, 0});
  CHECK(lent(lending, "n4") == amounts{77, 0, 0, 0});  // what the API server says counts
  const cluster off = make(config(R"({"enable": false, "nodeConfigs": [{"nodeSelector": {}, "enable": true}]})"));
  CHECK(lent(off, "n1") == amounts{0, 0, 0, 0});

  CHECK(refused(config(R"({"cpuCalculatePolicy": "most"})")).field == "data.colocation-config.cpuCalculatePolicy");
  CHECK(refused(config("{}") + config("{}", "other")).code == errc::duplicate);
  CHECK(refused(config("[1]")).code == errc::malformed);
  const manifests mine = fine(config("[1]", "other"));
  CHECK_FALSE(mine.colocation);
  CHECK(warned(mine) == std::vector<std::string>{"a.yaml:5: ConfigMap default/other: data.colocation-config: is no "
                                                 "configuration of colocation; it is left out"});
}

TEST_CASE("annotations of nodes say what counts beside what was measured", "[kube][colocation]") {
  const auto annotated = [](const std::string& annotations) {
    return node("n1", ", annotations: {" + annotations + "}");
  };
  const std::string thresholds = "scheduling.koordinator.sh/usage-thresholds: ",
                    others = "node.koordinator.sh/thirdPartyAllocations: ";
  const auto allocation = [](const std::string& band, const std::string& cpu, const std::string& memory) {
    return R"({"name": "yarn", "priority": ")" + band + R"(", "resources": {"kubernetes.io/batch-cpu": ")" + cpu +
           R"(", "kubernetes.io/batch-memory": ")" + memory + R"("}})";
  };
  const manifests all =
      fine(annotated(thresholds +
                     R"('{"usageThresholds": {"cpu": 70}, "prodUsageThresholds": {"memory": 80, "cpu": 55}}', )" +
                     "node.koordinator.sh/raw-allocatable: '{\"cpu\": 5, \"memory\": \"50Gi\"}', " + others +
                     R"('{"allocations": [)" + allocation("koord-batch", "1k", "9Gi") + ", " +
                     allocation("koord-batch", "500", "1Gi") + ", " + allocation("koord-mid", "7", "1Gi") + "]}'") +
           node("n2") + metric("n1", "nodeMetric: {nodeUsage: {resources: {cpu: 1, memory: 1Gi}}}") + metric("n2", "") +
           config(R"({"enable": true, "cpuReclaimThresholdPercent": 100, "memoryReclaimThresholdPercent": 100})"));
  CHECK(all.warnings.empty());
  cluster on;
  const auto done = apply(on, all);
  INFO((done ? std::string{} : done.error().message()));
  REQUIRE(done.has_value());
  const auto count = [&](const char* name, std::string_view column) {
    return node_load::count(on.column_of(*on.find_node(name), column).value());
  };
  CHECK(count("n1", node_load::cpu_threshold) == 70);
  CHECK(count("n1", node_load::memory_threshold) == 0);  // Koordinator's plugin has none then, too
  CHECK(count("n1", node_load::cpu_prod_threshold) == 55);
  CHECK(count("n1", node_load::memory_prod_threshold) == 80);
  CHECK(count("n1", node_load::cpu_raw) == 5000);
  CHECK(count("n1", node_load::memory_raw) == std::int64_t{50} << 30);
  CHECK(count("n1", node_load::cpu_batch_elsewhere) == 1500);
  CHECK(count("n1", node_load::memory_batch_elsewhere) == std::int64_t{10} << 30);
  CHECK(!count("n2", node_load::cpu_threshold));
  CHECK(on.allocatable(*on.find_node("n1"), "kubernetes.io/batch-cpu") == 8500);
  CHECK(on.allocatable(*on.find_node("n1"), "kubernetes.io/batch-memory") == std::int64_t{90} << 30);
  CHECK(on.allocatable(*on.find_node("n2"), "kubernetes.io/batch-cpu") == 10'000);

  const manifests more = fine(annotated(thresholds + R"('{"usageThresholds": {}, "aggregatedUsage": {}, "more": 1}')"));
  CHECK(!more.nodes[0].thresholds.cpu);
  CHECK(!more.nodes[0].percentile_thresholds.cpu);
  REQUIRE(more.warnings.size() == 1);
  CHECK(more.warnings[0].field == "metadata.annotations[\"scheduling.koordinator.sh/usage-thresholds\"].more");
  CHECK(refused(annotated(others + R"('{"allocations": {}}')")).field ==
        "metadata.annotations[\"node.koordinator.sh/thirdPartyAllocations\"].allocations");
}

TEST_CASE("annotations of nodes that Koordinator cannot read are left out with a warning", "[kube][colocation]") {
  const std::string thresholds = "scheduling.koordinator.sh/usage-thresholds",
                    raw = "node.koordinator.sh/raw-allocatable";
  const auto said = [](const std::string& key, const std::string& json) {
    const manifests all = fine(node("n1", ", annotations: {" + key + ": '" + json + "'}"));
    CHECK(!all.nodes[0].thresholds.cpu);
    CHECK(!all.nodes[0].prod_thresholds.cpu);
    CHECK(!all.nodes[0].raw.cpu);
    REQUIRE(all.warnings.size() == 1);
    CHECK(all.warnings[0].reason.ends_with("; the annotation is left out"));
    CHECK(all.warnings[0].field.starts_with("metadata.annotations[\"" + key + "\"]"));
    return all.warnings[0].message();
  };
  for (const char* json : {"[]", "[", R"({"usageThresholds": {"cpu": 60}, "prodUsageThresholds": {"cpu": 65.5}})",
                           R"({"prodUsageThresholds": {"cpu": 60}, "usageThresholds": {"cpu": -1}})"})
    said(thresholds, json);
  CHECK(said(raw, R"({"cpu": "much"})").starts_with("a.yaml:1: Node n1: "));
  said(raw, "[1]");
}

TEST_CASE("a node that is read alone has what its annotations say of its load", "[kube][colocation]") {
  const auto alone = [](const std::string& annotations) {
    const auto all = parse(source{"a.yaml", node("n1", ", annotations: {" + annotations + "}")});
    REQUIRE(all.has_value());
    const auto made = read_node(all->front().root, "a.yaml");
    REQUIRE(made.has_value());
    return *made;
  };
  const node_manifest made =
      alone("node.koordinator.sh/raw-allocatable: '{\"cpu\": 5}', " +
            std::string{"scheduling.koordinator.sh/usage-thresholds: "} + "'{\"usageThresholds\": {\"cpu\": 70}}'");
  CHECK(made.raw.cpu == 5000);
  CHECK(made.thresholds.cpu == 70);
}

TEST_CASE("what is given away elsewhere is taken off however much it is", "[kube][colocation]") {
  const auto lent = [](std::initializer_list<const char*> amounts) {
    std::string all;
    for (const char* one : amounts)
      all += std::string{all.empty() ? "" : ", "} +
             R"({"priority": "koord-batch", "resources": {"kubernetes.io/batch-memory": ")" + one + R"("}})";
    cluster on;
    const auto done =
        apply(on, fine(node("n1", ", annotations: {node.koordinator.sh/thirdPartyAllocations: '{\"allocations\": [" +
                                      all + "]}'}") +
                       metric("n1", "") + config(R"({"enable": true, "memoryReclaimThresholdPercent": 100})")));
    INFO((done ? std::string{} : done.error().message()));
    REQUIRE(done.has_value());
    return on.allocatable(*on.find_node("n1"), "kubernetes.io/batch-memory");
  };
  CHECK(lent({}) == std::int64_t{100} << 30);
  CHECK(lent({"99Gi"}) == std::int64_t{1} << 30);
  for (const char* most : {"9223372036854775806", "9223372036854775807", "9223372036854775808", "100E"})
    CHECK(lent({most}) == 0);
  CHECK(lent({"8E", "8E"}) == 0);
  CHECK(lent({"-1Gi"}) == std::int64_t{100} << 30);
  // So it is of what was measured.
  cluster on;
  REQUIRE(
      apply(on, fine(node("n1") + metric("n1", "nodeMetric: {nodeUsage: {resources: {cpu: 100E, memory: 100E}}}"))));
  CHECK(node_load::count(on.column_of(*on.find_node("n1"), node_load::memory_used).value()) == INT64_MAX - 1);
}

TEST_CASE("a profile knows every namespace by its name, and the lowest default class", "[kube][colocation]") {
  const std::string by_name =
      profile("a", "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: offline}}, labels: {x: w}");
  const manifests all = fine(by_name + pod("borrows", ", namespace: offline") + pod("other", ""));
  CHECK(of(all, "borrows").spec.labels.contains("x"));
  CHECK_FALSE(of(all, "other").spec.labels.contains("x"));
  // Two default classes: Kubernetes takes the lower, whichever comes last.
  const std::string low = object("scheduling.k8s.io/v1", "PriorityClass", "low", "}, value: 5500, globalDefault: true"),
                    high =
                        object("scheduling.k8s.io/v1", "PriorityClass", "high", "}, value: 9500, globalDefault: true");
  for (const std::string& both : {low + high, high + low})
    CHECK(of(fine(both + profile("a", "labels: {x: w}") + pod("p", "")), "p").spec.containers[0].requests == batch);
}

}  // namespace gangsched::testing::colocation_manifests_test
