package act

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// newRecorder is one of a writer that nobody runs: a bind waits to be sent, and a first event stands back for it.
func newRecorder(t *testing.T) (*Recorder, *fake.Clientset) {
	client := fake.NewClientset()
	w := NewWriter(client, 8, time.Second)
	w.binds.add(func(context.Context) {})
	r, err := NewRecorder(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, client
}

func event(name string) *eventsv1.Event {
	return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
}

// The broadcaster can say nothing else meanwhile.
func TestWhatIsSaidAgainDoesNotStandBack(t *testing.T) {
	r, client := newRecorder(t)
	if err := client.Tracker().Add(event("again")); err != nil {
		t.Fatal(err)
	}
	first := make(chan error)
	ctx, end := context.WithCancel(t.Context())
	go func() {
		_, err := r.sink.Create(ctx, event("first"))
		first <- err
	}()
	eventually(t, "it has the only slot", func() bool { return len(r.sink.first) == 1 })
	since := time.Now()
	if _, err := r.sink.Patch(t.Context(), event("again"), []byte(`{"note": "a"}`)); err != nil {
		t.Error(err)
	}
	if _, err := r.sink.Update(t.Context(), event("again")); err != nil {
		t.Error(err)
	}
	if took := time.Since(since); took > eventPatience/2 {
		t.Errorf("that took %v", took)
	}
	limited, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.sink.Create(limited, event("second")); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("it has waited for its turn: ", err)
	}
	end()
	<-first
	if left := r.sink.waiting.Load(); left != 0 {
		t.Errorf("%d wait still", left)
	}
}

func TestThereAreNoMoreEventsThanCanWait(t *testing.T) {
	r, _ := newRecorder(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "p"}}
	r.sink.waiting.Store(mostEvents)
	r.Eventf(pod, nil, "Warning", "A", "A", "a")
	time.Sleep(50 * time.Millisecond)
	if n := r.sink.waiting.Swap(0); n != mostEvents {
		t.Errorf("%d wait", n)
	}
	r.Eventf(pod, nil, "Warning", "B", "B", "b")
	eventually(t, "it waits", func() bool { return r.sink.waiting.Load() == 1 })
}
