package gangsched

/*
#include "binding.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"strings"
	"sync"
	"unsafe"
)

// What a plugin may be. It is a value with methods of one or more of these; nodes come in batches. Callbacks must not call what changes the cluster
// or a scheduler (ErrBusy), and answer alike for alike questions. One plugin may be called from several goroutines if schedulers of several
// clusters have it.
type (
	// Filterer writes one verdict for each node; they come as success.
	Filterer interface {
		Filter(pod PodView, nodes NodesView, verdicts []Verdict)
	}
	// Scorer writes one score for each node, from 0 to 100, higher is better; they come as 0.
	Scorer interface {
		Score(pod PodView, nodes NodesView, scores []int64)
	}
	// Permitter holds a pod that has a node, for so many nanoseconds at most, lets it go or sends it back.
	Permitter interface {
		Permit(pod PodView, node NodesView, now int64, room PermitRoom) (verdict Verdict, timeout int64)
	}
	// Sorter orders the queue: a strict weak order, whether a goes before b.
	Sorter interface {
		Less(a, b *Queued) bool
	}
	// QueueOrderer orders several queues. QueueOf is the number, as the plugin likes, of a pod's queue; a group is in that of its first pending
	// member. QueueBefore says whether head a goes before head b as the cluster is now, which it may query: a strict weak order. Within a queue
	// the Sorter decides. A panic ends the attempt of the pod that would be first.
	QueueOrderer interface {
		QueueOf(pod PodView) int64
		QueueBefore(a, b *QueueHead) bool
	}
	// PreEnqueuer keeps pods out of the queue.
	PreEnqueuer interface {
		PreEnqueue(pod PodView) Verdict
	}
	// Reserver hears which pod gets which node, and when that is taken back. Unreserve may come without Reserve, or twice.
	Reserver interface {
		Reserve(pod PodView, node NodesView) Verdict
		Unreserve(pod PodView, node NodesView)
	}
)

// Reads is what Filter and Score read of nodes, and so when they are asked again.
type Reads uint32

const (
	ReadsEverything  Reads = C.GANGSCHED_READS_EVERYTHING // asked about every candidate of every pod
	ReadsName        Reads = C.GANGSCHED_READS_NAME
	ReadsLabels      Reads = C.GANGSCHED_READS_LABELS
	ReadsAllocatable Reads = C.GANGSCHED_READS_ALLOCATABLE
	ReadsUsage       Reads = C.GANGSCHED_READS_USAGE
	ReadsSchedulable Reads = C.GANGSCHED_READS_SCHEDULABLE
	ReadsColumns     Reads = C.GANGSCHED_READS_COLUMNS
)

// PluginOptions of a plugin in a registry.
type PluginOptions struct {
	Weight  int64 // of its scores where a profile says none; 0: 1
	Reads   Reads
	Columns []string // of nodes, that the host sets; asked for by their place in this list
}

// Verdict of a plugin. The zero value is success.
type Verdict struct {
	code   int32
	reason string
}

// Success lets the pod pass.
func Success() Verdict { return Verdict{} }

// Unschedulable rejects it; removing pods may help. Reasons are kept as long as the plugin: let them be few.
func Unschedulable(reason string) Verdict { return Verdict{C.GANGSCHED_UNSCHEDULABLE, reason} }

// Unresolvable rejects it; removing pods cannot help.
func Unresolvable(reason string) Verdict { return Verdict{C.GANGSCHED_UNRESOLVABLE, reason} }

// Failed says that the plugin itself failed: the cycle ends.
func Failed(reason string) Verdict { return Verdict{C.GANGSCHED_ERROR, reason} }

// HoldPod lets the pod wait in the permit room; of Permit only.
func HoldPod(reason string) Verdict { return Verdict{C.GANGSCHED_PERMIT_WAIT, reason} }

// Queued is a pod, or a group as one, in the queue.
type Queued struct {
	Pod            PodID
	Group          GroupID // not 0 if a group stands in the queue as one
	Priority       int32
	Since, Entered int64
	Arrival        uint64
}

// QueueHead is the first of a queue, where a plugin orders several.
type QueueHead struct {
	Queued
	Queue int64 // as QueueOf said
	Now   int64 // as the host said
}

// Registry is plugins by name, for profiles.
type Registry struct {
	r    *C.gangsched_registry
	call *call
}

// NewRegistry makes one with the library's own plugins. It panics if there is no memory.
func NewRegistry() *Registry {
	r := &Registry{call: newCall()}
	if code := C.gangsched_registry_create(&r.r, r.call.failure); code != C.GANGSCHED_OK {
		panic(r.call.said(code))
	}
	runtime.AddCleanup(r, func(c *C.gangsched_registry) { C.gangsched_registry_destroy(c) }, r.r)
	return r
}

// registered is a plugin as callbacks find it.
type registered struct {
	plugin  any
	mu      sync.Mutex
	texts   map[string]*C.char // texts that C keeps, or is asked for again and again
	buffers sync.Pool
}

type buffer struct {
	verdicts     []Verdict
	a, b         Queued
	headA, headB QueueHead
}

// Add registers a plugin. Errors: ErrDuplicate; ErrMalformed, for one that has no method of a point.
func (r *Registry) Add(name string, plugin any, options PluginOptions) error {
	var points C.uint
	if _, ok := plugin.(Sorter); ok {
		points |= C.BINDING_LESS
	}
	if _, ok := plugin.(QueueOrderer); ok {
		points |= C.BINDING_QUEUE_ORDER
	}
	if _, ok := plugin.(PreEnqueuer); ok {
		points |= C.BINDING_PRE_ENQUEUE
	}
	if _, ok := plugin.(Filterer); ok {
		points |= C.BINDING_FILTER
	}
	if _, ok := plugin.(Scorer); ok {
		points |= C.BINDING_SCORE
	}
	if _, ok := plugin.(Reserver); ok {
		points |= C.BINDING_RESERVE
	}
	if _, ok := plugin.(Permitter); ok {
		points |= C.BINDING_PERMIT
	}
	made := &registered{plugin: plugin, texts: map[string]*C.char{}}
	made.buffers.New = func() any { return &buffer{} }
	r.call.reset()
	a := &r.call.arena
	table := one[C.gangsched_plugin](a)
	table.struct_size = C.size_t(unsafe.Sizeof(*table))
	table.name, table.weight, table.reads = a.text(name), C.int64_t(options.Weight), C.uint32_t(options.Reads)
	table.columns = a.texts(options.Columns)
	if err := a.check(); err != nil {
		return err
	}
	handle := (*cgo.Handle)(C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0)))))
	*handle = cgo.NewHandle(made)
	table.user_data = unsafe.Pointer(handle)
	C.binding_fill(table, points)
	code := C.gangsched_registry_add(r.r, table, r.call.failure)
	if code != C.GANGSCHED_OK {
		gangschedDestroy(unsafe.Pointer(handle))
	}
	err := r.call.said(code)
	runtime.KeepAlive(r)
	return err
}

func find(plugin unsafe.Pointer) *registered { return (*(*cgo.Handle)(plugin)).Value().(*registered) }

// text is a text of C that stays as long as the plugin. C would take a zero byte for its end, so that it would be another name: what stands for it
// there no name has.
func (p *registered) text(s string) *C.char {
	if s == "" {
		return nil
	}
	s = strings.ReplaceAll(s, "\x00", "\ufffd")
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.texts[s]
	if !ok {
		known = C.CString(s)
		p.texts[s] = known
	}
	return known
}

func (p *registered) handed(v Verdict) C.gangsched_verdict {
	return C.gangsched_verdict{code: C.int32_t(v.code), reason: p.text(v.reason)}
}

// failed is the verdict of a plugin that panics.
func (p *registered) failed(why any) C.gangsched_verdict {
	return p.handed(Failed(fmt.Sprintf("the plugin panicked: %v", why)))
}

// PodView is a pod that a callback is asked about. Where Filter and Score read only a part of nodes, what is a pod's own is not to be had: 0 or "".
type PodView struct {
	p *C.gangsched_pod_view
	r *registered
}

func (v PodView) ID() PodID         { return PodID(C.gangsched_pod_view_id(v.p).value) }
func (v PodView) Group() GroupID    { return GroupID(C.gangsched_pod_view_group(v.p).value) }
func (v PodView) Cookie() uint64    { return uint64(C.gangsched_pod_view_cookie(v.p)) }
func (v PodView) Name() string      { return goText(C.gangsched_pod_view_name(v.p)) }
func (v PodView) Namespace() string { return goText(C.gangsched_pod_view_namespace(v.p)) }
func (v PodView) Priority() int32   { return int32(C.gangsched_pod_view_priority(v.p)) }

// Label is "" if the pod has none such.
func (v PodView) Label(key string) string {
	return goText(C.gangsched_pod_view_label(v.p, v.r.text(key)))
}

// Request is what it requests of a resource: cpu in milli, everything else in whole units.
func (v PodView) Request(resource string) int64 {
	return int64(C.gangsched_pod_view_request(v.p, v.r.text(resource)))
}

// NodesView is a batch of nodes that a callback is asked about; of Permit, Reserve and Unreserve it is one node.
type NodesView struct {
	n     *C.gangsched_nodes_view
	r     *registered
	count int
}

// Len is how many they are.
func (v NodesView) Len() int { return v.count }

// IDs and Cookies of all of them, valid until the callback returns.
func (v NodesView) IDs() []NodeID {
	return unsafe.Slice((*NodeID)(unsafe.Pointer(C.gangsched_nodes_view_ids(v.n))), v.count)
}
func (v NodesView) Cookies() []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(C.gangsched_nodes_view_cookies(v.n))), v.count)
}
func (v NodesView) at(i int) C.size_t {
	if i < 0 || i >= v.count {
		panic(fmt.Sprintf("node %d of %d", i, v.count))
	}
	return C.size_t(i)
}

// Of one node of them: "", 0 or false where the plugin does not read it.
func (v NodesView) Name(i int) string { return goText(C.gangsched_nodes_view_name(v.n, v.at(i))) }
func (v NodesView) Label(i int, key string) string {
	return goText(C.gangsched_nodes_view_label(v.n, v.at(i), v.r.text(key)))
}
func (v NodesView) Unschedulable(i int) bool {
	return bool(C.gangsched_nodes_view_unschedulable(v.n, v.at(i)))
}
func (v NodesView) Allocatable(i int, resource string) int64 {
	return int64(C.gangsched_nodes_view_allocatable(v.n, v.at(i), v.r.text(resource)))
}
func (v NodesView) Used(i int, resource string) int64 {
	return int64(C.gangsched_nodes_view_used(v.n, v.at(i), v.r.text(resource)))
}
func (v NodesView) Free(i int, resource string) int64 {
	return int64(C.gangsched_nodes_view_free(v.n, v.at(i), v.r.text(resource)))
}

// Column is a word of one of the plugin's columns.
func (v NodesView) Column(i, column int) int64 {
	if column < 0 {
		panic("a column below 0")
	}
	return int64(C.gangsched_nodes_view_column(v.n, v.at(i), C.size_t(column)))
}

// PermitRoom is the pods that wait.
type PermitRoom struct{ r *C.gangsched_permit_room }

// Waiting are the pods that wait for this plugin, in order of their reservation.
func (r PermitRoom) Waiting() []PodID {
	var pods *C.gangsched_pod_id
	count := C.gangsched_permit_room_waiting(r.r, &pods)
	made := make([]PodID, count)
	copy(made, unsafe.Slice((*PodID)(unsafe.Pointer(pods)), count))
	return made
}

// Allow says that the plugin has nothing against one of them any more.
func (r PermitRoom) Allow(pod PodID) { C.gangsched_permit_room_allow(r.r, cPod(pod)) }
