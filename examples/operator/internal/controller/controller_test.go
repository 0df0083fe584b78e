package controller_test

import (
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

func TestPodsAreMadeWhenAllOfThemFit(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgo.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("2"), "pods": resource.MustParse("9")}
	gang := &api.Gang{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default"}}
	gang.Spec.Size = 3
	gang.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}
	on := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(gang).WithObjects(node, gang).Build()
	r := &controller.Reconciler{Client: on}
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(gang)}
	reconcile := func() (ctrl.Result, *api.Gang, []corev1.Pod) {
		t.Helper()
		result, err := r.Reconcile(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		now, pods := &api.Gang{}, &corev1.PodList{}
		if err := on.Get(t.Context(), request.NamespacedName, now); err != nil {
			t.Fatal(err)
		}
		if err := on.List(t.Context(), pods); err != nil {
			t.Fatal(err)
		}
		return result, now, pods.Items
	}
	result, now, pods := reconcile()
	if result.RequeueAfter == 0 || now.Status.State != api.Waits || now.Status.Message == "" || len(pods) != 0 {
		t.Errorf("%+v, %+v, %d pods", result, now.Status, len(pods))
	}
	node.Status.Allocatable["cpu"] = resource.MustParse("3")
	if err := on.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	result, now, pods = reconcile()
	if result.RequeueAfter != 0 || now.Status.State != api.Created || len(now.Status.Nodes) != 3 || len(pods) != 3 {
		t.Errorf("%+v, %+v, %d pods", result, now.Status, len(pods))
	}
	for i := range pods {
		if !metav1.IsControlledBy(&pods[i], now) || pods[i].Labels["pod-group.scheduling.sigs.k8s.io/min-available"] != "3" {
			t.Errorf("%+v", pods[i].ObjectMeta)
		}
	}
	if _, now, pods = reconcile(); now.Status.State != api.Created || len(pods) != 3 {
		t.Errorf("asked again: %+v, %d pods", now.Status, len(pods))
	}
}
