#pragma once
#include "gangsched/c/scheduler.h"

/// What if: copies of a cluster and its scheduler for trials, and questions about nodes that are answered in such copies (docs/what-if.md).
/// The structs of answers belong to the answer, and are valid until it is destroyed; their sizes are part of the interface: they do not
/// grow.

#ifdef __cplusplus
extern "C" {
#endif

/// Copies the cluster and the scheduler on it: its queue, its waiting pods, attempts under way, and decisions that were not taken yet. Ids
/// and attempts are the same, and the same calls lead to the same decisions. Copy and original share no mutable data, so each may be used
/// by a thread of its own and outlive the other. Only instances of callback plugins are shared: callbacks of both get the same one. A fork
/// has no metrics, events or trace. To continue with it, destroy the original. Errors: busy, wrong_state (a plugin cannot be copied).
/// O(cluster + queue).
GANGSCHED_C_API gangsched_code gangsched_scheduler_fork(const gangsched_scheduler* scheduler,
                                                        gangsched_cluster** cluster, gangsched_scheduler** fork,
                                                        gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Copies the cluster alone, for a scheduler with another configuration. Error: busy. O(state).
GANGSCHED_C_API gangsched_code gangsched_cluster_fork(const gangsched_cluster* cluster, gangsched_cluster** made,
                                                      gangsched_error* error) GANGSCHED_NOEXCEPT;

// --- which nodes are missing

/// A kind of node that can be added.
typedef struct gangsched_node_shape {
  size_t struct_size;
  const gangsched_node_spec* like;  ///< each added node gets its own name and hostname
  bool has_price;
  int64_t price;  ///< of one, in the host's unit, at least 0, if `has_price`; else 1
  uint32_t most;  ///< at most so many are added; 0: any number
} gangsched_node_shape;

typedef struct gangsched_demand_options {
  size_t struct_size;
  int64_t now;                   ///< not earlier than the time of the scheduler's last call
  const gangsched_pod_id* pods;  ///< the pods to consider; without pods and groups all waiting pods
  size_t pod_count;
  const gangsched_group_id* groups;  ///< with all their members
  size_t group_count;
  uint32_t most_nodes;    ///< of each shape in a plan; 0: 256
  uint32_t search_steps;  ///< limit of the search for a cheaper mixture, where only amounts matter; 0: 200,000
  uint32_t most_trials;   ///< limit of the forks that try a smaller plan, where more than amounts matter; 0: 64
} gangsched_demand_options;

typedef struct gangsched_assignment {
  gangsched_pod_id pod;
  gangsched_node_id node;
} gangsched_assignment;

typedef struct gangsched_added_node {
  size_t shape;                  ///< index of the shape
  const gangsched_pod_id* pods;  ///< pods placed on it
  size_t pod_count;
} gangsched_added_node;

/// Nodes with which every pod that nodes of these shapes can help is placed.
typedef struct gangsched_demand_plan {
  int64_t price;
  const gangsched_added_node* nodes;
  size_t node_count;
  const gangsched_assignment* elsewhere;  ///< pods placed on existing nodes, beside those
  size_t elsewhere_count;
  /// Whether the scheduler finds these places, or equally good ones, by itself. If not, it does if the host nominates the pods
  /// (`gangsched_cluster_nominate`) to their nodes once these exist.
  bool by_itself;
} gangsched_demand_plan;

typedef struct gangsched_demand gangsched_demand;

/// Which nodes of @p shapes, and how many of each, make the waiting pods fit: gangs as a whole, topology and devices respected, no
/// evictions. The scheduler itself tried every plan in a fork; it does not change. @p options may be null. Errors: busy, time_went_back,
/// wrong_state (`gangsched_scheduler_fork`), unknown (no such pod or group), out_of_range (a price below 0), and those of adding a node of
/// a shape. Costs a fork for each shape and plan, and for each of these at most twice `most_trials` more.
GANGSCHED_C_API gangsched_code gangsched_scheduler_demand(const gangsched_scheduler* scheduler,
                                                          const gangsched_node_shape* shapes, size_t count,
                                                          const gangsched_demand_options* options,
                                                          gangsched_demand** made,
                                                          gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Null is allowed.
GANGSCHED_C_API void gangsched_demand_destroy(gangsched_demand* demand) GANGSCHED_NOEXCEPT;
/// The number of plans; they are written to @p plans, cheapest first: the best that was found, and the best of each shape alone.
GANGSCHED_C_API size_t gangsched_demand_plans(const gangsched_demand* demand,
                                              const gangsched_demand_plan** plans) GANGSCHED_NOEXCEPT;
/// Pods that no number of nodes of these shapes helps: because of a gate, a quota, a selector, a limit, or an attempt of the host.
GANGSCHED_C_API size_t gangsched_demand_left(const gangsched_demand* demand,
                                             const gangsched_pod_id** pods) GANGSCHED_NOEXCEPT;

// --- which nodes are not needed

typedef struct gangsched_removal_options {
  size_t struct_size;
  int64_t now;                   ///< not earlier than the time of the scheduler's last call
  const gangsched_pod_id* stay;  ///< pods that must not move: their nodes stay
  size_t stay_count;
} gangsched_removal_options;

/// A node that can be drained after those before it in the list, and where its pods are placed then.
typedef struct gangsched_removable_node {
  gangsched_node_id node;
  const gangsched_assignment* moves;
  size_t move_count;
} gangsched_removable_node;

typedef struct gangsched_removable gangsched_removable;

/// Which of the nodes @p among, tried in that order, can be drained one after another with all their pods placed elsewhere. Disruption
/// budgets are charged for all drained nodes together, a group that is disrupted as a whole moves as a whole, and no pod is evicted to make
/// room. The scheduler itself tried each node in a fork; it does not change. @p options may be null. Errors: busy, time_went_back,
/// wrong_state (`gangsched_scheduler_fork`), unknown (no such node). Costs a fork for each node that no budget keeps.
GANGSCHED_C_API gangsched_code gangsched_scheduler_removable(const gangsched_scheduler* scheduler,
                                                             const gangsched_node_id* among, size_t count,
                                                             const gangsched_removal_options* options,
                                                             gangsched_removable** made,
                                                             gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Null is allowed.
GANGSCHED_C_API void gangsched_removable_destroy(gangsched_removable* removable) GANGSCHED_NOEXCEPT;
/// Their number; they are written to @p nodes, in the order of the question.
GANGSCHED_C_API size_t gangsched_removable_nodes(const gangsched_removable* removable,
                                                 const gangsched_removable_node** nodes) GANGSCHED_NOEXCEPT;

#ifdef __cplusplus
}
#endif
