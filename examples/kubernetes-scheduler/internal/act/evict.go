package act

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// Victim is a pod that has to go.
type Victim struct {
	Pod       types.NamespacedName
	UID       types.UID
	Condition corev1.PodCondition // DisruptionTarget
}

// mostEvictions is how often an eviction is tried: with the pauses in between about eleven seconds.
const mostEvictions = 8

// wantedEviction is a preemption, or another reason, for which a victim is evicted.
type wantedEviction struct {
	by    string
	given func(error)
}

// Evict says in the pod's status that it is to be disrupted, so that its controller does not count it as failed, and deletes it. If the API server
// refuses that, or it fails mostEvictions times, it is given up: the condition becomes False, and all that wanted it are told. by is what Withdraw is
// called with; evictions with "" cannot be withdrawn.
func (w *Writer) Evict(v Victim, by string, given func(error)) {
	w.mu.Lock()
	before, begun := w.evicting[v.UID]
	w.evicting[v.UID] = append(before, wantedEviction{by, given})
	w.mu.Unlock()
	if !begun {
		w.evicted.add(func(ctx context.Context) { w.tryEvict(ctx, v, 1, w.pause) })
	}
}

// Withdraw says that nothing is to be evicted for a preemption any more: victims that are not deleted yet, and that nothing else wants evicted, stay.
func (w *Writer) Withdraw(by string) {
	if by == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, wanted := range w.evicting {
		w.evicting[uid] = slices.DeleteFunc(wanted, func(one wantedEviction) bool { return one.by == by })
	}
}

func (w *Writer) tryEvict(ctx context.Context, v Victim, try int, pause time.Duration) {
	err := errWithdrawn
	if w.wanted(v.UID) {
		err = w.evict(ctx, v)
	}
	over := err == nil || apierrors.IsNotFound(err)
	if !over && !Denied(err) && !errors.Is(err, errWithdrawn) && try < mostEvictions {
		klog.ErrorS(err, "a victim cannot be evicted yet", "pod", v.Pod)
		if seconds, some := apierrors.SuggestsClientDelay(err); some {
			pause = max(pause, time.Duration(seconds)*time.Second)
		}
		w.evicted.later(pause, func(ctx context.Context) { w.tryEvict(ctx, v, try+1, min(2*pause, longestPause)) })
		return
	}
	w.mu.Lock()
	wanted := w.evicting[v.UID]
	delete(w.evicting, v.UID)
	w.mu.Unlock()
	if over {
		return
	}
	klog.ErrorS(err, "a victim stays: it is not evicted", "pod", v.Pod)
	if try > 1 || !errors.Is(err, errWithdrawn) { // else its condition was not written
		v.Condition.Status, v.Condition.Message = corev1.ConditionFalse, err.Error()
		w.SetStatus(v.Pod, Status{UID: v.UID, Condition: v.Condition})
	}
	for _, one := range wanted {
		one.given(err)
	}
}

var errWithdrawn = errors.New("the preemption was given up")

// wanted says whether anything still wants a victim evicted.
func (w *Writer) wanted(victim types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.evicting[victim]) != 0
}

// evict returns nil if the pod is gone or ends. A conflict says that it changed meanwhile, that another pod has its name, or whatever an admission webhook
// means by it: what the pod is now decides.
func (w *Writer) evict(ctx context.Context, v Victim) error {
	err := w.disrupt(ctx, v)
	if !apierrors.IsConflict(err) {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	pod, failed := w.client.CoreV1().Pods(v.Pod.Namespace).Get(limited, v.Pod.Name, metav1.GetOptions{})
	switch {
	case failed != nil:
		return failed
	case pod.UID != v.UID || pod.DeletionTimestamp != nil:
		return nil
	}
	return err
}

func (w *Writer) disrupt(ctx context.Context, v Victim) error {
	if _, err := w.writeStatus(ctx, v.Pod, Status{UID: v.UID, Condition: v.Condition}); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	return w.client.CoreV1().Pods(v.Pod.Namespace).Delete(limited, v.Pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(v.UID))})
}
