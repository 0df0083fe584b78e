#include "gangsched/src/kube/groups/groups.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gangsched/model/validate.hpp"
#include "gangsched/src/kube/documents/trees.hpp"

// Which object is of which family, and what is known of groups only when everything was read.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

std::optional<bool> read_any_group(reader& read, const place& of, std::string_view api_group, std::string_view kind,
                                   group_draft& out) {
  if (api_group == "scheduling.k8s.io" && kind == "CompositePodGroup") return read_kube_group(read, of, true, out);
  if (kind != "PodGroup") return std::nullopt;
  if (api_group == "scheduling.k8s.io") return read_kube_group(read, of, false, out);
  if (api_group == "scheduling.x-k8s.io" || api_group == "scheduling.sigs.k8s.io")
    return read_coscheduling_group(read, of, out);
  if (api_group == "scheduling.volcano.sh") return read_volcano_group(read, of, out);
  return std::nullopt;
}

namespace {

/// A workload's own fields are read once its name is known.
template <class Read>
bool read_plan(reader& read, const place& of, origin from, group_objects& out, const Read& read_it) {
  workload_plan plan;
  plan.from = from;
  plan.planned_before = out.planned;
  object_meta meta;
  if (const value* found = of.at->find("metadata"); found != nullptr && found->kind != value_kind::null) {
    if (!read_meta(read, {found, &of, "metadata"}, meta)) return false;
  }
  if (const value* found = of.at->find("metadata"); meta.name.empty() && found != nullptr) {
    const value* base = found->find("generateName");  // what is random there counts workloads here
    if (base != nullptr && base->kind == value_kind::text && !base->text.empty())
      meta.name = base->text + safe_letters(out.plans.size(), 5);
  }
  if (meta.name.empty()) return read.fail(errc::malformed, of, "needs metadata.name");
  plan.name = std::move(meta.name);
  plan.ns = meta.ns.empty() ? "default" : std::move(meta.ns);
  plan.annotations = std::move(meta.annotations);
  plan.labels = std::move(meta.labels);
  plan.owner_kind = std::move(meta.owner_kind);
  plan.owner_name = std::move(meta.owner_name);
  if (!read_it(plan)) return false;
  if (meta.deleted || has_ended(*of.at)) make_nothing(plan);
  out.planned += plan.pods.size();
  if (!out.known_plans.emplace(plan.kind, plan.ns, plan.name, plan.member_label).second)
    return read.fail(errc::duplicate, of, "there is one of that kind and name already");
  out.plans.push_back(std::move(plan));
  return true;
}

template <class Made, class Read>
bool read_into(std::vector<Made>& into, origin from, const Read& read_it) {
  Made& made = into.emplace_back();
  made.from = from;
  return read_it(made);
}

class linker {
 public:
  linker(manifests& into, group_objects& groups) : into_(&into), groups_(&groups) {
    for (std::size_t i = 0; i < groups.workloads.size(); ++i) {
      const workload_templates& one = groups.workloads[i];
      workloads_.try_emplace({one.ns, one.name}, i);
      if (!one.embedded) continue;
      for (std::size_t k = 0; k < one.templates.size(); ++k)
        embedded_.try_emplace({one.ns, one.name + "-" + one.templates[k].template_name}, i, k);
    }
  }

  /// Groups copy what they do not say from their templates; templates that no group was made of become one.
  std::optional<error> templates(bool expand) {
    std::set<name_in> used;
    std::map<name_in, std::pair<const workload_templates*, std::string>> names;  // with the template, if it is of one
    for (group_draft& one : groups_->groups) {
      names.try_emplace({one.made.spec.ns, one.made.spec.name}, nullptr, "");
      if (!one.made.spec.workload.empty()) used.emplace(one.made.spec.ns, one.made.spec.workload);
      if (auto wrong = copy_template(one)) return wrong;
    }
    for (const workload_templates& workload : groups_->workloads) {
      const bool in_use = used.contains({workload.ns, workload.name});
      if (!workload.embedded && (!expand || in_use)) continue;
      for (group_draft one : workload.templates) {
        group_spec& spec = one.made.spec;
        spec.ns = workload.ns;
        spec.name = workload.name + "-" + one.template_name;
        if (!workload.embedded) spec.workload = workload.name;
        if (!one.made.parent.empty()) one.made.parent = workload.name + "-" + one.made.parent;
        one.made.from = {workload.from.file, one.made.from.line, workload.from.object};
        const auto [at, first] = names.try_emplace({spec.ns, spec.name}, &workload, one.template_name);
        if (first) {
          groups_->groups.push_back(std::move(one));
          continue;
        }
        const auto& [other, of_other] = at->second;
        std::string object = where(*into_, one.made.from, "Workload", workload.ns, workload.name);
        if (other != nullptr) {  // members of both would be one gang
          return error{errc::duplicate, std::move(object), "spec",
                       fmt::format("\"{}\" and \"{}\" of the Workload \"{}\" would both be the group \"{}\"",
                                   one.template_name, of_other, other->name, spec.name)};
        }
        if (in_use) continue;  // what a controller has made of it
        into_->warnings.push_back({std::move(object), "spec",
                                   fmt::format("there is a pod group \"{}\" already: the template \"{}\" is left out",
                                               spec.name, one.template_name)});
      }
    }
    return std::nullopt;
  }

