#include "host.hpp"

#include <utility>

namespace gangsched::soak {

host::host(const setting& on) : on_(on), cluster_(on.cluster), record_(start_record(cluster_)) { restart(); }

void host::carry_out(const step& one) {
  switch (one.what) {
    case act::add_node: add_node(one); break;
    case act::update_node: update_node(one); break;
    case act::remove_node: remove_node(one); break;
    case act::set_device_health: set_device_health(one); break;
    case act::add_pod: add_pod(one); break;
    case act::add_pods: add_pods(one); break;
    case act::update_pod: update_pod(one); break;
    case act::resize_pods: resize_pods(one); break;
    case act::remove_pod: remove_pod(one); break;
    case act::set_terminating: set_terminating(one); break;
    case act::add_group: add_group(one); break;
    case act::expect_group: expect_group(one); break;
    case act::update_group: update_group(one); break;
    case act::remove_group: remove_group(one); break;
    case act::set_namespace:
    case act::remove_namespace:
    case act::set_service:
    case act::remove_service:
    case act::set_controller:
    case act::remove_controller:
    case act::set_priority_class:
    case act::remove_priority_class: change_name(one); break;
    case act::add_claim:
    case act::remove_claim:
    case act::deallocate: change_claim(one); break;
    case act::add_budget:
    case act::update_budget:
    case act::remove_budget: change_budget(one); break;
    case act::hold_room: hold_room(one); break;
    case act::set_column: set_column(one); break;
    case act::change_queue: change_queue(one); break;
    case act::reserve:
      called<"cluster::reserve">();
      must(cluster_.reserve({.nodes = 20, .pods = 60, .groups = 10}), "reserve");
      break;
    case act::roll_back: roll_back(one); break;
    case act::commit: commit(one); break;
    case act::pass_time: pass_time(one); break;
    case act::cycle: cycle_once(); break;
    case act::turn: turn(); break;
    case act::settle: settle(); break;
    case act::catch_up:
      called<"scheduler::catch_up">();
      must(scheduler_->catch_up(now_), "catch_up");
      check_usage();
      check_queue();
      break;
    case act::flush: flush(); break;
    case act::pop: pop(); break;
    case act::decide: decide(one); break;
    case act::confirm: confirm(one); break;
    case act::confirm_again: confirm_again(one); break;
    case act::fail: fail(one); break;
    case act::allow:
    case act::reject: rule_waiting(one); break;
    case act::activate: activate(one); break;
    case act::restore: restore(one); break;
    case act::forget_cached:
      called<"scheduler::forget_cached">();
      must(scheduler_->forget_cached(), "forget_cached");
      break;
    case act::restart: restart(); break;
    case act::rebuild: rebuild(); break;
    case act::sabotage:
      if (on_.broken_hooks) rules_->calls_left = static_cast<int>(1 + one.details().below(40));
      break;
    case act::ask: ask(one); break;
    case act::misuse: misuse(one); break;
    case act::verify: {
      called<"scheduler::verify">();
      const result<void> same = scheduler_->verify();
      if (!same && !rules_->threw) wrong("verify finds a difference", same.error().message());
      error_owed_ = std::exchange(rules_->threw, false) || error_owed_;
      break;
    }
  }
  ++counts_.steps;
  note_satisfied();
  fork(one);
  snapshot();
  check_states(to_string(one.what).data());
}

void host::finish() {
  rules_->calls_left = 0;
  check_usage();
  while (!known_.pods.empty()) remove_pod({.what = act::remove_pod, .object = known_.pods.begin()->first});
  for (const attempt& one : scheduler_->in_flight()) {  // even of who is gone an attempt ends when the host says so
    called<"scheduler::done(pod_id)">();
    must(one.group ? scheduler_->done(one.group) : scheduler_->done(one.pod), "done");
  }
  turn();
  for (const auto& [at, claim] : known_.claims) {
    must(cluster_.deallocate(claim.id), "deallocate");
    must(cluster_.remove_resource_claim(claim.id), "remove_resource_claim");
  }
  known_.claims.clear();
  check_usage();
  while (!known_.groups.empty()) {
    const number first = known_.groups.begin()->first;
    remove_group({.what = act::remove_group, .object = first});
    if (known_.groups.contains(first)) {  // it has groups below it
      for (const auto& [at, group] : known_.groups) {
        if (group.above != first) continue;
        remove_group({.what = act::remove_group, .object = at});
        break;
      }
    }
  }
  turn();
  const queue_counts left = scheduler_->counts();
  if (left.active + left.backoff + left.unschedulable + left.gated + left.waiting + left.in_flight != 0) {
    std::string text;
    for (const std::size_t one :
         {left.active, left.backoff, left.unschedulable, left.gated, left.waiting, left.in_flight})
      text += std::to_string(one) + " ";
    wrong("the queue is not empty in the end", text);
  }
  for (const auto& [name, spec] : known_.queues)
    must(cluster_.queues().remove(*cluster_.queues().find(name)), "remove");
  if (!cluster_.queues().all().empty()) wrong("there are queues in the end");
  known_.queues.clear();
  if (!cluster_.pods().empty() || !cluster_.assumed().empty()) wrong("there are pods in the end");
  check_own_column();
  while (!known_.nodes.empty()) remove_node({.what = act::remove_node, .object = known_.nodes.begin()->first});
  turn();
  if (scheduler_->next_deadline()) wrong("there is a deadline of nothing");
  must(scheduler_->verify(), "verify");
  check_record();
}

std::string host::text_of(number at) const {
  const auto found = known_.pods.find(at);
  if (found == known_.pods.end()) return pod_name(at);
  const known_pod& pod = found->second;
  std::string text = pod.spec.name + " (" + std::to_string(pod.priority);
  if (pod.state == pod_state::pending) text += ", pending";
  if (pod.state == pod_state::assumed) text += ", assumed";
  if (pod.state == pod_state::bound) text += ", bound";
  if (pod.node != nobody) text += " on " + node_name(pod.node);
  if (pod.waiting) text += ", waits";
  if (pod.terminating) text += ", terminates";
  if (pod.evicted) text += ", evicted";
  if (pod.by_others) text += ", by others";
  if (pod.group != nobody) text += ", of " + text_of_group(pod.group);
  return text + ")";
}

std::string host::text_of_group(number at) const {
  const auto found = known_.groups.find(at);
  if (found == known_.groups.end()) return group_name(at);
  const known_group& group = found->second;
  std::string text = group.spec.name;
  if (group.expected) return text + ", expected";
  if (const gang* policy = group.policy()) {
    text += policy->mode == gang_mode::permit ? ", permit" : ", cycle";
    text += ", " + std::to_string(known_.ready(at)) + " of " + std::to_string(known_.members(at)) + " placed, least " +
            std::to_string(policy->min_count);
    if (policy->max_count) text += ", most " + std::to_string(*policy->max_count);
  }
  if (group.spec.priority) text += ", priority " + std::to_string(*group.spec.priority);
  if (group.above != nobody) text += ", below " + group_name(group.above);
  return text;
}

}  // namespace gangsched::soak
