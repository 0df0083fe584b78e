#include "gangsched/src/kube/simulation/host.hpp"

#include <fmt/format.h>
#include "gangsched/scheduling/measure_hooks.hpp"
#include "gangsched/scheduling/queue_listing.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gangsched/src/kube/simulation/devices.hpp"
#include "gangsched/src/kube/simulation/must.hpp"
#include "gangsched/src/kube/simulation/node_taints.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

/// How long the scheduler's own deadlines are followed after the last change: what is not tried again by then waits for something else.
/// Longer than the unschedulable timeout and than any wait in the permit room.
constexpr instant patience = std::chrono::minutes{20};

constexpr auto nobody = static_cast<std::size_t>(-1);

pod_outcome outcome_of(const pod_manifest& pod) {
  pod_outcome made;
  made.ns = pod.spec.ns;
  made.name = pod.spec.name;
  made.group = pod.group;
  made.priority = pod.spec.priority.value_or(0);
  return made;
}

}  // namespace

host::host(const scenario& of, watcher* watch)
    : of_(of), watch_(watch), what_(of.what), groups_(of.what), budgets_(what_), volumes_(what_), maxima_(of.maxima) {}

host::~host() {
  scheduler_.reset();  // first: the observer that it tells must be there until then
  if (watch_ != nullptr) watch_->leaves();
}

result<void> host::load() {
  out_.nodes = what_.nodes.size();
  manifests applied = what_;
  applied.pods.clear();
  tasks_.resize(what_.pods.size());
  for (const group_manifest& one : what_.groups)
    for (const group_dependency_manifest& first : one.start_after)
      if (first.until == dependency_state::done) awaited_.emplace(first.composite, one.spec.ns, first.on);
  if (of_.live) {
    controllers_.emplace(*of_.live, what_, out_.pods);
    orders_.emplace(what_);
  }
  for (std::size_t i = 0; i < what_.pods.size(); ++i) {
    const pod_manifest& pod = what_.pods[i];
    pod_outcome& to = out_.pods.emplace_back(outcome_of(pod));
    tasks_[i].present = true;
    budgets_.add(pod);
    budgets_.note(i);
    to.node = pod.node;
    to.was_running = !pod.node.empty();
    if (to.was_running) to.is = fate::running;
    if (to.was_running && !pod.spec.start_time) what_.pods[i].spec.start_time = of_.epoch;
    tasks_[i].in_cluster = to.was_running || of_.schedules(pod.spec.scheduler_name);
    if (!tasks_[i].in_cluster) {
      to.reason = fmt::format("left to the scheduler \"{}\"", pod.spec.scheduler_name);
      continue;
    }
    what_.pods[i].spec.cookie = i;
    const lifetime its = of_.lifetimes.empty() ? lifetime{} : of_.lifetimes[i];
    tasks_[i].runs = its.runs ? its.runs : run_time_of(pod);
    if (tasks_[i].runs) what_.pods[i].spec.expected_run_time = *tasks_[i].runs;
    if (const auto after = controllers_ ? controllers_->deadline_of(pod) : std::nullopt)
      end_by(i, later_by(to.was_running ? instant{0} : its.arrives, *after));
    if (its.arrives > instant{0} && !to.was_running) {
      tasks_[i].in_cluster = tasks_[i].present = false;
      to.arrived_at = its.arrives;
      events_.push({its.arrives, i, turn::arrives});
      continue;
    }
    if (orders_ && !to.was_running && orders_->hold(pod, i)) {
      tasks_[i].in_cluster = tasks_[i].present = false;
      continue;
    }
    applied.pods.push_back(pod);
  }
  budgets_.begin([this](std::size_t pod) { return standing_of(pod); });
  const auto waiting = static_cast<std::size_t>(
      std::ranges::count_if(what_.pods, [](const pod_manifest& pod) { return pod.node.empty(); }));
  observer* const watching = watch_ == nullptr ? nullptr : watch_->begins(cluster_, waiting);
  if (auto done = apply(cluster_, applied); !done) return done;
  std::vector<kernel_table> profiles = of_.profiles;
  if (watching != nullptr)
    for (kernel_table& one : profiles) one = measure_hooks(std::move(one), *watching);
  scheduler_options options = of_.options;
  options.count_reasons = of_.timeline;
  if (of_.timeline) timeline_.emplace(out_.pods, what_);
  scheduler_.emplace(cluster_, std::move(profiles), options);
  if (watching != nullptr) must(scheduler_->observe(watching));
  for (const node_manifest& one : what_.nodes)
    if (of_.live &&
        std::ranges::find(one.spec.taints, taint_effect::no_execute, &taint::effect) != one.spec.taints.end())
      evicting_.emplace(one.spec.name, &one);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i].in_cluster) continue;
    const pod_manifest& pod = what_.pods[i];
    tasks_[i].id = cluster_.find_pod(pod.spec.ns, pod.spec.name).value();
    out_.pods[i].priority = cluster_.priority_of(tasks_[i].id);
    if (timeline_) timeline_->joins(i, cluster_, tasks_[i].id);
    if (!out_.pods[i].was_running) continue;
    out_.pods[i].devices = devices_of(cluster_, tasks_[i].id);
    groups_.started(i, now_);
    if (timeline_) timeline_->gets_node(i, pod.node, now_);
    if (pod.spec.terminating) events_.push({instant{std::chrono::seconds{pod.grace_seconds}}, i, turn::over});
    if (pod.deadline_seconds) events_.push({instant{std::chrono::seconds{*pod.deadline_seconds}}, i, turn::over});
    if (tasks_[i].runs) events_.push({*tasks_[i].runs, i, turn::over});
    if (const auto& taint = pod.evicted_for_taint)
      events_.push({instant{std::chrono::seconds{taint->after_seconds}}, i, turn::tainted});
    count_taints(i, of_.what.pods[i].spec.start_time.value_or(instant::min()));
    if (!controllers_ || !controllers_->comes_again(pod)) continue;
    tasks_[i].cut_off = true;
    orders_->is_unready(pod, i);
  }
  for (std::size_t i = 0; orders_ && i < tasks_.size(); ++i)
    if (!tasks_[i].present) let_come(i);
  return {};
}

