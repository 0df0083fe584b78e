// Package act writes decisions to the API server, many at once: binds, conditions and nominations, deletions of victims, claims of devices and volumes.
package act

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Writer has the goroutines that write. What it is given is queued without bounds, so that deciding never waits for the API server.
type Writer struct {
	client   kubernetes.Interface
	custom   dynamic.Interface // nil: nothing of it is written
	timeout  time.Duration
	binds    *crew
	status   *latest[Status]
	groups   *latest[GroupConditions]
	refusals *latest[refusal]
	evicted  *crew
	events   *crew
	pause    time.Duration // the first one, after an eviction that failed or while devices are not ready

	mu       sync.Mutex
	claiming map[types.UID]chan struct{}    // pods that claims are written for; closed when those are undone, or the pod is bound
	evicting map[types.UID][]wantedEviction // victims that are not evicted yet, and what for
}

// NewWriter makes a writer with at most so many binds under way at once, and a quarter as many conditions of pods, as many deletions, and
// an eighth as many events, conditions of groups, and of reservations.
func NewWriter(client kubernetes.Interface, parallel int, timeout time.Duration) *Writer {
	w := &Writer{
		client: client, timeout: timeout, binds: newCrew(parallel), evicted: newCrew(max(1, parallel/4)), events: newCrew(max(1, parallel/8)),
		pause:    firstPause,
		claiming: map[types.UID]chan struct{}{}, evicting: map[types.UID][]wantedEviction{},
	}
	w.status = newLatest(max(1, parallel/4), func(ctx context.Context, pod types.NamespacedName, what Status) error {
		_, err := w.writeStatus(ctx, pod, what)
		return err
	})
	w.groups = newLatest(max(1, parallel/8), w.writeGroup)
	w.groups.merge = GroupConditions.and
	w.refusals = newLatest(max(1, parallel/8), w.writeRefusal)
	return w
}

// Parallel is how many binds are under way at once at most.
func (w *Writer) Parallel() int { return w.binds.size }

// Run works until the context ends.
func (w *Writer) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, run := range []func(context.Context){w.binds.run, w.evicted.run, w.events.run, w.status.run, w.groups.run, w.refusals.run} {
		all.Add(1)
		go func() {
			defer all.Done()
			run(ctx)
		}()
	}
	all.Wait()
}

// crew is so many goroutines that do what is given to them, first come, first served.
type crew struct {
	size  int
	mu    sync.Mutex
	some  *sync.Cond
	tasks []func(context.Context)
	ended bool
}

func newCrew(size int) *crew {
	c := &crew{size: size}
	c.some = sync.NewCond(&c.mu)
	return c
}

func (c *crew) add(task func(context.Context)) {
	c.mu.Lock()
	c.tasks = append(c.tasks, task)
	c.mu.Unlock()
	c.some.Signal()
}

// later is add after a pause, in which no goroutine is busy with the task.
func (c *crew) later(pause time.Duration, task func(context.Context)) {
	time.AfterFunc(pause, func() { c.add(task) })
}

// waiting is how many tasks have not begun.
func (c *crew) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tasks)
}

func (c *crew) next() func(context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.tasks) == 0 && !c.ended {
		c.some.Wait()
	}
	if c.ended {
		return nil
	}
	task := c.tasks[0]
	c.tasks[0] = nil
	c.tasks = c.tasks[1:]
	return task
}

func (c *crew) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		c.ended = true
		c.mu.Unlock()
		c.some.Broadcast()
	})
	defer stop()
	var all sync.WaitGroup
	for range c.size {
		all.Add(1)
		go func() {
			defer all.Done()
			for task := c.next(); task != nil; task = c.next() {
				task(ctx)
			}
		}()
	}
	all.Wait()
}
