#include "gangsched/engine/event_handlers.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE event_handlers::event_handlers(model::cluster_state& state, const entity_view& entities,
                                                pre_enqueue_gates& gates, entry_order& entered, scheduling_queue& of,
                                                binding_cycle& binding, explainer& explains, const instant& now)
    : state_(&state),
      entities_(&entities),
      gates_(&gates),
      entered_(&entered),
      queue_(&of),
      binding_(&binding),
      explainer_(&explains),
      now_(&now),
      author_(state.log.new_author()) {
  if (queue_->by_hints()) object_cache_.emplace(state);
}

GANGSCHED_INLINE event_handlers& event_handlers::operator=(const event_handlers& from) {
  author_ = from.author_;
  cursor_ = from.cursor_;
  known_end_ = from.known_end_;
  if (object_cache_) *object_cache_ = *from.object_cache_;
  return *this;
}

/// Records that only say that this scheduler placed a pod are passed over where that helps nobody: as a rule these are all that there are.
/// Returns whether they were.
GANGSCHED_INLINE bool event_handlers::passes_over_all() noexcept {
  const change_log& log = state_->log;
  const std::uint64_t end = log.committed_end();
  if (log.begin() > cursor_.position || binding_->leaving().follows_pods()) return false;
  for (; cursor_.position != end; ++cursor_.position) {
    const change& record = log[cursor_.position];
    const bool placed = record.kind == change_kind::pod_assumed || record.kind == change_kind::pod_bound;
    if (!placed || !is_own(record) || !queue_->helps_nobody(record)) return false;
    binding_->notices().on_change(record);
  }
  return true;
}

GANGSCHED_INLINE void event_handlers::read_on(bool only_one) {
  const change_log& log = state_->log;
  // (What is known of a pod stands in tables that are far apart.)
  if (const change* const first = next(); first != nullptr && first->about_pod() && !is_own(*first))
    queue_->prefetch(first->row);
  while (cursor_.position < log.committed_end()) {
    if (log.begin() > cursor_.position) return gates_->forget_open(), start_over();
    const std::uint64_t position = cursor_.position++;
    const change record = log[position];
    const bool own = is_own(record);
    binding_->leaving().on_change(record);
    binding_->notices().on_change(record);
    if (!own) handle(record);
    requeue_by(record, position);
    const bool left = record.kind == change_kind::pod_removed || record.kind == change_kind::pod_released;
    if (left && !own && record.node() != no_row) wake_nominated(record.node());
    if (own) own_record(record);
    if (only_one) break;
  }
  for (const row_t root : changed_groups_) queue_->unschedulable().ask_again(root);
  changed_groups_.clear();
  gates_->forget_open();
}

GANGSCHED_INLINE const change* event_handlers::next() const noexcept {
  const change_log& log = state_->log;
  return has_unread() && log.begin() <= cursor_.position ? &log[cursor_.position] : nullptr;
}

/// Groups that depend on the pod's may go on; the queue has heard of the pod itself.
GANGSCHED_INLINE void event_handlers::own_record(const change& record) {
  if (record.kind == change_kind::pod_bound) queue_->ask_dependents();
  if (record.kind == change_kind::pod_assumed) queue_->ask_ratios();
  if (record.kind == change_kind::pod_released && state_->pods.alive(record.row))
    queue_->requeue_group(state_->pods.group[record.row]);
}

