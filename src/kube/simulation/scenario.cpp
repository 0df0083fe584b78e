#include "gangsched/src/kube/simulation/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/kube/configuration.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/src/kube/simulation/bad_input.hpp"
#include "gangsched/src/kube/simulation/node_taints.hpp"
#include "gangsched/src/kube/simulation/policy_settings.hpp"
#include "gangsched/src/kube/simulation/times.hpp"
#include "gangsched/src/kube/simulation/what_if.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

template <class T>
T checked(result<T> got) {
  if (!got) throw bad_input{std::vector{std::move(got).error()}};
  return *std::move(got);
}

/// The group that is called so, if no pod is.
std::optional<std::size_t> find_group(const manifests& among, const std::string& wanted) {
  const auto called = [&](const auto& one) { return one.name == wanted || one.ns + "/" + one.name == wanted; };
  if (std::ranges::any_of(among.pods, [&](const auto& pod) { return called(pod.spec); })) return std::nullopt;
  const auto found = std::ranges::find_if(among.groups, [&](const auto& group) { return called(group.spec); });
  if (found == among.groups.end()) return std::nullopt;
  return static_cast<std::size_t>(found - among.groups.begin());
}

/// The pod that is called so, with or without its namespace.
std::size_t find_pod(const manifests& among, const std::string& wanted) {
  std::vector<std::size_t> found;
  std::vector<std::string> similar;
  for (std::size_t i = 0; i < among.pods.size(); ++i) {
    const pod_spec& pod = among.pods[i].spec;
    const std::string full = full_name(among.pods[i]);
    if (full == wanted || pod.name == wanted)
      found.push_back(i);
    else if (full.starts_with(wanted) || pod.name.starts_with(wanted))
      similar.push_back(full);
  }
  if (found.size() == 1) return found.front();
  std::string hint;
  for (const std::size_t i : found) similar.push_back(full_name(among.pods[i]));
  constexpr std::size_t most = 5;
  if (similar.size() > most) similar.resize(most), similar.emplace_back("…");
  if (!similar.empty()) hint = fmt::format("; {}: {}", found.empty() ? "similar" : "one of", fmt::join(similar, ", "));
  throw bad_input{the_options, "explain",
                  fmt::format("{} \"{}\"{}", found.empty() ? "no pod or group" : "more than one pod", wanted, hint)};
}

/// A plugin before all others, at each of its points. If it sorts the queue, no other does.
void put_first(const std::string& plugin, const plugin_registry& plugins, scheduler_profile& in) {
  const result<plugin_entry> made = plugins.make(plugin, {});
  if (made && made->points.has(point::queue_sort)) in.plugins[static_cast<std::size_t>(point::queue_sort)].clear();
  for (std::vector<configured_plugin>& at : in.plugins) {
    const auto same = [&](const configured_plugin& one) { return one.name == plugin; };
    if (std::ranges::none_of(at, same)) at.insert(at.begin(), {plugin, 1});
  }
}

/// Whether the configuration names a policy of queues itself.
bool has_queue_policy(const scheduler_configuration& settings, const plugin_registry& plugins) {
  const auto is_one = [&](const configured_plugin& one) {
    const result<plugin_entry> made = plugins.make(one.name, {});
    return made && made->reads_queues;
  };
  return std::ranges::any_of(settings.profiles, [&](const scheduler_profile& profile) {
    return std::ranges::any_of(profile.plugins, [&](const auto& at) { return std::ranges::any_of(at, is_one); });
  });
}

/// In seconds since 1970.
std::int64_t start_of(const options& how) {
  if (how.start.empty()) return 0;
  const auto made = read_time(how.start);
  if (!made)
    throw bad_input{the_options, "start",
                    fmt::format("\"{}\" is no time like 2026-12-01T08:00:00Z, at most 100 years from 1970", how.start)};
  return *made;
}
instant until_of(const options& how) {
  if (how.until.empty()) return std::chrono::hours{24};
  const auto made = read_duration(how.until);
  if (!made)
    throw bad_input{the_options, "until",
                    fmt::format("\"{}\" is no duration like 24h, of at most 100 years", how.until)};
  return *made;
}

