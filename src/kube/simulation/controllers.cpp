#include "gangsched/src/kube/simulation/controllers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "gangsched/src/kube/simulation/bad_input.hpp"
#include "gangsched/src/kube/simulation/node_taints.hpp"
#include "gangsched/src/kube/simulation/ordered_sets.hpp"
#include "gangsched/src/kube/simulation/times.hpp"
#include "gangsched/src/kube/simulation/what_if.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

/// How often a pod may be made again: the run would not end if a pod were evicted again and again.
constexpr int most_evictions = 100;

constexpr std::size_t longest_name = 253;  // of a pod

/// The pod as its controller makes a new one.
pod_manifest fresh(pod_manifest pod) {
  pod.node.clear();
  pod.nominated_node.clear();
  pod.held_devices.clear();
  pod.evicted_for_taint.reset();
  pod.reservation.clear();
  pod.spec.start_time.reset();
  pod.spec.terminating = false;
  return pod;
}

/// Removes the pods of the one run of each CronJob that do not run yet, and returns them by CronJob.
std::vector<std::vector<pod_manifest>> take_runs(manifests& from) {
  std::vector<std::vector<pod_manifest>> taken(from.cron_jobs.size());
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> of_job;
  for (std::size_t i = 0; i < from.cron_jobs.size(); ++i)
    of_job.emplace(std::pair{std::string_view{from.cron_jobs[i].ns}, std::string_view{from.cron_jobs[i].job}}, i);
  std::erase_if(from.pods, [&](pod_manifest& pod) {
    if (pod.owner_kind != "Job" || !pod.node.empty()) return false;
    const auto found = of_job.find({pod.spec.ns, pod.owner_name});
    return found != of_job.end() && (taken[found->second].push_back(pod), true);
  });
  return taken;
}

/// Whether a new pod takes the name of an old one, and so is made only when the old one is gone.
bool keeps_names(const pod_manifest& pod) {
  return pod.owner_kind == "StatefulSet" || pod.owner_kind == "DaemonSet" || pod.owner_kind == "LeaderWorkerSet";
}

/// What says that others are to go first when a ReplicaSet has too many pods (pod-deletion-cost); as there, 0 if it is no number.
std::int32_t deletion_cost(const pod_manifest& pod) {
  const auto found = pod.annotations.find("controller.kubernetes.io/pod-deletion-cost");
  if (found == pod.annotations.end()) return 0;
  std::int32_t made = 0;
  const char* const last = found->second.data() + found->second.size();
  const auto [end, wrong] = std::from_chars(found->second.data(), last, made);
  return wrong == std::errc{} && end == last ? made : 0;
}

/// What the Job of a run is called: there is one of a minute.
std::string run_name(const cron_job_manifest& of, std::int64_t scheduled) {
  return fmt::format("{}-{}", of.name,
                     std::chrono::floor<std::chrono::minutes>(std::chrono::seconds{scheduled}).count());
}

using owner_key = std::tuple<std::string, std::string, std::string>;  // namespace, kind, name
owner_key target_of(const autoscaler_manifest& one) { return {one.ns, one.kind, one.target}; }
owner_key owner_of(const pod_manifest& pod) { return {pod.spec.ns, pod.owner_kind, pod.owner_name}; }

/// The pods that @p scaler scales, which are @p its. Of those that are not there at the start it notes that they come @p later.
scaled_workload take_scaled(const manifests& what, const autoscaler_manifest& scaler, std::vector<std::size_t> its,
                            std::vector<bool>& later) {
  const auto runs = [&](std::size_t pod) { return !what.pods[pod].node.empty(); };
  const bool numbered = scaler.kind == "StatefulSet";
  if (numbered)
    std::ranges::stable_sort(its, {}, [&](std::size_t pod) { return ordinal_of(what.pods[pod].spec.name); });
  else
    std::ranges::stable_partition(its, runs);
  scaled_workload made{scaler};
  made.at_start = scaler.desired_replicas.value_or(
      std::clamp(static_cast<std::int64_t>(its.size()), scaler.min_replicas, scaler.max_replicas));
  for (const std::size_t pod : its) {
    later[pod] = !runs(pod) && std::cmp_greater_equal(made.pods.size(), made.at_start);
    made.kept += later[pod] ? 0 : 1;
    made.pods.push_back(fresh(what.pods[pod]));
  }
  return made;
}

