#pragma once

#include "gangsched/model/state.hpp"

/// Within a transaction that is rolled back: the cluster without a running pod, and with it on its node again.
namespace gangsched::inline GANGSCHED_ABI::engine {

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
