package cluster_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"gangsched/tests/cluster/harness"
)

var (
	binaries  = flag.String("binaries", "", "the folder with controlplane, kwok and stages")
	scheduler = flag.String("scheduler", "", "the binary of kubernetes-scheduler")
	simulate  = flag.String("simulate", "", "the binary of gangsched-simulate")
)

// world is a control plane for one test, with nodes and the scheduler.
type world struct {
	*testing.T
	ctx       context.Context
	plane     *harness.Plane
	client    kubernetes.Interface
	scheduler *harness.Scheduler
	namespace string
}

// newPlane is a control plane without any scheduler.
func newPlane(t *testing.T, options harness.Options) *world {
	t.Helper()
	if *binaries == "" || *scheduler == "" {
		t.Fatal("started without -binaries or -scheduler: scripts/test-cluster builds them")
	}
	options.Binaries, options.Folder = *binaries, t.TempDir()
	plane, err := harness.Start(t.Context(), options)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range []string{"gangsched", "kube-scheduler"} {
				if process := plane.Process(name); process != nil {
					t.Logf("%s: %s", name, last(process.Log(), 4000))
				}
			}
		}
		plane.Stop()
	})
	w := &world{T: t, ctx: t.Context(), plane: plane, client: plane.Client}
	w.namespace, err = harness.Namespace(w.ctx, w.client, "test")
	must(t, err)
	return w
}

// newWorld has a scheduler and nodes, too.
func newWorld(t *testing.T, configuration string, nodes ...*corev1.Node) *world {
	t.Helper()
	w := newPlane(t, harness.Options{})
	must(t, harness.AddNodes(w.ctx, w.client, nodes...)) // first, so that the scheduler knows all of them when pods come
	w.start(configuration)
	return w
}

func (w *world) start(configuration string) {
	w.Helper()
	var err error
	w.scheduler, err = w.plane.Gangsched(w.ctx, *scheduler, configuration, "")
	must(w.T, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func last(text string, most int) string { return text[max(0, len(text)-most):] }

// nodes are so many with the same room, called by a prefix and a number.
func nodes(prefix string, count int, has ...string) (made []*corev1.Node) {
	for i := range count {
		made = append(made, harness.NodeOf(fmt.Sprintf("%s%d", prefix, i), has...))
	}
	return made
}

// pod makes a pod in the namespace of the test.
func (w *world) pod(name string, asks ...string) *corev1.Pod {
	return harness.PodOf(w.namespace, name, asks...)
}

func (w *world) add(pods ...*corev1.Pod) {
	w.Helper()
	must(w.T, harness.AddPods(w.ctx, w.client, pods...))
}

func (w *world) get(name string) *corev1.Pod {
	w.Helper()
	pod, err := w.client.CoreV1().Pods(w.namespace).Get(w.ctx, name, metav1.GetOptions{})
	must(w.T, err)
	return pod
}

func (w *world) pods() []corev1.Pod {
	w.Helper()
	list, err := w.client.CoreV1().Pods(metav1.NamespaceAll).List(w.ctx, metav1.ListOptions{})
	must(w.T, err)
	return list.Items
}

const patience = 20 * time.Second

// eventually waits until something holds; what it returns says what is missing.
func (w *world) eventually(missing func() string) {
	w.Helper()
	w.within(patience, missing)
}

func (w *world) within(time_ time.Duration, missing func() string) {
	w.Helper()
	var said string
	for until := time.Now().Add(time_); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if said = missing(); said == "" {
			return
		}
	}
	w.Fatalf("after %v: %s", time_, said)
}

// bound waits until pods have a node, and returns where they are.
func (w *world) bound(names ...string) (made []string) {
	w.Helper()
	w.eventually(func() string {
		made = nil
		for _, name := range names {
			node := w.get(name).Spec.NodeName
			if node == "" {
				return name + " has no node"
			}
			made = append(made, node)
		}
		return ""
	})
	return made
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, one := range pod.Status.Conditions {
		if one.Type == kind {
			return one
		}
	}
	return corev1.PodCondition{}
}

// unschedulable waits until a pod is said to have no node, and returns the words.
func (w *world) unschedulable(name string) (message string) {
	w.Helper()
	w.eventually(func() string {
		pod := w.get(name)
		one := condition(pod, corev1.PodScheduled)
		if pod.Spec.NodeName != "" || one.Reason != corev1.PodReasonUnschedulable {
			return fmt.Sprintf("%s is on %q, condition %v", name, pod.Spec.NodeName, one)
		}
		message = one.Message
		return ""
	})
	return message
}

// sound checks what has to hold of every cluster at any time: no node has more than it can, no gang is torn.
func (w *world) sound() {
	w.Helper()
	for _, wrong := range harness.Unsound(w.ctx, w.client) {
		w.Error(wrong)
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}

// classes makes priority classes called p and their value.
func (w *world) classes(values ...int32) {
	w.Helper()
	for _, value := range values {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", value)}, Value: value}
		_, err := w.client.SchedulingV1().PriorityClasses().Create(w.ctx, class, metav1.CreateOptions{})
		must(w.T, err)
	}
}
