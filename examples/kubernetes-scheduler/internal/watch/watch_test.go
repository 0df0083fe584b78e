package watch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

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
	before, asked := len(w.absent), 0
	client.PrependReactor("get", "group", func(clienttesting.Action) (bool, runtime.Object, error) {
		if asked++; asked == 3 {
			client.Resources = []*metav1.APIResourceList{{GroupVersion: act.Reservations.GroupVersion().String(), APIResources: []metav1.APIResource{{Name: "reservations"}}}}
		}
		return false, nil, nil
	})
	w.pause = 10 * time.Millisecond
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { w.askOn(ctx); close(over) }()
	for until := time.Now().Add(10 * time.Second); box.Len() == 0 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(10 * w.pause) // it is asked again, and is nothing new
	end()
	<-over
	if len(w.absent) != before-1 || asked < 4 || box.Len() != 1 {
		t.Errorf("after %d questions the mirror is told %d times; %d kinds are absent, and %d were", asked, box.Len(), len(w.absent), before)
	}
	if said, err := w.Snapshot(); err != nil || !strings.Contains(string(said), `"nightly"`) {
		t.Errorf("the snapshot is %s, %v", said, err)
	}
}

func TestWhatCannotBeFollowedIsSaidOnce(t *testing.T) {
	custom := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), nil)
	w, err := New(t.Context(), fake.NewClientset(), custom, false, inbox.New(), mirror.New(nil, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	w.wrong = errors.New("it was stopped")
	if _, err := w.ask(t.Context()); err == nil || err.Error() != "it was stopped" {
		t.Errorf("said is %v", err)
	}
	if _, err := w.ask(t.Context()); err != nil {
		t.Errorf("said again is %v", err)
	}
}

// One that is deleted and made anew while a watch is lost comes as a change: nothing of the one before is remembered.
func TestWhatIsMadeAnewIsNewsAndLeavesNothingBehind(t *testing.T) {
	told := versions{}
	one := func(uid types.UID, generation int64) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "default", UID: uid, Generation: generation}}
	}
	for i, step := range []struct {
		object *appsv1.ReplicaSet
		news   bool
	}{{one("a", 1), true}, {one("a", 1), false}, {one("a", 2), true}, {one("b", 2), true}, {one("b", 2), false}, {one("c", 0), true}, {one("c", 0), true}} {
		if news := told.news(step.object); news != step.news {
			t.Errorf("step %d: news is %v", i, news)
		}
	}
	if told.forget(one("c", 0)); len(told) != 0 {
		t.Errorf("left is %v", told)
	}
}

// A kind that a server need not have and that cannot be listed holds nothing up for ever.
func TestAKindThatCannotBeListedDoesNotHoldUpTheStart(t *testing.T) {
	client := fake.NewClientset()
	client.Resources = []*metav1.APIResourceList{{GroupVersion: act.Reservations.GroupVersion().String(), APIResources: []metav1.APIResource{{Name: "reservations"}}}}
	custom := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{act.Reservations: "ReservationList"})
	custom.PrependReactor("list", "reservations", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("conversion webhook failed")
	})
	w, err := New(t.Context(), client, custom, false, inbox.New(), mirror.New(nil, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	w.patience = 50 * time.Millisecond
	ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
	defer end()
	if err := w.Start(ctx); err != nil || ctx.Err() != nil {
		t.Error(err, ctx.Err())
	}
	if len(w.others) != 1 {
		t.Errorf("%d kinds may come later", len(w.others))
	}
}