/// What autoscalers scale. Those pods that are not there at the start are taken out of @p what. O(pods · log autoscalers).
std::vector<scaled_workload> take_scaled(manifests& what) {
  std::map<owner_key, std::vector<std::size_t>> its;
  for (const autoscaler_manifest& one : what.autoscalers)
    if (!one.replicas.empty()) its.try_emplace(target_of(one));
  std::vector<scaled_workload> made;
  if (its.empty()) return made;
  for (std::size_t i = 0; i < what.pods.size(); ++i)
    if (const auto found = its.find(owner_of(what.pods[i])); found != its.end()) found->second.push_back(i);
  std::vector<bool> later(what.pods.size());
  for (const autoscaler_manifest& one : what.autoscalers)
    if (!one.replicas.empty()) made.push_back(take_scaled(what, one, its.at(target_of(one)), later));
  std::erase_if(what.pods,
                [&](const pod_manifest& pod) { return later[static_cast<std::size_t>(&pod - what.pods.data())]; });
  return made;
}

}  // namespace

std::string full_name(const pod_manifest& pod) { return pod.spec.ns + "/" + pod.spec.name; }

std::optional<instant> run_time_of(const pod_manifest& pod) {
  const auto said = pod.annotations.find("gangsched.dev/run-time");
  if (said == pod.annotations.end()) return std::nullopt;
  const auto made = read_duration(said->second);
  if (!made)
    throw bad_input{"Pod " + full_name(pod), "metadata.annotations[\"gangsched.dev/run-time\"]",
                    fmt::format("\"{}\" is no duration like 90s, of at most 100 years", said->second)};
  return made;
}

live_controllers take_over(manifests& what, std::int64_t start, instant until, std::size_t most_pods,
                           std::vector<warning>& warnings) {
  live_controllers made{.start = start, .until = until, .most_pods = most_pods};
  const auto warn = [&](origin from, std::string_view kind, const auto& of, std::string reason) {
    warnings.push_back({fmt::format("{}:{}: {} {}/{}", what.files[from.file], from.line, kind, of.ns, of.name),
                        {},
                        std::move(reason)});
  };
  std::vector<std::vector<pod_manifest>> runs = take_runs(what);
  for (std::size_t i = 0; i < what.cron_jobs.size(); ++i) {
    const cron_job_manifest& one = what.cron_jobs[i];
    std::vector<pod_manifest>& pods = runs[i];
    if (std::ranges::any_of(pods, [](const pod_manifest& pod) { return !pod.group.empty(); })) {
      warn(one.from, "CronJob", one, "its pods start together: one run is made, at the start");
      if (one.job == run_name(one, start)) what.pods.insert(what.pods.end(), pods.begin(), pods.end());
      continue;  // else a Job of that name is in the files
    }
    try {
      made.cron_jobs.push_back({one, cron_schedule{one.schedule, one.time_zone}, std::move(pods)});
    } catch (const std::invalid_argument& wrong) {
      throw bad_input{fmt::format("{}:{}: CronJob {}/{}", what.files[one.from.file], one.from.line, one.ns, one.name),
                      "", wrong.what()};
    }
  }
  made.scaled = take_scaled(what);
  return made;
}

