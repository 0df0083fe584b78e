package act

import (
	"context"

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
// the pod is gone: the scheduler counts on the room.
func (w *Writer) Evict(v Victim) {
	w.evicted.add(func(ctx context.Context) {
		pause := firstPause
		for ctx.Err() == nil {
			err := w.evict(ctx, v)
			if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // conflict: a pod of another uid has its name
				return
			}
			klog.ErrorS(err, "a victim cannot be evicted yet", "pod", v.Pod)
			sleep(ctx, pause)
			pause = min(2*pause, longestPause)
		}
	})
}

func (w *Writer) evict(ctx context.Context, v Victim) error {
	if _, err := w.writeStatus(ctx, v.Pod, Status{UID: v.UID, Condition: v.Condition}); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	return w.client.CoreV1().Pods(v.Pod.Namespace).Delete(limited, v.Pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(v.UID))})
}