void host::run() {
  if (controllers_) carry_out(controllers_->due(now_));
  for (;;) {
    while (schedule()) {
    }
    if (over()) return;
    const std::uint64_t before = changes_;
    execute(scheduler_->permit(on_the_clock()));
    if (changes_ != before || evict_over_maximum()) continue;
    const std::optional<instant> next = next_time();
    if (!next) break;
    now_ = *next;
    while (!events_.empty() && events_.top().when <= now_) {
      const event due = events_.top();
      events_.pop();
      switch (due.what) {
        case turn::arrives: arrive(due.pod); break;
        case turn::tainted:
          if (out_.pods[due.pod].is == fate::running && !what_.pods[due.pod].spec.terminating)
            evict(due.pod, fmt::format("the taint {} of a device", what_.pods[due.pod].evicted_for_taint->taint));
          break;
        case turn::node_tainted:
          if (holds_node(out_.pods[due.pod]) && !what_.pods[due.pod].spec.terminating)
            evict(due.pod, fmt::format("the taint {} of its node", tasks_[due.pod].node_taint));
          break;
        case turn::job_over:
          tasks_[due.pod].cut_off = true;
          carry_out(controllers_->past_deadline(due.pod));
          break;
        case turn::evicted:
        case turn::over: leave(due.pod, due.what);
      }
    }
    if (controllers_) carry_out(controllers_->due(now_));
  }
}

/// Handles one pod or group of the queue. False if none is left for now.
bool host::schedule() {
  if (over()) return false;
  update_budgets();
  tell_volumes();
  const cycle done = scheduler_->schedule_cycle(on_the_clock());
  if (!done && done.error() != nullptr) throw broken_contract{done.error()->message()};
  execute(done);
  if (done) ++cycles_;
  return static_cast<bool>(done);
}

/// Claims of placed pods get their volumes. Members of a gang that are placed in one cycle can want the same volume: the later one fails,
/// and with it its gang if that is all or nothing. The earlier one keeps the volume, as in a cluster.
void host::take_volumes(const cycle& done) {
  for (const decision& one : done) {
    if (one.kind != decision_kind::bind && one.kind != decision_kind::wait) continue;
    if (one.kind == decision_kind::wait && out_.pods[one.pod_cookie].is == fate::waiting) continue;  // has its volumes
    if (volumes_.reserve(one.pod_cookie, cluster_.name_of(one.node))) continue;
    tasks_[one.pod_cookie].tried_in = changes_;
    const cycle taken_back = scheduler_->fail(one.pod, "no volume is left there for its claims");
    if (taken_back.error() != nullptr) throw broken_contract{taken_back.error()->message()};
    keeps_volumes_ = true;
    for (const decision& other : taken_back) execute(other, {}, nobody);
    keeps_volumes_ = false;
  }
}

