#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "gangsched/core/hash.hpp"
#include "gangsched/src/kube/documents/trees.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// KubeRay's RayCluster, and what makes one (ray.io/v1): RayJob, RayCronJob and RayService. A head and groups of workers, one gang over
// all of them (KubeRay: ray-operator/controllers/ray/batchscheduler).
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

struct worker_group {
  std::string name;
  std::optional<std::int64_t> replicas, least, greatest;
  std::int64_t hosts = 1;
  bool suspended = false;
};

struct ray_cluster {
  bool autoscaling = false, suspended = false, has_head = false;
  std::vector<worker_group> workers;    // the plan's sets after the first, the head
  std::set<std::string> names{"head"};  // of groups
};

/// What waits in a worker's pod for the head (ENABLE_INIT_CONTAINER_INJECTION, which is the operator's default).
value head_waiter(std::uint32_t line) {
  constexpr container_amounts all{"200m", "256Mi"};
  return added_container("wait-gcs-ready", all, all, line);
}

/// The autoscaler beside the head, if the cluster has it there.
std::vector<value> autoscaler_of(const value& cluster) {
  const value* const wanted = cluster.find("enableInTreeAutoscaling");
  if (wanted == nullptr || wanted->kind != value_kind::boolean || wanted->text != "true") return {};
  constexpr container_amounts all{"500m", "512Mi"};
  std::vector<value> made{added_container("autoscaler", all, all, wanted->line)};
  const value* const options = cluster.find("autoscalerOptions");
  const value* const own = options != nullptr ? options->find("resources") : nullptr;
  if (own != nullptr && own->kind != value_kind::null) set_field(made.front(), "resources", *own);
  return made;
}

bool read_workers(reader& read, const place& of, worker_group& group, pod_set& set, std::string_view ns,
                  const read_options& how) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "groupName") return read.text(v, group.name);
    if (key == "replicas") return read.integer(v, group.replicas.emplace(), 0, most_count);
    if (key == "minReplicas") return read.integer(v, group.least.emplace(), 0, most_count);
    if (key == "maxReplicas") return read.integer(v, group.greatest.emplace(), 0, most_count);
    if (key == "numOfHosts") return read.integer(v, group.hosts, 1, most_count);
    if (key == "suspend") return read.boolean(v, group.suspended);
    if (key == "template")
      return read_template_with(read, v, "initContainers", {head_waiter(v.at->line)}, ns, set, how);
    return read.ignore(key, v, {"rayStartParams", "idleTimeoutSeconds", "scaleStrategy", "resources", "labels"});
  });
  if (!fine) return false;
  if (group.name.empty()) return read.fail(errc::malformed, of, "needs a groupName");
  if (group.least.value_or(0) > group.greatest.value_or(most_count))
    return read.fail(errc::out_of_range, of,
                     fmt::format("minReplicas {} is above maxReplicas {}", *group.least, *group.greatest));
  return true;
}

/// @p beside: containers in the head's pod that are not the cluster's own.
bool read_cluster(reader& read, const place& of, ray_cluster& cluster, workload_plan& out, const read_options& how,
                  std::vector<value> beside = {}) {
  for (value& one : autoscaler_of(*of.at)) beside.push_back(std::move(one));
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "enableInTreeAutoscaling") return read.boolean(v, cluster.autoscaling);
    if (key == "suspend") return read.boolean(v, cluster.suspended);
    if (key == "headGroupSpec") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        cluster.has_head = true;
        if (field == "template")
          return read_template_with(read, w, "containers", beside, out.ns, out.sets.front(), how);
        return read.ignore(field, w,
                           {"rayStartParams", "serviceType", "headService", "enableIngress", "resources", "labels"});
      });
    }
    if (key == "workerGroupSpecs") {
      return read.items(v, [&](const place& item) {
        worker_group& group = cluster.workers.emplace_back();
        if (!read_workers(read, item, group, out.sets.emplace_back(), out.ns, how)) return false;
        return cluster.names.insert(group.name).second ||
               read.fail(errc::duplicate, item, fmt::format("there is another group \"{}\"", group.name));
      });
    }
    return read.ignore(
        key, v,
        {"rayVersion", "autoscalerOptions", "headServiceAnnotations", "gcsFaultToleranceOptions", "managedBy",
         "authOptions", "upgradeStrategy", "tlsOptions", "networkPolicy", "historyServerOptions"});
  });
}

