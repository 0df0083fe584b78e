#include "gangsched/engine/scheduling_queue.hpp"

#include <algorithm>
#include <array>

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

GANGSCHED_INLINE const plugin_entry* first_or_null(const hook_range& hooks) noexcept {
  return hooks.empty() ? nullptr : &hooks[0];
}

}  // namespace detail

GANGSCHED_INLINE scheduling_queue::scheduling_queue(model::cluster_state& state, const profile_set& profiles,
                                                    const entity_view& entities, pre_enqueue_gates& gates,
                                                    const group_limits& limits, group_parts& parts, picker& picks,
                                                    const scheduler_options& options, engine_statistics& statistics,
                                                    const instant& now)
    : state_(&state),
      entities_(&entities),
      gates_(&gates),
      limits_(&limits),
      options_(&options),
      now_(&now),
      admission_(state, profiles, entities, now),
      queue_(state, profiles.front().hooks(point::queue_sort)[0],
             detail::first_or_null(profiles.front().hooks(point::queue_order)), options, &entities),
      judge_(state, profiles, entities, picks),
      unschedulable_(state, entities, admission_, parts, judge_, queue_, options, statistics, now),
      in_flight_(state),
      dependents_(state, entities, limits) {}

GANGSCHED_INLINE bool scheduling_queue::set_order(entity e, std::int32_t priority, std::uint64_t arrival) {
  queue_item& item = queue_.item(e);
  const bool timed = queue_.sort().reads_times(state_->pods.have_limits);
  if (item.priority == priority && item.arrival == arrival && !timed) return false;
  item.priority = priority;
  item.arrival = arrival;
  if (item.where == place::none) return false;
  queue_.reorder(e);
  return true;
}

GANGSCHED_INLINE void scheduling_queue::gate_or_activate(entity e) {
  if (gates_->rejects(e))
    queue_.gate(e);
  else if (queue_.item(e).where == place::gated)
    queue_.ungate(e, *now_);
  else
    queue_.activate(e);
}

/// What its gates look at may have changed while it was tried.
GANGSCHED_INLINE void scheduling_queue::gate_if_rejected(entity e) {
  if (queue_.item(e).where != place::none && gates_->rejects(e)) queue_.gate(e);
}

GANGSCHED_INLINE void scheduling_queue::enqueue(row_t pod, bool fresh) {
  if (state_->pods.state[pod] != pod_state::pending || state_->pods.terminating[pod]) return;
  const entity e = entities_->entity_of(pod);
  queue_item& item = queue_.item(e);
  if (!e.group && fresh) {
    queue_.renew(e);
    unschedulable_.clear_rejection(pod);
  }
  if (!entities_->has_profile(pod)) return;
  const bool enters = item.where == place::none;
  if (enters && (fresh || e.group)) item.since = item.entered = *now_;
  if (enters) item.ready = no_backoff;
  // A group came with the first of its members that wait.
  std::uint64_t arrival = state_->pods.arrival[pod];
  if (e.group && !enters) arrival = std::min(arrival, item.arrival);
  const std::int32_t own = state_->classes[state_->class_of(pod)].priority;
  // A sibling of those that were let in a moment ago, no older and no more important than they are, changes nothing.
  if (fresh && e.group && gates_->is_known_open(e.row) && item.where == place::active && arrival == item.arrival &&
      own <= item.priority && !queue_.sort().reads_times(state_->pods.have_limits)) {
    unschedulable_.pass_on_if_changed(pod);  // as below
    return;
  }
  std::int32_t priority = own;
  if (e.group && (enters || !fresh))
    priority = entities_->group_priority(e.row);
  else if (e.group)
    priority = state_->groups.record[e.row]->spec.priority.value_or(std::max(item.priority, own));
  const bool in_order = set_order(e, priority, arrival);
  const auto rejected = [&] {
    if (e.group && gates_->is_known_open(e.row)) return false;
    return e.group && entities_->members_enter_singly() ? gates_->rejects_all_members(e.row) : gates_->rejects_pod(pod);
  };
  switch (item.where) {
    case place::none:
    case place::gated: gate_or_activate(e); break;
    case place::active:
      if (rejected())
        queue_.gate(e);
      else if (e.group && !in_order)
        queue_.ask_order_again(e);  // a pod that was updated has entered anew
      break;
    case place::backoff:
    case place::timed:
    case place::unschedulable:
      if (rejected())
        queue_.gate(e);
      else if (!by_hints() || e.group || queue_.is_too_late(e, *now_))
        queue_.wake(e, *now_);  // else the plugins are asked about the change (requeue_by_hints)
      break;
    case place::in_flight:
      // Under hints the plugins are asked about the change when it comes back.
      if (in_flight_pods::entry* const tried = in_flight_.find(e); tried != nullptr) {
        tried->requeue = tried->requeue || !by_hints();
        tried->joined = tried->joined || (e.group && fresh);
      }
      break;
  }
  // Woken on behalf of a class that it has left, or cannot stand for.
  if (e.group) {
    unschedulable_.member_changed(pod, e.row);
    unschedulable_.pass_on_group(e.row);
  }
  if (item.where == place::gated)
    unschedulable_.pass_on(pod);
  else
    unschedulable_.pass_on_if_changed(pod);
}

