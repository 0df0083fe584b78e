package gangsched_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gangsched"
)

func cpu(cores int64) []gangsched.Amount {
	return []gangsched.Amount{{Resource: "cpu", Value: cores}, {Resource: "pods", Value: 110}}
}

func podOf(name string, cores int64) *gangsched.PodSpec {
	return &gangsched.PodSpec{Name: name, Containers: []gangsched.Container{{Requests: cpu(cores)[:1]}}}
}

type world struct {
	t         *testing.T
	cluster   *gangsched.Cluster
	scheduler *gangsched.Scheduler
}

func newWorld(t *testing.T, options gangsched.Options, nodes int) *world {
	w := &world{t: t, cluster: gangsched.NewCluster()}
	t.Cleanup(w.cluster.Close)
	for i := range nodes {
		w.node(fmt.Sprintf("n%d", i), 8, uint64(i))
	}
	var err error
	if w.scheduler, err = gangsched.NewScheduler(w.cluster, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.scheduler.Close)
	return w
}

func (w *world) node(name string, cores int64, cookie uint64) gangsched.NodeID {
	w.t.Helper()
	id, err := w.cluster.AddNode(&gangsched.NodeSpec{Name: name, Allocatable: cpu(cores), Cookie: cookie})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) pod(name string, cores int64) gangsched.PodID {
	w.t.Helper()
	id, err := w.cluster.AddPod(podOf(name, cores))
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) run(now int64) string {
	w.t.Helper()
	decisions, err := w.scheduler.Run(now)
	if err != nil {
		w.t.Fatal(err)
	}
	var told []string
	for i := range decisions {
		d := &decisions[i]
		told = append(told, strings.TrimSpace(fmt.Sprint(w.cluster.PodName(d.Pod), " ", d.Kind, " ", w.cluster.NodeName(d.Node))))
	}
	return strings.Join(told, "; ")
}

func want(t *testing.T, got, expected any) {
	t.Helper()
	if got != expected {
		t.Errorf("got %v, not %v", got, expected)
	}
}

func TestATurnMayEndEarlyAndAPodBeTriedAtOnce(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 4)
	group, err := w.cluster.AddGroup(&gangsched.GroupSpec{Namespace: "default", Name: "gang", MinCount: 3})
	want(t, err, nil)
	for _, name := range []string{"m0", "m1", "m2"} {
		_, err := w.cluster.AddPod(&gangsched.PodSpec{Namespace: "default", Name: name, Group: group})
		want(t, err, nil)
	}
	first := w.pod("a", 1)
	w.pod("b", 1)
	bound := map[string]int{}
	turns := 0
	for more := true; more; turns++ {
		var decisions []gangsched.Decision
		decisions, more, err = w.scheduler.RunSome(5, 1)
		want(t, err, nil)
		members := 0
		for i := range decisions {
			want(t, decisions[i].Kind, gangsched.Bind)
			name := w.cluster.PodName(decisions[i].Pod)
			bound[name]++
			if strings.HasPrefix(name, "m") {
				members++
			}
		}
		if members != 0 && members != 3 {
			t.Errorf("a turn has %d members of the gang", members)
		}
	}
	want(t, len(bound), 5)
	want(t, turns > 2, true)
	want(t, w.scheduler.Fail(first, 0, "lost"), nil)
	want(t, w.run(5), "")
	want(t, w.scheduler.Activate(5, first), nil)
	want(t, strings.HasPrefix(w.run(5), "a bind "), true)
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	_, err := w.cluster.AddNode(&gangsched.NodeSpec{Name: "n0"})
	want(t, err.Error(), "gangsched: node n0: name: exists already")
	want(t, errors.Is(err, gangsched.ErrDuplicate), true)
	want(t, errors.Is(err, gangsched.ErrUnknown), false)
	var why *gangsched.Error
	want(t, errors.As(err, &why), true)
	want(t, why.Object+"|"+why.Field+"|"+why.Reason, "node n0|name|exists already")
	want(t, errors.Is(w.cluster.RemovePod(0), gangsched.ErrUnknown), true)
	_, err = w.cluster.AddNode(&gangsched.NodeSpec{Name: "a\x00b"})
	want(t, errors.Is(err, gangsched.ErrMalformed) || err != nil, true)
	_, err = gangsched.NewScheduler(w.cluster, gangsched.Options{Profiles: []gangsched.Profile{{Base: gangsched.Empty}}})
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
}

