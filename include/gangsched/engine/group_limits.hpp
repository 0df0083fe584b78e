#pragma once
#include <optional>
#include <string>

#include "gangsched/engine/entity_view.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// How many members of a group may have a node at once: by its maximum, and by its ratios to groups that it grows in step with. Stateless.
class GANGSCHED_API group_limits {
 public:
  group_limits(const model::cluster_state& state, const entity_view& entities) noexcept
      : state_(&state), entities_(&entities) {}

  /// Members with a node, of the group and of all below it. O(groups below).
  [[nodiscard]] std::uint64_t with_node(row_t group) const;
  /// The most members that may have a node: by each ratio one more than are in step with the other group, and never less than the
  /// minimum. Nothing if no ratio counts.
  [[nodiscard]] std::optional<std::uint64_t> by_ratios(row_t group) const;
  /// Whether the group of pods may not have more members with a node, however much room there is.
  [[nodiscard]] bool reached(row_t group) const;
  /// The present effect of a ratio on the group, in words: for explanations. Empty: none. O(members).
  [[nodiscard]] std::string explain(row_t group) const;

 private:
  const model::cluster_state* state_;
  const entity_view* entities_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/group_limits.cpp"
#endif