  /// Sub-groups of KAI are named by a label beside the group's name.
  void rename() {
    for (pod_manifest& pod : into_->pods) {
      const auto sub = pod.spec.labels.find("kai.scheduler/subgroup-name");
      if (pod.group.empty() || sub == pod.spec.labels.end()) continue;
      const auto found = groups_->sub_groups.find({pod.spec.ns, pod.group, sub->second});
      if (found != groups_->sub_groups.end()) pod.group = found->second;
    }
  }

  std::optional<error> membership() {
    for (pod_manifest& pod : into_->pods) {
      auto wrong = read_membership(pod);
      if (!wrong) continue;
      wrong->object = where(*into_, pod.from, "Pod", pod.spec.ns, pod.spec.name);
      return wrong;
    }
    return std::nullopt;
  }

  std::optional<error> checked() {
    for (group_draft& one : groups_->groups) {
      const group_manifest& made = one.made;
      const std::string object = where(*into_, made.from, made.kind, made.spec.ns, made.spec.name);
      if (!one.has_policy) return error{errc::malformed, object, "spec", "needs a schedulingPolicy"};
      auto wrong = settle_own_words(one);
      if (!wrong) settle_mode(one, object);
      if (!wrong) wrong = check(made.spec);
      if (wrong) return error{wrong->code, object, manifest_path(made.kind, wrong->field), wrong->reason};
    }
    return std::nullopt;
  }

  /// Pods and groups that name a group that is not there wait for it; that is said once for each.
  void missing() {
    std::set<std::tuple<bool, std::string, std::string>> known;
    for (const group_draft& one : groups_->groups)
      known.emplace(one.made.spec.composite, one.made.spec.ns, one.made.spec.name);
    for (const group_draft& one : groups_->groups) {
      const group_manifest& made = one.made;
      if (made.parent.empty() || !known.emplace(true, made.spec.ns, made.parent).second) continue;
      into_->warnings.push_back({where(*into_, made.from, made.kind, made.spec.ns, made.spec.name),
                                 "spec.parentCompositePodGroupName",
                                 fmt::format("no composite pod group \"{}\": it waits for it", made.parent)});
    }
    for (group_draft& one : groups_->groups) {
      for (group_ratio_manifest& ratio : one.made.ratios) find_other(one.made, ratio, known);
      for (group_dependency_manifest& first : one.made.start_after)
        first.composite = known.contains({true, one.made.spec.ns, first.on});
    }
    for (const pod_manifest& pod : into_->pods) {
      if (pod.group.empty() || known.contains({false, pod.spec.ns, pod.group})) continue;
      if (add_replica(pod)) {
        known.emplace(false, pod.spec.ns, pod.group);
        continue;
      }
      known.emplace(false, pod.spec.ns, pod.group);
      into_->warnings.push_back({where(*into_, pod.from, "Pod", pod.spec.ns, pod.spec.name), "",
                                 fmt::format("no pod group \"{}\": its members wait for it", pod.group)});
    }
  }

 private:
  /// Koordinator's NonStrict gangs are placed member by member, unless they ask for what only a whole group can have.
  void settle_mode(group_draft& one, const std::string& object) {
    gang* policy = std::get_if<gang>(&one.made.spec.policy);
    if (policy == nullptr || policy->mode != gang_mode::permit) return;
    std::string field;
    if (!one.made.parent.empty())
      field = "parent";
    else if (!one.made.ratios.empty())
      field = "ratios";
    else if (const auto wrong = check(one.made.spec))
      field = wrong->field;
    if (field.empty()) return;
    policy->mode = gang_mode::group_cycle;
    if (!check(one.made.spec)) {
      into_->warnings.push_back(
          {object, manifest_path(one.made.kind, field),
           "needs all members to be placed together: the gang is, although its mode is NonStrict"});
    }
  }

