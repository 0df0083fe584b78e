#include "gangsched/engine/group_cycle.hpp"

#include <algorithm>

namespace gangsched::engine {

GANGSCHED_INLINE void group_cycle::run(row_t group) {
  const pod_table& pods = state_->pods;
  parts_->enter(group);
  const group_part whole = parts_->of(group);
  const std::vector<row_t> members = whole.all_members();
  queue_->note_ratios(group);
  if (members.empty()) return queue_->unschedulable().pass_on_group(group);
  if (const status said = parts_->disagreement(group); !said.ok()) {
    reject(group, whole, {said});
    queue_->unschedulable().add_hopeless_group(group, said.reason);
    queue_->unschedulable().pass_on_group(group);
    return;
  }
  std::uint64_t from = state_->log.end();
  group_placement outcome = search_->place(whole);
  if (!outcome.verdict.ok() && outcome.verdict.code != code::error && holdings_->take_back(group, {group, true})) {
    from = state_->log.end();  // others hear of what was taken back
    outcome = search_->place(whole);
  }
  if (!outcome.verdict.ok()) {
    const bool error = outcome.verdict.code == code::error;
    if (error && !outcome.of_group) error_->set({group, true}, outcome.verdict.reason);
    reject(group, whole, outcome);
    // (Age decides who takes the room of pods that wait.)
    if (error || !binding_->waiting().empty()) queue_->unschedulable().pass_on_group(group);
    else queue_->unschedulable().fail_alike_groups(group);
    return;
  }
  state_->log.mark_undone(from);
  queue_->places().item({group, true}).failures = 0;

  std::vector<member_place> placed = outcome.members.take();
  for (member_place& one : placed) {
    queue_->count_out(one.pod);
    if (!one.uses.empty()) reservations_->keep(one.pod, std::move(one.uses));
  }
  for (const member_place& one : placed) {
    if (pods.state[one.pod] != pod_state::assumed) continue;
    if (binding_->begin(one.pod, one.score)) holdings_->call_older(pods.group[one.pod]);
  }
  // Those above the minimum that did not fit fail singly and come back as the group: at once, with its old timestamp, while some member
  // finds a node each time (kube-workloads 4, behaviour 17). The cycle in which none does may preempt.
  std::vector<row_t> tried;
  bool kept = true;  // what a permit or bind hook sent back waits for its time
  for (const member_place& one : placed) {
    tried.push_back(one.pod);
    kept = kept && pods.state[one.pod] != pod_state::pending;
  }
  std::sort(tried.begin(), tried.end());
  bool left = false;
  for (const row_t pod : members) {
    if (pods.state[pod] != pod_state::pending || std::binary_search(tried.begin(), tried.end(), pod)) continue;
    left = true;
    decisions_->add(decision_kind::reject, pod).code = code::unschedulable;
  }
  if (left && kept && !entities_->members_enter_singly()) queue_->places().activate({group, true});
  else if (left) queue_->park_group(group, outcome.rejectors);
  queue_->unschedulable().pass_on_group(group);
}

/// Victims go for the group, which tries again when they are gone. False if it was not helped; @p broken: why, if that is an error.
GANGSCHED_INLINE bool group_cycle::preempt_for(row_t group, status& broken) {
  const preemption_result found = preemption_->for_group(group);
  if (found.broken.code == code::error) {
    error_->set({group, true}, found.broken.reason);
    broken = found.broken;
  }
  found.add_to(*decisions_);
  // Before its victims leave, so that it hears of them. Without any the places that were found are tried next time.
  if (found.helped && found.victims.empty() && !entities_->members_enter_singly()) queue_->retry_group(group, false, false);
  else if (found.helped) queue_->park_group(group, ~std::uint64_t{0});
  for (const pod_id victim : found.victims) binding_->evict(victim, found.reason);
  return found.helped;
}

GANGSCHED_INLINE void group_cycle::reject(row_t group, const group_part& whole, const group_outcome& why) {
  status verdict = why.verdict;
  if (verdict.code != code::error && preempt_for(group, verdict)) return;
  const bool error = verdict.code == code::error;
  const std::vector<row_t> members = whole.all_members();
  for (const row_t pod : members) {
    decision& said = decisions_->add(decision_kind::reject, pod);
    said.code = verdict.code;
    said.reason = verdict.reason;
  }
  if (error) queue_->retry_group(group, true, true);
  else queue_->park_group(group, why.rejectors, why.verdict.reason);
}

}  // namespace gangsched::engine
