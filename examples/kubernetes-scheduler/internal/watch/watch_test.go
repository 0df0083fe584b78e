package watch

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/inbox"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

func TestAKindThatIsInstalledLaterIsFollowed(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": act.Reservations.GroupVersion().String(), "kind": "Reservation"}}
	object.SetName("nightly")
	client := fake.NewClientset()
	custom := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{act.Reservations: "ReservationList"}, object)
	box := inbox.New()
	w, err := New(t.Context(), client, custom, false, box, mirror.New(nil, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(expected bool) {
		t.Helper()
		if news, err := w.ask(t.Context()); err != nil || news != expected {
			t.Fatal(news, err)
		}
	}
	ask(false)
	before := len(w.absent)
	client.Resources = []*metav1.APIResourceList{{GroupVersion: act.Reservations.GroupVersion().String(), APIResources: []metav1.APIResource{{Name: "reservations"}}}}
	ask(true)
	ask(false)
	if len(w.absent) != before-1 {
		t.Errorf("%d kinds are absent, and %d were", len(w.absent), before)
	}
	w.dynamic.Start(t.Context().Done())
	if !cache.WaitForCacheSync(t.Context().Done(), w.synced[len(w.synced)-1]) {
		t.Fatal("it is not listed")
	}
	if box.Len() != 1 {
		t.Errorf("the mirror is told %d times", box.Len())
	}
	if said, err := w.Snapshot(); err != nil || !strings.Contains(string(said), `"nightly"`) {
		t.Errorf("the snapshot is %s, %v", said, err)
	}
}