GANGSCHED_INLINE void scheduling_queue::leave(row_t pod) {
  queue_.take_out({pod, false});
  unschedulable_.pass_on(pod);
}

GANGSCHED_INLINE void scheduling_queue::ask_gate_again(row_t group) {
  if (!state_->groups.alive(group)) return;
  const auto ask = [&](entity e) {
    const queue_item* item = queue_.find(e);
    // (An entity in flight is checked when it returns.)
    if (item == nullptr || item->where == place::none || item->where == place::gated || item->where == place::in_flight)
      return;
    if (!gates_->rejects(e)) return;
    queue_.gate(e);
    if (!e.group) unschedulable_.pass_on(e.row);
  };
  if (entities_->cycles_as_group(group)) return ask({state_->groups.root(group), true});
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) ask({pod, false});
}

GANGSCHED_INLINE void scheduling_queue::count_waiting(row_t pod, row_t group) {
  count_out(pod);
  if (group != no_row && entities_->has_profile(pod))
    pending_counts_.add(pod, state_->groups.root(group), state_->groups.rows.room());
}

GANGSCHED_INLINE void scheduling_queue::count_out(row_t pod) {
  const row_t root = pending_counts_.remove(pod);
  if (root == no_row) return;
  const entity e{root, true};
  if (!pending_counts_.any(root)) {
    queue_.take_out(e);
    unschedulable_.pass_on_group(root);
  } else if (state_->groups.alive(root)) {
    queue_.ask_order_again(e, true);  // it may have been the first member
    if (queue_.sort().reads_times(state_->pods.have_limits)) unschedulable_.item_changed(root);
    if (queue_.item(e).where == place::gated) gate_or_activate(e);
  }
}

GANGSCHED_INLINE void scheduling_queue::requeue_members(row_t group) {
  std::vector<row_t> members;
  entities_->each_member(group, [&](row_t pod) {
    if (entities_->wants_node(pod) && pending_counts_.counts(pod)) members.push_back(pod);
  });
  for (const row_t pod : members) {
    queue_.take_out({pod, false});
    count_waiting(pod, state_->pods.group[pod]);
  }
  for (const row_t pod : members) enqueue(pod, true);
}

GANGSCHED_INLINE void scheduling_queue::requeue_group(row_t group) {
  if (!entities_->cycles_as_group(group)) return;
  const row_t root = state_->groups.root(group);
  if (!pending_counts_.any(root)) return;
  const entity e{root, true};
  queue_item& item = queue_.item(e);
  if (item.where != place::none) return;
  constexpr std::uint64_t nobody = ~std::uint64_t{0};
  std::uint64_t arrival = nobody;
  state_->groups.each_below(root, [&](row_t below) {
    if (limits_->reached(below)) return true;
    for (row_t pod = state_->groups.first[below]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
      if (entities_->wants_node(pod)) arrival = std::min(arrival, state_->pods.arrival[pod]);
    }
    return true;
  });
  if (arrival == nobody) return;
  item.since = item.entered = *now_, item.ready = no_backoff;
  set_order(e, entities_->group_priority(root), arrival);
  gate_or_activate(e);
}

