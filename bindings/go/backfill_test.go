package gangsched_test

import (
	"testing"

	"gangsched"
)

const second = int64(1e9)

func (w *world) job(name string, cores int64, runs int64) gangsched.PodID {
	w.t.Helper()
	spec := podOf(name, cores)
	spec.ExpectedRunTime = runs
	id, err := w.cluster.AddPod(spec)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// busyWorld is a node with 8 CPUs, 4 of them taken for 100 seconds; wide, which needs all of it, waits from second 10 on.
func busyWorld(t *testing.T, options gangsched.Options) (w *world, first, wide gangsched.PodID, said string) {
	options.MaxBackoff = -1
	w = newWorld(t, options, 1)
	first = w.job("first", 4, 100*second)
	want(t, w.run(0), "first bind n0")
	wide = w.job("wide", 8, 100*second)
	return w, first, wide, w.run(10 * second)
}

func TestWhoEndsInTimeStartsBeforeWhoWaitsForMore(t *testing.T) {
	for _, rule := range []gangsched.BackfillRule{gangsched.BackfillEASY, gangsched.BackfillConservative} {
		w, first, wide, said := busyWorld(t, gangsched.Options{Backfill: rule})
		want(t, said, "wide nominate n0; wide reject")
		from, known := w.cluster.ReservedFrom(wide)
		want(t, from, 100*second)
		want(t, known, true)
		want(t, w.cluster.NodeName(w.cluster.NominatedNode(wide)), "n0")
		w.job("late", 4, 200*second)
		w.job("unknown", 4, 0)
		short := w.job("short", 4, 50*second)
		w.run(20 * second)
		want(t, w.cluster.PodState(short), gangsched.Assumed)
		want(t, w.scheduler.Counts().Unschedulable, 3)
		for _, gone := range []gangsched.PodID{short, first} {
			if err := w.cluster.RemovePod(gone); err != nil {
				t.Fatal(err)
			}
		}
		w.run(100 * second)
		want(t, w.cluster.PodState(wide), gangsched.Assumed)
		_, known = w.cluster.ReservedFrom(wide)
		want(t, known, false)
		want(t, w.cluster.NominatedNode(wide), gangsched.NodeID(0))
	}
}

func TestWithoutBackfillWhoeverFitsStarts(t *testing.T) {
	w, _, wide, _ := busyWorld(t, gangsched.Options{})
	_, known := w.cluster.ReservedFrom(wide)
	want(t, known, false)
	w.job("late", 4, 200*second)
	want(t, w.run(20*second), "late bind n0")
	want(t, w.scheduler.Statistics().Reservations, uint64(0))
}

func TestEASYReservesForTheFirstAndConservativeForAll(t *testing.T) {
	for _, rule := range []gangsched.BackfillRule{gangsched.BackfillEASY, gangsched.BackfillConservative} {
		w, _, _, _ := busyWorld(t, gangsched.Options{Backfill: rule})
		wider := w.job("wider", 8, 30*second)
		w.run(20 * second)
		from, known := w.cluster.ReservedFrom(wider)
		all := rule == gangsched.BackfillConservative
		want(t, known, all)
		if all {
			want(t, from, 200*second)
		}
		want(t, w.scheduler.Statistics().Reservations, map[bool]uint64{false: 1, true: 2}[all])
	}
}

func TestWhoRunsLongerThanExpectedPutsAReservationOff(t *testing.T) {
	w, _, wide, _ := busyWorld(t, gangsched.Options{Backfill: gangsched.BackfillEASY})
	want(t, w.scheduler.Statistics().LateReservations, uint64(0))
	w.node("small", 1, 0) // something changes, after first should have ended
	w.run(150 * second)
	from, _ := w.cluster.ReservedFrom(wide)
	want(t, from, 150*second)
	want(t, w.scheduler.Statistics().LateReservations, uint64(1))
}

func TestWhoWasOvertakenForTooLongGetsNodesAtOnce(t *testing.T) {
	for _, limit := range []int64{0, 60 * second} {
		w := newWorld(t, gangsched.Options{MaxOvertake: limit, MaxBackoff: -1, UnschedulableTimeout: 30 * second}, 1)
		w.pod("first", 4) // nobody knows how long
		want(t, w.run(0), "first bind n0")
		wide := w.pod("wide", 8)
		w.run(10 * second)
		want(t, w.cluster.NominatedNode(wide), gangsched.NodeID(0))
		w.run(80 * second)
		want(t, w.cluster.NominatedNode(wide) != 0, limit != 0)
		small := w.pod("small", 4)
		w.run(81 * second)
		want(t, w.cluster.PodState(small) == gangsched.Assumed, limit == 0)
	}
}

func TestStatisticsCount(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 2)
	w.pod("a", 1)
	w.pod("b", 1)
	w.run(0)
	said := w.scheduler.Statistics()
	want(t, said.Cycles, uint64(2))
	want(t, said.Decisions, uint64(2))
	w.scheduler.Close()
	want(t, w.scheduler.Statistics(), gangsched.Statistics{})
}

func TestNegativeRunTimesAreRefused(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 0)
	spec := podOf("p", 1)
	spec.ExpectedRunTime = -1
	_, err := w.cluster.AddPod(spec)
	want(t, err.(*gangsched.Error).Field, "expected_run_time")
}

func TestWhatAPodSaysOfItsLoadIsChecked(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 0)
	negative := int64(-1)
	for field, load := range map[string]gangsched.LoadEstimate{
		"load.cpu_percent":       {CPUPercent: -1},
		"load.memory_percent":    {MemoryPercent: -1},
		"load.after_scheduled":   {AfterScheduled: &negative},
		"load.after_initialized": {AfterInitialized: &negative},
	} {
		spec := podOf("p", 1)
		spec.Load = load
		_, err := w.cluster.AddPod(spec)
		want(t, err.(*gangsched.Error).Field, field)
	}
}

func TestWhoHasToStartFirstGoesFirst(t *testing.T) {
	w := newWorld(t, gangsched.Options{Configuration: `{"profiles": [{"plugins": {
		"queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "LeastSlackSort"}]},
		"multiPoint": {"enabled": [{"name": "Deadline"}]}}}]}`}, 1)
	due := func(name string, runs, deadline, maxWait int64, group gangsched.GroupID) {
		t.Helper()
		spec := podOf(name, 1)
		spec.ExpectedRunTime, spec.MaxWait, spec.Group = runs*second, maxWait*second, group
		if deadline != 0 {
			by := deadline * second
			spec.Deadline = &by
		}
		if _, err := w.cluster.AddPod(spec); err != nil {
			t.Fatal(err)
		}
	}
	by := 70 * second
	group, err := w.cluster.AddGroup(&gangsched.GroupSpec{Name: "g", Deadline: &by})
	want(t, err, nil)
	due("any-time", 10, 0, 0, 0)
	due("by-50", 50, 100, 0, 0)
	due("by-20", 0, 0, 20, 0)
	due("by-40", 30, 0, 0, group)
	due("too-late", 50, 40, 0, 0)
	want(t, w.run(0), "too-late reject; by-20 bind n0; by-40 bind n0; by-50 bind n0; any-time bind n0")
}
