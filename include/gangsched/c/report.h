#pragma once
#include "gangsched/c/scheduler.h"

/// What a scheduler did, for monitoring (docs/observing.md): metrics, events, a trace. They are chosen when the scheduler is made
/// (gangsched_scheduler_options); a call for another one fails with GANGSCHED_WRONG_STATE.

#ifdef __cplusplus
extern "C" {
#endif

/// kube-scheduler's metrics in Prometheus' text format 0.0.4, what /metrics answers. The caller frees @p text with `gangsched_free`.
/// O(pods + series).
GANGSCHED_C_API gangsched_code gangsched_scheduler_metrics(const gangsched_scheduler* scheduler, char** text,
                                                           gangsched_error* error) GANGSCHED_NOEXCEPT;

/// Where the time of calls goes, as Chrome's trace events (JSON, for ui.perfetto.dev): of the last `trace_records` records. The caller
/// frees @p text with `gangsched_free`. O(records).
GANGSCHED_C_API gangsched_code gangsched_scheduler_trace(const gangsched_scheduler* scheduler, char** text,
                                                         gangsched_error* error) GANGSCHED_NOEXCEPT;

/// A Kubernetes Event about a pod (events.k8s.io/v1), in kube-scheduler's words. Its size is part of the interface: it does not grow.
typedef struct gangsched_pod_event {
  gangsched_text type;  ///< "Normal", "Warning"
  gangsched_text
      reason;  ///< "Scheduled", "FailedScheduling", "Preempted", "Evicted", "PreemptionNotice", "PreemptionWithdrawn"
  gangsched_text action;  ///< "Binding", "Scheduling", "Preempting" (of the last two, too), "Evicting"
  gangsched_text note;    ///< "Successfully assigned default/web-0 to node-1"
  gangsched_text ns;      ///< of the pod, which may be gone by now
  gangsched_text name;
  gangsched_pod_id about;
  gangsched_pod_id related;  ///< of Preempted: the preemptor; a member if that is a group
  uint64_t pod_cookie;
  int64_t now;
} gangsched_pod_event;

/// Takes up to @p capacity events, oldest first, and writes their number to @p count. Their texts are valid until the next successful call
/// of this function, or until the scheduler is destroyed. A pod has a Scheduled event when the host confirms it, a FailedScheduling event
/// for each failed attempt, Preempted if it is a victim (with `eviction_notice` PreemptionNotice before, or PreemptionWithdrawn instead),
/// and Evicted if it is evicted for another reason. With `count_reasons` a note is the whole line ("0/5 nodes are available: …").
/// O(capacity).
GANGSCHED_C_API gangsched_code gangsched_scheduler_events(gangsched_scheduler* scheduler, gangsched_pod_event* into,
                                                          size_t capacity, size_t* count,
                                                          gangsched_error* error) GANGSCHED_NOEXCEPT;
/// How many events were dropped because more than `events_kept` waited to be taken. O(1).
GANGSCHED_C_API uint64_t gangsched_scheduler_events_dropped(const gangsched_scheduler* scheduler) GANGSCHED_NOEXCEPT;

#ifdef __cplusplus
}
#endif