func TestAPodLivesItsLife(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	pod := w.pod("p", 2)
	decisions, err := w.scheduler.Run(0)
	if err != nil || len(decisions) != 1 {
		t.Fatal(decisions, err)
	}
	one := decisions[0]
	want(t, one.Kind, gangsched.Bind)
	want(t, w.cluster.PodState(pod), gangsched.Assumed)
	want(t, w.scheduler.Fail(pod, one.Attempt, "no answer"), nil)
	want(t, errors.Is(w.scheduler.Confirm(pod, one.Attempt), gangsched.ErrOutdated), true)
	at, any := w.scheduler.NextDeadline()
	want(t, any, true)
	want(t, w.scheduler.Counts().Backoff, 1)
	want(t, w.run(at), "p bind n0")
	want(t, w.scheduler.Confirm(pod, 0), nil)
	want(t, w.cluster.Requested(w.cluster.PodNode(pod), "cpu"), int64(2000))
	want(t, w.cluster.SetTerminating(pod, false), nil)
	want(t, w.cluster.RemovePod(pod), nil)
	_, any = w.scheduler.NextDeadline()
	want(t, any, false)
	_, err = w.scheduler.Run(0)
	want(t, errors.Is(err, gangsched.ErrTimeWentBack), true)
}

func TestRunGrowsItsBuffer(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 40)
	events := make([]gangsched.Event, 300)
	for i := range events {
		events[i] = gangsched.Event{Kind: gangsched.AddPod, Pod: podOf(fmt.Sprint("p", i), 1)}
	}
	events[7].Pod = podOf("p6", 1)
	err := w.scheduler.Tell(events)
	want(t, errors.Is(err, gangsched.ErrDuplicate), true)
	want(t, events[7].Err, err)
	want(t, events[8].Err, nil)
	want(t, w.cluster.PodName(gangsched.PodID(events[8].ID)), "p8")
	decisions, err := w.scheduler.Run(0)
	want(t, err, nil)
	want(t, len(decisions), 299)
	want(t, len(strings.Split(w.run(1), "; ")), 1)
}

func TestManifestsAndObjects(t *testing.T) {
	w := newWorld(t, gangsched.Options{Configuration: `{"profiles": [{"schedulerName": "default-scheduler"}]}`}, 0)
	warnings, err := w.cluster.AddManifests("a.yaml", []byte("{apiVersion: v1, kind: Node, metadata: {name: a}, speck: 1, status: {allocatable: {cpu: 4, pods: 10}}}"))
	want(t, err, nil)
	want(t, strings.Contains(warnings, "speck"), true)
	id, err := w.cluster.SetObject([]byte(`{"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}`), 5)
	want(t, err, nil)
	want(t, gangsched.PodID(id), w.cluster.FindPod("", "p"))
	decisions, _ := w.scheduler.Run(0)
	want(t, len(decisions), 1)
	want(t, decisions[0].PodCookie, uint64(5))
}

// --- plugins

type byCookie struct {
	mu    sync.Mutex
	asked int
	panic bool
}

func (p *byCookie) Filter(pod gangsched.PodView, nodes gangsched.NodesView, verdicts []gangsched.Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked += nodes.Len()
	if p.panic {
		panic("on purpose")
	}
	for i, cookie := range nodes.Cookies() {
		if cookie != 3 && cookie != 4 {
			verdicts[i] = gangsched.Unresolvable("node(s) were not wanted")
		}
	}
}

func (p *byCookie) Score(pod gangsched.PodView, nodes gangsched.NodesView, scores []int64) {
	for i := range scores {
		if nodes.Name(i) == "n4" {
			scores[i] = 100
		}
	}
}

func with(t *testing.T, name string, plugin any, options gangsched.PluginOptions, nodes int) *world {
	registry := gangsched.NewRegistry()
	if err := registry.Add(name, plugin, options); err != nil {
		t.Fatal(err)
	}
	profile := gangsched.Profile{Plugins: []gangsched.ProfilePlugin{{Name: name, Weight: 10}}}
	return newWorld(t, gangsched.Options{Registry: registry, Profiles: []gangsched.Profile{profile}}, nodes)
}

func TestFilterAndScore(t *testing.T) {
	for _, reads := range []gangsched.Reads{gangsched.ReadsEverything, gangsched.ReadsName} {
		plugin := &byCookie{}
		w := with(t, "ByCookie", plugin, gangsched.PluginOptions{Reads: reads}, 6)
		w.pod("p", 4)
		w.pod("q", 4)
		w.pod("r", 4)
		greedy := w.pod("greedy", 7)
		want(t, w.run(0), "p bind n4; q bind n4; r bind n3; greedy reject")
		why, err := w.scheduler.Explain(greedy)
		want(t, err, nil)
		want(t, why, "0/6 nodes are available: 2 Insufficient cpu, 4 node(s) were not wanted.")
		before := plugin.asked
		for i := range 5 {
			w.pod(fmt.Sprint("like-p", i), 1)
		}
		if w.run(0); reads == gangsched.ReadsName && plugin.asked-before > 6 {
			t.Errorf("asked %d times about pods that are alike", plugin.asked-before)
		}
	}
}

