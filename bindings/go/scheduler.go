package gangsched

/*
#include "binding.h"
*/
import "C"

import (
	"math"
	"runtime"
	"unsafe"
)

// Base is what a profile begins with.
type Base int32

const (
	Default    Base = C.GANGSCHED_PROFILE_DEFAULT     // kube-scheduler's default plugins and weights, with GangScheduling
	WithQueues Base = C.GANGSCHED_PROFILE_WITH_QUEUES // the same for clusters with queues: FairShare
	BinPacking Base = C.GANGSCHED_PROFILE_BIN_PACKING // packs instead of spreading
	Empty      Base = C.GANGSCHED_PROFILE_EMPTY       // all plugins are named
)

// ProfilePlugin is a plugin of a profile, by its name in the registry.
type ProfilePlugin struct {
	Name      string
	Weight    int64  // of its scores; 0: the plugin's own
	Arguments string // JSON or YAML
}

// Profile is what pods are scheduled by that have its SchedulerName.
type Profile struct {
	SchedulerName            string // empty: "default-scheduler"
	Base                     Base
	Without                  []string // plugins of the base that are left out
	Plugins                  []ProfilePlugin
	PercentageOfNodesToScore int32 // 0: all
}

// Options of a scheduler; the zero value is the default profile. Times are nanoseconds, 0 is the default, below 0 is none at all.
type Options struct {
	Registry             *Registry // nil: the library's plugins
	Profiles             []Profile
	Configuration        string // a KubeSchedulerConfiguration, JSON or YAML, whose profiles come after Profiles
	Seed                 uint64 // of uniform ties
	LowestRowTies        bool   // the node added first of those that are equal
	InitialBackoff       int64
	MaxBackoff           int64
	UnschedulableTimeout int64
	CheckHooks           bool // debug: finds plugins that read more than they declare; slow
	Metrics              MetricsKind
	Trace                TraceKind
	TraceRecords         int  // kept at most, then the oldest go: 192 bytes each, taken at once; 0: 32,768
	EventsKept           int  // that wait to be taken, at most, then the oldest go; 0: there are no events
	CountReasons         bool // rejects say how many nodes gave which reason, in notes of events, without asking again
	Backfill             BackfillRule
	EvictionNotice       int64 // nanoseconds that victims of preemption may stay after a Notice; 0: they are evicted at once
	MaxOvertake          int64 // pods that have waited longer than these nanoseconds get nodes reserved at once; 0: none do
}

// BackfillRule says for which pods nodes are reserved that have no room yet, by how long pods are expected to run.
type BackfillRule int32

const (
	BackfillNone         BackfillRule = C.GANGSCHED_BACKFILL_NONE         // none
	BackfillEASY         BackfillRule = C.GANGSCHED_BACKFILL_EASY         // the first in the queue of those that found no room
	BackfillConservative BackfillRule = C.GANGSCHED_BACKFILL_CONSERVATIVE // all that found no room
)

// DecisionKind is what the host is to do.
type DecisionKind int32

const (
	Bind     DecisionKind = C.GANGSCHED_BIND     // run the pod on the node, then Confirm or Fail
	Wait     DecisionKind = C.GANGSCHED_WAIT     // the node is reserved; the pod waits in the permit room
	Nominate DecisionKind = C.GANGSCHED_NOMINATE // the node is the pod's once its victims are gone
	Evict    DecisionKind = C.GANGSCHED_EVICT    // delete this running pod, then remove it from the cluster
	Reject   DecisionKind = C.GANGSCHED_REJECT   // no node; why: Explain
	Revoke   DecisionKind = C.GANGSCHED_REVOKE   // a wait or bind that is not confirmed is void
	Notice   DecisionKind = C.GANGSCHED_NOTICE   // this running pod is evicted when EvictionNotice is over, if that is still of use then
	Withdraw DecisionKind = C.GANGSCHED_WITHDRAW // it is not: a pod that had notice may stay
)

var kindNames = [...]string{"bind", "wait", "nominate", "evict", "reject", "revoke", "notice", "withdraw"}

func (k DecisionKind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return ""
	}
	return kindNames[k]
}

// Decision is what the host is to do, in C's own form.
type Decision struct {
	Kind       DecisionKind
	Rank       int32 // of the pod in its group; -1: none
	Code       int32 // of a reject
	_          int32
	Pod        PodID
	Node       NodeID
	Group      GroupID
	Attempt    Attempt // of Bind, Wait and Revoke: answers name it
	PodCookie  uint64
	NodeCookie uint64
	Score      int64 // of the chosen node
	Annotation uint64
	reason     *C.char
}

