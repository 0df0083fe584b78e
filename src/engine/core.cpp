#include "gangsched/engine/core.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/engine/attachments.hpp"

namespace gangsched::engine {

GANGSCHED_INLINE core::core(cluster& on, std::vector<kernel_table> profiles, const scheduler_options& options)
    : state_(&gangsched::detail::inside(on)),
      profiles_(std::move(profiles), *state_),
      entities_(*state_, profiles_),
      decisions_(*state_),
      error_(*state_),
      gates_(*state_, entities_),
      reported_(*state_),
      stale_(*state_, entities_),
      in_flight_(*state_),
      waiting_(*state_),
      options_(options),
      picker_(*state_, profiles_, options_, statistics_),
      reservations_(*state_, entities_, picker_, now_),
      limits_(*state_, entities_),
      entered_(*state_, gates_),
      parts_(*state_, entities_, limits_, picker_, entered_),
      search_(*state_, entities_, parts_, picker_, reservations_, options_, statistics_),
      preemption_(*state_, entities_, gates_, parts_, picker_, reservations_, search_),
      queue_(*state_, profiles_.front().hooks(point::queue_sort)[0], options_),
      judge_(*state_, profiles_, entities_, picker_),
      unschedulable_(*state_, entities_, judge_, queue_, options_, statistics_, now_) {
  GANGSCHED_ASSERT(!profile_set::difference(profiles_.all()));
  search_.let_members_preempt(preemption_);
  detail::attachments made{*state_};
  call_mark whole{*state_};
  column_maker columns{*state_};
  for (const kernel_table& table : profiles_.all()) {
    for (const plugin_entry& plugin : table.plugins) {
      if (plugin.attach != nullptr) plugin.attach(plugin.self.get(), columns);
    }
  }
  if (by_hints()) object_cache_.emplace(*state_);
  start_over();
  for (row_t pod = 0; pod < state_->pods.rows.count(); ++pod) {
    if (state_->pods.state[pod] == pod_state::assumed && entities_.has_profile(pod)) reported_.add(pod);
  }
  whole.keep();
  made.keep();
}

/// An entity takes its new place.
GANGSCHED_INLINE void core::set_order(entity e, std::int32_t priority, std::uint64_t arrival) {
  queue_item& item = queue_.item(e);
  if (item.priority == priority && item.arrival == arrival) return;
  item.priority = priority;
  item.arrival = arrival;
  queue_.reorder(e);
}

GANGSCHED_INLINE void core::gate_or_activate(entity e) {
  if (gates_.rejects(e)) queue_.gate(e);
  else if (queue_.item(e).where == place::gated) queue_.ungate(e, now_);
  else queue_.activate(e);
}

/// A pod is pending: it, or the group it stands in the queue with, enters or is looked at again.
GANGSCHED_INLINE void core::enqueue(row_t pod, bool fresh) {
  if (state_->pods.state[pod] != pod_state::pending || state_->pods.terminating[pod]) return;
  const entity e = entities_.entity_of(pod);
  queue_item& item = queue_.item(e);
  if (!e.group && fresh) {
    queue_.renew(e);
    unschedulable_.clear_rejection(pod);
  }
  if (!entities_.has_profile(pod)) return;
  const bool enters = item.where == place::none;
  if (enters && (fresh || e.group)) item.since = now_;
  if (enters) item.ready = no_backoff;
  // A group came with the first of its members that wait.
  std::uint64_t arrival = state_->pods.arrival[pod];
  if (e.group && !enters) arrival = std::min(arrival, item.arrival);
  const std::int32_t own = state_->classes[state_->class_of(pod)].priority;
  // A sibling of those that were let in a moment ago, no older and no more important than they are, changes nothing.
  if (fresh && e.group && gates_.is_known_open(e.row) && item.where == place::active && arrival == item.arrival && own <= item.priority) {
    unschedulable_.pass_on_if_changed(pod);  // as below
    return;
  }
  if (!e.group) set_order(e, own, arrival);
  else if (enters || !fresh) set_order(e, entities_.group_priority(e.row), arrival);
  else set_order(e, state_->groups.record[e.row]->spec.priority.value_or(std::max(item.priority, own)), arrival);
  const auto rejected = [&] {
    if (e.group && gates_.is_known_open(e.row)) return false;
    return e.group && entities_.members_enter_singly() ? gates_.rejects_all_members(e.row) : gates_.rejects_pod(pod);
  };
  switch (item.where) {
    case place::none:
    case place::gated: gate_or_activate(e); break;
    case place::active:
      if (rejected()) queue_.gate(e);
      break;
    case place::backoff:
    case place::timed:
    case place::unschedulable:
      if (rejected()) queue_.gate(e);
      else if (!by_hints() || e.group) queue_.wake(e, now_);  // else the plugins are asked about the change (requeue_by_hints)
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
  if (e.group) unschedulable_.pass_on_group(e.row);
  if (item.where == place::gated) unschedulable_.pass_on(pod);
  else unschedulable_.pass_on_if_changed(pod);
}

/// A pod stopped being pending, or is no more.
GANGSCHED_INLINE void core::leave(row_t pod) {
  queue_.take_out({pod, false});
  unschedulable_.pass_on(pod);
}

/// What is known of a pod by its row and of no use to the row's next owner.
GANGSCHED_INLINE void core::forget_row(row_t pod) {
  entered_.forget(pod);
  unschedulable_.clear_rejection(pod);
  const auto owner = [&](const pod_id& id) { return state_->pods.alive(pod) && id.generation == state_->pods.rows.generation(pod); };
  for (auto it = notes_.lower_bound({pod, 0}); it != notes_.end() && it->first.row == pod;) {
    it = owner(it->first) ? std::next(it) : notes_.erase(it);
  }
}

/// A group needs more members than it has: who stands in the queue for it may not any more. O(members).
GANGSCHED_INLINE void core::ask_gate_again(row_t group) {
  if (!state_->groups.alive(group)) return;
  const auto ask = [&](entity e) {
    const queue_item* item = queue_.find(e);
    // (Who is being tried is asked when it comes back.)
    if (item == nullptr || item->where == place::none || item->where == place::gated || item->where == place::in_flight) return;
    if (!gates_.rejects(e)) return;
    queue_.gate(e);
    if (!e.group) unschedulable_.pass_on(e.row);
  };
  if (entities_.cycles_as_group(group)) return ask({state_->groups.root(group), true});
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) ask({pod, false});
}

/// A member waits for a node from here on in the log, whatever became of it later. It is its tree's root that waits.
GANGSCHED_INLINE void core::count_waiting(row_t pod, row_t group) {
  count_out(pod);
  if (group == no_row || !entities_.has_profile(pod)) return;
  const row_t root = state_->groups.root(group);
  if (members_waiting_.size() <= root) members_waiting_.resize(std::max(root + 1, state_->groups.rows.room()));
  ++members_waiting_[root];
  waits_in_[pod] = root;
}

/// The group has come, has gone, or got another root: its waiting members, and those of groups below it, stand elsewhere now. (Who
/// came later than that is still to be read.)
GANGSCHED_INLINE void core::requeue_members(row_t group) {
  std::vector<row_t> members;
  entities_.each_member(group, [&](row_t pod) {
    if (entities_.wants_node(pod) && waits_in_[pod] != no_row) members.push_back(pod);
  });
  for (const row_t pod : members) {
    queue_.take_out({pod, false});
    count_waiting(pod, state_->pods.group[pod]);
  }
  for (const row_t pod : members) enqueue(pod, true);
}

/// It waits no more. A group of which nobody waits leaves the queue, and the member that kept it gated may be gone.
GANGSCHED_INLINE void core::count_out(row_t pod) {
  const row_t group = std::exchange(waits_in_[pod], no_row);
  if (group == no_row) return;
  const entity e{group, true};
  if (--members_waiting_[group] == 0) {
    queue_.take_out(e);
    unschedulable_.pass_on_group(group);
  } else if (state_->groups.alive(group) && queue_.item(e).where == place::gated) {
    gate_or_activate(e);
  }
}

/// A group whose members wait stands in the queue, unless it has as many with a node as it may: whatever can leave it nowhere, or end
/// that it is full, ends here. O(members).
GANGSCHED_INLINE void core::requeue_group(row_t group) {
  if (!entities_.cycles_as_group(group)) return;
  const row_t root = state_->groups.root(group);
  if (root >= members_waiting_.size() || members_waiting_[root] == 0) return;
  const entity e{root, true};
  queue_item& item = queue_.item(e);
  if (item.where != place::none) return;
  constexpr std::uint64_t nobody = ~std::uint64_t{0};
  std::uint64_t arrival = nobody;
  state_->groups.each_below(root, [&](row_t below) {
    if (limits_.reached(below)) return true;
    for (row_t pod = state_->groups.first[below]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
      if (entities_.wants_node(pod)) arrival = std::min(arrival, state_->pods.arrival[pod]);
    }
    return true;
  });
  if (arrival == nobody) return;
  item.since = now_, item.ready = no_backoff;
  set_order(e, entities_.group_priority(root), arrival);
  gate_or_activate(e);
}

/// One who counted goes: of those that are too many for an elastic gang, or by a ratio, one may take its place.
GANGSCHED_INLINE void core::requeue_surplus_member(row_t group) {
  if (group == no_row || !state_->groups.alive(group)) return;
  const gang* policy = std::get_if<gang>(&state_->groups.record[group]->spec.policy);
  if ((policy == nullptr || !policy->max_count) && state_->groups.record[group]->spec.ratios.empty()) return;
  row_t pod = state_->groups.first[group];
  while (pod != no_row && !entities_.wants_node(pod)) pod = state_->pods.next_in_group[pod];
  if (pod != no_row) enqueue(pod, false);
}

GANGSCHED_INLINE void core::start_over() {
  cursor_ = {state_->log.committed_end(), state_->log.truncations()};
  own_from_ = own_to_ = cursor_.position;
  unschedulable_.clear();
  suppressed_.clear();
  if (object_cache_) object_cache_->start_over();
  in_flight_.requeue_all();
  waiting_.all_groups_changed();
  reported_.look_again();
  waits_in_.assign(state_->pods.rows.count(), no_row);
  members_waiting_.assign(state_->groups.rows.count(), 0);
  dependents_.clear();
  held_back_.clear();  // whoever waits is queued again
  for (row_t group = 0; group < state_->groups.rows.count(); ++group) {
    if (state_->groups.alive(group)) dependents_.push_back(group), stale_.group_changed(group);  // those that depend on nobody go when they are asked
  }
  reservations_.forget_released();
  for (row_t group = 0; group < state_->groups.rows.count(); ++group) {
    bool pending = false;  // and queued as one: it may have been before it was removed and added again
    if (state_->groups.alive(group) && state_->groups.parent[group] == no_row && entities_.cycles_as_group(group)) {
      entities_.each_member(group, [&](row_t pod) { pending = pending || state_->pods.state[pod] == pod_state::pending; });
    }
    if (!pending) queue_.take_out({group, true});
  }
  std::vector<row_t> pending;
  for (row_t pod = 0; pod < state_->pods.rows.count(); ++pod) {
    if (queue_.find({pod, false}) == nullptr) forget_row(pod);
    if (!state_->pods.alive(pod) || state_->pods.state[pod] != pod_state::pending || state_->pods.terminating[pod] || !entities_.has_profile(pod)) {
      queue_.take_out({pod, false});
      continue;
    }
    if (entities_.entity_of(pod).group) queue_.take_out({pod, false});
    pending.push_back(pod);
    count_waiting(pod, state_->pods.group[pod]);
  }
  std::sort(pending.begin(), pending.end(), [&](row_t a, row_t b) { return state_->pods.arrival[a] < state_->pods.arrival[b]; });
  for (const row_t pod : pending) {
    enqueue(pod, queue_.item({pod, false}).where == place::none);
    if (by_hints()) queue_.wake({pod, false}, now_);  // what happened is not known any more
  }
}

GANGSCHED_INLINE void core::read_log() {
  // In the middle of somebody's trial the tables show what may never have been.
  if (state_->undo.trying()) return;
  search_.candidates().drop_unused();
  const change_log& log = state_->log;
  unschedulable_.grow();
  if (const std::size_t pods = state_->pods.rows.count(); waits_in_.size() < pods) {
    waits_in_.resize(std::max({pods, std::size_t{state_->pods.rows.room()}, 2 * waits_in_.size()}), no_row);
  }
  unschedulable_.follow_classes();
  gates_.forget_open();
  if (cursor_.position >= log.begin() && cursor_.position < log.committed_end()) prefetch(log[cursor_.position]);
  while (cursor_.position < log.committed_end()) {
    if (log.begin() > cursor_.position) return gates_.forget_open(), start_over();  // also when giving back columns below has moved it on
    const std::uint64_t position = cursor_.position++;
    const change record = log[position];
    const bool own = position >= own_from_ && position < own_to_;
    if (own) requeue_by(record, position);
    else read_log(record, position);
    if (own && record.kind == change_kind::pod_bound) ask_dependents();
    if (own && record.kind == change_kind::pod_assumed) ask_ratios();
    if (own && record.kind == change_kind::pod_released && state_->pods.alive(record.row)) requeue_group(state_->pods.group[record.row]);
  }
  suppressed_.clear();
  gates_.forget_open();
  own_from_ = own_to_ = cursor_.position;
}

/// What is known of a pod stands in tables that are far apart.
GANGSCHED_INLINE void core::prefetch(const change& record) const noexcept {
  const row_t pod = record.row;
  if (!record.about_pod() || pod >= waits_in_.size()) return;
  queue_.prefetch(pod);
  gangsched::detail::prefetch(&waits_in_[pod]);
  unschedulable_.prefetch(pod);
}

/// What the log says since it was read last is the engine's doing: queue and counts know it already, others may be helped by it.
GANGSCHED_INLINE void core::mark_own() { own_to_ = state_->log.committed_end(); }

GANGSCHED_INLINE void core::host_released(row_t pod, std::uint32_t generation) {
  waiting_.remove(pod);
  reservations_.forget(pod, generation);
}

GANGSCHED_INLINE void core::read_log(const change& record, std::uint64_t position) {
  const pod_table& pods = state_->pods;
  const row_t row = record.row;
  if (record.kind == change_kind::pod_removed) stale_.group_changed(record.after);
  else if (record.about_pod() && pods.alive(row)) stale_.group_changed(pods.group[row]);
  else if (record.kind == change_kind::group_updated) stale_.group_changed(row);
  switch (record.kind) {
    case change_kind::pod_added:
      queue_.take_out({row, false});
      if (!pods.alive(row)) break;
      if (record.after == no_row && !pods.terminating[row]) count_waiting(row, pods.group[row]);
      enqueue(row, true);
      break;
    case change_kind::pod_updated:
    case change_kind::pod_gated:
      if (pods.alive(row) && pods.state[row] == pod_state::pending) {
        if (!entities_.has_profile(row)) leave(row);  // it was, perhaps
        if (!pods.terminating[row] && entities_.has_profile(row) != (waits_in_[row] != no_row)) count_waiting(row, pods.group[row]);
        const queue_item* item = queue_.find({row, false});
        const entity e = entities_.entity_of(row);
        if (!e.group && item != nullptr && item->where == place::active) queue_.take_out(e);  // its order may have changed
        enqueue(row, false);
      }
      break;
    case change_kind::pod_removed: {
      leave(row);
      reported_.remove(row);
      forget_row(row);
      const bool reused = pods.alive(row);
      host_released(row, pods.rows.generation(row) - (reused ? 1u : 0u));
      count_out(row);
      const row_t group = record.after;
      if (group != no_row) ask_dependents();  // a group that was removed before is gone with its last member
      if (group == no_row || !state_->groups.alive(group)) break;
      if (record.before != no_row) waiting_.group_changed(group);
      if (state_->groups.members[group] < state_->groups.min_count(group)) ask_gate_again(group);
      requeue_surplus_member(group);
      break;
    }
    case change_kind::pod_terminating:
      if (pods.alive(row) && pods.state[row] == pod_state::pending) leave(row);
      if (pods.alive(row) && pods.node[row] != no_row) waiting_.group_changed(pods.group[row]);
      count_out(row);
      if (pods.alive(row) && pods.state[row] == pod_state::pending) requeue_surplus_member(pods.group[row]);
      break;
    case change_kind::pod_assumed:
    case change_kind::pod_bound:
      if (pods.alive(row) && pods.state[row] != pod_state::pending) leave(row);
      if (record.kind == change_kind::pod_bound) reported_.remove(row);
      if (const auto* tried = in_flight_.find(entity{row, false}); record.kind == change_kind::pod_bound && tried != nullptr) {
        in_flight_.end_attempt(*tried);
      }
      count_out(row);
      break;
    case change_kind::pod_released:
      reported_.end(row);
      if (!pods.alive(row)) break;
      host_released(row, pods.rows.generation(row));
      waiting_.group_changed(pods.group[row]);
      if (pods.state[row] == pod_state::pending) {
        if (pods.terminating[row]) {
          requeue_surplus_member(pods.group[row]);
          break;
        }
        count_waiting(row, pods.group[row]);
        const entity e = entities_.entity_of(row);
        const bool parked = e.group && unschedulable_.has_group(e.row);
        const queue_item& item = queue_.item(e);
        if (!e.group && in_flight_.find(e) != nullptr) {
          queue_.fly(e);  // the host reserved a node for it and gave that back: it is still being tried
        } else if (parked || item.where == place::none || item.where == place::active) {
          enqueue(row, false);
        } else if (e.group) {
          set_order(e, item.priority, std::min(item.arrival, pods.arrival[row]));
        }
      }
      break;
    case change_kind::group_added: {
      queue_.renew({row, true});
      if (state_->groups.alive(row)) {
        requeue_members(row);
        note_dependent(row);
        judge_waiting(row);
      }
      ask_dependents();
      break;
    }
    case change_kind::group_removed:
      queue_.take_out({row, true});
      if (state_->groups.alive(row)) requeue_members(row);  // expected again
      ask_dependents();
      break;
    case change_kind::group_updated: {
      if (!state_->groups.alive(row)) break;
      const row_t root = state_->groups.root(row);
      if (entities_.cycles_as_group(row)) set_order({root, true}, entities_.group_priority(root), queue_.item({root, true}).arrival);
      bool first = true;
      entities_.each_member(row, [&](row_t pod) {
        if (!entities_.wants_node(pod) || (!first && entities_.cycles_as_group(pods.group[pod]))) return;
        first = false;
        const queue_item* item = queue_.find(entities_.entity_of(pod));
        const bool gated = item != nullptr && item->where == place::gated;
        // Of an elastic gang that was full.
        const bool surplus = entities_.cycles_as_group(pods.group[pod]) && (item == nullptr || item->where == place::none);
        if (gated || surplus || record.more || record.after < record.before) enqueue(pod, false);
      });
      if (record.after > record.before) ask_gate_again(row);
      if (record.after != record.before) waiting_.group_changed(row);
      note_dependent(row);
      ask_dependents();
      break;
    }
    default: break;
  }
  if (record.about_pod() && pods.alive(row) && pods.group[row] != no_row) member_changed(record, pods.group[row]);
  if (record.kind == change_kind::pod_bound || (record.kind == change_kind::pod_added && record.after != no_row)) ask_dependents();
  requeue_by(record, position);
}

GANGSCHED_INLINE void core::note_dependent(row_t group) {
  if (state_->groups.record[group]->spec.start_after.empty()) return;
  if (std::find(dependents_.begin(), dependents_.end(), group) == dependents_.end()) dependents_.push_back(group);
}

/// Groups that start after others may do so now, or grow with them.
GANGSCHED_INLINE void core::ask_dependents() {
  ask_ratios();
  std::erase_if(dependents_, [&](row_t group) {
    return !state_->groups.alive(group) || state_->groups.record[group]->spec.start_after.empty();
  });
  for (const row_t group : dependents_) {
    entities_.each_member(group, [&](row_t pod) {
      const queue_item* item = queue_.find(entities_.entity_of(pod));
      if (entities_.wants_node(pod) && item != nullptr && item->where == place::gated) gate_or_activate(entities_.entity_of(pod));
    });
  }
}

/// Siblings wait for a quorum, which one that came may have completed, be it bound already; one that others placed leaves the rest of
/// its group one fewer to place, and may be the one that others in the permit room wait for.
GANGSCHED_INLINE void core::member_changed(const change& record, row_t group) {
  const pod_table& pods = state_->pods;
  const bool came = record.kind == change_kind::pod_added || record.kind == change_kind::pod_gated;
  const bool placed = pods.state[record.row] != pod_state::pending &&
                      (record.kind == change_kind::pod_added || record.kind == change_kind::pod_assumed);
  if (placed) waiting_.group_changed(group);
  if (entities_.cycles_as_group(group)) {
    const entity e{state_->groups.root(group), true};
    // (One that waits has just been asked, with its group.)
    if (came && !entities_.wants_node(record.row) && queue_.item(e).where == place::gated) gate_or_activate(e);
    else if (placed) queue_.wake(e, now_);
    return;
  }
  if (!came) return;
  const queue_item* own = queue_.find({record.row, false});
  if (own != nullptr && own->where == place::gated && pods.record[record.row]->gates.empty()) return;
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = pods.next_in_group[pod]) {
    const queue_item* item = queue_.find({pod, false});
    if (pod != record.row && item != nullptr && item->where == place::gated) enqueue(pod, false);
  }
}