func TestAPluginThatPanicsEndsItsCycle(t *testing.T) {
	plugin := &byCookie{panic: true}
	w := with(t, "ByCookie", plugin, gangsched.PluginOptions{}, 6)
	w.pod("p", 1)
	decisions, err := w.scheduler.Run(0)
	want(t, errors.Is(err, gangsched.ErrContract), true)
	want(t, len(decisions) == 1 && decisions[0].Failed(), true)
	want(t, strings.Contains(err.Error(), "on purpose"), true)
	plugin.panic = false
	want(t, w.run(int64(time.Minute)), "p bind n4")
}

type pairs struct{}

func (pairs) Permit(pod gangsched.PodView, node gangsched.NodesView, now int64, room gangsched.PermitRoom) (gangsched.Verdict, int64) {
	waiting := room.Waiting()
	if len(waiting) == 0 {
		return gangsched.HoldPod("waits for another"), int64(time.Second)
	}
	for _, one := range waiting {
		room.Allow(one)
	}
	return gangsched.Success(), 0
}

func TestPermit(t *testing.T) {
	w := with(t, "Pairs", pairs{}, gangsched.PluginOptions{}, 1)
	w.pod("p", 1)
	want(t, w.run(0), "p wait n0")
	at, _ := w.scheduler.NextDeadline()
	want(t, at, int64(time.Second))
	w.pod("q", 1)
	want(t, w.run(1), "q bind n0; p bind n0")
}

type youngest struct{}

func (youngest) Less(a, b *gangsched.Queued) bool { return a.Arrival > b.Arrival }

func TestQueueOrder(t *testing.T) {
	w := with(t, "Youngest", youngest{}, gangsched.PluginOptions{}, 1)
	for _, name := range []string{"p", "q", "r"} {
		w.pod(name, 1)
	}
	want(t, w.run(0), "r bind n0; q bind n0; p bind n0")
}

// fewestFirst orders queues by the first letter of their pods: that with fewer pods on nodes goes first.
type fewestFirst struct {
	w     *world
	panic bool
}

func (f *fewestFirst) QueueOf(pod gangsched.PodView) int64 {
	if f.panic {
		panic("on purpose")
	}
	return int64(pod.Name()[0])
}
func (f *fewestFirst) QueueBefore(a, b *gangsched.QueueHead) bool { return f.running(a) < f.running(b) }
func (f *fewestFirst) running(of *gangsched.QueueHead) (count int) {
	for i := range 3 {
		if f.w.cluster.PodNode(f.w.cluster.FindPod("", fmt.Sprintf("%c%d", rune(of.Queue), i))) != 0 {
			count++
		}
	}
	return count
}

func TestSeveralQueues(t *testing.T) {
	plugin := &fewestFirst{}
	w := with(t, "FewestFirst", plugin, gangsched.PluginOptions{}, 1)
	plugin.w = w
	for _, name := range []string{"a0", "a1", "a2", "b0", "b1"} {
		w.pod(name, 1)
	}
	want(t, w.run(0), "a0 bind n0; b0 bind n0; a1 bind n0; b1 bind n0; a2 bind n0")
	plugin.panic = true
	w.pod("c", 1)
	_, err := w.scheduler.Run(0)
	want(t, errors.Is(err, gangsched.ErrContract), true)
	want(t, strings.Contains(err.Error(), "on purpose"), true)
	plugin.panic = false
	want(t, w.run(int64(time.Minute)), "c bind n0")
	registry := gangsched.NewRegistry()
	want(t, errors.Is(registry.Add("Half", struct{}{}, gangsched.PluginOptions{}), gangsched.ErrMalformed), true)
}

type licences struct {
	t           *testing.T
	left        int
	gatedPrefix string
}

func (l *licences) PreEnqueue(pod gangsched.PodView) gangsched.Verdict {
	if strings.HasPrefix(pod.Name(), l.gatedPrefix) {
		return gangsched.Unresolvable("is gated")
	}
	return gangsched.Success()
}
func (l *licences) Reserve(pod gangsched.PodView, node gangsched.NodesView) gangsched.Verdict {
	want(l.t, node.Name(0), "n0")
	if l.left == 0 {
		return gangsched.Unschedulable("no licence left")
	}
	l.left--
	return gangsched.Success()
}
func (l *licences) Unreserve(gangsched.PodView, gangsched.NodesView) { l.left++ }

func TestReserveAndPreEnqueue(t *testing.T) {
	plugin := &licences{t, 1, "gated"}
	w := with(t, "Licences", plugin, gangsched.PluginOptions{}, 1)
	first := w.pod("p", 1)
	w.pod("gated", 1)
	want(t, w.run(0), "p bind n0")
	want(t, w.scheduler.Counts().Gated, 1)
	want(t, plugin.left, 0)
	want(t, w.scheduler.Fail(first, 0, "no"), nil)
	want(t, plugin.left, 1)
}