/// Adds what the defaults do not lack, too, to @p warnings.
scheduler_configuration read_settings(const std::optional<source>& from, const plugin_registry& plugins,
                                      std::vector<warning>& warnings) {
  scheduler_configuration usual = checked(read_configuration({"defaults", ""}, plugins));
  if (!from) return usual;
  scheduler_configuration made = checked(read_configuration(*from, plugins));
  std::ranges::copy_if(made.warnings, std::back_inserter(warnings), [&](const warning& one) {
    return std::ranges::none_of(usual.warnings, [&](const warning& other) { return other.reason == one.reason; });
  });
  return made;
}

manifests read_files(std::span<const source> files, const options& how, std::int64_t start,
                     std::vector<warning>& warnings) {
  std::vector<error> mistakes;
  auto read = kube::read(files, {.now = std::chrono::seconds{start},
                                 .over_time = how.live_controllers,
                                 .whole_cluster = true,
                                 .api_server_rules = true,
                                 .ns = how.ns,
                                 .mistakes = &mistakes,
                                 .most = how.most});
  if (!how.keep_going && !mistakes.empty()) throw bad_input{std::move(mistakes)};
  for (const error& one : mistakes) warnings.push_back({one.object, one.field, one.reason + "; it is left out"});
  manifests made = checked(std::move(read));
  warnings.insert(warnings.end(), made.warnings.begin(), made.warnings.end());
  return made;
}

/// Pods that no profile is for go by the first one.
void take_all(manifests& what, const scheduler_configuration& by) {
  for (pod_manifest& pod : what.pods)
    if (std::ranges::find(by.profiles, pod.spec.scheduler_name, &scheduler_profile::scheduler_name) ==
        by.profiles.end())
      pod.spec.scheduler_name = by.profiles.front().scheduler_name;
}

/// CronJobs by the Jobs of their runs: namespace, name.
using cron_jobs_by_job = std::map<std::pair<std::string_view, std::string_view>, const cron_job_manifest*>;

cron_jobs_by_job cron_jobs_of(const manifests& what) {
  cron_jobs_by_job made;
  for (const cron_job_manifest& one : what.cron_jobs) {
    made.try_emplace({one.ns, one.job}, &one);
    for (const std::string& job : one.jobs) made.try_emplace({one.ns, job}, &one);
  }
  return made;
}

/// The name of the Deployment or CronJob above the controller that has the pod; empty without one.
std::string workload_of(const pod_manifest& pod, const cron_jobs_by_job& cron_jobs) {
  if (pod.owner_kind == "Job") {
    const auto found = cron_jobs.find({pod.spec.ns, pod.owner_name});
    return found == cron_jobs.end() ? std::string{} : found->second->name;
  }
  const auto hash = pod.spec.labels.find("pod-template-hash");
  if (pod.owner_kind != "ReplicaSet" || hash == pod.spec.labels.end() || !pod.owner_name.ends_with("-" + hash->second))
    return {};
  return pod.owner_name.substr(0, pod.owner_name.size() - hash->second.size() - 1);
}

/// By namespace/name of the pod; names mean pods, controllers and groups, with and without their namespaces.
std::map<std::string, lifetime> lifetimes_of(std::span<const arrival> from, const manifests& what) {
  std::map<std::string, lifetime> all;
  if (from.empty()) return all;
  const std::string the_arrivals = std::string{the_options} + ".arrivals";
  std::multimap<std::string, const pod_manifest*> by_name;
  const cron_jobs_by_job cron_jobs = cron_jobs_of(what);
  for (const pod_manifest& pod : what.pods) {
    const std::string workload = workload_of(pod, cron_jobs);
    for (const std::string* const name : {&pod.spec.name, &pod.owner_name, &workload, &pod.group}) {
      if (name->empty()) continue;
      by_name.emplace(*name, &pod);
      by_name.emplace(pod.spec.ns + "/" + *name, &pod);
    }
  }
  for (const arrival& one : from) {
    const std::string& where = one.where.empty() ? the_arrivals : one.where;
    const auto check = [&](const char* field, instant time) {
      if (time < instant{0} || time > longest_duration)
        throw bad_input{where, field, fmt::format("of \"{}\" is not between 0 and 100 years", one.name)};
    };
    check("arrives", one.arrives);
    if (one.runs) check("runs", *one.runs);
    const auto [first, last] = by_name.equal_range(one.name);
    if (first == last)
      throw bad_input{where, "name", fmt::format("\"{}\" is no pod, no controller and no group", one.name)};
    for (auto pod = first; pod != last; ++pod) all[full_name(*pod->second)] = {one.arrives, one.runs};
  }
  return all;
}

