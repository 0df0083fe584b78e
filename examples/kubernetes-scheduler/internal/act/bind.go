package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// Bind is a pod that is to run on a node.
type Bind struct {
	Pod             types.NamespacedName
	UID             types.UID
	ResourceVersion string
	Node            string
	Annotations     map[string]string // that the pod gets with it
	// Before is done first, like allocating what the pod claims; then Await, which waits for what takes long and returns at once after Cancel. An
	// error of either ends the bind. If the bind comes to nothing, After undoes Before. Without Before the other two are not set.
	Before, Await func(context.Context) error
	After         func(context.Context)
	// Still says whether other replicas still know of the bind as this replica's. The pod's resource version has to be known before Still is called.
	// nil: there are no other replicas.
	Still func(context.Context) bool

	state   atomic.Int32 // waits, void or sent
	waiting context.Context
	stop    context.CancelFunc
}

const (
	waits int32 = iota
	void
	sent
)

// Cancel says that the decision is void, and whether nothing was sent: then nothing will be. It belongs to the goroutine that calls Writer.Bind.
func (b *Bind) Cancel() bool {
	b.state.CompareAndSwap(waits, void)
	if b.state.Load() != void {
		return false
	}
	if b.stop != nil {
		b.stop()
	}
	return true
}

// Outcome is what became of a bind.
type Outcome struct {
	Bound  bool
	Gone   bool   // there is no such pod any more
	Unsure bool   // the scheduler ends, and the bind may happen or not
	Reason string // why it is not bound
}

const (
	mostConflicts = 8 // the pod changed each time between looking at it and binding it
	firstPause    = 100 * time.Millisecond
	longestPause  = 5 * time.Second
)

// Bind binds a pod and says what became of it, from a goroutine of its own. It says so only when it is known: no pod is reported as failed that may
// still become bound.
func (w *Writer) Bind(b *Bind, done func(Outcome)) {
	if b.Before == nil {
		w.binds.add(func(ctx context.Context) { done(w.finish(ctx, b)) })
		return
	}
	b.waiting, b.stop = context.WithCancel(context.Background())
	begin, end := w.queueOf(b.UID)
	w.binds.add(func(ctx context.Context) {
		over := func(said Outcome) {
			if !said.Bound && b.After != nil {
				b.After(ctx)
			}
			b.stop()
			end()
			done(said)
		}
		go func() { // it may wait for long, as for a volume that is made
			if err := b.claim(ctx, begin); err != nil {
				over(Outcome{Reason: err.Error()})
				return
			}
			w.binds.add(func(ctx context.Context) { over(w.finish(ctx, b)) })
		}()
	})
}

var errVoid = errors.New("the decision is void")

func (b *Bind) claim(ctx context.Context, begin <-chan struct{}) error {
	defer context.AfterFunc(ctx, b.stop)()
	select {
	case <-begin:
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.state.Load() == void {
		return errVoid
	}
	if err := b.Before(ctx); err != nil || b.Await == nil {
		return err
	}
	return b.Await(b.waiting)
}

// queueOf has the binds of one pod claim one after another: what one has claimed is undone before the next begins. The caller waits for begin, and
// calls end when its bind is over.
func (w *Writer) queueOf(pod types.UID) (begin <-chan struct{}, end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, mine := w.claiming[pod], make(chan struct{})
	if before == nil {
		before = make(chan struct{})
		close(before)
	}
	w.claiming[pod] = mine
	return before, func() {
		w.mu.Lock()
		if w.claiming[pod] == mine {
			delete(w.claiming, pod)
		}
		w.mu.Unlock()
		close(mine)
	}
}

func (w *Writer) finish(ctx context.Context, b *Bind) Outcome {
	if !b.state.CompareAndSwap(waits, sent) {
		return Outcome{Reason: errVoid.Error()}
	}
	w.status.settle(b.Pod) // a pod that is bound must not be called unschedulable after it
	return w.bind(ctx, b)
}

// Finish completes a bind that another replica began and this one has taken over: it binds the pod, or makes sure that it is not bound. If the pod claims
// something it is the latter, because only the other replica knew what it had claimed.
func (w *Writer) Finish(b *Bind, done func(Outcome)) {
	w.binds.add(func(ctx context.Context) { done(w.takenOver(ctx, b)) })
}

func (w *Writer) takenOver(ctx context.Context, b *Bind) Outcome {
	pod, known := w.look(ctx, b)
	if known.decided {
		return known.outcome
	}
	said := Outcome{Reason: "the replica that was to bind it has ended"}
	if !claims(pod) {
		if b.ResourceVersion = pod.ResourceVersion; !b.Still(ctx) {
			return Outcome{Reason: "another replica sees to it", Unsure: ctx.Err() != nil}
		}
		said = w.bind(ctx, b)
	}
	if said.Bound || said.Gone || said.Unsure {
		return said
	}
	return w.fence(ctx, b, errors.New(said.Reason)) // the other one's request may be on its way still
}

func claims(pod *corev1.Pod) bool {
	return len(pod.Spec.ResourceClaims) != 0 || slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
}

// bind carries the resource version at which the pod was seen without a node. So a request that was lost on the way cannot bind the pod later:
// the first change of the pod makes the other request fail. See fence.
func (w *Writer) bind(ctx context.Context, b *Bind) Outcome {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Pod.Namespace, Name: b.Pod.Name, UID: b.UID, ResourceVersion: b.ResourceVersion, Annotations: b.Annotations},
		Target:     corev1.ObjectReference{Kind: "Node", Name: b.Node},
	}
	pods := w.client.CoreV1().Pods(b.Pod.Namespace)
	pause := firstPause
	for conflicts := 0; ctx.Err() == nil; {
		limited, cancel := context.WithTimeout(ctx, w.timeout)
		err := pods.Bind(limited, binding, metav1.CreateOptions{})
		cancel()
		switch {
		case err == nil:
			return Outcome{Bound: true}
		case apierrors.IsNotFound(err):
			return Outcome{Gone: true, Reason: err.Error()}
		case apierrors.IsConflict(err):
			// The pod changed: it is bound by now, or only its status is another one.
			pod, known := w.look(ctx, b)
			if known.decided {
				return known.outcome
			}
			if conflicts++; conflicts == mostConflicts || pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) != 0 {
				return Outcome{Reason: err.Error()}
			}
			binding.ResourceVersion = pod.ResourceVersion
			if b.Still != nil && !b.Still(ctx) {
				return Outcome{Reason: "another replica sees to it", Unsure: ctx.Err() != nil}
			}
		case apierrors.IsTooManyRequests(err):
			if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
				pause = max(pause, time.Duration(seconds)*time.Second)
			}
			sleep(ctx, pause)
			pause = min(2*pause, longestPause)
		case Denied(err):
			return Outcome{Reason: err.Error()}
		default:
			return w.fence(ctx, b, err)
		}
	}
	return ending
}

