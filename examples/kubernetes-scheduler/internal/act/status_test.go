package act

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// waitingWriter is a writer whose first request waits until the test says so, and is not answered then.
type waitingWriter struct {
	*Writer
	begun, go_ chan struct{} // closed when it comes, and by the test
	requests   atomic.Int32
	end        func() // of the writer, when what it does is done
}

func writerWhoseFirstRequestWaits(t *testing.T, client *fake.Clientset, resource string) *waitingWriter {
	w := &waitingWriter{Writer: NewWriter(client, 8, time.Second), begun: make(chan struct{}), go_: make(chan struct{})}
	client.PrependReactor("patch", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		if w.requests.Add(1) > 1 {
			return false, nil, nil
		}
		close(w.begun)
		<-w.go_
		return true, nil, apierrors.NewTimeoutError("no answer", 1)
	})
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { w.Run(ctx); close(over) }()
	w.end = func() { end(); <-over }
	return w
}

// Conditions of a PodGroup that are given one by one are all written: those that wait together, also after a request that was not answered.
func TestConditionsOfAPodGroupThatWaitAreWrittenTogether(t *testing.T) {
	group := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "g"}}
	client := fake.NewClientset(group)
	w := writerWhoseFirstRequestWaits(t, client, "podgroups")
	say := func(kind, reason string) {
		w.SetGroupConditions(types.NamespacedName{Namespace: "default", Name: "g"}, GroupConditions{"g", []metav1.Condition{
			{Type: kind, Status: metav1.ConditionTrue, Reason: reason}}})
	}
	say("A", "first")
	<-w.begun
	say("B", "first")
	say("C", "first")
	say("B", "second")
	close(w.go_)
	said := func() map[string]string {
		now, err := client.SchedulingV1alpha2().PodGroups("default").Get(t.Context(), "g", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		made := map[string]string{}
		for _, one := range now.Status.Conditions {
			made[one.Type] = one.Reason
		}
		return made
	}
	for until := time.Now().Add(10 * time.Second); len(said()) != 3 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	w.end()
	if now := said(); w.requests.Load() != 2 || len(now) != 3 || now["A"] != "first" || now["B"] != "second" || now["C"] != "first" {
		t.Errorf("after %d requests: %v", w.requests.Load(), now)
	}
}

// What is being written when a pod is to be bound, and fails, is not written after that.
func TestAStatusThatFailsWhileItIsSettledIsGivenUp(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "p"}}
	client := fake.NewClientset(pod)
	w := writerWhoseFirstRequestWaits(t, client, "pods")
	name := types.NamespacedName{Namespace: "default", Name: "p"}
	w.SetStatus(name, Status{UID: "p", Condition: corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}})
	<-w.begun
	settled := make(chan struct{})
	go func() { w.status.settle(name); close(settled) }()
	time.Sleep(20 * time.Millisecond) // it waits by now
	close(w.go_)
	<-settled
	time.Sleep(300 * time.Millisecond) // longer than until it would be tried again
	w.end()
	if made := w.requests.Load(); made != 1 {
		t.Errorf("%d requests", made)
	}
}