GANGSCHED_INLINE void event_handlers::start_over() {
  cursor_ = {state_->log.committed_end(), state_->log.truncations()};
  known_end_ = cursor_.position;
  queue_->start_over();
  if (object_cache_) object_cache_->start_over();
  binding_->start_over();
  for (row_t group = 0; group < state_->groups.rows.count(); ++group) {
    bool pending = false;  // and queued as one: it may have been before it was removed and added again
    if (state_->groups.alive(group) && state_->groups.parent[group] == no_row && entities_->cycles_as_group(group)) {
      entities_->each_member(group, [&](row_t pod) { pending = pending || entities_->wants_node(pod); });
    }
    if (!pending) queue_->places().take_out({group, true});
  }
  std::vector<row_t> pending;
  for (row_t pod = 0; pod < state_->pods.rows.count(); ++pod) {
    if (queue_->places().find({pod, false}) == nullptr) forget_row(pod);
    if (!state_->pods.alive(pod) || !entities_->wants_node(pod)) {
      queue_->places().take_out({pod, false});
      continue;
    }
    if (entities_->entity_of(pod).group) queue_->places().take_out({pod, false});
    pending.push_back(pod);
    queue_->count_waiting(pod, state_->pods.group[pod]);
  }
  std::sort(pending.begin(), pending.end(),
            [&](row_t a, row_t b) { return state_->pods.arrival[a] < state_->pods.arrival[b]; });
  for (const row_t pod : pending) {
    queue_->enqueue(pod, queue_->places().item({pod, false}).where == place::none);
    if (queue_->by_hints()) queue_->places().wake({pod, false}, *now_);  // what happened is not known any more
  }
}

GANGSCHED_INLINE void event_handlers::handle(const change& record) {
  const model::pod_table& pods = state_->pods;
  const row_t row = record.row;
  if (record.kind == change_kind::pod_removed)
    binding_->stale().group_changed(record.after);
  else if (record.about_pod() && pods.alive(row))
    binding_->stale().group_changed(pods.group[row]);
  else if (record.kind == change_kind::group_updated)
    binding_->stale().group_changed(row);
  switch (record.kind) {
    case change_kind::pod_added:
      queue_->places().take_out({row, false});
      if (!pods.alive(row)) break;
      if (record.after == no_row && !pods.terminating[row]) queue_->count_waiting(row, pods.group[row]);
      queue_->enqueue(row, true);
      break;
    case change_kind::pod_updated:
    case change_kind::pod_gated: pod_updated(row); break;
    case change_kind::pod_removed: pod_removed(record); break;
    case change_kind::pod_terminating: pod_terminating(row); break;
    case change_kind::pod_assumed:
    case change_kind::pod_bound: pod_placed(record); break;
    case change_kind::pod_released: pod_released(row); break;
    case change_kind::group_added: group_added(row); break;
    case change_kind::group_updated: group_updated(record); break;
    case change_kind::group_removed:
      queue_->places().take_out({row, true});
      if (state_->groups.alive(row)) queue_->requeue_members(row);  // expected again
      queue_->ask_dependents();
      break;
    default: break;
  }
  if (record.about_pod() && pods.alive(row) && pods.group[row] != no_row) member_changed(record, pods.group[row]);
  if (record.kind == change_kind::pod_bound || (record.kind == change_kind::pod_added && record.after != no_row))
    queue_->ask_dependents();
}

GANGSCHED_INLINE void event_handlers::pod_updated(row_t pod) {
  const model::pod_table& pods = state_->pods;
  if (!pods.alive(pod) || pods.state[pod] != pod_state::pending) return;
  if (!entities_->has_profile(pod)) queue_->leave(pod);  // it was, perhaps
  if (!pods.terminating[pod] && entities_->has_profile(pod) != queue_->counted().counts(pod))
    queue_->count_waiting(pod, pods.group[pod]);
  const entity e = entities_->entity_of(pod);
  const queue_item* item = queue_->places().find(e);
  const bool waits_for_time =
      item != nullptr && item->where == place::timed && item->strict && entities_->has_profile(pod);
  // Its order may have changed, or the time at which it is to start.
  if (item != nullptr && ((!e.group && item->where == place::active) ||
                          (waits_for_time && state_->classes[pods.cls[pod]].reserves != nullptr)))
    queue_->places().take_out(e);
  queue_->enqueue(pod, false);
}

