#pragma once
#include <tuple>

#include "gangsched/engine/binding_cycle.hpp"
#include "gangsched/engine/group_search.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Between gangs that hold nodes for some of their members and wait for the others, so that they do not wait for each other for ever: an
/// older one takes back what a younger one holds (`hold_rule`). Has no state of its own.
class GANGSCHED_API gang_holdings {
 public:
  gang_holdings(model::cluster_state& state, const entity_view& entities, picker& picks, group_parts& parts,
                group_search& search, scheduling_queue& of, binding_cycle& binding, const scheduler_options& options,
                engine_statistics& statistics, const instant& now) noexcept
      : state_(&state),
        entities_(&entities),
        picks_(&picks),
        parts_(&parts),
        search_(&search),
        queue_(&of),
        binding_(&binding),
        options_(&options),
        statistics_(&statistics),
        now_(&now) {}

  /// An incomplete gang finds no node for a member, or, tried as one (@p e), for its minimum: an incomplete gang after it gives its waiting
  /// members' nodes back if that makes room. First each of them alone, the last first; then all of them together, until it fits.
  bool take_back(row_t own, entity e);
  /// An incomplete gang has taken room: rejected members of incomplete ones before it may take it back (they would not hear of the room
  /// otherwise, because reservations wake nobody). Of those alike only the first is tried, and those before it whose backoff is not over:
  /// whom it may take room from, those after it may not all.
  void call_older(row_t own);

 private:
  using rank = std::tuple<bool, std::int64_t, std::uint64_t>;
  [[nodiscard]] rank rank_of(row_t group) const;

  model::cluster_state* state_;
  const entity_view* entities_;
  picker* picks_;
  group_parts* parts_;
  group_search* search_;
  scheduling_queue* queue_;
  binding_cycle* binding_;
  const scheduler_options* options_;
  engine_statistics* statistics_;
  const instant* now_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/gang_holdings.cpp"
#endif