// Reason of a reject, revoke or evict, if one text says it; good until the next Run, and while the scheduler is there.
func (d *Decision) Reason() string { return C.GoString(d.reason) }

// Failed reports whether a pod was rejected because a plugin failed, and not for want of room.
func (d *Decision) Failed() bool { return d.Kind == Reject && d.Code == C.GANGSCHED_ERROR }

// EventKind is what happened.
type EventKind int32

const (
	AddNode       EventKind = C.GANGSCHED_ADD_NODE
	UpdateNode    EventKind = C.GANGSCHED_UPDATE_NODE
	RemoveNode    EventKind = C.GANGSCHED_REMOVE_NODE
	AddPod        EventKind = C.GANGSCHED_ADD_POD
	UpdatePod     EventKind = C.GANGSCHED_UPDATE_POD
	RemovePod     EventKind = C.GANGSCHED_REMOVE_POD
	Terminating   EventKind = C.GANGSCHED_SET_TERMINATING // Value other than 0: because of an evict decision
	AddGroup      EventKind = C.GANGSCHED_ADD_GROUP
	UpdateGroup   EventKind = C.GANGSCHED_UPDATE_GROUP
	RemoveGroup   EventKind = C.GANGSCHED_REMOVE_GROUP
	SetNodeColumn EventKind = C.GANGSCHED_SET_NODE_COLUMN // ID of the node, Text: the column, Value
	Confirm       EventKind = C.GANGSCHED_CONFIRM         // ID of the pod, Attempt
	Fail          EventKind = C.GANGSCHED_FAIL            // ID of the pod, Attempt, Text: the reason
)

// noEvent is none, which C refuses.
const noEvent = -1

// Event is something that happened.
type Event struct {
	Kind    EventKind
	ID      uint64 // of the object; of one that is added it is written here
	Attempt Attempt
	Value   int64
	Node    *NodeSpec
	Pod     *PodSpec
	Group   *GroupSpec
	Text    string
	Err     error // out: why it was refused
}

// Scheduler decides which pod goes where and when. It performs nothing: the host executes decisions and says what became of them.
type Scheduler struct {
	s         *C.gangsched_scheduler // nil once closed
	cluster   *Cluster
	plugins   *Registry // kept while its callbacks may be called
	call      *call
	stop      runtime.Cleanup
	decisions []Decision
}

// NewScheduler makes a scheduler on a cluster. Pending pods enter the queue; what is assumed counts as decided.
func NewScheduler(on *Cluster, options Options) (*Scheduler, error) {
	s := &Scheduler{cluster: on, plugins: options.Registry, call: newCall()}
	a := &s.call.arena
	by, err := configurationOf(&options, s.call)
	if err != nil {
		return nil, err
	}
	defer C.gangsched_configuration_destroy(by)
	given := one[C.gangsched_scheduler_options](a)
	given.struct_size = C.size_t(unsafe.Sizeof(*given))
	given.seed = C.uint64_t(options.Seed)
	given.metrics, given.trace = C.int32_t(options.Metrics), C.int32_t(options.Trace)
	given.trace_records, given.events_kept = C.uint64_t(options.TraceRecords), C.uint64_t(options.EventsKept)
	given.count_reasons = C.bool(options.CountReasons)
	if options.LowestRowTies {
		given.ties = C.GANGSCHED_TIES_LOWEST_ROW
	}
	given.initial_backoff, given.max_backoff = C.int64_t(options.InitialBackoff), C.int64_t(options.MaxBackoff)
	given.unschedulable_timeout = C.int64_t(options.UnschedulableTimeout)
	given.check_hooks = C.bool(options.CheckHooks)
	given.eviction_notice = C.int64_t(options.EvictionNotice)
	given.backfill, given.max_overtake = C.int32_t(options.Backfill), C.int64_t(options.MaxOvertake)
	on.own.mu.Lock()
	defer on.own.mu.Unlock()
	on.own.settle()
	if code := C.gangsched_scheduler_create(on.c, by, given, &s.s, s.call.failure); code != C.GANGSCHED_OK {
		return nil, s.call.said(code)
	}
	s.owned()
	runtime.KeepAlive(options.Registry)
	return s, nil
}

// owned counts the scheduler among those of its cluster; the caller has the lock.
func (s *Scheduler) owned() {
	s.cluster.own.schedulers++
	own := s.cluster.own
	s.stop = runtime.AddCleanup(s, func(handle *C.gangsched_scheduler) { own.abandon(handle) }, s.s)
}