GANGSCHED_INLINE void event_handlers::pod_removed(const change& record) {
  const row_t pod = record.row, group = record.after;
  queue_->leave(pod);
  binding_->reported().remove(pod);
  forget_row(pod);
  binding_->waiting().remove(pod);
  queue_->count_out(pod);
  if (group != no_row) queue_->ask_dependents();  // a group that was removed before is gone with its last member
  if (group == no_row || !state_->groups.alive(group)) return;
  if (record.before != no_row) {
    binding_->waiting().group_changed(group);
    placed_member_left(group);
  }
  if (state_->groups.members[group] < state_->groups.min_count(group)) queue_->ask_gate_again(group);
  queue_->requeue_surplus_member(group);
  group_changed(group);
}

/// Others of its tree had to be in its domain, or in another one: they may go where it was not as well.
GANGSCHED_INLINE void event_handlers::placed_member_left(row_t group) {
  const row_t root = state_->groups.root(group);
  if (entities_->cycles_as_group(group) && queue_->judge().reads_labels(root))
    queue_->places().wake({root, true}, *now_);
}

GANGSCHED_INLINE void event_handlers::pod_terminating(row_t pod) {
  const model::pod_table& pods = state_->pods;
  const bool pending = pods.alive(pod) && pods.state[pod] == pod_state::pending;
  if (pending) queue_->leave(pod);
  if (pods.alive(pod) && pods.node[pod] != no_row) binding_->waiting().group_changed(pods.group[pod]);
  queue_->count_out(pod);
  if (!pending) return;
  queue_->requeue_surplus_member(pods.group[pod]);
  if (pods.group[pod] != no_row) group_changed(pods.group[pod]);
}

/// The host found a node for it, or says that it runs.
GANGSCHED_INLINE void event_handlers::pod_placed(const change& record) {
  const row_t pod = record.row;
  if (state_->pods.alive(pod) && state_->pods.state[pod] != pod_state::pending) queue_->leave(pod);
  if (record.kind == change_kind::pod_bound) {
    binding_->reported().remove(pod);
    if (const auto* tried = queue_->in_flight().find(entity{pod, false}); tried != nullptr)
      queue_->in_flight().end_attempt(*tried);
  }
  queue_->count_out(pod);
}

GANGSCHED_INLINE void event_handlers::pod_released(row_t pod) {
  const model::pod_table& pods = state_->pods;
  binding_->reported().end(pod);
  if (!pods.alive(pod)) return;
  binding_->waiting().remove(pod);
  binding_->waiting().group_changed(pods.group[pod]);
  if (pods.state[pod] != pod_state::pending) return;
  if (pods.terminating[pod]) return queue_->requeue_surplus_member(pods.group[pod]);
  queue_->count_waiting(pod, pods.group[pod]);
  const entity e = entities_->entity_of(pod);
  const bool parked = e.group && queue_->unschedulable().has_group(e.row);
  const queue_item& item = queue_->places().item(e);
  if (!e.group && queue_->in_flight().find(e) != nullptr) {
    queue_->places().fly(e);  // the host reserved a node for it and gave that back: it is still being tried
  } else if (parked || item.where == place::none || item.where == place::active) {
    queue_->enqueue(pod, false);
  } else if (e.group) {
    queue_->set_order(e, item.priority, std::min(item.arrival, pods.arrival[pod]));
  }
}

GANGSCHED_INLINE void event_handlers::group_added(row_t group) {
  queue_->places().renew({group, true});
  if (state_->groups.alive(group)) {
    queue_->requeue_members(group);
    queue_->note_dependent(group);
    judge_waiting(group);
  }
  queue_->ask_dependents();
}

