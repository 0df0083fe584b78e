// What LoadAwareScheduling reads of pods' and nodes' annotations, conditions and NodeMetrics: apis/extension/load_aware.go and
// pkg/scheduler/plugins/loadaware/pod_assign_cache.go of Koordinator 1.7.0.
#include <chrono>

#include "gangsched/framework/profile.hpp"
#include "gangsched/kube/manifests.hpp"
#include "gangsched/model/node_load.hpp"
#include "gangsched/plugins/load_aware_scheduling.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "gangsched/scheduler.hpp"
#include "kube/group_reading.hpp"

namespace gangsched::testing::kube_load_estimates_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;
using namespace std::chrono_literals;

namespace {

const std::string prefix = "scheduling.koordinator.sh/load-estimated-";
std::string pod(const std::string& name, const std::string& annotations, const std::string& more = "") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", annotations: {" + annotations +
         "}}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 10}}}]}" + more + "}\n---\n";
}
std::string node(const std::string& annotations = "") {
  return "{apiVersion: v1, kind: Node, metadata: {name: n1, annotations: {" + annotations +
         "}}, status: {allocatable: {cpu: 100, memory: 100Gi, pods: 9}}}\n---\n";
}
std::string metric(const std::string& status, const std::string& spec = "") {
  return "{apiVersion: slo.koordinator.sh/v1alpha1, kind: NodeMetric, metadata: {name: n1}, spec: {" + spec +
         "}, status: {updateTime: \"2026-01-01T00:10:00Z\", " + status + "}}\n---\n";
}
load_estimate said(const std::string& annotations, std::size_t warnings = 0) {
  const manifests all = fine(pod("p", annotations));
  INFO(annotations);
  CHECK(all.warnings.size() == warnings);
  for (const warning& one : all.warnings)
    CHECK(one.field.starts_with("metadata.annotations[\"scheduling.koordinator.sh/load-estimated-"));
  return all.pods.at(0).spec.load;
}
cluster applied(const std::string& text) {
  cluster made;
  const auto done = apply(made, fine(text));
  INFO((done ? std::string{} : done.error().message()));
  REQUIRE(done.has_value());
  return made;
}

}  // namespace

TEST_CASE("annotations of pods say how LoadAwareScheduling estimates them", "[kube][load]") {
  CHECK(said(prefix + "scaling-factors: '{\"cpu\": 80, \"memory\": 50}'") ==
        load_estimate{.cpu_percent = 80, .memory_percent = 50});
  CHECK(said(prefix + "scaling-factors: '{\"memory\": 0}'") == load_estimate{.memory_percent = 0});
  CHECK(said(prefix + "seconds-after-pod-scheduled: \"90\", " + prefix + "seconds-after-initialized: \"+0\"") ==
        load_estimate{.after_scheduled = 90s, .after_initialized = 0s});
  CHECK(said(prefix + "seconds-after-pod-scheduled: \"-1\"") == load_estimate{});  // as if it said nothing
  CHECK(said(prefix + "seconds-after-initialized: \"\", " + prefix + "scaling-factors: \"\"") == load_estimate{});
}

TEST_CASE("annotations of pods that cannot be read are left out with a warning", "[kube][load]") {
  for (const char* const json :
       {"'{\"cpu\": 80, \"memory\": 50.5}'", "'[80]'", "'{'", "'{\"memory\": -1, \"cpu\": 5}'"})
    CHECK(said(prefix + "scaling-factors: " + json, 1) == load_estimate{});
  for (const char* const text : {"soon", "1.5", "60s", "+-5", "99999999999999999999"})
    CHECK(said(prefix + "seconds-after-initialized: \"" + text + "\"", 1) == load_estimate{});
  // What is said of a resource that is not estimated is no harm to the others.
  CHECK(said(prefix + "scaling-factors: '{\"nvidia.com/gpu\": 1, \"cpu\": 5}'", 1) == load_estimate{.cpu_percent = 5});
}

