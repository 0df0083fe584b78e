#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// Kubeflow's SparkApplication (sparkoperator.k8s.io, pkg/controller/sparkapplication, and Spark's own BasicDriverFeatureStep and
// BasicExecutorFeatureStep): a driver, and the executors that it asks for.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr std::int64_t least_overhead = 384 * mebibyte;

/// What is said of the driver, or of each executor.
struct spark_pod {
  quantity cores{std::int64_t{1}};
  std::optional<quantity> requested_cores;
  std::int64_t memory = 1024 * mebibyte;
  std::optional<std::int64_t> overhead;
  std::string gpu;
  std::int64_t gpus = 0;
};

/// "512m", "2g", "1024": a number of mebibytes unless a letter says otherwise (JavaUtils.byteStringAs).
bool read_java_size(reader& read, const place& of, std::int64_t& out) {
  std::string text;
  if (!read.text(of, text)) return false;
  std::int64_t number = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit = lower_case(std::string_view{text}.substr(static_cast<std::size_t>(end - text.data())));
  if (unit.size() == 2 && unit[1] == 'b') unit.resize(1);
  constexpr std::pair<std::string_view, int> shifts[] = {{"b", 0},  {"k", 10}, {"", 20},
                                                         {"m", 20}, {"g", 30}, {"t", 40}};
  const auto shift = std::ranges::find(shifts, std::string_view{unit}, &std::pair<std::string_view, int>::first);
  if (bad != std::errc{} || number < 0 || shift == std::end(shifts) ||
      number > (std::numeric_limits<std::int64_t>::max() >> (shift->second + 2)))
    return read.fail(errc::malformed, of, "\"" + text + "\" is no size as Java has them, such as 512m or 2g");
  out = number << shift->second;
  return true;
}

bool read_spark_field(reader& read, std::string_view key, const place& v, spark_pod& of, pod_set& set) {
  pod_spec& pod = set.pod.spec;
  if (key == "cores") return read.amount(v, of.cores);
  if (key == "coreRequest") return read.amount(v, of.requested_cores.emplace());
  if (key == "memory") return read_java_size(read, v, of.memory);
  if (key == "memoryOverhead") return read_java_size(read, v, of.overhead.emplace());
  if (key == "gpu") {
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "name") return read.text(w, of.gpu);
      if (field == "quantity") return read.integer(w, of.gpus, 0, most_count);
      return read.ignore(field, w, {});
    });
  }
  if (key == "labels") return read.texts_by_name(v, pod.labels);
  if (key == "annotations") return read.texts_by_name(v, set.pod.annotations);
  if (key == "nodeSelector") return read.texts_by_name(v, pod.node_selector);
  if (key == "affinity") return read_affinity(read, v, pod, set.admission.label_keys);
  if (key == "tolerations") return read_tolerations(read, v, set.pod);
  if (key == "schedulerName") return read.text(v, pod.scheduler_name);
  if (key == "priorityClassName") return read.text(v, pod.priority_class);
  return read.ignore(key, v,
                     {"template",
                      "coreLimit",
                      "image",
                      "serviceAccount",
                      "configMaps",
                      "secrets",
                      "env",
                      "envVars",
                      "envFrom",
                      "envSecretKeyRefs",
                      "securityContext",
                      "podSecurityContext",
                      "sidecars",
                      "initContainers",
                      "hostNetwork",
                      "hostAliases",
                      "dnsConfig",
                      "terminationGracePeriodSeconds",
                      "shareProcessNamespace",
                      "volumeMounts",
                      "podName",
                      "javaOptions",
                      "lifecycle",
                      "kubernetesMaster",
                      "serviceAnnotations",
                      "serviceLabels",
                      "ports",
                      "instances",
                      "deleteOnTermination"});
}

/// Its template first, wherever it stands: what is said beside it is added to it. @p count: how many there are, if it says so.
bool read_spark_pod(reader& read, const place& at, spark_pod& of, pod_set& set, std::string_view ns,
                    const read_options& how, std::int64_t* count = nullptr) {
  if (const value* const made_of = at.at->find("template"); made_of != nullptr && made_of->kind != value_kind::null)
    if (!read_pod_template(read, {made_of, &at, "template"}, ns, set, how)) return false;
  return read.fields(at, [&](std::string_view key, const place& v) {
    if (count != nullptr && key == "instances") return read.integer(v, *count, 0, most_count);
    return read_spark_field(read, key, v, of, set);
  });
}

/// What Spark asks for: the container's memory is what the JVM may have and the overhead beside it.
void settle_requests(const spark_pod& of, double factor, pod_set& set) {
  const auto share = static_cast<std::int64_t>(std::floor(factor * static_cast<double>(of.memory)));
  const std::int64_t overhead = of.overhead.value_or(std::max(least_overhead, share));
  if (set.pod.spec.containers.empty()) set.pod.spec.containers.emplace_back();
  resource_list& requests = set.pod.spec.containers.front().requests;
  requests["cpu"] = of.requested_cores.value_or(of.cores);
  requests["memory"] = quantity{of.memory + overhead};
  if (!of.gpu.empty() && of.gpus > 0) requests[of.gpu] = quantity{of.gpus};
}