  /// The group that a ratio names. What is split into groups has its name twice: as the composite one it has all its members.
  void find_other(const group_manifest& made, group_ratio_manifest& ratio,
                  const std::set<std::tuple<bool, std::string, std::string>>& known) {
    ratio.composite = known.contains({true, made.spec.ns, ratio.to});
    if (ratio.composite || known.contains({false, made.spec.ns, ratio.to})) return;
    into_->warnings.push_back({where(*into_, made.from, made.kind, made.spec.ns, made.spec.name),
                               manifest_path(made.kind, "ratios"),
                               fmt::format("no pod group \"{}\": members above the minimum wait for it", ratio.to)});
  }

  std::optional<error> copy_template(group_draft& one) const {
    group_spec& spec = one.made.spec;
    if (spec.workload.empty() || one.template_name.empty()) return std::nullopt;
    const auto found = workloads_.find({spec.ns, spec.workload});
    if (found == workloads_.end()) return std::nullopt;
    const workload_templates* const workload = &groups_->workloads[found->second];
    const auto from = std::ranges::find(workload->templates, one.template_name, &group_draft::template_name);
    const auto wrong = [&](errc code, std::string reason) {
      return error{code, where(*into_, one.made.from, one.made.kind, spec.ns, spec.name),
                   "spec.workloadRef.templateName", std::move(reason)};
    };
    if (from == workload->templates.end())
      return wrong(errc::unknown,
                   fmt::format("the Workload \"{}\" has no template \"{}\"", spec.workload, one.template_name));
    const group_spec& base = from->made.spec;
    if (base.composite != spec.composite)
      return wrong(errc::malformed, fmt::format("\"{}\" is a template of {}", one.template_name,
                                                base.composite ? "CompositePodGroups" : "PodGroups"));
    if (one.has_policy) return std::nullopt;  // a copy, whatever became of the template
    spec.policy = base.policy;
    if (spec.topology.within.empty()) spec.topology = base.topology;
    if (spec.disruption == disruption_mode::single) spec.disruption = base.disruption;
    if (!spec.priority) spec.priority = base.priority;
    if (!spec.preemption) spec.preemption = base.preemption;
    if (one.made.priority_class.empty()) one.made.priority_class = from->made.priority_class;
    if (one.made.claims.empty()) one.made.claims = from->made.claims;
    one.has_policy = true;
    return std::nullopt;
  }

  /// The group of a pod of 1.35 that names a replica of its Workload's group; of several that could be meant the first in the files.
  bool add_replica(const pod_manifest& pod) {
    std::optional<std::pair<std::size_t, std::size_t>> first;
    for (std::size_t dash = pod.group.find('-'); dash != std::string::npos && !embedded_.empty();
         dash = pod.group.find('-', dash + 1)) {
      const auto found = embedded_.find({pod.spec.ns, pod.group.substr(0, dash)});
      if (found != embedded_.end() && (!first || found->second < *first)) first = found->second;
    }
    if (!first) return false;
    const workload_templates& workload = groups_->workloads[first->first];
    group_draft& made = groups_->groups.emplace_back(workload.templates[first->second]);
    made.made.spec.ns = workload.ns;
    made.made.spec.name = pod.group;
    made.made.from = {workload.from.file, made.made.from.line, workload.from.object};
    return true;
  }

  using name_in = std::pair<std::string, std::string>;  // namespace, name

  manifests* into_;
  group_objects* groups_;
  std::map<name_in, std::size_t> workloads_;
  std::map<name_in, std::pair<std::size_t, std::size_t>> embedded_;  // "workload-template": where that is
};

}  // namespace

bool add_volcano_job(reader& read, const place& of, origin from, group_objects& out, const read_options& how) {
  return read_plan(read, of, from, out, [&](workload_plan& made) {
    const value* const status = of.at->find("status");
    const value* const state = status == nullptr ? nullptr : status->find("state");
    if (state != nullptr && text_at(*state, "phase") == "Completed") out.completed.emplace(made.ns, made.name);
    return read_volcano_job(read, of, made, how);
  });
}

bool add_job_set(reader& read, const place& of, origin from, group_objects& out, const read_options& how) {
  return read_plan(read, of, from, out, [&](workload_plan& made) { return read_job_set(read, of, made, how); });
}

bool add_leader_worker_set(reader& read, const place& of, origin from, group_objects& out, const read_options& how) {
  return read_plan(read, of, from, out,
                   [&](workload_plan& made) { return read_leader_worker_set(read, of, made, how); });
}