controllers::controllers(const live_controllers& of, const manifests& what, const std::vector<pod_outcome>& pods)
    : of_(&of), what_(&what), pods_(&pods) {
  for (const cron_job& one : of.cron_jobs) {
    cron_state& made = cron_jobs_.emplace_back(cron_state{&one, {}});
    if (!one.what.suspended && !one.pods.empty())
      made.next = next_run(made, one.schedule.is_interval() ? of.start : of.start - 1);
  }
  for (const scaled_workload& one : of.scaled)
    scaled_.push_back({.of = &one, .used = one.kept, .wanted = one.at_start});
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> cron_by_job;
  for (std::size_t c = 0; c < cron_jobs_.size(); ++c)
    for (const std::string& job : cron_jobs_[c].of->what.jobs)
      cron_by_job.emplace(std::pair{std::string_view{cron_jobs_[c].of->what.ns}, std::string_view{job}}, c);
  for (const job_manifest& one : what.jobs) job_rules_.emplace(one.ns + "/" + one.name, &one);
  std::map<const job_manifest*, std::int64_t> again;  // how many of its pods are being deleted
  std::map<owner_key, std::size_t> scale_by_target;
  for (std::size_t s = 0; s < scaled_.size(); ++s) scale_by_target.emplace(target_of(scaled_[s].of->what), s);
  for (std::size_t i = 0; i < what.pods.size(); ++i) {
    const pod_manifest& pod = what.pods[i];
    names_.insert(full_name(pod));
    if (pod.owner_kind == "Job") jobs_.insert(pod.spec.ns + "/" + pod.owner_name);
    if (pod.spec.terminating) let_go_.insert(i);
    if (const job_manifest* const job = pod.spec.terminating ? job_of(pod) : nullptr)
      if (again[job]++ < job->made_again) made_again_.insert(full_name(pod));
    if (job_state* const job = state_of_job(pod)) job->pods.push_back(i);
    const auto cron = pod.owner_kind == "Job" ? cron_by_job.find({pod.spec.ns, pod.owner_name}) : cron_by_job.end();
    if (cron != cron_by_job.end()) {
      cron_of_[i] = cron->second;
      cron_jobs_[cron->second].pods.push_back(i);
    }
    const auto scale = scale_by_target.empty() ? scale_by_target.end() : scale_by_target.find(owner_of(pod));
    if (scale != scale_by_target.end()) {
      scale_of_[i] = scale->second;
      scaled_[scale->second].pods.push_back(i);
    }
  }
  for (const controller_manifest& one : what.controllers)
    for (const std::string& pod : one.made_again) made_again_.insert(one.ns + "/" + pod);
  for (const cron_job& one : of.cron_jobs)
    for (const std::string& job : one.what.jobs) jobs_.insert(one.what.ns + "/" + job);
}

std::optional<std::int64_t> controllers::next_run(const cron_state& of, std::int64_t after) const {
  const auto found = of.of->schedule.after(after);
  if (!found || std::chrono::seconds{*found - of_->start} >= of_->until) return std::nullopt;
  return found;
}

std::optional<instant> controllers::next() const {
  std::optional<instant> first;
  const auto add = [&](instant at) { first = first ? std::min(*first, at) : at; };
  for (const cron_state& one : cron_jobs_)
    if (one.next) add(std::chrono::seconds{*one.next - of_->start});
  for (const scale_state& one : scaled_)
    if (one.step < one.of->what.replicas.size()) add(one.of->what.replicas[one.step].at);
  return first;
}

wanted_changes controllers::due(instant now) {
  wanted_changes made;
  for (cron_state& one : cron_jobs_) {
    while (one.next && std::chrono::seconds{*one.next - of_->start} <= now) {
      run(one, *one.next, made);
      one.next = next_run(one, *one.next);
    }
  }
  for (scale_state& one : scaled_) {
    const auto& load = one.of->what.replicas;
    const std::size_t before = one.step;
    for (; one.step < load.size() && load[one.step].at <= now; ++one.step) one.wanted = load[one.step].count;
    if (one.step != before) scale(one, made);
  }
  return made;
}

wanted_changes controllers::evicted(std::size_t pod) {
  wanted_changes made;
  if (!fails_job(pod, made) && !waits_for_old(what_->pods[pod])) replace(pod, made);
  return made;
}

wanted_changes controllers::left(std::size_t pod, instant now) {
  wanted_changes made;
  const bool evicted = (*pods_)[pod].is == fate::evicted;
  if (const auto scaled = scale_of_.find(pod); scaled != scale_of_.end() && keeps_names(what_->pods[pod])) {
    if (evicted ? may_come_again(what_->pods[pod], pod) : let_go_.contains(pod)) scale(scaled_[scaled->second], made);
  } else if (!given_up_.contains(pod)) {
    const pod_manifest& was = what_->pods[pod];
    const bool again = evicted ? waits_for_old(was) && !has_failed(was)
                               : made_again_.erase(full_name(was)) > 0 && !fails_job(pod, made);
    if (again) replace(pod, made);
  }
  const auto of = cron_of_.find(pod);
  if (of == cron_of_.end()) return made;
  cron_state& job = cron_jobs_[of->second];
  if (!job.missed || std::ranges::any_of(job.pods, [&](std::size_t one) { return is_there(one); })) return made;
  const std::int64_t scheduled = *std::exchange(job.missed, std::nullopt);
  const auto& most = job.of->what.starting_deadline_seconds;
  if (!most || std::chrono::seconds{scheduled + *most - of_->start} >= now) run(job, scheduled, made);
  return made;
}

