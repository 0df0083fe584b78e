package gangsched_test

import (
	"fmt"
	"testing"

	"gangsched"
)

const batch = 1000

// turns is a host that has pods come, run and go, in batches.
type turns struct {
	cluster   *gangsched.Cluster
	scheduler *gangsched.Scheduler
	come      []gangsched.Event
	answers   []gangsched.Event
	gone      []gangsched.Event
	now       int64
}

func newTurns(tb testing.TB, nodes int) *turns {
	w := &turns{cluster: gangsched.NewCluster(), come: make([]gangsched.Event, batch), answers: make([]gangsched.Event, batch), gone: make([]gangsched.Event, batch)}
	tb.Cleanup(w.cluster.Close)
	for i := range nodes {
		if _, err := w.cluster.AddNode(&gangsched.NodeSpec{Name: fmt.Sprint("n", i), Allocatable: cpu(64)}); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range w.come {
		w.come[i] = gangsched.Event{Kind: gangsched.AddPod, Pod: podOf(fmt.Sprint("p", i), 1)}
	}
	var err error
	if w.scheduler, err = gangsched.NewScheduler(w.cluster, gangsched.Options{}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(w.scheduler.Close)
	return w
}

func (w *turns) add(tb testing.TB) {
	if err := w.scheduler.Tell(w.come); err != nil {
		tb.Fatal(err)
	}
}

func (w *turns) decide(tb testing.TB) {
	w.now++
	decisions, err := w.scheduler.Run(w.now)
	if err != nil || len(decisions) != batch {
		tb.Fatal(len(decisions), err)
	}
	for i := range decisions {
		w.answers[i] = gangsched.Event{Kind: gangsched.Confirm, ID: uint64(decisions[i].Pod), Attempt: decisions[i].Attempt}
	}
	if err := w.scheduler.Tell(w.answers); err != nil {
		tb.Fatal(err)
	}
}

func (w *turns) remove(tb testing.TB) {
	for i := range w.come {
		w.gone[i] = gangsched.Event{Kind: gangsched.RemovePod, ID: w.come[i].ID}
	}
	if err := w.scheduler.Tell(w.gone); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkDecisions is what one pod costs from Run to its confirmation; what comes and goes is not counted.
func BenchmarkDecisions(b *testing.B) {
	w := newTurns(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		w.add(b)
		b.StartTimer()
		w.decide(b)
		b.StopTimer()
		w.remove(b)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/decision")
}

// BenchmarkPods is all of a pod's life: added, decided about, confirmed, removed.
func BenchmarkPods(b *testing.B) {
	w := newTurns(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		w.add(b)
		w.decide(b)
		w.remove(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/pod")
}

// BenchmarkTurnWithoutDecisions is what Run costs where nothing is to be decided, after a turn with many decisions: it does not depend on how many.
func BenchmarkTurnWithoutDecisions(b *testing.B) {
	w := newTurns(b, 1000)
	w.add(b)
	w.decide(b)
	for b.Loop() {
		w.now++
		if decisions, err := w.scheduler.Run(w.now); err != nil || len(decisions) != 0 {
			b.Fatal(len(decisions), err)
		}
	}
}

func TestABatchThatWasSeenAllocatesNothing(t *testing.T) {
	w := newTurns(t, 100)
	turn := func() {
		w.add(t)
		w.decide(t)
		w.remove(t)
	}
	turn()
	if allocations := testing.AllocsPerRun(20, turn); allocations != 0 {
		t.Errorf("%v allocations in a turn of %d pods", allocations, batch)
	}
}
