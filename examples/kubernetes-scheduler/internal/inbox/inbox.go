// Package inbox is how everybody hands work to the one goroutine that owns the cluster: informers what happened, writers what became of a decision,
// the HTTP server its questions.
package inbox

import "sync"

// Inbox is an unbounded queue of functions: whoever puts something in never waits for the scheduler, and the scheduler takes all there is at once.
type Inbox struct {
	mu    sync.Mutex
	all   []func()
	spare []func() // the slice that was handed out last, used again
	ready chan struct{}
}

// New makes an empty one.
func New() *Inbox { return &Inbox{ready: make(chan struct{}, 1)} }

// Put adds a function that the owner of the cluster will run.
func (i *Inbox) Put(what func()) {
	i.mu.Lock()
	i.all = append(i.all, what)
	i.mu.Unlock()
	select {
	case i.ready <- struct{}{}:
	default: // it has been told already
	}
}

// Ready has something to receive when there may be work.
func (i *Inbox) Ready() <-chan struct{} { return i.ready }

// Take returns all there is, in order. It is good until the next call.
func (i *Inbox) Take() []func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	taken := i.all
	clear(i.spare)
	i.all, i.spare = i.spare[:0], taken
	return taken
}

// Len is how many functions wait.
func (i *Inbox) Len() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.all)
}
