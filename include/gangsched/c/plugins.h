#pragma once
#include "gangsched/c/objects.h"

/// Plugins as tables of callbacks. A callback gets the plugin's own pointer, and views that are valid until it returns. It may query the
/// views; it must not call a function that changes the cluster or a scheduler (GANGSCHED_BUSY). It must return normally: no longjmp, no
/// exception. Equal calls need equal results, because decisions depend only on the host's input.
///
/// Nodes are passed in batches: a callback judges all @p count nodes of its batch. Batches may have any size.

#ifdef __cplusplus
extern "C" {
#endif

/// The pod of a callback; its batch of nodes; the waiting pods of permit.
typedef struct gangsched_pod_view gangsched_pod_view;
typedef struct gangsched_nodes_view gangsched_nodes_view;
typedef struct gangsched_permit_room gangsched_permit_room;

/// What a filter or score reads of nodes, and so when it is called again.
enum {
  GANGSCHED_READS_EVERYTHING = 0,  ///< called for every candidate in every cycle; the pod's own data may be read
  GANGSCHED_READS_NAME = 1,        ///< id, name and cookie, which are always available
  GANGSCHED_READS_LABELS = 2,
  GANGSCHED_READS_ALLOCATABLE = 4,
  GANGSCHED_READS_USAGE = 8,
  GANGSCHED_READS_SCHEDULABLE = 16,
  GANGSCHED_READS_COLUMNS = 32  ///< the columns of the plugin
};

/// The verdict of a callback on a pod, or on a pod and a node: code and reason.
enum {
  GANGSCHED_SUCCESS = 0,
  GANGSCHED_ERROR = 1,          ///< the plugin itself failed: the cycle ends, the pod is tried again later
  GANGSCHED_UNSCHEDULABLE = 2,  ///< rejected; removing pods may help
  GANGSCHED_UNRESOLVABLE = 3,   ///< rejected; removing pods cannot help
  GANGSCHED_PERMIT_WAIT = 4     ///< permit only
};
typedef struct gangsched_verdict {
  int32_t code;
  const char* reason;  ///< of a rejection; must be valid as long as the plugin
} gangsched_verdict;

/// An entity of the queue: a pod, or a group that is queued as one.
typedef struct gangsched_queued {
  gangsched_pod_id pod;      ///< the pod, or a group's first pending member
  gangsched_group_id group;  ///< not 0 for a group that is queued as one
  int32_t priority;
  int64_t since;     ///< when it entered the queue, or failed last
  int64_t entered;   ///< when it entered the queue
  uint64_t arrival;  ///< order of add_pod
} gangsched_queued;

/// The first entity of a queue, for plugins that order several queues.
typedef struct gangsched_queue_head {
  int64_t queue;  ///< the result of `queue_of`
  gangsched_queued first;
  int64_t now;  ///< the time that the host passed
} gangsched_queue_head;

/// A plugin; it takes no part in a point whose callback is null.
typedef struct gangsched_plugin {
  size_t struct_size;
  const char* name;         ///< in the registry, and in `explain`
  void* user_data;          ///< passed to callbacks, unless `create` makes an instance
  int64_t weight;           ///< of its scores in profiles that give none; 0: 1
  uint32_t reads;           ///< of filter and score: GANGSCHED_READS_… together
  gangsched_texts columns;  ///< of nodes, set by the host; numbered by this list

  /// Called when a profile that names the plugin is added to a configuration, and for each scheduler made from it, with the plugin's
  /// arguments in the profile as JSON ("" if none). Callbacks get what is written to @p instance. Any result but GANGSCHED_OK refuses the
  /// profile, with @p reason (static, may be left null).
  gangsched_code (*create)(void* user_data, const char* arguments, void** instance, const char** reason);
  /// Called when the last profile and scheduler that use the instance are gone.
  void (*destroy_instance)(void* instance);
  /// Called when the last registry, profile and scheduler that name the plugin are gone.
  void (*destroy)(void* user_data);

  /// Orders the queue, exactly one in a profile: a strict weak order, whether @p a goes before @p b, by these arguments only.
  bool (*less)(void* plugin, const gangsched_queued* a, const gangsched_queued* b);
  /// Anything but success keeps the pod out of the queue. Called again whenever the pod or its group changes.
  gangsched_verdict (*pre_enqueue)(void* plugin, const gangsched_pod_view* pod);
  /// Writes one verdict for each node: success, unschedulable, unresolvable or error. @p verdicts are preset to success.
  void (*filter)(void* plugin, const gangsched_pod_view* pod, const gangsched_nodes_view* nodes, size_t count,
                 gangsched_verdict* verdicts);
  /// Writes one score for each node, 0 to 100, higher is better. Any other one ends the cycle with an error. @p scores are preset to 0.
  void (*score)(void* plugin, const gangsched_pod_view* pod, const gangsched_nodes_view* nodes, size_t count,
                int64_t* scores);
  /// `reserve`: the pod gets the node (the only one of @p node). `unreserve` undoes that: in reverse order, possibly without a `reserve`,
  /// possibly twice, but not once the pod or node is gone. A plugin with only one of the two is malformed.
  gangsched_verdict (*reserve)(void* plugin, const gangsched_pod_view* pod, const gangsched_nodes_view* node);
  void (*unreserve)(void* plugin, const gangsched_pod_view* pod, const gangsched_nodes_view* node);
  /// Success allows the pod. GANGSCHED_PERMIT_WAIT lets it wait, at most @p timeout nanoseconds (preset to five minutes). Any other result
  /// takes its reservation back. Called again when the pod's group changes.
  gangsched_verdict (*permit)(void* plugin, const gangsched_pod_view* pod, const gangsched_nodes_view* node,
                              int64_t now, int64_t* timeout, gangsched_permit_room* room);
  /// For several queues; at most one such plugin in a profile. `queue_of`: the pod's queue, by any number; a group is in that of its first
  /// pending member. `queue_before`: whether head @p a goes before @p b in the present state of the cluster, a strict weak order. Both may
  /// query the cluster (`gangsched_cluster_queue_used`). Preset: 0, false. Equal heads, and each queue, are ordered by the queue sort. Any
  /// result but success ends the attempt of the entity that would be first, with an error. One without the other is malformed.
  gangsched_verdict (*queue_of)(void* plugin, const gangsched_pod_view* pod, int64_t* queue);
  gangsched_verdict (*queue_before)(void* plugin, const gangsched_queue_head* a, const gangsched_queue_head* b,
                                    bool* before);
} gangsched_plugin;

/// Makes a registry with the library's own plugins.
GANGSCHED_C_API gangsched_code gangsched_registry_create(gangsched_registry** made,
                                                         gangsched_error* error) GANGSCHED_NOEXCEPT;
/// Null is allowed. Profiles made of it are independent of it.
GANGSCHED_C_API void gangsched_registry_destroy(gangsched_registry* registry) GANGSCHED_NOEXCEPT;
/// Adds a plugin, whose table is copied. Errors: duplicate (its name), malformed (a point with none or only half of its callbacks). If it
/// is refused, `destroy` is not called.
GANGSCHED_C_API gangsched_code gangsched_registry_add(gangsched_registry* registry, const gangsched_plugin* plugin,
                                                      gangsched_error* error) GANGSCHED_NOEXCEPT;

// --- queries of callbacks. If a filter or score declares `reads`, the pod's own data is not available, and of nodes only the declared
// parts: the result is 0, or an empty text. Texts are valid until the callback returns. O(1) unless stated otherwise.

/// The pod's own: 0 and empty where results of a filter or score are cached for equal pods.
GANGSCHED_C_API gangsched_pod_id gangsched_pod_view_id(const gangsched_pod_view* pod) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_text gangsched_pod_view_name(const gangsched_pod_view* pod) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API uint64_t gangsched_pod_view_cookie(const gangsched_pod_view* pod) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_group_id gangsched_pod_view_group(const gangsched_pod_view* pod) GANGSCHED_NOEXCEPT;
/// A label's value. O(log labels).
GANGSCHED_C_API gangsched_text gangsched_pod_view_label(const gangsched_pod_view* pod,
                                                        const char* key) GANGSCHED_NOEXCEPT;
/// What equal pods share: always available.
GANGSCHED_C_API gangsched_text gangsched_pod_view_namespace(const gangsched_pod_view* pod) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API int32_t gangsched_pod_view_priority(const gangsched_pod_view* pod) GANGSCHED_NOEXCEPT;
/// Its request of a resource: cpu in milli, everything else in whole units. O(length).
GANGSCHED_C_API int64_t gangsched_pod_view_request(const gangsched_pod_view* pod,
                                                   const char* resource) GANGSCHED_NOEXCEPT;

/// The ids and the cookies of all nodes of the batch, one after the other.
GANGSCHED_C_API const gangsched_node_id* gangsched_nodes_view_ids(const gangsched_nodes_view* nodes) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API const uint64_t* gangsched_nodes_view_cookies(const gangsched_nodes_view* nodes) GANGSCHED_NOEXCEPT;
/// Of the node at @p index of the batch.
GANGSCHED_C_API gangsched_text gangsched_nodes_view_name(const gangsched_nodes_view* nodes,
                                                         size_t index) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API gangsched_text gangsched_nodes_view_label(const gangsched_nodes_view* nodes, size_t index,
                                                          const char* key) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API bool gangsched_nodes_view_unschedulable(const gangsched_nodes_view* nodes,
                                                        size_t index) GANGSCHED_NOEXCEPT;
/// cpu in milli, everything else in whole units. Used needs GANGSCHED_READS_USAGE, free that and GANGSCHED_READS_ALLOCATABLE. O(length).
GANGSCHED_C_API int64_t gangsched_nodes_view_allocatable(const gangsched_nodes_view* nodes, size_t index,
                                                         const char* resource) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API int64_t gangsched_nodes_view_used(const gangsched_nodes_view* nodes, size_t index,
                                                  const char* resource) GANGSCHED_NOEXCEPT;
GANGSCHED_C_API int64_t gangsched_nodes_view_free(const gangsched_nodes_view* nodes, size_t index,
                                                  const char* resource) GANGSCHED_NOEXCEPT;
/// A word of the @p column th of the plugin's columns.
GANGSCHED_C_API int64_t gangsched_nodes_view_column(const gangsched_nodes_view* nodes, size_t index,
                                                    size_t column) GANGSCHED_NOEXCEPT;

/// The pods that wait for this plugin, in order of their reservation; valid until the next call or until the callback returns.
GANGSCHED_C_API size_t gangsched_permit_room_waiting(gangsched_permit_room* room,
                                                     const gangsched_pod_id** pods) GANGSCHED_NOEXCEPT;
/// The plugin allows one of them.
GANGSCHED_C_API void gangsched_permit_room_allow(gangsched_permit_room* room, gangsched_pod_id pod) GANGSCHED_NOEXCEPT;

#ifdef __cplusplus
}
#endif
