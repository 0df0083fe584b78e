package cluster_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"gangsched/tests/cluster/harness"
)

func TestAReservationHoldsRoomForItsOwners(t *testing.T) {
	w := newPlane(t, harness.Options{})
	kind := schema.GroupVersionResource{Group: "scheduling.koordinator.sh", Version: "v1alpha1", Resource: "reservations"}
	must(t, harness.InstallKind(w.ctx, w.plane.Config, kind, "Reservation", false, "status"))
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 1, "cpu", "8")...))
	w.start("")
	w.make(`{apiVersion: scheduling.koordinator.sh/v1alpha1, kind: Reservation, metadata: {name: nightly}, spec: {allocateOnce: false, ttl: 0s,
  owners: [{labelSelector: {matchLabels: {job: nightly}}}], template: {spec: {containers: [{name: held, resources: {requests: {cpu: "6"}}}]}}}}`)
	client, err := dynamic.NewForConfig(w.plane.Config)
	must(t, err)
	w.eventually(func() string {
		object, err := client.Resource(kind).Get(w.ctx, "nightly", metav1.GetOptions{})
		must(t, err)
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		node, _, _ := unstructured.NestedString(object.Object, "status", "nodeName")
		held, _, _ := unstructured.NestedString(object.Object, "status", "allocatable", "cpu")
		if phase != "Available" || node != "n0" || held != "6" {
			return fmt.Sprint(object.Object["status"])
		}
		return ""
	})
	w.add(w.pod("other", "cpu", "4"))
	w.unschedulable("other")
	owner := w.pod("owner", "cpu", "4")
	owner.Labels = map[string]string{"job": "nightly"}
	w.add(owner)
	w.bound("owner")
	// A scheduler that starts anew finds it where it is.
	w.scheduler.Kill()
	must(t, w.scheduler.Start())
	must(t, w.scheduler.Ready(w.ctx))
	w.add(w.pod("third", "cpu", "4"))
	w.unschedulable("third")
	must(t, client.Resource(kind).Delete(w.ctx, "nightly", metav1.DeleteOptions{}))
	w.eventually(func() string { // four cores are left for one of the two
		if w.get("other").Spec.NodeName == "" && w.get("third").Spec.NodeName == "" {
			return "nobody has the room of a reservation that is gone"
		}
		return ""
	})
	w.sound()
}
