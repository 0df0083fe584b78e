#pragma once
#include "gangsched/c/base.h"

/// Nodes, pods, groups and queues as a host describes them: Kubernetes' names and meaning, as in the C++ structs of
/// gangsched/model/spec.hpp. Devices of nodes, and claims and volumes of pods, are in gangsched/c/devices.h.

#ifdef __cplusplus
extern "C" {
#endif

/// An amount of a resource: `quantity` as Kubernetes writes it ("1500m", "64Gi"), or, if that is null, value * 10^scale units: {.value =
/// 1500, .scale = -3} are 1.5 cores. `scale` is from -9 to 18.
typedef struct gangsched_amount {
  const char* resource;
  const char* quantity;
  int64_t value;
  int32_t scale;
} gangsched_amount;

typedef struct gangsched_amounts {
  const gangsched_amount* items;
  size_t count;
} gangsched_amounts;

/// A label, an annotation, a selector's pair.
typedef struct gangsched_pair {
  const char* key;
  const char* value;
} gangsched_pair;

typedef struct gangsched_pairs {
  const gangsched_pair* items;
  size_t count;
} gangsched_pairs;

typedef struct gangsched_texts {
  const char* const* items;
  size_t count;
} gangsched_texts;

/// Effects of taints. In a toleration 0 is every effect; in a taint it is NoSchedule.
enum { GANGSCHED_NO_SCHEDULE = 1, GANGSCHED_PREFER_NO_SCHEDULE = 2, GANGSCHED_NO_EXECUTE = 3 };

typedef struct gangsched_taint {
  const char* key;
  const char* value;
  int32_t effect;
} gangsched_taint;

typedef struct gangsched_toleration {
  const char* key;  ///< empty: every key, which needs `exists`
  const char* value;
  int32_t effect;
  bool exists;  ///< operator Exists; false: Equal
} gangsched_toleration;

typedef struct gangsched_image {
  gangsched_texts names;
  int64_t size_bytes;
} gangsched_image;

// gangsched/c/devices.h
typedef struct gangsched_node_devices gangsched_node_devices;
typedef struct gangsched_pod_volumes gangsched_pod_volumes;
struct gangsched_device_request;
struct gangsched_device_constraint;
struct gangsched_held_device;

typedef struct gangsched_node_spec {
  size_t struct_size;
  const char* name;
  gangsched_pairs labels;
  const gangsched_taint* taints;
  size_t taint_count;
  gangsched_amounts allocatable;
  gangsched_amounts volume_limits;  ///< volumes it can attach, by driver (`resource`)
  const gangsched_image* images;
  size_t image_count;
  bool unschedulable;
  uint64_t cookie;                        ///< the host's own number, returned with every decision
  const gangsched_node_devices* devices;  ///< null: unknown; then only counted resources are checked
  gangsched_texts declared_features;      ///< status.declaredFeatures; a set
} gangsched_node_spec;

enum { GANGSCHED_TCP = 0, GANGSCHED_UDP = 1, GANGSCHED_SCTP = 2 };

typedef struct gangsched_port {
  int32_t host_port;
  int32_t protocol;
  const char* host_ip;  ///< empty and "0.0.0.0": every address
} gangsched_port;

typedef struct gangsched_container {
  size_t struct_size;
  gangsched_amounts requests;
  gangsched_amounts limits;  ///< read by load-aware plugins
  const char* image;
  const gangsched_port* ports;
  size_t port_count;
  bool sidecar;  ///< an init container with restartPolicy Always
} gangsched_container;

enum {
  GANGSCHED_IN = 0,
  GANGSCHED_NOT_IN = 1,
  GANGSCHED_EXISTS = 2,
  GANGSCHED_DOES_NOT_EXIST = 3,
  GANGSCHED_GT = 4,
  GANGSCHED_LT = 5
};

typedef struct gangsched_requirement {
  const char* key;
  int32_t op;
  gangsched_texts values;
} gangsched_requirement;

typedef struct gangsched_requirements {
  const gangsched_requirement* items;
  size_t count;
} gangsched_requirements;

/// metav1.LabelSelector. A null pointer to one is an absent selector, which matches nothing; an empty one matches everything.
typedef struct gangsched_selector {
  gangsched_pairs match_labels;
  gangsched_requirements match_expressions;
} gangsched_selector;

/// A term of a node selector. `weight`, 1 to 100, is for preferred terms.
typedef struct gangsched_node_term {
  gangsched_requirements match_expressions;
  gangsched_requirements match_fields;
  int32_t weight;
} gangsched_node_term;

/// A term of affinity to, or from, pods. `weight`, 1 to 100, is for preferred terms.
typedef struct gangsched_pod_term {
  const char* topology_key;
  const gangsched_selector* selector;
  gangsched_texts namespaces;
  const gangsched_selector* namespace_selector;
  int32_t weight;
} gangsched_pod_term;

typedef struct gangsched_pod_terms {
  const gangsched_pod_term* items;
  size_t count;
} gangsched_pod_terms;

typedef struct gangsched_spread {
  const char* topology_key;
  int32_t max_skew;      ///< 0: 1
  int32_t min_domains;   ///< 0: 1
  bool schedule_anyway;  ///< whenUnsatisfiable ScheduleAnyway; false: DoNotSchedule
  const gangsched_selector* selector;
  bool ignore_node_affinity;  ///< nodeAffinityPolicy Ignore; false: Honor
  bool honor_node_taints;     ///< nodeTaintsPolicy Honor; false: Ignore
  gangsched_texts match_label_keys;
} gangsched_spread;

enum { GANGSCHED_PREEMPT_LOWER_PRIORITY = 0, GANGSCHED_PREEMPT_NEVER = 1 };
enum {
  GANGSCHED_NO_CONTROLLER = 0,
  GANGSCHED_REPLICATION_CONTROLLER = 1,
  GANGSCHED_REPLICA_SET = 2,
  GANGSCHED_STATEFUL_SET = 3,
  GANGSCHED_DAEMON_SET = 4
};

typedef struct gangsched_pod_spec {
  size_t struct_size;
  const char* name;
  const char* ns;  ///< empty: "default"
  gangsched_pairs labels;
  const gangsched_container* containers;
  size_t container_count;
  const gangsched_container* init_containers;
  size_t init_container_count;
  const gangsched_amounts* resources;  ///< pod-level requests; null: none
  gangsched_amounts overhead;
  gangsched_pairs node_selector;
  const gangsched_node_term*
      node_terms;  ///< required node affinity: one must hold; `has_node_terms` with none: nothing matches
  size_t node_term_count;
  bool has_node_terms;  ///< needed only if there are none
  const gangsched_node_term* preferred_nodes;
  size_t preferred_node_count;
  gangsched_pod_terms near, prefer_near;    ///< affinity to pods: required, preferred
  gangsched_pod_terms apart, prefer_apart;  ///< anti-affinity
  const gangsched_toleration* tolerations;
  size_t toleration_count;
  const gangsched_spread* spread;
  size_t spread_count;
  bool has_priority;
  int32_t priority;  ///< if `has_priority`; else of the priority class, of the default class, else 0
  const char* priority_class;
  int32_t preemption;          ///< GANGSCHED_PREEMPT_…
  const char* scheduler_name;  ///< empty: "default-scheduler"
  gangsched_texts scheduling_gates;
  gangsched_group_id group;  ///< it may be only expected (`gangsched_cluster_expect_group`)
  const char* role;          ///< its role in its group
  bool has_rank;
  int32_t rank;            ///< if `has_rank`: its index in its group
  const char* queue;       ///< empty: that of its group, else the one that takes its namespace
  const char* held_room;   ///< the room held for it, by name
  gangsched_node_id node;  ///< the node that it is bound to, by others or before a restart
  gangsched_node_id nominated_node;
  bool terminating;
  bool preempted;   ///< beside terminating: because of an evict decision
  bool guaranteed;  ///< status.qosClass is Guaranteed
  bool has_start_time;
  int64_t start_time;       ///< nanoseconds, if `has_start_time`
  int32_t controller_kind;  ///< GANGSCHED_REPLICA_SET …: for default spreading
  const char* controller_name;
  uint64_t cookie;                                 ///< the host's own number, returned with every decision
  const struct gangsched_device_request* devices;  ///< beside the resources that containers request by number
  size_t device_count;
  const struct gangsched_device_constraint* device_constraints;  ///< on `devices`
  size_t device_constraint_count;
  const gangsched_resource_claim_id*
      resource_claims;  ///< of its namespace, each once: devices that it shares with others
  size_t resource_claim_count;
  const struct gangsched_held_device* held_devices;  ///< with `node`: its devices there; none: the library guesses
  size_t held_device_count;
  const gangsched_pod_volumes* volumes;  ///< null: none that constrain the node
  gangsched_texts image_volumes;         ///< images that it mounts as volumes
  // Exclusive CPUs for the pod as a whole, where NUMA cells are known (NodeNUMAResource)
  int32_t cpu_bind;           ///< GANGSCHED_CPUS_NONE …
  bool cpu_bind_required;     ///< false: if possible
  int32_t cpu_exclusive;      ///< GANGSCHED_CPUS_TOGETHER …
  int64_t expected_run_time;  ///< nanoseconds, for backfill; 0: unknown
  bool has_deadline;
  int64_t deadline;  ///< if `has_deadline`: the time by which it should have ended, for LeastSlackSort and Deadline
  int64_t max_wait;  ///< nanoseconds that it should wait at most, for LeastSlackSort; 0: no limit
  // The pod's own estimate of its load for LoadAwareScheduling, if its argument allowCustomizeEstimation allows it
  int64_t load_cpu_percent, load_memory_percent;  ///< of the larger of request and limit; 0: the general factor
  bool has_load_after_scheduled, has_load_after_initialized;
  int64_t load_after_scheduled;       ///< nanoseconds from scheduling that the estimate counts, whatever was measured
  int64_t load_after_initialized;     ///< the same, after its init containers had ended
  gangsched_texts required_features;  ///< that its node has to declare; a set
  gangsched_pod_id draws_from;        ///< with `node`: the reservation there that it was allocated from
} gangsched_pod_spec;

/// How members start together: tried as a whole in one transaction, or placed one by one while earlier ones wait in permit.
enum { GANGSCHED_GROUP_CYCLE = 0, GANGSCHED_PERMIT_ROOM = 1 };
/// Which domain is chosen among those with room.
enum {
  GANGSCHED_SCORED = 0,
  GANGSCHED_BEST_FIT = 1,
  GANGSCHED_LEAST_FREE = 2,
  GANGSCHED_MOST_FREE = 3,
  GANGSCHED_BALANCED = 4
};
/// What is evicted together with a member: nothing, the whole group, or nothing as long as the minimum is kept.
enum { GANGSCHED_DISRUPT_SINGLE = 0, GANGSCHED_DISRUPT_ALL = 1, GANGSCHED_DISRUPT_SURPLUS = 2 };

/// The minimum number of members of a role.
typedef struct gangsched_role {
  const char* name;
  int32_t min_count;
} gangsched_role;

/// Runs of `size` members, by rank, share a domain of `key` each.
typedef struct gangsched_slice {
  const char* key;
  int32_t size;
} gangsched_slice;

typedef struct gangsched_group_spec {
  size_t struct_size;
  const char* name;
  const char* ns;  ///< empty: "default"
  int32_t
      min_count;  ///< members that start together; of a group of groups: child groups. 0: no gang, one member is enough
  int32_t desired_count;  ///< members above this take only room that is free; 0: no such number
  int32_t max_count;      ///< members above this wait; 0: no such number
  const gangsched_role* roles;
  size_t role_count;
  int32_t mode;               ///< GANGSCHED_GROUP_CYCLE …
  int64_t timeout;            ///< nanoseconds that a member waits in permit; 0: five minutes
  bool atomic;                ///< a member that fails before the group is confirmed revokes its siblings
  bool strict;                ///< permit mode: a member without a node rejects the waiting ones
  bool composite;             ///< its members are groups
  gangsched_group_id parent;  ///< the composite group that it is in
  const char* workload;
  bool has_priority;
  int32_t priority;   ///< if `has_priority`: of the whole tree and its pods
  const char* queue;  ///< of its pods that name none
  gangsched_texts
      within;        ///< node labels: all members share one domain of the first; if none has room, of the second …
  bool or_anywhere;  ///< … and last of all nodes
  const gangsched_slice* slices;  ///< outer ones first; each size divides the one before
  size_t slice_count;
  const char* spread_key;  ///< at most `spread_most` members in a domain of this label
  int32_t spread_most;
  int32_t choice;        ///< GANGSCHED_SCORED …
  bool moves_when_full;  ///< a group that lost a node, and has no room for another member where it is, moves as a whole
  int32_t disruption;    ///< GANGSCHED_DISRUPT_SINGLE …
  bool done;             ///< its members have ended, and no more will be added
  uint64_t cookie;
  bool has_deadline;  ///< for its pods without their own; likewise the longest wait
  int64_t deadline;
  int64_t max_wait;
} gangsched_group_spec;

/// The quota of a queue, with those below it, of one flavor. A list sets nothing for the resources that it does not name.
typedef struct gangsched_quota {
  const char* flavor;            ///< empty: of all nodes together
  gangsched_amounts guaranteed;  ///< its own (nominalQuota, deserved, min)
  gangsched_amounts limit;       ///< the most in use at once (max, capability)
  gangsched_amounts borrowing_limit;
  gangsched_amounts lending_limit;
} gangsched_quota;

enum { GANGSCHED_QUEUE_OPEN = 0, GANGSCHED_QUEUE_HOLD = 1, GANGSCHED_QUEUE_DRAIN = 2 };
/// Which pods may be preempted for a pod or group of the same queue; 0: those of lower priority.
enum { GANGSCHED_WITHIN_NEVER = 1, GANGSCHED_WITHIN_LOWER_PRIORITY = 2, GANGSCHED_WITHIN_LOWER_OR_NEWER = 3 };
/// From which queues a queue that uses less than its guarantee reclaims it; 0: from any.
enum { GANGSCHED_RECLAIM_NEVER = 1, GANGSCHED_RECLAIM_LOWER_PRIORITY = 2, GANGSCHED_RECLAIM_ANY = 3 };

typedef struct gangsched_queue_spec {
  size_t struct_size;
  const char* name;    ///< unique in the cluster
  const char* parent;  ///< empty: none. It may be added later
  const gangsched_quota* quotas;
  size_t quota_count;
  double weight;     ///< against its siblings; 0: 1
  int32_t priority;  ///< among siblings the higher one goes first
  int32_t state;     ///< GANGSCHED_QUEUE_OPEN …
  bool strict;       ///< if the head of the queue is not admitted, later pods wait, too
  int32_t within_queue;
  int32_t reclaim;
  gangsched_texts namespaces;  ///< their pods are in this queue, if neither they nor their group name one
  bool has_max_running;
  int32_t max_running;  ///< if `has_max_running`: the most groups and single pods on nodes at once
  uint64_t cookie;
} gangsched_queue_spec;

/// A kind of node that has quota of its own (Kueue's ResourceFlavor): a node belongs to the first one, by name, whose labels it has.
typedef struct gangsched_flavor_spec {
  size_t struct_size;
  const char* name;
  gangsched_pairs node_labels;
  const gangsched_taint* taints;
  size_t taint_count;
  const gangsched_toleration* tolerations;
  size_t toleration_count;
} gangsched_flavor_spec;

typedef struct gangsched_priority_class_spec {
  size_t struct_size;
  const char* name;
  int32_t value;
  bool global_default;
  int32_t preemption;  ///< GANGSCHED_PREEMPT_…
} gangsched_priority_class_spec;

#ifdef __cplusplus
}
#endif
