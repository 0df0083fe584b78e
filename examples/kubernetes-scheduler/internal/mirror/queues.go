package mirror

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"gangsched"
)

const localQueueLabel = "kueue.x-k8s.io/queue-name"

var queueLabels = []string{"kai.scheduler/queue", "volcano.sh/queue-name", "quota.scheduling.koordinator.sh/name"}
var queueAnnotations = []string{"gangsched.dev/queue", "scheduling.volcano.sh/queue-name"}

// queues are the objects that describe queues, whichever system's they are. What a queue is depends on several of them, and on namespaces: which of them
// may use it.
type queues struct {
	objects    map[objectKey]*unstructured.Unstructured
	local      map[types.NamespacedName]string // the ClusterQueue of a LocalQueue
	own        map[types.NamespacedName]bool   // LocalQueues that are queues of the library
	leftOut    string                          // which objects the library does not take, and why
	namespaces map[string]map[string]string    // their labels
	changed    bool
}

func newQueues() queues {
	return queues{
		objects: map[objectKey]*unstructured.Unstructured{}, local: map[types.NamespacedName]string{}, own: map[types.NamespacedName]bool{},
		namespaces: map[string]map[string]string{},
	}
}

func localQueue(object *unstructured.Unstructured) (types.NamespacedName, bool) {
	return nameOf(object), object.GetKind() == "LocalQueue"
}

// sameQueue says whether two versions of an object describe the same. Neither labels and annotations raise its generation, nor does Volcano's state.
func sameQueue(a, b *unstructured.Unstructured) bool {
	state := func(of *unstructured.Unstructured) any {
		said, _, _ := unstructured.NestedFieldNoCopy(of.Object, "status", "state")
		return said
	}
	return a.GetUID() == b.GetUID() && a.GetGeneration() == b.GetGeneration() && b.GetGeneration() != 0 &&
		maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations()) &&
		equality.Semantic.DeepEqual(state(a), state(b))
}

// SetQueue says that an object which describes queues came or changed.
func (m *Mirror) SetQueue(object *unstructured.Unstructured) {
	key := keyOf(object)
	if before := m.queues.objects[key]; before != nil && sameQueue(before, object) {
		return // its status
	}
	m.queues.objects[key] = object
	if name, local := localQueue(object); local {
		m.queues.local[name], _, _ = unstructured.NestedString(object.Object, "spec", "clusterQueue")
	}
	m.queues.changed = true
}

// RemoveQueue says that such an object is gone.
func (m *Mirror) RemoveQueue(object *unstructured.Unstructured) {
	delete(m.queues.objects, keyOf(object))
	if name, local := localQueue(object); local {
		delete(m.queues.local, name)
	}
	m.queues.changed = true
}

// setNamespace notes the labels of a namespace, which queues may select; with gone there is none. False: they are what they were.
func (q *queues) setNamespace(name string, labels map[string]string, gone bool) (news bool) {
	before, known := q.namespaces[name]
	if known && !gone && maps.Equal(before, labels) {
		return false
	}
	keep(q.namespaces, name, labels, gone)
	q.changed = q.changed || len(q.objects) != 0
	return true
}

// list is all that describes queues, in one order.
func (q *queues) list() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, name := range slices.Sorted(maps.Keys(q.namespaces)) {
		object := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		object.SetName(name)
		object.SetLabels(q.namespaces[name])
		list.Items = append(list.Items, object)
	}
	for _, key := range slices.SortedFunc(maps.Keys(q.objects), objectKey.compare) {
		list.Items = append(list.Items, *q.objects[key])
	}
	return list
}

func (m *Mirror) settleQueues() {
	if !m.queues.changed {
		return
	}
	m.queues.changed = false
	text, err := json.Marshal(m.queues.list())
	leftOut := ""
	if err == nil {
		leftOut, err = m.cluster.SetQueuesLeavingOut("queues.json", text)
	}
	if err != nil {
		klog.ErrorS(err, "the queues of the cluster are not as the library takes them: they stay as they were")
	} else if leftOut != "" && leftOut != m.queues.leftOut {
		klog.ErrorS(nil, "queues are not as the library takes them: they are left out", "reasons", leftOut)
	}
	m.queues.leftOut = leftOut
	clear(m.queues.own)
	for name := range m.queues.local {
		if m.isQueue(name.String()) {
			m.queues.own[name] = true
		}
	}
	for _, p := range m.pods { // which queue a pod is in may have changed
		if p.ID != 0 && p.Object.Labels[localQueueLabel] != "" {
			m.tell(p)
		}
	}
}

// isQueue says whether the library has a queue of that name, which is more than that an object names it.
func (m *Mirror) isQueue(name string) bool {
	if m.cluster.FindQueue(name) == 0 {
		return false
	}
	made, err := m.cluster.AddQueue(&gangsched.QueueSpec{Name: name})
	if err == nil {
		report(m.cluster.RemoveQueue(made), "a queue that is only named cannot be left so", &unstructured.Unstructured{})
	}
	return errors.Is(err, gangsched.ErrDuplicate)
}

func (q *queues) of(pod *corev1.Pod) string {
	if local := pod.Labels[localQueueLabel]; local != "" {
		name := types.NamespacedName{Namespace: pod.Namespace, Name: local}
		if q.own[name] {
			return name.String()
		}
		if queue := q.local[name]; queue != "" {
			return queue
		}
		if len(q.local) != 0 {
			return local // one that is not there: the pod waits for it
		}
	}
	return cmp.Or(firstOf(pod.Labels, queueLabels), firstOf(pod.Annotations, queueAnnotations))
}
