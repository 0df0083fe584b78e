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

// Conditions of a PodGroup that are given one by one are all written: those that wait together, also after a request that was not answered.
func TestConditionsOfAPodGroupThatWaitAreWrittenTogether(t *testing.T) {
	group := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "g"}}
	client := fake.NewClientset(group)
	begun, go_ := make(chan struct{}), make(chan struct{})
	requests := 0
	client.PrependReactor("patch", "podgroups", func(clienttesting.Action) (bool, runtime.Object, error) {
		if requests++; requests > 1 {
			return false, nil, nil
		}
		close(begun)
		<-go_
		return true, nil, apierrors.NewTimeoutError("no answer", 1)
	})
	w := NewWriter(client, 8, time.Second)
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { w.Run(ctx); close(over) }()
	say := func(kind, reason string) {
		w.SetGroupConditions(types.NamespacedName{Namespace: "default", Name: "g"}, GroupConditions{"g", []metav1.Condition{
			{Type: kind, Status: metav1.ConditionTrue, Reason: reason}}})
	}
	say("A", "first")
	<-begun
	say("B", "first")
	say("C", "first")
	say("B", "second")
	close(go_)
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
	end()
	<-over
	if now := said(); requests != 2 || len(now) != 3 || now["A"] != "first" || now["B"] != "second" || now["C"] != "first" {
		t.Errorf("after %d requests: %v", requests, now)
	}
}

// What is being written when a pod is to be bound, and fails, is not written after that.
func TestAStatusThatFailsWhileItIsSettledIsGivenUp(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "p"}}
	client := fake.NewClientset(pod)
	begun, go_ := make(chan struct{}), make(chan struct{})
	var requests atomic.Int32
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if requests.Add(1) > 1 {
			return false, nil, nil
		}
		close(begun)
		<-go_
		return true, nil, apierrors.NewTimeoutError("no answer", 1)
	})
	w := NewWriter(client, 8, time.Second)
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { w.Run(ctx); close(over) }()
	name := types.NamespacedName{Namespace: "default", Name: "p"}
	w.SetStatus(name, Status{UID: "p", Condition: corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}})
	<-begun
	settled := make(chan struct{})
	go func() { w.status.settle(name); close(settled) }()
	time.Sleep(20 * time.Millisecond) // it waits by now
	close(go_)
	<-settled
	time.Sleep(300 * time.Millisecond) // longer than until it would be tried again
	end()
	<-over
	if made := requests.Load(); made != 1 {
		t.Errorf("%d requests", made)
	}
}
