// Package gangsched is the scheduler library for hosts in Go: a cluster that is told what happened, and a scheduler that answers with decisions.
// It stands on the C interface (docs/c.md); what calls mean is said by docs/embedding.md.
//
// A cluster and its schedulers belong to one goroutine at a time.
package gangsched

/*
#cgo !gangsched_static pkg-config: gangsched-c
#cgo gangsched_static pkg-config: --static gangsched-c
#include "binding.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// Ids: 0 names nothing. They stay valid until the object is removed, and nothing else gets them then.
type (
	NodeID  uint64
	PodID   uint64
	GroupID uint64
	QueueID uint64
)

// Attempt is one reservation of a node for a pod, from the decision to the answer. 0: none; in an answer, the attempt under way.
type Attempt uint64

// Code says why a call was refused.
type Code int32

const (
	Malformed    Code = C.GANGSCHED_MALFORMED
	OutOfRange   Code = C.GANGSCHED_OUT_OF_RANGE
	Overflow     Code = C.GANGSCHED_OVERFLOW
	Duplicate    Code = C.GANGSCHED_DUPLICATE
	Unknown      Code = C.GANGSCHED_UNKNOWN
	WrongState   Code = C.GANGSCHED_WRONG_STATE
	Outdated     Code = C.GANGSCHED_OUTDATED
	Busy         Code = C.GANGSCHED_BUSY
	TimeWentBack Code = C.GANGSCHED_TIME_WENT_BACK
	Contract     Code = C.GANGSCHED_CONTRACT
	NoMemory     Code = C.GANGSCHED_NO_MEMORY
	Internal     Code = C.GANGSCHED_INTERNAL
)

func (c Code) String() string { return C.GoString(C.gangsched_code_name(C.gangsched_code(c))) }

// Error is a refused call: what object it is about, which field, and why. A call that is refused changed nothing.
type Error struct {
	Code                  Code
	Object, Field, Reason string
	message               string
}

func (e *Error) Error() string {
	if e.message == "" {
		return "gangsched: " + e.Code.String()
	}
	return "gangsched: " + e.message
}

// Is reports whether target is an error of the same code: errors.Is(err, gangsched.ErrUnknown).
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code && other.message == ""
}

// Errors to compare with, by errors.Is.
var (
	ErrMalformed    = &Error{Code: Malformed}
	ErrOutOfRange   = &Error{Code: OutOfRange}
	ErrDuplicate    = &Error{Code: Duplicate}
	ErrUnknown      = &Error{Code: Unknown}
	ErrWrongState   = &Error{Code: WrongState}
	ErrOutdated     = &Error{Code: Outdated}
	ErrBusy         = &Error{Code: Busy}
	ErrTimeWentBack = &Error{Code: TimeWentBack}
	ErrContract     = &Error{Code: Contract}
)

// Version is that of the library that runs.
func Version() string { return C.GoString(C.gangsched_version()) }

func goText(t C.gangsched_text) string { return C.GoStringN(t.data, C.int(t.size)) }

// call is what every call needs of C: memory for what is handed over, and the error. Each belongs to one object, and so to one goroutine.
type call struct {
	arena
	failure *C.gangsched_error
}

func newCall() *call {
	c := &call{failure: C.gangsched_error_create()}
	runtime.AddCleanup(c, func(e *C.gangsched_error) { C.gangsched_error_destroy(e) }, c.failure)
	runtime.AddCleanup(c, (*chunks).free, c.arena.init())
	return c
}

// said is the error that a code stands for.
func (c *call) said(code C.gangsched_code) error {
	if code == C.GANGSCHED_OK {
		return nil
	}
	if c.failure == nil || C.gangsched_error_code(c.failure) != code {
		return &Error{Code: Code(code)}
	}
	defer runtime.KeepAlive(c) // whose error is read
	return &Error{
		Code:    Code(code),
		Object:  C.GoString(C.gangsched_error_object(c.failure)),
		Field:   C.GoString(C.gangsched_error_field(c.failure)),
		Reason:  C.GoString(C.gangsched_error_reason(c.failure)),
		message: C.GoString(C.gangsched_error_message(c.failure)),
	}
}

// owned is a cluster of C, and what still needs it: the Cluster, and its schedulers.
type owned struct {
	mu         sync.Mutex
	cluster    *C.gangsched_cluster
	closed     bool
	schedulers int
	orphans    []*C.gangsched_scheduler // that were not closed: the collector found them, in a goroutine of its own
}

// destroy ends a scheduler; the caller has the lock.
func (o *owned) destroy(s *C.gangsched_scheduler) {
	C.gangsched_scheduler_destroy(s)
	o.schedulers--
	o.settle()
}

// settle ends what is not needed any more; the caller has the lock.
func (o *owned) settle() {
	for len(o.orphans) > 0 {
		last := o.orphans[len(o.orphans)-1]
		o.orphans = o.orphans[:len(o.orphans)-1]
		C.gangsched_scheduler_destroy(last)
		o.schedulers--
	}
	if o.closed && o.schedulers == 0 && o.cluster != nil {
		C.gangsched_cluster_destroy(o.cluster)
		o.cluster = nil
	}
}

func (o *owned) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.settle()
}

// abandon hands over a scheduler that the garbage collector found. Another goroutine may be using the cluster, so the scheduler is destroyed later.
func (o *owned) abandon(s *C.gangsched_scheduler) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orphans = append(o.orphans, s)
	if o.closed {
		o.settle()
	}
}

var _ = [1]struct{}{}[unsafe.Sizeof(Decision{})-unsafe.Sizeof(C.gangsched_decision{})] // C writes Decisions as they are
