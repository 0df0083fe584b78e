package mirror

import (
	"cmp"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

const localQueueLabel = "kueue.x-k8s.io/queue-name"

var queueLabels = []string{"kai.scheduler/queue", "volcano.sh/queue-name", "quota.scheduling.koordinator.sh/name"}
var queueAnnotations = []string{"gangsched.dev/queue", "scheduling.volcano.sh/queue-name"}

// queues are the objects that describe queues, whichever system's they are. What a queue is depends on several of them.
type queues struct {
	objects map[types.UID]*unstructured.Unstructured
	local   map[types.NamespacedName]string // the ClusterQueue of a LocalQueue
	changed bool
}

func newQueues() queues {
	return queues{objects: map[types.UID]*unstructured.Unstructured{}, local: map[types.NamespacedName]string{}}
}

func localQueue(object *unstructured.Unstructured) (types.NamespacedName, bool) {
	return nameOf(object), object.GetKind() == "LocalQueue"
}

// SetQueue says that an object which describes queues came or changed.
func (m *Mirror) SetQueue(object *unstructured.Unstructured) {
	if before := m.queues.objects[object.GetUID()]; before != nil && before.GetGeneration() == object.GetGeneration() && object.GetGeneration() != 0 {
		return // its status
	}
	m.queues.objects[object.GetUID()] = object
	if name, local := localQueue(object); local {
		m.queues.local[name], _, _ = unstructured.NestedString(object.Object, "spec", "clusterQueue")
	}
	m.queues.changed = true
}

// RemoveQueue says that such an object is gone.
func (m *Mirror) RemoveQueue(object *unstructured.Unstructured) {
	delete(m.queues.objects, object.GetUID())
	if name, local := localQueue(object); local {
		delete(m.queues.local, name)
	}
	m.queues.changed = true
}

func (m *Mirror) settleQueues() {
	if !m.queues.changed {
		return
	}
	m.queues.changed = false
	list := unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, object := range m.queues.objects {
		list.Items = append(list.Items, *object)
	}
	text, err := json.Marshal(&list)
	if err == nil {
		err = m.cluster.SetQueues("queues.json", text)
	}
	if err != nil {
		klog.ErrorS(err, "the queues of the cluster are not as the library takes them: they stay as they were")
	}
	for _, p := range m.pods { // which queue a pod is in may have changed
		if p.ID != 0 && p.Object.Labels[localQueueLabel] != "" {
			m.tell(p)
		}
	}
}

func (q *queues) of(pod *corev1.Pod) string {
	if local := pod.Labels[localQueueLabel]; local != "" {
		if queue := q.local[types.NamespacedName{Namespace: pod.Namespace, Name: local}]; queue != "" {
			return queue
		}
		if len(q.local) != 0 {
			return local // one that is not there: the pod waits for it
		}
	}
	return cmp.Or(firstOf(pod.Labels, queueLabels), firstOf(pod.Annotations, queueAnnotations))
}