std::optional<bool> read_group_object(reader& read, const place& of, std::string_view api_group, std::string_view kind,
                                      origin from, group_objects& out, const read_options& how) {
  const auto is = [&](std::string_view group, std::string_view name) { return api_group == group && kind == name; };
  group_draft draft;
  draft.made.from = from;
  if (const auto known = read_any_group(read, of, api_group, kind, draft)) {
    if (!*known) return false;
    if (const auto wrong = draft.has_policy ? check(draft.made.spec) : std::nullopt)
      return read.fail(in_manifest(*wrong, draft.made.kind, read.file(), *of.at, read.object()));
    out.groups.push_back(std::move(draft));
    return true;
  }
  if (is("scheduling.k8s.io", "Workload")) {
    return read_into(out.workloads, from, [&](workload_templates& made) { return read_workload(read, of, made); });
  }
  if (is("scheduling.run.ai", "PodGroup")) {
    const std::size_t before = out.groups.size();
    const bool fine = read_kai_group(read, of, out);
    for (std::size_t i = before; i < out.groups.size(); ++i)
      out.groups[i].made.from = {from.file, out.groups[i].made.from.line, from.object};
    return fine;
  }
  if (is("kueue.x-k8s.io", "Topology") || is("kai.scheduler", "Topology")) {
    return read_into(out.topologies.levels, from, [&](topology_levels& made) { return read_topology(read, of, made); });
  }
  if (is("topology.volcano.sh", "HyperNode")) {
    return read_into(out.topologies.hyper_nodes, from,
                     [&](hyper_node& made) { return read_hyper_node(read, of, made); });
  }
  if (is("scheduling.koordinator.sh", "ClusterNetworkTopology"))
    return read_network_topology(read, of, out.topologies.layers);
  const auto plan = [&](auto read_it) { return read_plan(read, of, from, out, read_it); };
  if (is("batch.volcano.sh", "Job")) return add_volcano_job(read, of, from, out, how);
  if (is("batch.volcano.sh", "CronJob")) return read_volcano_cron_job(read, of, from, out);
  if (is("flow.volcano.sh", "JobTemplate")) return read_job_template(read, of, from, out);
  if (is("flow.volcano.sh", "JobFlow")) return read_job_flow(read, of, from, out);
  if (is("kueue.x-k8s.io", "Workload"))
    return plan([&](workload_plan& made) { return read_kueue_workload(read, of, made, how); });
  if (is("ray.io", "RayCluster") || is("ray.io", "RayJob") || is("ray.io", "RayCronJob") || is("ray.io", "RayService"))
    return plan([&](workload_plan& made) { return read_ray(read, of, kind, made, how); });
  if (api_group == "kubeflow.org" && is_training_job(kind))
    return plan([&](workload_plan& made) { return read_training_job(read, of, kind, made, how); });
  if (is("sparkoperator.k8s.io", "SparkApplication"))
    return plan([&](workload_plan& made) { return read_spark_application(read, of, made, how); });
  if (is("jobset.x-k8s.io", "JobSet")) return add_job_set(read, of, from, out, how);
  if (is("trainer.kubeflow.org", "TrainJob")) return read_train_job(read, of, from, out);
  if (is("trainer.kubeflow.org", "TrainingRuntime") || is("trainer.kubeflow.org", "ClusterTrainingRuntime"))
    return read_training_runtime(read, of, from, kind == "ClusterTrainingRuntime", out);
  if (is("leaderworkerset.x-k8s.io", "LeaderWorkerSet")) return add_leader_worker_set(read, of, from, out, how);
  if (is("disaggregatedset.x-k8s.io", "DisaggregatedSet")) return read_disaggregated_set(read, of, from, out);
  return std::nullopt;
}

std::optional<error> link_groups(const std::set<std::tuple<std::string, std::string, std::string>>& owned,
                                 manifests& into, group_objects& groups, const read_options& how, pod_budget& budget,
                                 pod_admission& admission) {
  if (auto wrong = plan_job_flows(into, groups, how, budget)) return wrong;
  if (auto wrong = plan_train_jobs(into, groups, how, budget)) return wrong;
  if (auto wrong = plan_disaggregated_sets(into, groups, how, budget)) return wrong;
  linker link{into, groups};
  if (auto wrong = link.templates(how.expand)) return wrong;
  if (auto wrong = link.membership()) return wrong;
  link.rename();
  if (how.expand) {
    if (auto wrong = carry_out(owned, into, groups, budget, admission)) return wrong;
  }
  if (auto wrong = make_sub_groups(into, groups)) return wrong;
  if (auto wrong = read_gang_annotations(into, groups)) return wrong;
  if (auto wrong = resolve_topologies(into, groups)) return wrong;
  link.missing();
  if (auto wrong = link.checked()) return wrong;
  into.groups.reserve(groups.groups.size());
  for (group_draft& one : groups.groups) into.groups.push_back(std::move(one.made));
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
