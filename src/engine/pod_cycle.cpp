#include "gangsched/engine/pod_cycle.hpp"

#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void pod_cycle::run(row_t pod) {
  if (with_.backfilling.is_over({pod, false})) return expire(pod);
  if (const refusal no = with_.queue.ask_admission({pod, false})) return refuse(pod, no);
  if (const std::optional<instant> then = with_.backfilling.planned_start({pod, false})) return wait_for(pod, *then);
  picked found = picks_->pick(pod);
  if (found.node != no_row) {
    place(pod, found);
    return;
  }
  const bool error = found.said.code == code::error;
  if (!error && with_.holdings.take_back(with_.state.pods.group[pod], {pod, false})) {
    found = picks_->pick(pod);
    if (found.node != no_row) return place(pod, found);
  }
  if (const entity e = with_.entities.entity_of(pod); !error && !e.group && with_.backfilling.make_way(e)) {
    found = picks_->pick(pod);
    if (found.node != no_row) return place(pod, found);
  }
  with_.decisions.rejections().keep(pod, found.said, picks_->rejectors_of(pod, found), picks_->words(pod, found));
  std::optional<instant> retry_at;
  const bool helped = !error && preempt_for(pod, found.rejectors, retry_at);
  if (!helped) reject(pod, found);
  if (retry_at) with_.queue.unschedulable().retry_at({pod, false}, *retry_at);
  // Every pod of the class would have been told the same, except by hooks that ask the pod itself, and where it is nominated. If others go
  // for it, more may go for the next one.
  const class_plan& plan = picks_->plan_of(with_.state.pods.cls[pod]);
  const bool personal = !plan.cycle_hooks.empty() || plan.filters_tell_apart(with_.state, pod);
  if (helped || error || personal || found.kept)
    with_.queue.unschedulable().pass_on(pod);
  else
    with_.queue.unschedulable().forget_wake(pod);
}

/// Reserves the node, runs reserve and permit hooks; one of them may send the pod back.
GANGSCHED_INLINE void pod_cycle::place(row_t pod, const picked& where) {
  const model::node_table& nodes = with_.state.nodes;
  nodes.record.prefetch(where.node), nodes.inventory.prefetch(where.node);
  nodes.used.prefetch(where.node, 1), nodes.first_pod.prefetch(where.node);
  gangsched::detail::prefetch(&nodes.record[where.node]->cookie);  // for the decision
  picked refused;
  if (!with_.state.assigned.fits_in_words(where.node, with_.state.classes[with_.state.pods.cls[pod]])) {
    refused.said = status::error("the node's usage would not fit into 64 bits");
    return refuse_place(pod, refused, nullptr);
  }
  const kernel_table& profile = with_.entities.profile_of(pod);
  if (profile.at(point::reserve).empty()) {
    if (!with_.reserved.assume(pod, where.node, refused.said)) return refuse_place(pod, refused, nullptr);
  } else {
    const std::uint64_t from = with_.state.log.end();
    transaction attempt{with_.state};
    if (!with_.reserved.assume(pod, where.node, refused.said) ||
        !with_.reserved.reserve(pod, where.node, refused.said)) {
      attempt.roll_back();
      return refuse_place(pod, refused, with_.reserved.refused_by());
    }
    attempt.commit();
    with_.state.log.mark_undone(from);  // columns that reserve hooks add to help no pod
  }
  with_.queue.count_out(pod);
  if (with_.binding.begin(pod, profile, where.score)) with_.holdings.call_older(with_.state.pods.group[pod]);
  with_.queue.unschedulable().pass_on(pod);
}

/// The node that was picked cannot be had.
GANGSCHED_INLINE void pod_cycle::refuse_place(row_t pod, const picked& why, const plugin_entry* by) {
  with_.decisions.rejections().keep(pod, with_.entities.profile_of(pod), by, why.said);
  reject(pod, why);
  with_.queue.unschedulable().pass_on(pod);
}

/// Says that it was rejected; returns whether that is an error.
GANGSCHED_INLINE bool pod_cycle::tell(row_t pod, const status& why) {
  const bool error = why.code == code::error;
  if (error) with_.error.set({pod, false}, why.reason, picks_->errors.whose(why));
  decision& said = with_.decisions.add(decision_kind::reject, pod);
  said.code = why.ok() ? code::unschedulable : why.code;
  // (What a plan or a picker keeps may go before the decision does.)
  if (why.reason != nullptr) said.reason = with_.decisions.texts().keep(why.reason);
  return error;
}