/// Whether the pod counts as a replica for its controller; so does a pod that is about to be made.
bool controllers::is_there(std::size_t pod) const {
  if (pod >= pods_->size()) return true;
  const fate is = (*pods_)[pod].is;
  return is != fate::evicted && is != fate::ended && !what_->pods[pod].spec.terminating;
}

/// Whether an autoscaler counts the pod: also one that has ended by itself or is not made again, until fewer are wanted.
bool controllers::is_counted(std::size_t pod) const {
  return is_there(pod) || (((*pods_)[pod].is == fate::ended || given_up_.contains(pod)) && !let_go_.contains(pod));
}

/// Counts an eviction of @p first and its successors, of which @p pod is the last so far. False if it was evicted too often to come again.
bool controllers::may_come_again(const pod_manifest& first, std::size_t pod) {
  int& times = evictions_[full_name(first)];
  if (times < most_evictions) return ++times, true;
  given_up_.insert(pod);
  const std::string whose = first.owner_kind.empty() ? first.spec.ns + "/" + first.group
                                                     : first.owner_kind + " " + first.spec.ns + "/" + first.owner_name;
  if (told_.insert(whose).second)
    warnings_.push_back(
        {"Pod " + full_name(first),
         {},
         fmt::format("was evicted more than {} times: it is not made again, nor are others of {} that are",
                     most_evictions, whose)});
  return false;
}

/// Whether no more pods may be made. Warns once.
bool controllers::is_full() {
  if (made_ < of_->most_pods) return false;
  if (told_.insert("").second)
    warnings_.push_back(
        {"live controllers", "most_made_pods", fmt::format("have made {} pods, and make no more", of_->most_pods)});
  return true;
}

std::string controllers::new_name(const std::string& ns, const std::string& like) {
  std::string name;
  int& copies = copies_[ns + "/" + like];
  do {
    const std::string number = fmt::format("-{}", ++copies + 1);
    name = like.substr(0, longest_name - number.size()) + number;
  } while (names_.contains(ns + "/" + name));
  return name;
}

/// What the Job of a run calls the pod that is as @p like: what is random at the end is the same, unless a pod has that name.
std::string controllers::name_in_run(const std::string& job, const pod_manifest& like) const {
  constexpr std::size_t random_letters = 5, most_before_them = 58;  // of what generateName makes
  const std::string& was = like.spec.name;
  const auto index = like.spec.labels.find("batch.kubernetes.io/job-completion-index");
  const std::string infix = index == like.spec.labels.end() ? "" : "-" + index->second;
  const std::string base = (job + infix + "-").substr(0, most_before_them);
  std::string end = was.substr(was.size() - std::min(was.size(), random_letters));
  for (int number = 2; names_.contains(like.spec.ns + "/" + base + end); ++number) end = fmt::format("{:05}", number);
  return base + end;
}

std::size_t controllers::make(pod_manifest pod, std::optional<std::size_t> instead_of, wanted_changes& to) {
  ++made_;
  names_.insert(full_name(pod));
  const std::size_t made = pods_->size() + to.make.size();
  if (job_state* const job = state_of_job(pod)) job->pods.push_back(made);
  to.make.push_back({std::move(pod), instead_of});
  return made;
}

