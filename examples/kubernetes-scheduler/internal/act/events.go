package act

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

const (
	reporter = "gangsched"
	// eventPatience is how long an event may stand back for binds.
	eventPatience = 10 * time.Second
	// mostEvents is how many wait at most; then there are none of what happens.
	mostEvents = 1 << 16
	// mostNote is how long the API server lets the note of an event be.
	mostNote = 1024
)

// Recorder writes events. They stand back for binds: an event says when something happened, and is as true a second later.
type Recorder struct {
	writer   *Writer
	instance string
	repeated events.EventRecorder // finds out what is said again and again, and counts it
	sink     *sink
	end      func()
}

// NewRecorder makes one that writes until the context ends.
func NewRecorder(ctx context.Context, w *Writer) (*Recorder, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	made := &Recorder{writer: w, instance: reporter + "-" + host}
	made.sink = &sink{EventSinkImpl: events.EventSinkImpl{Interface: w.client.EventsV1()}, writer: w, first: make(chan struct{}, w.events.size), again: make(chan struct{}, w.events.size)}
	broadcaster := events.NewBroadcaster(made.sink)
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, err
	}
	made.repeated, made.end = broadcaster.NewRecorder(scheme.Scheme, reporter), broadcaster.Shutdown
	return made, nil
}

// Close gives up what has not been written.
func (r *Recorder) Close() { r.end() }

// Eventf says something about an object that may be said again, as that a pod finds no node; related may be nil.
func (r *Recorder) Eventf(about, related runtime.Object, kind, reason, action, note string) {
	if r.sink.waiting.Load() >= mostEvents {
		return
	}
	r.repeated.Eventf(about, related, kind, reason, action, "%s", cut(note))
}

// Once is Eventf for what happens to a pod once, as that it is bound: nothing is remembered of it.
func (r *Recorder) Once(about *corev1.Pod, kind, reason, action, note string) {
	if r.writer.events.waiting() >= mostEvents {
		return
	}
	regarding := corev1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: about.Namespace, Name: about.Name, UID: about.UID, ResourceVersion: about.ResourceVersion,
	}
	at, note := time.Now(), cut(note)
	r.writer.events.add(func(ctx context.Context) {
		r.writer.standBack(ctx, at)
		limited, cancel := context.WithTimeout(ctx, r.writer.timeout)
		defer cancel()
		_, err := r.writer.client.EventsV1().Events(regarding.Namespace).Create(limited, &eventsv1.Event{
			ObjectMeta:          metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", regarding.Name, at.UnixNano()), Namespace: regarding.Namespace},
			EventTime:           metav1.NewMicroTime(at),
			ReportingController: reporter, ReportingInstance: r.instance,
			Action: action, Reason: reason, Type: kind, Note: note, Regarding: regarding,
		}, metav1.CreateOptions{})
		if err != nil {
			klog.V(2).InfoS("an event is lost", "note", note, "reason", err.Error())
		}
	})
}

// standBack returns when no bind waits to be sent, or an event has waited long enough.
func (w *Writer) standBack(ctx context.Context, since time.Time) {
	const pause = 20 * time.Millisecond
	for w.binds.waiting() != 0 && time.Since(since) < eventPatience && ctx.Err() == nil {
		sleep(ctx, pause)
	}
}

// sink is the events client with few requests under way at once; the broadcaster would send any number, each from a goroutine of its own.
type sink struct {
	events.EventSinkImpl
	writer       *Writer
	first, again chan struct{} // slots for what is said for the first time, and for the rest
	waiting      atomic.Int64  // events that are to be sent
}

func (s *sink) Create(ctx context.Context, event *eventsv1.Event) (made *eventsv1.Event, err error) {
	since := time.Now()
	err = s.send(ctx, s.first, func(ctx context.Context) (err error) {
		s.writer.standBack(ctx, since)
		limited, cancel := context.WithTimeout(ctx, s.writer.timeout)
		defer cancel()
		made, err = s.EventSinkImpl.Create(limited, event)
		return err
	})
	return made, err
}

// Update and Patch are for what is said again. The broadcaster calls them for all that there is, and takes no other event meanwhile: they do not stand
// back, nor wait for who does.
func (s *sink) Update(ctx context.Context, event *eventsv1.Event) (made *eventsv1.Event, err error) {
	err = s.send(ctx, s.again, func(ctx context.Context) (err error) {
		limited, cancel := context.WithTimeout(ctx, s.writer.timeout)
		defer cancel()
		made, err = s.EventSinkImpl.Update(limited, event)
		return err
	})
	return made, err
}

func (s *sink) Patch(ctx context.Context, event *eventsv1.Event, data []byte) (made *eventsv1.Event, err error) {
	err = s.send(ctx, s.again, func(ctx context.Context) (err error) {
		limited, cancel := context.WithTimeout(ctx, s.writer.timeout)
		defer cancel()
		made, err = s.EventSinkImpl.Patch(limited, event, data)
		return err
	})
	return made, err
}

// send sends something in its turn, or not if the context ends before.
func (s *sink) send(ctx context.Context, slots chan struct{}, what func(context.Context) error) error {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-slots }()
	return what(ctx)
}

func cut(note string) string {
	const ends = " ..."
	if len(note) <= mostNote {
		return note
	}
	return note[:mostNote-len(ends)] + ends
}
