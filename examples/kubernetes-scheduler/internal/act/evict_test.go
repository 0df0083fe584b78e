package act

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func victim(name string) Victim {
	return Victim{types.NamespacedName{Namespace: "default", Name: name}, types.UID(name), corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
}

// newEvictor is a writer with one worker for evictions, over pods of these names, whose deletion fails as the test says.
func newEvictor(t *testing.T, fails func(name string) error, names ...string) (*Writer, *fake.Clientset) {
	var all []runtime.Object
	for _, name := range names {
		all = append(all, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}})
	}
	client := fake.NewClientset(all...)
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		err := fails(action.(clienttesting.DeleteAction).GetName())
		return err != nil, nil, err
	})
	w := NewWriter(client, 1, time.Second)
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { w.Run(ctx); close(over) }()
	t.Cleanup(func() { end(); <-over })
	return w, client
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatal("never: ", what)
}

// An eviction that is refused would be again: it is given up, all who count on it hear so, and the pod says no more that it is to go.
func TestAnEvictionThatIsRefusedIsGivenUp(t *testing.T) {
	go_ := make(chan struct{})
	w, client := newEvictor(t, func(name string) error {
		<-go_
		return apierrors.NewForbidden(corev1.Resource("pods"), name, nil)
	}, "p")
	said := make(chan error, 9)
	for range 2 {
		w.Evict(victim("p"), func(err error) { said <- err })
	}
	close(go_)
	for range 2 {
		select {
		case err := <-said:
			if !apierrors.IsForbidden(err) {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("nobody hears of it")
		}
	}
	eventually(t, "it stays", func() bool {
		now, err := client.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{})
		return err == nil && len(now.Status.Conditions) == 1 && now.Status.Conditions[0].Status == corev1.ConditionFalse
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.evicting) != 0 {
		t.Error("it is remembered")
	}
}

// One that fails is tried again, once for all who want it, and nobody waits for that.
func TestAnEvictionThatFailsHoldsUpNoOther(t *testing.T) {
	var tries, fine atomic.Int32
	w, client := newEvictor(t, func(name string) error {
		if name == "slow" && fine.Load() == 0 {
			tries.Add(1)
			return apierrors.NewInternalError(context.DeadlineExceeded)
		}
		return nil
	}, "slow", "other")
	refused := func(err error) { t.Error("given up: ", err) }
	gone := func(name string) func() bool {
		return func() bool {
			_, err := client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}
	}
	w.Evict(victim("slow"), refused)
	w.Evict(victim("slow"), refused)
	eventually(t, "it is tried again", func() bool { return tries.Load() >= 3 })
	w.Evict(victim("other"), refused)
	eventually(t, "the other one is gone", gone("other"))
	w.mu.Lock()
	if len(w.evicting) != 1 || len(w.evicting["slow"]) != 2 {
		t.Errorf("tried are %d", len(w.evicting))
	}
	w.mu.Unlock()
	fine.Store(1)
	eventually(t, "it is gone", gone("slow"))
}
