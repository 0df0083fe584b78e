#include <algorithm>

#include "gangsched/engine/core.hpp"
#include "gangsched/framework/hook_error.hpp"
#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::engine {

GANGSCHED_INLINE void core::forget_attempt() {
  forget_cached();
}

/// An attempt that a hook's exception ends left nothing behind but what it decided before: hooks that may throw it are asked inside trials,
/// or before anything is written. What was being computed for caches is forgotten with them.
GANGSCHED_INLINE bool core::try_entity(entity e) {
  status said;
  try {
    return run(e);
  } catch (const hook_error& thrown) {
    said = error_.thrown(thrown.what());
  }
  forget_attempt();
  if (!e.group) {
    picked failed;
    failed.said = said;
    reject_pod(e.row, failed);
    unschedulable_.pass_on(e.row);
    return true;
  }
  error_.set(e, said.reason);
  entities_.each_member(e.row, [&](row_t pod) {
    if (!entities_.wants_node(pod)) return;
    decision& rejected = decisions_.add(decision_kind::reject, pod);
    rejected.code = said.code;
    rejected.reason = said.reason;
  });
  retry_group(e.row, true, true);
  unschedulable_.pass_on_group(e.row);
  return true;
}

GANGSCHED_INLINE bool core::run(entity e) {
  if (e.group) {
    if (!state_->groups.alive(e.row)) return false;
    run_group(e.row);
    return decisions_.size() != 0 || error_.reason() != nullptr;
  }
  const pod_table& pods = state_->pods;
  if (!pods.alive(e.row) || pods.state[e.row] != pod_state::pending || pods.terminating[e.row]) return false;
  run_pod(e.row);
  return true;
}

GANGSCHED_INLINE void core::run_pod(row_t pod) {
  picked found = picker_.pick(pod);
  if (found.node != no_row) {
    place(pod, found);
    return;
  }
  const bool error = found.said.code == code::error;
  if (!error && take_back_holdings(state_->pods.group[pod], {pod, false})) {
    found = picker_.pick(pod);
    if (found.node != no_row) return place(pod, found);
  }
  if (error || !preempt_for(pod, found.rejectors)) reject_pod(pod, found);
  // Every pod of the class would have been told the same, except by hooks that ask the pod itself, and where it is nominated.
  const class_plan& plan = picker_.plan_of(state_->pods.cls[pod]);
  const bool personal = !plan.cycle_hooks.empty() || std::any_of(plan.filters.begin(), plan.filters.end(), [](const planned& hook) {
    return hook.plugin->filter.opaque;
  });
  if (error || personal || found.kept) unschedulable_.pass_on(pod);
  else unschedulable_.forget_wake(pod);
}

/// Reserves the node, runs reserve and permit hooks; one of them may send the pod back.
GANGSCHED_INLINE void core::place(row_t pod, const picked& where) {
  state_->nodes.prefetch(where.node);
  state_->nodes.first_pod.prefetch(where.node);
  gangsched::detail::prefetch(&state_->nodes.record[where.node]->cookie);  // for the decision
  picked refused;
  if (!state_->fits_in_words(where.node, state_->classes[state_->pods.cls[pod]])) {
    refused.said = status::error("the node's usage would not fit into 64 bits");
    reject_pod(pod, refused);
    return unschedulable_.pass_on(pod);
  }
  std::vector<column_use> uses;
  if (entities_.profile_of(pod).at(point::reserve).empty()) {
    if (!reservations_.assume(pod, where.node, refused.said)) {
      reject_pod(pod, refused);
      return unschedulable_.pass_on(pod);
    }
  } else {
    const std::uint64_t from = state_->log.end();
    transaction attempt{*state_};
    if (!reservations_.assume(pod, where.node, refused.said) || !reservations_.reserve(pod, where.node, uses, refused.said)) {
      attempt.roll_back();
      reject_pod(pod, refused);
      return unschedulable_.pass_on(pod);
    }
    attempt.commit();
    suppress_events(from);  // columns that reserve hooks count up help nobody
    if (!uses.empty()) reservations_.keep(pod, std::move(uses));
  }
  count_out(pod);
  ask_permit(pod, where.score);
  unschedulable_.pass_on(pod);
}

/// Takes back everything an assumed pod holds.
GANGSCHED_INLINE void core::release(row_t pod) {
  reservations_.release(pod);
  waiting_.remove(pod);
  reported_.remove(pod);
  waiting_.group_changed(state_->pods.group[pod]);
  if (!state_->pods.terminating[pod]) count_waiting(pod, state_->pods.group[pod]);
}

GANGSCHED_INLINE void core::reject_pod(row_t pod, const picked& why) {
  const bool error = why.said.code == code::error;
  if (error) error_.set({pod, false}, why.said.reason);
  decision& said = decisions_.add(decision_kind::reject, pod);
  said.code = why.said.ok() ? code::unschedulable : why.said.code;
  said.reason = why.said.reason;
  const entity e = entities_.entity_of(pod);
  if (e.group) return;  // a member: its group decides when it comes back
  if (error) queue_.retry_later(e, now_, 1, true, true);
  else park(pod, why.rejectors);
  if (!error) revoke_strict_gang(state_->pods.group[pod]);
}

/// What preemption found, in decisions: nominations, and members that are rejected because others have a place.
GANGSCHED_INLINE void core::add_decisions(const preemption_result& found) {
  for (const auto& [pod, node] : found.words) {
    if (node) decisions_.nominate(pod, *node);
    else decisions_.add(decision_kind::reject, pod).code = code::unschedulable;
  }
}

