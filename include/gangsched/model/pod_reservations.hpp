#pragma once
#include <optional>

#include "gangsched/core/result.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/state.hpp"

/// The effects of calls about pods on reservations.
namespace gangsched::inline GANGSCHED_ABI::detail {

[[nodiscard]] inline std::optional<error> check_draws_from(const model::cluster_state& state, const pod_spec& spec,
                                                           const object_label& object) {
  const row_t row = spec.draws_from.row;
  if (!spec.draws_from) return std::nullopt;
  const bool known = state.pods.alive(row) && state.pods.rows.generation(row) == spec.draws_from.generation;
  if (!known || state.reserved.row_of(row) == no_row)
    return error{errc::unknown, object, "draws_from", "no such reservation"};
  if (spec.reservation) return error{errc::malformed, object, "draws_from", "a reservation draws from none"};
  if (!spec.node || state.pods.node[row] != spec.node.row)
    return error{errc::malformed, object, "draws_from", "is not on the pod's node"};
  return std::nullopt;
}

/// The pod, which has left @p node, is no reservation any more and draws from none.
inline void forget_reservation(model::cluster_state& state, row_t pod, row_t node) {
  if (state.reserved.row_of(pod) == no_row) return state.reserved.choose(pod, no_row);
  if (state.reserved.remove(pod, node)) state.classes.move_epoch();
}

/// The state as a reservation of the pod, which is on no node and has a new class now. @p node: where it was.
inline void settle_reservation(model::cluster_state& state, row_t pod, row_t node, const pod_spec& spec) {
  const bool was_one = state.reserved.row_of(pod) != no_row;
  if (!spec.reservation) {
    if (was_one) forget_reservation(state, pod, node);
    // One that it draws from already it may have been in before that came.
    if (spec.node && spec.draws_from && state.reserved.drawn_by(pod) != spec.draws_from.row)
      state.reserved.choose(pod, spec.draws_from.row);
    return;
  }
  if (!was_one && state.reserved.involves(pod)) state.reserved.choose(pod, no_row);
  if (was_one ? state.reserved.renew(pod, node) : state.reserved.add(pod)) state.classes.move_epoch();
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
