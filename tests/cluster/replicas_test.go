package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gangsched/tests/cluster/harness"
)

// replicas starts so many that are all active, and soon notice when one is gone.
func (w *world) replicas(count int, kubeconfig string) (made []*harness.Scheduler) {
	w.Helper()
	for i := range count {
		one, err := w.plane.Replica(w.ctx, fmt.Sprintf("replica-%d", i), *scheduler, activeActive, kubeconfig)
		must(w.T, err)
		made = append(made, one)
	}
	w.Cleanup(func() {
		for _, one := range made {
			one.Kill() // before what is between it and the API server
			if w.Failed() {
				w.Logf("%s: %s", one.Name, last(one.Log(), 3000))
			}
		}
	})
	return made
}

const activeActive = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}
gangsched: {replicas: active-active, requestTimeout: 5s}
podMaxBackoffSeconds: 2
`

// exactly is singles and gangs that leave no core free on so many nodes of 8 cores.
func (w *world) exactly(nodes int) (made []*corev1.Pod) {
	for i := range nodes * 4 {
		made = append(made, w.pod(fmt.Sprintf("single-%d", i), "cpu", "1"))
	}
	for i := range nodes {
		made = append(made, w.gang(fmt.Sprintf("gang-%d", i), 4, "cpu", "1")...)
	}
	rand.Shuffle(len(made)/4, func(i, k int) { made[i], made[k] = made[k], made[i] }) // among the singles: gangs come one after the other
	return made
}

// withReplicas plays with two replicas and with three, on nodes that their pods fill to the last core.
func withReplicas(t *testing.T, meanwhile func(w *world, all []*harness.Scheduler, pods int)) {
	size := 125 // 1,000 pods
	if testing.Short() {
		size = 25
	}
	for _, count := range []int{2, 3} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			w := newPlane(t, harness.Options{})
			must(t, harness.AddNodes(w.ctx, w.client, nodes("n", size, "cpu", "8")...))
			all := w.replicas(count, "")
			w.watchOver()
			pods := w.exactly(size)
			added := make(chan error, 1)
			go func() { added <- harness.AddPods(w.ctx, w.client, pods...) }()
			meanwhile(w, all, len(pods))
			must(t, <-added)
			w.allBound(pods, 3*time.Minute)
			lost := 0.0
			for _, one := range all {
				if !one.Ended() {
					here := *w
					here.scheduler = one
					lost += here.counter("gangsched_lost_attempts_total")
					if decided := here.counter(`scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"}`); decided == 0 {
						t.Errorf("%s has bound nobody", one.Name)
					}
				}
			}
			t.Logf("%.0f attempts were lost to another replica", lost)
		})
	}
}

func TestReplicasFillNodesTogether(t *testing.T) {
	withReplicas(t, func(*world, []*harness.Scheduler, int) {})
}

func TestAReplicaIsKilledWhileAllOfThemBind(t *testing.T) {
	withReplicas(t, func(w *world, all []*harness.Scheduler, pods int) {
		w.until(rand.IntN(pods * 3 / 4))
		all[rand.IntN(len(all))].Kill()
	})
}

// Binds that go wrong in every way, and replicas that are killed one after the other and come back.
func TestReplicasThatAreKilledAllTheTimeWhileBindsGoWrong(t *testing.T) {
	w := newPlane(t, harness.Options{})
	proxy, file := w.proxy()
	proxy.Faulty.Store(30)
	size := 50
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", size, "cpu", "8")...))
	all := w.replicas(3, file)
	w.watchOver()
	pods := w.exactly(size)
	added := make(chan error, 1)
	go func() { added <- harness.AddPods(w.ctx, w.client, pods...) }()
	for round := 1; round <= 5; round++ {
		w.until(round * len(pods) / 8)
		one := all[rand.IntN(len(all))]
		one.Kill()
		must(t, one.Start())
	}
	must(t, <-added)
	w.allBound(pods, 4*time.Minute)
	if twice := proxy.Twice(); len(twice) != 0 {
		t.Errorf("bound twice: %v", twice)
	}
}

// What it had decided before it stood still must not count when it goes on.
func TestAReplicaStandsStillWhileAllOfThemBind(t *testing.T) {
	withReplicas(t, func(w *world, all []*harness.Scheduler, pods int) {
		w.until(rand.IntN(pods * 3 / 4))
		one := all[rand.IntN(len(all))]
		one.Pause()
		time.Sleep(6 * time.Second) // others take over what was its
		one.Resume()
	})
}
