package act

import (
	"context"
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

// Evict says in the pod's status that it is to be disrupted, so that its controller does not count it as failed, and deletes it. It is tried until
// the pod is gone: the scheduler counts on the room. If the API server refuses it that is given up, and said: it would refuse it again.
func (w *Writer) Evict(v Victim, given func(error)) {
	w.mu.Lock()
	before, begun := w.evicting[v.UID]
	w.evicting[v.UID] = append(before, given)
	w.mu.Unlock()
	if !begun {
		w.evicted.add(func(ctx context.Context) { w.tryEvict(ctx, v, firstPause) })
	}
}

func (w *Writer) tryEvict(ctx context.Context, v Victim, pause time.Duration) {
	err := w.evict(ctx, v)
	over := err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) // conflict: a pod of another uid has its name
	if !over && !refused(err) {
		klog.ErrorS(err, "a victim cannot be evicted yet", "pod", v.Pod)
		w.evicted.later(pause, func(ctx context.Context) { w.tryEvict(ctx, v, min(2*pause, longestPause)) })
		return
	}
	w.mu.Lock()
	heard := w.evicting[v.UID]
	delete(w.evicting, v.UID)
	w.mu.Unlock()
	if over {
		return
	}
	klog.ErrorS(err, "a victim stays: it may not be evicted", "pod", v.Pod)
	v.Condition.Status, v.Condition.Message = corev1.ConditionFalse, err.Error()
	w.SetStatus(v.Pod, Status{UID: v.UID, Condition: v.Condition})
	for _, given := range heard {
		given(err)
	}
}

func (w *Writer) evict(ctx context.Context, v Victim) error {
	if _, err := w.writeStatus(ctx, v.Pod, Status{UID: v.UID, Condition: v.Condition}); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	return w.client.CoreV1().Pods(v.Pod.Namespace).Delete(limited, v.Pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(v.UID))})
}
