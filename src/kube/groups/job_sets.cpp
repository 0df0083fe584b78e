#include <fmt/format.h>

#include <algorithm>

#include "gangsched/src/kube/groups/groups.hpp"

// JobSet (jobset.x-k8s.io/v1alpha2): jobs that start together, or one after the other; and LeaderWorkerSet
// (leaderworkerset.x-k8s.io/v1): copies of a leader with its workers, each a gang.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

struct replicated_job {
  std::string name;
  std::int64_t replicas = 1;
  std::int64_t pods_each = 0;
  std::vector<group_dependency_manifest> after;
};

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

bool read_replicated_job(reader& read, const place& of, replicated_job& job, pod_set& set, std::string_view ns,
                         const read_options& how) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, job.name);
    if (key == "replicas") return read.integer(v, job.replicas, 0, most_count);
    if (key == "dependsOn") return read_depends_on(read, v, job.after);
    if (key != "template") return read.ignore(key, v, {"groupName"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field != "spec") return read.ignore(field, w, {"metadata"});
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
      job.pods_each = std::min(parallelism, completions.value_or(parallelism));
      return good;
    });
  });
  return fine && (!job.name.empty() || read.fail(errc::malformed, of, "needs a name"));
}

/// A domain for each job, of the label that the annotation names.
void own_domains(reader& read, const place& of, const label_map& annotations, std::string_view key,
                 std::int64_t members, bool all, group_draft& out) {
  const auto found = annotations.find(std::string{key});
  if (found == annotations.end() || members < 1) return;
  read.warn(of, fmt::format("{}: that nobody else is in the domain is not modelled; that members share one is", key));
  out.asks.field = fmt::format("metadata.annotations[\"{}\"]", key);
  if (all)
    out.asks.required = found->second;
  else
    out.asks.slices.push_back({found->second, static_cast<std::int32_t>(members)});
}

/// Every job waits for what it says, or in order for the one before it.
bool dependencies(reader& read, const place& of, const std::vector<replicated_job>& jobs, bool in_order,
                  const std::string& base, std::vector<group_draft>& out) {
  std::set<std::string> before;  // names
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<group_dependency_manifest>& to = out[i].made.start_after;
    for (group_dependency_manifest one : jobs[i].after) {
      // Only on jobs that stand before it, so that there is no cycle.
      if (!before.contains(one.on)) {
        return read.fail(errc::malformed, of.at->line, fmt::format("spec.replicatedJobs[{}].dependsOn", i),
                         fmt::format("\"{}\" is no job before this one", one.on));
      }
      one.on = base + "-" + one.on;
      to.push_back(std::move(one));
    }
    if (in_order && i > 0 && to.empty()) to.push_back({base + "-" + jobs[i - 1].name, dependency_state::running});
    before.insert(jobs[i].name);
  }
  return true;
}

void plan_jobs(const std::vector<replicated_job>& jobs, bool apart, workload_plan& out) {
  std::int32_t rank = 0;
  std::int64_t global = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (apart) rank = 0;
    for (std::int64_t copy = 0; copy < jobs[i].replicas; ++copy, ++global) {
      const std::string job = fmt::format("{}-{}-{}", out.name, jobs[i].name, copy);
      for (std::int64_t index = 0; index < jobs[i].pods_each; ++index) {
        planned_pod& one = out.pods.emplace_back();
        one.pod_set = i;
        one.name = fmt::format("{}-{}", job, index);
        one.suffix = true;
        one.labels = {{"jobset.sigs.k8s.io/jobset-name", out.name},
                      {"jobset.sigs.k8s.io/replicatedjob-name", jobs[i].name},
                      {"jobset.sigs.k8s.io/job-index", fmt::format("{}", copy)},
                      {"jobset.sigs.k8s.io/job-global-index", fmt::format("{}", global)},
                      {"batch.kubernetes.io/job-name", job},
                      {"batch.kubernetes.io/job-completion-index", fmt::format("{}", index)}};
        one.rank = rank++;
        one.group = apart ? i : 0;
      }
    }
  }
}

}  // namespace