// Close ends the scheduler; the cluster stays as it is. It may be called twice, but not by a callback of a plugin that the scheduler is in.
func (s *Scheduler) Close() {
	if s.s == nil {
		return
	}
	s.stop.Stop()
	s.cluster.own.mu.Lock()
	defer s.cluster.own.mu.Unlock()
	s.cluster.own.destroy(s.s)
	s.s = nil
}

// text begins a call that hands over one text.
func (s *Scheduler) text(given string) (*C.char, error) {
	s.call.reset()
	return s.call.text(given), s.call.check()
}

func (s *Scheduler) done(code C.gangsched_code) error {
	err := s.call.said(code)
	runtime.KeepAlive(s)
	return err
}

// Run is a whole turn: it schedules while pods are active, and asks which pods may leave the permit room. Execute decisions in their order: a later one
// may revoke an earlier one. They are valid until the next Run. An error comes from a plugin, or from a time that went back; decisions made before it
// stand, and are returned, too.
func (s *Scheduler) Run(now int64) ([]Decision, error) {
	for count := 0; ; {
		room := s.room(count, max(count, fewDecisions))
		got := C.binding_run(s.s, C.int64_t(now), (*C.gangsched_decision)(unsafe.Pointer(&room[0])), C.size_t(len(room)), s.call.failure)
		count += int(got.count)
		if got.code != C.GANGSCHED_OK || int(got.count) < len(room) {
			return s.decisions[:count], s.done(got.code)
		}
	}
}

// RunSome is Run, but begins no attempt once there are most decisions (at least one); all members of a group that was tried are decided.
// More: the turn is not over. A host that competes with others for nodes can so have fewer decisions under way.
func (s *Scheduler) RunSome(now int64, most int) (decisions []Decision, more bool, err error) {
	count := 0
	for most = max(most, 1); count < most; {
		room := s.room(count, min(most-count, max(count, fewDecisions))) // no room for most at once, which may be any number
		got := C.binding_run(s.s, C.int64_t(now), (*C.gangsched_decision)(unsafe.Pointer(&room[0])), C.size_t(len(room)), s.call.failure)
		count += int(got.count)
		if got.code != C.GANGSCHED_OK || int(got.count) < len(room) {
			return s.decisions[:count], false, s.done(got.code)
		}
	}
	for { // those that were made and had no room
		room := s.room(count, max(count, fewDecisions))
		got := C.binding_take(s.s, (*C.gangsched_decision)(unsafe.Pointer(&room[0])), C.size_t(len(room)), s.call.failure)
		count += int(got.count)
		if got.code != C.GANGSCHED_OK || int(got.count) < len(room) {
			return s.decisions[:count], true, s.done(got.code)
		}
	}
}

// fewDecisions is how many decisions a call hands out, unless a turn had more. Go scans a whole slice before C gets it, so with a long slice each call
// would take as long as the longest turn.
const fewDecisions = 64

// room is where more decisions go, behind the first ones.
func (s *Scheduler) room(count, more int) []Decision {
	if missing := count + more - len(s.decisions); missing > 0 {
		s.decisions = append(s.decisions, make([]Decision, missing)...)
	}
	return s.decisions[count : count+more : count+more]
}

// Activate has pods that wait tried at the next Run, whatever they wait for.
func (s *Scheduler) Activate(now int64, pods ...PodID) error {
	if len(pods) == 0 {
		return nil
	}
	return s.done(C.gangsched_scheduler_activate(s.s, (*C.gangsched_pod_id)(unsafe.Pointer(&pods[0])), C.size_t(len(pods)), C.int64_t(now), s.call.failure))
}

// Tell says what happened, in one call. Each event is told on its own: one that is refused changes nothing and has its Err set, and those after it
// are told all the same. The first error is returned.
func (s *Scheduler) Tell(events []Event) error { return tell(s.cluster, s, events) }

// Tell says what happened to a cluster; Confirm and Fail need the Tell of a scheduler.
func (c *Cluster) Tell(events []Event) error { return tell(c, nil, events) }