/// Makes a pod again that has a controller or a group.
void controllers::replace(std::size_t pod, wanted_changes& to) {
  const pod_manifest& was = what_->pods[pod];
  if ((was.owner_kind.empty() && was.group.empty()) || is_mirror(was)) return;
  if (was.owner_kind == "DaemonSet") {  // it has no pod on a node with such taints
    const auto node = std::ranges::find(what_->nodes, was.node, [](const node_manifest& one) { return one.spec.name; });
    if (node != what_->nodes.end() && !admits(*node, was)) return;
  }
  const auto known = first_.find(pod);
  const std::size_t first = known == first_.end() ? pod : known->second;
  if (!may_come_again(what_->pods[first], pod) || is_full()) return;
  pod_manifest again = fresh(was);
  if (!keeps_names(was)) again.spec.name = new_name(was.spec.ns, what_->pods[first].spec.name);
  const std::size_t made = make(std::move(again), pod, to);
  first_[made] = first;
  if (const auto of = cron_of_.find(pod); of != cron_of_.end())
    cron_of_[made] = of->second, cron_jobs_[of->second].pods.push_back(made);
  if (const auto of = scale_of_.find(pod); of != scale_of_.end())
    scale_of_[made] = of->second, scaled_[of->second].pods.push_back(made);
}

const job_manifest* controllers::job_of(const pod_manifest& pod) const {
  const auto found = pod.owner_kind == "Job" ? job_rules_.find(pod.spec.ns + "/" + pod.owner_name) : job_rules_.end();
  return found == job_rules_.end() ? nullptr : found->second;
}

std::optional<instant> controllers::deadline_of(const pod_manifest& pod) const {
  const job_manifest* const job = job_of(pod);
  if (job == nullptr || !job->deadline_seconds) return std::nullopt;
  return std::chrono::seconds{*job->deadline_seconds};
}

wanted_changes controllers::past_deadline(std::size_t pod) {
  wanted_changes made;
  given_up_.insert(pod);
  if (!what_->pods[pod].spec.terminating) made.end.push_back(pod);
  return made;
}

/// Whether a new pod is made only when the old one is gone.
bool controllers::waits_for_old(const pod_manifest& pod) const {
  const job_manifest* const job = job_of(pod);
  return keeps_names(pod) || (job != nullptr && job->replaces_gone);
}

/// What fails if the pod does too often: its Job, or its index there; empty without one.
std::string controllers::failing_with(const pod_manifest& pod) const {
  const job_manifest* const job = job_of(pod);
  if (job == nullptr) return {};
  std::string made = pod.spec.ns + "/" + pod.owner_name;
  if (!job->by_index) return made;
  const auto index = pod.spec.labels.find("batch.kubernetes.io/job-completion-index");
  return index == pod.spec.labels.end() ? made : made + "/" + index->second;
}

/// Null: the pod is of no Job that can fail.
controllers::job_state* controllers::state_of_job(const pod_manifest& pod) {
  const std::string its = failing_with(pod);
  return its.empty() ? nullptr : &job_states_[its];
}

bool controllers::has_failed(const pod_manifest& pod) {
  const job_state* const job = state_of_job(pod);
  return job != nullptr && job->failed;
}

/// Counts an evicted or deleted pod as failed. True if its Job, or its index, has failed with that: then no pod of it is made again, and
/// others go.
bool controllers::fails_job(std::size_t pod, wanted_changes& to) {
  job_state* const job = state_of_job(what_->pods[pod]);
  if (job == nullptr) return false;
  if (job->failed) return true;
  if (++job->failures <= job_of(what_->pods[pod])->failures_left) return false;
  job->failed = true;
  std::ranges::copy_if(job->pods, std::back_inserter(to.end),
                       [&](std::size_t other) { return other != pod && is_there(other); });
  return true;
}

/// One run, unless the one before it has to end first.
void controllers::run(cron_state& job, std::int64_t scheduled, wanted_changes& to) {
  using policy = cron_job_manifest::policy;
  const cron_job_manifest& what = job.of->what;
  const std::string name = run_name(what, scheduled);
  if (jobs_.contains(what.ns + "/" + name)) return;
  std::erase_if(job.pods, [&](std::size_t pod) { return !is_there(pod); });
  if (what.concurrency == policy::forbid && !job.pods.empty()) {
    job.missed = scheduled;
    return;
  }
  if (is_full()) return;
  jobs_.insert(what.ns + "/" + name);
  if (const auto like = job_rules_.find(what.ns + "/" + what.job); like != job_rules_.end())
    job_rules_.emplace(what.ns + "/" + name, like->second);
  if (what.concurrency == policy::replace) to.end.insert(to.end.end(), job.pods.begin(), job.pods.end());
  for (const pod_manifest& like : job.of->pods) {
    pod_manifest pod = fresh(like);
    pod.owner_name = name;
    pod.spec.name = name_in_run(name, like);
    for (const char* const key : {"batch.kubernetes.io/job-name", "job-name"}) pod.spec.labels[key] = name;
    const std::size_t made = make(std::move(pod), {}, to);
    cron_of_[made] = static_cast<std::size_t>(&job - cron_jobs_.data());
    job.pods.push_back(made);
  }
}

