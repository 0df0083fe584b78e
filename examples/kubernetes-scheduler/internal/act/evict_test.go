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
	t.Helper()
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
	w.pause = time.Millisecond
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

// stays says whether a pod is there, and its status that it is not to be disrupted.
func stays(t *testing.T, client *fake.Clientset, name string) func() bool {
	return func() bool {
		now, err := client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && len(now.Status.Conditions) == 1 && now.Status.Conditions[0].Status == corev1.ConditionFalse
	}
}

// An eviction that is refused would be again: it is given up, all that wanted it are told, and the pod does not say any more that it is to go.
func TestAnEvictionThatIsRefusedIsGivenUp(t *testing.T) {
	go_ := make(chan struct{})
	w, client := newEvictor(t, func(name string) error {
		<-go_
		return apierrors.NewForbidden(corev1.Resource("pods"), name, nil)
	}, "p")
	said := make(chan error, 9)
	for range 2 {
		w.Evict(victim("p"), "by", func(err error) { said <- err })
	}
	close(go_)
	for range 2 {
		select {
		case err := <-said:
			if !apierrors.IsForbidden(err) {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("it is not told")
		}
	}
	eventually(t, "it stays", stays(t, client, "p"))
	if w.evictions() != 0 {
		t.Error("it is remembered")
	}
}

// One that fails is tried again, once for all that want it, and no other eviction waits for that.
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
	w.Evict(victim("slow"), "by", refused)
	w.Evict(victim("slow"), "by", refused)
	eventually(t, "it is tried again", func() bool { return tries.Load() >= 3 })
	w.Evict(victim("other"), "by", refused)
	eventually(t, "the other one is gone", gone("other"))
	w.mu.Lock()
	if len(w.evicting) != 1 || len(w.evicting["slow"]) != 2 {
		t.Errorf("tried are %d", len(w.evicting))
	}
	w.mu.Unlock()
	fine.Store(1)
	eventually(t, "it is gone", gone("slow"))
}

// What an admission webhook answers with 500, or the API server with 429 or 409, may pass: but nothing waits for a victim for ever.
func TestAnEvictionThatFailsAgainAndAgainIsGivenUp(t *testing.T) {
	for name, failure := range map[string]error{
		"internal error":    apierrors.NewInternalError(context.DeadlineExceeded),
		"too many requests": apierrors.NewTooManyRequests("later", 0),
		"conflict":          apierrors.NewConflict(corev1.Resource("pods"), "p", context.DeadlineExceeded),
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int32
			w, client := newEvictor(t, func(string) error {
				tries.Add(1)
				return failure
			}, "p")
			said := make(chan error, 1)
			w.Evict(victim("p"), "by", func(err error) { said <- err })
			select {
			case err := <-said:
				if apierrors.ReasonForError(err) != apierrors.ReasonForError(failure) || tries.Load() != mostEvictions {
					t.Errorf("after %d tries: %v", tries.Load(), err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it is tried for ever, or counts as done")
			}
			eventually(t, "it stays", stays(t, client, "p"))
		})
	}
}

// A conflict means that the victim is gone only if another pod has its name; else it is tried again.
func TestAConflictIsJudgedByThePodThatIsThere(t *testing.T) {
	var conflicts atomic.Int32
	w, client := newEvictor(t, func(name string) error {
		if conflicts.Add(1) <= 2 {
			return apierrors.NewConflict(corev1.Resource("pods"), name, nil)
		}
		return nil
	}, "p")
	given := func(err error) { t.Error("given up: ", err) }
	w.Evict(victim("p"), "by", given)
	eventually(t, "it is gone", func() bool {
		_, err := client.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	eventually(t, "that is over", func() bool { return w.evictions() == 0 })
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "another"}}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var patches atomic.Int32
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		patches.Add(1)
		return true, nil, apierrors.NewConflict(corev1.Resource("pods"), "p", nil) // the uid is another one
	})
	w.Evict(victim("p"), "by", given)
	eventually(t, "it counts as gone", func() bool { return w.evictions() == 0 })
	if made := patches.Load(); made != 1 {
		t.Errorf("%d requests", made)
	}
}

// evictions are how many are under way.
func (w *Writer) evictions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.evicting)
}

// Victims of a preemption that was given up stay, unless another preemption wants them evicted, too.
func TestAVictimStaysWhenThePreemptionIsWithdrawn(t *testing.T) {
	var fine atomic.Bool
	w, client := newEvictor(t, func(name string) error {
		if !fine.Load() {
			return apierrors.NewInternalError(context.DeadlineExceeded)
		}
		return nil
	}, "one", "both")
	w.pause = 500 * time.Millisecond
	given := func(err error) { t.Error("given up: ", err) }
	w.Evict(victim("one"), "a", given)
	w.Evict(victim("both"), "a", given)
	w.Evict(victim("both"), "b", given)
	w.Withdraw("a")
	fine.Store(true)
	eventually(t, "one stays", func() bool { return w.evictions() == 0 })
	if _, err := client.CoreV1().Pods("default").Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := client.CoreV1().Pods("default").Get(t.Context(), "both", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error("the other one is there: ", err)
	}
}