func tell(c *Cluster, s *Scheduler, events []Event) error {
	a := c.hand()
	given := list[C.gangsched_event](a, len(events))
	for i := range events {
		from, to := &events[i], &given[i]
		a.torn = false
		to.kind, to.id, to.attempt, to.value = C.gangsched_event_kind(from.Kind), C.uint64_t(from.ID), C.gangsched_attempt(from.Attempt), C.int64_t(from.Value)
		to.text = a.text(from.Text)
		switch {
		case from.Kind <= UpdateNode && from.Node != nil:
			to.spec = unsafe.Pointer(a.node(from.Node))
		case from.Kind >= AddPod && from.Kind <= UpdatePod && from.Pod != nil:
			to.spec = unsafe.Pointer(a.pod(from.Pod))
		case from.Kind >= AddGroup && from.Kind <= UpdateGroup && from.Group != nil:
			to.spec = unsafe.Pointer(a.group(from.Group))
		}
		if from.Err = a.check(); from.Err != nil {
			to.kind = noEvent // is refused
		}
	}
	var handle *C.gangsched_scheduler
	if s != nil {
		handle = s.s
	}
	code := C.gangsched_tell(c.c, handle, (*C.gangsched_event)(first(given)), C.size_t(len(given)), c.call.failure)
	err, failed := c.done(code), false // failed: one before
	for i := range events {
		events[i].ID = uint64(given[i].id)
		if given[i].code == C.GANGSCHED_OK {
			continue
		}
		switch {
		case events[i].Err != nil && !failed: // what C says is that there is no such event
			err = events[i].Err
		case events[i].Err != nil:
		case !failed:
			events[i].Err = err
		default: // of those after the first only the code is known
			events[i].Err = &Error{Code: Code(given[i].code)}
		}
		failed = true
	}
	runtime.KeepAlive(s)
	return err
}

// Confirm says that the pod of a Bind runs. ErrOutdated: it does not have its node by that attempt any more.
func (s *Scheduler) Confirm(pod PodID, attempt Attempt) error {
	return s.done(C.gangsched_scheduler_confirm(s.s, cPod(pod), C.gangsched_attempt(attempt), s.call.failure))
}

// Fail says that the host could not: what the pod held is given back, and it is queued again with backoff. What follows of it the next Run says.
func (s *Scheduler) Fail(pod PodID, attempt Attempt, reason string) error {
	given, err := s.text(reason)
	if err != nil {
		return err
	}
	return s.done(C.gangsched_scheduler_fail(s.s, cPod(pod), C.gangsched_attempt(attempt), given, s.call.failure))
}

// Allow lets a pod in the permit room go, as far as a plugin is concerned, or altogether (""); at the next Run.
func (s *Scheduler) Allow(pod PodID, plugin string) error {
	given, err := s.text(plugin)
	if err != nil {
		return err
	}
	return s.done(C.gangsched_scheduler_allow(s.s, cPod(pod), given, s.call.failure))
}

// Reject sends a pod in the permit room back, at the next Run.
func (s *Scheduler) Reject(pod PodID, reason string) error {
	given, err := s.text(reason)
	if err != nil {
		return err
	}
	return s.done(C.gangsched_scheduler_reject(s.s, cPod(pod), given, s.call.failure))
}

// NextDeadline is the earliest time at which something changes without anybody doing anything; false if never.
func (s *Scheduler) NextDeadline() (int64, bool) {
	at := int64(C.gangsched_scheduler_next_deadline(s.s))
	runtime.KeepAlive(s)
	return at, at != math.MaxInt64
}

// QueuePlace is a part of the queue.
type QueuePlace int32

const (
	PlaceNone          QueuePlace = C.GANGSCHED_PLACE_NONE          // in no queue: placed, or being deleted
	PlaceActive        QueuePlace = C.GANGSCHED_PLACE_ACTIVE        // may be tried
	PlaceBackoff       QueuePlace = C.GANGSCHED_PLACE_BACKOFF       // in backoff after a rejection, or until no pod is active
	PlaceErrorBackoff  QueuePlace = C.GANGSCHED_PLACE_ERROR_BACKOFF // in backoff after an error; of a group also after a rejection
	PlaceUnschedulable QueuePlace = C.GANGSCHED_PLACE_UNSCHEDULABLE // waits for a change that can help
	PlaceGated         QueuePlace = C.GANGSCHED_PLACE_GATED         // a PreEnqueue plugin says no
	PlaceInFlight      QueuePlace = C.GANGSCHED_PLACE_IN_FLIGHT     // being tried
	PlaceKeptBack      QueuePlace = C.GANGSCHED_PLACE_KEPT_BACK     // in no queue: its group has as many members with a node as it may have
)