func TestColumns(t *testing.T) {
	plugin := &hot{}
	w := with(t, "Hot", plugin, gangsched.PluginOptions{Reads: gangsched.ReadsColumns, Columns: []string{"heat"}}, 2)
	want(t, w.cluster.SetNodeColumn(w.cluster.FindNode("n0"), "heat", 90), nil)
	w.pod("p", 1)
	want(t, w.run(0), "p bind n1")
}

type hot struct{}

func (*hot) Filter(_ gangsched.PodView, nodes gangsched.NodesView, verdicts []gangsched.Verdict) {
	for i := range verdicts {
		if nodes.Column(i, 0) > 80 {
			verdicts[i] = gangsched.Unschedulable("node(s) were too hot")
		}
	}
}

// --- what is forgotten goes

func TestAmountsBesideTheSpec(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	node := w.cluster.FindNode("n0")
	if err := w.cluster.SetAllocatable(node, []gangsched.Amount{{Resource: "kubernetes.io/batch-cpu", Value: 2500}}); err != nil {
		t.Fatal(err)
	}
	want(t, w.cluster.Allocatable(node, "kubernetes.io/batch-cpu"), int64(2500))
	if err := w.cluster.SetAllocatable(node, []gangsched.Amount{{Resource: "cpu", Value: 1}}); err == nil {
		t.Fatal("the spec says how much CPU there is")
	}
}

func TestWhatNobodyClosesIsCollected(t *testing.T) {
	plugin := &collected{gone: make(chan struct{})}
	func() {
		registry := gangsched.NewRegistry()
		if err := registry.Add("Collected", plugin, gangsched.PluginOptions{}); err != nil {
			t.Fatal(err)
		}
		cluster := gangsched.NewCluster()
		profile := gangsched.Profile{Plugins: []gangsched.ProfilePlugin{{Name: "Collected"}}}
		if _, err := gangsched.NewScheduler(cluster, gangsched.Options{Registry: registry, Profiles: []gangsched.Profile{profile}}); err != nil {
			t.Fatal(err)
		}
		runtime.SetFinalizer(plugin, func(p *collected) { close(p.gone) })
	}()
	gone := plugin.gone
	plugin = nil
	for range 200 {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the plugin is still held: so are registry, scheduler or cluster")
}

type collected struct{ gone chan struct{} }

func (*collected) Less(a, b *gangsched.Queued) bool { return a.Arrival < b.Arrival }

func TestClosingInAnyOrderAndTwice(t *testing.T) {
	cluster := gangsched.NewCluster()
	scheduler, err := gangsched.NewScheduler(cluster, gangsched.Options{})
	want(t, err, nil)
	cluster.Close()
	cluster.Close()
	_, err = cluster.AddPod(podOf("p", 1))
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
	scheduler.Close()
	scheduler.Close()
	_, err = scheduler.Run(0)
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
}

func TestClustersSideBySide(t *testing.T) {
	plugin := &byCookie{}
	registry := gangsched.NewRegistry()
	want(t, registry.Add("ByCookie", plugin, gangsched.PluginOptions{}), nil)
	profile := gangsched.Profile{Plugins: []gangsched.ProfilePlugin{{Name: "ByCookie"}}}
	var all sync.WaitGroup
	for range 8 {
		w := newWorld(t, gangsched.Options{Registry: registry, Profiles: []gangsched.Profile{profile}}, 6)
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range 20 {
				if _, err := w.cluster.AddPod(podOf(fmt.Sprint("p", i), 1)); err != nil {
					t.Error(err)
				}
				if _, err := w.scheduler.Run(int64(i)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	all.Wait()
}

func TestReasonsAreGoodUntilTheNextRun(t *testing.T) {
	w := newWorld(t, gangsched.Options{Profiles: []gangsched.Profile{{Base: gangsched.WithQueues}}}, 1)
	limit := gangsched.Quota{Limit: gangsched.Resources("cpu", "2")}
	if _, err := w.cluster.AddQueue(&gangsched.QueueSpec{Name: "q", Namespaces: []string{"default"}, Quotas: []gangsched.Quota{limit}}); err != nil {
		t.Fatal(err)
	}
	group, err := w.cluster.AddGroup(&gangsched.GroupSpec{Name: "g", MinCount: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 { // more decisions than come in one call of C
		spec := podOf(fmt.Sprint("g", i), 1)
		spec.Group = group
		if _, err := w.cluster.AddPod(spec); err != nil {
			t.Fatal(err)
		}
	}
	decisions, err := w.scheduler.Run(0)
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for i := range decisions {
		if reason := decisions[i].Reason(); reason != "" {
			want(t, reason, "no pods were schedulable")
			said++
		}
	}
	want(t, said, 98)
}
