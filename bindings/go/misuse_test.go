package gangsched_test

import (
	"errors"
	"math"
	"runtime"
	"testing"

	"gangsched"
)

// half is a text of which C would see the first letter.
const half = "a\x00b"

func TestTextsWithAZeroByteAreRefused(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	node := w.cluster.FindNode("n0")
	pod := w.pod("p", 1)
	decisions, err := w.scheduler.Run(0)
	want(t, err, nil)
	want(t, len(decisions), 1)
	registry := gangsched.NewRegistry()
	before := w.cluster.Digest()
	scheduler := func(options gangsched.Options) error {
		made, err := gangsched.NewScheduler(w.cluster, options)
		if err == nil {
			made.Close()
		}
		return err
	}
	profile := func(profile gangsched.Profile) error {
		return scheduler(gangsched.Options{Profiles: []gangsched.Profile{profile}})
	}
	for name, call := range map[string]func() error{
		"Registry.Add": func() error { return registry.Add("Half\x00more", &byLabel{}, gangsched.PluginOptions{}) },
		"a column": func() error {
			return registry.Add("Half", &byLabel{}, gangsched.PluginOptions{Columns: []string{half}})
		},
		"Fail":                func() error { return w.scheduler.Fail(pod, 0, half) },
		"Allow":               func() error { return w.scheduler.Allow(pod, half) },
		"Reject":              func() error { return w.scheduler.Reject(pod, half) },
		"ExpectGroup":         func() error { _, err := w.cluster.ExpectGroup("default", half); return err },
		"SetAllocatable":      func() error { return w.cluster.SetAllocatable(node, []gangsched.Amount{{Resource: half, Value: 1}}) },
		"SetNamespace":        func() error { return w.cluster.SetNamespace("a", map[string]string{half: "x"}) },
		"RemoveNamespace":     func() error { return w.cluster.RemoveNamespace("default\x00") },
		"SetPriorityClass":    func() error { return w.cluster.SetPriorityClass(gangsched.PriorityClass{Name: half}) },
		"RemovePriorityClass": func() error { return w.cluster.RemovePriorityClass(half) },
		"AddNodeColumn":       func() error { return w.cluster.AddNodeColumn(half) },
		"SetNodeColumn":       func() error { return w.cluster.SetNodeColumn(node, half, 1) },
		"SetDeviceHealth":     func() error { _, err := w.cluster.SetDeviceHealth(node, half, false); return err },
		"AddManifests":        func() error { _, err := w.cluster.AddManifests(half, nil); return err },
		"SetQueues":           func() error { return w.cluster.SetQueues(half, nil) },
		"SetQueuesLeavingOut": func() error { _, err := w.cluster.SetQueuesLeavingOut(half, nil); return err },
		"Configuration":       func() error { return scheduler(gangsched.Options{Configuration: "\x00"}) },
		"SchedulerName":       func() error { return profile(gangsched.Profile{SchedulerName: half}) },
		"Without":             func() error { return profile(gangsched.Profile{Without: []string{"ImageLocality\x00"}}) },
		"Arguments": func() error {
			return profile(gangsched.Profile{Plugins: []gangsched.ProfilePlugin{{Name: "Deadline", Arguments: "{}\x00"}}})
		},
		"RestoreSnapshot": func() error {
			_, err := gangsched.RestoreSnapshot(nil, gangsched.Options{Configuration: "\x00"})
			return err
		},
	} {
		err := call()
		var said *gangsched.Error
		if !errors.As(err, &said) || said.Code != gangsched.Malformed || said.Reason != "a text has a zero byte" {
			t.Errorf("%s: %v", name, err)
		}
	}
	want(t, w.cluster.PodState(pod), gangsched.Assumed)
	want(t, w.cluster.Digest(), before)
	want(t, w.scheduler.Fail(pod, 0, "whole"), nil)
}

