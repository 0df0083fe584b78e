#pragma once
#include "gangsched/engine/gang_holdings.hpp"
#include "gangsched/engine/preemption.hpp"

namespace gangsched::engine {

/// A pod's scheduling cycle (kube-framework 1.3), from the queue to its reservation or its rejection. Has no state of its own.
class GANGSCHED_API pod_cycle {
 public:
  pod_cycle(cluster_state& state, const entity_view& entities, picker& picks, reservations& reserved, preemption& makes_room,
            scheduling_queue& of, binding_cycle& binding, gang_holdings& holdings, decision_list& decisions, cycle_error& error) noexcept
      : state_(&state), entities_(&entities), picks_(&picks), reservations_(&reserved), preemption_(&makes_room), queue_(&of),
        binding_(&binding), holdings_(&holdings), decisions_(&decisions), error_(&error) {}

  void run(row_t pod);
  /// Says so, and puts it where it waits.
  void reject(row_t pod, const picked& why);

 private:
  void place(row_t pod, const picked& where);
  bool preempt_for(row_t pod, std::uint64_t rejectors);

  cluster_state* state_;
  const entity_view* entities_;
  picker* picks_;
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
#include "gangsched/src/engine/pod_cycle.cpp"
#endif
