#include <algorithm>
#include <utility>

#include "gangsched/engine/core.hpp"

// Who failed goes back into the queue: to where an event can find it, or until its time is up; and what events do.
namespace gangsched::engine {

GANGSCHED_INLINE void core::park(row_t pod, std::uint64_t rejectors) {
  come_back(pod, by_hints() ? judge_.rejection_of(pod, rejectors) : rejection{}, rejectors);
}

/// What @p from and later records did was undone by the end of the same cycle, or left less room than before: it helps nobody.
GANGSCHED_INLINE void core::suppress_events(std::uint64_t from) {
  const std::uint64_t end = state_->log.end();
  if (!suppressed_.empty() && suppressed_.back().second == from) suppressed_.back().second = end;
  else if (from != end) suppressed_.emplace_back(from, end);
}

/// Back into the queue after a reservation was taken back: waits for its time only.
GANGSCHED_INLINE void core::requeue(row_t pod, bool error) {
  if (const auto* tried = in_flight_.find(entity{pod, false}); tried != nullptr) in_flight_.end_attempt(*tried);
  if (state_->pods.terminating[pod] || !entities_.has_profile(pod)) return;
  unschedulable_.clear_rejection(pod);
  const entity e = entities_.entity_of(pod);
  if (e.group) {
    retry_group(e.row, error, true);
  } else {
    queue_item& item = queue_.item(e);
    item.priority = state_->classes[state_->class_of(pod)].priority;  // may have changed while it had a node
    // It had one already when the scheduler was made, and what is written down is of nobody, or of another pod that had the row.
    if (item.arrival != state_->pods.arrival[pod]) item.failures = item.errors = item.attempts = 0;
    item.arrival = state_->pods.arrival[pod];
    queue_.retry_later(e, now_, 1, error, true);
  }
  if (gates_.rejects(e)) queue_.gate(e);  // so may what its gate looks at
}

/// @p for_change: it waits for one. Otherwise for its backoff; strictly: for nothing else.
GANGSCHED_INLINE void core::retry_group(row_t group, bool error, bool strict, bool for_change) {
  const entity e{group, true};
  unschedulable_.remove_group(group);  // its own release is no news to it
  queue_item& item = queue_.item(e);
  std::size_t pending = 0;
  entities_.each_member(group, [&](row_t pod) {
    if (!entities_.wants_node(pod)) return;
    ++pending;
    item.arrival = std::min(item.arrival, state_->pods.arrival[pod]);
  });
  if (pending == 0) return queue_.take_out(e);
  item.priority = entities_.group_priority(group);
  // Members that fail together are one failure.
  const bool counted = (item.where == place::timed || item.where == place::unschedulable) && item.since == now_;
  if (std::uint32_t& count = error ? item.errors : item.failures; counted && count != 0) --count;
  if (for_change) queue_.park(e, now_, pending);
  else queue_.retry_later(e, now_, pending, error, strict);
}

/// Until a change can help one of its members; under Kubernetes' rule, which has no hints for groups, for its backoff.
GANGSCHED_INLINE void core::park_group(row_t group, std::uint64_t rejectors, const char* reason) {
  retry_group(group, false, false, !by_hints());
  unschedulable_.add_group(group, rejectors, reason);
}

/// Whom the change can help; an attempt under way is judged by it when it comes back.
GANGSCHED_INLINE void core::requeue_by(const change& record, std::uint64_t position) {
  const auto covers = [&](const auto& range) { return position >= range.first && position < range.second; };
  // (Who was placed elsewhere gave up what was kept for it all the same.)
  if (record.kind != change_kind::pod_nominated && std::any_of(suppressed_.begin(), suppressed_.end(), covers)) return;
  if (by_hints()) return requeue_by_hints(record);
  const std::optional<change> helpful = judge_.helpful(record);
  if (!helpful) return;
  in_flight_.add_event({.record = *helpful});
  unschedulable_.on_change(*helpful, position);
}

GANGSCHED_INLINE void core::requeue_by_hints(const change& record) {
  happened_.clear();
  object_cache_->read(record, happened_);
  if (unschedulable_.no_pods() && in_flight_.empty() && queue_.counts().gated == 0) return;
  for (object_event& one : happened_) {
    queueing_event what = judge_.queueing_event_of(one);
    unschedulable_.on_event(one, what);
    if (one.to != object_event::audience::subject) ask_gates(what);
    in_flight_.add_event(std::move(one));
  }
}

/// Hooks that keep pods out of the queue are asked again when they say that an event may change their mind.
GANGSCHED_INLINE void core::ask_gates(queueing_event& what) {
  what.what.own = false;
  if (!judge_.concerns_gates(what)) return;
  for (row_t pod = 0; pod < state_->pods.rows.count(); ++pod) {
    const queue_item* item = queue_.find({pod, false});
    if (item == nullptr || item->where != place::gated || !state_->pods.alive(pod)) continue;
    if (judge_.may_open_gate(pod, what)) gate_or_activate({pod, false});
  }
}

}  // namespace gangsched::engine
