package mirror

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"gangsched"
)

// newWorldWithQueues is one whose scheduler goes by them.
func newWorldWithQueues(t *testing.T) *world {
	cluster := gangsched.NewCluster()
	t.Cleanup(cluster.Close)
	scheduler, err := gangsched.NewScheduler(cluster, gangsched.Options{Profiles: []gangsched.Profile{{Base: gangsched.WithQueues}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(scheduler.Close)
	return &world{t, New(cluster, scheduler, map[string]bool{"default-scheduler": true}), 0}
}

// queueOf is an object that describes queues, with generation 1 and a uid.
func queueOf(t *testing.T, uid, text string) *unstructured.Unstructured {
	t.Helper()
	made := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), made); err != nil {
		t.Fatal(err)
	}
	made.SetUID(types.UID(uid))
	made.SetGeneration(1)
	return made
}

func volcanoQueue(t *testing.T, uid, cpu string) *unstructured.Unstructured {
	t.Helper()
	return queueOf(t, uid, `{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}, "spec": {"capability": {"cpu": "`+cpu+`"}}}`)
}

// An object that is deleted and made anew while a watch is lost comes as a change, with another uid.
func TestAQueueThatIsMadeAnewReplacesTheOneBefore(t *testing.T) {
	w := newWorldWithQueues(t)
	w.SetNode(nodeOf("n", "4"))
	w.SetQueue(volcanoQueue(t, "first", "1"))
	pod := podOf("p", "2")
	pod.Labels = map[string]string{"volcano.sh/queue-name": "q"}
	w.SetPod(pod)
	w.want(w.turn(), "[p reject]")
	second := volcanoQueue(t, "second", "3")
	w.SetQueue(second)
	w.want(w.turn(), "[p bind]")
	w.RemoveQueue(second)
	w.Settle()
	w.want(len(w.queues.objects), "0")
	w.want(w.isQueue("q"), "false")
}

// Neither labels and annotations of a queue nor its state raise its generation.
func TestWhatRaisesNoGenerationOfAQueueIsRead(t *testing.T) {
	for name, change := range map[string]struct {
		how  func(*unstructured.Unstructured)
		read bool
	}{
		"label":      {func(q *unstructured.Unstructured) { q.SetLabels(map[string]string{"a": "b"}) }, true},
		"annotation": {func(q *unstructured.Unstructured) { q.SetAnnotations(map[string]string{"a": "b"}) }, true},
		"state": {func(q *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(q.Object, "Closed", "status", "state")
		}, true},
		"count": {func(q *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(q.Object, int64(3), "status", "running")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWithQueues(t)
			object := volcanoQueue(t, "u", "1")
			w.SetQueue(object)
			w.Settle()
			object = object.DeepCopy()
			change.how(object)
			w.SetQueue(object)
			if w.queues.changed != change.read {
				t.Errorf("read: %v", w.queues.changed)
			}
		})
	}
}

func namespaceOf(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// Which namespaces may use a ClusterQueue may go by their labels; a LocalQueue whose own namespace may not holds its pods, and is a queue of its own.
func TestAClusterQueueTakesNamespacesByTheirLabels(t *testing.T) {
	w := newWorldWithQueues(t)
	w.SetNode(nodeOf("n", "4"))
	w.SetNamespace(namespaceOf("default", nil), false)
	w.SetQueue(queueOf(t, "f", `{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}}`))
	w.SetQueue(queueOf(t, "c", `{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "c"}, "spec": {
  "namespaceSelector": {"matchLabels": {"team": "a"}},
  "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]}]}}`))
	w.SetQueue(queueOf(t, "l", `{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "l", "namespace": "default"}, "spec": {"clusterQueue": "c"}}`))
	pod := func(name string) *corev1.Pod {
		made := podOf(name, "1")
		made.Labels = map[string]string{localQueueLabel: "l"}
		return made
	}
	w.SetPod(pod("first"))
	if said := w.turn(); len(said) == 1 && said[0] == "first bind" {
		t.Error("it runs in a queue that does not take its namespace")
	}
	w.want(w.queues.of(pod("p")), "default/l")
	w.SetNamespace(namespaceOf("default", map[string]string{"team": "a"}), false)
	w.want(w.turn(), "[first bind]")
	w.want(w.queues.of(pod("p")), "c")
	w.SetNamespace(namespaceOf("default", map[string]string{"team": "b"}), false)
	w.SetPod(pod("second"))
	if said := w.turn(); len(said) == 1 && said[0] == "second bind" {
		t.Error("it runs in a queue that does not take its namespace any more")
	}
}

// An object that is not as it should be has no effect on other queues.
func TestAQueueWithAMistakeIsLeftOut(t *testing.T) {
	w := newWorldWithQueues(t)
	w.SetNode(nodeOf("n", "8"))
	w.SetQueue(queueOf(t, "own", `{"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "own"}, "spec": {"parentQueue": "own"}}`))
	w.SetQueue(volcanoQueue(t, "q", "4"))
	pod := podOf("p", "2")
	pod.Labels = map[string]string{"volcano.sh/queue-name": "q"}
	w.SetPod(pod)
	w.want(w.turn(), "[p bind]")
	w.want(w.queues.leftOut != "", "true")
	w.SetQueue(queueOf(t, "anew", `{"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "own"}}`))
	w.Settle()
	w.want(w.queues.leftOut, "")
}
