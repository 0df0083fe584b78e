package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"gangsched/tests/cluster/harness"
)

// reservations are Koordinator's.
var reservations = schema.GroupVersionResource{Group: "scheduling.koordinator.sh", Version: "v1alpha1", Resource: "reservations"}

// installReservations returns a client for them.
func (w *world) installReservations() dynamic.NamespaceableResourceInterface {
	w.Helper()
	must(w.T, harness.InstallKind(w.ctx, w.plane.Config, reservations, "Reservation", false, "status"))
	client, err := dynamic.NewForConfig(w.plane.Config)
	must(w.T, err)
	return client.Resource(reservations)
}

// reservationCondition is that of such a type: what it has, by field; none.
func reservationCondition(of *unstructured.Unstructured, kind string) map[string]any {
	all, _, _ := unstructured.NestedSlice(of.Object, "status", "conditions")
	for _, one := range all {
		if one, ok := one.(map[string]any); ok && one["type"] == kind {
			return one
		}
	}
	return nil
}

// reservation waits until one of that name is as it should be.
func (w *world) reservation(from dynamic.NamespaceableResourceInterface, name string, right func(*unstructured.Unstructured) bool) (found *unstructured.Unstructured) {
	w.Helper()
	w.within(time.Minute, func() string {
		var err error
		found, err = from.Get(w.ctx, name, metav1.GetOptions{})
		must(w.T, err)
		if !right(found) {
			return fmt.Sprint(found.Object["status"])
		}
		return ""
	})
	return found
}

// unreserved waits until a reservation says why it has no node.
func (w *world) unreserved(from dynamic.NamespaceableResourceInterface, name, want string) *unstructured.Unstructured {
	w.Helper()
	return w.reservation(from, name, func(found *unstructured.Unstructured) bool {
		one := reservationCondition(found, "Scheduled")
		return one["status"] == "False" && one["reason"] == "Unschedulable" && one["message"] == want
	})
}

// reserved waits until a reservation is on a node.
func (w *world) reserved(from dynamic.NamespaceableResourceInterface, name, node string) *unstructured.Unstructured {
	w.Helper()
	return w.reservation(from, name, func(found *unstructured.Unstructured) bool {
		at, _, _ := unstructured.NestedString(found.Object, "status", "nodeName")
		return at == node
	})
}

func TestAReservationThatFindsNoNodeSaysWhy(t *testing.T) {
	w := newPlane(t, harness.Options{})
	all := w.installReservations()
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 1, "cpu", "8")...))
	w.start("")
	w.make(`{apiVersion: scheduling.koordinator.sh/v1alpha1, kind: Reservation, metadata: {name: large}, spec: {ttl: 0s, owners: [{labelSelector: {}}],
  template: {metadata: {namespace: somewhere}, spec: {containers: [{name: held, resources: {requests: {cpu: "16"}}}]}}}}`)
	const words = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
	first := w.unreserved(all, "large", words)
	w.eventually(func() string {
		events, err := w.client.EventsV1().Events(metav1.NamespaceDefault).List(w.ctx, metav1.ListOptions{})
		must(t, err)
		for _, one := range events.Items {
			if one.Regarding.Kind == "Reservation" && one.Regarding.Name == "large" && one.Reason == "FailedScheduling" && one.Note == words {
				return ""
			}
		}
		return fmt.Sprint("nobody has told of it: ", events.Items)
	})
	const attempts = `scheduler_schedule_attempts_total{result="unschedulable",profile="default-scheduler"} `
	tried := func() string {
		t.Helper()
		metrics, err := w.scheduler.Get(w.ctx, "/metrics")
		must(t, err)
		_, after, found := strings.Cut(metrics, attempts)
		if !found {
			t.Fatalf("not in the metrics: %s", attempts)
		}
		count, _, _ := strings.Cut(after, "\n")
		return count
	}
	before := tried()
	time.Sleep(2 * time.Second)
	again := w.unreserved(all, "large", words)
	if first.GetResourceVersion() != again.GetResourceVersion() {
		t.Error("it is written again and again: ", again.Object)
	}
	if after := tried(); after != before {
		t.Errorf("it is tried again and again: %s attempts, then %s", before, after)
	}
	must(t, harness.AddNodes(w.ctx, w.client, harness.NodeOf("large", "cpu", "16")))
	if now := w.reserved(all, "large", "large"); reservationCondition(now, "Scheduled")["status"] != "True" {
		t.Error(now.Object["status"])
	}
}

func TestAKindThatIsInstalledLaterIsFollowed(t *testing.T) {
	w := newWorld(t, "", nodes("n", 1, "cpu", "8")...)
	all := w.installReservations()
	w.make(`{apiVersion: scheduling.koordinator.sh/v1alpha1, kind: Reservation, metadata: {name: nightly}, spec: {ttl: 0s, owners: [{labelSelector: {}}],
  template: {spec: {containers: [{name: held, resources: {requests: {cpu: "6"}}}]}}}}`)
	w.reserved(all, "nightly", "n0")
	if said, err := w.scheduler.Get(w.ctx, "/debug/snapshot"); err != nil || !strings.Contains(said, `"nightly"`) {
		t.Errorf("it is not in the snapshot: %v", err)
	}
}

func TestAReservationHoldsRoomForItsOwners(t *testing.T) {
	w := newPlane(t, harness.Options{})
	all := w.installReservations()
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 1, "cpu", "8")...))
	w.start("")
	w.make(`{apiVersion: scheduling.koordinator.sh/v1alpha1, kind: Reservation, metadata: {name: nightly}, spec: {allocateOnce: false, ttl: 0s,
  owners: [{labelSelector: {matchLabels: {job: nightly}}}], template: {spec: {containers: [{name: held, resources: {requests: {cpu: "6"}}}]}}}}`)
	now := w.reserved(all, "nightly", "n0")
	phase, _, _ := unstructured.NestedString(now.Object, "status", "phase")
	held, _, _ := unstructured.NestedString(now.Object, "status", "allocatable", "cpu")
	if phase != "Available" || held != "6" {
		t.Error(now.Object["status"])
	}
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
	must(t, all.Delete(w.ctx, "nightly", metav1.DeleteOptions{}))
	w.eventually(func() string { // four cores are left for one of the two
		if w.get("other").Spec.NodeName == "" && w.get("third").Spec.NodeName == "" {
			return "nobody has the room of a reservation that is gone"
		}
		return ""
	})
	w.sound()
}