/// What KubeRay takes from the object's labels for the group that it makes.
bool read_labels(reader& read, const place& of, workload_plan& plan, group_draft& out) {
  const auto label = [&](const char* key) {
    const auto found = plan.labels.find(key);
    return found == plan.labels.end() ? std::string{} : found->second;
  };
  const std::string mode = label("volcano.sh/network-topology-mode");
  const std::string highest = label("volcano.sh/network-topology-highest-tier-allowed");
  const auto wrong = [&](const std::string& key, const std::string& reason) {
    return read.fail(errc::malformed, of.at->line, "metadata.labels[\"volcano.sh/network-topology-" + key + "\"]",
                     reason);
  };
  if (!mode.empty()) {
    if (mode != "hard" && mode != "soft") return wrong("mode", "\"" + mode + "\" is not one of hard, soft");
    out.asks.field = "metadata.labels[\"volcano.sh/network-topology-mode\"]";
    out.asks.soft_tiers = mode == "soft";
    std::int32_t tier = 1;
    const auto [end, bad] = std::from_chars(highest.data(), highest.data() + highest.size(), tier);
    if (!highest.empty() && (bad != std::errc{} || end != highest.data() + highest.size() || tier < 1))
      return wrong("highest-tier-allowed", "\"" + highest + "\" is no number above 0");
    if (!out.asks.soft_tiers) out.asks.highest_tier = tier;
  }
  out.made.priority_class = label("ray.io/priority-class-name");
  for (pod_set& set : plan.sets)
    if (set.pod.spec.priority_class.empty()) set.pod.spec.priority_class = out.made.priority_class;
  return true;
}

/// KubeRay's own submitter asks for this much.
void default_submitter(pod_manifest& pod) {
  if (pod.spec.containers.empty()) pod.spec.containers.emplace_back();
  resource_list& requests = pod.spec.containers.front().requests;
  if (!requests.empty()) return;
  requests = {{"cpu", quantity::from_milli(500)}, {"memory", quantity{std::int64_t{200} * 1024 * 1024}}};
}

bool plan_cluster(reader& read, const place& of, const ray_cluster& cluster, const std::string& name,
                  workload_plan& out, const read_options& how) {
  pod_set& head = out.sets.front();
  head.role = "head";
  head.count = head.least = 1;
  std::int64_t all = 1, least = 1, greatest = 1;
  bool bounded = true;
  for (std::size_t i = 0; i < cluster.workers.size(); ++i) {
    const worker_group& group = cluster.workers[i];
    pod_set& set = out.sets[i + 1];
    const std::int64_t fewest = group.least.value_or(0);
    const std::int64_t replicas =
        group.suspended ? 0 : std::clamp(group.replicas.value_or(fewest), fewest, group.greatest.value_or(most_count));
    set.role = group.name;
    set.count = replicas * group.hosts;
    set.least = cluster.autoscaling ? std::min(fewest, replicas) * group.hosts : set.count;
    all += set.count;
    least += set.least;
    bounded = bounded && group.greatest.has_value();
    if (!affordable(read, of, all, out, how)) return false;
    greatest = std::min(most_count, greatest + std::min(most_count, group.greatest.value_or(most_count)) * group.hosts);
  }
  group_draft made = gang_of(out, least);
  gang& policy = std::get<gang>(made.made.spec.policy);
  policy.desired_count = static_cast<std::int32_t>(all);
  if (bounded) policy.max_count = static_cast<std::int32_t>(std::max(all, greatest));
  if (!read_labels(read, of, out, made)) return false;
  out.groups.push_back(std::move(made));
  for (std::size_t i = 0; i < out.sets.size(); ++i) {
    const bool is_head = i == 0;
    for (std::int64_t index = 0; index < out.sets[i].count; ++index) {
      planned_pod& one = out.pods.emplace_back();
      one.pod_set = i;
      one.name = is_head ? name + "-head" : fmt::format("{}-{}-worker", name, out.sets[i].role);
      one.suffix = true;
      one.labels = {{"ray.io/cluster", name},
                    {"ray.io/is-ray-node", "yes"},
                    {"ray.io/node-type", is_head ? "head" : "worker"},
                    {"ray.io/group", is_head ? "headgroup" : out.sets[i].role},
                    {"app.kubernetes.io/name", "kuberay"},
                    {"app.kubernetes.io/created-by", "kuberay-operator"}};
      one.rank = static_cast<std::int32_t>(index);
      one.group = 0;
    }
  }
  return true;
}

/// The RayCluster that an object makes is called after it.
bool plan_own_cluster(reader& read, const place& of, const ray_cluster& cluster, workload_plan& out,
                      const read_options& how) {
  std::uint64_t hash = 0;
  for (const char c : out.ns + "/" + out.name) hash = mix64(hash ^ static_cast<unsigned char>(c));
  return plan_cluster(read, of, cluster, out.name + "-" + safe_letters(hash, 5), out, how);
}

