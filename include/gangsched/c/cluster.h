#pragma once
#include "gangsched/c/devices.h"

/// The cluster: nodes, pods, groups and queues as the host knows them. Every call either takes full effect, or is refused and changes
/// nothing; inside a plugin's callback every call that changes something is GANGSCHED_BUSY. An unknown id is GANGSCHED_UNKNOWN. A call
/// costs what its C++ counterpart in gangsched/model/cluster.hpp costs, and a copy of its arguments.

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gangsched_cluster_options {
  size_t struct_size;
  size_t log_bound;  ///< change records kept at least; 0: 65,536; at most 2^40
  uint64_t
      attempts_after;  ///< attempts are numbered above this: after a restart the largest number that late answers may name
} gangsched_cluster_options;

/// Makes an empty cluster; @p options may be null. Destroy it after the schedulers on it.
GANGSCHED_C_API gangsched_code gangsched_cluster_create(const gangsched_cluster_options* options,
                                                        gangsched_cluster** made,
                                                        gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Null is allowed.
GANGSCHED_C_API void gangsched_cluster_destroy(gangsched_cluster* cluster) GANGSCHED_NOEXCEPT;
/// Reserves memory for that many, so that later calls need not move large tables. O(sizes).
GANGSCHED_C_API gangsched_code gangsched_cluster_reserve(gangsched_cluster* cluster, uint32_t nodes, uint32_t pods,
                                                         uint32_t groups, gangsched_error* error) GANGSCHED_NOEXCEPT;

// --- nodes

/// Adds a node; @p made may be null. Errors: duplicate (its name), malformed, out_of_range, overflow.
GANGSCHED_C_API gangsched_code gangsched_cluster_add_node(gangsched_cluster* cluster, const gangsched_node_spec* spec,
                                                          gangsched_node_id* made,
                                                          gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Replaces the whole spec; the name must stay (wrong_state). Pods on it stay, even if they no longer fit.
GANGSCHED_C_API gangsched_code gangsched_cluster_update_node(gangsched_cluster* cluster, gangsched_node_id node,
                                                             const gangsched_node_spec* spec,
                                                             gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Sets how much the node has of resources that its spec does not name; 0: none. An amount stays through update_node until it is set again,
/// or until a new spec names the resource. Pods stay, even if they no longer fit. Errors: unknown, malformed, wrong_state (the spec names
/// one). O(size of the node's spec).
GANGSCHED_C_API gangsched_code gangsched_cluster_set_allocatable(gangsched_cluster* cluster, gangsched_node_id node,
                                                                 gangsched_amounts amounts,
                                                                 gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Removes the node and every pod bound to it. The cookies of those pods are written to @p cookies, up to @p capacity of them, and their
/// number to @p count (both may be null). Pods that were assumed there are pending again, and revoked by the scheduler's next call.
GANGSCHED_C_API gangsched_code gangsched_cluster_remove_node(gangsched_cluster* cluster, gangsched_node_id node,
                                                             uint64_t* cookies, size_t capacity, size_t* count,
                                                             gangsched_error* error) GANGSCHED_NOEXCEPT;

// --- pods

/// Adds a pod that waits to be scheduled, or runs already (`node`); @p made may be null. Errors as for nodes.
GANGSCHED_C_API gangsched_code gangsched_cluster_add_pod(gangsched_cluster* cluster, const gangsched_pod_spec* spec,
                                                         gangsched_pod_id* made,
                                                         gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Replaces the spec. Name, namespace and group must stay. A pending pod with a node in the new spec was bound there by others.
GANGSCHED_C_API gangsched_code gangsched_cluster_update_pod(gangsched_cluster* cluster, gangsched_pod_id pod,
                                                            const gangsched_pod_spec* spec,
                                                            gangsched_error* error) GANGSCHED_NOEXCEPT;
/// The pod is gone: its resources are free.
GANGSCHED_C_API gangsched_code gangsched_cluster_remove_pod(gangsched_cluster* cluster, gangsched_pod_id pod,
                                                            gangsched_error* error) GANGSCHED_NOEXCEPT;
/// The pod is being deleted, @p preempted: because of an evict decision. It keeps its resources until it is removed.
GANGSCHED_C_API gangsched_code gangsched_cluster_set_terminating(gangsched_cluster* cluster, gangsched_pod_id pod,
                                                                 bool preempted,
                                                                 gangsched_error* error) GANGSCHED_NOEXCEPT;
/// The calls of schedulers, for hosts that decide by themselves, or repeat decisions after a restart. assume: reserves room on a node for a
/// pending pod. bind: an assumed pod runs. release: an assumed pod is pending again. nominate: the node that a pending pod gets once its
/// victims are gone (0: none).
GANGSCHED_C_API gangsched_code gangsched_cluster_assume(gangsched_cluster* cluster, gangsched_pod_id pod,
                                                        gangsched_node_id node,
                                                        gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_cluster_bind(gangsched_cluster* cluster, gangsched_pod_id pod,
                                                      gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_cluster_release(gangsched_cluster* cluster, gangsched_pod_id pod,
                                                         gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_cluster_nominate(gangsched_cluster* cluster, gangsched_pod_id pod,
                                                          gangsched_node_id node,
                                                          gangsched_error* error) GANGSCHED_NOEXCEPT;

// --- groups, namespaces, priority classes

/// Adds a group, or gives one that was only expected its spec; @p made may be null.
GANGSCHED_C_API gangsched_code gangsched_cluster_add_group(gangsched_cluster* cluster, const gangsched_group_spec* spec,
                                                           gangsched_group_id* made,
                                                           gangsched_error* error) GANGSCHED_NOEXCEPT;
/// The id of a group that need not exist yet: pods may join it, and wait until it is added.
GANGSCHED_C_API gangsched_code gangsched_cluster_expect_group(gangsched_cluster* cluster, const char* ns,
                                                              const char* name, bool composite,
                                                              gangsched_group_id* made,
                                                              gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Name, parent and kind of policy must stay; the minimum may change at any time.
GANGSCHED_C_API gangsched_code gangsched_cluster_update_group(gangsched_cluster* cluster, gangsched_group_id group,
                                                              const gangsched_group_spec* spec,
                                                              gangsched_error* error) GANGSCHED_NOEXCEPT;
/// If it has members left it becomes an expected group: members with a node keep it, the others wait.
GANGSCHED_C_API gangsched_code gangsched_cluster_remove_group(gangsched_cluster* cluster, gangsched_group_id group,
                                                              gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Adds the namespace or replaces its labels; the second call removes it.
GANGSCHED_C_API gangsched_code gangsched_cluster_set_namespace(gangsched_cluster* cluster, const char* name,
                                                               gangsched_pairs labels,
                                                               gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_cluster_remove_namespace(gangsched_cluster* cluster, const char* name,
                                                                  gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Adds the priority class or replaces it; the second call removes it. Pods keep the priority that they were added with.
GANGSCHED_C_API gangsched_code gangsched_cluster_set_priority_class(gangsched_cluster* cluster,
                                                                    const gangsched_priority_class_spec* spec,
                                                                    gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_cluster_remove_priority_class(gangsched_cluster* cluster, const char* name,
                                                                       gangsched_error* error) GANGSCHED_NOEXCEPT;

// --- devices

/// Sets whether one device, by id, is healthy: an unhealthy one is hidden at once. The pods that use it, which keep it until they are
/// removed, are written to @p pods, up to @p capacity of them, and their number to @p count (both may be null). Error: unknown, if the node
/// has no such device. O(devices of the node + its pods).
GANGSCHED_C_API gangsched_code gangsched_cluster_set_device_health(gangsched_cluster* cluster, gangsched_node_id node,
                                                                   const char* device, bool healthy,
                                                                   gangsched_pod_id* pods, size_t capacity,
                                                                   size_t* count,
                                                                   gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Adds a claim of devices that pods share; @p made may be null. Errors: duplicate, malformed. Of its `held_devices`, what others have is
/// left out, and unhealthy ones are held; what its node does not have yet is held once it is there.
GANGSCHED_C_API gangsched_code gangsched_cluster_add_resource_claim(gangsched_cluster* cluster,
                                                                    const gangsched_resource_claim_spec* spec,
                                                                    gangsched_resource_claim_id* made,
                                                                    gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Error: wrong_state, while a pod names it.
GANGSCHED_C_API gangsched_code gangsched_cluster_remove_resource_claim(gangsched_cluster* cluster,
                                                                       gangsched_resource_claim_id claim,
                                                                       gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Deallocates a claim that was allocated before a pod used it. Error: wrong_state, while a pod on a node uses it.
GANGSCHED_C_API gangsched_code gangsched_cluster_deallocate(gangsched_cluster* cluster,
                                                            gangsched_resource_claim_id claim,
                                                            gangsched_error* error) GANGSCHED_NOEXCEPT;

// --- queues and flavors; they matter if a plugin of the profile reads queues (GANGSCHED_PROFILE_WITH_QUEUES)

/// Adds a queue, or gives one that was only named its spec; @p made may be null. Errors: duplicate, unknown (a flavor), malformed,
/// overflow.
GANGSCHED_C_API gangsched_code gangsched_cluster_add_queue(gangsched_cluster* cluster, const gangsched_queue_spec* spec,
                                                           gangsched_queue_id* made,
                                                           gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Replaces the spec; the name must stay, the parent may change.
GANGSCHED_C_API gangsched_code gangsched_cluster_update_queue(gangsched_cluster* cluster, gangsched_queue_id queue,
                                                              const gangsched_queue_spec* spec,
                                                              gangsched_error* error) GANGSCHED_NOEXCEPT;
/// While pods, groups or queues name it, it remains as a name only: its pods stay, and waiting ones go on waiting.
GANGSCHED_C_API gangsched_code gangsched_cluster_remove_queue(gangsched_cluster* cluster, gangsched_queue_id queue,
                                                              gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Adds a flavor or replaces it; the second call removes it (wrong_state, while a queue has quota of it).
GANGSCHED_C_API gangsched_code gangsched_cluster_set_flavor(gangsched_cluster* cluster,
                                                            const gangsched_flavor_spec* spec,
                                                            gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_cluster_remove_flavor(gangsched_cluster* cluster, const char* name,
                                                               gangsched_error* error) GANGSCHED_NOEXCEPT;
/// What pods of a queue, and of those below it, use of a resource on nodes: cpu in milli, everything else in whole units; 0 for an unknown
/// queue or resource. O(resources).
GANGSCHED_C_API int64_t gangsched_cluster_queue_used(const gangsched_cluster* cluster, gangsched_queue_id queue,
                                                     const char* resource) GANGSCHED_NOEXCEPT;
/// The queue of a pod; 0 if it is in none. O(1).
GANGSCHED_C_API gangsched_queue_id gangsched_cluster_queue_of(const gangsched_cluster* cluster,
                                                              gangsched_pod_id pod) GANGSCHED_NOEXCEPT;

// --- columns: numbers of nodes, groups and pods that plugins read (docs/columns.md)

/// Makes a column of nodes, groups or pods; no effect if one of that name exists. O(rows).
GANGSCHED_C_API gangsched_code gangsched_cluster_add_node_column(gangsched_cluster* cluster, const char* column,
                                                                 gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_cluster_add_group_column(gangsched_cluster* cluster, const char* column,
                                                                  gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_cluster_add_pod_column(gangsched_cluster* cluster, const char* column,
                                                                gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Sets a number of a column. Pods that were rejected by a plugin which reads the column are tried again. Errors: unknown (no such column
/// or object), wrong_state (the column belongs to plugins' reserve hooks). O(columns).
GANGSCHED_C_API gangsched_code gangsched_cluster_set_node_column(gangsched_cluster* cluster, gangsched_node_id node,
                                                                 const char* column, int64_t value,
                                                                 gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_cluster_set_group_column(gangsched_cluster* cluster, gangsched_group_id group,
                                                                  const char* column, int64_t value,
                                                                  gangsched_error* error) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_code gangsched_cluster_set_pod_column(gangsched_cluster* cluster, gangsched_pod_id pod,
                                                                const char* column, int64_t value,
                                                                gangsched_error* error) GANGSCHED_NOEXCEPT;
/// A word of a column of nodes, 0 if there is none. O(columns).
GANGSCHED_C_API int64_t gangsched_cluster_node_column(const gangsched_cluster* cluster, gangsched_node_id node,
                                                      const char* column) GANGSCHED_NOEXCEPT;

// --- questions: 0, or an empty text, if there is no such object

/// By name. O(length).
GANGSCHED_C_API gangsched_node_id gangsched_cluster_find_node(const gangsched_cluster* cluster,
                                                              const char* name) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_pod_id gangsched_cluster_find_pod(const gangsched_cluster* cluster, const char* ns,
                                                            const char* name) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_group_id gangsched_cluster_find_group(const gangsched_cluster* cluster, const char* ns,
                                                                const char* name, bool composite) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_resource_claim_id gangsched_cluster_find_resource_claim(const gangsched_cluster* cluster,
                                                                                  const char* ns,
                                                                                  const char* name) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_queue_id gangsched_cluster_find_queue(const gangsched_cluster* cluster,
                                                                const char* name) GANGSCHED_NOEXCEPT;
/// Names are valid until the object is updated or removed. O(1).
GANGSCHED_C_API gangsched_text gangsched_cluster_node_name(const gangsched_cluster* cluster,
                                                           gangsched_node_id node) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_text gangsched_cluster_pod_name(const gangsched_cluster* cluster,
                                                          gangsched_pod_id pod) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_text gangsched_cluster_group_name(const gangsched_cluster* cluster,
                                                            gangsched_group_id group) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_text gangsched_cluster_queue_name(const gangsched_cluster* cluster,
                                                            gangsched_queue_id queue) GANGSCHED_NOEXCEPT;

enum { GANGSCHED_POD_NONE = 0, GANGSCHED_POD_PENDING = 1, GANGSCHED_POD_ASSUMED = 2, GANGSCHED_POD_BOUND = 3 };
/// GANGSCHED_POD_…; the node where it runs or is assumed; the attempt that assigned it; the node that it is nominated to. O(1).
GANGSCHED_C_API int32_t gangsched_cluster_pod_state(const gangsched_cluster* cluster,
                                                    gangsched_pod_id pod) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_node_id gangsched_cluster_pod_node(const gangsched_cluster* cluster,
                                                             gangsched_pod_id pod) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_attempt gangsched_cluster_pod_attempt(const gangsched_cluster* cluster,
                                                                gangsched_pod_id pod) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_node_id gangsched_cluster_nominated_node(const gangsched_cluster* cluster,
                                                                   gangsched_pod_id pod) GANGSCHED_NOEXCEPT;
/// The reservation on its node that the pod draws from, which its host writes down to say so after a restart (`draws_from`); 0: none. O(1).
GANGSCHED_C_API gangsched_pod_id gangsched_cluster_reservation_of(const gangsched_cluster* cluster,
                                                                  gangsched_pod_id pod) GANGSCHED_NOEXCEPT;
/// The time, on the host's clock, from which the nominated node is expected to have room for the pod, if it is reserved (`backfill` of the
/// scheduler's options). GANGSCHED_NEVER if it is not reserved, or the time is unknown. O(1).
GANGSCHED_C_API int64_t gangsched_cluster_reserved_from(const gangsched_cluster* cluster,
                                                        gangsched_pod_id pod) GANGSCHED_NOEXCEPT;
/// Of a node and a resource: cpu in milli, everything else in whole units. O(length).
GANGSCHED_C_API int64_t gangsched_cluster_allocatable(const gangsched_cluster* cluster, gangsched_node_id node,
                                                      const char* resource) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API int64_t gangsched_cluster_requested(const gangsched_cluster* cluster, gangsched_node_id node,
                                                    const char* resource) GANGSCHED_NOEXCEPT;
/// The ids of all nodes, or of all pods, by row: up to @p capacity of them are written, and their number is returned. O(rows). 0 if memory
/// runs out.
GANGSCHED_C_API size_t gangsched_cluster_nodes(const gangsched_cluster* cluster, gangsched_node_id* into,
                                               size_t capacity) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API size_t gangsched_cluster_pods(const gangsched_cluster* cluster, gangsched_pod_id* into,
                                              size_t capacity) GANGSCHED_NOEXCEPT;

/// A device that a pod has on its node, or a part of one.
typedef struct gangsched_device {
  gangsched_text id;       ///< its id among the node's devices; valid until the node is updated or removed
  gangsched_text profile;  ///< of a MIG instance: "1g.10gb"
  int32_t milli;           ///< of a share of a GPU: thousandths
  int64_t amount;          ///< of a share: MiB of memory; of another device: units of its capacity
  int32_t request;         ///< number of the request that it is for; -1: GPUs that a resource of the pod counts
} gangsched_device;
/// The devices of the pod: up to @p capacity of them are written, and their number is returned; CPUs, memory in NUMA cells, and devices of
/// shared claims are not included. O(devices).
GANGSCHED_C_API size_t gangsched_cluster_devices(const gangsched_cluster* cluster, gangsched_pod_id pod,
                                                 gangsched_device* into, size_t capacity) GANGSCHED_NOEXCEPT;

/// Where a claim is allocated, 0 if nowhere; the second call: its devices there, like those of a pod. O(devices).
GANGSCHED_C_API gangsched_node_id gangsched_cluster_claim_node(const gangsched_cluster* cluster,
                                                               gangsched_resource_claim_id claim) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API size_t gangsched_cluster_claim_devices(const gangsched_cluster* cluster,
                                                       gangsched_resource_claim_id claim, gangsched_device* into,
                                                       size_t capacity) GANGSCHED_NOEXCEPT;

/// Which alternative of a request (`first_of`) the pod's devices, or the claim's, were chosen for: its index, as "request/subrequest" in
/// the status of a ResourceClaim; of devices that the host named the first that leads to them. -1: the request offers none or is about
/// GPUs, there are no devices, no alternative leads to those that the host named, or there is no memory. O(devices), at most a search of
/// twice 4,096 steps.
GANGSCHED_C_API int32_t gangsched_cluster_alternative(const gangsched_cluster* cluster, gangsched_pod_id pod,
                                                      int32_t request) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API int32_t gangsched_cluster_claim_alternative(const gangsched_cluster* cluster,
                                                            gangsched_resource_claim_id claim,
                                                            int32_t request) GANGSCHED_NOEXCEPT;

/// A digest over the whole state: equal states, equal digests. O(state). 0 if there is no memory for it.
GANGSCHED_C_API uint64_t gangsched_cluster_digest(const gangsched_cluster* cluster) GANGSCHED_NOEXCEPT;

#ifdef __cplusplus
}
#endif
