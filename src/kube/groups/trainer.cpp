#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "gangsched/src/kube/documents/trees.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// Kubeflow Trainer's TrainJob and its runtimes (trainer.kubeflow.org/v1alpha1: pkg/runtime/framework/plugins/jobset/builder.go): a JobSet
// from the runtime's template, with the job's number of nodes and what each of them asks for.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// Jobs of the template with this label are the training itself.
constexpr std::string_view step_label = "trainer.kubeflow.org/trainjob-ancestor-step";

value* inner(value* from, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) {
    if (from == nullptr || from->kind != value_kind::object) return nullptr;
    from = find_field(*from, key);
  }
  return from;
}

bool is_step(value& job) {
  const value* labels = inner(&job, {"template", "metadata", "labels"});
  return labels != nullptr && text_at(*labels, step_label) == "trainer";
}

/// How many nodes the job of the template has; nothing: as many as the template says. With MPI the job's number is of those named "node",
/// of which one is left if the launcher is all there is to be (plugins/mpi/mpi.go).
std::optional<std::int64_t> nodes_of(const training_runtime& runtime, const train_job& job, bool step, bool node) {
  std::optional<std::int64_t> count;
  if (step) count = runtime.nodes;
  if (job.nodes && (runtime.mpi ? node : step))
    count = runtime.mpi && runtime.launcher_is_node ? std::max<std::int64_t>(*job.nodes - 1, 1) : *job.nodes;
  return count;
}

/// What the job says of its nodes, in the runtime's template.
void set_nodes(const training_runtime& runtime, const train_job& job, value& spec) {
  value* jobs = inner(&spec, {"replicatedJobs"});
  if (jobs == nullptr || jobs->kind != value_kind::list) return;
  for (value& one : jobs->items) {
    const bool is_node = text_at(one, "name") == "node";
    const auto count = nodes_of(runtime, job, is_step(one), is_node);
    if (value* inside = inner(&one, {"template", "spec"});
        count && inside != nullptr && inside->kind == value_kind::object) {
      for (const char* key : {"parallelism", "completions"})
        set_field(*inside, key, leaf(value_kind::number, std::to_string(*count), inside->line));
    }
    value* containers = inner(&one, {"template", "spec", "template", "spec", "containers"});
    if (!job.resources || containers == nullptr || !(is_node || is_step(one))) continue;
    for (value& container : containers->items)
      if (text_at(container, "name") == "node") set_field(container, "resources", *job.resources);
  }
}

}  // namespace

bool read_training_runtime(reader& read, const place& of, origin from, bool of_cluster, group_objects& out) {
  training_runtime& made = out.training_runtimes.emplace_back();
  made.from = from;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_names(read, v, made.name, made.ns);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "mlPolicy") {
        made.nodes = 1;  // where it says no number
        return read.fields(w, [&](std::string_view word, const place& x) {
          if (word == "numNodes") return read.integer(x, made.nodes.emplace(), 1, most_count);
          if (word != "mpi") return read.ignore(word, x, {"torch", "jax", "flux", "xgboost"});
          made.mpi = true;
          return read.fields(x, [&](std::string_view name, const place& y) {
            if (name == "runLauncherAsNode") return read.boolean(y, made.launcher_is_node);
            return read.ignore(name, y, {"numProcPerNode", "mpiImplementation", "sshAuthMountPath"});
          });
        });
      }
      if (field != "template") return read.ignore(field, w, {"podGroupPolicy"});
      if (const value* spec = w.at->find("spec")) made.spec = *spec;
      return true;
    });
  });
  if (of_cluster) made.ns.clear();
  return fine;
}

bool read_train_job(reader& read, const place& of, origin from, group_objects& out) {
  train_job& made = out.train_jobs.emplace_back();
  made.from = from;
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return made.meta = *v.at, read_names(read, v, made.name, made.ns);
    if (key == "status") return made.ended = has_ended(*of.at), true;
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "suspend") return read.boolean(w, made.suspended);
      if (field == "runtimeRef") {
        return read.fields(w, [&](std::string_view word, const place& x) {
          if (word == "name") return read.text(x, made.runtime);
          if (word == "kind")
            return read.word(x, made.own_runtime, {{"ClusterTrainingRuntime", false}, {"TrainingRuntime", true}});
          return read.ignore(word, x, {"apiGroup"});
        });
      }
      if (field == "trainer") {
        return read.fields(w, [&](std::string_view word, const place& x) {
          if (word == "numNodes") return read.integer(x, made.nodes.emplace(), 1, most_count);
          if (word == "resourcesPerNode") return made.resources = *x.at, true;
          return read.ignore(word, x, {"image", "command", "args", "env", "numProcPerNode"});
        });
      }
      if (field == "podTemplateOverrides" || field == "podSpecOverrides" || field == "runtimePatches")
        return read.warn(w, "what it changes of the runtime's pods is not read; it is left out");
      return read.ignore(field, w, {"initializer", "labels", "annotations", "managedBy", "activeDeadlineSeconds"});
    });
  });
}

std::optional<error> plan_train_jobs(manifests& into, group_objects& groups, const read_options& how,
                                     pod_budget& budget) {
  std::map<std::pair<std::string_view, std::string_view>, const training_runtime*> runtimes;
  for (const training_runtime& one : groups.training_runtimes)
    runtimes.emplace(std::pair<std::string_view, std::string_view>{one.ns, one.name}, &one);
  for (const train_job& job : groups.train_jobs) {
    if (job.ended || has_plan(groups, "JobSet", job.ns, job.name)) continue;  // or its JobSet is there
    const auto wrong = [&] { return where(into, job.from, "TrainJob", job.ns, job.name); };
    const auto found = runtimes.find({job.own_runtime ? std::string_view{job.ns} : std::string_view{}, job.runtime});
    if (found == runtimes.end()) {
      into.warnings.push_back(
          {wrong(), "spec.runtimeRef",
           fmt::format("no {} \"{}\": its pods are not made",
                       job.own_runtime ? "TrainingRuntime" : "ClusterTrainingRuntime", job.runtime)});
      continue;
    }
    const training_runtime& runtime = *found->second;
    value spec = runtime.spec;
    if (spec.kind != value_kind::object) continue;
    if (!budget.take(1, weight_of(spec)))  // a few words may name a long runtime often
      return error{errc::out_of_range, wrong(), "spec", fmt::format("there would be more than {} pods", budget.most())};
    set_nodes(runtime, job, spec);
    if (job.suspended) set_field(spec, "suspend", leaf(value_kind::boolean, "true", job.meta.line));
    const value made = object_of({{"metadata", job.meta}, {"spec", std::move(spec)}}, job.meta.line);
    // What is wrong with it stands in the runtime, as a rule.
    reader read{into.files[runtime.from.file], object_name("TrainJob", job.ns, job.name), &into.warnings};
    if (!add_job_set(read, place{&made}, job.from, groups, how)) return std::move(read).failure();
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
