#pragma once
#include "gangsched/c/cluster.h"
#include "gangsched/c/plugins.h"

/// The scheduler: decides which pod runs where and when. It performs nothing: the host executes decisions and reports the outcomes.
///
/// Decisions stay in the scheduler, in the order in which they were made, until the host takes them (`gangsched_scheduler_take`). The calls
/// that decide are `schedule_cycle`, `permit` and `fail`. `gangsched_scheduler_run` is a whole turn of these calls together with the
/// taking, for hosts to which each call costs something. A decision that was taken is the host's copy: it does not change any more.

#ifdef __cplusplus
extern "C" {
#endif

// --- configuration

/// The plugins that a profile begins with.
enum {
  GANGSCHED_PROFILE_DEFAULT = 0,      ///< kube-scheduler's default plugins and weights, with GangScheduling
  GANGSCHED_PROFILE_WITH_QUEUES = 1,  ///< the same for clusters with queues: FairShare
  GANGSCHED_PROFILE_BIN_PACKING =
      2,                       ///< the default with NodeResourcesFit in MostAllocated over cpu, memory and `resource`
  GANGSCHED_PROFILE_EMPTY = 3  ///< none: all plugins are named
};

typedef struct gangsched_profile_plugin {
  const char* name;       ///< in the registry
  int64_t weight;         ///< of its scores; 0: the plugin's default
  const char* arguments;  ///< JSON or YAML, as pluginConfig's args; null: none
} gangsched_profile_plugin;

typedef struct gangsched_profile_spec {
  size_t struct_size;
  const char* scheduler_name;  ///< of the pods that it is for; empty: "default-scheduler"
  int32_t base;                ///< GANGSCHED_PROFILE_DEFAULT …
  const char* resource;        ///< of GANGSCHED_PROFILE_BIN_PACKING; empty: "nvidia.com/gpu"
  gangsched_texts without;     ///< plugins of the base that are left out
  const gangsched_profile_plugin*
      plugins;  ///< after those of the base; one that sorts or orders queues replaces that of the base
  size_t plugin_count;
  int32_t percentage_of_nodes_to_score;  ///< 0: all, which is exact
} gangsched_profile_spec;

/// Makes a list of profiles, empty so far, for one scheduler.
GANGSCHED_C_API gangsched_code gangsched_configuration_create(gangsched_configuration** made,
                                                              gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Null is allowed. Schedulers made by it are independent of it.
GANGSCHED_C_API void gangsched_configuration_destroy(gangsched_configuration* configuration) GANGSCHED_NOEXCEPT;
/// Adds a profile. @p registry may be null: the library's plugins. Errors: unknown (a plugin), duplicate (a plugin), a plugin's error about
/// its arguments, malformed (not exactly one plugin that sorts the queue), out_of_range (a weight below 0). O(plugins).
GANGSCHED_C_API gangsched_code gangsched_configuration_add_profile(gangsched_configuration* configuration,
                                                                   const gangsched_registry* registry,
                                                                   const gangsched_profile_spec* spec,
                                                                   gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Adds the profiles of a KubeSchedulerConfiguration, in JSON or YAML; its backoffs become the defaults of schedulers' options. In-tree
/// plugins that @p registry (null: the library's) lacks are left out.
GANGSCHED_C_API gangsched_code gangsched_configuration_read(gangsched_configuration* configuration,
                                                            const gangsched_registry* registry, const char* text,
                                                            gangsched_error* error) GANGSCHED_NOEXCEPT;

/// How one of several best nodes is chosen; which rejected pods of a class a change wakes; which calls end backoffs.
enum { GANGSCHED_TIES_UNIFORM = 0, GANGSCHED_TIES_LOWEST_ROW = 1, GANGSCHED_TIES_KUBE_HEAP = 2 };
enum { GANGSCHED_WAKE_ONE_PER_CLASS = 0, GANGSCHED_WAKE_ALL = 1, GANGSCHED_WAKE_HINTS = 2 };
enum { GANGSCHED_TIMERS_BY_NOW = 0, GANGSCHED_TIMERS_BY_HOST = 1 };

/// What is recorded for monitoring (gangsched/c/report.h).
enum {
  GANGSCHED_METRICS_NONE = 0,     ///< nothing is counted, at no cost
  GANGSCHED_METRICS_COUNTED = 1,  ///< no clock is read: counts, and times by `now`
  GANGSCHED_METRICS_TIMED =
      2  ///< also durations of decisions, by the machine's monotonic clock; of plugins in one cycle of ten
};
enum {
  GANGSCHED_TRACE_NONE = 0,
  GANGSCHED_TRACE_BY_NOW = 1,  ///< no clock is read: times by `now`, by which calls take no time
  GANGSCHED_TRACE_TIMED = 2    ///< by the machine's monotonic clock
};

/// For which entities without room nodes are reserved (`expected_run_time` of pods).
enum {
  GANGSCHED_BACKFILL_NONE = 0,         ///< none
  GANGSCHED_BACKFILL_EASY = 1,         ///< the first of them in queue order
  GANGSCHED_BACKFILL_CONSERVATIVE = 2  ///< all of them
};

/// Times are nanoseconds; 0 is the default, below 0 means none.
typedef struct gangsched_scheduler_options {
  size_t struct_size;
  uint64_t seed;            ///< of the random choice among equal nodes
  int32_t ties;             ///< GANGSCHED_TIES_UNIFORM …
  int32_t wake;             ///< GANGSCHED_WAKE_ONE_PER_CLASS …
  int32_t timers;           ///< GANGSCHED_TIMERS_BY_NOW …
  bool check_hooks;         ///< debug: finds plugins that read more than they declare; slow
  int64_t initial_backoff;  ///< 0: that of the configuration, else a second
  int64_t max_backoff;      ///< 0: that of the configuration, else ten seconds
  int64_t backoff_window;   ///< ends of backoffs are rounded down to a multiple of this; kube-scheduler's is a second
  int64_t unschedulable_timeout;  ///< 0: five minutes
  int32_t metrics;                ///< GANGSCHED_METRICS_NONE …
  int32_t trace;                  ///< GANGSCHED_TRACE_NONE …
  uint64_t trace_records;         ///< kept at most, the newest: 192 bytes each, allocated at once; 0: 32,768
  uint64_t events_kept;           ///< not yet taken, at most, the newest; 0: there are no events
  /// Record for rejects how many nodes gave which reason, for notes of events.
  bool count_reasons;
  int32_t backfill;      ///< GANGSCHED_BACKFILL_NONE …
  int64_t max_overtake;  ///< entities that have waited longer get nodes reserved at once; 0: off; below 0: all
  int32_t profile;       ///< GANGSCHED_PROFILE_DEFAULT …: the profile if there is no configuration
  int64_t
      eviction_notice;  ///< how long victims of preemption may stay after GANGSCHED_NOTICE; 0: they are evicted at once
} gangsched_scheduler_options;

/// Makes a scheduler on a cluster, which must outlive it. @p configuration null, or empty: the profile of the options; @p options may be
/// null. Pending pods enter the queue; assumed pods count as decided. Errors: malformed and duplicate, of profiles that contradict each
/// other; out_of_range, of the options.
GANGSCHED_C_API gangsched_code gangsched_scheduler_create(gangsched_cluster* cluster,
                                                          const gangsched_configuration* configuration,
                                                          const gangsched_scheduler_options* options,
                                                          gangsched_scheduler** made,
                                                          gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Null is allowed. The cluster stays as it is.
GANGSCHED_C_API void gangsched_scheduler_destroy(gangsched_scheduler* scheduler) GANGSCHED_NOEXCEPT;

// --- decisions

typedef int32_t gangsched_decision_kind;
enum {
  GANGSCHED_BIND = 0,      ///< run the pod on the node, then confirm or fail
  GANGSCHED_WAIT = 1,      ///< the node is reserved; the pod waits in permit
  GANGSCHED_NOMINATE = 2,  ///< the node is the pod's once its victims are gone
  GANGSCHED_EVICT = 3,     ///< delete this running pod, then remove it from the cluster
  GANGSCHED_REJECT = 4,    ///< no node; why: `gangsched_scheduler_explain`
  GANGSCHED_REVOKE = 5,    ///< a reservation was taken back: a wait or bind that the host has not confirmed is void
  GANGSCHED_NOTICE = 6,    ///< this running pod is evicted after `eviction_notice`, unless that is no longer needed
  GANGSCHED_WITHDRAW = 7   ///< the eviction is cancelled: a pod that had notice may stay
};
/// "bind"; "" for an invalid kind. Static storage.
GANGSCHED_C_API const char* gangsched_decision_kind_name(gangsched_decision_kind kind) GANGSCHED_NOEXCEPT;

/// An action for the host. Its size is part of the interface: it does not grow.
typedef struct gangsched_decision {
  gangsched_decision_kind kind;
  int32_t rank;  ///< of the pod in its group; -1: none
  int32_t code;  ///< of a reject: GANGSCHED_UNSCHEDULABLE and so on, GANGSCHED_ERROR if a plugin failed
  int32_t unused;
  gangsched_pod_id pod;
  gangsched_node_id node;
  gangsched_group_id group;
  gangsched_attempt attempt;  ///< of bind, wait and revoke: the reservation; answers name it
  uint64_t pod_cookie;
  uint64_t node_cookie;
  int64_t score;        ///< of the chosen node: the weighted sum
  uint64_t annotation;  ///< set by pre_bind and bind plugins
  /// Why, of a reject, revoke or evict, if one text says it; else null. Valid until the first call of `take` or `run` after a turn has
  /// ended; a call of them that writes fewer decisions than it has room for ends the turn.
  const char* reason;
} gangsched_decision;

/// Tries one pod or group of the queue. @p worked (may be null) receives whether there was one, so that a loop with a fixed @p now ends.
/// Errors: busy, time_went_back (nothing was done); contract (a plugin's hook failed: decisions made before it stand, and the pod is tried
/// again later).
GANGSCHED_C_API gangsched_code gangsched_scheduler_schedule_cycle(gangsched_scheduler* scheduler, int64_t now,
                                                                  bool* worked,
                                                                  gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Decides about waiting pods (permit) for which something changed: bind, or revoke. Errors as above. O(waiting pods).
GANGSCHED_C_API gangsched_code gangsched_scheduler_permit(gangsched_scheduler* scheduler, int64_t now,
                                                          gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Takes up to @p capacity decisions that were not taken yet, oldest first, and writes their number to @p count. Decisions that no longer
/// hold are skipped: those about pods that are gone, and binds and waits that were taken back meanwhile. O(decisions).
GANGSCHED_C_API gangsched_code gangsched_scheduler_take(gangsched_scheduler* scheduler, gangsched_decision* into,
                                                        size_t capacity, size_t* count,
                                                        gangsched_error* error) GANGSCHED_NOEXCEPT;
/// A whole turn: takes what was decided before, schedules while pods are active and @p into has room, then calls `permit`, and goes on
/// until that decides nothing any more. If @p count is below @p capacity the turn is over, else call it again with the same @p now. Execute
/// decisions in their order: a later one may revoke an earlier one. An error of a plugin ends the call; decisions made until then are
/// written all the same.
GANGSCHED_C_API gangsched_code gangsched_scheduler_run(gangsched_scheduler* scheduler, int64_t now,
                                                       gangsched_decision* into, size_t capacity, size_t* count,
                                                       gangsched_error* error) GANGSCHED_NOEXCEPT;
/// One line about a decision of the last turn, for people: "train-0: bind to node-a", "web: reject, 0/2 nodes are available: 2
/// Insufficient cpu.". Pods of other namespaces than default are called namespace/name. Ends with a zero byte, and is good until the next
/// call of this function on the scheduler; empty, if the pod is gone, or there is no memory. A reject that has no `reason` is asked why as
/// things stand now, as `gangsched_scheduler_explain` does, O(nodes · plugins); all else is O(length).
GANGSCHED_C_API const char* gangsched_scheduler_describe(gangsched_scheduler* scheduler,
                                                         const gangsched_decision* decision) GANGSCHED_NOEXCEPT;

// --- answers. @p attempt 0 means the attempt under way, for hosts that answer before any other call

/// The pod of a bind decision runs. Errors: unknown (it is gone), outdated (it does not have its node by that attempt), wrong_state
/// (confirmed already, or it waits in permit). O(1).
GANGSCHED_C_API gangsched_code gangsched_scheduler_confirm(gangsched_scheduler* scheduler, gangsched_pod_id pod,
                                                           gangsched_attempt attempt,
                                                           gangsched_error* error) GANGSCHED_NOEXCEPT;
/// The host could not execute the bind, or gives up: the pod's resources are released, and it is queued again with backoff. If its gang is
/// atomic, decisions revoke its siblings, too. @p reason is for `explain`. Errors as above. O(members of the gang).
GANGSCHED_C_API gangsched_code gangsched_scheduler_fail(gangsched_scheduler* scheduler, gangsched_pod_id pod,
                                                        gangsched_attempt attempt, const char* reason,
                                                        gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Allows a waiting pod on behalf of @p plugin, or altogether (null); `reject` returns it to the queue. It takes effect at the next
/// `permit`. Errors: unknown, wrong_state (it does not wait, or not for that plugin).
GANGSCHED_C_API gangsched_code gangsched_scheduler_allow(gangsched_scheduler* scheduler, gangsched_pod_id pod,
                                                         const char* plugin, gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_scheduler_reject(gangsched_scheduler* scheduler, gangsched_pod_id pod,
                                                          const char* reason,
                                                          gangsched_error* error) GANGSCHED_NOEXCEPT;

// --- events in batches

typedef int32_t gangsched_event_kind;
enum {
  GANGSCHED_ADD_NODE = 0,          ///< `spec`: a gangsched_node_spec; `id` becomes the node's
  GANGSCHED_UPDATE_NODE = 1,       ///< `id`, `spec`
  GANGSCHED_REMOVE_NODE = 2,       ///< `id`
  GANGSCHED_ADD_POD = 3,           ///< `spec`: a gangsched_pod_spec; `id` becomes the pod's
  GANGSCHED_UPDATE_POD = 4,        ///< `id`, `spec`
  GANGSCHED_REMOVE_POD = 5,        ///< `id`
  GANGSCHED_SET_TERMINATING = 6,   ///< `id` of a pod; `value` other than 0: because of an evict decision
  GANGSCHED_ADD_GROUP = 7,         ///< `spec`: a gangsched_group_spec; `id` becomes the group's
  GANGSCHED_UPDATE_GROUP = 8,      ///< `id`, `spec`
  GANGSCHED_REMOVE_GROUP = 9,      ///< `id`
  GANGSCHED_SET_NODE_COLUMN = 10,  ///< `id` of a node, `text`: the column, `value`
  GANGSCHED_CONFIRM = 11,          ///< `id` of a pod, `attempt`; needs a scheduler
  GANGSCHED_FAIL = 12              ///< `id` of a pod, `attempt`, `text`: the reason; needs a scheduler
};

/// An event. Its size is part of the interface: it does not grow.
typedef struct gangsched_event {
  gangsched_event_kind kind;
  gangsched_code code;  ///< out: the result
  uint64_t id;
  gangsched_attempt attempt;
  int64_t value;
  const void* spec;
  const char* text;
} gangsched_event;

/// Applies events to a cluster, in order. Each event is applied on its own: a refused event changes nothing, and those after it are still
/// applied. @p scheduler may be null if no event confirms or fails; else it must be on this cluster. Returns the code of the first refused
/// event, which @p error describes. Costs what the corresponding calls cost.
GANGSCHED_C_API gangsched_code gangsched_tell(gangsched_cluster* cluster, gangsched_scheduler* scheduler,
                                              gangsched_event* events, size_t count,
                                              gangsched_error* error) GANGSCHED_NOEXCEPT;

// --- time, restart, questions

/// The earliest time at which something changes without any event, as of the last call with a time; GANGSCHED_NEVER if never. O(waiting
/// pods).
GANGSCHED_C_API int64_t gangsched_scheduler_next_deadline(const gangsched_scheduler* scheduler) GANGSCHED_NOEXCEPT;
/// Reads the host's changes since the last call, as if they happened at @p now. Errors: busy, time_went_back.
GANGSCHED_C_API gangsched_code gangsched_scheduler_catch_up(gangsched_scheduler* scheduler, int64_t now,
                                                            gangsched_error* error) GANGSCHED_NOEXCEPT;
enum {
  GANGSCHED_PLACE_NONE = 0,           ///< in no queue: placed, or being deleted
  GANGSCHED_PLACE_ACTIVE = 1,         ///< may be tried
  GANGSCHED_PLACE_BACKOFF = 2,        ///< in backoff after a rejection; tried before its end if nothing is active
  GANGSCHED_PLACE_ERROR_BACKOFF = 3,  ///< in backoff after an error; of a group also after a rejection
  GANGSCHED_PLACE_UNSCHEDULABLE = 4,  ///< waits for a change that can help
  GANGSCHED_PLACE_GATED = 5,          ///< a pre_enqueue plugin says no
  GANGSCHED_PLACE_IN_FLIGHT = 6,      ///< being tried
  GANGSCHED_PLACE_KEPT_BACK = 7       ///< in no queue: its group has as many members with a node as it may have
};
/// Where a pod stands in the queue; or its group, if that is queued as one. Its size does not grow.
typedef struct gangsched_queue_standing {
  int32_t place;          ///< GANGSCHED_PLACE_NONE …
  uint32_t attempts;      ///< in all
  uint32_t failures;      ///< attempts that were rejected
  uint32_t errors;        ///< attempts in a row that ended in an error
  int64_t since;          ///< when it entered, or failed last
  int64_t backoff_until;  ///< when the backoff after its last failure ends, or ended; GANGSCHED_NEVER: it had none
} gangsched_queue_standing;
/// As of the last call that was told the time. Errors: unknown, busy. O(plugins).
GANGSCHED_C_API gangsched_code gangsched_scheduler_standing(const gangsched_scheduler* scheduler, gangsched_pod_id pod,
                                                            gangsched_queue_standing* standing,
                                                            gangsched_error* error) GANGSCHED_NOEXCEPT;
/// After a restart: the pod stands in the queue as it did when @p as was asked for; `place` and `backoff_until` follow from the rest.
/// Errors: unknown, busy, wrong_state (the pod is not pending).
GANGSCHED_C_API gangsched_code gangsched_scheduler_restore(gangsched_scheduler* scheduler, gangsched_pod_id pod,
                                                           const gangsched_queue_standing* as,
                                                           gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Makes these pods active, whatever they wait for.
GANGSCHED_C_API gangsched_code gangsched_scheduler_activate(gangsched_scheduler* scheduler,
                                                            const gangsched_pod_id* pods, size_t count, int64_t now,
                                                            gangsched_error* error) GANGSCHED_NOEXCEPT;
/// For GANGSCHED_TIMERS_BY_HOST: end backoffs; activate pods that were unschedulable for too long.
GANGSCHED_C_API gangsched_code gangsched_scheduler_flush_backoff(gangsched_scheduler* scheduler, int64_t now,
                                                                 gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_scheduler_flush_unschedulable(gangsched_scheduler* scheduler, int64_t now,
                                                                       gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Data that plugins read has changed without a change of the cluster: cached results of all hooks are computed again.
GANGSCHED_C_API gangsched_code gangsched_scheduler_forget_cached(gangsched_scheduler* scheduler,
                                                                 gangsched_error* error) GANGSCHED_NOEXCEPT;

enum {
  GANGSCHED_SUMMARY = 0,  ///< the line shown to users: "0/5 nodes are available: 3 Insufficient cpu, …."
  GANGSCHED_TEXT = 1,     ///< that, and a line for each node: the rejecting plugin with its reasons, or the scores
  GANGSCHED_JSON = 2      ///< everything, as an object
};
/// Why a pod is not placed, or its scores per node, in the present state; free @p text with `gangsched_free`. Changes nothing. Errors:
/// unknown, busy, contract. O(nodes · plugins).
GANGSCHED_C_API gangsched_code gangsched_scheduler_explain(gangsched_scheduler* scheduler, gangsched_pod_id pod,
                                                           int32_t format, char** text,
                                                           gangsched_error* error) GANGSCHED_NOEXCEPT;
/// The same for the waiting members of a group, placement by placement.
GANGSCHED_C_API gangsched_code gangsched_scheduler_explain_group(gangsched_scheduler* scheduler,
                                                                 gangsched_group_id group, int32_t format, char** text,
                                                                 gangsched_error* error) GANGSCHED_NOEXCEPT;

/// How many entities are in each place of the queue, as of the last call with a time. Its size does not grow.
typedef struct gangsched_counts {
  size_t active, backoff, unschedulable, gated;
  size_t waiting;  ///< pods waiting in permit
  size_t in_flight;
} gangsched_counts;
GANGSCHED_C_API gangsched_counts gangsched_scheduler_counts(const gangsched_scheduler* scheduler) GANGSCHED_NOEXCEPT;
/// Decisions so far, tie-breaks included: nodes picked or found missing. O(1).
GANGSCHED_C_API uint64_t gangsched_scheduler_decisions(const gangsched_scheduler* scheduler) GANGSCHED_NOEXCEPT;

/// Counts since the scheduler was made. The caller sets `struct_size`, and gets as many of the numbers as fit.
typedef struct gangsched_statistics {
  size_t struct_size;
  uint64_t cycles;              ///< entities handled
  uint64_t decisions;           ///< nodes picked or found missing
  uint64_t index_builds;        ///< class indexes built from scratch
  uint64_t rows_evaluated;      ///< pairs of a class and a node whose hooks were run again
  uint64_t opaque_evaluations;  ///< calls of hooks that are not cached
  uint64_t scans;               ///< picks that looked at every candidate
  uint64_t search_steps;        ///< nodes tried by complete searches for groups
  uint64_t wake_ups;            ///< pods and groups woken by a change
  uint64_t observer_errors;     ///< calls of an observer that failed
  uint64_t reservations;        ///< nodes reserved for a pod or group that found no room (`backfill`, `max_overtake`)
  uint64_t late_reservations;   ///< of these, put off because a pod ran longer than expected or nodes were removed
} gangsched_statistics;
/// Writes the numbers to @p into. Error: malformed (null, or a `struct_size` with no number in it). O(1).
GANGSCHED_C_API gangsched_code gangsched_scheduler_statistics(const gangsched_scheduler* scheduler,
                                                              gangsched_statistics* into,
                                                              gangsched_error* error) GANGSCHED_NOEXCEPT;

#ifdef __cplusplus
}
#endif
