#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gangsched/core/hash.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// JobSet (jobset.x-k8s.io/v1alpha2): jobs that start together, or one after the other; and LeaderWorkerSet
// (leaderworkerset.x-k8s.io/v1): copies of a leader with its workers, each a gang.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

struct replicated_job {
  std::string name;
  std::int64_t replicas = 1;
  std::int64_t pods_each = 0;
  std::int64_t completions = 0;  ///< of each
  std::vector<group_dependency_manifest> after;
  std::string exclusive = {};                         ///< the label of whose domains each Job has one
  bool by_node_label = false;                         ///< which the nodes' labels say
  std::int64_t ready = 0, succeeded = 0, failed = 0;  ///< by the status

  /// Whether all its Jobs have succeeded: their pods are not made again.
  [[nodiscard]] bool is_over() const { return replicas > 0 && succeeded >= replicas; }
  [[nodiscard]] std::int64_t pods() const { return is_over() ? 0 : replicas * pods_each; }
  /// Whether it came to that state (dependencyReachedStatus, allReplicasStarted). A Job without a pod to wait for is ready as it is made.
  [[nodiscard]] bool reached(dependency_state until) const {
    if (until == dependency_state::done) return succeeded >= replicas || completions == 0;
    return ready + succeeded + failed >= replicas || pods_each == 0;
  }
};

/// One of `status.replicatedJobsStatus`.
bool read_job_status(reader& read, const place& of, std::vector<replicated_job>& jobs) {
  std::string name;
  replicated_job counts;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, name);
    if (key == "ready") return read.integer(v, counts.ready, 0, most_count);
    if (key == "succeeded") return read.integer(v, counts.succeeded, 0, most_count);
    if (key == "failed") return read.integer(v, counts.failed, 0, most_count);
    return read.ignore(key, v, {"active", "suspended"});
  });
  if (const auto job = std::ranges::find(jobs, name, &replicated_job::name); fine && job != jobs.end())
    job->ready = counts.ready, job->succeeded = counts.succeeded, job->failed = counts.failed;
  return fine;
}

bool read_depends_on(reader& read, const place& of, std::vector<group_dependency_manifest>& out) {
  return read.list(of, out, [&](const place& item, group_dependency_manifest& one) {
    return read.fields(item, [&](std::string_view key, const place& v) {
      if (key == "name") return read.text(v, one.on);
      if (key == "status")
        return read.word(v, one.until, {{"Ready", dependency_state::running}, {"Complete", dependency_state::done}});
      return read.ignore(key, v, {});
    });
  });
}

constexpr const char* exclusive_topology = "alpha.jobset.sigs.k8s.io/exclusive-topology";
constexpr const char* jobset_name = "jobset.sigs.k8s.io/jobset-name";
constexpr const char* job_name = "batch.kubernetes.io/job-name";

/// Of the JobSet, or of one of its jobs, which counts before.
void read_exclusive(const label_map& annotations, replicated_job& job) {
  const auto found = annotations.find(exclusive_topology);
  if (found == annotations.end()) return;
  job.exclusive = found->second;
  job.by_node_label = annotations.contains("alpha.jobset.sigs.k8s.io/node-selector");
}

bool read_replicated_job(reader& read, const place& of, replicated_job& job, pod_set& set, std::string_view ns,
                         const read_options& how) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, job.name);
    if (key == "replicas") return read.integer(v, job.replicas, 0, most_count);
    if (key == "dependsOn") return read_depends_on(read, v, job.after);
    if (key != "template") return read.ignore(key, v, {"groupName"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "metadata") {
        object_meta meta;
        if (!read_meta(read, w, meta)) return false;
        read_exclusive(meta.annotations, job);
        return true;
      }
      if (field != "spec") return read.ignore(field, w, {});
      std::int64_t parallelism = 1;
      std::optional<std::int64_t> completions;
      const bool good = read.fields(w, [&](std::string_view word, const place& x) {
        if (word == "parallelism") return read.integer(x, parallelism, 0, most_count);
        if (word == "completions") return read.integer(x, completions.emplace(), 0, most_count);
        if (word == "template") return read_pod_template(read, x, ns, set, how);
        return read.ignore(word, x,
                           {"activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completionMode",
                            "managedBy", "manualSelector", "maxFailedIndexes", "podFailurePolicy",
                            "podReplacementPolicy", "selector", "successPolicy", "suspend", "ttlSecondsAfterFinished"});
      });
      job.completions = completions.value_or(parallelism);
      job.pods_each = std::min(parallelism, job.completions);
      return good;
    });
  });
  return fine && (!job.name.empty() || read.fail(errc::malformed, of, "needs a name"));
}

