package cluster_test

import (
	"testing"
	"time"

	"gangsched/tests/cluster/harness"
)

// outage adds a crowd, half of it before something happens to the control plane and half after it is over, and waits until all of it is bound.
func (w *world) outage(happens func()) {
	w.Helper()
	pods := w.crowd("p", 20)
	half := len(pods) / 2
	w.add(pods[:half]...) // their binds are under way
	happens()
	w.add(pods[half:]...)
	w.allBound(pods, 3*time.Minute)
}

func TestTheAPIServerIsKilledAndComesBack(t *testing.T) {
	w := newWorld(t, impatient, nodes("n", 20, "cpu", "8")...)
	w.watchOver()
	w.outage(func() {
		server := w.plane.Process("kube-apiserver")
		server.Kill()
		time.Sleep(3 * time.Second)
		must(t, server.Start())
		must(t, w.plane.Ready(w.ctx))
	})
}

// whileLeaderless is how long etcd has no leader.
const whileLeaderless = 10 * time.Second

func TestEtcdHasNoLeader(t *testing.T) {
	w := newPlane(t, harness.Options{Members: 3})
	proxy := w.proxied()
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 20, "cpu", "8")...))
	w.watchOver()
	w.outage(func() {
		// Of three members one goes on, which is no majority: it leads nobody, and takes nothing.
		lost := []*harness.Process{w.plane.Process("etcd-1"), w.plane.Process("etcd-2")}
		for _, one := range lost {
			one.Kill()
		}
		begin := time.Now()
		if err := harness.AddPods(w.ctx, w.client, w.pod("nobody", "cpu", "1")); err == nil {
			t.Error("the API server takes a pod, and etcd has no leader")
		}
		time.Sleep(time.Until(begin.Add(whileLeaderless)))
		for _, one := range lost {
			must(t, one.Start())
		}
		w.within(time.Minute, func() string {
			if err := harness.AddPods(w.ctx, w.client, w.pod("probe", "cpu", "1m")); err != nil {
				return err.Error()
			}
			return ""
		})
		w.remove("probe", "nobody")
	})
	if twice := proxy.Twice(); len(twice) != 0 {
		t.Errorf("bound twice: %v", twice)
	}
}

func TestEtcdStandsStill(t *testing.T) {
	w := newPlane(t, harness.Options{})
	proxy := w.proxied()
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 20, "cpu", "8")...))
	w.watchOver()
	w.outage(func() {
		etcd := w.plane.Process("etcd-0")
		etcd.Pause() // what is written meanwhile is answered late, or not any more when it is done
		time.Sleep(whileLeaderless)
		etcd.Resume()
	})
	if twice := proxy.Twice(); len(twice) != 0 {
		t.Errorf("bound twice: %v", twice)
	}
}
