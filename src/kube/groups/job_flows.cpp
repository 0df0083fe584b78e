#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

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

/// A Job of that spec, if there is none of its name: of a snapshot it is the Job itself that counts. False if it is not made.
result<bool> make_job(manifests& into, group_objects& groups, const read_options& how, pod_budget& budget,
                      const job_template& of, const std::string& name, std::string_view kind) {
  if (has_plan(groups, "Job", of.ns, name)) return false;
  const std::string object = object_name(kind, of.ns, of.name);
  reader read{into.files[of.from.file], object, &into.warnings};
  if (!budget.take(1, weight_of(of.spec)))  // a few words may name a long template often
    return error{errc::out_of_range, where(into, of.from, kind, of.ns, of.name), "spec",
                 fmt::format("there would be more than {} pods", budget.most())};
  const value job = job_object(of.ns, name, of.spec, of.spec.line);
  if (!add_volcano_job(read, place{&job}, of.from, groups, how)) return std::move(read).failure();
  return true;
}

}  // namespace

bool read_job_template(reader& read, const place& of, origin from, group_objects& out) {
  job_template made;
  made.from = from;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_names(read, v, made.name, made.ns);
    if (key == "spec") return made.spec = *v.at, true;
    return read.ignore(key, v, {"apiVersion", "kind", "status"});
  });
  if (!fine) return false;
  if (made.spec.kind != value_kind::object) return read.fail(errc::malformed, of, "needs a spec");
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
  if (fine && !has_ended(*of.at)) out.job_flows.push_back(std::move(made));
  return fine;
}

bool read_volcano_cron_job(reader& read, const place& of, origin from, group_objects& out) {
  job_template made;
  made.from = from;
  bool suspended = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_names(read, v, made.name, made.ns);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "suspend") return read.boolean(w, suspended);
      if (field != "jobTemplate") return ignore_of_cron_job(read, field, w);
      if (const value* spec = w.at->find("spec")) made.spec = *spec;
      return true;
    });
  });
  if (!fine || suspended) return fine;
  if (made.spec.kind != value_kind::object)
    return read.fail(errc::malformed, of, "needs a spec.jobTemplate with a spec");
  out.cron_jobs.push_back(std::move(made));
  return true;
}

std::optional<error> plan_job_flows(manifests& into, group_objects& groups, const read_options& how,
                                    pod_budget& budget) {
  using name_in = std::pair<std::string_view, std::string_view>;
  std::set<std::pair<std::string, std::string>> running;  // CronJobs
  for (const workload_plan& one : groups.plans)
    if (one.owner_kind == "CronJob" || one.owner_kind == owner_kind("CronJob", volcano_version))
      running.emplace(one.ns, one.owner_name);
  for (const job_template& one : groups.cron_jobs) {
    if (running.contains({one.ns, one.name})) continue;
    const std::string name = fmt::format("{}-{}", one.name, std::chrono::floor<std::chrono::minutes>(how.now).count());
    if (auto made = make_job(into, groups, how, budget, one, name, "CronJob"); !made) return std::move(made).error();
  }
  std::map<name_in, const job_template*> templates;
  for (const job_template& one : groups.job_templates) templates.emplace(name_in{one.ns, one.name}, &one);
  for (const job_flow& flow : groups.job_flows) {
    const auto name_of = [&](const std::string& step) { return flow.name + "-" + step; };
    for (const job_flow_step& step : flow.steps) {
      const auto found = templates.find({flow.ns, step.job_template});
      if (found == templates.end()) {
        into.warnings.push_back({where(into, flow.from, "JobFlow", flow.ns, flow.name), "spec.flows",
                                 fmt::format("no JobTemplate \"{}\": its Job is not made", step.job_template)});
        continue;
      }
      auto made = make_job(into, groups, how, budget, *found->second, name_of(step.job_template), "JobTemplate");
      if (!made) return std::move(made).error();
      if (!*made) continue;
      for (const std::string& target : step.after) {
        if (groups.completed.contains({flow.ns, name_of(target)})) continue;
        for (group_draft& group : groups.plans.back().groups)
          group.made.start_after.push_back({name_of(target), dependency_state::done});
      }
    }
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