GANGSCHED_INLINE void scheduling_queue::requeue_surplus_member(row_t group) {
  if (group == no_row || !state_->groups.alive(group)) return;
  const gang* policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
  if ((policy == nullptr || !policy->max_count) && state_->groups.record[group]->spec.ratios.empty()) return;
  row_t pod = state_->groups.first[group];
  while (pod != no_row && !entities_->wants_node(pod)) pod = state_->pods.next_in_group[pod];
  if (pod != no_row) enqueue(pod, false);
}

GANGSCHED_INLINE void scheduling_queue::park(row_t pod, std::uint64_t rejectors) {
  come_back(pod, by_hints() ? judge_.rejection_of(pod, rejectors) : rejection{}, rejectors);
}

GANGSCHED_INLINE void scheduling_queue::requeue(row_t pod, bool error) {
  if (const auto* tried = in_flight_.find(entity{pod, false}); tried != nullptr) in_flight_.end_attempt(*tried);
  if (state_->pods.terminating[pod] || !entities_->has_profile(pod)) return;
  unschedulable_.clear_rejection(pod);
  const entity e = entities_->entity_of(pod);
  if (e.group) {
    retry_group(e.row, error, true);
  } else {
    queue_item& item = queue_.item(e);
    item.priority = state_->classes[state_->class_of(pod)].priority;  // may have changed while it had a node
    // It had a node already when the scheduler was made: these counts are of no attempt, or of another pod that had the row.
    if (item.arrival != state_->pods.arrival[pod]) item.failures = item.errors = item.attempts = 0;
    item.arrival = state_->pods.arrival[pod];
    queue_.retry_later(e, *now_, 1, error, true);
  }
  gate_if_rejected(e);
}

GANGSCHED_INLINE void scheduling_queue::retry_group(row_t group, bool error, bool strict, bool for_change,
                                                    std::optional<instant> planned) {
  const entity e{group, true};
  unschedulable_.remove_group(group);  // its own release is no news to it
  queue_item& item = queue_.item(e);
  std::size_t pending = 0;
  entities_->each_member(group, [&](row_t pod) {
    if (!entities_->wants_node(pod)) return;
    ++pending;
    item.arrival = std::min(item.arrival, state_->pods.arrival[pod]);
  });
  if (pending == 0) return queue_.take_out(e);
  item.priority = entities_->group_priority(group);
  if (planned) return queue_.wait_until(e, *now_, *planned);
  // Members that fail together are one failure.
  const bool counted = (item.where == place::timed || item.where == place::unschedulable) && item.since == *now_;
  if (std::uint32_t& count = error ? item.errors : item.failures; counted && count != 0) --count;
  if (for_change)
    queue_.park(e, *now_, pending);
  else
    queue_.retry_later(e, *now_, pending, error, strict);
}

GANGSCHED_INLINE void scheduling_queue::park_group(row_t group, std::uint64_t rejectors, const char* reason) {
  retry_group(group, false, false, !by_hints());
  unschedulable_.add_group(group, rejectors, reason);
}

GANGSCHED_INLINE void scheduling_queue::refuse(entity e, const refusal& why) {
  if (why.said.code == code::error) {
    if (e.group)
      retry_group(e.row, true, true);
    else
      retry_pod(e.row);
  } else if (!e.group) {
    unschedulable_.add_refused(e.row, why);
  } else {
    retry_group(e.row, false, false, true);
    unschedulable_.add_refused_group(e.row, why);
  }
  // Others may be let in: those that hooks tell apart from it, or after an event since it was woken.
  if (e.group)
    unschedulable_.pass_on_group(e.row);
  else
    unschedulable_.pass_on(e.row);
}

/// A rejected pod, to where an event can find it; one that happened while it was being tried finds it at once.
GANGSCHED_INLINE void scheduling_queue::come_back(row_t pod, const rejection& why, std::uint64_t rejectors) {
  if (by_hints() && why.empty()) return come_back_broken({pod, false});
  const in_flight_pods::entry* const tried = in_flight_.find(entity{pod, false});
  unschedulable_.add(pod, why, rejectors, in_flight_, tried);
  if (tried != nullptr) gate_if_rejected({pod, false});
}