// QueueStanding is where a pod stands in the queue, or its group, if that is queued as one.
type QueueStanding struct {
	Place                      QueuePlace
	Attempts, Failures, Errors uint32 // in all; those that were rejected; those in a row that ended in an error
	Since                      int64  // when it entered, or failed last
	BackoffUntil               int64  // when the backoff after its last failure ends, or ended; math.MaxInt64: it had none
}

// Standing says where a pod stands in the queue as of the last call that was told the time.
func (s *Scheduler) Standing(pod PodID) (QueueStanding, error) {
	var c C.gangsched_queue_standing
	err := s.done(C.gangsched_scheduler_standing(s.s, cPod(pod), &c, s.call.failure))
	return QueueStanding{
		QueuePlace(c.place), uint32(c.attempts), uint32(c.failures), uint32(c.errors), int64(c.since), int64(c.backoff_until),
	}, err
}

// Restore says after a restart where a pending pod stood in the queue; Place and BackoffUntil follow from the rest.
func (s *Scheduler) Restore(pod PodID, as QueueStanding) error {
	c := C.gangsched_queue_standing{
		attempts: C.uint32_t(as.Attempts), failures: C.uint32_t(as.Failures), errors: C.uint32_t(as.Errors), since: C.int64_t(as.Since),
	}
	return s.done(C.gangsched_scheduler_restore(s.s, cPod(pod), &c, s.call.failure))
}

// ForgetCached says that what plugins go by has changed, and no change of the cluster says so.
func (s *Scheduler) ForgetCached() error {
	return s.done(C.gangsched_scheduler_forget_cached(s.s, s.call.failure))
}

// Explain is the line that users know: "0/5 nodes are available: 3 Insufficient cpu, …."
func (s *Scheduler) Explain(pod PodID) (string, error) { return s.explain(pod, C.GANGSCHED_SUMMARY) }

// ExplainJSON is that, and what each node says to the pod.
func (s *Scheduler) ExplainJSON(pod PodID) (string, error) { return s.explain(pod, C.GANGSCHED_JSON) }

func (s *Scheduler) explain(pod PodID, format C.int32_t) (string, error) {
	var text *C.char
	code := C.gangsched_scheduler_explain(s.s, cPod(pod), format, &text, s.call.failure)
	return s.taken(text), s.done(code)
}

// ExplainGroupJSON is what each placement lacks for the waiting members of a group.
func (s *Scheduler) ExplainGroupJSON(group GroupID) (string, error) {
	var text *C.char
	code := C.gangsched_scheduler_explain_group(s.s, cGroup(group), C.GANGSCHED_JSON, &text, s.call.failure)
	return s.taken(text), s.done(code)
}

// taken is a text that C made for us.
func (s *Scheduler) taken(text *C.char) string {
	said := C.GoString(text)
	C.gangsched_free(text)
	return said
}

// Counts is how many stand where in the queue.
type Counts struct{ Active, Backoff, Unschedulable, Gated, Waiting, InFlight int }

func (s *Scheduler) Counts() Counts {
	all := C.gangsched_scheduler_counts(s.s)
	runtime.KeepAlive(s)
	return Counts{int(all.active), int(all.backoff), int(all.unschedulable), int(all.gated), int(all.waiting), int(all.in_flight)}
}

// Statistics is what the engine did since the scheduler was made.
type Statistics struct {
	Cycles, Decisions                             uint64
	IndexBuilds, RowsEvaluated, OpaqueEvaluations uint64
	Scans, SearchSteps, WakeUps, ObserverErrors   uint64
	Reservations                                  uint64 // nodes reserved for a pod or group that found no room
	LateReservations                              uint64 // of them put off, because a pod ran longer than expected or nodes went
}

func (s *Scheduler) Statistics() Statistics {
	var all C.gangsched_statistics
	all.struct_size = C.size_t(unsafe.Sizeof(all))
	C.gangsched_scheduler_statistics(s.s, &all, nil)
	runtime.KeepAlive(s)
	return Statistics{
		Cycles: uint64(all.cycles), Decisions: uint64(all.decisions),
		IndexBuilds: uint64(all.index_builds), RowsEvaluated: uint64(all.rows_evaluated), OpaqueEvaluations: uint64(all.opaque_evaluations),
		Scans: uint64(all.scans), SearchSteps: uint64(all.search_steps), WakeUps: uint64(all.wake_ups), ObserverErrors: uint64(all.observer_errors),
		Reservations: uint64(all.reservations), LateReservations: uint64(all.late_reservations),
	}
}
