package gangsched

/*
#include "binding.h"
*/
import "C"

import "runtime"

// MetricsKind is what there is for Scheduler.Metrics.
type MetricsKind int32

const (
	NoMetrics      MetricsKind = C.GANGSCHED_METRICS_NONE    // nothing is counted, and nothing paid
	CountedMetrics MetricsKind = C.GANGSCHED_METRICS_COUNTED // no clock is read: what happened, and times as now says them
	TimedMetrics   MetricsKind = C.GANGSCHED_METRICS_TIMED   // also how long deciding takes, by the machine's monotonic clock
)

// TraceKind is what there is for Scheduler.Trace.
type TraceKind int32

const (
	NoTrace    TraceKind = C.GANGSCHED_TRACE_NONE
	TraceByNow TraceKind = C.GANGSCHED_TRACE_BY_NOW // no clock is read: times as now says them, by which nothing takes any time
	TimedTrace TraceKind = C.GANGSCHED_TRACE_TIMED  // by the machine's monotonic clock
)

// Metrics is kube-scheduler's metrics in Prometheus' text format 0.0.4, what /metrics answers. Not at the same time as another call. An error
// without CountedMetrics or TimedMetrics in Options.
func (s *Scheduler) Metrics() (string, error) {
	var text *C.char
	code := C.gangsched_scheduler_metrics(s.s, &text, s.call.failure)
	return s.taken(text), s.done(code)
}

// Trace is where the time of calls went, as Chrome's trace events: JSON for ui.perfetto.dev. An error without a kind of it in Options.
func (s *Scheduler) Trace() (string, error) {
	var text *C.char
	code := C.gangsched_scheduler_trace(s.s, &text, s.call.failure)
	return s.taken(text), s.done(code)
}

// PodEvent is an event of Kubernetes' about a pod (events.k8s.io/v1), in kube-scheduler's words.
type PodEvent struct {
	Type            string // "Normal", "Warning"
	Reason          string // "Scheduled", "FailedScheduling", "Preempted", "Evicted", "PreemptionNotice", "PreemptionWithdrawn"
	Action          string // "Binding", "Scheduling", "Preempting" (of the last two, too), "Evicting"
	Note            string // "Successfully assigned default/web-0 to node-1"
	Namespace, Name string // of the pod, which may be gone by now
	About           PodID
	Related         PodID // of Preempted: the pod that preempted it
	PodCookie       uint64
	Now             int64
}

// Events takes what happened since it was asked last, oldest first: Scheduled when the host confirmed, FailedScheduling of every attempt that
// failed, Preempted of each victim (with EvictionNotice PreemptionNotice before, or PreemptionWithdrawn instead), Evicted of pods that must go for
// another reason. An error without EventsKept in Options.
func (s *Scheduler) Events() ([]PodEvent, error) {
	s.call.reset()
	const batch = 64
	given := list[C.gangsched_pod_event](&s.call.arena, batch)
	var made []PodEvent
	for {
		got := C.binding_events(s.s, &given[0], batch, s.call.failure)
		for i := range given[:got.count] {
			one := &given[i]
			made = append(made, PodEvent{
				Type: goText(one._type), Reason: goText(one.reason), Action: goText(one.action), Note: goText(one.note),
				Namespace: goText(one.ns), Name: goText(one.name), About: PodID(one.about.value), Related: PodID(one.related.value),
				PodCookie: uint64(one.pod_cookie), Now: int64(one.now),
			})
		}
		if err := s.done(got.code); err != nil || got.count < batch {
			return made, err
		}
	}
}

// EventsDropped is how many events had to go because more than EventsKept waited to be taken.
func (s *Scheduler) EventsDropped() uint64 {
	dropped := uint64(C.gangsched_scheduler_events_dropped(s.s))
	runtime.KeepAlive(s)
	return dropped
}
