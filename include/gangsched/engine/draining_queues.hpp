#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/entity_view.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Pods that run in queues that drain, or below one (`queue_state::drain`), if a plugin of their profile reads queues.
class GANGSCHED_API draining_queues {
 public:
  draining_queues(const model::cluster_state& state, const entity_view& entities) noexcept
      : state_(&state), entities_(&entities) {}

  /// What happened may drain somebody, or nobody any more: the next `recheck` looks. O(1), where a queue drains
  /// O(depth + log pods told).
  void on_change(const change& record);
  /// What happened is not known.
  void start_over() noexcept { look_at_all_ = true; }
  /// Calls evict(pod) for those that run. A host that does not listen is told again, but no sooner than a second later. O(pods told)
  /// where one of them or one that drains changed, O(pods + queues) where a queue or a group did; O(1) where no queue drains.
  template <class Evict>
  void recheck(instant now, Evict&& evict) {
    for (const row_t pod : due(now)) evict(pod);
  }
  /// When somebody is to be told again.
  [[nodiscard]] std::optional<instant> next_due() const noexcept { return next_; }

  // For a call that may be abandoned: `recall` puts back what was there when `remember` was called, and looks again.
  void remember() {
    before_.clear();
    if (!told_.empty()) before_ = told_;
    next_before_ = next_;
  }
  void recall() noexcept {
    told_.swap(before_);
    next_ = next_before_;
    look_at_all_ = true;
  }

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed. O(what it holds).
  [[nodiscard]] saved_draining save() const;
  [[nodiscard]] std::optional<error> restore(const saved_draining& from);

 private:
  struct told_pod {
    pod_id pod;
    instant at;
  };
  [[nodiscard]] bool drains(row_t pod) const;
  [[nodiscard]] bool is_told(row_t pod) const;
  [[nodiscard]] bool names(const told_pod& one) const;
  std::vector<row_t> due(instant now);
  void look_at_all();

  peer<const model::cluster_state> state_;
  peer<const entity_view> entities_;
  bool any_ = false;                     ///< some queue drains
  bool look_at_all_ = true;              ///< queues and groups have changed
  std::vector<row_t> changed_;           ///< some several times
  std::vector<told_pod> told_, before_;  ///< by row
  std::optional<instant> next_, next_before_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/draining_queues.cpp"
#endif