/// Tells waiting pods where their claims can be bound now that other pods took volumes. That is expensive with many pods and long lists of
/// nodes. Then an active pod is told only when it is its turn to be tried, until volumes come back or @p everybody is to be told.
void host::tell_volumes(bool everybody) {
  if (!volumes_.is_news()) return;
  const auto waits = [&](std::size_t i) {
    return tasks_[i].in_cluster && out_.pods[i].is == fate::unscheduled && cluster_.contains(tasks_[i].id);
  };
  constexpr std::size_t little = 20'000;  // names of nodes
  const std::size_t pods = what_.pods.size(), claimants = volumes_.claimants();
  if (everybody || volumes_back_ || !what_.queues.empty() || claimants * what_.nodes.size() < little ||
      claimants * 16 < pods) {
    volumes_back_ = false;
    for (const std::size_t pod : volumes_.refresh_all(waits)) tell_volumes_of(pod);
    return;
  }
  // As in a cluster, this wakes rejected pods; of the active ones only the next one to be tried is told.
  bool first = true;
  for (const queued_entity& next : must(scheduler_->queue())) {
    if (next.standing.place == queue_place::active && !std::exchange(first, false)) continue;
    if (next.group != group_id{}) return tell_volumes(true);
    const std::size_t pod = cluster_.cookie_of(next.pod);
    if (waits(pod) && volumes_.refresh(pod)) tell_volumes_of(pod);
  }
}

void host::tell_volumes_of(std::size_t pod) { must(cluster_.update_pod(tasks_[pod].id, spec_now(pod))); }

/// The current spec of a pod that the cluster has.
pod_spec host::spec_now(std::size_t pod) {
  pod_spec spec = must(spec_for(cluster_, what_.pods[pod]));
  spec.cookie = pod;
  spec.nominated_node = cluster_.nominated_node_of(tasks_[pod].id);
  return spec;
}

void host::execute(const cycle& done) {
  take_volumes(done);
  std::size_t preemptor = nobody;
  std::string for_whom;
  for (const decision& one : done) {
    if (one.kind != decision_kind::nominate) continue;
    preemptor = one.pod_cookie;
    for_whom = full_name(out_.pods[preemptor]);
  }
  std::size_t place = 0;
  for (const decision& one : done) {
    task& of = tasks_[one.pod_cookie];
    if (!std::exchange(of.heard, true)) {
      note_unplaced(one.pod_cookie);
      ++heard_;
      if (watch_ != nullptr) watch_->heard(heard_);
    }
    if (one.kind == decision_kind::bind || one.kind == decision_kind::wait) {
      if (!of.placed_in) of.placed_in = {now_, cycles_, place}, ++out_.pods[one.pod_cookie].attempts;
    }
    if (done.error() != nullptr && one.kind == decision_kind::reject && one.code == code::error)
      of.failure = done.error()->message();
    else if (one.kind == decision_kind::reject)
      of.failure.clear();
    execute(one, for_whom, preemptor);
    if (timeline_) note(one);
    ++place;
  }
}

/// Notes a decision for the time line. Not evictions: evicted pods leave their nodes later.
void host::note(const decision& one) {
  const std::size_t pod = one.pod_cookie;
  switch (one.kind) {
    case decision_kind::bind:
    case decision_kind::wait: return timeline_->gets_node(pod, out_.pods[pod].node, now_);
    case decision_kind::revoke: return timeline_->leaves_node(pod, now_);
    case decision_kind::nominate:
    case decision_kind::reject: return timeline_->is_rejected(pod, *scheduler_, one.pod, now_);
    case decision_kind::evict:
    case decision_kind::notice:
    case decision_kind::withdraw: return;
  }
}

