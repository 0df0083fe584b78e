#pragma once
#include "gangsched/engine/gang_holdings.hpp"
#include "gangsched/engine/preemption.hpp"

namespace gangsched::engine {

/// A group's scheduling cycle (kube-workloads 4), from the queue to its members' reservations or its rejection. `group_search` finds the
/// places. Has no state of its own.
class GANGSCHED_API group_cycle {
 public:
  group_cycle(cluster_state& state, const entity_view& entities, group_parts& parts, group_search& search, reservations& reserved,
              preemption& makes_room, scheduling_queue& of, binding_cycle& binding, gang_holdings& holdings, decision_list& decisions,
              cycle_error& error) noexcept
      : state_(&state), entities_(&entities), parts_(&parts), search_(&search), reservations_(&reserved), preemption_(&makes_room),
        queue_(&of), binding_(&binding), holdings_(&holdings), decisions_(&decisions), error_(&error) {}

  void run(row_t group);

 private:
  bool preempt_for(row_t group, status& broken);
  void reject(row_t group, const group_part& whole, const group_outcome& why);

  cluster_state* state_;
  const entity_view* entities_;
  group_parts* parts_;
  group_search* search_;
  reservations* reservations_;
  preemption* preemption_;
  scheduling_queue* queue_;
  binding_cycle* binding_;
  gang_holdings* holdings_;
  decision_list* decisions_;
  cycle_error* error_;
};

}  // namespace gangsched::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/group_cycle.cpp"
#endif