GANGSCHED_INLINE void event_handlers::group_updated(const change& record) {
  const row_t group = record.row;
  if (!state_->groups.alive(group)) return;
  group_changed(group);
  if (entities_->cycles_as_group(group)) {
    const entity e{state_->groups.root(group), true};
    queue_->set_order(e, entities_->group_priority(e.row), queue_->places().item(e).arrival);
    queue_->places().ask_order_again(e);
  }
  bool first = true;
  entities_->each_member(group, [&](row_t pod) {
    const bool as_group = entities_->cycles_as_group(state_->pods.group[pod]);
    if (!entities_->wants_node(pod) || (!first && as_group)) return;
    first = false;
    if (!as_group) queue_->places().ask_order_again({pod, false});
    const queue_item* item = queue_->places().find(entities_->entity_of(pod));
    const bool gated = item != nullptr && item->where == place::gated;
    const bool surplus =
        as_group && (item == nullptr || item->where == place::none);  // of an elastic gang that was full
    if (gated || surplus || record.more || record.after < record.before) queue_->enqueue(pod, false);
  });
  if (record.after > record.before) queue_->ask_gate_again(group);
  if (record.after != record.before) binding_->waiting().group_changed(group);
  queue_->note_dependent(group);
  queue_->ask_dependents();
}

/// It is another one, or a member of it that waited has gone: admission hooks may let it in that refused it, and are asked about that once,
/// when all that happened is read.
GANGSCHED_INLINE void event_handlers::group_changed(row_t group) {
  const row_t root = state_->groups.root(group);
  if (queue_->unschedulable().has_group(root) && !is_among(root, changed_groups_)) changed_groups_.push_back(root);
}

/// Siblings wait for a quorum, which one that came may have completed, be it bound already; one that others placed leaves the rest of
/// its group one fewer to place, and may be the one that others in the permit room wait for.
GANGSCHED_INLINE void event_handlers::member_changed(const change& record, row_t group) {
  const model::pod_table& pods = state_->pods;
  const bool came = record.kind == change_kind::pod_added || record.kind == change_kind::pod_gated;
  const bool placed = pods.state[record.row] != pod_state::pending &&
                      (record.kind == change_kind::pod_added || record.kind == change_kind::pod_assumed);
  if (placed) binding_->waiting().group_changed(group);
  if (entities_->cycles_as_group(group)) {
    const entity e{state_->groups.root(group), true};
    // (One that waits has just been asked, with its group.)
    if (came && !entities_->wants_node(record.row) && queue_->places().item(e).where == place::gated)
      queue_->gate_or_activate(e);
    else if (placed)
      queue_->places().wake(e, *now_);
    return;
  }
  if (!came) return;
  const queue_item* own = queue_->places().find({record.row, false});
  if (own != nullptr && own->where == place::gated && pods.record[record.row]->details->gates.empty()) return;
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = pods.next_in_group[pod]) {
    const queue_item* item = queue_->places().find({pod, false});
    if (pod != record.row && item != nullptr && item->where == place::gated) queue_->enqueue(pod, false);
  }
}

/// The group was added: pods that wait for permit since a group of that name was there before wait on by the rules of this one. If it is to
/// place its minimum at once, fewer do not wait: they are taken back.
GANGSCHED_INLINE void event_handlers::judge_waiting(row_t group) {
  if (entities_->cycles_as_group(group) && entities_->incomplete(group)) {
    binding_->waiting().each([&](waiting_pods::entry& one) {
      if (state_->pods.group[one.pod.row] == group) one.rejected = "its group needs more members at once";
    });
  }
  binding_->waiting().group_changed(group);
}

/// The entities that the change can help; an attempt under way is judged by it when it returns.
GANGSCHED_INLINE void event_handlers::requeue_by(const change& record, std::uint64_t position) {
  // (A nomination that ends counts even if undone: a pod placed on another node has given up what was kept for it there.)
  if (record.undone && is_own(record) && record.kind != change_kind::pod_nominated) return;
  if (queue_->by_hints()) return requeue_by_hints(record, position);
  if (record.kind == change_kind::pod_assumed) return;  // (as `helpful` says, and every second record is one)
  if (queue_->unschedulable().empty() && queue_->in_flight().empty()) return;
  const std::optional<change> helpful = queue_->judge().helpful(record);
  if (!helpful) return;
  if (!queue_->in_flight().empty()) queue_->in_flight().add_event({.record = *helpful});
  queue_->unschedulable().on_change(*helpful, position);
}

