#include "gangsched/engine/leaving_pods.hpp"

#include <chrono>
#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void leaving_pods::note(const change& record) {
  if (record.kind == change_kind::queue_changed) {
    const model::queue_table& queues = state_->queues;
    const bool now_drains = queues.alive(record.row) && queues.record[record.row]->spec.state == queue_state::drain;
    look_at_all_ = look_at_all_ || (record.more && (any_ || now_drains));
  } else if (any_ && record.about_group()) {
    look_at_all_ = true;  // its members may be in another queue
  }
  // (Of a removed pod it is unknown whether it was one.)
  const bool gone = record.kind == change_kind::pod_removed && expires_next_;
  if (gone || (record.about_pod() && !state_->reserved.empty() && state_->reserved.involves(record.row)))
    reservations_changed_ = true;
  if (!record.about_pod() || !(is_told(record.row) || (any_ && drains(record.row)))) return;
  constexpr std::size_t few = 64;
  if (changed_.size() > few + 2 * std::size_t{state_->pods.rows.count()}) drop_repeated();  // recheck is not called
  changed_.push_back(record.row);
}

GANGSCHED_INLINE void leaving_pods::drop_repeated() {
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
}

GANGSCHED_INLINE bool leaving_pods::is_told(row_t pod) const {
  const auto at = std::lower_bound(told_.begin(), told_.end(), pod,
                                   [](const told_pod& one, row_t row) { return one.pod.row < row; });
  return at != told_.end() && at->pod.row == pod;
}

/// Whether the pod runs in a draining queue.
GANGSCHED_INLINE bool leaving_pods::drains(row_t pod) const {
  const model::pod_table& pods = state_->pods;
  if (!pods.alive(pod) || pods.state[pod] != pod_state::bound || pods.terminating[pod]) return false;
  const model::queue_table& queues = state_->queues;
  bool in_one = false;
  for (row_t up = state_->classes[pods.cls[pod]].queue.row; up != no_row && !in_one; up = queues.parent[up])
    in_one = queues.record[up]->spec.state == queue_state::drain;
  if (!in_one || !entities_->has_profile(pod)) return false;
  const std::vector<plugin_entry>& plugins = entities_->profile_of(pod).plugins;
  return std::any_of(plugins.begin(), plugins.end(), [](const plugin_entry& one) { return one.reads_queues; });
}

/// Whether the reservation runs, or waits on nodes that it keeps from others.
GANGSCHED_INLINE bool leaving_pods::holds(row_t pod) const {
  const model::pod_table& pods = state_->pods;
  if (pods.terminating[pod]) return false;
  return pods.state[pod] == pod_state::bound || (pods.nominated[pod] != no_row && entities_->wants_node(pod));
}

/// Whether the pod is a reservation that holds something to no purpose any more.
GANGSCHED_INLINE bool leaving_pods::is_over(row_t pod, instant now) const {
  const model::pod_table& pods = state_->pods;
  if (state_->reserved.empty() || !pods.alive(pod) || state_->reserved.row_of(pod) == no_row) return false;
  if (!holds(pod)) return false;
  const std::optional<instant> expires = state_->classes[pods.cls[pod]].reserves->spec.expires;
  return state_->reserved.used_up(pod) || (expires && *expires <= now);
}

GANGSCHED_INLINE const char* leaving_pods::why(row_t pod) const {
  if (state_->reserved.row_of(pod) == no_row || drains(pod)) return "a queue that it is in drains";
  return state_->reserved.used_up(pod) ? "an owner of the reservation has what it held for once" : time_is_over;
}

GANGSCHED_INLINE void leaving_pods::look_at_reservations(instant now) {
  reservations_changed_ = false;
  expires_next_.reset();
  state_->reserved.each([&](row_t pod) {
    if (is_over(pod, now)) return changed_.push_back(pod);
    if (!holds(pod)) return;
    const std::optional<instant> expires = state_->classes[state_->pods.cls[pod]].reserves->spec.expires;
    if (expires && *expires > now) expires_next_ = std::min(expires_next_.value_or(*expires), *expires);
  });
}

GANGSCHED_INLINE bool leaving_pods::names(const told_pod& one) const {
  return state_->pods.alive(one.pod.row) && state_->pods.rows.generation(one.pod.row) == one.pod.generation;
}

GANGSCHED_INLINE void leaving_pods::look_at_all() {
  look_at_all_ = false;
  any_ = false;
  for (row_t queue = 0; queue < state_->queues.rows.count(); ++queue)
    any_ = any_ || (state_->queues.alive(queue) && state_->queues.record[queue]->spec.state == queue_state::drain);
  changed_.clear();
  for (row_t pod = 0; any_ && pod < state_->pods.rows.count(); ++pod)
    if (drains(pod)) changed_.push_back(pod);
}

GANGSCHED_INLINE std::vector<row_t> leaving_pods::due(instant now) {
  std::vector<row_t> found;
  const bool expired = expires_next_ && *expires_next_ <= now;
  if (look_at_all_) look_at_all();
  if (reservations_changed_ || expired) look_at_reservations(now);
  std::erase_if(told_, [&](const told_pod& one) { return !names(one) || !leaves(one.pod.row, now); });
  drop_repeated();
  constexpr instant patience = std::chrono::seconds{1};
  for (told_pod& one : told_)
    if (elapsed(one.at, now) >= patience) one.at = now, found.push_back(one.pod.row);  // not at the end of time
  const auto by_row = [](const told_pod& one, row_t row) { return one.pod.row < row; };
  const std::size_t known = told_.size();
  for (const row_t pod : changed_) {
    if (!leaves(pod, now)) continue;
    if (state_->pods.state[pod] != pod_state::bound) {  // it only keeps nodes: told once
      found.push_back(pod);
      continue;
    }
    const auto end = told_.begin() + static_cast<std::ptrdiff_t>(known);
    const auto at = std::lower_bound(told_.begin(), end, pod, by_row);
    if (at != end && at->pod.row == pod) continue;
    told_.push_back({{pod, state_->pods.rows.generation(pod)}, now});
    found.push_back(pod);
  }
  changed_.clear();
  std::inplace_merge(told_.begin(), told_.begin() + static_cast<std::ptrdiff_t>(known), told_.end(),
                     [](const told_pod& a, const told_pod& b) { return a.pod.row < b.pod.row; });
  next_.reset();
  for (const told_pod& one : told_) {
    const instant when = later_by(one.at, patience);
    next_ = std::min(next_.value_or(when), when);
  }
  return found;
}

GANGSCHED_INLINE saved_leaving leaving_pods::save() const {
  saved_leaving made{any_, look_at_all_, reservations_changed_, changed_, {}, next_, expires_next_};
  for (const told_pod& one : told_) made.told.emplace_back(one.pod, one.at);
  return made;
}

GANGSCHED_INLINE std::optional<error> leaving_pods::restore(const saved_leaving& from) {
  const slots& rows = state_->pods.rows;
  for (const row_t pod : from.changed) {
    if (pod >= rows.count()) return model::damaged("pods that may have to drain");
  }
  std::vector<told_pod> made;
  for (const auto& [pod, at] : from.told) {
    if (!gangsched::detail::had(rows, pod) || (!made.empty() && pod.row <= made.back().pod.row))
      return model::damaged("pods that drain");
    made.push_back({pod, at});
  }
  changed_ = from.changed;
  told_ = std::move(made);
  any_ = from.any, look_at_all_ = from.look_at_all, reservations_changed_ = from.reservations_changed;
  next_ = from.next, expires_next_ = from.expires_next;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