/// A domain for each Job of a JobSet. Where all have the same number of pods these are slices of the gang; otherwise the pods of each job
/// ask for their own, in Kueue's words, which make a gang of gangs of it.
void own_domains(const std::vector<replicated_job>& jobs, workload_plan& out, group_draft& made) {
  const auto asks = [](const replicated_job& job) { return !job.exclusive.empty() && job.pods() > 0; };
  const auto first = std::ranges::find_if(jobs, asks);
  if (first == jobs.end()) return;
  const bool alike = std::ranges::all_of(jobs, [&](const replicated_job& job) {
    return job.pods() == 0 || (job.exclusive == first->exclusive && job.pods_each == first->pods_each);
  });
  if (alike) {
    made.asks.field = fmt::format("metadata.annotations[\"{}\"]", exclusive_topology);
    made.asks.slices.push_back({first->exclusive, static_cast<std::int32_t>(first->pods_each)});
    return;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!asks(jobs[i])) continue;
    label_map& annotations = out.sets[i].pod.annotations;
    annotations.try_emplace("kueue.x-k8s.io/podset-slice-required-topology", jobs[i].exclusive);
    annotations.try_emplace("kueue.x-k8s.io/podset-slice-size", std::to_string(jobs[i].pods_each));
  }
}

/// A domain for each job, of the label that the annotation names.
void own_domains(const label_map& annotations, std::string_view key, std::int64_t members, bool all, group_draft& out) {
  const auto found = annotations.find(std::string{key});
  if (found == annotations.end() || members < 1) return;
  out.asks.field = fmt::format("metadata.annotations[\"{}\"]", key);
  if (all)
    out.asks.required = found->second;
  else
    out.asks.slices.push_back({found->second, static_cast<std::int32_t>(members)});
}

/// In the domain of a pod of the set there are no pods with the label @p present, and with its labels @p among, whose label @p own
/// differs.
pod_affinity_term& keep_apart(const std::string& topology, const char* present, const char* own, pod_set& set,
                              std::vector<std::string> among = {}) {
  std::vector<pod_affinity_term>& terms = set.pod.spec.anti_affinity_to_pods.required;
  set.admission.label_keys.push_back(
      {.anti = true, .term = terms.size(), .match = std::move(among), .mismatch = {own}});
  terms.emplace_back(pod_affinity_term{topology}).selector.emplace().match_expressions = {
      {present, selector_operator::exists, {}}};
  return terms.back();
}

/// Every job waits for what it says, or in order for the one before it, unless that came so far already. By job, what it waits for.
bool dependencies(reader& read, const place& of, const std::vector<replicated_job>& jobs, bool in_order,
                  const std::string& base, std::vector<std::vector<group_dependency_manifest>>& out) {
  std::map<std::string_view, const replicated_job*> before;
  const replicated_job* last = nullptr;  // that others wait for in order
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<group_dependency_manifest>& to = out.emplace_back();
    for (group_dependency_manifest one : jobs[i].after) {
      // Only on jobs that stand before it, so that there is no cycle.
      const auto job = before.find(one.on);
      if (job == before.end()) {
        return read.fail(errc::malformed, of.at->line, fmt::format("spec.replicatedJobs[{}].dependsOn", i),
                         fmt::format("\"{}\" is no job before this one", one.on));
      }
      if (job->second->reached(one.until)) continue;
      one.on = base + "-" + one.on;
      to.push_back(std::move(one));
    }
    if (in_order && jobs[i].after.empty() && last != nullptr)
      to.push_back({base + "-" + last->name, dependency_state::running});
    if (!jobs[i].reached(dependency_state::running)) last = &jobs[i];
    before.emplace(jobs[i].name, &jobs[i]);
  }
  return true;
}