GANGSCHED_INLINE void event_handlers::requeue_by_hints(const change& record, std::uint64_t position) {
  happened_.clear();
  object_cache_->read(record, happened_);
  if (queue_->unschedulable().nobody_by_hints() && queue_->in_flight().empty() && queue_->places().counts().gated == 0)
    return;
  for (object_event& one : happened_) {
    queueing_event what = queue_->judge().queueing_event_of(one);
    queue_->unschedulable().on_event(one, what, position);
    if (one.to != object_event::audience::subject) ask_gates(what);
    queue_->in_flight().add_event(std::move(one));
  }
}

/// Hooks that keep pods out of the queue are asked again when they say that an event may change their mind.
GANGSCHED_INLINE void event_handlers::ask_gates(queueing_event& what) {
  what.what.own = false;
  if (!queue_->judge().concerns_gates(what)) return;
  for (row_t pod = 0; pod < state_->pods.rows.count(); ++pod) {
    const queue_item* item = queue_->places().find({pod, false});
    if (item == nullptr || item->where != place::gated || !state_->pods.alive(pod)) continue;
    if (queue_->judge().may_open_gate(pod, what)) queue_->gate_or_activate({pod, false});
  }
}

/// When the last victim has left a node, who is nominated to it and was not woken will not find room there: an attempt ends the nomination,
/// which keeps the room from others. (By hints everybody is woken whose node a pod has left.) O(pods there), if somebody is nominated.
GANGSCHED_INLINE void event_handlers::wake_nominated(row_t node) {
  const model::pod_table& pods = state_->pods;
  row_t pod = queue_->by_hints() || !state_->nodes.alive(node) ? no_row : state_->nodes.first_nominated[node];
  for (; pod != no_row; pod = pods.next_nominated[pod]) {
    if (pods.times.reserved_from(pod) != model::pod_times::never || !entities_->wants_node(pod)) continue;
    const std::int32_t priority = state_->classes[pods.cls[pod]].priority;
    row_t other = state_->nodes.first_pod[node];
    while (other != no_row && !pods.terminating[other] && state_->classes[pods.cls[other]].priority >= priority)
      other = pods.next_on_node[other];
    if (other == no_row) queue_->places().wake(entities_->entity_of(pod), *now_);
  }
}

/// What is known of a pod by its row and of no use to the row's next owner.
GANGSCHED_INLINE void event_handlers::forget_row(row_t pod) {
  entered_->forget(pod);
  queue_->unschedulable().clear_rejection(pod);
  explainer_->forget_row(pod);
}

GANGSCHED_INLINE saved_handlers event_handlers::save(past_saver& past) const {
  saved_handlers made{author_, cursor_.position, cursor_.truncations, known_end_, {}};
  if (object_cache_) made.known = object_cache_->save(cursor_.position, past);
  return made;
}

GANGSCHED_INLINE std::optional<error> event_handlers::restore(const saved_handlers& from, const past_objects& past) {
  const change_log& log = state_->log;
  if (from.author >= 1u << 22 || from.position > log.end() || from.truncations > log.truncations() ||
      (from.position >= log.begin() && from.position < log.first()))
    return model::damaged("what was read of the log");
  if (!object_cache_ && !(from.known.nodes.empty() && from.known.pods.empty()))
    return model::damaged("objects as they were read");
  if (object_cache_) {
    if (auto wrong = object_cache_->restore(from.known, past)) return wrong;
  }
  author_ = from.author;
  cursor_ = {from.position, from.truncations};
  known_end_ = from.known_end;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
