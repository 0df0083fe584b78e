package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gangsched/tests/cluster/harness"
)

// impatient gives up on requests soon, so that tests of lost answers are short.
const impatient = "gangsched: {requestTimeout: 1s}\npodMaxBackoffSeconds: 2\n"

// proxied starts the scheduler behind a proxy.
func (w *world) proxied() *harness.Proxy {
	w.Helper()
	proxy, file := w.proxy()
	var err error
	w.scheduler, err = w.plane.Gangsched(w.ctx, *scheduler, impatient, file)
	must(w.T, err)
	return proxy
}

// proxy is one, with the kubeconfig of who is to go through it.
func (w *world) proxy() (*harness.Proxy, string) {
	w.Helper()
	proxy, err := harness.NewProxy(w.plane.Server(), 1500*time.Millisecond)
	must(w.T, err)
	w.Cleanup(func() { // who is still there comes back at once, and Close waits for it
		if w.scheduler != nil {
			w.scheduler.Kill()
		}
		proxy.CloseClientConnections()
		proxy.Close()
	})
	file := filepath.Join(w.plane.Folder, "proxied")
	must(w.T, harness.WriteKubeconfig(file, proxy.URL, "administrator"))
	return proxy, file
}

// crowd is singles and gangs that fill most of a cluster of so many nodes of 8 cores.
func (w *world) crowd(prefix string, nodes int) (made []*corev1.Pod) {
	for i := range nodes * 4 {
		made = append(made, w.pod(fmt.Sprintf("%s-single-%d", prefix, i), "cpu", "1"))
	}
	for i := range nodes / 2 {
		made = append(made, w.gang(fmt.Sprintf("%s-gang-%d", prefix, i), 4, "cpu", "1500m")...)
	}
	return made
}

// watchOver checks, until the test ends, that no node has more than it can, and that no pod moves.
func (w *world) watchOver() {
	where := map[string]string{}
	ctx, stop := context.WithCancel(w.ctx)
	done := make(chan struct{})
	w.Cleanup(func() { stop(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, wrong := range harness.Unsound(ctx, w.client) {
				if strings.HasPrefix(wrong, "node ") { // gangs may be on their way
					w.Error(wrong)
				}
			}
			list, err := w.client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				continue // the API server may be down
			}
			for i := range list.Items {
				pod := &list.Items[i]
				before, now := where[string(pod.UID)], pod.Spec.NodeName
				if before != "" && before != now {
					w.Errorf("pod %s moved from %s to %s", pod.Name, before, now)
				}
				where[string(pod.UID)] = now
			}
			time.Sleep(200 * time.Millisecond)
		}
	}()
}

// countBound is how many pods of the test have a node.
func (w *world) countBound() (count int) {
	w.Helper()
	for _, pod := range w.pods() {
		if pod.Spec.NodeName != "" {
			count++
		}
	}
	return count
}

// until waits until so many pods are bound.
func (w *world) until(point int) {
	w.Helper()
	w.within(2*time.Minute, func() string {
		if bound := w.countBound(); bound < point {
			return fmt.Sprintf("%d pods are bound, not %d yet", bound, point)
		}
		return ""
	})
}

// remove deletes pods, if they are there.
func (w *world) remove(names ...string) {
	w.Helper()
	for _, name := range names {
		if err := w.client.CoreV1().Pods(w.namespace).Delete(w.ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			must(w.T, err)
		}
	}
}

// empty leaves none of the pods of the test.
func (w *world) empty(pods []*corev1.Pod) {
	zero := int64(0)
	must(w.T, harness.Each(32, pods, func(pod *corev1.Pod) error { // a collection is deleted one after the other, which takes minutes
		return w.client.CoreV1().Pods(w.namespace).Delete(w.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	}))
	w.within(5*time.Minute, func() string {
		if left, err := w.client.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{Limit: 1}); err != nil || len(left.Items) != 0 {
			return fmt.Sprint("pods are left ", err)
		}
		return ""
	})
}

// allBound waits until everybody has a node.
func (w *world) allBound(pods []*corev1.Pod, most time.Duration) {
	w.Helper()
	w.within(most, func() string {
		list, err := w.client.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		var waiting []string
		for i := range list.Items {
			if list.Items[i].Spec.NodeName == "" {
				waiting = append(waiting, list.Items[i].Name+": "+condition(&list.Items[i], corev1.PodScheduled).Message)
			}
		}
		if len(list.Items) != len(pods) || len(waiting) != 0 {
			return fmt.Sprintf("%d pods of %d, %d wait: %.500s", len(list.Items), len(pods), len(waiting), fmt.Sprint(waiting))
		}
		return ""
	})
	w.sound()
}

func TestBindsThatGoWrong(t *testing.T) {
	w := newPlane(t, harness.Options{})
	proxy := w.proxied()
	proxy.Faulty.Store(30)
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 20, "cpu", "8")...))
	w.watchOver()
	pods := w.crowd("p", 20)
	w.add(pods...)
	w.allBound(pods, 3*time.Minute)
	if wrong := proxy.Wrong.Load(); wrong < 20 {
		t.Errorf("only %d binds went wrong", wrong)
	}
	if twice := proxy.Twice(); len(twice) != 0 {
		t.Errorf("bound twice: %v", twice)
	}
}

func TestWatchesAreLostAllTheTime(t *testing.T) {
	w := newPlane(t, harness.Options{})
	proxy := w.proxied()
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 20, "cpu", "8")...))
	w.watchOver()
	lost := 60
	if testing.Short() {
		lost = 10
	}
	pods := w.crowd("p", 20)
	for i := range lost {
		from, to := i*len(pods)/lost, (i+1)*len(pods)/lost
		w.add(pods[from:to]...)
		proxy.CloseClientConnections() // binds and their answers with them
		time.Sleep(time.Second)
	}
	w.allBound(pods, 2*time.Minute)
	if twice := proxy.Twice(); len(twice) != 0 {
		t.Errorf("bound twice: %v", twice)
	}
}

func TestTheSchedulerIsKilledInTheMiddleOfBinds(t *testing.T) {
	w := newPlane(t, harness.Options{})
	rounds, size := 20, 168 // 1,008 pods
	if testing.Short() {
		rounds, size = 4, 40
	}
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", size, "cpu", "8")...))
	w.start(impatient)
	w.watchOver()
	for round := range rounds {
		pods := w.crowd(fmt.Sprintf("r%d", round), size)
		added := make(chan error, 1)
		go func() { added <- harness.AddPods(w.ctx, w.client, pods...) }()
		// At a random point of all binds, whenever that comes on this machine.
		point := rand.IntN(len(pods))
		w.until(point)
		w.scheduler.Kill()
		must(t, w.scheduler.Start())
		must(t, w.scheduler.Ready(w.ctx))
		must(t, <-added)
		w.allBound(pods, 2*time.Minute)
		w.empty(pods)
	}
}