bool read_job_set(reader& read, const place& of, workload_plan& out, const read_options& how) {
  constexpr std::string_view exclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology";
  out.kind = "JobSet";
  out.member_label = "jobset.sigs.k8s.io/jobset-name";
  out.made_by = "Job";
  std::vector<replicated_job> jobs;
  std::set<std::string> names;  // of jobs
  bool in_order = false, suspended = false;
  std::int64_t all = 0;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return true;  // the caller's
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
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
  if (!fine || suspended || all == 0) return fine;

  for (std::size_t i = 0; i < jobs.size(); ++i) {
    out.sets[i].role = jobs[i].name;
    out.sets[i].count = out.sets[i].least = jobs[i].replicas * jobs[i].pods_each;
  }
  const bool apart =
      in_order || std::ranges::any_of(jobs, [](const replicated_job& job) { return !job.after.empty(); });
  if (!apart) {
    group_draft made = gang_of(out, all);
    const bool alike =
        std::ranges::all_of(jobs, [&](const replicated_job& job) { return job.pods_each == jobs.front().pods_each; });
    own_domains(read, of, out.annotations, exclusive, alike ? jobs.front().pods_each : 0, false, made);
    out.groups.push_back(std::move(made));
  } else {
    // Jobs that wait for others to run cannot start together with them: each job is a gang.
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      group_draft made = gang_of(out, std::max<std::int64_t>(1, out.sets[i].count));
      made.made.spec.name = out.name + "-" + jobs[i].name;
      std::get<gang>(made.made.spec.policy).roles.clear();
      own_domains(read, of, out.annotations, exclusive, jobs[i].pods_each, jobs[i].replicas == 1, made);
      out.groups.push_back(std::move(made));
    }
    if (!dependencies(read, of, jobs, in_order, out.name, out.groups)) return false;
  }
  plan_jobs(jobs, apart, out);
  return true;
}

bool read_leader_worker_set(reader& read, const place& of, workload_plan& out, const read_options& how) {
  constexpr std::string_view exclusive = "leaderworkerset.sigs.k8s.io/exclusive-topology";
  constexpr std::string_view exclusive_part = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology";
  out.kind = "LeaderWorkerSet";
  out.member_label = "leaderworkerset.sigs.k8s.io/name";
  out.group_label = "leaderworkerset.sigs.k8s.io/group-index";
  std::int64_t replicas = 1, size = 1, part = 0;
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
            if (inner == "subGroupSize") return read.integer(y, part, 1, most_count);
            return read.ignore(inner, y, {"subGroupPolicyType"});
          });
        }
        return read.ignore(
            word, x, {"restartPolicy", "resizePolicy", "volumeClaimTemplates", "persistentVolumeClaimRetentionPolicy"});
      });
    });
    if (good && !has_worker) return read.fail(errc::malformed, v, "needs a workerTemplate");
    return good && affordable(read, v, replicas, out, how) && affordable(read, v, replicas * size, out, how);
  });
  if (!fine) return false;
  if (!has_leader) out.sets[0].pod = out.sets[1].pod, out.sets[0].label_keys = out.sets[1].label_keys;
  out.sets[0].role = "leader", out.sets[1].role = "worker";
  out.sets[0].count = out.sets[0].least = 1;
  out.sets[1].count = out.sets[1].least = size - 1;
  for (std::int64_t copy = 0; copy < replicas; ++copy) {
    group_draft made = gang_of(out, size);
    const std::string base = fmt::format("{}-{}", out.name, copy);
    made.made.spec.name = base;
    if (copy == 0) {
      own_domains(read, of, out.annotations, exclusive, size, true, made);
      if (part > 0 && size % part == 0) own_domains(read, of, out.annotations, exclusive_part, part, false, made);
    } else {
      made.asks = out.groups.front().asks;
    }
    out.groups.push_back(std::move(made));
    for (std::int64_t index = 0; index < size; ++index) {
      planned_pod& one = out.pods.emplace_back();
      one.pod_set = index == 0 ? 0 : 1;
      one.name = index == 0 ? base : fmt::format("{}-{}", base, index);
      one.labels = {{"leaderworkerset.sigs.k8s.io/name", out.name},
                    {"leaderworkerset.sigs.k8s.io/group-index", fmt::format("{}", copy)},
                    {"leaderworkerset.sigs.k8s.io/worker-index", fmt::format("{}", index)}};
      one.rank = static_cast<std::int32_t>(index);
      one.group = static_cast<std::size_t>(copy);
    }
  }
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
