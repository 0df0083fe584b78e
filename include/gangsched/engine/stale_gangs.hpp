#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/entity_view.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Gangs with running members although too few are left (`gang::stale_after`; KAI's action stalegangeviction).
class GANGSCHED_API stale_gangs {
 public:
  stale_gangs(const model::cluster_state& state, const entity_view& entities) noexcept
      : state_(&state), entities_(&entities) {}

  /// The group changed: those at or above it that have a limit are checked by the next `recheck`. O(depth).
  void group_changed(row_t group);
  /// Calls evict(pod) for the members of gangs that have been stale for long enough. If the host does not act, it is called again, but not
  /// repeatedly at one instant. O(members of groups that changed, and of those due).
  template <class Evict>
  void recheck(instant now, Evict&& evict) {
    if (!may_be_due()) return;
    look_at_changed(now);
    for (const group_id gang : due(now)) {
      std::vector<row_t> members;
      entities_->each_member(gang.row, [&](row_t pod) { members.push_back(pod); });
      for (const row_t pod : members) evict(pod);
    }
  }
  /// Whether `recheck` would look at anything. O(1).
  [[nodiscard]] bool may_be_due() const noexcept { return !changed_.empty() || !all_.empty(); }
  /// When the next of them is due. O(stale gangs).
  [[nodiscard]] std::optional<instant> next_due() const;

  // For a call that may be abandoned: `recall` puts back what was there when `remember` was called.
  void remember() {
    if (!all_.empty() || !before_.empty()) before_ = all_;
  }
  void recall() noexcept { all_.swap(before_); }

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed. O(what it holds).
  [[nodiscard]] saved_stale save() const;
  [[nodiscard]] std::optional<error> restore(const saved_stale& from);

 private:
  struct stale_gang {
    group_id group;
    instant since;         ///< it is so, or since its eviction was decided
    bool evicted = false;  ///< it was decided
  };
  /// The gang's limit; nothing if it has none, or is gone.
  [[nodiscard]] std::optional<instant> limit_of(const stale_gang& one) const noexcept;
  [[nodiscard]] static instant due_time(const stale_gang& one, instant limit) noexcept;
  [[nodiscard]] bool has_enough(row_t group) const;
  [[nodiscard]] bool is_stale(row_t group) const;
  void drop_repeated();
  void look_at_changed(instant now);
  std::vector<group_id> due(instant now);

  peer<const model::cluster_state> state_;
  peer<const entity_view> entities_;
  std::vector<row_t> changed_;  ///< some several times
  std::vector<stale_gang> all_, before_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/stale_gangs.cpp"
#endif
