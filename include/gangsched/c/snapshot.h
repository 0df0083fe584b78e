#pragma once
#include "gangsched/c/scheduler.h"

/// A cluster and its scheduler as bytes, and back (docs/snapshots.md): for a host that restarts, or hands them over.

#ifdef __cplusplus
extern "C" {
#endif

/// Writes everything that decisions depend on, as @p size bytes; free @p bytes with `gangsched_free`. Included are ids, attempts, cookies
/// and times. Not included are other schedulers on the cluster and the state of callbacks; of plugins there are only their columns. Nothing
/// is changed. A refused call leaves @p bytes and @p size unchanged. Errors: busy; wrong_state (decisions wait to be taken; they would not
/// be included, so call `gangsched_scheduler_take` first). O(state).
GANGSCHED_C_API gangsched_code gangsched_scheduler_snapshot(const gangsched_scheduler* scheduler, char** bytes,
                                                            size_t* size, gangsched_error* error) GANGSCHED_NOEXCEPT;
/// The cluster alone. Error: busy. O(state).
GANGSCHED_C_API gangsched_code gangsched_cluster_snapshot(const gangsched_cluster* cluster, char** bytes, size_t* size,
                                                          gangsched_error* error) GANGSCHED_NOEXCEPT;

/// As in gangsched_scheduler_options: the monitoring of the new scheduler, which starts from zero, and its profile.
typedef struct gangsched_restore_options {
  size_t struct_size;
  int32_t metrics;  ///< GANGSCHED_METRICS_NONE …
  int32_t trace;    ///< GANGSCHED_TRACE_NONE …
  uint64_t trace_records;
  uint64_t events_kept;
  int32_t profile;  ///< GANGSCHED_PROFILE_DEFAULT …
} gangsched_restore_options;

/// Makes the cluster and the scheduler on it as they were saved; the caller destroys both, the scheduler first. The same calls lead to the
/// same decisions as on the originals. @p configuration (null, or empty: the profile of the options) must have the profiles of the saved
/// scheduler: same plugins, points, order and weights; the other options of the scheduler are in the snapshot. @p options may be null. @p
/// bytes may be freed afterwards. They may be any bytes: a refused call makes nothing, and leaves @p cluster and @p scheduler unchanged.
/// Errors: malformed (no snapshot, damaged, or of another version of the format); wrong_state (other profiles, which the error names; the
/// cluster was saved alone, or with a device matcher, which only a host in C++ can have); out_of_range (the options). O(state).
GANGSCHED_C_API gangsched_code gangsched_scheduler_from_snapshot(const void* bytes, size_t size,
                                                                 const gangsched_configuration* configuration,
                                                                 const gangsched_restore_options* options,
                                                                 gangsched_cluster** cluster,
                                                                 gangsched_scheduler** scheduler,
                                                                 gangsched_error* error) GANGSCHED_NOEXCEPT;
/// The cluster of any snapshot, for a new scheduler. Errors: as above, except for profiles. O(state).
GANGSCHED_C_API gangsched_code gangsched_cluster_from_snapshot(const void* bytes, size_t size, gangsched_cluster** made,
                                                               gangsched_error* error) GANGSCHED_NOEXCEPT;

#ifdef __cplusplus
}
#endif
