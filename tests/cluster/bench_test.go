package cluster_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"gangsched/tests/cluster/harness"
)

var (
	sideBySide = flag.Bool("side-by-side", false, "measure kube-scheduler and this one, one after the other")
	benchNodes = flag.Int("bench-nodes", 1000, "how many nodes there are")
	benchPods  = flag.Int("bench-pods", 10000, "how many pods")
)

// binder places pods for the measurement: one of the schedulers, or a client that binds without deciding.
type binder struct {
	name  string
	start func(*world) func() harness.Usage // and what it has used so far
}

var binders = []binder{
	{"kube-scheduler", func(w *world) func() harness.Usage {
		process, err := w.plane.KubeScheduler("")
		must(w.T, err)
		return w.usage(process)
	}},
	{"gangsched", func(w *world) func() harness.Usage {
		w.start("")
		return w.usage(w.scheduler.Process)
	}},
	{"no decisions", func(w *world) func() harness.Usage {
		w.bindAll()
		return func() harness.Usage { return harness.Usage{} } // it is this process
	}},
}

func (w *world) usage(process *harness.Process) func() harness.Usage {
	return func() harness.Usage {
		used, err := process.Usage()
		must(w.T, err)
		return used
	}
}

func TestSideBySide(t *testing.T) {
	if !*sideBySide {
		t.Skip("test-cluster --bench measures")
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "way\twho\tpods/s\tp50\tp99\tCPU s\tRSS MiB\t")
	for _, way := range []struct {
		name    string
		pending bool
	}{{"arriving", false}, {"drain", true}} {
		for _, one := range binders {
			t.Run(way.name+"/"+one.name, func(t *testing.T) {
				said := measure(t, one, way.pending)
				t.Log(said) // at once: the table comes when all is over
				fmt.Fprintf(table, "%s\t%s\t%s\n", way.name, one.name, said)
			})
		}
	}
	must(t, table.Flush())
}

func measure(t *testing.T, one binder, pending bool) string {
	w := newPlane(t, harness.Options{})
	w.plane.Process("kwok").Kill()                    // kubelets would take processor from both
	w.plane.Process("kube-controller-manager").Kill() // and nodes would be lost without them
	fast(w)
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", *benchNodes, "cpu", "32", "memory", "256Gi")...))
	seen := w.observe()
	pods := make([]*corev1.Pod, *benchPods)
	for i := range pods {
		pods[i] = w.pod(fmt.Sprintf("p-%d", i), "cpu", []string{"100m", "250m", "500m"}[rand.IntN(3)], "memory", "256Mi")
	}
	var used func() harness.Usage
	if !pending {
		used = one.start(w)
		time.Sleep(3 * time.Second)
	}
	begin := time.Now()
	must(t, harness.Each(32, pods, func(pod *corev1.Pod) error {
		seen.created(pod.Name)
		return harness.AddPods(w.ctx, w.client, pod)
	}))
	if pending {
		begin = time.Now()
		used = one.start(w)
	}
	w.within(20*time.Minute, func() string {
		if bound := seen.count(); bound < len(pods) {
			return fmt.Sprintf("%d of %d pods are bound", bound, len(pods))
		}
		return ""
	})
	end := used()
	w.sound()
	waits, first, last := seen.times()
	rate := float64(len(pods)) / last.Sub(begin).Seconds()
	if pending { // from the first bind on: who starts reads 10,000 pods first
		rate = float64(len(pods)-1) / last.Sub(first).Seconds()
		return fmt.Sprintf("%.0f\t\t\t%.1f\t%d\t", rate, end.CPU.Seconds(), end.Peak>>20)
	}
	return fmt.Sprintf("%.0f\t%v\t%v\t%.1f\t%d\t", rate, waits[len(waits)/2].Round(time.Millisecond), waits[len(waits)*99/100].Round(time.Millisecond), end.CPU.Seconds(), end.Peak>>20)
}

// fast has the client of the test speak protobuf, as schedulers do.
func fast(w *world) {
	config := rest.CopyConfig(w.plane.Config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	must(w.T, err)
	w.client = client
}

// observed is when pods were created and when they were seen with a node.
type observed struct {
	mu          sync.Mutex
	began, over map[string]time.Time
}

func (o *observed) created(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.began[name] = time.Now()
}

func (o *observed) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.over)
}

// times are how long each waited, sorted, and when the first and the last got its node.
func (o *observed) times() (waits []time.Duration, first, last time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, at := range o.over {
		waits = append(waits, at.Sub(o.began[name]))
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	slices.Sort(waits)
	return waits, first, last
}

func (w *world) observe() *observed {
	seen := &observed{began: map[string]time.Time{}, over: map[string]time.Time{}}
	note := func(object any) {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.Spec.NodeName == "" {
			return
		}
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if _, known := seen.over[pod.Name]; !known {
			seen.over[pod.Name] = time.Now()
		}
	}
	w.inform(note)
	return seen
}

// inform calls a function for pods that come and change.
func (w *world) inform(tell func(any)) {
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(w.namespace))
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, now any) { tell(now) }})
	must(w.T, err)
	ctx, stop := context.WithCancel(w.ctx)
	w.Cleanup(func() { stop(); factory.Shutdown() })
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
}

// bindAll binds every pod to the next node, and does nothing else: what the API server can take.
func (w *world) bindAll() {
	const parallel = 64
	names := make(chan string, *benchPods)
	var mu sync.Mutex
	known := map[string]bool{}
	w.inform(func(object any) {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.Spec.NodeName != "" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if !known[pod.Name] {
			known[pod.Name] = true
			names <- pod.Name
		}
	})
	ctx := w.ctx
	for i := range parallel {
		go func() {
			for node := i; ; node += parallel {
				select {
				case <-ctx.Done():
					return
				case name := <-names:
					to := corev1.ObjectReference{Kind: "Node", Name: fmt.Sprintf("n%d", node%*benchNodes)}
					if err := w.client.CoreV1().Pods(w.namespace).Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: to}, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
						w.Error(err)
					}
				}
			}
		}()
	}
}