void host::execute(const decision& one, const std::string& for_whom, std::size_t preemptor) {
  const std::size_t pod = one.pod_cookie;
  task& of = tasks_[pod];
  pod_outcome& to = out_.pods[pod];
  switch (one.kind) {
    case decision_kind::bind:
      to.devices = devices_of(cluster_, one.pod);
      must(scheduler_->confirm(one.pod));
      to.is = fate::placed;
      to.node = cluster_.name_of(one.node);
      to.score = one.score;
      start(pod);
      break;
    case decision_kind::wait:
      if (to.is != fate::waiting) to.placed_at = now_;
      to.is = fate::waiting;
      to.devices = devices_of(cluster_, one.pod);
      to.node = cluster_.name_of(one.node);
      to.score = one.score;
      break;
    case decision_kind::revoke:
      to.is = fate::unscheduled;
      note_unplaced(pod);
      to.node.clear();
      to.devices.clear();
      to.score.reset();
      to.placed_at.reset();
      of.placed_in.reset();
      of.tried_in = changes_;
      if (!keeps_volumes_) volumes_.release(pod), volumes_back_ = true;
      break;
    case decision_kind::notice:
    case decision_kind::withdraw: break;  // it gives none
    case decision_kind::nominate: to.nominated_node = cluster_.name_of(one.node); [[fallthrough]];
    case decision_kind::reject:
      ++to.attempts;
      of.tried_in = changes_;
      break;
    case decision_kind::evict: {
      if (preemptor != nobody) out_.pods[preemptor].evicts.push_back(full_name(to));
      evict(pod, for_whom.empty() && one.group != group_id{} ? fmt::format("group {}", cluster_.name_of(one.group))
                                                             : for_whom);
      break;
    }
  }
}

void host::evict(std::size_t pod, std::string by) {
  const bool goes_anyway = what_.pods[pod].spec.terminating;
  pod_outcome& of = out_.pods[pod];
  of.evicted_by = std::move(by);
  of.evicted_at = now_;
  of.is = fate::evicted;
  must(cluster_.set_terminating(tasks_[pod].id, true));
  what_.pods[pod].spec.terminating = true;
  budgets_.note(pod);
  if (orders_) orders_->is_unready(what_.pods[pod], pod);
  changed();
  if (controllers_ && !goes_anyway) carry_out(controllers_->evicted(pod));
  const std::int64_t grace = of_.grace ? what_.pods[pod].grace_seconds : 0;
  if (grace == 0)
    leave(pod, turn::evicted);
  else
    plan(std::chrono::seconds{grace}, pod, turn::evicted);
}

/// Plans an event of the pod. An event at the end of time never happens.
void host::plan(instant after, std::size_t pod, turn what) {
  const instant when = later_by(now_, after);
  if (when != instant::max()) events_.push({when, pod, what});
}

/// Evicts pods of queues whose maximum was lowered. False if no pod has to go now.
bool host::evict_over_maximum() {
  const std::uint64_t before = changes_;
  if (maxima_)
    for (const pod_id one : maxima_->due(cluster_, now_)) {
      const std::size_t pod = cluster_.cookie_of(one);
      if (out_.pods[pod].is == fate::placed || out_.pods[pod].is == fate::running) evict(pod, "its queue's maximum");
    }
  return changes_ != before;
}

/// Does what controllers want. As pods leave, controllers are asked again: new pods exist by then, and pods marked to go do not count.
void host::carry_out(wanted_changes todo) {
  for (wanted_changes::made_pod& one : todo.make) {
    const std::optional<instant> runs = one.instead_of ? tasks_[*one.instead_of].runs : run_time_of(one.pod);
    if (one.instead_of) {
      groups_.is_replaced(*one.instead_of);
      tasks_[*one.instead_of].replaced = true;
      budgets_.note(*one.instead_of);
    }
    std::optional<instant> ends_by;
    if (one.instead_of)
      ends_by = tasks_[*one.instead_of].ends_by;
    else if (const auto after = controllers_->deadline_of(one.pod))
      ends_by = later_by(now_, *after);
    make(std::move(one.pod), runs, ends_by);
  }
  for (const std::size_t pod : todo.end) what_.pods[pod].spec.terminating = true, budgets_.note(pod);
  for (const std::size_t pod : todo.end) end(pod);
}

/// Plans when the pod's Job ends it, with a node or without.
void host::end_by(std::size_t pod, std::optional<instant> when) {
  tasks_[pod].ends_by = when;
  if (when && *when != instant::max()) events_.push({std::max(now_, *when), pod, turn::job_over});
}

