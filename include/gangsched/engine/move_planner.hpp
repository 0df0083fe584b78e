#pragma once
#include <optional>

#include "gangsched/engine/group_search.hpp"
#include "gangsched/scheduling/move_plan.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Which running pods would have to move so that a group fits. In a transaction nodes are cleared and the group is placed; then every pod
/// that can returns to its node. The others need another node, by filters and scores as for a new pod. Stateless.
class GANGSCHED_API move_planner {
 public:
  move_planner(model::cluster_state& state, group_parts& parts, picker& picks, reservations& reserved,
               group_search& search) noexcept
      : state_(&state), parts_(&parts), picks_(&picks), reserved_(&reserved), search_(&search) {}

  /// The cheapest moves that it found, or nothing. The cluster is as it was.
  [[nodiscard]] std::optional<move_plan> plan(row_t group, const move_options& options);

 private:
  struct movable_pods;
  [[nodiscard]] movable_pods find_movable(row_t group, const move_options& options) const;
  [[nodiscard]] bool goes_home(row_t pod, row_t home);
  [[nodiscard]] std::optional<move_plan> try_moves(row_t group, const movable_pods& all, std::span<const row_t> cleared,
                                                   const move_options& options);

  model::cluster_state* state_;
  group_parts* parts_;
  picker* picks_;
  reservations* reserved_;
  group_search* search_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/move_planner.cpp"
#endif
