#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/entity_view.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Of a reservation that has expired (`reservation_spec::expires`).
inline constexpr const char* time_is_over = "the time of the reservation is over";

/// Running pods that must be evicted: those in or below a draining queue (`queue_state::drain`), if a plugin of their profile reads queues;
/// and reservations that are over: expired (`reservation_spec::expires`; also if they only keep nodes), or used by their one owner.
class GANGSCHED_API leaving_pods {
 public:
  leaving_pods(const model::cluster_state& state, const entity_view& entities) noexcept
      : state_(&state), entities_(&entities) {}

  /// A change may add pods to evict, or remove some: the next `recheck` looks. O(1), where a queue drains O(depth + log pods told).
  void on_change(const change& record) {
    if (follows_pods() || record.kind == change_kind::queue_changed) note(record);
  }
  /// Whether changes of pods matter to it. O(1).
  [[nodiscard]] bool follows_pods() const noexcept {
    return any_ || expires_next_ || !told_.empty() || !state_->reserved.empty();
  }
  /// Changes were lost: everything is checked.
  void start_over() noexcept { look_at_all_ = reservations_changed_ = true; }
  /// Calls evict(pod, why) for pods that must leave their nodes, once a second while they do not. O(pods told) if one of them or a draining
  /// pod changed, O(pods + queues) if a queue or a group did, O(reservations) if one changed or is over; O(1) if there are none of these.
  template <class Evict>
  void recheck(instant now, Evict&& evict) {
    if (!may_be_due(now)) return;
    for (const row_t pod : due(now)) evict(pod, why(pod));
  }
  /// Whether `recheck` would look at anything. O(1).
  [[nodiscard]] bool may_be_due(instant now) const noexcept {
    return look_at_all_ || reservations_changed_ || !changed_.empty() || (expires_next_ && *expires_next_ <= now) ||
           (next_ && *next_ <= now);
  }
  /// When a decision is to be repeated.
  [[nodiscard]] std::optional<instant> next_due() const noexcept {
    return next_ && expires_next_ ? std::min(next_, expires_next_) : next_ ? next_ : expires_next_;
  }

  // For a call that may be abandoned: `recall` puts back what was there when `remember` was called, and looks again.
  void remember() {
    if (!told_.empty() || !before_.empty()) before_ = told_;
    next_before_ = next_;
  }
  void recall() noexcept {
    told_.swap(before_);
    next_ = next_before_;
    look_at_all_ = reservations_changed_ = true;
  }

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed. O(what it holds).
  [[nodiscard]] saved_leaving save() const;
  [[nodiscard]] std::optional<error> restore(const saved_leaving& from);

 private:
  struct told_pod {
    pod_id pod;
    instant at;
  };
  void note(const change& record);
  [[nodiscard]] bool drains(row_t pod) const;
  [[nodiscard]] bool holds(row_t pod) const;
  [[nodiscard]] bool is_over(row_t pod, instant now) const;
  [[nodiscard]] bool leaves(row_t pod, instant now) const { return drains(pod) || is_over(pod, now); }
  [[nodiscard]] const char* why(row_t pod) const;
  void drop_repeated();
  [[nodiscard]] bool is_told(row_t pod) const;
  [[nodiscard]] bool names(const told_pod& one) const;
  std::vector<row_t> due(instant now);
  void look_at_all();
  void look_at_reservations(instant now);

  peer<const model::cluster_state> state_;
  peer<const entity_view> entities_;
  bool any_ = false;                     ///< some queue drains
  bool look_at_all_ = true;              ///< queues and groups have changed
  bool reservations_changed_ = true;     ///< or the pods that draw from them
  std::vector<row_t> changed_;           ///< some several times
  std::vector<told_pod> told_, before_;  ///< by row
  std::optional<instant> next_, next_before_;
  std::optional<instant> expires_next_;  ///< when the next reservation is over
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/leaving_pods.cpp"
#endif
