package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"gangsched/examples/operator/internal/api"
	"gangsched/examples/operator/internal/controller"
)

// world is an API server in memory with a gang of three and a node with room for two of them.
type world struct {
	*testing.T
	client.Client
	node *corev1.Node
	gang *api.Gang
}

func newWorld(t *testing.T, others ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgo.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("2"), "pods": resource.MustParse("9")}
	gang := &api.Gang{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "of the gang"}}
	gang.Spec.Size = 3
	gang.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}
	on := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(gang).WithObjects(node, gang).WithObjects(others...).Build()
	return &world{t, on, node, gang}
}

// reconcile brings the gang one step on, and returns what there is then.
func (w *world) reconcile() (ctrl.Result, *api.Gang, []corev1.Pod) {
	w.Helper()
	name := client.ObjectKeyFromObject(w.gang)
	result, err := (&controller.Reconciler{Client: w.Client}).Reconcile(w.Context(), ctrl.Request{NamespacedName: name})
	if err != nil {
		w.Fatal(err)
	}
	now, pods := &api.Gang{}, &corev1.PodList{}
	if err := w.Get(w.Context(), name, now); err != nil {
		w.Fatal(err)
	}
	if err := w.List(w.Context(), pods); err != nil {
		w.Fatal(err)
	}
	return result, now, pods.Items
}

func (w *world) room(cpu string) {
	w.Helper()
	w.node.Status.Allocatable["cpu"] = resource.MustParse(cpu)
	if err := w.Status().Update(w.Context(), w.node); err != nil {
		w.Fatal(err)
	}
}

func TestPodsAreMadeWhenAllOfThemFit(t *testing.T) {
	w := newWorld(t)
	result, now, pods := w.reconcile()
	if result.RequeueAfter == 0 || now.Status.State != api.Waits || now.Status.Message == "" || len(pods) != 0 {
		t.Errorf("%+v, %+v, %d pods", result, now.Status, len(pods))
	}
	w.room("3")
	result, now, pods = w.reconcile()
	if result.RequeueAfter != 0 || now.Status.State != api.Created || len(now.Status.Nodes) != 3 || len(pods) != 3 {
		t.Errorf("%+v, %+v, %d pods", result, now.Status, len(pods))
	}
	for i := range pods {
		if !metav1.IsControlledBy(&pods[i], now) || pods[i].Labels["pod-group.scheduling.sigs.k8s.io/min-available"] != "3" {
			t.Errorf("%+v", pods[i].ObjectMeta)
		}
	}
	if _, now, pods = w.reconcile(); now.Status.State != api.Created || len(pods) != 3 {
		t.Errorf("asked again: %+v, %d pods", now.Status, len(pods))
	}
}

// A pod of that name which is not the gang's, be it another gang's of the same name before, is not taken for its own: nothing is made beside it.
func TestAPodThatIsNotTheGangsIsAConflict(t *testing.T) {
	yes := true
	for name, owners := range map[string][]metav1.OwnerReference{
		"nobody's":                   nil,
		"another gang's of its name": {{APIVersion: api.Version.String(), Kind: "Gang", Name: "g", UID: "before", Controller: &yes}},
	} {
		for _, node := range []string{"", "n"} {
			t.Run(name+" on "+node, func(t *testing.T) {
				other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "g-1", Namespace: "default", OwnerReferences: owners}, Spec: corev1.PodSpec{NodeName: node}}
				w := newWorld(t, other)
				w.room("9")
				result, now, pods := w.reconcile()
				if result.RequeueAfter == 0 || now.Status.State != api.Conflict || !strings.Contains(now.Status.Message, `"g-1"`) || len(pods) != 1 {
					t.Errorf("%+v, %+v, %d pods", result, now.Status, len(pods))
				}
				if err := w.Delete(t.Context(), other); err != nil {
					t.Fatal(err)
				}
				if _, now, pods = w.reconcile(); now.Status.State != api.Created || len(pods) != 3 {
					t.Errorf("%+v, %d pods", now.Status, len(pods))
				}
			})
		}
	}
}

// Pods of an attempt that was cut short are the gang's.
func TestPodsThatAreThereAlreadyAreKept(t *testing.T) {
	yes := true
	w := newWorld(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "g-1", Namespace: "default", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: api.Version.String(), Kind: "Gang", Name: "g", UID: "of the gang", Controller: &yes}}}})
	w.room("3")
	if _, now, pods := w.reconcile(); now.Status.State != api.Created || len(pods) != 3 {
		t.Errorf("%+v, %d pods", now.Status, len(pods))
	}
}
