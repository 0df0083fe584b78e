#pragma once
#include "gangsched/c/cluster.h"

/// Objects in Kubernetes' own form, in JSON or YAML: everything that the component kube reads (of a single object, what it says itself: see
/// `gangsched_cluster_set_object`). For the hot path there are the structs of gangsched/c/objects.h and devices.h: calls with them cost a
/// tenth of these.

#ifdef __cplusplus
extern "C" {
#endif

enum {
  GANGSCHED_FROM_API_SERVER =
      1,  ///< the objects are defaulted already: requests from limits, host ports and the like are not filled in again
  GANGSCHED_NO_EXPANSION = 2  ///< Deployments, Jobs and the like are not expanded into pods
};

/// Adds all objects of a file to the cluster, or none. Errors and warnings call the file @p name, which also decides the format if it ends
/// in .json, .jsonl, .yaml or .yml. @p flags: GANGSCHED_FROM_API_SERVER and so on, combined with |. Unless @p warnings is null, it receives
/// a line for each thing that was left out, or null if there is none; free it with `gangsched_free`. Errors: mistakes in the text (with
/// file, line and object), duplicate (a name that exists). O(length + pods).
GANGSCHED_C_API gangsched_code gangsched_cluster_add_manifests(gangsched_cluster* cluster, const char* text,
                                                               size_t size, const char* name, uint32_t flags,
                                                               char** warnings,
                                                               gangsched_error* error) GANGSCHED_NOEXCEPT;

/// The cluster's object for an object of Kubernetes.
typedef struct gangsched_object {
  int32_t kind;  ///< GANGSCHED_OBJECT_…
  uint64_t id;   ///< of a node, pod or group
} gangsched_object;
enum {
  GANGSCHED_OBJECT_NONE = 0,
  GANGSCHED_OBJECT_NODE = 1,
  GANGSCHED_OBJECT_POD = 2,
  GANGSCHED_OBJECT_GROUP = 3,
  GANGSCHED_OBJECT_NAMESPACE = 4,
  GANGSCHED_OBJECT_SERVICE = 5,
  GANGSCHED_OBJECT_CONTROLLER = 6,
  GANGSCHED_OBJECT_BUDGET = 7
};

/// Adds an object as an API server has it, or updates the one of its name: what a watch reports of objects that came or changed. Kinds:
/// Node, Pod, Reservation (Koordinator's: a pod that holds room for others), PodGroup, CompositePodGroup, Namespace, Service,
/// ReplicationController, ReplicaSet and StatefulSet (only their selectors, which default spreading uses), PodDisruptionBudget (its
/// selector and status).
/// @p cookie is the host's own number for a node, pod or group; @p made may be null. A pod or reservation that has ended (phase Succeeded
/// or Failed) is removed, if it is there; a Pod that is being deleted in the cluster and waits or is elsewhere in @p text is another one of
/// its name, and takes its place. An object of another `uid` that was not being deleted the host removes first. What says the same again
/// changes nothing and wakes nobody.
/// Claims of devices (spec.resourceClaims) are those of the cluster (`gangsched_cluster_add_resource_claim`), by name; a pod waits for one
/// that is to be made of a template, and of one that runs those that are not there are left out. What other objects say is not known of one
/// object: where claims of volumes can be used, the queue by a LocalQueue, a gang that annotations of pods describe, and of a Node its
/// ResourceSlices, CSINode and NodeMetric. An update replaces all that `gangsched_cluster_add_manifests` read of the object: use one way
/// or the other for an object, or structs.
/// Errors, with object, line and path: malformed, unknown (another kind or API group; a node, priority class, or claim of a waiting pod,
/// that is not there: tell the object again when it is; claims of volumes of a waiting pod), duplicate (a Pod and a Reservation of one name
/// in a namespace), wrong_state (what cannot change did: the node or group of a pod, the kind of policy, mode or parent of a group: remove
/// the object and tell it again). O(length + reservations).
GANGSCHED_C_API gangsched_code gangsched_cluster_set_object(gangsched_cluster* cluster, const char* text, size_t size,
                                                            uint64_t cookie, gangsched_object* made,
                                                            gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Removes the object of that name: what a watch reports of deleted objects. Of @p text only apiVersion, kind, name and namespace are read.
/// Error: unknown (not there, or another kind or API group).
GANGSCHED_C_API gangsched_code gangsched_cluster_remove_object(gangsched_cluster* cluster, const char* text,
                                                               size_t size, gangsched_error* error) GANGSCHED_NOEXCEPT;

/// Replaces the cluster's queues by those of a file, which must have all of them: Kueue's ClusterQueues, Cohorts, LocalQueues and
/// ResourceFlavors, the Queues of Volcano and KAI, ElasticQuotas, in any mixture. New queues are added, known ones updated, others removed;
/// flavors stay. A watch hands over all of them again, because one queue depends on several objects. Objects of other kinds are ignored.
/// If @p left_out is null it is all or nothing; else objects with mistakes are left out as if they were not there (the 101st that cannot be
/// read is an error), and it receives a line for each, or null if there is none; free it with `gangsched_free`. Errors: mistakes in the
/// text, and those of `gangsched_cluster_add_queue`. O(length + queues · pods).
GANGSCHED_C_API gangsched_code gangsched_cluster_set_queues(gangsched_cluster* cluster, const char* text, size_t size,
                                                            const char* name, char** left_out,
                                                            gangsched_error* error) GANGSCHED_NOEXCEPT;

#ifdef __cplusplus
}
#endif
