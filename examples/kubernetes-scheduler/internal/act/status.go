package act

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
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

// SetStatus writes a status when there is time for it, again until the API server has it.
func (w *Writer) SetStatus(pod types.NamespacedName, what Status) { w.status.set(pod, what) }

func (w *Writer) writeStatus(ctx context.Context, pod types.NamespacedName, what Status) (*corev1.Pod, error) {
	patch, err := what.patch()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	return w.client.CoreV1().Pods(pod.Namespace).Patch(limited, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

// latest is what is written of objects: of each one at a time, and only the newest, since what it replaces is of no interest any more.
type latest[Status any] struct {
	write   func(context.Context, types.NamespacedName, Status) error
	merge   func(older, newer Status) Status // what is to be written of both; newLatest takes the newer
	workers int
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu     sync.Mutex
	wanted map[types.NamespacedName]Status
	active map[types.NamespacedName]chan struct{} // closed when the write is over
}

func newLatest[Status any](workers int, write func(context.Context, types.NamespacedName, Status) error) *latest[Status] {
	return &latest[Status]{
		write: write, workers: workers,
		merge:  func(_, newer Status) Status { return newer },
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
		wanted: map[types.NamespacedName]Status{},
		active: map[types.NamespacedName]chan struct{}{},
	}
}

// set has a status written when there is time for it, again until the API server has it.
func (s *latest[Status]) set(name types.NamespacedName, what Status) {
	s.mu.Lock()
	if older, some := s.wanted[name]; some {
		what = s.merge(older, what)
	}
	s.wanted[name] = what
	s.mu.Unlock()
	s.queue.Add(name)
}

// settle gives up what is to be written of an object and waits for what is being written; if that fails it is not written again either.
func (s *latest[Status]) settle(name types.NamespacedName) {
	for {
		s.mu.Lock()
		delete(s.wanted, name)
		active := s.active[name]
		s.mu.Unlock()
		if active == nil {
			return
		}
		<-active
	}
}

func (s *latest[Status]) run(ctx context.Context) {
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

func (s *latest[Status]) one(ctx context.Context) bool {
	name, over := s.queue.Get()
	if over {
		return false
	}
	defer s.queue.Done(name)
	s.mu.Lock()
	what, wanted := s.wanted[name]
	delete(s.wanted, name)
	done := make(chan struct{})
	if wanted {
		s.active[name] = done
	}
	s.mu.Unlock()
	if !wanted {
		s.queue.Forget(name)
		return true
	}
	err := s.write(ctx, name, what)
	s.mu.Lock()
	delete(s.active, name)
	more, newer := s.wanted[name]
	again := err != nil && passing(err)
	switch {
	case again && newer:
		s.wanted[name] = s.merge(what, more)
	case again:
		s.wanted[name] = what
	}
	s.mu.Unlock()
	close(done)
	if err != nil && !again && !newer && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		klog.ErrorS(err, "a condition cannot be written", "of", name)
	}
	if again && !newer {
		s.queue.AddRateLimited(name)
	} else {
		s.queue.Forget(name)
	}
	return true
}

// GroupConditions are those of a PodGroup that are to be so; others of it stay.
type GroupConditions struct {
	UID        types.UID
	Conditions []metav1.Condition
}

// and returns these conditions with newer ones in place of those of their type.
func (g GroupConditions) and(newer GroupConditions) GroupConditions {
	if g.UID != newer.UID {
		return newer
	}
	all := slices.Clone(g.Conditions)
	for _, one := range newer.Conditions {
		meta.SetStatusCondition(&all, one)
	}
	return GroupConditions{g.UID, all}
}

// SetGroupConditions writes conditions of a PodGroup of Kubernetes, as SetStatus does: with those of other types that were given before and are not
// written yet.
func (w *Writer) SetGroupConditions(group types.NamespacedName, what GroupConditions) {
	w.groups.set(group, what)
}

func (w *Writer) writeGroup(ctx context.Context, group types.NamespacedName, what GroupConditions) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": what.UID},
		"status":   map[string]any{"conditions": what.Conditions}, // merged by type
	})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	_, err = w.client.SchedulingV1alpha2().PodGroups(group.Namespace).Patch(limited, group.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// passing errors may be over next time; the others say that the pod is gone, is another one, or that the write is not allowed.
func passing(err error) bool {
	return !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !Denied(err)
}
