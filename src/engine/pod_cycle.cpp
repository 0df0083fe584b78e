#include "gangsched/engine/pod_cycle.hpp"

#include <algorithm>

#include "gangsched/model/transaction.hpp"

namespace gangsched::engine {

GANGSCHED_INLINE void pod_cycle::run(row_t pod) {
  picked found = picks_->pick(pod);
  if (found.node != no_row) {
    place(pod, found);
    return;
  }
  const bool error = found.said.code == code::error;
  if (!error && holdings_->take_back(state_->pods.group[pod], {pod, false})) {
    found = picks_->pick(pod);
    if (found.node != no_row) return place(pod, found);
  }
  if (error || !preempt_for(pod, found.rejectors)) reject(pod, found);
  // Every pod of the class would have been told the same, except by hooks that ask the pod itself, and where it is nominated.
  const class_plan& plan = picks_->plan_of(state_->pods.cls[pod]);
  const bool personal = !plan.cycle_hooks.empty() || std::any_of(plan.filters.begin(), plan.filters.end(), [](const planned& hook) {
    return hook.plugin->filter.opaque;
  });
  if (error || personal || found.kept) queue_->unschedulable().pass_on(pod);
  else queue_->unschedulable().forget_wake(pod);
}

/// Reserves the node, runs reserve and permit hooks; one of them may send the pod back.
GANGSCHED_INLINE void pod_cycle::place(row_t pod, const picked& where) {
  state_->nodes.prefetch(where.node);
  state_->nodes.first_pod.prefetch(where.node);
  gangsched::detail::prefetch(&state_->nodes.record[where.node]->cookie);  // for the decision
  picked refused;
  if (!state_->fits_in_words(where.node, state_->classes[state_->pods.cls[pod]])) {
    refused.said = status::error("the node's usage would not fit into 64 bits");
    reject(pod, refused);
    return queue_->unschedulable().pass_on(pod);
  }
  std::vector<column_use> uses;
  if (entities_->profile_of(pod).at(point::reserve).empty()) {
    if (!reservations_->assume(pod, where.node, refused.said)) {
      reject(pod, refused);
      return queue_->unschedulable().pass_on(pod);
    }
  } else {
    const std::uint64_t from = state_->log.end();
    transaction attempt{*state_};
    if (!reservations_->assume(pod, where.node, refused.said) || !reservations_->reserve(pod, where.node, uses, refused.said)) {
      attempt.roll_back();
      reject(pod, refused);
      return queue_->unschedulable().pass_on(pod);
    }
    attempt.commit();
    state_->log.mark_undone(from);  // columns that reserve hooks count up help nobody
    if (!uses.empty()) reservations_->keep(pod, std::move(uses));
  }
  queue_->count_out(pod);
  if (binding_->begin(pod, where.score)) holdings_->call_older(state_->pods.group[pod]);
  queue_->unschedulable().pass_on(pod);
}

GANGSCHED_INLINE void pod_cycle::reject(row_t pod, const picked& why) {
  const bool error = why.said.code == code::error;
  if (error) error_->set({pod, false}, why.said.reason);
  decision& said = decisions_->add(decision_kind::reject, pod);
  said.code = why.said.ok() ? code::unschedulable : why.said.code;
  said.reason = why.said.reason;
  const entity e = entities_->entity_of(pod);
  if (e.group) return;  // a member: its group decides when it comes back
  if (error) queue_->retry_pod(pod);
  else queue_->park(pod, why.rejectors);
  if (!error) binding_->revoke_strict_gang(state_->pods.group[pod]);
}

/// The result only nominates. False if nobody was helped.
GANGSCHED_INLINE bool pod_cycle::preempt_for(row_t pod, std::uint64_t rejectors) {
  const preemption_result found = preemption_->for_pod(pod, rejectors);
  if (found.broken.code == code::error) {
    picked failed;
    failed.said = found.broken;
    reject(pod, failed);
    return true;
  }
  found.add_to(*decisions_);
  for (const auto& [waiting, by] : found.waits) queue_->park(waiting, queue_->by_hints() ? by : ~std::uint64_t{0});
  for (const pod_id victim : found.victims) binding_->evict(victim, found.reason);
  return found.helped;
}

}  // namespace gangsched::engine