void host::make(pod_manifest pod, std::optional<instant> runs, std::optional<instant> ends_by) {
  const std::size_t made = what_.pods.size();
  pod.spec.cookie = made;
  if (runs) pod.spec.expected_run_time = *runs;
  groups_.add(pod);
  out_.pods.push_back(outcome_of(pod));
  tasks_.emplace_back().runs = runs;
  end_by(made, ends_by);
  what_.pods.push_back(std::move(pod));
  budgets_.add(what_.pods[made]);
  volumes_.add(made);
  if (of_.schedules(what_.pods[made].spec.scheduler_name)) return come(made);
  tasks_[made].present = true;
  budgets_.note(made);
  pod_outcome& to = out_.pods.back();
  if (now_ > instant{0}) to.arrived_at = now_;
  to.reason = fmt::format("left to the scheduler \"{}\"", what_.pods[made].spec.scheduler_name);
}

/// The pod's controller deletes it. A pod with a node stays for its grace period.
void host::end(std::size_t pod) {
  const std::int64_t grace = of_.grace && holds_node(out_.pods[pod]) ? what_.pods[pod].grace_seconds : 0;
  if (tasks_[pod].in_cluster) {
    must(cluster_.set_terminating(tasks_[pod].id, true));
    changed();
  } else if (out_.pods[pod].arrived_at > now_) {
    out_.pods[pod].arrived_at.reset();  // it never will
  }
  if (grace == 0)
    leave(pod, turn::over);
  else
    plan(std::chrono::seconds{grace}, pod, turn::over);
}

/// The pod arrives, unless it was ended before.
void host::arrive(std::size_t pod) {
  if (out_.pods[pod].ended_at) return;
  come(pod);
}

/// The pod is there from now on, or waits until others of its StatefulSet run.
void host::come(std::size_t pod) {
  if (orders_ && orders_->hold(what_.pods[pod], pod)) return let_come(pod);
  join(pod);
}

/// Lets the next pod come of the StatefulSet of the pod @p like, if it makes one after the other.
void host::let_come(std::size_t like) {
  if (const auto next = orders_ ? orders_->next(what_.pods[like]) : std::nullopt) join(*next);
}

/// Adds the pod to the cluster.
void host::join(std::size_t pod) {
  task& of = tasks_[pod];
  of.present = true;
  budgets_.note(pod);
  if (orders_) orders_->is_unready(what_.pods[pod], pod);
  if (now_ > instant{0} && !out_.pods[pod].arrived_at) out_.pods[pod].arrived_at = now_;
  static_cast<void>(volumes_.refresh(pod));  // others may have taken some meanwhile
  of.id = must(cluster_.add_pod(must(spec_for(cluster_, what_.pods[pod]))));
  of.in_cluster = true;
  out_.pods[pod].priority = cluster_.priority_of(of.id);
  if (timeline_) timeline_->joins(pod, cluster_, of.id);
}

void host::start(std::size_t pod) {
  out_.pods[pod].placed_at = now_;
  what_.pods[pod].node = out_.pods[pod].node;
  what_.pods[pod].spec.start_time = on_the_clock();
  must(cluster_.update_pod(tasks_[pod].id, must(spec_for(cluster_, what_.pods[pod]))));
  budgets_.note(pod);
  groups_.started(pod, now_);
  if (const auto& deadline = what_.pods[pod].deadline_seconds) plan(std::chrono::seconds{*deadline}, pod, turn::over);
  if (tasks_[pod].runs) plan(*tasks_[pod].runs, pod, turn::over);
  if (of_.live) count_taints(pod, std::chrono::seconds{of_.live->start});
  ++changes_;
  out_.end = now_;
  if (orders_) orders_->runs(what_.pods[pod], pod);
  let_come(pod);
}

/// Plans when taints of its node evict the pod. @p came: when the pod came to the node, from 1970; not after the start of the run.
void host::count_taints(std::size_t pod, instant came) {
  const auto node = evicting_.find(what_.pods[pod].node);
  if (node == evicting_.end()) return;
  auto taint = eviction_from(*node->second, what_.pods[pod], came, std::chrono::seconds{of_.live->start});
  if (!taint) return;
  tasks_[pod].node_taint = std::move(taint->taint);
  plan(std::chrono::seconds{taint->after_seconds}, pod, turn::node_tainted);
}