/// @p groups: of each job the one that it is in, in the plan.
void plan_jobs(const std::vector<replicated_job>& jobs, const std::vector<std::size_t>& groups, workload_plan& out) {
  std::int32_t rank = 0;
  std::int64_t global = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0 && groups[i] != groups[i - 1]) rank = 0;
    if (jobs[i].is_over()) {
      global += jobs[i].replicas;
      continue;
    }
    for (std::int64_t copy = 0; copy < jobs[i].replicas; ++copy, ++global) {
      const std::string job = fmt::format("{}-{}-{}", out.name, jobs[i].name, copy);
      for (std::int64_t index = 0; index < jobs[i].pods_each; ++index) {
        planned_pod& one = out.pods.emplace_back();
        one.pod_set = i;
        one.name = fmt::format("{}-{}", job, index);
        one.suffix = true;
        one.labels = {{jobset_name, out.name},
                      {"jobset.sigs.k8s.io/replicatedjob-name", jobs[i].name},
                      {"jobset.sigs.k8s.io/job-index", fmt::format("{}", copy)},
                      {"jobset.sigs.k8s.io/job-global-index", fmt::format("{}", global)},
                      {job_name, job},
                      {"batch.kubernetes.io/job-completion-index", fmt::format("{}", index)}};
        if (jobs[i].by_node_label)
          one.node_selector = {{"alpha.jobset.sigs.k8s.io/namespaced-job", fmt::format("{}_{}", out.ns, job)}};
        one.rank = rank++;
        one.group = groups[i];
      }
    }
  }
}

/// Sub-groups of a LeaderWorkerSet (getSubGroupIndex of its pod webhook): runs of `size` pods, or of workers if the leader is one too many,
/// which is in the first then, or in none.
struct leader_worker_parts {
  std::int64_t size = 0;  ///< 0: there are none
  bool without_leader = false;

  [[nodiscard]] bool fit(std::int64_t pods) const {
    return size == 0 || (pods - 1) % size == 0 || (pods % size == 0 && !without_leader);
  }
  /// Whether they are runs of one size, from the leader on.
  [[nodiscard]] bool alike(std::int64_t pods) const { return size > 0 && pods % size == 0 && !without_leader; }
  [[nodiscard]] std::optional<std::int64_t> of(std::int64_t index, std::int64_t pods) const {
    if (size == 0 || (index == 0 && without_leader)) return std::nullopt;
    if (index == 0 || alike(pods)) return index / size;
    return (index - 1) / size;
  }
};

constexpr const char* part_index = "leaderworkerset.sigs.k8s.io/subgroup-index";
constexpr const char* part_key = "leaderworkerset.sigs.k8s.io/subgroup-key";

/// Pods of a sub-group are in one domain (SetExclusiveAffinities), by the label that each pod has.
void keep_parts_together(const std::string& topology, pod_set& set) {
  pod_spec& pod = set.pod.spec;
  set.admission.label_keys.push_back({.term = pod.affinity_to_pods.required.size(), .match = {part_key}});
  pod.affinity_to_pods.required.emplace_back(pod_affinity_term{topology}).selector.emplace();
}

/// The labels of a pod's sub-group.
void add_part_labels(const std::string& ns, const std::string& leader, std::int64_t part, label_map& to) {
  to[part_index] = fmt::format("{}", part);
  std::uint64_t hash = 0;
  for (const char c : fmt::format("{}/{}/{}", ns, leader, part)) hash = mix64(hash ^ static_cast<unsigned char>(c));
  to[part_key] = safe_letters(hash, 10);
}

}  // namespace

