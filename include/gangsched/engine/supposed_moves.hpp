#pragma once

#include "gangsched/model/state.hpp"

/// The cluster without running pods: who is expected to leave, and, within a transaction that is rolled back, who has left and is back.
namespace gangsched::inline GANGSCHED_ABI::engine {

/// Whether the pod, which has a node, is expected to have left it by then.
[[nodiscard]] inline bool leaves_by(const model::pod_table& pods, row_t pod, instant then) noexcept {
  return pods.terminating[pod] || pods.expected_end(pod) <= then;
}

/// The pod leaves its node, with its devices and all that hooks counted for it; readers of the log see it.
inline void suppose_gone(model::cluster_state& state, row_t pod, model::removal how = model::removal::real) {
  const row_t node = state.pods.node[pod];
  state.assigned.take_off_node(pod, how);
  state.columns.count(pod, -1);
  state.changed({.kind = change_kind::pod_removed,
                 .facets = model::assigned_pods::facets_of(state.classes[state.pods.cls[pod]]),
                 .row = pod,
                 .before = node});
}

/// It is on @p node again.
inline void suppose_back(model::cluster_state& state, row_t pod, row_t node,
                         model::removal how = model::removal::real) {
  state.assigned.put_on_node(pod, node, how);
  state.columns.count(pod, +1);
  state.changed({.kind = change_kind::pod_added,
                 .facets = model::assigned_pods::facets_of(state.classes[state.pods.cls[pod]]),
                 .row = pod,
                 .after = node});
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
