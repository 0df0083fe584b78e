#include "simulate/controllers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "simulate/bad_input.hpp"
#include "simulate/times.hpp"

namespace simulate {
namespace {

using namespace gangsched;

/// Nobody is replaced more often: who is evicted again and again would never come to an end.
constexpr int most_copies = 100;

/// As its controller makes it.
kube::pod_manifest fresh(kube::pod_manifest pod) {
  pod.node.clear();
  pod.nominated_node.clear();
  pod.held_devices.clear();
  pod.evicted_for_taint.reset();
  pod.reservation.clear();
  pod.spec.start_time.reset();
  pod.spec.terminating = false;
  return pod;
}

/// Of all that is among the pods, those that @p is says; they are not there any more.
std::vector<kube::pod_manifest> take(kube::manifests& from, const auto& is) {
  std::vector<kube::pod_manifest> taken;
  std::erase_if(from.pods, [&](kube::pod_manifest& pod) { return is(pod) && (taken.push_back(pod), true); });
  return taken;
}

std::string full_name(const kube::pod_manifest& pod) { return pod.spec.ns + "/" + pod.spec.name; }

/// A name comes again only when its pod is gone.
bool keeps_names(const kube::pod_manifest& pod) {
  return pod.owner_kind == "StatefulSet" || pod.owner_kind == "DaemonSet";
}

}  // namespace

std::optional<instant> run_time_of(const kube::pod_manifest& pod) {
  const auto said = pod.annotations.find("gangsched.dev/run-time");
  if (said == pod.annotations.end()) return std::nullopt;
  const auto made = parse_duration(said->second);
  if (!made)
    throw bad_input{
        fmt::format("Pod {}: metadata.annotations[\"gangsched.dev/run-time\"]: \"{}\" is no duration like 90s",
                    full_name(pod), said->second)};
  return made;
}

live_controllers take_over(kube::manifests& what, std::int64_t start, instant until,
                           std::vector<kube::warning>& warnings) {
  live_controllers made{start, until};
  const auto warn = [&](kube::origin from, std::string_view kind, const auto& of, std::string reason) {
    warnings.push_back({fmt::format("{}:{}: {} {}/{}", what.files[from.file], from.line, kind, of.ns, of.name),
                        {},
                        std::move(reason)});
  };
  for (const kube::cron_job_manifest& one : what.cron_jobs) {
    std::vector<kube::pod_manifest> pods = take(what, [&](const kube::pod_manifest& pod) {
      return pod.spec.ns == one.ns && pod.owner_kind == "Job" && pod.owner_name == one.job && pod.node.empty();
    });
    if (std::ranges::any_of(pods, [](const kube::pod_manifest& pod) { return !pod.group.empty(); })) {
      warn(one.from, "CronJob", one, "its pods start together: one run is made, at the start");
      what.pods.insert(what.pods.end(), pods.begin(), pods.end());
      continue;
    }
    try {
      made.cron_jobs.push_back({one, cron_schedule{one.schedule, one.time_zone}, std::move(pods)});
    } catch (const bad_input& wrong) {
      throw bad_input{fmt::format("{}:{}: CronJob {}/{}: {}", what.files[one.from.file], one.from.line, one.ns,
                                  one.name, wrong.what())};
    }
  }
  for (const kube::autoscaler_manifest& one : what.autoscalers) {
    if (one.replicas.empty()) continue;
    scaled_workload& scaled = made.scaled.emplace_back(scaled_workload{one, {}});
    std::int64_t there = 0;
    std::erase_if(what.pods, [&](const kube::pod_manifest& pod) {
      if (pod.spec.ns != one.ns || pod.owner_kind != one.kind || pod.owner_name != one.target) return false;
      scaled.pods.push_back(fresh(pod));
      return pod.node.empty() && there >= one.at_start ? true : (++there, false);
    });
  }
  return made;
}

controllers::controllers(const live_controllers& of, const kube::manifests& what, const std::vector<pod_outcome>& pods)
    : of_(&of), what_(&what), pods_(&pods) {
  for (const cron_job& one : of.cron_jobs) {
    cron_state& made = cron_jobs_.emplace_back(cron_state{&one, {}});
    if (!one.what.suspended && !one.pods.empty())
      made.next = next_run(made, one.schedule.is_interval() ? of.start : of.start - 1);
  }
  for (const scaled_workload& one : of.scaled) scaled_.push_back({.of = &one, .wanted = one.what.at_start});
  for (std::size_t i = 0; i < what.pods.size(); ++i) {
    const kube::pod_manifest& pod = what.pods[i];
    names_.insert(full_name(pod));
    for (std::size_t c = 0; c < cron_jobs_.size(); ++c) {
      const kube::cron_job_manifest& job = cron_jobs_[c].of->what;
      if (pod.spec.ns != job.ns || pod.owner_kind != "Job" ||
          std::ranges::find(job.jobs, pod.owner_name) == job.jobs.end())
        continue;
      cron_of_[i] = c;
      cron_jobs_[c].pods.push_back(i);
    }
    for (std::size_t s = 0; s < scaled_.size(); ++s) {
      const kube::autoscaler_manifest& by = scaled_[s].of->what;
      if (pod.spec.ns != by.ns || pod.owner_kind != by.kind || pod.owner_name != by.target) continue;
      scale_of_[i] = s;
      scaled_[s].pods.push_back(i);
    }
  }
  for (scale_state& one : scaled_) one.used = one.pods.size();
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
  if (!keeps_names(what_->pods[pod])) replace(pod, made);
  return made;
}

wanted_changes controllers::left(std::size_t pod, instant now) {
  wanted_changes made;
  if (const auto scaled = scale_of_.find(pod); scaled != scale_of_.end() && keeps_names(what_->pods[pod]))
    scale(scaled_[scaled->second], made);
  else if ((*pods_)[pod].is == fate::evicted && keeps_names(what_->pods[pod]))
    replace(pod, made);
  const auto of = cron_of_.find(pod);
  if (of == cron_of_.end()) return made;
  cron_state& job = cron_jobs_[of->second];
  if (!job.missed || std::ranges::any_of(job.pods, [&](std::size_t one) { return is_there(one); })) return made;
  const std::int64_t scheduled = *std::exchange(job.missed, std::nullopt);
  const auto& most = job.of->what.starting_deadline_seconds;
  if (!most || std::chrono::seconds{scheduled + *most - of_->start} >= now) run(job, scheduled, made);
  return made;
}

/// Whether it is one of those that its controller counts, as who is about to be made is.
bool controllers::is_there(std::size_t pod) const {
  if (pod >= pods_->size()) return true;
  const fate is = (*pods_)[pod].is;
  return is != fate::evicted && is != fate::ended && !what_->pods[pod].spec.terminating;
}

std::string controllers::new_name(const std::string& ns, const std::string& like) {
  std::string name;
  int& copies = copies_[ns + "/" + like];
  do name = fmt::format("{}-{}", like, ++copies + 1);
  while (names_.contains(ns + "/" + name));
  return name;
}

std::size_t controllers::make(kube::pod_manifest pod, std::optional<std::size_t> instead_of, wanted_changes& to) {
  names_.insert(full_name(pod));
  to.make.push_back({std::move(pod), instead_of});
  return pods_->size() + to.make.size() - 1;
}

/// Who has a controller, or a group, is made again.
void controllers::replace(std::size_t pod, wanted_changes& to) {
  const kube::pod_manifest& was = what_->pods[pod];
  if (was.owner_kind.empty() && was.group.empty()) return;
  const auto known = first_.find(pod);
  const std::size_t first = known == first_.end() ? pod : known->second;
  const std::string& like = what_->pods[first].spec.name;
  kube::pod_manifest again = fresh(was);
  int& copies = copies_[was.spec.ns + "/" + like];
  if (copies >= most_copies) return;
  if (keeps_names(was))
    ++copies;
  else
    again.spec.name = new_name(was.spec.ns, like);
  const std::size_t made = make(std::move(again), pod, to);
  first_[made] = first;
  if (const auto of = cron_of_.find(pod); of != cron_of_.end())
    cron_of_[made] = of->second, cron_jobs_[of->second].pods.push_back(made);
  if (const auto of = scale_of_.find(pod); of != scale_of_.end())
    scale_of_[made] = of->second, scaled_[of->second].pods.push_back(made);
}

/// One run, unless the one before it has to end first.
void controllers::run(cron_state& job, std::int64_t scheduled, wanted_changes& to) {
  using policy = kube::cron_job_manifest::policy;
  const kube::cron_job_manifest& what = job.of->what;
  std::erase_if(job.pods, [&](std::size_t pod) { return !is_there(pod); });
  if (what.concurrency == policy::forbid && !job.pods.empty()) {
    job.missed = scheduled;
    return;
  }
  const std::string name = fmt::format("{}-{}", what.name, scheduled / 60);
  if (name == std::exchange(job.latest, name)) return;  // Jobs are named by the minute
  if (what.concurrency == policy::replace) to.end.insert(to.end.end(), job.pods.begin(), job.pods.end());
  for (const kube::pod_manifest& like : job.of->pods) {
    kube::pod_manifest pod = fresh(like);
    pod.owner_name = name;
    pod.spec.name =
        name + (like.spec.name.starts_with(what.job) ? like.spec.name.substr(what.job.size()) : like.spec.name);
    for (const char* const key : {"batch.kubernetes.io/job-name", "job-name"}) pod.spec.labels[key] = name;
    const std::size_t made = make(std::move(pod), {}, to);
    cron_of_[made] = static_cast<std::size_t>(&job - cron_jobs_.data());
    job.pods.push_back(made);
  }
}

void controllers::scale(scale_state& of, wanted_changes& to) {
  std::vector<std::size_t> there;
  std::ranges::copy_if(of.pods, std::back_inserter(there), [&](std::size_t pod) { return is_there(pod); });
  const auto wanted = static_cast<std::size_t>(of.wanted);
  if (there.size() > wanted) return scale_down(of, std::move(there), to);
  const std::vector<kube::pod_manifest>& pods = of.of->pods;
  const auto add = [&](kube::pod_manifest pod) {
    const std::size_t made = make(std::move(pod), {}, to);
    scale_of_[made] = static_cast<std::size_t>(&of - scaled_.data());
    of.pods.push_back(made);
  };
  if (of.of->what.kind == "StatefulSet") {
    for (std::size_t i = 0; i < std::min(wanted, pods.size()); ++i) {
      const bool has_name = std::ranges::any_of(of.pods, [&](std::size_t pod) {
        const bool gone = pod < pods_->size() && ((*pods_)[pod].gone_at || (*pods_)[pod].ended_at);
        return pod < what_->pods.size() && what_->pods[pod].spec.name == pods[i].spec.name && !gone;
      });
      if (!has_name) add(pods[i]);
    }
    return;
  }
  for (std::size_t missing = wanted - there.size(); missing > 0 && !pods.empty(); --missing) {
    if (of.used < pods.size()) {
      add(pods[of.used++]);
      continue;
    }
    kube::pod_manifest pod = pods[of.used++ % pods.size()];
    pod.spec.name = new_name(pod.spec.ns, pod.spec.name);
    add(std::move(pod));
  }
}

/// Of a StatefulSet the highest numbers. Else, as a ReplicaSet has it, those without a node, then those with the most others beside them,
/// then the youngest.
void controllers::scale_down(const scale_state& of, std::vector<std::size_t> there, wanted_changes& to) const {
  const auto by_number = [&](std::size_t pod) {
    const auto& pods = of.of->pods;
    return std::ranges::find(pods, what_->pods[pod].spec.name, [](const auto& one) { return one.spec.name; }) -
           pods.begin();
  };
  std::map<std::string, std::int64_t> beside;
  for (const std::size_t pod : there)
    if (holds_node((*pods_)[pod])) ++beside[(*pods_)[pod].node];
  const auto order = [&](std::size_t pod) {
    const pod_outcome& one = (*pods_)[pod];
    const bool runs = holds_node(one);
    return std::tuple{runs, runs ? -beside[one.node] : 0, -one.placed_at.value_or(instant{0}).count(),
                      -static_cast<std::int64_t>(pod)};
  };
  if (of.of->what.kind == "StatefulSet")
    std::ranges::sort(there, std::greater{}, by_number);
  else
    std::ranges::sort(there, {}, order);
  there.resize(there.size() - static_cast<std::size_t>(of.wanted));
  to.end.insert(to.end.end(), there.begin(), there.end());
}

}  // namespace simulate
