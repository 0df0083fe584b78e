#include "gangsched/engine/in_flight_pods.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

template <class Entries, class Match>
auto* find_attempt(Entries& among, const Match& match) noexcept {
  const auto found = std::find_if(among.begin(), among.end(), match);
  return found == among.end() ? nullptr : &*found;
}

/// Whether the attempt is of this entity, and not of an earlier one that had the row.
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

GANGSCHED_INLINE saved_in_flight in_flight_pods::save(past_saver& past) const {
  saved_in_flight made;
  for (const entry& one : attempts_) {
    made.attempts.push_back(
        {one.who.row, one.who.group, one.pod, one.group, one.from, one.requeue, one.joined, one.early, one.number});
  }
  for (const object_event& one : events_) made.events.push_back(saved(one, past));
  made.first_event = first_event_;
  return made;
}

GANGSCHED_INLINE std::optional<error> in_flight_pods::restore(const saved_in_flight& from, const past_objects& past,
                                                              bool by_hints) {
  const auto wrong = [] { return model::damaged("attempts under way"); };
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  if (from.first_event > most || (from.attempts.empty() && !from.events.empty())) return wrong();
  std::deque<object_event> events;
  for (const saved_event& one : from.events) {
    std::optional<object_event> happened = restored(*state_, one, past, by_hints);
    if (!happened) return wrong();
    events.push_back(*std::move(happened));
  }
  const slots &pods = state_->pods.rows, &groups = state_->groups.rows;
  std::uint64_t last = from.first_event;
  std::vector<entry> attempts;
  for (const saved_attempt& one : from.attempts) {
    const bool there =
        one.is_group ? one.row < groups.count() && one.group.row == one.row && gangsched::detail::had(groups, one.group)
                     : one.row < pods.count() && one.pod.row == one.row;
    if (!there || (one.pod && !gangsched::detail::had(pods, one.pod)) || one.from < last ||
        one.from > from.first_event + events.size())
      return wrong();
    last = one.from;
    attempts.push_back(
        {{one.row, one.is_group}, one.pod, one.group, one.from, one.requeue, one.joined, one.early, one.number});
  }
  attempts_ = std::move(attempts);
  events_ = std::move(events);
  first_event_ = from.first_event;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
