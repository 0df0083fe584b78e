#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/group_limits.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Groups that wait for others: those that start after others, and those that may not have more members yet by their ratios.
class GANGSCHED_API dependent_groups {
 public:
  dependent_groups(const model::cluster_state& state, const entity_view& entities, const group_limits& limits) noexcept
      : state_(&state), entities_(&entities), limits_(&limits) {}

  /// No group starts after others, and none is kept back.
  [[nodiscard]] bool empty() const noexcept { return starting_.empty() && held_back_.empty(); }
  /// No group is kept back; which start after others is read from the cluster. O(groups).
  void look_again();
  /// The group is there, or its spec has changed. O(groups that start after others).
  void note(row_t group);
  /// Calls visit(group) for each that starts after others.
  template <class Visit>
  void each_starting(Visit&& visit) {
    std::erase_if(starting_, [&](row_t group) { return !starts_after(group); });
    for (const row_t group : starting_) visit(group);
  }
  /// The tree is being tried: records its groups with members that only a ratio keeps back. O(members).
  void note_ratios(row_t root);
  /// Roots of trees with groups whose ratios allow more than when they were last tried; they are then dropped. O(groups kept back).
  [[nodiscard]] std::vector<row_t> take_released();

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed. O(what it holds).
  [[nodiscard]] saved_dependents save() const;
  [[nodiscard]] std::optional<error> restore(const saved_dependents& from);

 private:
  struct held_back {
    group_id group;
    std::uint64_t limit;  ///< of its members, when it was tried
  };
  [[nodiscard]] bool starts_after(row_t group) const noexcept {
    return state_->groups.alive(group) && !state_->groups.record[group]->spec.start_after.empty();
  }

  peer<const model::cluster_state> state_;
  peer<const entity_view> entities_;
  peer<const group_limits> limits_;
  std::vector<row_t> starting_;
  std::vector<held_back> held_back_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/dependent_groups.cpp"
#endif
