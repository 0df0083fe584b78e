#pragma once
#include <memory>
#include <vector>

#include "gangsched/core/interner.hpp"
#include "gangsched/model/assigned_pods.hpp"
#include "gangsched/model/call_listener.hpp"
#include "gangsched/model/change_log.hpp"
#include "gangsched/model/class_table.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/counters.hpp"
#include "gangsched/model/device_ledger.hpp"
#include "gangsched/model/group_table.hpp"
#include "gangsched/model/held_rooms.hpp"
#include "gangsched/model/kube_semantics.hpp"
#include "gangsched/model/name_collection.hpp"
#include "gangsched/model/named_objects.hpp"
#include "gangsched/model/node_table.hpp"
#include "gangsched/model/own_columns.hpp"
#include "gangsched/model/pod_counting.hpp"
#include "gangsched/model/pod_table.hpp"
#include "gangsched/model/pod_templates.hpp"
#include "gangsched/model/queue_counting.hpp"
#include "gangsched/model/queue_table.hpp"
#include "gangsched/model/reservation_table.hpp"
#include "gangsched/model/resource_kinds.hpp"
#include "gangsched/model/topology.hpp"
#include "gangsched/model/viewed_tables.hpp"

/// The tables behind a `cluster`: one column per fact, one row per object. Views read them; only `cluster` and `transaction` write.
namespace gangsched::inline GANGSCHED_ABI::model {

/// Everything of one cluster. Heap-allocated and pinned by `cluster`, because columns point at its undo log.
struct GANGSCHED_API cluster_state : viewed_tables {
  explicit cluster_state(std::size_t log_bound, const kube_semantics& whose = {});
  /// A copy that shares only immutable data with @p from. No transaction is open there. Caches, like those of recent specs, are empty.
  /// O(state).
  cluster_state(const cluster_state& from);
  cluster_state& operator=(const cluster_state&) = delete;
  ~cluster_state();

  change_log log;
  queue_table queues;
  held_rooms rooms{undo, nodes.used};
  reservation_table reserved{undo, nodes, pods, classes};
  device_ledger devices{undo, log, names, nodes, pods, classes, kinds, in_hook};
  pod_templates templates;
  topology_table topologies;
  choice_table choices;
  counter_table counters;
  named_objects named;
  pod_counting counting{semantics, names,    nodes, pods,    classes, topologies,
                        choices,   counters, named, devices, reserved};
  own_columns columns{undo, log, nodes.rows, groups.rows, pods};
  queue_counting queued{names, log, nodes, pods, groups, classes, counting, kinds, queues};
  assigned_pods assigned{undo, log, nodes, rooms, pods, groups, classes, counting, devices, columns, queued, reserved};
  name_collection collection{*this};
  mutable tuple_table tuples;         ///< encodings for keyed hooks, no state
  column<std::uint64_t> arrivals;     ///< row 0: nodes, pods and groups ever added
  bool keeps_specs = false;           ///< of pods and nodes, as the host passed them
  bool in_hook = false;               ///< a hook is running: the host's changing calls are refused
  call_listener* listener = nullptr;  ///< is called for the host's calls, if not null; a copy has none

  /// The pod's class, re-keyed if counters came or went since it was computed.
  [[gnu::always_inline]] class_id class_of(row_t pod) { return counting.class_of(pod); }

  /// The next number of the order in which nodes, pods and groups arrive.
  std::uint64_t next_arrival() {
    arrivals.set(0, arrivals[0] + 1);
    return arrivals[0];
  }
  /// Appends to the change log.
  void changed(const change& record) { log.write(record); }
  /// Equal states, equal digests. O(state).
  [[nodiscard]] std::uint64_t digest() const;
  /// Also over derived data that is updated on access: classes and counters of pods, topologies.
  [[nodiscard]] std::uint64_t digest_with_derived() const;
};

/// The cluster whose tables these are.
[[nodiscard]] inline const cluster_state& whole(const viewed_tables& tables) noexcept {
  return static_cast<const cluster_state&>(tables);
}
[[nodiscard]] inline cluster_state& whole(viewed_tables& tables) noexcept {
  return static_cast<cluster_state&>(tables);
}

inline bool name_collection::due() const noexcept {
  const cluster_state& in = state_;
  return in.names.made() >= limits_.names || in.counters.made() >= limits_.counters ||
         in.topologies.made() >= limits_.topologies || in.choices.made() >= limits_.choices ||
         in.kinds.made() >= limits_.kinds || in.devices.expressions_made() >= limits_.expressions ||
         in.assigned.priorities.known() >= limits_.priorities || in.tuples.size() >= limits_.tuples || always;
}
inline void name_collection::run_if_due() {
  if (state_.undo.recording()) return;
  if (due()) return run();
  if (state_.classes.crowded()) state_.classes.sweep();
}

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/name_collection.cpp"
#include "gangsched/src/model/reservation_table.cpp"
#include "gangsched/src/model/state.cpp"
#endif