/// The result only nominates. False if nobody was helped.
GANGSCHED_INLINE bool core::preempt_for(row_t pod, std::uint64_t rejectors) {
  const preemption_result found = preemption_.for_pod(pod, rejectors);
  if (found.broken.code == code::error) {
    picked failed;
    failed.said = found.broken;
    reject_pod(pod, failed);
    return true;
  }
  add_decisions(found);
  for (const auto& [waiting, by] : found.waits) park(waiting, by_hints() ? by : ~std::uint64_t{0});
  for (const pod_id victim : found.victims) evict(victim, found.reason);
  return found.helped;
}

/// A running victim is the host's to evict, unless it goes already or has been told to in this call; one that is only assumed is taken
/// back here and now.
GANGSCHED_INLINE void core::evict(pod_id victim, const char* reason) {
  if (!state_->pods.alive(victim.row) || state_->pods.rows.generation(victim.row) != victim.generation) return;
  if (state_->pods.terminating[victim.row]) return;
  if (state_->pods.state[victim.row] == pod_state::bound) {
    if (!decisions_.has(decision_kind::evict, victim)) decisions_.add(decision_kind::evict, victim.row).reason = reason;
  } else if (state_->pods.state[victim.row] == pod_state::assumed)
    send_back(victim.row, reason != nullptr ? reason : "preempted before it ran", false);
}

/// Order among incomplete gangs: first those with running members, which cannot give their room back; then priority; then age.
GANGSCHED_INLINE core::holder_rank core::rank_of(row_t group) const {
  return {state_->groups.bound[group] == 0, -std::int64_t{entities_.group_priority(group)}, state_->groups.arrival[group]};
}

/// An incomplete gang finds no node for a member, or, tried as one, for its minimum: an incomplete gang after it gives its waiting
/// members' nodes back if that makes room. First each of them alone, the last first; then all of them together, until it fits.
GANGSCHED_INLINE bool core::take_back_holdings(row_t own, entity e) {
  if (own != no_row && state_->groups.record[own]->spec.composite) return false;  // its groups are not in the room
  if (options_.holds == hold_rule::timers_only || waiting_.empty() || !entities_.incomplete(own)) return false;
  const holder_rank rank = rank_of(own);
  std::vector<std::pair<holder_rank, row_t>> later;
  row_t asked = no_row;  // members of a group mostly wait side by side
  waiting_.each([&](const waiting_pods::entry& one) {
    const row_t group = state_->pods.group[one.pod.row];
    if (group == std::exchange(asked, group) || group == own || !entities_.incomplete(group)) return;
    const std::pair holder{rank_of(group), group};
    if (holder.first > rank && std::find(later.begin(), later.end(), holder) == later.end()) later.push_back(holder);
  });
  std::sort(later.rbegin(), later.rend());
  const std::size_t start = picker_.where().start;  // what is only tried examines no nodes
  const auto would_fit = [&](std::span<const row_t> gangs) {
    transaction trial{*state_};
    for (const row_t group : gangs) {
      for (const row_t held : waiting_.members_of(group)) {
        reservations_.count_uses(held, -1);
        state_->release(held);
      }
    }
    if (!e.group) return picker_.pick(e.row).node != no_row;
    return search_.place(parts_.of(e.row)).verdict.ok();
  };
  std::vector<row_t> giving;
  for (const auto& [its_rank, group] : later) {
    if (!giving.empty()) break;
    if (would_fit({&group, 1})) giving = {group};
  }
  for (std::size_t count = 2; giving.empty() && count <= later.size(); ++count) {
    std::vector<row_t> together;
    for (std::size_t i = 0; i < count; ++i) together.push_back(later[i].second);
    if (would_fit(together)) giving = std::move(together);
  }
  picker_.go_back({statistics_.decisions, start});
  for (const row_t group : giving) {
    for (const row_t held : waiting_.members_of(group)) send_back(held, "its node was taken back for an older gang", false);
  }
  return !giving.empty();
}

/// An incomplete gang has taken room: rejected members of incomplete ones before it may take it back (they would not hear of the room
/// otherwise, because reservations wake nobody). Of those alike only the first is tried, and those before it whose backoff is not over: whom
/// it may take room from, those after it may not all.
GANGSCHED_INLINE void core::call_older_holders(row_t own) {
  if (options_.holds == hold_rule::timers_only || !entities_.incomplete(own)) return;
  const holder_rank rank = rank_of(own);
  struct candidate_holder {
    std::uint64_t kind;  ///< of those alike; 0: like no other
    holder_rank rank;
    entity who;
  };
  std::vector<candidate_holder> all;
  std::vector<row_t> called;
  row_t asked = no_row;
  unschedulable_.each([&](entity e, row_t group, std::uint64_t kind) {
    if (group == std::exchange(asked, group) || group == own || !entities_.incomplete(group)) return;
    const holder_rank its = rank_of(group);
    if (!(its < rank) || std::find(called.begin(), called.end(), group) != called.end()) return;
    called.push_back(group);
    all.push_back({kind, its, e});
  });
  std::stable_sort(all.begin(), all.end(), [](const candidate_holder& a, const candidate_holder& b) { return a.rank < b.rank; });
  std::vector<std::uint64_t> tried;  // kinds
  for (const candidate_holder& one : all) {
    if (one.kind != 0 && std::find(tried.begin(), tried.end(), one.kind) != tried.end()) {
      unschedulable_.fail_again(one.who);
      continue;
    }
    if (!queue_.backs_off(*queue_.find(one.who), now_)) tried.push_back(one.kind);
    ++statistics_.wake_ups;
    queue_.wake(one.who, now_);
  }
}

}  // namespace gangsched::engine
