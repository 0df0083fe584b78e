#include <algorithm>
#include <utility>

#include "gangsched/engine/core.hpp"

// Attempts: what is popped is in flight until it comes back, is placed or is given up. Events in the meantime are kept, and judged
// when it comes back, by who rejected it then. The engine's own cycles use the same pop and the same ways back, but no entry there: they
// end within a call, in which nothing happens.
namespace gangsched::engine {

/// A rejected pod, to where an event can find it; one that happened while it was being tried finds it at once.
GANGSCHED_INLINE void core::come_back(row_t pod, const rejection& why, std::uint64_t rejectors) {
  if (by_hints() && why.empty()) return come_back_broken({pod, false});
  const in_flight_pods::entry* const tried = in_flight_.find(entity{pod, false});
  unschedulable_.add(pod, why, rejectors, in_flight_, tried);
  if (tried != nullptr && gates_.rejects_pod(pod)) queue_.gate({pod, false});  // what its gate looks at may have changed
}

GANGSCHED_INLINE void core::come_back_broken(entity e) {
  if (e.group) return retry_group(e.row, true, true);
  unschedulable_.clear_rejection(e.row);
  queue_.retry_later(e, now_, 1, true, true);
}

GANGSCHED_INLINE void core::flush(instant now) {
  if (options_.timers == timer_rule::by_host) return;
  queue_.flush_backoff(now);
  queue_.flush_unschedulable(now);
}

/// Whoever was tried in vain may be tried again if time has moved, or if the log says what the engine did not write.
GANGSCHED_INLINE void core::begin_call(instant now) {
  if (now != now_ || state_->log.committed_end() != own_to_) queue_.begin_round();
  now_ = now;
}

/// What a host does that has the queue to itself, or by hand, is news.
GANGSCHED_INLINE void core::catch_up(instant now) {
  begin_call(now);
  queue_.begin_round();
  read_log();
  queue_.tidy();
}

GANGSCHED_INLINE void core::flush_backoff(instant now) {
  catch_up(now);
  queue_.flush_backoff(now);
}

GANGSCHED_INLINE void core::flush_unschedulable(instant now) {
  catch_up(now);
  // Upstream's timer lets go of everybody when there is anybody to let go, a gated pod even: those in flight do not wait either.
  if (by_hints() && !in_flight_.empty() && queue_.overdue(now)) {
    in_flight_.requeue_all();
  }
  queue_.flush_unschedulable(now);
}

GANGSCHED_INLINE std::optional<attempt> core::pop(instant now) {
  decisions_.drop_answers();
  catch_up(now);
  flush(now);
  const std::optional<queue::popped> next = queue_.pop(now);
  if (!next) return std::nullopt;
  const queue_item& item = queue_.item(next->who);
  queued seen = queue_.describe(next->who, item);
  if (next->who.group) {  // its first member that is tried: others may be another scheduler's, or may not enter
    state_->groups.each_below(next->who.row, [&](row_t group) {
      row_t member = state_->groups.first[group];
      const auto tried = [&] { return entities_.wants_node(member) && !(entities_.members_enter_singly() && gates_.rejects_pod(member)); };
      while (member != no_row && !tried()) member = state_->pods.next_in_group[member];
      if (member != no_row) seen.pod = {member, state_->pods.rows.generation(member)};
      return member == no_row;
    });
  }
  const in_flight_pods::entry& made =
      in_flight_.begin_attempt({.who = next->who, .pod = seen.pod, .group = seen.group, .early = next->early, .number = item.attempts});
  return attempt{made.pod, made.group, made.number, made.early};
}

/// Whether who is tried can come back: it may be gone, and its row another's; or it may be placed, or on its way out.
GANGSCHED_INLINE bool core::can_come_back(const in_flight_pods::entry& tried) {
  return in_flight_.find(tried.who) == &tried && queue_.item(tried.who).where == place::in_flight;
}

GANGSCHED_INLINE void core::add_unschedulable(pod_id pod, const rejected_by& why, instant now) {
  catch_up(now);
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

GANGSCHED_INLINE void core::add_unschedulable(group_id group, const rejected_by& why, instant now) {
  catch_up(now);
  const in_flight_pods::entry* const tried = in_flight_.find(group);
  if (tried == nullptr) return;
  const bool error = why.unschedulable_plugins.empty() && why.pending_plugins.empty();
  if (can_come_back(*tried) && error)
    come_back_broken(tried->who);
  else if (can_come_back(*tried)) {
    const bool changed = tried->requeue || tried->joined;
    park_group(group.row, ~std::uint64_t{0});
    if (!by_hints() && (changed || unschedulable_.last_group_helped(in_flight_, *tried))) {
      unschedulable_.remove_group(group.row);
      queue_.wake({group.row, true}, now_);
    }
  }
  in_flight_.end_attempt(*tried);
}

GANGSCHED_INLINE void core::give_up(const in_flight_pods::entry* tried) {
  if (tried == nullptr) return;
  const in_flight_pods::entry over = *tried;
  const bool could = can_come_back(*tried);
  if (could) queue_.take_out(over.who);
  in_flight_.end_attempt(*tried);
  if (!could || !over.joined) return;
  // Members that came meanwhile were not in the attempt (kube-workloads, behaviours 20 and 21).
  std::vector<row_t> members;
  entities_.each_member(over.who.row, [&](row_t pod) { members.push_back(pod); });
  for (const row_t pod : members) {
    if (entities_.wants_node(pod)) enqueue(pod, true);
  }
}
GANGSCHED_INLINE void core::done(pod_id pod) { give_up(in_flight_.find(pod)); }
GANGSCHED_INLINE void core::done(group_id group) { give_up(in_flight_.find(group)); }

GANGSCHED_INLINE void core::activate(std::span<const pod_id> pods, instant now) {
  catch_up(now);
  for (const pod_id pod : pods) {
    const entity e = entities_.entity_of(pod.row);
    switch (queue_.item(e).where) {
      case place::gated:
        if (gates_.rejects(e)) break;
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

GANGSCHED_INLINE std::optional<instant> core::next_time() const {
  if (torn_) return now_;  // at once: orders are to be made anew
  std::optional<instant> next = queue_.next_time();
  if (const std::optional<instant> due = waiting_.next_deadline()) next = std::min(next.value_or(*due), *due);
  if (const std::optional<instant> due = stale_.next_due()) next = std::min(next.value_or(*due), *due);
  if (next == instant::max()) return std::nullopt;  // never
  return next;
}

GANGSCHED_INLINE queue_counts core::counts() const {
  queue_counts all = queue_.counts();
  all.waiting = waiting_.count();
  all.in_flight = in_flight_.size();
  return all;
}

GANGSCHED_INLINE queue_standing core::standing(row_t pod) const {
  const entity e = entities_.entity_of(pod);
  const queue_item* found = queue_.find(e);
  if (found == nullptr) return {};  // given up, or not heard of yet
  const queue_item& item = *found;
  queue_standing made{.attempts = item.attempts, .failures = item.failures, .errors = item.errors, .since = item.since};
  switch (item.where) {
    case place::none:
      if (entities_.wants_node(pod) && e.group && limits_.reached(state_->pods.group[pod])) made.place = queue_place::kept_back;
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

GANGSCHED_INLINE std::vector<attempt> core::in_flight() const {
  std::vector<attempt> all;
  for (const in_flight_pods::entry& one : in_flight_.all()) all.push_back({one.pod, one.group, one.number, one.early});
  return all;
}

}  // namespace gangsched::engine