struct dynamic_allocation {
  bool enabled = false;
  std::int64_t initial = 0, least = 0;
};

bool read_dynamic_allocation(reader& read, const place& of, dynamic_allocation& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "enabled") return read.boolean(v, out.enabled);
    if (key == "initialExecutors") return read.integer(v, out.initial, 0, most_count);
    if (key == "minExecutors") return read.integer(v, out.least, 0, most_count);
    return read.ignore(key, v, {"maxExecutors", "shuffleTrackingEnabled", "shuffleTrackingTimeout"});
  });
}

}  // namespace

bool read_spark_application(reader& read, const place& of, workload_plan& out, const read_options& how) {
  out.kind = "SparkApplication";
  out.member_label = "sparkoperator.k8s.io/app-name";
  out.sets.resize(2);
  pod_set &driver = out.sets[0], &executor = out.sets[1];
  driver.role = "driver", executor.role = "executor";
  for (pod_set& set : out.sets) set.pod.spec.ns = out.ns;
  spark_pod of_driver, of_executor;
  dynamic_allocation dynamic;
  std::int64_t instances = 1;
  label_map node_selector;
  bool suspended = false, jvm = true, gang_of_all = false;
  std::string scheduler, factor_text, priority_class;
  const bool queued = is_queued_by_kueue(out.labels, out.annotations);
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return true;  // the caller's
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    const bool fine = read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "type") return read.word(w, jvm, {{"Java", true}, {"Scala", true}, {"Python", false}, {"R", false}});
      if (field == "suspend") return read.boolean(w, suspended);
      if (field == "nodeSelector") return read.texts_by_name(w, node_selector);
      if (field == "memoryOverheadFactor") return read.text(w, factor_text);
      if (field == "dynamicAllocation") return read_dynamic_allocation(read, w, dynamic);
      if (field == "batchScheduler") return gang_of_all = true, read.text(w, scheduler);
      if (field == "batchSchedulerOptions") {
        return read.fields(w, [&](std::string_view option, const place& x) {
          if (option == "queue") return read.text(x, out.annotations["scheduling.volcano.sh/queue-name"]);
          if (option == "priorityClassName") return read.text(x, priority_class);
          return read.ignore(option, x, {"resources"});
        });
      }
      if (field == "driver") return read_spark_pod(read, w, of_driver, driver, out.ns, how);
      if (field == "executor") return read_spark_pod(read, w, of_executor, executor, out.ns, how, &instances);
      return read.ignore(field, w,
                         {"mode",
                          "sparkVersion",
                          "image",
                          "imagePullPolicy",
                          "imagePullSecrets",
                          "mainClass",
                          "mainApplicationFile",
                          "arguments",
                          "sparkConf",
                          "hadoopConf",
                          "sparkConfigMap",
                          "hadoopConfigMap",
                          "volumes",
                          "deps",
                          "restartPolicy",
                          "failureRetries",
                          "retryInterval",
                          "pythonVersion",
                          "monitoring",
                          "sparkUIOptions",
                          "timeToLiveSeconds",
                          "proxyUser",
                          "driverIngressOptions"});
    });
    if (!fine || (suspended && !queued)) return fine;
    double factor = jvm ? 0.1 : 0.4;
    if (!factor_text.empty()) {
      const auto [end, bad] = std::from_chars(factor_text.data(), factor_text.data() + factor_text.size(), factor);
      if (bad != std::errc{} || end != factor_text.data() + factor_text.size() || !(factor >= 0 && factor < 1024))
        return read.fail(errc::malformed, v, "memoryOverheadFactor \"" + factor_text + "\" is no number");
    }
    settle_requests(of_driver, factor, driver);
    settle_requests(of_executor, factor, executor);
    for (pod_set& set : out.sets) {
      pod_spec& pod = set.pod.spec;
      for (const auto& [label, value] : node_selector) pod.node_selector.try_emplace(label, value);
      if (scheduler == "volcano") pod.scheduler_name = scheduler;
      if (pod.priority_class.empty()) pod.priority_class = priority_class;
    }
    driver.count = 1;
    executor.count = dynamic.enabled ? std::max({dynamic.initial, dynamic.least, instances}) : instances;
    if (!affordable(read, v, 1 + executor.count, out, how)) return false;
    if (gang_of_all) {  // the operator's PodGroup is of the driver: executors come when it runs
      driver.least = 1;
      group_draft made = gang_of(out, 1);
      made.made.priority_class = priority_class;
      std::get<gang>(made.made.spec.policy).desired_count = static_cast<std::int32_t>(1 + executor.count);
      out.groups.push_back(std::move(made));
    }
    for (std::size_t i = 0; i < out.sets.size(); ++i) {
      for (std::int64_t index = 0; index < out.sets[i].count; ++index) {
        planned_pod& one = out.pods.emplace_back();
        one.pod_set = i;
        one.name = out.name + (i == 0 ? "-driver" : "-exec");
        one.suffix = i != 0;
        one.labels = {{"sparkoperator.k8s.io/app-name", out.name}, {"spark-role", out.sets[i].role}};
        one.rank = static_cast<std::int32_t>(index);
        if (gang_of_all) one.group = 0;
      }
    }
    return true;
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