bool read_job_set(reader& read, const place& of, workload_plan& out, const read_options& how) {
  out.kind = "JobSet";
  out.member_label = jobset_name;
  out.made_by = "Job";
  std::vector<replicated_job> jobs;
  std::set<std::string> names;  // of jobs
  bool in_order = false, suspended = false;
  std::int64_t all = 0;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata" || key == "status") return true;  // the caller's; below
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    const bool good = read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "suspend") return read.boolean(w, suspended);
      if (field == "startupPolicy") {
        return read.fields(w, [&](std::string_view word, const place& x) {
          if (word != "startupPolicyOrder") return read.ignore(word, x, {});
          return read.word(x, in_order, {{"AnyOrder", false}, {"InOrder", true}});
        });
      }
      if (field == "replicatedJobs") {
        return read.items(w, [&](const place& item) {
          replicated_job& job = jobs.emplace_back();
          read_exclusive(out.annotations, job);
          if (!read_replicated_job(read, item, job, out.sets.emplace_back(), out.ns, how)) return false;
          if (!names.insert(job.name).second)
            return read.fail(errc::duplicate, item, fmt::format("there is another job \"{}\"", job.name));
          // Both below 2^31: no overflow.
          all += job.replicas * job.pods_each;
          return affordable(read, item, all, out, how);
        });
      }
      return read.ignore(field, w,
                         {"network", "successPolicy", "failurePolicy", "managedBy", "ttlSecondsAfterFinished",
                          "coordinator", "volumeClaimPolicies"});
    });
    return good;
  });
  suspended = suspended && !is_queued_by_kueue(out.labels, out.annotations);
  if (!fine || suspended) return fine;
  if (const value* const status = of.at->find("status"); status != nullptr && status->kind == value_kind::object) {
    const place at{status, &of, "status"};
    const value* const counts = status->find("replicatedJobsStatus");
    if (counts != nullptr && counts->kind == value_kind::list &&
        !read.items(place{counts, &at, "replicatedJobsStatus"},
                    [&](const place& item) { return read_job_status(read, item, jobs); }))
      return false;
  }
  all = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].by_node_label) {  // whoever sets the labels, taints the nodes too
      pod_manifest& pod = out.sets[i].pod;
      pod.spec.tolerations.push_back({.key = "alpha.jobset.sigs.k8s.io/no-schedule",
                                      .op = toleration_operator::exists,
                                      .effect = taint_effect::no_schedule});
      jobs[i].exclusive.clear();
    }
    // As the JobSet's webhook writes it for the first pod of each Job (setExclusiveAffinities), with a label that all its pods have.
    if (!jobs[i].exclusive.empty())
      keep_apart(jobs[i].exclusive, jobset_name, job_name, out.sets[i]).namespace_selector.emplace();
    out.sets[i].role = jobs[i].name;
    out.sets[i].count = out.sets[i].least = jobs[i].pods();
    out.sets[i].members = jobs[i].pods() > 0;
    all += jobs[i].pods();
  }
  if (all == 0) return true;

  std::vector<std::size_t> groups(jobs.size());
  const bool apart =
      in_order || std::ranges::any_of(jobs, [](const replicated_job& job) { return !job.after.empty(); });
  if (!apart) {
    group_draft made = gang_of(out, all);
    own_domains(jobs, out, made);
    out.groups.push_back(std::move(made));
  } else {
    // Jobs that wait for others to run cannot start together with them: each job that has pods is a gang.
    std::vector<std::vector<group_dependency_manifest>> after;
    if (!dependencies(read, of, jobs, in_order, out.name, after)) return false;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].pods() == 0) continue;
      group_draft made = gang_of(out, jobs[i].pods());
      made.made.spec.name = out.name + "-" + jobs[i].name;
      made.made.start_after = std::move(after[i]);
      std::get<gang>(made.made.spec.policy).roles.clear();
      own_domains({{exclusive_topology, jobs[i].exclusive}}, exclusive_topology,
                  jobs[i].exclusive.empty() ? 0 : jobs[i].pods_each, jobs[i].replicas == 1, made);
      groups[i] = out.groups.size();
      out.groups.push_back(std::move(made));
    }
  }
  plan_jobs(jobs, groups, out);
  return true;
}

