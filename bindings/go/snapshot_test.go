package gangsched_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"gangsched"
)

// restored is a world on what is made of a snapshot.
func restored(t *testing.T, snapshot []byte, options gangsched.Options) *world {
	t.Helper()
	made, err := gangsched.RestoreSnapshot(snapshot, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return &world{t: t, cluster: made.Cluster, scheduler: made.Scheduler}
}

func snapshotOf(t *testing.T, of interface{ Snapshot() ([]byte, error) }) []byte {
	t.Helper()
	made, err := of.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestWhatIsRestoredGoesOnAsTheOriginal(t *testing.T) {
	w := newWorld(t, gangsched.Options{UnschedulableTimeout: 39}, 1)
	p := w.pod("p", 6)
	q := w.pod("q", 6)
	decisions, err := w.scheduler.Run(1)
	want(t, err, nil)
	want(t, len(decisions), 2)
	want(t, decisions[0].Pod, p)
	attempt := decisions[0].Attempt
	before := w.cluster.Digest()
	snapshot := snapshotOf(t, w.scheduler)
	want(t, w.cluster.Digest(), before)

	again := restored(t, snapshot, gangsched.Options{})
	want(t, again.cluster.Digest(), before)
	want(t, again.cluster.FindPod("default", "q"), q)
	deadline, some := again.scheduler.NextDeadline()
	mine, _ := w.scheduler.NextDeadline()
	want(t, some, true)
	want(t, deadline, mine)
	want(t, deadline < 100, true) // by the options of the original
	want(t, bytes.Equal(snapshotOf(t, again.scheduler), snapshot), true)
	for _, one := range []*world{w, again} {
		want(t, one.scheduler.Confirm(p, attempt), nil)
		one.node("n1", 8, 5)
	}
	const later = 20_000_000_000
	decisions, err = again.scheduler.Run(later)
	want(t, err, nil)
	want(t, len(decisions), 1)
	want(t, decisions[0].NodeCookie, uint64(5))
	want(t, w.run(later), "q bind n1")
	want(t, again.cluster.Digest(), w.cluster.Digest())
}

func TestASnapshotIsRefusedWhileDecisionsWait(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 2)
	group, err := w.cluster.AddGroup(&gangsched.GroupSpec{Name: "g", MinCount: 2, Atomic: true})
	want(t, err, nil)
	for _, name := range []string{"p", "q"} {
		pod := podOf(name, 6)
		pod.Group = group
		_, err := w.cluster.AddPod(pod)
		want(t, err, nil)
	}
	decisions, err := w.scheduler.Run(0)
	want(t, err, nil)
	want(t, len(decisions), 2)
	want(t, w.scheduler.Fail(decisions[0].Pod, decisions[0].Attempt, "no such image"), nil) // which takes back the other one
	_, err = w.scheduler.Snapshot()
	want(t, errors.Is(err, gangsched.ErrWrongState), true)
	_, err = w.scheduler.Run(0)
	want(t, err, nil)
	want(t, restored(t, snapshotOf(t, w.scheduler), gangsched.Options{}).cluster.Digest(), w.cluster.Digest())
}

func TestOfDamagedBytesNothingIsMade(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	w.pod("p", 1)
	snapshot := snapshotOf(t, w.scheduler)
	harmed := bytes.Clone(snapshot)
	harmed[len(harmed)/2] ^= 1
	for _, wrong := range [][]byte{nil, {}, []byte("hello"), snapshot[:len(snapshot)-1], harmed} {
		made, err := gangsched.RestoreSnapshot(wrong, gangsched.Options{})
		want(t, made == nil, true)
		want(t, errors.Is(err, gangsched.ErrMalformed), true)
		cluster, err := gangsched.RestoreCluster(wrong)
		want(t, cluster == nil, true)
		want(t, errors.Is(err, gangsched.ErrMalformed), true)
	}
}

func TestASnapshotNeedsThePluginsThatItWasTakenWith(t *testing.T) {
	options := func(by *byCookie) gangsched.Options {
		registry := gangsched.NewRegistry()
		want(t, registry.Add("ByCookie", by, gangsched.PluginOptions{}), nil)
		return gangsched.Options{Registry: registry, Profiles: []gangsched.Profile{{Plugins: []gangsched.ProfilePlugin{{Name: "ByCookie"}}}}}
	}
	w := newWorld(t, options(&byCookie{}), 3)
	w.pod("p", 1)
	w.pod("q", 1)
	snapshot := snapshotOf(t, w.scheduler)
	_, err := gangsched.RestoreSnapshot(snapshot, gangsched.Options{})
	want(t, errors.Is(err, gangsched.ErrWrongState), true)
	_, err = gangsched.RestoreSnapshot(snapshot, gangsched.Options{Profiles: []gangsched.Profile{{Base: 99}}})
	want(t, errors.Is(err, gangsched.ErrOutOfRange), true)
	again := restored(t, snapshot, options(&byCookie{}))
	runtime.GC() // the registry is kept by the scheduler
	want(t, again.run(0), w.run(0))
}

func TestAClusterIsSavedAlone(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	w.pod("p", 1)
	alone := snapshotOf(t, w.cluster)
	_, err := gangsched.RestoreSnapshot(alone, gangsched.Options{})
	want(t, errors.Is(err, gangsched.ErrWrongState), true)
	for _, snapshot := range [][]byte{alone, snapshotOf(t, w.scheduler)} {
		again, err := gangsched.RestoreCluster(snapshot)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		want(t, again.Digest(), w.cluster.Digest())
	}
	w.scheduler.Close()
	_, err = w.scheduler.Snapshot()
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
}

func TestWhoWatchesARestoredSchedulerIsSaidAnew(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	w.pod("p", 1)
	snapshot := snapshotOf(t, w.scheduler)
	again := restored(t, snapshot, gangsched.Options{Metrics: gangsched.CountedMetrics})
	want(t, again.run(0), "p bind n0")
	text, err := again.scheduler.Metrics()
	want(t, err, nil)
	want(t, len(text) > 0, true)
	_, err = restored(t, snapshot, gangsched.Options{}).scheduler.Metrics()
	want(t, errors.Is(err, gangsched.ErrWrongState), true)
}
