#pragma once
#include <tuple>

#include "gangsched/engine/binding_cycle.hpp"
#include "gangsched/engine/group_search.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// For gangs that hold nodes for some of their members while others wait: so that gangs do not wait for each other for ever, an older gang
/// takes back what a younger one holds (`hold_rule`). Stateless.
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

  /// An incomplete gang finds no node for a member or, tried as one (@p e), for its minimum. Younger incomplete gangs then give the
  /// nodes of waiting members back if that makes room: first each alone, the youngest first; then the youngest two, three and so on.
  bool take_back(row_t own, entity e);
  /// An incomplete gang has taken room: wakes the oldest rejected member of each older incomplete gang, to take it back. (They get no event
  /// of the room otherwise, because reservations wake no pods.) Of equal groups, those up to the first without a backoff are woken: if that
  /// one may not take the room, those after it may not either.
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