/// It is to start then.
GANGSCHED_INLINE void pod_cycle::wait_for(row_t pod, instant then) {
  with_.backfilling.plan({pod, false}, then);
  const status later = status::pending(starts_later);
  with_.decisions.rejections().keep(pod, later, 0, nullptr);
  static_cast<void>(tell(pod, later));
  with_.queue.wait_until({pod, false}, then);
  with_.queue.unschedulable().pass_on(pod);
}

/// A reservation that had no node in its time.
GANGSCHED_INLINE void pod_cycle::expire(row_t pod) {
  const status over = status::unresolvable(time_is_over);
  with_.backfilling.end_reservation({pod, false});
  with_.decisions.rejections().keep(pod, with_.entities.profile_of(pod), nullptr, over);
  static_cast<void>(tell(pod, over));
  with_.queue.wait_until({pod, false}, instant::max());
  with_.queue.unschedulable().pass_on(pod);
}

/// Its attempt ends before it began.
GANGSCHED_INLINE void pod_cycle::refuse(row_t pod, const refusal& why) {
  with_.decisions.rejections().keep(pod, with_.entities.profile_of(pod), why.by, why.said);
  const bool error = tell(pod, why.by != nullptr ? picks_->errors.note(why.by->name, why.said) : why.said);
  with_.backfilling.refused({pod, false}, why);
  with_.queue.refuse({pod, false}, why);
  if (!error) with_.binding.revoke_strict_gang(with_.state.pods.group[pod]);
}

GANGSCHED_INLINE void pod_cycle::reject(row_t pod, const picked& why) {
  const entity e = with_.entities.entity_of(pod);
  // (Hooks are asked, and may throw: before anything is said.)
  refusal late;
  if (why.said.code != code::error && !e.group && with_.backfilling.on() && !with_.binding.awaits_victims(e))
    late = with_.backfilling.reserve(e);
  if (late) with_.decisions.rejections().keep(pod, with_.entities.profile_of(pod), late.by, late.said);
  const bool error = tell(pod, late ? late.said : why.said);
  if (e.group) return;  // a member: its group decides when it comes back
  if (error)
    with_.queue.retry_pod(pod);
  else
    with_.queue.park(pod, why.rejectors);
  if (!error) with_.binding.revoke_strict_gang(with_.state.pods.group[pod]);
}

/// The result only nominates. False if it helped no pod; @p retry_at: as `preemption_result`.
GANGSCHED_INLINE bool pod_cycle::preempt_for(row_t pod, std::uint64_t rejectors, std::optional<instant>& retry_at) {
  const row_t group = with_.state.pods.group[pod];
  const entity whom = with_.entities.incomplete(group) ? entity{group, true} : entity{pod, false};
  if (with_.binding.awaits_victims(whom)) return false;
  std::vector<row_t> held;
  if (with_.entities.incomplete(group)) held = with_.binding.waiting().members_of(group);
  const preemption_result found = with_.makes_room.for_pod(pod, rejectors, held);
  if (found.broken.code == code::error) {
    picked failed;
    failed.said = found.broken;
    reject(pod, failed);
    return true;
  }
  if (!found.helped) with_.decisions.rejections().add_post_filter(pod, found.unhelpful);
  retry_at = found.retry_at;
  found.add_to(with_.decisions);
  for (const assignment& one : found.back) {
    with_.binding.send_back(one.pod.row, "its node was given to another member of its gang", false);
    if (!one.node) continue;
    with_.state.assigned.nominate(one.pod.row, one.node.row);
    with_.decisions.nominate(one.pod.row, one.node);
  }
  for (const row_t member : found.again) {
    const queue_item* const its = with_.queue.places().find({member, false});
    if (its == nullptr || its->where != place::active) with_.queue.retry_pod(member);
  }
  // (If nobody leaves a node, no event would come.)
  const bool free_now = !found.victims.empty() && found.frees_at_once(with_.state.pods);
  for (const auto& [waiting, by] : found.waits) {
    if (free_now)
      with_.queue.retry_pod(waiting);
    else
      with_.queue.park(waiting, with_.queue.by_hints() ? by : unknown_rejectors);
  }
  for (const auto& [victim, why] : found.victims) with_.binding.preempt(victim, why, whom);
  found.add_moves_to(with_.decisions);
  return found.helped;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