TEST_CASE("conditions of pods say since when they are settling down", "[kube][load]") {
  const auto with = [](const std::string& conditions) {
    return pod("p", "", ", status: {startTime: \"2026-01-01T00:09:30Z\", conditions: [" + conditions + "]}");
  };
  const auto condition = [](const std::string& type, const std::string& status, const std::string& at) {
    return "{type: " + type + ", status: \"" + status + "\", lastTransitionTime: " + at + "}";
  };
  const instant day = std::chrono::sys_days{std::chrono::January / 1 / 2026}.time_since_epoch();
  const std::string scheduled = condition("PodScheduled", "True", "\"2026-01-01T00:08:00Z\"");
  const manifests all = fine(with(scheduled + ", " + condition("Initialized", "True", "\"2026-01-01T00:09:00Z\"") +
                                  ", " + condition("PodScheduled", "True", "\"2026-01-01T00:00:00Z\"")));
  CHECK(all.pods[0].scheduled == day + 8min);
  CHECK(all.pods[0].initialized == day + 9min);
  CHECK(all.pods[0].spec.start_time == day + 9min + 30s);
  const manifests none = fine(with(condition("PodScheduled", "False", "\"2026-01-01T00:08:00Z\"") + ", " + scheduled +
                                   ", " + condition("Initialized", "True", "null")));
  CHECK(!none.pods[0].scheduled);
  CHECK(!none.pods[0].initialized);

  // It was measured at 10 minutes, and before that at 9: who was scheduled at 8 has been measured in full, whenever it started.
  const std::string used =
      "nodeMetric: {nodeUsage: {resources: {cpu: 20, memory: 0}}}, podsMetric: [{name: p, namespace: default, "
      "priority: "
      "koord-prod, podUsage: {resources: {cpu: 4, memory: 0}}}]";
  const auto left = [&](const std::string& status) {
    cluster on = applied(node() + status + metric(used));
    scheduler s{on, profile{priority_sort{}, load_aware_scheduling{{.factors = {100, 100}, .weights = {1, 0}}}}};
    const pod_id asking = on.add_pod({.name = "asking", .priority = 7000}).value();
    return s.explain(asking).value().nodes.at(0).scores.at(0).raw;
  };
  CHECK(left(with(scheduled)) == 80);
  CHECK(left(with("")) == 74);  // it started at 9:30: 10 − 4
}

TEST_CASE("NodeMetrics say percentiles as Koordinator's plugin takes them", "[kube][load]") {
  const std::string usage =
      "nodeMetric: {nodeUsage: {resources: {cpu: 20, memory: 1Gi}}, aggregatedNodeUsages: ["
      "{duration: 5m0s, usage: {p95: {resources: {cpu: 30, memory: 3Gi}}, p50: {resources: {cpu: 10}}, p99: {}}}, "
      "{duration: 15m0s, usage: {p95: {resources: {cpu: 40}}, p50: {resources: {}}}}, "
      "{duration: 10m0s, usage: {p95: {resources: {cpu: 35}}}}]}";
  const auto thresholds = [](const std::string& aggregated) {
    return "scheduling.koordinator.sh/usage-thresholds: '{\"aggregatedUsage\": {" + aggregated + "}}'";
  };
  const auto of = [](const cluster& on, const std::string& column) {
    return node_load::count(on.column_of(*on.find_node("n1"), column).value_or(0));
  };
  const cluster plain = applied(node() + metric(usage));
  CHECK(of(plain, "load.cpu.p95.300") == 30'000);
  CHECK(of(plain, "load.cpu.p95") == 40'000);  // over the longest period
  CHECK(of(plain, "load.cpu.p50") == 10'000);  // that was not empty
  CHECK(!of(plain, "load.cpu.p99"));
  CHECK(of(plain, std::string{node_load::interval}) == 60);
  CHECK(of(applied(node() + metric(usage, "metricCollectPolicy: {reportIntervalSeconds: 30}")),
           std::string{node_load::interval}) == 30);

  using numbers = std::vector<std::optional<std::int64_t>>;
  const auto own = [&](const std::string& aggregated) {
    const cluster on = applied(node(thresholds(aggregated)) + metric(usage));
    return numbers{of(on, std::string{node_load::cpu_percentile_threshold}),
                   of(on, std::string{node_load::memory_percentile_threshold}),
                   of(on, std::string{node_load::cpu_percentile})};
  };
  const std::string cpu = R"("usageThresholds": {"cpu": 60})";
  CHECK(own(cpu + R"(, "usageAggregationType": "p95", "usageAggregatedDuration": "5m0s")") == numbers{60, 0, 30'000});
  CHECK(own(cpu + R"(, "usageAggregationType": "p95")") == numbers{60, 0, 40'000});
  CHECK(own(cpu + R"(, "usageAggregationType": "p99")") == numbers{60, 0, 20'000});  // not measured: what is used
  CHECK(own(cpu + R"(, "usageAggregationType": "p95", "usageAggregatedDuration": "7m")") ==
        numbers{60, 0, std::nullopt});
  CHECK(own(cpu) == numbers(3));  // by what is not said, and so not at all
  CHECK(own(R"("usageAggregationType": "p95")") == numbers(3));
}

TEST_CASE("a pod that was measured without a priority class was not measured as of production", "[kube][load]") {
  const auto other = [](const std::string& priority, const char* of_pod) {
    const std::string used =
        "nodeMetric: {nodeUsage: {resources: {cpu: 20}}}, podsMetric: [{name: p, namespace: default" + priority +
        ", podUsage: {resources: {cpu: 4}}}]";
    std::string text = pod("p", "");
    text.replace(text.find("nodeName"), 0, std::string{"priority: "} + of_pod + ", ");
    const cluster on = applied(node() + text + metric(used));
    return on.column_of(*on.find_pod("default", "p"), node_load::other_class);
  };
  CHECK(other(", priority: koord-prod", "9000") == 0);
  CHECK(other(", priority: koord-batch", "9000") == 1);
  CHECK(other("", "9000") == 1);
  CHECK(other(", priority: koord-batch", "5500") == 0);
}

}  // namespace gangsched::testing::kube_load_estimates_test
