#include <fmt/format.h>

#include <algorithm>

#include "gangsched/src/kube/documents/trees.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// Jobs of Kubeflow's training operator (kubeflow.org/v1: pkg/controller.v1/common, pkg/core/pod.go) and of its MPI operator (v2beta1:
// pkg/controller): replicas of several roles, and one gang over all of them.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

struct training_kind {
  std::string_view kind;
  std::string_view replicas;  ///< the field with the roles
  std::string_view operator_name;
};
constexpr training_kind training_kinds[] = {
    {"PyTorchJob", "pytorchReplicaSpecs", "pytorchjob-controller"},
    {"TFJob", "tfReplicaSpecs", "tfjob-controller"},
    {"XGBoostJob", "xgbReplicaSpecs", "xgboostjob-controller"},
    {"PaddleJob", "paddleReplicaSpecs", "paddlejob-controller"},
    {"JAXJob", "jaxReplicaSpecs", "jaxjob-controller"},
    {"MPIJob", "mpiReplicaSpecs", "mpijob-controller"},
};

/// What the job says beside its replicas.
struct training_policy {
  bool suspended = false;
  bool launcher_waits = false;         ///< MPI: it is made when the workers run
  std::optional<std::int64_t> least;   ///< minAvailable
  std::optional<std::int64_t> fewest;  ///< workers of an elastic PyTorchJob
  std::optional<std::int64_t> most;
  std::string priority_class;
};

bool read_scheduling_policy(reader& read, const place& of, training_policy& policy, workload_plan& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "minAvailable") return read.integer(v, policy.least.emplace(), 0, most_count);
    if (key == "queue") return read.text(v, out.annotations["scheduling.volcano.sh/queue-name"]);
    if (key == "priorityClass") return read.text(v, policy.priority_class);
    return read.ignore(key, v, {"minResources", "scheduleTimeoutSeconds"});
  });
}

bool read_run_policy(reader& read, const place& of, training_policy& policy, workload_plan& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "suspend") return read.boolean(v, policy.suspended);
    if (key == "schedulingPolicy") return read_scheduling_policy(read, v, policy, out);
    return read.ignore(
        key, v, {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit", "managedBy"});
  });
}

bool read_elastic_policy(reader& read, const place& of, training_policy& policy) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "minReplicas") return read.integer(v, policy.fewest.emplace(), 1, most_count);
    if (key == "maxReplicas") return read.integer(v, policy.most.emplace(), 1, most_count);
    return read.ignore(key, v,
                       {"rdzvBackend", "rdzvPort", "rdzvHost", "rdzvId", "rdzvConf", "standalone", "nProcPerNode",
                        "maxRestarts", "metrics"});
  });
}

/// The init containers that the training operator adds to pods of the role: workers wait for a PyTorchJob's master (initcontainer.go, as
/// the operator is shipped), and an MPIJob's launcher gets kubectl (mpijob_controller.go). The MPI operator adds none.
std::vector<value> added_init_containers(const training_kind& kind, const value& replicas, std::string_view role,
                                         std::uint32_t line) {
  const auto has_master = [&] {
    for (std::size_t i = 0; i < replicas.keys.size(); ++i)
      if (lower_case(replicas.keys[i]) == "master") return replicas.items[i].kind != value_kind::null;
    return false;
  };
  std::vector<value> made;
  if (kind.kind == "PyTorchJob" && role == "worker" && has_master())
    made.push_back(added_container("init-pytorch", {"50m", "10Mi"}, {"100m", "20Mi"}, line));
  if (kind.kind == "MPIJob" && role == "launcher") {
    constexpr container_amounts all{"100m", "512Mi", "5Gi"};
    made.push_back(added_container("kubectl-delivery", all, all, line));
  }
  return made;
}

/// The roles, in the order of the file.
bool read_replicas(reader& read, const place& of, const training_kind& kind, bool mpi_operator, workload_plan& out,
                   const read_options& how) {
  return read.fields(of, [&](std::string_view role, const place& v) {
    pod_set& set = out.sets.emplace_back();
    set.role = lower_case(role);
    set.count = 1;
    bool has_template = false;
    const bool fine = read.fields(v, [&](std::string_view key, const place& w) {
      if (key == "replicas") return read.integer(w, set.count, 0, most_count);
      if (key == "template") {
        has_template = true;
        std::vector<value> more;
        if (!mpi_operator) more = added_init_containers(kind, *of.at, set.role, w.at->line);
        return read_template_with(read, w, "initContainers", std::move(more), out.ns, set, how);
      }
      return read.ignore(key, w, {"restartPolicy"});
    });
    return fine && (has_template || read.fail(errc::malformed, v, "needs a template"));
  });
}

