package act

import (
	"context"
	"encoding/json"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// Status is what is to be written of a pod's status.
type Status struct {
	UID             types.UID
	ResourceVersion string // if it is to be of that version still
	Condition       corev1.PodCondition
	Nominated       *string // nil: as it is; "": none
}

// patch is a strategic merge patch: conditions are merged by type, and a uid of another pod is refused.
func (s *Status) patch() ([]byte, error) {
	meta := map[string]any{"uid": s.UID}
	if s.ResourceVersion != "" {
		meta["resourceVersion"] = s.ResourceVersion
	}
	status := map[string]any{}
	if s.Condition.Type != "" {
		if s.Condition.LastTransitionTime.IsZero() {
			s.Condition.LastTransitionTime = metav1.Now()
		}
		status["conditions"] = []corev1.PodCondition{s.Condition}
	}
	if s.Nominated != nil {
		status["nominatedNodeName"] = nil
		if *s.Nominated != "" {
			status["nominatedNodeName"] = *s.Nominated
		}
	}
	return json.Marshal(map[string]any{"metadata": meta, "status": status})
}

func (w *Writer) writeStatus(ctx context.Context, pod types.NamespacedName, what Status) (*corev1.Pod, error) {
	patch, err := what.patch()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	return w.client.CoreV1().Pods(pod.Namespace).Patch(limited, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

// statuses are written one at a time for each pod, and only the newest of a pod: what it replaces is of no interest any more.
type statuses struct {
	writer  *Writer
	workers int
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu     sync.Mutex
	wanted map[types.NamespacedName]Status
	active map[types.NamespacedName]chan struct{} // closed when the write is over
}

func newStatuses(w *Writer, workers int) *statuses {
	return &statuses{
		writer: w, workers: workers,
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
		wanted: map[types.NamespacedName]Status{},
		active: map[types.NamespacedName]chan struct{}{},
	}
}

// SetStatus writes a status when there is time for it, again until the API server has it.
func (w *Writer) SetStatus(pod types.NamespacedName, what Status) {
	w.status.mu.Lock()
	w.status.wanted[pod] = what
	w.status.mu.Unlock()
	w.status.queue.Add(pod)
}

// settle gives up what is to be written of a pod and waits for what is being written: a pod that is bound must not be called unschedulable after it.
func (s *statuses) settle(pod types.NamespacedName) {
	s.mu.Lock()
	delete(s.wanted, pod)
	active := s.active[pod]
	s.mu.Unlock()
	if active != nil {
		<-active
	}
}

func (s *statuses) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, s.queue.ShutDown)
	defer stop()
	var all sync.WaitGroup
	for range s.workers {
		all.Add(1)
		go func() {
			defer all.Done()
			for s.one(ctx) {
			}
		}()
	}
	all.Wait()
}

func (s *statuses) one(ctx context.Context) bool {
	pod, over := s.queue.Get()
	if over {
		return false
	}
	defer s.queue.Done(pod)
	s.mu.Lock()
	what, wanted := s.wanted[pod]
	delete(s.wanted, pod)
	done := make(chan struct{})
	if wanted {
		s.active[pod] = done
	}
	s.mu.Unlock()
	if !wanted {
		s.queue.Forget(pod)
		return true
	}
	_, err := s.writer.writeStatus(ctx, pod, what)
	s.mu.Lock()
	delete(s.active, pod)
	_, newer := s.wanted[pod]
	again := err != nil && passing(err) && !newer
	if again {
		s.wanted[pod] = what
	}
	s.mu.Unlock()
	close(done)
	if again {
		s.queue.AddRateLimited(pod)
	} else {
		s.queue.Forget(pod)
	}
	return true
}

// passing errors may be over next time; the others say that the pod is gone, is another one, or that the write is not allowed.
func passing(err error) bool {
	return !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !refused(err)
}
