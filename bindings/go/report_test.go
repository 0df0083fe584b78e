package gangsched_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gangsched"
)

func TestMetrics(t *testing.T) {
	for _, kind := range []gangsched.MetricsKind{gangsched.CountedMetrics, gangsched.TimedMetrics} {
		w := newWorld(t, gangsched.Options{Metrics: kind}, 2)
		w.pod("p", 1)
		w.pod("greedy", 70)
		w.run(0)
		text, err := w.scheduler.Metrics()
		want(t, err, nil)
		for _, line := range []string{
			"scheduler_pending_pods{queue=\"unschedulable\"} 1\n",
			"# TYPE scheduler_schedule_attempts_total counter\n",
		} {
			if !strings.Contains(text, line) {
				t.Errorf("no %q in:\n%s", line, text)
			}
		}
		timed := strings.Contains(text, "scheduler_scheduling_algorithm_duration_seconds_count 2\n")
		want(t, timed, kind == gangsched.TimedMetrics)
	}
	if _, err := newWorld(t, gangsched.Options{}, 1).scheduler.Metrics(); err == nil {
		t.Error("there are metrics that nobody asked for")
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t, gangsched.Options{EventsKept: 3, CountReasons: true}, 1)
	web := w.pod("web", 2)
	greedy := w.pod("greedy", 70)
	w.run(5)
	want(t, w.scheduler.Confirm(web, 0), nil)
	want(t, w.cluster.RemovePod(greedy), nil)
	events, err := w.scheduler.Events()
	want(t, err, nil)
	if len(events) != 2 {
		t.Fatal(events)
	}
	want(t, events[0], gangsched.PodEvent{
		Type: "Warning", Reason: "FailedScheduling", Action: "Scheduling",
		Note:      "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
		Namespace: "default", Name: "greedy", About: greedy, Now: 5,
	})
	want(t, events[1].Type+" "+events[1].Reason+" "+events[1].Note, "Normal Scheduled Successfully assigned default/web to n0")
	want(t, events[1].About, web)
	events, err = w.scheduler.Events()
	want(t, err, nil)
	want(t, len(events), 0)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		w.pod(name, 70)
	}
	w.run(6)
	events, err = w.scheduler.Events()
	want(t, err, nil)
	want(t, len(events), 3)
	want(t, events[0].Name, "c")
	want(t, w.scheduler.EventsDropped(), uint64(2))

	_, err = newWorld(t, gangsched.Options{}, 1).scheduler.Events()
	want(t, errors.Is(err, gangsched.ErrWrongState), true)
}

func TestEventsComeInBatches(t *testing.T) {
	w := newWorld(t, gangsched.Options{EventsKept: 1000}, 1)
	for i := range 300 {
		w.pod(fmt.Sprintf("p%03d", i), 70)
	}
	w.run(0)
	events, err := w.scheduler.Events()
	want(t, err, nil)
	want(t, len(events), 300)
	for i := range events {
		want(t, events[i].Name, fmt.Sprintf("p%03d", i))
	}
}

func TestTrace(t *testing.T) {
	for _, kind := range []gangsched.TraceKind{gangsched.TraceByNow, gangsched.TimedTrace} {
		w := newWorld(t, gangsched.Options{Trace: kind, TraceRecords: 128, Metrics: gangsched.CountedMetrics}, 1)
		w.pod("web", 2)
		w.run(0)
		text, err := w.scheduler.Trace()
		want(t, err, nil)
		var read struct{ TraceEvents []struct{ Name string } }
		want(t, json.Unmarshal([]byte(text), &read), nil)
		var names []string
		for _, one := range read.TraceEvents {
			names = append(names, one.Name)
		}
		want(t, strings.Contains(strings.Join(names, " "), "schedule_cycle"), true)
		_, err = w.scheduler.Metrics()
		want(t, err, nil)
	}
	_, err := newWorld(t, gangsched.Options{}, 1).scheduler.Trace()
	want(t, errors.Is(err, gangsched.ErrWrongState), true)
}