bool read_job_spec(reader& read, const place& of, ray_cluster& cluster, workload_plan& out, const read_options& how,
                   bool queued) {
  bool by_job = true, other_cluster = false, suspended = false;
  std::vector<value> beside;
  if (text_at(*of.at, "submissionMode") == "SidecarMode")
    beside.push_back(added_container("ray-job-submitter", {"500m", "200Mi"}, {"1", "1Gi"}, of.at->line));
  pod_set submitter{.role = "submitter", .count = 1, .least = 0, .members = false};
  const bool fine = read.fields(of, [&](std::string_view field, const place& w) {
    if (field == "rayClusterSpec") return read_cluster(read, w, cluster, out, how, beside);
    if (field == "suspend") return read.boolean(w, suspended);
    if (field == "submitterPodTemplate") return read_pod_template(read, w, out.ns, submitter, how);
    if (field == "clusterSelector") return other_cluster = true, true;
    if (field == "submissionMode") {
      return read.word(w, by_job,
                       {{"K8sJobMode", true}, {"SidecarMode", false}, {"HTTPMode", false}, {"InteractiveMode", false}});
    }
    return read.ignore(
        field, w,
        {"entrypoint", "entrypointNumCpus", "entrypointNumGpus", "entrypointResources", "runtimeEnvYAML", "jobId",
         "shutdownAfterJobFinishes", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit", "metadata",
         "managedBy", "deletionStrategy", "submitterConfig", "preRunningDeadlineSeconds"});
  });
  if (!fine || ((suspended || cluster.suspended) && !queued)) return fine;
  if (!other_cluster) {
    if (!cluster.has_head) return read.fail(errc::malformed, of, "needs a rayClusterSpec with a headGroupSpec");
    if (!plan_own_cluster(read, of, cluster, out, how)) return false;
  }
  if (!by_job) return true;
  // The one that hands the job in is no member: it comes when the cluster runs.
  default_submitter(submitter.pod);
  planned_pod& one = out.pods.emplace_back();
  one.pod_set = out.sets.size();
  one.name = out.name;
  one.suffix = true;
  out.sets.push_back(std::move(submitter));
  return true;
}

/// One run of it, as of a CronJob.
bool read_cron_spec(reader& read, const place& of, ray_cluster& cluster, workload_plan& out, const read_options& how,
                    bool queued) {
  bool suspended = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "jobTemplate") return read_job_spec(read, v, cluster, out, how, queued);
    if (key == "suspend") return read.boolean(v, suspended);
    return ignore_of_cron_job(read, key, v);
  });
  if (suspended) make_nothing(out);
  return fine;
}

bool read_service_spec(reader& read, const place& of, ray_cluster& cluster, workload_plan& out, const read_options& how,
                       bool queued) {
  bool suspended = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "rayClusterConfig") return read_cluster(read, v, cluster, out, how);
    if (key == "suspend") return read.boolean(v, suspended);
    return read.ignore(key, v,
                       {"serveConfigV2", "serveService", "upgradeStrategy", "excludeHeadPodFromServeSvc",
                        "rayClusterDeletionDelaySeconds", "serviceUnhealthySecondThreshold",
                        "deploymentUnhealthySecondThreshold", "managedBy"});
  });
  if (!fine || ((suspended || cluster.suspended) && !queued)) return fine;
  if (!cluster.has_head) return read.fail(errc::malformed, of, "needs a rayClusterConfig with a headGroupSpec");
  return plan_own_cluster(read, of, cluster, out, how);
}

}  // namespace

bool read_ray(reader& read, const place& of, std::string_view kind, workload_plan& out, const read_options& how) {
  const bool itself = kind == "RayCluster";
  out.kind = kind;
  out.member_label = itself ? "ray.io/cluster" : "";
  out.made_by = itself ? "" : kind == "RayCronJob" ? "RayJob" : "RayCluster";
  out.sets.resize(1);
  ray_cluster cluster;
  const bool queued = is_queued_by_kueue(out.labels, out.annotations);
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return true;  // the caller's
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    if (kind == "RayJob") return read_job_spec(read, v, cluster, out, how, queued);
    if (kind == "RayCronJob") return read_cron_spec(read, v, cluster, out, how, queued);
    if (kind == "RayService") return read_service_spec(read, v, cluster, out, how, queued);
    if (!read_cluster(read, v, cluster, out, how)) return false;
    if (!cluster.has_head) return read.fail(errc::malformed, v, "needs a headGroupSpec");
    return (cluster.suspended && !queued) || plan_cluster(read, v, cluster, out.name, out, how);
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