GANGSCHED_INLINE void scheduling_queue::come_back_broken(entity e) {
  if (e.group) {
    retry_group(e.row, true, true);
  } else {
    unschedulable_.clear_rejection(e.row);
    retry_pod(e.row);
  }
  gate_if_rejected(e);
}

GANGSCHED_INLINE void scheduling_queue::retry_pod(row_t pod) { queue_.retry_later({pod, false}, *now_, 1, true, true); }

GANGSCHED_INLINE void scheduling_queue::wait_until(entity e, instant when) {
  if (e.group)
    retry_group(e.row, false, true, false, when);
  else
    queue_.wait_until(e, *now_, when);
}

GANGSCHED_INLINE void scheduling_queue::flush_unschedulable() {
  // As kube-scheduler's timer: if anything is overdue, a gated pod even, attempts in flight are to be tried again too when they fail.
  if (by_hints() && !in_flight_.empty() && queue_.overdue(*now_)) in_flight_.requeue_all();
  queue_.flush_unschedulable(*now_);
}

GANGSCHED_INLINE std::optional<attempt> scheduling_queue::pop_attempt() {
  flush();
  std::optional<queue::popped> next;
  for (next = queue_.pop(*now_); next; next = queue_.pop(*now_)) {
    const refusal why = next->broken ? refusal{status::error(next->broken->what())} : ask_admission(next->who);
    if (why.said.ok()) break;
    refuse(next->who, why);
  }
  if (!next) return std::nullopt;
  const queue_item& item = queue_.item(next->who);
  queued seen = queue_.describe(next->who, item);
  if (next->who.group) {  // its first member that is tried: others may be another scheduler's, or may not enter
    state_->groups.each_below(next->who.row, [&](row_t group) {
      row_t member = state_->groups.first[group];
      const auto tried = [&] {
        return entities_->wants_node(member) && !(entities_->members_enter_singly() && gates_->rejects_pod(member));
      };
      while (member != no_row && !tried()) member = state_->pods.next_in_group[member];
      if (member != no_row) seen.pod = {member, state_->pods.rows.generation(member)};
      return member == no_row;
    });
  }
  const in_flight_pods::entry& made = in_flight_.begin_attempt(
      {.who = next->who, .pod = seen.pod, .group = seen.group, .early = next->early, .number = item.attempts});
  return attempt{made.pod, made.group, made.number, made.early};
}

/// Whether the entity that is tried can come back: it may be gone, and its row another's; or it may be placed, or on its way out.
GANGSCHED_INLINE bool scheduling_queue::can_come_back(const in_flight_pods::entry& tried) {
  return in_flight_.find(tried.who) == &tried && queue_.item(tried.who).where == place::in_flight;
}

GANGSCHED_INLINE void scheduling_queue::add_unschedulable(pod_id pod, const rejected_by& why) {
  const in_flight_pods::entry* const tried = in_flight_.find(pod);
  if (tried == nullptr) return;  // it runs, as the cluster says by now
  if (can_come_back(*tried)) {
    std::uint64_t rejectors = 0;
    const rejection by = judge_.named(pod.row, why, rejectors);
    if (by.empty())
      come_back_broken(tried->who);
    else
      come_back(pod.row, by, rejectors);
  }
  in_flight_.end_attempt(*tried);
}

GANGSCHED_INLINE void scheduling_queue::add_unschedulable(group_id group, const rejected_by& why) {
  const in_flight_pods::entry* const tried = in_flight_.find(group);
  if (tried == nullptr) return;
  const bool error = why.unschedulable_plugins.empty() && why.pending_plugins.empty();
  if (can_come_back(*tried) && error)
    come_back_broken(tried->who);
  else if (can_come_back(*tried)) {
    const bool changed = tried->requeue || tried->joined;
    park_group(group.row, unknown_rejectors);
    if (!by_hints() && (changed || unschedulable_.last_group_helped(in_flight_, *tried))) {
      unschedulable_.remove_group(group.row);
      queue_.wake({group.row, true}, *now_);
    }
    gate_if_rejected(tried->who);
  }
  in_flight_.end_attempt(*tried);
}