GANGSCHED_INLINE void core::restore(row_t pod, std::uint32_t failures, instant since) {
  read_log();
  const entity e = entities_.entity_of(pod);
  queue_item& item = queue_.item(e);
  item.failures = failures;
  item.since = since;
  if (item.where == place::gated || item.where == place::none || item.where == place::in_flight) return;
  queue_.take_out(e);
  queue_.begin_round();
  if (failures == 0 || options_.max_backoff <= instant{0}) {
    queue_.activate(e);
    return;
  }
  --item.failures;  // retry_later counts this one
  queue_.retry_later(e, since, 1, false, false);
}

GANGSCHED_INLINE std::optional<std::string> core::difference() { return picker_.difference(); }

GANGSCHED_INLINE void core::forget_cached() {
  picker_.forget_cached();
  search_.candidates().forget_bounds();
  preemption_.forget_cached();
}

/// What every call that decides begins with: what the host did, what that ended, and who has waited long enough.
GANGSCHED_INLINE void core::begin_deciding(instant now) {
  begin_call(now);
  decisions_.clear();
  error_.clear();
  read_log();
  reported_.report_ended(decisions_);
  expire_waits();
}

GANGSCHED_INLINE bool core::schedule(instant now) {
  begin_deciding(now);
  mark_own();
  read_log();
  flush(now);
  while (const std::optional<queue::popped> next = queue_.pop(now)) {
    // Nothing happens between here and the end of the cycle, so that there is nothing to keep for it.
    const bool worked = try_entity(next->who);
    if (queue_.item(next->who).where == place::in_flight) {
      queue_.take_out(next->who);
      if (next->who.group && state_->groups.alive(next->who.row)) requeue_group(next->who.row);
    }
    mark_own();
    if (!worked) continue;
    ++statistics_.cycles;
    queue_.tidy();
    return true;
  }
  queue_.tidy();
  return decisions_.size() != 0;
}

}  // namespace gangsched::engine