// Of events that are told together only those with a zero byte are refused for it.
func TestOnlyTheEventWithAZeroByteIsRefused(t *testing.T) {
	torn := func(err error) bool {
		var said *gangsched.Error
		return errors.As(err, &said) && said.Code == gangsched.Malformed && said.Reason == "a text has a zero byte"
	}
	w := newWorld(t, gangsched.Options{}, 1)
	events := []gangsched.Event{
		{Kind: gangsched.AddPod, Pod: podOf("a", 1)},
		{Kind: gangsched.AddPod, Pod: podOf(half, 1)},
		{Kind: gangsched.AddPod, Pod: podOf("a", 1)}, // there is one
		{Kind: gangsched.Fail, Text: half},
		{Kind: gangsched.AddPod, Pod: podOf("b", 1)},
	}
	err := w.scheduler.Tell(events)
	want(t, torn(err), true)
	want(t, events[0].Err, nil)
	want(t, events[1].Err, err)
	want(t, errors.Is(events[2].Err, gangsched.ErrDuplicate), true)
	want(t, torn(events[3].Err), true)
	want(t, events[4].Err, nil)
	want(t, w.cluster.PodName(gangsched.PodID(events[0].ID)), "a")
	want(t, w.cluster.PodName(gangsched.PodID(events[4].ID)), "b")
	err = w.scheduler.Tell(events[2:])
	want(t, errors.Is(err, gangsched.ErrDuplicate) && err.Error() != gangsched.ErrDuplicate.Error(), true)
	want(t, events[2].Err, err)
	want(t, torn(events[3].Err), true)
}

func TestNamesWithAZeroByteAreNobodys(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	w.pod("p", 1)
	if _, err := w.cluster.AddQueue(&gangsched.QueueSpec{Name: "q"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.cluster.AddGroup(&gangsched.GroupSpec{Name: "g"}); err != nil {
		t.Fatal(err)
	}
	node := w.cluster.FindNode("n0")
	want(t, w.cluster.FindNode("n0\x00"), gangsched.NodeID(0))
	want(t, w.cluster.FindPod("default", "p\x00"), gangsched.PodID(0))
	want(t, w.cluster.FindPod("default\x00", "p"), gangsched.PodID(0))
	want(t, w.cluster.FindGroup("default", "g\x00"), gangsched.GroupID(0))
	want(t, w.cluster.FindQueue("q\x00"), gangsched.QueueID(0))
	want(t, w.cluster.FindResourceClaim("default", "c\x00"), gangsched.ResourceClaimID(0))
	want(t, w.cluster.Allocatable(node, "cpu\x00"), int64(0))
	want(t, w.cluster.Requested(node, "cpu\x00"), int64(0))
	want(t, w.cluster.QueueUsed(w.cluster.FindQueue("q"), "cpu\x00"), int64(0))
}

// byLabel does not want what a node has by a name that there cannot be.
type byLabel struct{}

func (*byLabel) Filter(pod gangsched.PodView, nodes gangsched.NodesView, verdicts []gangsched.Verdict) {
	for i := range verdicts {
		if nodes.Label(i, "zone\x00s") != "" || nodes.Allocatable(i, "cpu\x00s") != 0 || pod.Request("cpu\x00") != 0 {
			verdicts[i] = gangsched.Unschedulable("has\x00more")
		}
	}
}

func TestNamesWithAZeroByteAreNobodysInCallbacks(t *testing.T) {
	w := with(t, "ByLabel", &byLabel{}, gangsched.PluginOptions{}, 1)
	w.pod("p", 1)
	want(t, w.run(0), "p bind n0")
}

func TestNoNumberOfDecisionsIsTooLarge(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	for _, name := range []string{"a", "b", "c"} {
		w.pod(name, 1)
	}
	decisions, more, err := w.scheduler.RunSome(0, math.MaxInt)
	want(t, err, nil)
	want(t, more, false)
	want(t, len(decisions), 3)
}

func TestSomeDecisionsAreNotMoreThanThat(t *testing.T) {
	w := newWorld(t, gangsched.Options{LowestRowTies: true}, 40)
	for i := range 300 {
		w.pod(string(rune('a'+i%26))+string(rune('a'+i/26)), 1)
	}
	var all []gangsched.Decision
	for _, most := range []int{1, 64, 65, 130, 7} {
		decisions, more, err := w.scheduler.RunSome(0, most)
		want(t, err, nil)
		want(t, more, true)
		want(t, len(decisions), most)
		all = append(all, decisions...)
	}
	decisions, more, err := w.scheduler.RunSome(0, 1000)
	want(t, err, nil)
	want(t, more, false)
	want(t, len(all)+len(decisions), 300)
}

func TestTimesAtTheirEnds(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	w.pod("p", 1)
	w.pod("huge", 100)
	for _, now := range []int64{math.MinInt64, 0, math.MaxInt64} {
		if _, err := w.scheduler.Run(now); err != nil {
			t.Errorf("%d: %v", now, err)
		}
	}
	runtime.KeepAlive(w)
}
