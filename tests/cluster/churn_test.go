package cluster_test

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gangsched/tests/cluster/harness"
)

var churn = flag.Duration("churn", 0, "how long pods come and go")

// coming are pods of a namespace that come, are bound and go.
type coming struct {
	mu    sync.Mutex
	began map[string]time.Time // those that are not bound
	bound map[string]bound     // those that are, and are there still
	waits []time.Duration      // of all
	moved []string             // that had another node before
}

type bound struct {
	node string
	at   time.Time
}

func (c *coming) note(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, known := c.bound[pod.Name]; known && before.node != pod.Spec.NodeName {
		c.moved = append(c.moved, pod.Name)
	}
	if began, known := c.began[pod.Name]; known {
		c.waits = append(c.waits, time.Since(began))
		delete(c.began, pod.Name)
		c.bound[pod.Name] = bound{pod.Spec.NodeName, time.Now()}
	}
}

// over are those that have been bound for so long; they are forgotten.
func (c *coming) over(lives time.Duration) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, one := range c.bound {
		if time.Since(one.at) >= lives {
			names = append(names, name)
			delete(c.bound, name)
		}
	}
	return names
}

// longest is the pod that has waited longest, and for how long.
func (c *coming) longest() (name string, longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one, began := range c.began {
		if waits := time.Since(began); waits > longest {
			name, longest = one, waits
		}
	}
	return name, longest
}

// TestChurn has fifty pods come each second, of four kinds, which go half a minute after they were bound. None is left over or moves, no node has more
// than it can, and when it ends the scheduler has as much memory as it had when it was warm.
func TestChurn(t *testing.T) {
	if *churn == 0 {
		t.Skip("test-cluster --churn 1h")
	}
	const perSecond, lives = 50, 30 * time.Second
	w := benchPlane(t, 500)
	_, err := w.plane.ControllerManager("podgroup-protection-controller") // without it a PodGroup that is deleted stays
	must(t, err)
	w.start("")
	pods := &coming{began: map[string]time.Time{}, bound: map[string]bound{}}
	w.inform(pods.note)
	var memory []int64
	made := 0
	begin := time.Now()
	gone := map[string]int{} // members of gangs
	remove := func() {
		over := pods.over(lives)
		must(t, harness.Each(8, over, func(name string) error {
			return w.client.CoreV1().Pods(w.namespace).Delete(w.ctx, name, metav1.DeleteOptions{})
		}))
		for _, name := range over {
			var number int
			_, err := fmt.Sscanf(name, "p-%d", &number)
			must(t, err)
			group, gang := groupOf(number)
			if gone[group]++; gone[group] < alike {
				continue
			}
			delete(gone, group)
			if gang {
				must(t, w.client.SchedulingV1alpha2().PodGroups(w.namespace).Delete(w.ctx, group, metav1.DeleteOptions{}))
			}
		}
	}
	for second := 1; time.Since(begin) < *churn; second++ {
		var next []*corev1.Pod
		for range perSecond {
			next = append(next, w.comer(made))
			made++
		}
		must(t, harness.Each(8, next, func(pod *corev1.Pod) error {
			pods.mu.Lock()
			pods.began[pod.Name] = time.Now()
			pods.mu.Unlock()
			return harness.AddPods(w.ctx, w.client, pod)
		}))
		remove()
		if name, waits := pods.longest(); waits > time.Minute {
			why, err := w.scheduler.Get(w.ctx, "/debug/explain/"+w.namespace+"/"+name)
			t.Fatalf("%s has waited for %v: %s %v", name, waits, why, err)
		}
		if second%10 == 0 {
			used, err := w.scheduler.Usage()
			must(t, err)
			memory = append(memory, used.Resident)
		}
		if second%60 == 0 {
			w.sound()
		}
		time.Sleep(time.Until(begin.Add(time.Duration(second) * time.Second)))
	}
	rate := float64(made) / time.Since(begin).Seconds()
	w.within(2*lives, func() string {
		remove()
		if there := len(w.pods()); there != 0 {
			return fmt.Sprintf("%d pods are there still", there)
		}
		groups, err := w.client.SchedulingV1alpha2().PodGroups(w.namespace).List(w.ctx, metav1.ListOptions{})
		must(t, err)
		if there := len(groups.Items); there != 0 {
			return fmt.Sprintf("%d PodGroups are there still", there)
		}
		return ""
	})
	if len(pods.waits) != made || len(pods.moved) != 0 {
		t.Errorf("%d of %d pods were bound, and %v had two nodes", len(pods.waits), made, pods.moved)
	}
	warm, end := median(memory[len(memory)/4:len(memory)/2]), median(memory[len(memory)*3/4:])
	if end > warm+warm/10 {
		t.Errorf("%d MiB when it was warm, %d MiB in the end", warm>>20, end>>20)
	}
	slices.Sort(pods.waits)
	used, err := w.scheduler.Usage()
	must(t, err)
	t.Logf("%d pods, %.0f a second, bound after %v, p99 %v, at most %v; processor %v; %d MiB when warm, %d in the end, %d at most", made, rate,
		pods.waits[len(pods.waits)/2].Round(time.Millisecond), pods.waits[len(pods.waits)*99/100].Round(time.Millisecond),
		pods.waits[len(pods.waits)-1].Round(time.Millisecond), used.CPU, warm>>20, end>>20, used.Peak>>20)
}

// alike pods of a kind follow each other.
const alike = 8

// groupOf is what the pod with that number and those like it are called, and whether they are a gang.
func groupOf(number int) (name string, gang bool) {
	return fmt.Sprintf("g-%d", number/alike), number/alike%4 == 3
}

// comer is the pod with that number.
func (w *world) comer(number int) *corev1.Pod {
	pod := w.pod(fmt.Sprintf("p-%d", number), "cpu", "250m", "memory", "256Mi")
	switch number / alike % 4 {
	case 1:
		spreadOverZones(w, number, pod)
	case 2:
		apartFromOthers(w, number, pod)
	}
	if group, gang := groupOf(number); gang {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
		if number%alike == 0 {
			made := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: group, Namespace: w.namespace}}
			made.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: alike}
			_, err := w.client.SchedulingV1alpha2().PodGroups(w.namespace).Create(w.ctx, made, metav1.CreateOptions{})
			must(w.T, err)
		}
	}
	return pod
}

func median(of []int64) int64 {
	slices.Sort(of)
	return of[len(of)/2]
}