GANGSCHED_INLINE void scheduling_queue::give_up(const in_flight_pods::entry* tried) {
  if (tried == nullptr) return;
  const in_flight_pods::entry over = *tried;
  const bool could = can_come_back(*tried);
  if (could) queue_.take_out(over.who);
  in_flight_.end_attempt(*tried);
  if (!could || !over.joined) return;
  // Members that came meanwhile were not in the attempt (kube-scheduler 1.37: pendingPodGroupPods).
  std::vector<row_t> members;
  entities_->each_member(over.who.row, [&](row_t pod) { members.push_back(pod); });
  for (const row_t pod : members) {
    if (entities_->wants_node(pod)) enqueue(pod, true);
  }
}

GANGSCHED_INLINE void scheduling_queue::activate(std::span<const pod_id> pods) {
  for (const pod_id pod : pods) {
    const entity e = entities_->entity_of(pod.row);
    switch (queue_.item(e).where) {
      case place::gated:
        if (gates_->rejects(e)) break;
        [[fallthrough]];
      case place::backoff:
      case place::timed:
      case place::unschedulable: queue_.activate(e); break;
      case place::in_flight:
        if (in_flight_pods::entry* const tried = in_flight_.find(e); tried != nullptr) tried->requeue = true;
        break;
      case place::none:
      case place::active: break;
    }
  }
}

GANGSCHED_INLINE void scheduling_queue::restore(row_t pod, const queue_position& position) {
  const entity e = entities_->entity_of(pod);
  queue_item& item = queue_.item(e);
  item.failures = position.failures;
  item.errors = position.errors;
  item.attempts = position.attempts;
  item.since = position.since;
  if (item.where == place::gated || item.where == place::none || item.where == place::in_flight) return;
  queue_.take_out(e);
  queue_.begin_round();
  const bool error = position.errors != 0;
  if ((position.failures == 0 && !error) || options_->max_backoff <= instant{0}) {
    queue_.activate(e);
    return;
  }
  --(error ? item.errors : item.failures);  // retry_later counts this one
  queue_.retry_later(e, position.since, e.group ? entities_->waiting_members(e.row) : 1, error, error);
  if (e.group) unschedulable_.item_changed(e.row);
}

GANGSCHED_INLINE void scheduling_queue::ask_all_dependents() {
  ask_all_ratios();
  dependents_.each_starting([&](row_t group) {
    entities_->each_member(group, [&](row_t pod) {
      const queue_item* item = queue_.find(entities_->entity_of(pod));
      if (entities_->wants_node(pod) && item != nullptr && item->where == place::gated)
        gate_or_activate(entities_->entity_of(pod));
    });
  });
}

GANGSCHED_INLINE void scheduling_queue::ask_all_ratios() {
  for (const row_t root : dependents_.take_released()) {
    queue_.wake({root, true}, *now_);
    requeue_group(root);
  }
}

GANGSCHED_INLINE queue_standing scheduling_queue::standing(row_t pod) const {
  const entity e = entities_->entity_of(pod);
  const queue_item* found = queue_.find(e);
  if (found == nullptr) return {};  // given up, or not heard of yet
  const queue_item& item = *found;
  queue_standing made{.attempts = item.attempts, .failures = item.failures, .errors = item.errors, .since = item.since};
  switch (item.where) {
    case place::none:
      if (entities_->wants_node(pod) && e.group && limits_->reached(state_->pods.group[pod]))
        made.place = queue_place::kept_back;
      break;
    case place::active: made.place = queue_place::active; break;
    case place::backoff: made.place = queue_place::backoff; break;
    case place::timed: made.place = queue_place::error_backoff; break;
    case place::unschedulable: made.place = queue_place::unschedulable; break;
    case place::gated: made.place = queue_place::gated; break;
    case place::in_flight: made.place = queue_place::in_flight; break;
  }
  if (item.ready != no_backoff) made.backoff_until = item.ready;
  if (!by_hints() || e.group) return made;
  made.rejected = judge_.names_of(pod, unschedulable_.rejection_of(pod));
  return made;
}

GANGSCHED_INLINE std::vector<attempt> scheduling_queue::in_flight_attempts() const {
  std::vector<attempt> all;
  for (const in_flight_pods::entry& one : in_flight_.all()) all.push_back({one.pod, one.group, one.number, one.early});
  return all;
}

