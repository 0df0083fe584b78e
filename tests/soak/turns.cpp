#include <algorithm>
#include <set>
#include <utility>

#include "host.hpp"

/// What the host asks of the scheduler, and answers.
namespace gangsched::soak {

using namespace std::chrono_literals;

void host::pass_time(const step& one) { now_ += one.time; }

/// @return whether there was anything to do.
bool host::cycle_once() {
  called<"scheduler::schedule_cycle">();
  const cycle said = scheduler_->schedule_cycle(now_);
  const auto places = [](const decision& one) {
    return one.kind == decision_kind::bind || one.kind == decision_kind::wait;
  };
  if (std::any_of(said.begin(), said.end(), places)) ++handled_;
  take(said, from::cycle);
  return static_cast<bool>(said);
}

void host::say_permit() {
  called<"scheduler::permit">();
  take(scheduler_->permit(now_), from::permit);
  for (auto& [at, pod] : known_.pods) {
    if (!pod.waiting) continue;
    note_holders(pod);
    if (now_ - pod.wait_since > pod.wait_most) wrong("a pod waits beyond its timeout", text_of(at));
  }
}

/// Each plugin has its time from when it first holds the pod: it may be asked again when the pod or its group has changed. Of those not
/// content yet the least counts; here the most of any since it waits, which an update of its group may have made shorter, from when the
/// last one began.
void host::note_holders(known_pod& pod) {
  const auto said = scheduler_->pending_plugins(pod.id);
  if (!said) wrong("another pod waits for plugins", pod.spec.name);
  const std::set<std::string> now{said->begin(), said->end()};
  const std::set<std::string> before = std::exchange(pod.holders, now);
  if (std::includes(before.begin(), before.end(), now.begin(), now.end())) return;
  pod.wait_since = now_;
  if (now.contains("HostRules")) pod.wait_most = std::max<instant>(pod.wait_most, host_plugin::wait);
  if (!now.contains("GangScheduling")) return;
  const gang* policy = pod.group == nobody ? nullptr : known_.groups.at(pod.group).policy();
  const bool timed = policy != nullptr && policy->mode == gang_mode::permit;
  pod.wait_most = std::max(pod.wait_most, timed ? std::min<instant>(15min, policy->timeout) : 15min);
}

void host::turn() {
  std::size_t most = 300 + 30 * (known_.pods.size() + known_.groups.size());
  while (cycle_once()) {
    if (most-- == 0) wrong("the loop over schedule_cycle does not end");
  }
  say_permit();
  check_deadline();
}

/// Enough time and turns for everybody to have had their chance; then nobody who fits may be left over. Kubernetes' hints know changes
/// that its API allows only: pods changed in other ways wait until their time is up.
void host::settle() {
  if (on_.scheduler.timers == timer_rule::by_host || !scheduler_->in_flight().empty()) return;
  const instant rest = on_.scheduler.wake == wake_rule::hints ? on_.scheduler.unschedulable_timeout : 0s;
  for (int i = 0; i < 5; ++i) {
    now_ += i == 3 ? 11s + rest : 11s;
    turn();
    if (i == 4) break;
    for (auto pod = known_.pods.begin(); pod != known_.pods.end();) {
      const auto one = pod++;
      if (one->second.decided) confirm({.what = act::confirm, .object = one->first});
      if (one->second.evicted) remove_pod({.what = act::remove_pod, .object = one->first});
    }
    turn();
  }
  for (const auto& [at, pod] : known_.pods) {
    if (pod.state == pod_state::pending && cluster_.nominated_node_of(pod.id))
      return;  // room that is kept for somebody
  }
  for (const auto& [at, pod] : known_.pods) {
    if (pod.state != pod_state::pending || pod.terminating || !pod.spec.scheduling_gates.empty() || pod.refused)
      continue;
    const auto stands = scheduler_->standing(pod.id);
    if (!stands || stands->place != queue_place::unschedulable) continue;
    const auto node = simple_place(pod);
    if (node && !refused_by_plugin(pod, *node))
      wrong("a pod that fits stays unschedulable", text_of(at) + ", it fits " + node_name(*node));
    if (const auto fits = explained_place(pod))
      wrong("a pod that explain finds a node for stays unschedulable", text_of(at) + ", it fits " + *fits);
  }
  for (const auto& [at, group] : known_.groups) {
    if (const auto fits = explained_placement(at, group))
      wrong("a gang that explain finds a placement for stays unschedulable", group.spec.name + ", it fits " + *fits);
  }
}

/// Whether a policy of queues, or what was measured, does not let it there as things stand.
bool host::refused_by_plugin(const known_pod& pod, number node) const {
  const auto said = scheduler_->explain(pod.id);
  if (!said) return false;
  const bool in_queue = !pod.spec.queue.empty() || !queue_of(pod).empty();
  const auto refuses = [&](std::string_view plugin) {
    const bool by_queue = plugin == "FairShare" || plugin == "CapacityScheduling" || plugin == "ElasticQuota" ||
                          plugin == "HiveD" || plugin == "Kueue" || plugin == "Volcano" || plugin == "YuniKorn";
    return by_queue ? in_queue : plugin == "LoadAwareScheduling";
  };
  if (refuses(said->rejected_by)) return true;
  return std::any_of(said->nodes.begin(), said->nodes.end(),
                     [&](const node_verdict& one) { return one.name == node_name(node) && refuses(one.plugin); });
}

/// A node that all filters let the pod on, where nothing but filters and quotas decides about that.
std::optional<std::string> host::explained_place(const known_pod& pod) const {
  if (pod.spec.group || on_.host_plugin || pod.spec.reservation) return std::nullopt;
  const auto said = scheduler_->explain(pod.id);
  if (!said || !said->rejected_by.empty()) return std::nullopt;
  for (const node_verdict& one : said->nodes)
    if (one.code == code::success) return one.name;
  return std::nullopt;
}

/// A placement that takes a gang of which nobody is placed, all of whom are unschedulable.
std::optional<std::string> host::explained_placement(number at, const known_group& group) const {
  if (group.above != nobody || group.policy() == nullptr || on_.host_plugin) return std::nullopt;
  if (group.spec.done || !group.spec.ratios.empty()) return std::nullopt;
  bool waits = false;
  for (const auto& [other, pod] : known_.pods) {
    if (pod.group != at) continue;
    const auto stands = scheduler_->standing(pod.id);
    if (pod.state != pod_state::pending || pod.terminating || pod.refused || pod.spec.reservation ||
        !pod.spec.scheduling_gates.empty() || !stands || stands->place != queue_place::unschedulable)
      return std::nullopt;
    waits = true;
  }
  if (!waits) return std::nullopt;
  const auto said = scheduler_->explain(group.id);
  if (!said || said->size() != 1) return std::nullopt;
  for (const placement_verdict& one : said->front().placements)
    if (one.feasible) return one.name + " (" + said->front().summary + ")";
  return std::nullopt;
}

/// A node that takes the pod for certain.
std::optional<number> host::simple_place(const known_pod& pod) const {
  if (!is_simple(pod.spec)) return std::nullopt;
  if (pod.spec.deadline && now_ > *pod.spec.deadline - pod.spec.expected_run_time) return std::nullopt;  // Deadline
  for (const auto& [at, node] : known_.nodes) {
    if (node.spec.devices.numa || !admits(node.spec, pod.spec, on_.cluster.semantics.release())) continue;
    bool fits = true;
    for (std::size_t i = 0; i < resources.size(); ++i) {
      fits = fits &&
             (pod.needs[i] == 0 || cluster_.requested(node.id, resources[i]) + pod.needs[i] <= node.allocatable[i]);
    }
    for (const auto& [other_at, other] : known_.pods) {
      if (other.node == nobody || !fits) continue;
      fits = !is_against(other.spec, known_.nodes.at(other.node).spec, pod.spec, node.spec);
    }
    if (fits) return at;
  }
  return std::nullopt;
}

void host::confirm(const step& one) {
  const auto pod = known_.pods.find(one.object);
  if (pod == known_.pods.end() || !pod->second.decided) return;
  called<"cluster::attempt_of">();
  if (cluster_.attempt_of(pod->second.id) != pod->second.attempt)
    wrong("a pod has its node by another attempt than was decided", text_of(one.object));
  if (one.details().percent(80)) {
    called<"scheduler::confirm(pod_id, bind_attempt)">();
    must(scheduler_->confirm(pod->second.id, pod->second.attempt), "confirm");
  } else {
    called<"scheduler::confirm(pod_id)">();
    must(scheduler_->confirm(pod->second.id), "confirm");
  }
  pod->second.state = pod_state::bound;
  pod->second.decided = false;
  if (const auto holder = known_.pods.find(number_of(cluster_.reservation_of(pod->second.id)));
      holder != known_.pods.end())
    holder->second.used_up = holder->second.used_up || holder->second.spec.reservation->once;
}

/// An answer about a pod that is owed none.
void host::confirm_again(const step& one) {
  const auto pod = known_.pods.find(one.object);
  if (pod == known_.pods.end() || pod->second.decided) return;
  const std::uint64_t before = inside(cluster_).digest_with_derived();
  const auto other = static_cast<bind_attempt>(static_cast<std::uint64_t>(cluster_.attempt_of(pod->second.id)) + 1);
  const auto late = scheduler_->confirm(pod->second.id, other);
  const cycle late_failure = scheduler_->fail(pod->second.id, other, "late");
  if (late || late.error().code != errc::outdated || late_failure.error() == nullptr ||
      late_failure.error()->code != errc::outdated) {
    wrong("an answer about another attempt is taken", text_of(one.object));
  }
  const auto confirmed = scheduler_->confirm(pod->second.id);
  if (confirmed || confirmed.error().code != errc::wrong_state)
    wrong("confirm of a pod that was not decided is taken", text_of(one.object));
  if (pod->second.state != pod_state::assumed &&
      !pod->second.in_flight) {  // a waiting one may be failed: the host gives up
    const cycle failed = scheduler_->fail(pod->second.id, "late");
    if (failed.error() == nullptr || failed.error()->code != errc::wrong_state)
      wrong("fail of a pod that has nothing reserved is taken", text_of(one.object));
  }
  if (inside(cluster_).digest_with_derived() != before)
    wrong("an answer that is refused changes something", text_of(one.object));
}

void host::fail(const step& one) {
  const auto pod = known_.pods.find(one.object);
  if (pod == known_.pods.end() || pod->second.state != pod_state::assumed) return;
  const bool names = (pod->second.waiting || pod->second.decided) && one.details().percent(80);
  if (names)
    called<"scheduler::fail(pod_id, bind_attempt)">();
  else
    called<"scheduler::fail(pod_id, std::string_view)">();
  const cycle said = names ? scheduler_->fail(pod->second.id, pod->second.attempt, "the host could not")
                           : scheduler_->fail(pod->second.id, "the host could not");
  pod->second.state = pod_state::pending;
  pod->second.node = nobody;
  pod->second.waiting = pod->second.decided = pod->second.in_flight = false;
  take(said, from::fail);
}

void host::rule_waiting(const step& one) {
  const auto pod = known_.pods.find(one.object);
  if (pod == known_.pods.end()) return;
  result<void> said;
  if (one.what == act::allow) {
    called<"scheduler::pending_plugins">();
    const auto holders = scheduler_->pending_plugins(pod->second.id);
    if (holders.has_value() != pod->second.waiting) wrong("another pod waits for plugins", text_of(one.object));
    dice any = one.details();
    const std::string holder = holders && !holders->empty() && any.percent(50) ? any.of(*holders) : "";
    if (holder.empty()) {
      called<"scheduler::allow(pod_id)">();
      said = scheduler_->allow(pod->second.id);
    } else {
      called<"scheduler::allow(pod_id, std::string_view)">();
      said = scheduler_->allow(pod->second.id, holder);
    }
    const bool overrules = said && (holder.empty() || holder == "GangScheduling");
    pod->second.overruled = pod->second.overruled || overrules;
    for (number of = pod->second.group; overrules && known_.groups.contains(of); of = known_.groups.at(of).above) {
      known_.groups.at(of).overruled = true;
    }
  } else {
    called<"scheduler::reject">();
    said = scheduler_->reject(pod->second.id, "the host minds");
  }
  if (said.has_value() != pod->second.waiting)
    wrong("allow or reject of a waiting pod is refused, or of another taken", text_of(one.object));
}

void host::activate(const step& one) {
  const auto pod = known_.pods.find(one.object);
  if (pod == known_.pods.end()) return;
  const pod_id id = pod->second.id;
  called<"scheduler::activate">();
  must(scheduler_->activate({&id, 1}, now_), "activate");
}

void host::restore(const step& one) {
  const auto pod = known_.pods.find(one.object);
  if (pod == known_.pods.end()) return;
  dice any = one.details();
  const queue_position stood{.failures = static_cast<std::uint32_t>(any.below(5)),
                             .since = now_ - 1s * any.between(0, 30)};
  called<"scheduler::restore(pod_id)">();
  if (tell([&] { return scheduler_->restore(pod->second.id, stood); }) && pod->second.state != pod_state::pending) {
    wrong("restore of a pod that is not pending is taken", text_of(one.object));
  }
}

void host::flush() {
  called<"scheduler::flush_backoff">();
  must(scheduler_->flush_backoff(now_), "flush_backoff");
  called<"scheduler::flush_unschedulable">();
  must(scheduler_->flush_unschedulable(now_), "flush_unschedulable");
}

void host::pop() {
  if (!on_.host_decides) return;
  called<"scheduler::pop">();
  const auto popped = must(scheduler_->pop(now_), "pop");
  check_states("pop");
  if (!popped) return;
  const auto of = std::find_if(known_.pods.begin(), known_.pods.end(),
                               [&](const auto& one) { return one.second.id == popped->pod; });
  if (of == known_.pods.end()) wrong("pop returns a pod that is not there");
  if (of->second.state != pod_state::pending) wrong("pop returns a pod that has a node", text_of(of->first));
  if (of->second.terminating || !of->second.spec.scheduling_gates.empty())
    wrong("pop returns a pod that is gated or terminates", text_of(of->first));
  if (popped->number == 0) wrong("attempts are not counted");
  of->second.in_flight = true;
  of->second.given_up = false;
}

void host::decide(const step& one) {
  called<"scheduler::in_flight">();
  const std::vector<attempt> flying = scheduler_->in_flight();
  if (flying.empty()) return;
  const attempt first = flying.front();
  const auto found = std::find_if(known_.pods.begin(), known_.pods.end(),
                                  [&](const auto& one_of) { return one_of.second.id == first.pod; });
  dice any = one.details();
  const rejected_by why = any.percent(80) ? rejected_by{{"NodeResourcesFit"}, {}} : rejected_by{};
  if (first.group) {
    if (any.percent(80)) {
      called<"scheduler::add_unschedulable(group_id)">();
      static_cast<void>(tell([&] { return scheduler_->add_unschedulable(first.group, why, now_); }));
    } else {
      called<"scheduler::done(group_id)">();
      if (tell([&] { return scheduler_->done(first.group); })) {
        for (auto& [at, pod] : known_.pods) pod.given_up = pod.given_up || pod.group != nobody;
      }
    }
    return;
  }
  if (found == known_.pods.end()) {
    called<"scheduler::done(pod_id)">();
    static_cast<void>(tell([&] { return scheduler_->done(first.pod); }));
    return;
  }
  known_pod& pod = found->second;
  pod.in_flight = false;
  const std::optional<number> node =
      pod.state == pod_state::pending && !pod.terminating ? simple_place(pod) : std::nullopt;
  if (node && pod.spec.scheduling_gates.empty() && any.percent(85)) {
    called<"cluster::assume">();
    if (!tell([&] { return cluster_.assume(pod.id, known_.nodes.at(*node).id); })) return;
    pod.state = pod_state::assumed;
    pod.node = *node;
    if (any.percent(20)) {
      fail({.what = act::fail, .object = found->first});
      return;
    }
    called<"cluster::bind">();
    must(cluster_.bind(pod.id), "bind");
    pod.state = pod_state::bound;
    pod.by_others = true;
  } else if (any.percent(70)) {
    called<"scheduler::add_unschedulable(pod_id)">();
    if (tell([&] { return scheduler_->add_unschedulable(pod.id, why, now_); })) pod.refused = true;
  } else {
    called<"scheduler::done(pod_id)">();
    if (tell([&] { return scheduler_->done(pod.id); })) pod.given_up = true;
  }
}

/// The host starts anew beside a cluster that is as it was.
void host::restart() {
  called<"scheduler::scheduler(cluster &, kernel_table)">();
  called<"scheduler::scheduler(cluster &, std::vector<kernel_table>)">();
  called<"scheduler::check">();
  std::vector<kernel_table> tables = make_tables(on_, rules_);
  must(scheduler::check(tables), "check");
  if (tables.size() == 1)
    scheduler_ = std::make_unique<scheduler>(cluster_, std::move(tables.front()), on_.scheduler);
  else
    scheduler_ = std::make_unique<scheduler>(cluster_, std::move(tables), on_.scheduler);
  called<"scheduler::observe">();
  must(scheduler_->observe(&watcher_), "observe");
  owed_.clear();  // what was not said nobody says any more
  for (auto& [at, pod] : known_.pods) pod.noticed.reset();
  handled_ = 0;
  for (auto& [at, pod] : known_.pods) {
    if (pod.state == pod_state::assumed) pod.decided = true, pod.attempt = cluster_.attempt_of(pod.id);
    pod.waiting = pod.in_flight = pod.given_up = pod.refused = false;
  }
}

void host::roll_back(const step& one) {
  dice any = one.details();
  const auto some = [&any](const auto& all) {
    return std::next(all.begin(), static_cast<std::ptrdiff_t>(any.below(all.size())));
  };
  const std::uint64_t before = inside(cluster_).digest_with_derived();
  {
    transaction outer{cluster_};
    for (std::uint64_t i = 0; i < 4 && !known_.nodes.empty(); ++i) {
      std::optional<transaction> inner;
      if (any.percent(30)) inner.emplace(cluster_);
      const auto node = some(known_.nodes);
      step made{.what = act::add_pod, .object = static_cast<number>(1'000'000 + i), .seed = any.next()};
      if (any.percent(20)) {
        made.object = node->first;
        static_cast<void>(cluster_.update_node(node->second.id, make_node(made)));
      }
      if (any.percent(30)) static_cast<void>(cluster_.add_pod(make_pod(made, {})));
      if (any.percent(20)) static_cast<void>(cluster_.add_node(make_node(made)));
      if (any.percent(10)) static_cast<void>(cluster_.remove_node(node->second.id));
      if (known_.pods.empty()) continue;
      const auto pod = some(known_.pods);
      if (any.percent(50)) static_cast<void>(cluster_.assume(pod->second.id, node->second.id));
      if (any.percent(20)) {
        called<"cluster::release">();
        static_cast<void>(cluster_.release(pod->second.id));
      }
      if (any.percent(20)) static_cast<void>(cluster_.bind(pod->second.id));
      if (any.percent(20)) {
        called<"cluster::nominate">();
        static_cast<void>(cluster_.nominate(pod->second.id, node->second.id));
      }
      if (any.percent(30)) static_cast<void>(cluster_.remove_pod(pod->second.id));
      if (inner && any.percent(50)) inner->commit();
    }
    if (any.percent(50)) outer.roll_back();
  }
  if (inside(cluster_).digest_with_derived() != before) wrong("the digest after a roll-back is not that before");
}

void host::commit(const step& one) {
  const auto pod = known_.pods.find(one.object);
  if (pod == known_.pods.end() || pod->second.state != pod_state::pending || pod->second.in_flight) return;
  if (pod->second.terminating || !pod->second.spec.scheduling_gates.empty()) return;
  const std::optional<number> node = simple_place(pod->second);
  if (!node) return;
  transaction kept{cluster_};
  must(cluster_.assume(pod->second.id, known_.nodes.at(*node).id), "assume");
  must(cluster_.bind(pod->second.id), "bind");
  kept.commit();
  pod->second.state = pod_state::bound;
  pod->second.node = *node;
  pod->second.by_others = true;
}

}  // namespace gangsched::soak
