#include <fmt/format.h>

#include <algorithm>

#include "gangsched/src/kube/groups/groups.hpp"

// Volcano's Job (batch.volcano.sh/v1alpha1): tasks with templates, and a gang over all of them; partitions of tasks are its sub-groups.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

struct volcano_task {
  std::string name = {};
  std::int64_t replicas = 1;
  std::optional<std::int64_t> least = {};
  std::int64_t partitions = 0;                 ///< 0: the task has none
  std::optional<sub_group_policy> parts = {};  ///< of each
};

constexpr const char* partition_label = "volcano.sh/partition-id";

/// Runs of `partitionSize` replicas are sub-groups: Volcano's controller labels them so (setPgSubGroupPolicy).
bool read_partition_policy(reader& read, const place& of, volcano_task& task) {
  sub_group_policy& parts = task.parts.emplace();
  parts.field = of.path();
  parts.keys = {partition_label};
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "totalPartitions") return read.integer(v, task.partitions, 1, most_count);
    if (key == "partitionSize") return read.integer(v, parts.size, 1, most_count);
    if (key == "minPartitions") return read.integer(v, parts.least, 0, most_count);
    if (key == "networkTopology") return read_volcano_network_topology(read, v, parts.asks);
    return read.ignore(key, v, {});
  });
  if (!fine) return false;
  if (parts.least > task.partitions)
    return read.fail(errc::out_of_range, of,
                     fmt::format("minPartitions {} is above totalPartitions {}", parts.least, task.partitions));
  return true;
}

/// What Volcano's admission says of both.
bool check_partitions(reader& read, const place& of, const volcano_task& task) {
  const sub_group_policy& parts = *task.parts;
  if (task.replicas != task.partitions * parts.size)
    return read.fail(
        errc::malformed, of,
        fmt::format("replicas {} are not {} partitions of {}", task.replicas, task.partitions, parts.size));
  if (task.least && parts.least > 0 && *task.least != parts.least * parts.size)
    return read.fail(
        errc::malformed, of,
        fmt::format("minAvailable {} is not minPartitions {} of {}", *task.least, parts.least, parts.size));
  return true;
}

bool read_task(reader& read, const place& of, volcano_task& task, pod_set& set, std::string_view ns,
               const read_options& how) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, task.name);
    if (key == "replicas") return read.integer(v, task.replicas, 0, most_count);
    if (key == "minAvailable") return read.integer(v, task.least.emplace(), 0, most_count);
    if (key == "template") return read_pod_template(read, v, ns, set, how);
    if (key == "dependsOn") return read.warn(v, "tasks start together here; it is left out");
    if (key == "partitionPolicy") return read_partition_policy(read, v, task);
    if (key == "topologyPolicy")
      return read.warn(v, "which NUMA policy a task wants is its node's here; it is left out");
    return read.ignore(key, v, {"policies", "maxRetry"});
  });
  if (!fine) return false;
  if (task.least.value_or(0) > task.replicas)
    return read.fail(errc::out_of_range, of,
                     fmt::format("minAvailable {} is above replicas {}", *task.least, task.replicas));
  if (!task.parts) return true;
  if (!check_partitions(read, of, task)) return false;
  if (!task.least && task.parts->least > 0) task.least = task.parts->least * task.parts->size;
  return true;
}

}  // namespace

bool read_volcano_job(reader& read, const place& of, workload_plan& out, const read_options& how) {
  out.kind = "Job";
  out.member_label = "volcano.sh/job-name";
  std::vector<volcano_task> tasks;
  std::set<std::string> names;  // of tasks
  std::optional<std::int64_t> least;
  std::string priority_class, scheduler;
  group_draft gang_draft;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return true;  // the caller's
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    const bool good = read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "minAvailable") return read.integer(w, least.emplace(), 0, most_count);
      if (field == "priorityClassName") return read.text(w, priority_class);
      if (field == "schedulerName") return read.text(w, scheduler);
      if (field == "networkTopology") return read_volcano_network_topology(read, w, gang_draft.asks);
      if (field == "queue") return read.text(w, out.annotations["scheduling.volcano.sh/queue-name"]);
      if (field == "tasks") {
        return read.items(w, [&](const place& item) {
          volcano_task& task = tasks.emplace_back(volcano_task{.name = fmt::format("default{}", item.index)});
          if (!read_task(read, item, task, out.sets.emplace_back(), out.ns, how)) return false;
          return names.insert(task.name).second ||
                 read.fail(errc::duplicate, item, fmt::format("there is another task \"{}\"", task.name));
        });
      }
      return read.ignore(
          field, w,
          {"volumes", "policies", "plugins", "maxRetry", "ttlSecondsAfterFinished", "minSuccess", "runningEstimate"});
    });
    std::int64_t all = 0;
    for (const volcano_task& task : tasks) all += task.replicas;
    if (good && least.value_or(0) > all)
      return read.fail(errc::out_of_range, place{v.at->find("minAvailable"), &v, "minAvailable"},
                       fmt::format("{} is above {}, the replicas of all tasks", *least, all));
    return good && affordable(read, v, all, out, how);
  });
  if (!fine) return false;

  std::int64_t all = 0, tasks_need = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    pod_set& set = out.sets[i];
    set.role = tasks[i].name;
    set.count = tasks[i].replicas;
    set.least = tasks[i].least.value_or(tasks[i].replicas);
    if (set.pod.spec.priority_class.empty()) set.pod.spec.priority_class = priority_class;
    if (!scheduler.empty()) set.pod.spec.scheduler_name = scheduler;
    all += set.count;
    tasks_need += set.least;
  }
  if (all == 0) return true;
  // As Volcano's admission fills it in.
  const std::int64_t needed = std::max<std::int64_t>(1, least.value_or(0) == 0 ? tasks_need : *least);
  // Tasks are counted only when the whole gang needs at least as many (plugins/gang/gang.go).
  if (needed < tasks_need)
    for (pod_set& set : out.sets) set.least = 0;
  group_draft made = gang_of(out, needed);
  made.asks = std::move(gang_draft.asks);
  made.made.priority_class = priority_class;
  for (volcano_task& task : tasks) {
    if (!task.parts) continue;
    task.parts->name = task.name;
    task.parts->selector.emplace().match_labels = {{"volcano.sh/task-spec", task.name}};
    made.sub_groups.push_back(*task.parts);
  }
  out.groups.push_back(std::move(made));
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (std::int64_t index = 0; index < tasks[i].replicas; ++index) {
      planned_pod& one = out.pods.emplace_back();
      one.pod_set = i;
      one.name = fmt::format("{}-{}-{}", out.name, tasks[i].name, index);
      one.labels = {{"volcano.sh/job-name", out.name},
                    {"volcano.sh/task-spec", tasks[i].name},
                    {"volcano.sh/task-index", fmt::format("{}", index)}};
      if (tasks[i].parts) one.labels[partition_label] = fmt::format("{}", index / tasks[i].parts->size);
      one.rank = static_cast<std::int32_t>(index);
      one.group = 0;
    }
  }
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
