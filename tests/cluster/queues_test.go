package cluster_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"gangsched/tests/cluster/harness"
)

// make makes objects of kinds that are installed for the test, from YAML.
func (w *world) make(texts ...string) {
	w.Helper()
	for _, text := range texts {
		object := &unstructured.Unstructured{}
		must(w.T, yaml.Unmarshal([]byte(text), &object.Object))
		must(w.T, w.create(object))
	}
}

func TestAQueueHasItsLimit(t *testing.T) {
	w := newPlane(t, harness.Options{})
	kind := schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"}
	must(t, harness.InstallKind(w.ctx, w.plane.Config, kind, "Queue", false))
	w.start("gangsched: {queues: true}\n")
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 2, "cpu", "8")...))
	w.make(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q}, spec: {capability: {cpu: "2"}}}`)
	for _, name := range []string{"a", "b", "c"} {
		pod := w.pod(name, "cpu", "1")
		pod.Annotations = map[string]string{"scheduling.volcano.sh/queue-name": "q"}
		w.add(pod)
		if name == "c" {
			w.unschedulable(name)
		} else {
			w.bound(name)
		}
	}
	client, err := dynamic.NewForConfig(w.plane.Config)
	must(t, err)
	queue, err := client.Resource(kind).Get(w.ctx, "q", metav1.GetOptions{})
	must(t, err)
	must(t, unstructured.SetNestedField(queue.Object, "3", "spec", "capability", "cpu"))
	_, err = client.Resource(kind).Update(w.ctx, queue, metav1.UpdateOptions{})
	must(t, err)
	w.bound("c")
}

// TestAQueueTakesBackWhatItHasLent is about two teams of eight cores each: one uses all sixteen as long as the other has nothing to run.
func TestAQueueTakesBackWhatItHasLent(t *testing.T) {
	for name, configuration := range map[string]string{
		"fair share": "gangsched: {queues: true}\n",
		"Kueue":      "gangsched: {queues: true}\nprofiles: [{plugins: {multiPoint: {enabled: [{name: Kueue}], disabled: [{name: PrioritySort}]}}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newPlane(t, harness.Options{})
			kinds := map[string]string{"clusterqueues": "ClusterQueue", "localqueues": "LocalQueue", "resourceflavors": "ResourceFlavor"}
			for resource, kind := range kinds {
				of := schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta1", Resource: resource}
				must(t, harness.InstallKind(w.ctx, w.plane.Config, of, kind, kind == "LocalQueue"))
			}
			w.start(configuration)
			must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 4, "cpu", "4")...))
			w.watchOver()
			w.make(`{apiVersion: kueue.x-k8s.io/v1beta1, kind: ResourceFlavor, metadata: {name: any}}`)
			for _, team := range []string{"red", "blue"} {
				w.make(`{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: `+team+`}, spec: {
					cohort: all, namespaceSelector: {}, preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority},
					resourceGroups: [{coveredResources: [cpu], flavors: [{name: any, resources: [{name: cpu, nominalQuota: "8"}]}]}]}}`,
					`{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: `+team+`}, spec: {clusterQueue: `+team+`}}`)
			}
			red, blue := w.team("red", 16), w.team("blue", 8)
			w.add(red...)
			w.bound(names(red)...)
			w.add(blue...)
			w.bound(names(blue)...)
			left := 0
			for _, pod := range w.pods() {
				if pod.Labels[kueueLabel] == "red" && pod.DeletionTimestamp == nil {
					left++
				}
			}
			if left != 8 {
				t.Errorf("%d pods are left of who borrowed, not 8", left)
			}
			late := w.team("late", 1)[0] // of red, which has its share
			late.Labels[kueueLabel] = "red"
			w.add(late)
			w.unschedulable(late.Name)
			w.sound()
		})
	}
}

const kueueLabel = "kueue.x-k8s.io/queue-name"

// team is pods of one core in a queue.
func (w *world) team(queue string, count int) (made []*corev1.Pod) {
	for i := range count {
		pod := w.pod(fmt.Sprintf("%s-%d", queue, i), "cpu", "1")
		pod.Labels = map[string]string{kueueLabel: queue}
		made = append(made, pod)
	}
	return made
}
