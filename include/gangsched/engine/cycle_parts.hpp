#pragma once
#include "gangsched/engine/backfill.hpp"
#include "gangsched/engine/gang_holdings.hpp"
#include "gangsched/engine/preemption.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What the scheduling cycles of pods and of groups are carried out with.
struct cycle_parts {
  model::cluster_state& state;
  const entity_view& entities;
  reservations& reserved;
  preemption& makes_room;
  backfill& backfilling;
  scheduling_queue& queue;
  binding_cycle& binding;
  gang_holdings& holdings;
  decision_list& decisions;
  cycle_error& error;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
