#include "gangsched/engine/reported_reservations.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void reported_reservations::add(row_t pod) {
  if (place_.size() <= pod) [[unlikely]]
    grow(pod);
  note_change(pod);
  const row_t node = state_->pods.node[pod];
  const reservation made{
      {pod, state_->pods.rows.generation(pod)}, {node, state_->nodes.rows.generation(node)}, state_->pods.attempt[pod]};
  if (place_[pod] != 0) {
    all_[place_[pod] - 1] = made;
    return;
  }
  all_.push_back(made);
  place_[pod] = static_cast<std::uint32_t>(all_.size());
}

GANGSCHED_INLINE void reported_reservations::grow(row_t pod) {
  place_.resize(std::max({pod + std::size_t{1}, std::size_t{state_->pods.rows.room()}, 2 * place_.size()}));
}

GANGSCHED_INLINE void reported_reservations::remove(row_t pod) {
  if (!has(pod)) return;
  note_change(pod);
  erase(pod);
}

GANGSCHED_INLINE void reported_reservations::erase(row_t pod) noexcept {
  const std::uint32_t place = std::exchange(place_[pod], 0);
  if (place != all_.size()) {
    all_[place - 1] = all_.back();
    place_[all_.back().pod.row] = place;
  }
  all_.pop_back();
}

GANGSCHED_INLINE void reported_reservations::end(row_t pod) {
  if (!has(pod)) return;
  ended_.push_back(all_[place_[pod] - 1]);
  remove(pod);
}

GANGSCHED_INLINE void reported_reservations::look_again() {
  for (const reservation one : std::vector<reservation>{all_}) {
    const bool alive = gangsched::detail::names_pod(*state_, one.pod);
    if (alive && state_->pods.attempt[one.pod.row] != one.attempt)
      end(one.pod.row);
    else if (!alive || state_->pods.state[one.pod.row] == pod_state::bound)
      remove(one.pod.row);
  }
}

GANGSCHED_INLINE void reported_reservations::report_ended(decision_list& decisions) {
  for (const reservation& one : ended_) {
    if (!gangsched::detail::names_pod(*state_, one.pod)) continue;
    const bool there = gangsched::detail::names_node(*state_, one.node);
    decision& made = decisions.add(decision_kind::revoke, one.pod.row);
    made.attempt = one.attempt;
    made.node = there ? one.node : node_id{};
    made.node_cookie = there ? state_->nodes.record[one.node.row]->cookie : 0;
    made.devices = {};
    const bool elsewhere = state_->pods.state[one.pod.row] == pod_state::bound;
    made.reason = !there      ? "its node is gone"
                  : elsewhere ? "others have bound it elsewhere"
                              : "its reservation was given back";
  }
  reported_.swap(ended_);
}

GANGSCHED_INLINE void reported_reservations::recall() noexcept {
  if (!reported_.empty()) ended_.swap(reported_);
  while (ended_.size() > ended_before_) ended_.pop_back();
  for (; !changes_.empty(); changes_.pop_back()) {
    const auto& [pod, was_there, before] = changes_.back();
    if (place_[pod] != 0) erase(pod);
    if (!was_there) continue;
    all_.push_back(before);  // there was room for it
    place_[pod] = static_cast<std::uint32_t>(all_.size());
  }
}

GANGSCHED_INLINE saved_reported reported_reservations::save() const {
  saved_reported made;
  for (const reservation& one : all_) made.all.push_back({one.pod, one.node, one.attempt});
  for (const reservation& one : ended_) made.ended.push_back({one.pod, one.node, one.attempt});
  return made;
}

GANGSCHED_INLINE std::optional<error> reported_reservations::restore(const saved_reported& from) {
  std::vector<std::uint32_t> places(state_->pods.rows.count());
  std::vector<reservation> all, ended;
  const auto had = [&](const saved_reservation& one) {
    return gangsched::detail::had(state_->pods.rows, one.pod) && gangsched::detail::had(state_->nodes.rows, one.node);
  };
  for (const saved_reservation& one : from.all) {
    if (!had(one) || places[one.pod.row] != 0) return model::damaged("reservations that were reported");
    all.push_back({one.pod, one.node, one.attempt});
    places[one.pod.row] = static_cast<std::uint32_t>(all.size());
  }
  for (const saved_reservation& one : from.ended) {
    if (!had(one)) return model::damaged("reservations that have ended");
    ended.push_back({one.pod, one.node, one.attempt});
  }
  place_ = std::move(places);
  all_ = std::move(all), ended_ = std::move(ended);
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