// Denied errors say that the API server has decided, and done nothing: it would decide so again.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// seen is what a look at the pod itself says about a bind; not decided: it has no node.
type seen struct {
	outcome Outcome
	decided bool
}

// look asks the API server about the pod until it answers.
func (w *Writer) look(ctx context.Context, b *Bind) (*corev1.Pod, seen) {
	pause := firstPause
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, w.timeout)
		pod, err := w.client.CoreV1().Pods(b.Pod.Namespace).Get(limited, b.Pod.Name, metav1.GetOptions{})
		cancel()
		if err == nil {
			return pod, b.judge(pod)
		}
		if apierrors.IsNotFound(err) {
			return nil, seen{Outcome{Gone: true, Reason: err.Error()}, true}
		}
		klog.ErrorS(err, "what became of a bind is not known yet", "pod", b.Pod)
		sleep(ctx, pause)
		pause = min(2*pause, longestPause)
	}
	return nil, seen{ending, true}
}

// ending is all that can be said when the scheduler ends.
var ending = Outcome{Unsure: true, Reason: "the scheduler ends"}

func (b *Bind) judge(pod *corev1.Pod) seen {
	switch {
	case pod.UID != b.UID:
		return seen{Outcome{Gone: true, Reason: "there is another pod of that name"}, true}
	case pod.Spec.NodeName == b.Node:
		return seen{Outcome{Bound: true}, true}
	case pod.Spec.NodeName != "":
		return seen{Outcome{Reason: fmt.Sprintf("pod %s is already assigned to node %q", b.Pod.Name, pod.Spec.NodeName)}, true}
	}
	return seen{}
}

// fence settles a bind whose request may have arrived, or may still arrive: it changes the pod, by a condition that says what happened. If the answer
// shows the pod without a node, the bind will find another resource version than it was made for, and fail.
func (w *Writer) fence(ctx context.Context, b *Bind, lost error) Outcome {
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulerError,
		Message: fmt.Sprintf("binding to %s at resource version %s was not answered: %v", b.Node, b.ResourceVersion, lost),
	}
	pause := firstPause
	for ctx.Err() == nil {
		pod, known := w.look(ctx, b)
		if known.decided {
			return known.outcome
		}
		pod, err := w.writeStatus(ctx, b.Pod, Status{UID: b.UID, Condition: condition, ResourceVersion: pod.ResourceVersion})
		if err == nil {
			if after := b.judge(pod); after.decided {
				return after.outcome
			}
			return Outcome{Reason: lost.Error()}
		}
		if apierrors.IsNotFound(err) {
			return Outcome{Gone: true, Reason: err.Error()}
		}
		sleep(ctx, pause)
		pause = min(2*pause, longestPause)
	}
	return ending
}

func sleep(ctx context.Context, how time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(how):
	}
}
