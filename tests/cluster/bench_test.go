package cluster_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
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
	benchNodes = flag.String("bench-nodes", "1000,5000", "how many nodes there are, one after the other")
	benchPods  = flag.Int("bench-pods", 10000, "how many pods")
	benchKinds = flag.String("bench-kinds", "plain,spread,anti-affinity", "which pods: of these, and gangs")
	benchWays  = flag.String("bench-ways", "drain,arriving", "whether pods are there before the scheduler, or come while it runs")
	benchWho   = flag.String("bench-who", "no decisions,kube-scheduler,gangsched", "who binds them: also \"2 active\", replicas")
	benchEnds  = flag.Duration("bench-profile", 0, "how much of each run of gangsched is profiled, into bench-*.pprof")
)

// binder places pods for the measurement: one of the schedulers, or a client that binds without deciding.
type binder interface {
	usage() harness.Usage // so far
	decided() float64     // of it the seconds of processor that decisions took; 0: not known
	stop()
}

// process is a binder that is a program.
type process struct {
	*world
	*harness.Process
}

func (p process) usage() harness.Usage {
	used, err := p.Process.Usage()
	must(p.T, err)
	return used
}

func (p process) decided() float64 {
	if p.scheduler == nil {
		return 0
	}
	return p.counter("gangsched_decisions_cpu_seconds_total")
}

// counter is a metric of the scheduler.
func (w *world) counter(name string) float64 {
	metrics, err := w.scheduler.Get(w.ctx, "/metrics")
	must(w.T, err)
	_, after, found := strings.Cut(metrics, "\n"+name+" ")
	if !found {
		w.Errorf("the scheduler does not say %s", name)
	}
	number, _, _ := strings.Cut(after, "\n")
	value, err := strconv.ParseFloat(number, 64)
	must(w.T, err)
	return value
}

func (p process) stop() { p.plane.End(p.Process) }

// replicas are several that are all active.
type replicas []process

func (r replicas) usage() (sum harness.Usage) {
	for _, one := range r {
		used := one.usage()
		sum.CPU += used.CPU
		sum.Peak += used.Peak
	}
	return sum
}

func (r replicas) decided() (sum float64) {
	for _, one := range r {
		sum += one.decided()
		one.world.Logf("%s: %.0f attempts lost", one.Process.Name, one.counter("gangsched_lost_attempts_total"))
	}
	return sum
}

func (r replicas) stop() {
	for _, one := range r {
		one.stop()
	}
}

// blind binds without deciding. It is this process, so that nothing is said of what it uses.
type blind struct{ end func() }

func (blind) usage() harness.Usage { return harness.Usage{} }
func (blind) decided() float64     { return 0 }
func (b blind) stop()              { b.end() }

func (w *world) binder(who string) binder {
	switch who {
	case "kube-scheduler":
		made, err := w.plane.KubeScheduler("")
		must(w.T, err)
		return process{w, made}
	case "gangsched":
		w.start("")
		return process{w, w.scheduler.Process}
	case "no decisions":
		return blind{w.bindAll()}
	}
	var count int
	if _, err := fmt.Sscanf(who, "%d active", &count); err == nil {
		var made replicas
		for _, one := range w.replicas(count, "") {
			here := *w
			here.scheduler = one
			made = append(made, process{&here, one.Process})
		}
		return made
	}
	w.Fatalf("nobody is called %q", who)
	return nil
}

func TestSideBySide(t *testing.T) {
	if !*sideBySide {
		t.Skip("test-cluster --bench measures")
	}
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "nodes\tpods\tway\twho\tpods/s\tp50\tp99\tCPU s\tof it decisions\tRSS MiB\tevents")
	defer func() {
		must(t, table.Flush())
		fmt.Print(out.String())
	}()
	for size := range strings.SplitSeq(*benchNodes, ",") {
		count, err := strconv.Atoi(size)
		must(t, err)
		t.Run(size, func(t *testing.T) {
			w := benchPlane(t, count)
			for kind := range strings.SplitSeq(*benchKinds, ",") {
				for way := range strings.SplitSeq(*benchWays, ",") {
					for who := range strings.SplitSeq(*benchWho, ",") {
						t.Run(kind+"/"+way+"/"+who, func(t *testing.T) {
							here := *w
							here.T, here.ctx = t, t.Context()
							said := here.measure(who, shapes[kind], way == "drain")
							t.Log(said) // at once: the table comes when all is over
							fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", size, kind, way, who, said)
						})
					}
				}
			}
		})
	}
}