void controllers::scale(scale_state& of, wanted_changes& to) {
  const auto add = [&](pod_manifest pod) {
    if (is_full()) return;
    const std::size_t made = make(std::move(pod), {}, to);
    scale_of_[made] = static_cast<std::size_t>(&of - scaled_.data());
    of.pods.push_back(made);
  };
  if (of.of->what.kind == "StatefulSet") return scale_by_number(of, add, to);
  std::vector<std::size_t> counted;
  std::ranges::copy_if(of.pods, std::back_inserter(counted), [&](std::size_t pod) { return is_counted(pod); });
  const auto wanted = static_cast<std::size_t>(of.wanted);
  if (counted.size() > wanted) return scale_down(std::move(counted), wanted, to);
  const std::vector<pod_manifest>& pods = of.of->pods;
  for (std::size_t missing = wanted - counted.size(); missing > 0 && !pods.empty(); --missing) {
    if (of.used < pods.size()) {
      add(pods[of.used++]);
      continue;
    }
    pod_manifest pod = pods[of.used++ % pods.size()];
    pod.spec.name = new_name(pod.spec.ns, pod.spec.name);
    add(std::move(pod));
  }
}

/// As a StatefulSet has it: the first numbers are there, the others go. A number comes again when the pod that has it is gone.
void controllers::scale_by_number(scale_state& of, const auto& add, wanted_changes& to) {
  const std::vector<pod_manifest>& pods = of.of->pods;
  const std::size_t wanted = std::min(static_cast<std::size_t>(of.wanted), pods.size());
  std::map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < pods.size(); ++i) place.emplace(pods[i].spec.name, i);
  std::vector<bool> has_name(pods.size());
  for (const std::size_t pod : of.pods) {
    if (pod >= what_->pods.size()) continue;
    const std::size_t number = place.at(what_->pods[pod].spec.name);
    if (number >= wanted && is_counted(pod)) let_go(pod, to);
    const pod_outcome& one = (*pods_)[pod];
    has_name[number] = has_name[number] || is_counted(pod) || !(one.gone_at || one.ended_at);
  }
  for (std::size_t i = 0; i < wanted; ++i)
    if (!has_name[i]) add(pods[i]);
}

/// As a ReplicaSet has it: those without a node, those whose deletion costs least, those with the most others beside them, then the
/// youngest. Before them those that have ended, which makes no difference to the others.
void controllers::scale_down(std::vector<std::size_t> counted, std::size_t wanted, wanted_changes& to) {
  std::map<std::string, std::int64_t> beside;
  for (const std::size_t pod : counted)
    if (holds_node((*pods_)[pod])) ++beside[(*pods_)[pod].node];
  const auto order = [&](std::size_t pod) {
    const pod_outcome& one = (*pods_)[pod];
    const bool runs = holds_node(one);
    const std::int32_t cost = pod < what_->pods.size() ? deletion_cost(what_->pods[pod]) : 0;
    return std::tuple{one.is != fate::ended,
                      runs,
                      cost,
                      runs ? -beside[one.node] : 0,
                      -one.placed_at.value_or(instant{0}).count(),
                      -static_cast<std::int64_t>(pod)};
  };
  std::ranges::sort(counted, {}, order);
  counted.resize(counted.size() - wanted);
  for (const std::size_t pod : counted) let_go(pod, to);
}

void controllers::let_go(std::size_t pod, wanted_changes& to) {
  let_go_.insert(pod);
  if (is_there(pod)) to.end.push_back(pod);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