/// The pods of one role.
void plan_role(const training_kind& kind, bool mpi_operator, std::size_t role, workload_plan& out) {
  const pod_set& set = out.sets[role];
  const bool launches = kind.kind == "MPIJob" && set.role == "launcher";
  for (std::int64_t index = 0; index < set.count; ++index) {
    planned_pod& one = out.pods.emplace_back();
    one.pod_set = role;
    one.name = fmt::format("{}-{}", out.name, set.role);
    if (!launches) one.name += fmt::format("-{}", index);
    one.suffix = launches && mpi_operator;  // a Job makes it
    one.labels = {{"training.kubeflow.org/job-name", out.name}};
    one.labels["training.kubeflow.org/operator-name"] = mpi_operator ? "mpi-operator" : kind.operator_name;
    one.labels[mpi_operator ? "training.kubeflow.org/job-role" : "training.kubeflow.org/replica-type"] = set.role;
    if (!mpi_operator && (set.role == "master" || set.role == "chief"))
      one.labels["training.kubeflow.org/job-role"] = "master";
    if (!launches) one.labels["training.kubeflow.org/replica-index"] = fmt::format("{}", index);
    one.rank = static_cast<std::int32_t>(index);
    if (set.members) one.group = 0;
  }
}

bool plan_training(reader& read, const place& of, const training_kind& kind, bool mpi_operator,
                   const training_policy& policy, workload_plan& out, const read_options& how) {
  std::int64_t members = 0, needed = 0, all = 0, most = 0;
  for (pod_set& set : out.sets) {
    const bool elastic = policy.fewest && set.role == "worker";
    set.least = elastic ? std::min(*policy.fewest, set.count) : set.count;
    set.members = !(policy.launcher_waits && set.role == "launcher");
    if (set.pod.spec.priority_class.empty()) set.pod.spec.priority_class = policy.priority_class;
    all += set.count;
    if (!set.members) {
      set.least = 0;
      continue;
    }
    members += set.count;
    needed += set.least;
    most += elastic ? std::max(policy.most.value_or(set.count), set.count) : set.count;
  }
  if (!affordable(read, of, all, out, how)) return false;
  if (all == 0) return true;
  if (policy.least) {
    // As of Volcano's Job: roles are counted only when the gang needs them all.
    if (*policy.least < needed)
      for (pod_set& set : out.sets) set.least = 0;
    needed = std::min(*policy.least, members);
  }
  group_draft made = gang_of(out, std::max<std::int64_t>(1, needed));
  gang& gang_policy = std::get<gang>(made.made.spec.policy);
  gang_policy.desired_count = static_cast<std::int32_t>(std::max<std::int64_t>(1, members));
  if (policy.most) gang_policy.max_count = static_cast<std::int32_t>(std::min(most_count, most));
  made.made.priority_class = policy.priority_class;
  if (members > 0) out.groups.push_back(std::move(made));
  for (std::size_t i = 0; i < out.sets.size(); ++i) plan_role(kind, mpi_operator, i, out);
  return true;
}

}  // namespace

bool is_training_job(std::string_view kind) {
  return std::ranges::find(training_kinds, kind, &training_kind::kind) != std::end(training_kinds);
}

bool read_training_job(reader& read, const place& of, std::string_view kind, workload_plan& out,
                       const read_options& how) {
  const training_kind& found = *std::ranges::find(training_kinds, kind, &training_kind::kind);
  const bool mpi_operator = kind == "MPIJob" && text_at(*of.at, "apiVersion") == "kubeflow.org/v2beta1";
  out.kind = kind;
  out.member_label = "training.kubeflow.org/job-name";
  const bool queued = is_queued_by_kueue(out.labels, out.annotations);
  training_policy policy;
  bool has_replicas = false;
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return true;  // the caller's
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    const bool fine = read.fields(v, [&](std::string_view field, const place& w) {
      if (field == found.replicas) return has_replicas = true, read_replicas(read, w, found, mpi_operator, out, how);
      if (field == "runPolicy") return read_run_policy(read, w, policy, out);
      if (field == "elasticPolicy") return read_elastic_policy(read, w, policy);
      if (field == "suspend") return read.boolean(w, policy.suspended);
      if (field == "launcherCreationPolicy")
        return read.word(w, policy.launcher_waits, {{"AtStartup", false}, {"WaitForWorkersReady", true}});
      return read.ignore(field, w,
                         {"nprocPerNode", "successPolicy", "enableDynamicWorker", "slotsPerWorker", "sshAuthMountPath",
                          "mpiImplementation", "runLauncherAsWorker", "mainContainer", "cleanPodPolicy"});
    });
    if (!fine) return false;
    if (!has_replicas) return read.fail(errc::malformed, v, fmt::format("needs {}", found.replicas));
    return (policy.suspended && !queued) || plan_training(read, v, found, mpi_operator, policy, out, how);
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