/// The pod is gone. Nothing happens if it left before, for the other reason.
void host::leave(std::size_t pod, turn why) {
  pod_outcome& of = out_.pods[pod];
  if (of.gone_at || of.ended_at) return;
  if (tasks_[pod].in_cluster) must(cluster_.remove_pod(tasks_[pod].id));
  tasks_[pod].present = false;
  if (timeline_) timeline_->leaves_node(pod, now_);
  what_.pods[pod].spec.terminating = true;
  budgets_.note(pod);
  if (why == turn::evicted || of.is == fate::evicted) {
    of.gone_at = now_;
  } else {
    of.ended_at = now_;
    of.is = fate::ended;
  }
  groups_.left(pod, of.is == fate::ended && !tasks_[pod].cut_off,
               [&](bool composite, const std::string& ns, const std::string& name) { is_done(composite, ns, name); });
  changed();
  if (orders_) orders_->left(what_.pods[pod], pod);
  if (controllers_) carry_out(controllers_->left(pod, now_));
  let_come(pod);
}

/// Tells groups that wait until the one of that name is done.
void host::is_done(bool composite, const std::string& ns, const std::string& name) {
  if (!awaited_.contains({composite, ns, name})) return;
  const std::optional<group_id> group = cluster_.find_group(ns, name, composite);
  const group_spec* const known = group ? cluster_.spec_of(*group) : nullptr;
  if (known == nullptr) return;
  group_spec spec = *known;
  spec.done = true;
  must(cluster_.update_group(*group, spec));
}

/// Room becomes free, now or later: pods are worth trying again.
void host::changed() {
  ++changes_;
  out_.end = now_;
}

/// As the disruption controller counts the pod. What was evicted is missing until there is another pod instead, but one without a
/// controller only until it is gone; what ends for another reason is not.
budget_counts::standing host::standing_of(std::size_t pod) const {
  const pod_manifest& what = what_.pods[pod];
  const task& of = tasks_[pod];
  const bool terminating = what.spec.terminating, evicted = out_.pods[pod].is == fate::evicted;
  const bool expected = terminating ? evicted && !of.replaced && (of.present || !what.owner_kind.empty()) : of.present;
  return {expected, of.present && !terminating && !what.node.empty()};
}

/// Updates disruption budgets, as the disruption controller does in a cluster.
void host::update_budgets() {
  if (what_.budgets.empty()) return;
  budgets_.settle(
      [this](std::size_t pod) { return standing_of(pod); },
      [this](std::size_t budget, std::int32_t allowed) {
        const disruption_budget_manifest& one = what_.budgets[budget];
        const pod_disruption_budget_spec spec{one.name, one.ns, one.selector, allowed, one.disrupted_pods};
        must(cluster_.update_disruption_budget(cluster_.find_disruption_budget(one.ns, one.name).value(), spec));
      });
}

void host::note_unplaced(std::size_t pod) {
  if (!std::exchange(tasks_[pod].listed, true)) unplaced_.push_back(pod);
}

/// Whether every pod was tried since the last change. Pods without any decision so far are gated: only a change helps them.
bool host::all_were_tried() {
  for (std::size_t i = 0; i < unplaced_.size();) {
    task& of = tasks_[unplaced_[i]];
    const fate is = out_.pods[unplaced_[i]].is;
    if (is == fate::waiting || (is == fate::unscheduled && of.tried_in != changes_)) return false;
    if (is == fate::unscheduled) {
      ++i;
      continue;
    }
    of.listed = false;
    unplaced_[i] = unplaced_.back();
    unplaced_.pop_back();
  }
  return true;
}

/// When to look again: at the next event, or at a deadline of the scheduler if another try could bring something new.
std::optional<instant> host::next_time() {
  std::optional<instant> next = scheduler_->next_deadline();
  if (next) *next = *next == instant::max() ? *next : *next - of_.epoch;
  if (next && (*next > later_by(out_.end, patience) || all_were_tried())) next.reset();
  const auto add = [&](instant when) { next = next ? std::min(*next, when) : when; };
  if (!events_.empty()) add(events_.top().when);
  if (const auto acts = controllers_ ? controllers_->next() : std::nullopt) add(*acts);
  if (const auto asks = maxima_ ? maxima_->next(out_.end) : std::nullopt) add(*asks);
  return next;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
