#pragma once
#include "gangsched/src/report/families.hpp"

/// kube-scheduler's metrics as Kubernetes 1.36.3 defines them (pkg/scheduler/metrics/metrics.go): names, help, labels, buckets, stability.
namespace gangsched::inline GANGSCHED_ABI::report::detail {

inline constexpr bucket_rule from_1ms{0.001, 2, 15}, from_10ms{0.01, 2, 20}, from_100us{0.0001, 2, 12},
    from_10us{0.00001, 1.5, 20};

inline const family_words schedule_attempts_total{
    "schedule_attempts_total",
    "STABLE",
    "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while "
    "'error' means an internal scheduler problem.",
    metric_kind::counter,
    {"result", "profile"}};
inline const family_words scheduling_attempt_duration{
    "scheduling_attempt_duration_seconds",
    "STABLE",
    "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
    metric_kind::histogram,
    {"result", "profile"},
    from_1ms};
inline const family_words scheduling_algorithm_duration{"scheduling_algorithm_duration_seconds",
                                                        "ALPHA",
                                                        "Scheduling algorithm latency in seconds",
                                                        metric_kind::histogram,
                                                        {},
                                                        from_1ms};
inline const family_words event_handling_duration{"event_handling_duration_seconds",
                                                  "ALPHA",
                                                  "Event handling latency in seconds.",
                                                  metric_kind::histogram,
                                                  {"event"},
                                                  from_100us};
inline const family_words preemption_victims{"preemption_victims",   "STABLE", "Number of selected preemption victims",
                                             metric_kind::histogram, {},       {1, 2, 7}};
inline const family_words preemption_attempts_total{"preemption_attempts_total", "STABLE",
                                                    "Total preemption attempts in the cluster till now"};
inline const family_words pending_pods_now{
    "pending_pods",
    "STABLE",
    "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of "
    "pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to "
    "schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule "
    "because they are gated.",
    metric_kind::gauge,
    {"queue"}};
inline const family_words inflight_events{"inflight_events",
                                          "ALPHA",
                                          "Number of events currently tracked in the scheduling queue.",
                                          metric_kind::gauge,
                                          {"event"}};
inline const family_words pod_scheduling_sli_duration{
    "pod_scheduling_sli_duration_seconds",
    "BETA",
    "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve "
    "multiple scheduling attempts.",
    metric_kind::histogram,
    {"attempts"},
    from_10ms};
inline const family_words pod_scheduling_attempts{
    "pod_scheduling_attempts", "STABLE", "Number of attempts to successfully schedule a pod.",
    metric_kind::histogram,    {},       {1, 2, 5}};
inline const family_words framework_extension_point_duration{
    "framework_extension_point_duration_seconds",
    "STABLE",
    "Latency for running all plugins of a specific extension point.",
    metric_kind::histogram,
    {"extension_point", "status", "profile"},
    from_100us};
inline const family_words plugin_execution_duration{"plugin_execution_duration_seconds",
                                                    "ALPHA",
                                                    "Duration for running a plugin at a specific extension point.",
                                                    metric_kind::histogram,
                                                    {"plugin", "extension_point", "status"},
                                                    from_10us};
inline const family_words queueing_hint_execution_duration{"queueing_hint_execution_duration_seconds",
                                                           "ALPHA",
                                                           "Duration for running a queueing hint function of a plugin.",
                                                           metric_kind::histogram,
                                                           {"plugin", "event", "hint"},
                                                           from_10us};
inline const family_words queue_incoming_pods_total{
    "queue_incoming_pods_total",
    "STABLE",
    "Number of pods added to scheduling queues by event and queue type.",
    metric_kind::counter,
    {"queue", "event"}};
inline const family_words permit_wait_duration{
    "permit_wait_duration_seconds", "BETA",     "Duration of waiting on permit.",
    metric_kind::histogram,         {"result"}, from_1ms};
inline const family_words cache_size{"cache_size",
                                     "ALPHA",
                                     "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
                                     metric_kind::gauge,
                                     {"type"}};
inline const family_words unschedulable_pods{
    "unschedulable_pods",
    "BETA",
    "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that "
    "caused it to not schedule and so this metric have meaning only when broken down by plugin.",
    metric_kind::gauge,
    {"plugin", "profile"}};
inline const family_words plugin_evaluation_total{
    "plugin_evaluation_total",
    "BETA",
    "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, "
    "PreScore, and Score).",
    metric_kind::counter,
    {"plugin", "extension_point", "profile"}};
inline const family_words podgroup_schedule_attempts_total{
    "podgroup_schedule_attempts_total",
    "ALPHA",
    "Number of attempts to schedule pod group, by the result. 'unschedulable' means a pod group could not be "
    "scheduled, while 'error' means an internal scheduler problem.",
    metric_kind::counter,
    {"result", "profile"}};
inline const family_words podgroup_scheduling_attempt_duration{
    "podgroup_scheduling_attempt_duration_seconds",
    "ALPHA",
    "Pod group scheduling attempt latency in seconds (scheduling algorithm + binding)",
    metric_kind::histogram,
    {"result", "profile"},
    from_1ms};
inline const family_words podgroup_scheduling_algorithm_duration{"podgroup_scheduling_algorithm_duration_seconds",
                                                                 "ALPHA",
                                                                 "Pod group scheduling algorithm latency in seconds",
                                                                 metric_kind::histogram,
                                                                 {},
                                                                 from_1ms};

}  // namespace gangsched::inline GANGSCHED_ABI::report::detail