// benchPlane has nodes, and nobody who would take processor from those that are measured.
func benchPlane(t *testing.T, count int) *world {
	w := newPlane(t, harness.Options{})
	fast(w)
	w.plane.End(w.plane.Process("kwok"))                    // kubelets would
	w.plane.End(w.plane.Process("kube-controller-manager")) // and nodes would be lost without them
	all := nodes("n", count, "cpu", "32", "memory", "256Gi")
	for i, node := range all {
		node.Labels[corev1.LabelTopologyZone] = fmt.Sprintf("zone-%d", i%3)
	}
	must(t, harness.AddNodes(w.ctx, w.client, all...))
	return w
}

func (w *world) measure(who string, shape func(*world, int, *corev1.Pod), pending bool) string {
	var err error
	w.namespace, err = harness.Namespace(w.ctx, w.client, "bench")
	must(w.T, err)
	seen := w.observe()
	pods := make([]*corev1.Pod, *benchPods)
	for i := range pods {
		pods[i] = w.pod(fmt.Sprintf("p-%d", i), "cpu", []string{"100m", "250m", "500m"}[rand.IntN(3)], "memory", "256Mi")
		if shape != nil {
			shape(w, i, pods[i])
		}
	}
	var one binder
	if !pending {
		one = w.binder(who)
		time.Sleep(3 * time.Second)
	}
	begin := time.Now()
	must(w.T, harness.Each(32, pods, func(pod *corev1.Pod) error {
		seen.created(pod.Name)
		return harness.AddPods(w.ctx, w.client, pod)
	}))
	if pending {
		begin = time.Now()
		one = w.binder(who)
	}
	defer one.stop()
	if *benchEnds != 0 && w.scheduler != nil {
		w.profile(*benchEnds)
	}
	w.within(30*time.Minute, func() string {
		if bound := seen.count(); bound < len(pods) {
			return fmt.Sprintf("%d of %d pods are bound", bound, len(pods))
		}
		return ""
	})
	end := w.rested(one)
	decided := one.decided()
	w.sound()
	waits, first, last := seen.times()
	rate, began := float64(len(pods)-1)/last.Sub(first).Seconds(), first.Sub(begin)
	p50, p99 := waits[len(waits)/2].Round(time.Millisecond).String(), waits[len(waits)*99/100].Round(time.Millisecond).String()
	if pending { // pods/s from the first bind on: who starts reads all pods first
		p50, p99 = "", fmt.Sprintf("(first after %v)", began.Round(10*time.Millisecond))
	} else {
		rate = float64(len(pods)) / last.Sub(begin).Seconds()
	}
	events := w.events()
	one.stop()
	w.empty(pods)
	return fmt.Sprintf("%.0f\t%s\t%s\t%.2f\t%.3f\t%d\t%d", rate, p50, p99, end.CPU.Seconds(), decided, end.Peak>>20, events)
}

// rested is what a binder has used when it has written all that it wants to: no event comes any more.
func (w *world) rested(one binder) harness.Usage {
	for before := -1; ; {
		now := w.events()
		if now == before {
			return one.usage()
		}
		before = now
		time.Sleep(3 * time.Second)
	}
}

func (w *world) events() (count int) {
	next := ""
	for {
		list, err := w.client.EventsV1().Events(w.namespace).List(w.ctx, metav1.ListOptions{Limit: 1000, Continue: next})
		must(w.T, err)
		count += len(list.Items)
		if next = list.Continue; next == "" {
			return count
		}
	}
}

// profile writes where the scheduler's processor time goes from now on.
func (w *world) profile(how time.Duration) {
	file := fmt.Sprintf("bench-%s.pprof", strings.ReplaceAll(w.Name(), "/", "-"))
	done := make(chan struct{})
	w.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		said, err := w.scheduler.Get(w.ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", int(how.Seconds())))
		if err == nil {
			err = os.WriteFile(file, []byte(said), 0o600)
		}
		if err != nil {
			w.Error(err)
		}
	}()
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

// bindAll binds every pod to the next node, and does nothing else: what the API server can take. It returns how to end it.
func (w *world) bindAll() (end func()) {
	const parallel = 64
	list, err := w.client.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	must(w.T, err)
	names := make(chan string, *benchPods)
	var mu sync.Mutex
	known := map[string]bool{}
	ctx, end := context.WithCancel(w.ctx)
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
	for i := range parallel {
		go func() {
			for node := i; ; node += parallel {
				select {
				case <-ctx.Done():
					return
				case name := <-names:
					to := corev1.ObjectReference{Kind: "Node", Name: list.Items[node%len(list.Items)].Name}
					if err := w.client.CoreV1().Pods(w.namespace).Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: to}, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
						w.Error(err)
					}
				}
			}
		}()
	}
	return end
}