GANGSCHED_INLINE std::vector<scheduling_queue::listed> scheduling_queue::list() const {
  struct standing_one {
    listed what;
    queued seen;
    std::size_t rank = 0;  // of its place
    instant by{};          // and in it, before the queue sort
  };
  std::vector<standing_one> all;
  std::vector<std::uint32_t> members(state_->groups.rows.count(), 0);
  const auto place_of = [&](row_t pod, entity e, const queue_item* item) {
    constexpr std::array<std::size_t, 7> ranks{6, 1, 2, 3, 4, 5, 0};  // by `place`
    standing_one one{{pod, e, 1}, {}, 6, {}};
    if (item == nullptr) return one;
    one.seen = queue_.describe(e, *item);
    one.rank = ranks[static_cast<std::size_t>(item->where)];
    if (item->where == place::backoff || item->where == place::timed) one.by = item->ready;
    if (item->where == place::unschedulable || item->where == place::gated) one.by = item->since;
    return one;
  };
  for (row_t pod = 0; pod < state_->pods.rows.count(); ++pod) {
    if (!state_->pods.alive(pod) || !entities_->wants_node(pod)) continue;
    const entity e = entities_->entity_of(pod);
    const queue_item* const item = queue_.find(e);
    const bool stands = item != nullptr && item->where != place::none;
    if (e.group && stands && ++members[e.row] != 1) continue;
    if (!stands && standing(pod).place == queue_place::none) continue;  // given up, or not heard of yet
    all.push_back(place_of(pod, e, item));
  }
  std::size_t tried = 0;
  for (const in_flight_pods::entry& flying : in_flight_.all()) {
    ++tried;
    for (standing_one& one : all) {
      if (one.what.who == flying.who) one.by = instant{static_cast<std::int64_t>(tried)};
    }
  }
  std::sort(all.begin(), all.end(), [&](const standing_one& a, const standing_one& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.by != b.by) return a.by < b.by;
    if (a.rank == 6) return state_->pods.arrival[a.what.pod] < state_->pods.arrival[b.what.pod];
    return queue_.sort().before(a.seen, b.seen);
  });
  std::vector<listed> made;
  for (standing_one& one : all) {
    if (one.what.who.group && one.rank != 6) {
      one.what.pods = members[one.what.who.row];
      if (one.seen.pod) one.what.pod = one.seen.pod.row;
    }
    made.push_back(one.what);
  }
  return made;
}

GANGSCHED_INLINE void scheduling_queue::start_over() {
  unschedulable_.clear();
  in_flight_.requeue_all();
  pending_counts_.clear(state_->pods.rows.count(), state_->groups.rows.count());
  dependents_.look_again();  // the caller queues all waiting pods again
}

GANGSCHED_INLINE void scheduling_queue::prefetch(row_t pod) const noexcept {
  const row_t* const known = pending_counts_.place_of(pod);
  if (known == nullptr) return;
  queue_.prefetch(pod);
  gangsched::detail::prefetch(known);
  unschedulable_.prefetch(pod);
}

GANGSCHED_INLINE void scheduling_queue::recall() noexcept {
  queue_.recall();
  in_flight_.recall();
}

GANGSCHED_INLINE saved_queue scheduling_queue::save(model::cluster_saver& classes, past_saver& past) const {
  return {queue_.save(), unschedulable_.save(classes), in_flight_.save(past), pending_counts_.save(),
          dependents_.save()};
}

GANGSCHED_INLINE std::optional<error> scheduling_queue::restore(const saved_queue& from,
                                                                std::span<const class_id> classes,
                                                                const past_objects& past) {
  if (auto wrong = queue_.restore(from.places)) return wrong;
  if (auto wrong = unschedulable_.restore(from.unschedulable, classes)) return wrong;
  if (auto wrong = in_flight_.restore(from.in_flight, past, by_hints())) return wrong;
  if (auto wrong = pending_counts_.restore(from.counted, state_->pods.rows.count(), state_->groups.rows.count()))
    return wrong;
  return dependents_.restore(from.dependents);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
