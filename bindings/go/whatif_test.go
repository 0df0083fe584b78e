package gangsched_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"gangsched"
)

// fork is a world on a fork of this one.
func (w *world) fork() *world {
	w.t.Helper()
	fork, err := w.scheduler.Fork()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(fork.Close)
	return &world{t: w.t, cluster: fork.Cluster, scheduler: fork.Scheduler}
}

func TestAForkDecidesAsItsOriginal(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	w.pod("p", 6)
	w.pod("q", 6)
	want(t, w.run(0), "p bind n0; q reject")
	before := w.cluster.Digest()

	fork := w.fork()
	want(t, fork.cluster.Digest(), before)
	fork.node("n1", 8, 1)
	const later = 20_000_000_000
	want(t, fork.run(later), "q bind n1")
	want(t, w.cluster.Digest(), before)
	want(t, w.cluster.FindNode("n1"), gangsched.NodeID(0))
	_, err := fork.scheduler.Metrics()
	want(t, errors.Is(err, gangsched.ErrWrongState), true)

	w.node("n1", 8, 1)
	want(t, w.run(later), "q bind n1")
	want(t, w.cluster.Digest(), fork.cluster.Digest())

	alone, err := w.cluster.Fork()
	want(t, err, nil)
	defer alone.Close()
	want(t, alone.Digest(), w.cluster.Digest())
	w.scheduler.Close()
	_, err = w.scheduler.Fork()
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
}

func TestForksRunSideBySide(t *testing.T) {
	w := with(t, "ByCookie", &byCookie{}, gangsched.PluginOptions{}, 6)
	for i := range 12 {
		w.pod(fmt.Sprint("p", i), 1)
	}
	var all sync.WaitGroup
	said := make([]string, 4)
	for i := range said {
		fork := w.fork()
		all.Add(1)
		go func() {
			defer all.Done()
			said[i] = fork.run(0)
		}()
	}
	all.Wait()
	mine := w.run(0)
	for _, one := range said {
		want(t, one, mine)
	}
}

func TestAForkOutlivesItsOriginalAndIsCollected(t *testing.T) {
	made := func() *gangsched.Fork {
		cluster := gangsched.NewCluster()
		defer cluster.Close()
		if _, err := cluster.AddNode(&gangsched.NodeSpec{Name: "n", Allocatable: cpu(8)}); err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.AddPod(podOf("p", 1)); err != nil {
			t.Fatal(err)
		}
		scheduler, err := gangsched.NewScheduler(cluster, gangsched.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer scheduler.Close()
		fork, err := scheduler.Fork()
		if err != nil {
			t.Fatal(err)
		}
		return fork
	}
	for range 20 {
		made() // nobody closes it
		runtime.GC()
	}
	fork := made()
	decisions, err := fork.Scheduler.Run(0)
	want(t, err, nil)
	want(t, len(decisions), 1)
	fork.Close()
	fork.Close()
}

func shapes() []gangsched.NodeShape {
	return []gangsched.NodeShape{
		{Like: gangsched.NodeSpec{Name: "small", Allocatable: cpu(4)}, Price: 10},
		{Like: gangsched.NodeSpec{Name: "large", Allocatable: cpu(8)}, Price: 15},
	}
}

func TestDemand(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 0)
	train, err := w.cluster.AddGroup(&gangsched.GroupSpec{Name: "train", MinCount: 2})
	want(t, err, nil)
	for _, name := range []string{"t0", "t1"} {
		pod := podOf(name, 4)
		pod.Group = train
		if _, err := w.cluster.AddPod(pod); err != nil {
			t.Fatal(err)
		}
	}
	greedy := w.pod("greedy", 100)
	w.run(0)
	before := w.cluster.Digest()
	answer, err := w.scheduler.Demand(shapes(), gangsched.DemandOptions{})
	want(t, err, nil)
	want(t, w.cluster.Digest(), before)
	want(t, len(answer.Left), 1)
	want(t, answer.Left[0], greedy)
	if len(answer.Plans) != 2 {
		t.Fatal(answer.Plans)
	}
	best := answer.Plans[0]
	want(t, best.Price, int64(15))
	want(t, len(best.Nodes), 1)
	want(t, best.Nodes[0].Shape, 1)
	want(t, len(best.Nodes[0].Pods), 2)
	want(t, best.ByItself, true)
	want(t, answer.Plans[1].Price, int64(20))
	want(t, len(answer.Plans[1].Nodes), 2)

	node := w.node("large-1", 8, 0) // the host has it come
	for _, pod := range best.Nodes[0].Pods {
		want(t, w.cluster.Nominate(pod, node), nil)
	}
	want(t, w.run(20_000_000_000), "t0 bind large-1; t1 bind large-1")

	answer, err = w.scheduler.Demand(shapes(), gangsched.DemandOptions{Now: 20_000_000_000, Groups: []gangsched.GroupID{train}})
	want(t, err, nil)
	want(t, len(answer.Left), 0)
	wrong := shapes()
	wrong[0].Price = -1
	_, err = w.scheduler.Demand(wrong, gangsched.DemandOptions{Now: 20_000_000_000})
	want(t, errors.Is(err, gangsched.ErrOutOfRange), true)
	_, err = w.scheduler.Demand(shapes(), gangsched.DemandOptions{})
	want(t, errors.Is(err, gangsched.ErrTimeWentBack), true)
}

func TestRemovable(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 0)
	var nodes []gangsched.NodeID
	var pods []gangsched.PodID
	for i := range 3 {
		node := w.node(fmt.Sprint("n", i), 4, 0)
		pod := podOf(fmt.Sprint("p", i), 2)
		pod.Node = node
		id, err := w.cluster.AddPod(pod)
		want(t, err, nil)
		nodes, pods = append(nodes, node), append(pods, id)
	}
	found, err := w.scheduler.Removable(nodes, gangsched.RemovalOptions{})
	want(t, err, nil)
	if len(found) != 1 || len(found[0].Moves) != 1 { // two nodes hold three pods, one does not
		t.Fatal(found)
	}
	want(t, found[0].Node, nodes[0])
	want(t, found[0].Moves[0].Pod, pods[0])
	want(t, found[0].Moves[0].Node == nodes[1] || found[0].Moves[0].Node == nodes[2], true)
	found, err = w.scheduler.Removable(nodes, gangsched.RemovalOptions{Stay: pods})
	want(t, err, nil)
	want(t, len(found), 0)
	_, err = w.scheduler.Removable([]gangsched.NodeID{0}, gangsched.RemovalOptions{})
	want(t, errors.Is(err, gangsched.ErrUnknown), true)
}
