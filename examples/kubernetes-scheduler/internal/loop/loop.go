// Package loop is the one goroutine that owns the cluster: it hears what happened, lets the library decide, and hands decisions to those who write them.
package loop

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/inbox"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

// Loop decides.
type Loop struct {
	cluster   *gangsched.Cluster
	scheduler *gangsched.Scheduler
	mirror    *mirror.Mirror
	box       *inbox.Inbox
	writer    *act.Writer
	recorder  *act.Recorder
	volumes   time.Duration // that a volume may take
	clock     Clock
	start     int64 // nanoseconds since 1970 where the library's time begins
	leads     bool  // before it does, it hears everything and decides nothing
	flights   map[gangsched.Attempt]*flight
	void      map[gangsched.Attempt]*flight // those of them whose attempt is void
	unsure    map[string]bool               // of a turn: nodes to which a pod may be bound whose attempt is void
	turned    atomic.Int64                  // when the last turn ended, by Clock.Elapsed; 0: none did
	decided   atomic.Int64                  // nanoseconds of processor that decisions took
	told      map[*mirror.Pod]string
	givenUp   map[types.UID]time.Duration // claims that were to be deallocated, since when
	patience  time.Duration               // before that is asked for again
	more      bool                        // the last turn was not over
	sharing   *sharing                    // nil: no other replica schedules these pods
	asking    bool                        // what other replicas say
	lost      atomic.Int64                // attempts that another replica was faster than
	conflicts atomic.Int64
}

// Clock is the machine's clock. Wall may be set at any time, and is only for what others read. Elapsed never goes back or jumps; all durations and
// deadlines go by it.
type Clock interface {
	Wall() time.Time
	Elapsed() time.Duration
}

type machineClock struct{ start time.Time }

func (machineClock) Wall() time.Time          { return time.Now() }
func (c machineClock) Elapsed() time.Duration { return time.Since(c.start) }

// New makes a loop that does not lead yet.
func New(cluster *gangsched.Cluster, scheduler *gangsched.Scheduler, m *mirror.Mirror, box *inbox.Inbox, writer *act.Writer, recorder *act.Recorder, volumes time.Duration) *Loop {
	return &Loop{
		cluster: cluster, scheduler: scheduler, mirror: m, box: box, writer: writer, recorder: recorder, volumes: volumes,
		clock: machineClock{time.Now()}, start: time.Now().UnixNano(), flights: map[gangsched.Attempt]*flight{}, void: map[gangsched.Attempt]*flight{}, unsure: map[string]bool{}, told: map[*mirror.Pod]string{}, givenUp: map[types.UID]time.Duration{}, patience: 10 * time.Second,
	}
}

// now is the time that the library is told.
func (l *Loop) now() int64 { return l.start + int64(l.clock.Elapsed()) }

// longestRest is how long the loop rests at most, so that probes see it alive.
const longestRest = 5 * time.Second

// Run decides until the context ends. It stays on one OS thread: the C allocator has an arena for each thread, and a goroutine that moves between threads
// leaves free memory in all of them, which no other thread can use.
func (l *Loop) Run(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.box.Ready():
		case <-alarm.C:
		}
		for _, what := range l.box.Take() {
			what()
		}
		l.mirror.Settle()
		l.settle()
		if l.leads {
			l.turn()
		}
		l.converse(ctx)
		l.turned.Store(max(1, int64(l.clock.Elapsed())))
		alarm.Reset(l.rest())
	}
}

func (l *Loop) rest() time.Duration {
	if !l.leads {
		return longestRest
	}
	if l.more && l.room() > 0 {
		return 0
	}
	rest := longestRest
	if l.sharing != nil {
		rest = min(rest, l.sharing.ledger.Rest(l.clock.Elapsed()))
	}
	if at, some := l.scheduler.NextDeadline(); some && l.room() > 0 {
		rest = min(rest, max(0, time.Duration(at-l.now())))
	}
	return rest
}

// Lead says, from any goroutine, that decisions are to be made.
func (l *Loop) Lead() { l.box.Put(func() { l.leads = true }) }

// Alive says whether the loop has come round lately.
func (l *Loop) Alive() error {
	if at := l.turned.Load(); at != 0 {
		if rest := l.clock.Elapsed() - time.Duration(at); rest > 12*longestRest {
			return fmt.Errorf("the last turn ended %v ago", rest.Round(time.Second))
		}
	}
	return nil
}

// Ask runs a question in the loop and waits for the answer.
func Ask[T any](ctx context.Context, l *Loop, question func(*gangsched.Cluster, *gangsched.Scheduler, *mirror.Mirror) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	said := make(chan answer, 1)
	l.box.Put(func() {
		value, err := question(l.cluster, l.scheduler, l.mirror)
		said <- answer{value, err}
	})
	select {
	case one := <-said:
		return one.value, one.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (l *Loop) turn() {
	begin, release := processorTime()
	l.hold()
	decisions, more, err := l.decide()
	l.more = more
	l.decided.Add(release() - begin)
	if err != nil {
		klog.ErrorS(err, "a turn of the scheduler ended early")
	}
	said := l.listen()
	l.doubt(decisions)
	for i := range decisions {
		l.execute(&decisions[i], said)
	}
	l.propose()
	l.publish(said)
	l.sayOfGroups(decisions)
	l.complain()
}

// Decided is how much time of a processor decisions have taken, from any goroutine.
func (l *Loop) Decided() time.Duration { return time.Duration(l.decided.Load()) }

// processorTime is how many nanoseconds this thread has run, and how to ask again: until then the goroutine stays on the thread.
func processorTime() (now int64, again func() int64) {
	runtime.LockOSThread()
	return threadTime(), func() int64 {
		defer runtime.UnlockOSThread()
		return threadTime()
	}
}

func threadTime() int64 {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		return 0
	}
	return at.Nano()
}
