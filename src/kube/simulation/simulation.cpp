#include "gangsched/kube/simulation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "gangsched/src/kube/simulation/bad_input.hpp"
#include "gangsched/src/kube/simulation/changes.hpp"
#include "gangsched/src/kube/simulation/devices.hpp"
#include "gangsched/src/kube/simulation/diff.hpp"
#include "gangsched/src/kube/simulation/host.hpp"
#include "gangsched/src/kube/simulation/must.hpp"
#include "gangsched/src/kube/simulation/queues.hpp"
#include "gangsched/src/kube/simulation/what_if.hpp"

// A run, and what is said of it in the end.
namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

asked host::explain_as_in(const host& whole, std::size_t pod) {
  const moment when = whole.tasks_[pod].placed_in.value();
  stop_before_ = when;
  run();
  // Members of a gang are placed in one cycle: those before this one are put where they went.
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const std::optional<moment>& other = whole.tasks_[i].placed_in;
    if (!other || other->cycle != when.cycle || other->decision >= when.decision) continue;
    must(cluster_.assume(tasks_[i].id, cluster_.find_node(whole.out_.pods[i].node).value()));
    volumes_.reserve(i, whole.out_.pods[i].node);
    out_.pods[i].is = fate::placed;
  }
  tell_volumes(true);
  return explain_now(pod);
}

/// A pod that is not, or no more, in the cluster has no nodes to be asked.
asked host::explain_now(std::size_t pod) {
  tell_volumes(true);
  asked made{pod, now_, {}, {}, {}};
  if (!cluster_.contains(tasks_[pod].id)) return made;
  made.why = must(scheduler_->explain(tasks_[pod].id));
  if (out_.pods[pod].is != fate::unscheduled) return made;
  const auto fits = [](const node_verdict& node) { return node.code == code::success; };
  if (std::ranges::none_of(made.why.nodes, fits))
    made.changes = changes_for(*scheduler_, tasks_[pod].id, spec_now(pod), what_);
  if (const auto group = cluster_.find_group(out_.pods[pod].ns, out_.pods[pod].group); group && !made.why.lacks.empty())
    for (const group_explanation& one : must(scheduler_->explain(*group))) made.change_for_group = one.change;
  return made;
}

asked_group host::explain_group(const group_spec& group) {
  tell_volumes(true);
  asked_group made{group.ns, group.name, {}};
  if (const auto id = cluster_.find_group(group.ns, group.name, group.composite))
    made.why = must(scheduler_->explain(*id));
  return made;
}

/// Pods of one class hear the same, unless they are gated, nominated or in groups.
void host::say_why() {
  std::map<std::uint32_t, std::string> known;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    pod_outcome& of = out_.pods[i];
    if (of.is == fate::waiting) of.reason = "waits for its group, with a node reserved";
    if (of.is != fate::unscheduled || !of.reason.empty()) continue;
    if (what_.pods[i].spec.terminating) {
      of.reason = "is being deleted";
      continue;
    }
    if (!tasks_[i].in_cluster) {
      of.reason = "waits for others of its StatefulSet, which makes one pod after the other";
      continue;
    }
    if (!what_.pods[i].unresolved.empty()) {
      of.reason = fmt::format("waits for what it refers to: {}", fmt::join(what_.pods[i].unresolved, "; "));
      continue;
    }
    if (!tasks_[i].failure.empty()) {
      of.reason = tasks_[i].failure;
      of.failed = true;
      continue;
    }
    const bool alone = !of.group.empty() || !what_.pods[i].spec.scheduling_gates.empty() ||
                       cluster_.nominated_node_of(tasks_[i].id) != node_id{};
    std::string own;
    std::string& reason = alone ? own : known[must(cluster_.class_of(tasks_[i].id))];
    if (reason.empty()) reason = must(scheduler_->explain(tasks_[i].id)).summary;
    of.reason = reason;
  }
}

outcome host::finish() {
  if (watch_ != nullptr) watch_->ends(*scheduler_, cluster_);
  tell_volumes(true);
  say_why();
  if (of_.scale_up) out_.scale_up = scale_up(*scheduler_, cluster_, of_.shapes, on_the_clock());
  if (of_.scale_down) {
    std::vector<pod_id> mirrors;
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (tasks_[i].present && tasks_[i].in_cluster && is_mirror(what_.pods[i])) mirrors.push_back(tasks_[i].id);
    out_.scale_down = scale_down(*scheduler_, cluster_, mirrors, on_the_clock());
  }
  out_.groups = groups_.finish(out_.pods);
  for (const node_manifest& one : what_.nodes) {
    node_gpus gpus = gpus_of(cluster_, cluster_.find_node(one.spec.name).value(), one.spec.devices.gpu.model);
    if (!gpus.gpus.empty()) out_.gpus.push_back(std::move(gpus));
  }
  out_.queues = queues_of(cluster_);
  if (controllers_) out_.warnings = controllers_->warnings();
  if (timeline_) out_.node_list = timeline_->nodes();
  return std::move(out_);
}

namespace {

/// Throws bad_input where the manifests do not fit together.
outcome run_whole(const scenario& of, watcher* watch) {
  host whole{of, watch};
  if (auto loaded = whole.load(); !loaded) throw bad_input{std::vector{std::move(loaded).error()}};
  whole.run();
  std::optional<asked> answer;
  if (of.explain && whole.was_placed(*of.explain)) {
    host again{of, nullptr};
    must(again.load());
    answer = again.explain_as_in(whole, *of.explain);
  } else if (of.explain) {
    answer = whole.explain_now(*of.explain);
  }
  std::optional<asked_group> answer_of_group;
  if (of.explain_group) answer_of_group = whole.explain_group(of.what.groups[*of.explain_group].spec);
  outcome made = whole.finish();
  made.explained = std::move(answer);
  made.explained_group = std::move(answer_of_group);
  return made;
}

}  // namespace

outcome run(std::span<const source> files, const options& how) {
  outcome made;
  std::vector<warning> warnings;
  std::vector<error> errors;
  try {
    std::optional<earlier_result> before;
    if (how.compare_with) before = read_result(*how.compare_with);
    made = run_whole(make_scenario(files, how, warnings), how.watch);
    if (before) made.diff = compare(made, *before);
  } catch (bad_input& wrong) {
    errors = std::move(wrong.mistakes);
  } catch (const broken_contract& wrong) {
    errors.push_back({errc::contract, "simulation", {}, wrong.what()});
  }
  if (!errors.empty()) made = {};
  made.errors = std::move(errors);
  made.warnings.insert(made.warnings.begin(), warnings.begin(), warnings.end());
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
