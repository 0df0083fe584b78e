#include <fmt/format.h>

#include <algorithm>

#include "gangsched/src/kube/documents/trees.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// Volcano's JobFlow and the JobTemplates that it names (flow.volcano.sh/v1alpha1): a Job <flow>-<template> for each step, which starts when
// the Jobs of the steps before it are done; and its CronJob (batch.volcano.sh/v1alpha1), of which one run is made.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// A Job of that name whose spec is @p spec.
value job_object(const std::string& ns, const std::string& name, value spec, std::uint32_t line) {
  value meta =
      object_of({{"namespace", leaf(value_kind::text, ns, line)}, {"name", leaf(value_kind::text, name, line)}}, line);
  return object_of({{"metadata", std::move(meta)}, {"spec", std::move(spec)}}, line);
}

bool read_step(reader& read, const place& of, job_flow_step& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.job_template);
    if (key != "dependsOn") return read.ignore(key, v, {"patch"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "targets") return read.texts(w, out.after);
      if (field == "probe") return read.warn(w, "probes are not asked: it waits until the targets are done");
      return read.ignore(field, w, {"strategy"});
    });
  });
}

}  // namespace

bool read_job_template(reader& read, const place& of, group_objects& out) {
  job_template made;
  if (const value* meta = of.at->find("metadata");
      meta == nullptr || !read_names(read, {meta, &of, "metadata"}, made.name, made.ns))
    return meta != nullptr || read.fail(errc::malformed, of, "needs metadata.name");
  const value* spec = of.at->find("spec");
  if (spec == nullptr) return read.fail(errc::malformed, of, "needs a spec");
  made.spec = *spec;
  out.job_templates.push_back(std::move(made));
  return true;
}

bool read_job_flow(reader& read, const place& of, origin from, group_objects& out) {
  job_flow made;
  made.from = from;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_names(read, v, made.name, made.ns);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field != "flows") return read.ignore(field, w, {"jobRetainPolicy"});
      return read.list(w, made.steps,
                       [&](const place& item, job_flow_step& one) { return read_step(read, item, one); });
    });
  });
  out.job_flows.push_back(std::move(made));
  return fine;
}

std::optional<error> plan_job_flows(manifests& into, group_objects& groups, const read_options& how) {
  for (const job_flow& flow : groups.job_flows) {
    const std::string object = where(into, flow.from, "JobFlow", flow.ns, flow.name);
    const auto name_of = [&](const std::string& step) { return flow.name + "-" + step; };
    for (const job_flow_step& step : flow.steps) {
      const auto found = std::ranges::find_if(groups.job_templates, [&](const job_template& one) {
        return one.ns == flow.ns && one.name == step.job_template;
      });
      if (found == groups.job_templates.end()) {
        into.warnings.push_back(
            {object, "spec.flows", fmt::format("no JobTemplate \"{}\": its Job is not made", step.job_template)});
        continue;
      }
      reader read{into.files[flow.from.file], object_name("JobTemplate", flow.ns, found->name), &into.warnings};
      const value job = job_object(flow.ns, name_of(step.job_template), found->spec, found->spec.line);
      if (!add_volcano_job(read, place{&job}, flow.from, groups, how)) return std::move(read).failure();
      workload_plan& plan = groups.plans.back();
      plan.owner_kind = "JobFlow", plan.owner_name = flow.name;
      for (group_draft& group : plan.groups)
        for (const std::string& target : step.after)
          group.made.start_after.push_back({name_of(target), dependency_state::done});
    }
  }
  return std::nullopt;
}

bool read_volcano_cron_job(reader& read, const place& of, origin from, group_objects& out, const read_options& how) {
  std::string name, ns;
  bool suspended = false;
  const value* job = nullptr;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_names(read, v, name, ns);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "suspend") return read.boolean(w, suspended);
      if (field == "jobTemplate") return job = w.at->find("spec"), true;
      return read.ignore(field, w,
                         {"schedule", "timeZone", "concurrencyPolicy", "startingDeadlineSeconds",
                          "successfulJobsHistoryLimit", "failedJobsHistoryLimit"});
    });
  });
  if (!fine || suspended) return fine;
  if (job == nullptr) return read.fail(errc::malformed, of, "needs a spec.jobTemplate with a spec");
  name += fmt::format("-{}", std::chrono::floor<std::chrono::minutes>(how.now).count());
  const value made = job_object(ns, name, *job, job->line);
  return add_volcano_job(read, place{&made}, from, out, how);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
