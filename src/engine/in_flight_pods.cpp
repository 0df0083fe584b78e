#include "gangsched/engine/in_flight_pods.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

template <class Entries, class Match>
auto* find_attempt(Entries& among, const Match& match) noexcept {
  const auto found = std::find_if(among.begin(), among.end(), match);
  return found == among.end() ? nullptr : &*found;
}

/// Somebody else may have had the row.
GANGSCHED_INLINE bool tries(const model::cluster_state& state, const in_flight_pods::entry& one, entity e) noexcept {
  if (one.who != e) return false;
  return e.group ? state.groups.alive(e.row) && one.group.generation == state.groups.rows.generation(e.row)
                 : state.pods.alive(e.row) && one.pod.generation == state.pods.rows.generation(e.row);
}

}  // namespace detail

GANGSCHED_INLINE in_flight_pods& in_flight_pods::operator=(const in_flight_pods& from) {
  attempts_ = from.attempts_, before_ = from.before_;
  events_ = from.events_;
  for (object_event& one : events_) {
    one.old_node = in_copy(one.old_node, *state_);
    one.new_node = in_copy(one.new_node, *state_);
  }
  first_event_ = from.first_event_;
  return *this;
}

GANGSCHED_INLINE in_flight_pods::entry* in_flight_pods::find(entity e) noexcept {
  return detail::find_attempt(attempts_, [&](const entry& one) { return detail::tries(*state_, one, e); });
}
GANGSCHED_INLINE const in_flight_pods::entry* in_flight_pods::find(entity e) const noexcept {
  return detail::find_attempt(attempts_, [&](const entry& one) { return detail::tries(*state_, one, e); });
}
GANGSCHED_INLINE in_flight_pods::entry* in_flight_pods::find(pod_id pod) noexcept {
  return detail::find_attempt(attempts_, [&](const entry& one) { return !one.who.group && one.pod == pod; });
}
GANGSCHED_INLINE in_flight_pods::entry* in_flight_pods::find(group_id group) noexcept {
  return detail::find_attempt(attempts_, [&](const entry& one) { return one.who.group && one.group == group; });
}

GANGSCHED_INLINE in_flight_pods::entry& in_flight_pods::begin_attempt(entry made) {
  made.from = end_of_events();
  return attempts_.emplace_back(made);
}

GANGSCHED_INLINE void in_flight_pods::end_attempt(const entry& over) {
  attempts_.erase(attempts_.begin() + (&over - attempts_.data()));
  const std::uint64_t needed = attempts_.empty() ? end_of_events() : attempts_.front().from;
  for (; first_event_ < needed; ++first_event_) events_.pop_front();
}

GANGSCHED_INLINE void in_flight_pods::requeue_all() noexcept {
  for (entry& one : attempts_) one.requeue = true;
}

GANGSCHED_INLINE void in_flight_pods::add_event(object_event&& happened) {
  constexpr std::size_t most = std::size_t{1} << 16;
  if (attempts_.empty()) return;
  if (events_.size() == most) {
    first_event_ += most;
    events_.clear();
    for (entry& one : attempts_) one.requeue = true, one.from = first_event_;
  }
  events_.push_back(std::move(happened));
}

GANGSCHED_INLINE void in_flight_pods::recall() noexcept {
  attempts_.swap(before_);
  for (entry& one : attempts_) one.from = end_of_events();
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