/// By pod, of those that are there.
std::vector<lifetime> by_pod(const std::map<std::string, lifetime>& from, const manifests& what) {
  std::vector<lifetime> all;
  if (from.empty()) return all;
  for (const pod_manifest& pod : what.pods) {
    const auto found = from.find(full_name(pod));
    all.push_back(found == from.end() ? lifetime{} : found->second);
  }
  return all;
}

/// No pod started, and no node was measured, after virtual time began: policies compare these times with the present.
instant epoch_of(const manifests& what, std::int64_t start) {
  instant latest = std::chrono::seconds{start};
  for (const pod_manifest& one : what.pods)
    if (!one.node.empty() && one.spec.start_time) latest = std::max(latest, *one.spec.start_time);
  for (const node_metric_manifest& one : what.node_metrics)
    if (one.measured) latest = std::max(latest, *one.measured);
  return latest;
}

}  // namespace

scenario make_scenario(std::span<const source> files, const options& how, std::vector<warning>& warnings) {
  const plugin_registry plugins = builtin_plugins();
  scheduler_configuration settings = read_settings(how.configuration, plugins, warnings);
  scenario made;
  made.options = settings.options(with_kube_queue());
  made.options.seed = how.seed;
  made.grace = how.grace;
  made.timeline = how.timeline;
  const std::int64_t start = start_of(how);
  const instant until = until_of(how);
  made.what = read_files(files, how, start, warnings);
  made.epoch = epoch_of(made.what, start);
  if (how.all_schedulers) take_all(made.what, settings);
  const manifests shapes = how.shapes ? checked(read(*how.shapes, {.most = how.most})) : manifests{};
  tolerate_by_default(made.what, shapes);
  for (const pod_manifest& pod : made.what.pods) static_cast<void>(run_time_of(pod));  // is it one?
  if (how.live_controllers) made.live = take_over(made.what, start, until, how.most_made_pods, warnings);
  const bool later = made.live && !(made.live->cron_jobs.empty() && made.live->scaled.empty());
  if (made.what.pods.empty() && made.what.groups.empty() && !later && !how.shapes && !how.scale_down)
    throw bad_input{"", "", "there is nothing to schedule: no pods, and nothing that makes some"};
  const std::map<std::string, lifetime> lifetimes = lifetimes_of(how.arrivals, made.what);
  for (const std::string& node : how.drain) drain(made.what, node, warnings);
  for (const std::string& place : how.lose) lose(made.what, place, warnings);
  if (!how.drain.empty() || !how.lose.empty()) settle_volumes(made.what);
  made.scale_up = how.shapes.has_value();
  made.scale_down = how.scale_down;
  const bool has_own = made.what.queues.empty() || has_queue_policy(settings, plugins);
  const std::string policy = !how.queues_policy.empty() ? how.queues_policy : has_own ? "none" : "FairShare";
  if (policy != "none") {
    const std::vector<std::string> names = plugins.names();
    if (std::ranges::find(names, policy) == names.end())
      throw bad_input{the_options, "queues_policy", fmt::format("no plugin \"{}\"", policy)};
    for (scheduler_profile& one : settings.profiles) put_first(policy, plugins, one);
  }
  add_policy_settings(made.what, settings, warnings);
  made.profiles = checked(make_tables(settings, plugins));
  made.maxima = checked(lowered_maxima::made_for(settings));
  if (how.adjust)
    for (kernel_table& one : made.profiles) how.adjust(one);
  if (!how.explain.empty()) made.explain_group = find_group(made.what, how.explain);
  if (!how.explain.empty() && !made.explain_group) made.explain = find_pod(made.what, how.explain);
  made.lifetimes = by_pod(lifetimes, made.what);
  if (how.shapes) made.shapes = shapes_of(shapes);
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