bool read_leader_worker_set(reader& read, const place& of, workload_plan& out, const read_options& how) {
  constexpr const char* exclusive = "leaderworkerset.sigs.k8s.io/exclusive-topology";
  constexpr const char* exclusive_part = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology";
  constexpr const char* set_name = "leaderworkerset.sigs.k8s.io/name";
  constexpr const char* copy_index = "leaderworkerset.sigs.k8s.io/group-index";
  constexpr const char* worker_index = "leaderworkerset.sigs.k8s.io/worker-index";
  out.kind = "LeaderWorkerSet";
  out.member_label = set_name;
  out.group_label = copy_index;
  std::int64_t replicas = 1, size = 1;
  leader_worker_parts parts;
  std::vector<pod_volume> claims;
  bool has_leader = false, has_worker = false;
  out.sets.resize(2);
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return true;  // the caller's
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    const bool good = read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "replicas") return read.integer(w, replicas, 0, most_count);
      if (field == "startupPolicy") {
        bool later = false;
        if (!read.word(w, later, {{"LeaderCreated", false}, {"LeaderReady", true}})) return false;
        return !later || read.warn(w, "workers start together with their leader here; it is left out");
      }
      if (field != "leaderWorkerTemplate") return read.ignore(field, w, {"rolloutStrategy", "networkConfig"});
      return read.fields(w, [&](std::string_view word, const place& x) {
        if (word == "size") return read.integer(x, size, 1, most_count);
        if (word == "leaderTemplate") return has_leader = true, read_pod_template(read, x, out.ns, out.sets[0], how);
        if (word == "workerTemplate") return has_worker = true, read_pod_template(read, x, out.ns, out.sets[1], how);
        if (word == "subGroupPolicy") {
          return read.fields(x, [&](std::string_view inner, const place& y) {
            if (inner == "subGroupSize") return read.integer(y, parts.size, 1, most_count);
            if (inner == "subGroupPolicyType")
              return read.word(y, parts.without_leader, {{"LeaderWorker", false}, {"LeaderExcluded", true}});
            return read.ignore(inner, y, {});
          });
        }
        if (word == "volumeClaimTemplates") return read_claim_templates(read, x, claims);
        return read.ignore(word, x, {"restartPolicy", "resizePolicy", "persistentVolumeClaimRetentionPolicy"});
      });
    });
    if (good && !has_worker) return read.fail(errc::malformed, v, "needs a workerTemplate");
    if (good && !parts.fit(size))
      return read.fail(errc::malformed, v,
                       fmt::format("{} pods of a group cannot be in sub-groups of {}", size, parts.size));
    return good && affordable(read, v, replicas, out, how) && affordable(read, v, replicas * size, out, how);
  });
  if (!fine) return false;
  if (!has_leader) out.sets[0].pod = out.sets[1].pod, out.sets[0].admission = out.sets[1].admission;
  const auto alone = out.annotations.find(exclusive), apart = out.annotations.find(exclusive_part);
  for (std::size_t i = 0; i < out.sets.size(); ++i) {
    pod_set& set = out.sets[i];
    add_claim_templates(claims, set.pod);
    // As the webhook writes it for leaders (SetExclusiveAffinities), with labels that all pods of a copy have.
    if (alone != out.annotations.end()) {
      keep_apart(alone->second, copy_index, set_name, set);
      keep_apart(alone->second, worker_index, copy_index, set, {set_name});
    }
    if (apart == out.annotations.end() || parts.size == 0 || (i == 0 && parts.without_leader)) continue;
    if (!parts.alike(size)) keep_parts_together(apart->second, set);
    keep_apart(apart->second, part_index, part_key, set);
  }
  out.sets[0].role = "leader", out.sets[1].role = "worker";
  out.sets[0].count = out.sets[0].least = 1;
  out.sets[1].count = out.sets[1].least = size - 1;
  for (std::int64_t copy = 0; copy < replicas; ++copy) {
    group_draft made = gang_of(out, size);
    const std::string base = fmt::format("{}-{}", out.name, copy);
    made.made.spec.name = base;
    if (copy == 0) {
      own_domains(out.annotations, exclusive, size, true, made);
      if (parts.alike(size)) own_domains(out.annotations, exclusive_part, parts.size, false, made);
    } else {
      made.asks = out.groups.front().asks;
    }
    out.groups.push_back(std::move(made));
    for (std::int64_t index = 0; index < size; ++index) {
      planned_pod& one = out.pods.emplace_back();
      one.pod_set = index == 0 ? 0 : 1;
      one.name = index == 0 ? base : fmt::format("{}-{}", base, index);
      one.labels = {
          {set_name, out.name}, {copy_index, fmt::format("{}", copy)}, {worker_index, fmt::format("{}", index)}};
      if (const auto part = parts.of(index, size)) add_part_labels(out.ns, base, *part, one.labels);
      one.rank = static_cast<std::int32_t>(index);
      one.group = static_cast<std::size_t>(copy);
    }
  }
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
