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

// Cluster is nodes, pods, groups and queues as the host knows them. A call does all it says, or returns an error and changes nothing.
type Cluster struct {
	c    *C.gangsched_cluster // nil once closed
	own  *owned
	call *call
}

// NewCluster makes an empty cluster. It panics if there is no memory.
func NewCluster() *Cluster {
	var handle *C.gangsched_cluster
	call := newCall()
	if code := C.gangsched_cluster_create(nil, &handle, call.failure); code != C.GANGSCHED_OK {
		panic(call.said(code))
	}
	return ownCluster(handle, call)
}

func ownCluster(handle *C.gangsched_cluster, call *call) *Cluster {
	c := &Cluster{c: handle, own: &owned{cluster: handle}, call: call}
	runtime.AddCleanup(c, (*owned).close, c.own)
	return c
}

// Close gives up the cluster; its memory goes with the last of its schedulers. Calls after it are ErrMalformed. It may be called twice.
func (c *Cluster) Close() {
	c.c = nil
	c.own.close()
}

// hand begins a call: what it hands over is in the arena from here on.
func (c *Cluster) hand() *arena {
	c.call.reset()
	return &c.call.arena
}

// names are those of an object that is asked for. False: one has a zero byte, which C would take for its end, so that no object has it.
func (c *Cluster) names(namespace, name string) (ns, given *C.char, ok bool) {
	a := c.hand()
	ns, given = a.text(namespace), a.text(name)
	return ns, given, !a.torn
}

func (c *Cluster) name(name string) (given *C.char, ok bool) {
	_, given, ok = c.names("", name)
	return given, ok
}

func (c *Cluster) done(code C.gangsched_code) error {
	err := c.call.said(code)
	runtime.KeepAlive(c)
	return err
}

func made[ID ~uint64](c *Cluster, got C.binding_made) (ID, error) {
	return ID(got.id), c.done(got.code)
}

func cNode(id NodeID) C.gangsched_node_id    { return C.gangsched_node_id{value: C.uint64_t(id)} }
func cPod(id PodID) C.gangsched_pod_id       { return C.gangsched_pod_id{value: C.uint64_t(id)} }
func cGroup(id GroupID) C.gangsched_group_id { return C.gangsched_group_id{value: C.uint64_t(id)} }
func cQueue(id QueueID) C.gangsched_queue_id { return C.gangsched_queue_id{value: C.uint64_t(id)} }

// Reserve makes room for that many: calls in which a large table would have to move are not slow then.
func (c *Cluster) Reserve(nodes, pods, groups uint32) error {
	return c.done(C.gangsched_cluster_reserve(c.c, C.uint32_t(nodes), C.uint32_t(pods), C.uint32_t(groups), c.call.failure))
}

// AddNode adds a node.
func (c *Cluster) AddNode(spec *NodeSpec) (NodeID, error) {
	a := c.hand()
	given := a.node(spec)
	if err := a.check(); err != nil {
		return 0, err
	}
	return made[NodeID](c, C.binding_add_node(c.c, given, c.call.failure))
}

// UpdateNode replaces the whole spec; the name must stay.
func (c *Cluster) UpdateNode(node NodeID, spec *NodeSpec) error {
	a := c.hand()
	given := a.node(spec)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_update_node(c.c, cNode(node), given, c.call.failure))
}

// RemoveNode removes the node and the pods bound to it. What was assumed there is pending again.
func (c *Cluster) RemoveNode(node NodeID) error {
	return c.done(C.gangsched_cluster_remove_node(c.c, cNode(node), nil, 0, nil, c.call.failure))
}

// AddPod adds a pod that waits to be scheduled, or runs already.
func (c *Cluster) AddPod(spec *PodSpec) (PodID, error) {
	a := c.hand()
	given := a.pod(spec)
	if err := a.check(); err != nil {
		return 0, err
	}
	return made[PodID](c, C.binding_add_pod(c.c, given, c.call.failure))
}

// UpdatePod replaces the spec; name, namespace and group must stay. A pending pod that is given a node is bound there, by others.
func (c *Cluster) UpdatePod(pod PodID, spec *PodSpec) error {
	a := c.hand()
	given := a.pod(spec)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_update_pod(c.c, cPod(pod), given, c.call.failure))
}

// RemovePod says that the pod is gone: what it held is free.
func (c *Cluster) RemovePod(pod PodID) error {
	return c.done(C.gangsched_cluster_remove_pod(c.c, cPod(pod), c.call.failure))
}

// SetTerminating says that the pod is being deleted, preempted: because of an evict decision. It keeps what it holds until it is removed.
func (c *Cluster) SetTerminating(pod PodID, preempted bool) error {
	return c.done(C.gangsched_cluster_set_terminating(c.c, cPod(pod), C.bool(preempted), c.call.failure))
}

// Assume reserves room on a node for a pending pod: after a restart, for what was decided and not confirmed.
func (c *Cluster) Assume(pod PodID, node NodeID) error {
	return c.done(C.gangsched_cluster_assume(c.c, cPod(pod), cNode(node), c.call.failure))
}

// Release takes back what Assume reserved: the pod is pending again.
func (c *Cluster) Release(pod PodID) error {
	return c.done(C.gangsched_cluster_release(c.c, cPod(pod), c.call.failure))
}

// Nominate says which node is meant for a pending pod, once there is room; 0: none.
func (c *Cluster) Nominate(pod PodID, node NodeID) error {
	return c.done(C.gangsched_cluster_nominate(c.c, cPod(pod), cNode(node), c.call.failure))
}

// AddGroup adds a group, or makes one that was only expected what it is.
func (c *Cluster) AddGroup(spec *GroupSpec) (GroupID, error) {
	a := c.hand()
	given := a.group(spec)
	if err := a.check(); err != nil {
		return 0, err
	}
	return made[GroupID](c, C.binding_add_group(c.c, given, c.call.failure))
}

// ExpectGroup is the id of a group that need not be there yet: pods may join it, and wait until it is added.
func (c *Cluster) ExpectGroup(namespace, name string) (GroupID, error) {
	a := c.hand()
	ns, given := a.text(namespace), a.text(name)
	if err := a.check(); err != nil {
		return 0, err
	}
	return made[GroupID](c, C.binding_expect_group(c.c, ns, given, c.call.failure))
}

// UpdateGroup replaces the spec; name, parent and kind must stay.
func (c *Cluster) UpdateGroup(group GroupID, spec *GroupSpec) error {
	a := c.hand()
	given := a.group(spec)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_update_group(c.c, cGroup(group), given, c.call.failure))
}

// RemoveGroup removes a group; while it has members it stays as a group that is only expected.
func (c *Cluster) RemoveGroup(group GroupID) error {
	return c.done(C.gangsched_cluster_remove_group(c.c, cGroup(group), c.call.failure))
}

// AddQueue adds a queue, or makes one that was only named what it is.
func (c *Cluster) AddQueue(spec *QueueSpec) (QueueID, error) {
	a := c.hand()
	given := a.queue(spec)
	if err := a.check(); err != nil {
		return 0, err
	}
	return made[QueueID](c, C.binding_add_queue(c.c, given, c.call.failure))
}

// UpdateQueue replaces the spec; the name must stay.
func (c *Cluster) UpdateQueue(queue QueueID, spec *QueueSpec) error {
	a := c.hand()
	given := a.queue(spec)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_update_queue(c.c, cQueue(queue), given, c.call.failure))
}

// RemoveQueue removes a queue; while pods, groups or queues name it, it stays as a queue that is only named.
func (c *Cluster) RemoveQueue(queue QueueID) error {
	return c.done(C.gangsched_cluster_remove_queue(c.c, cQueue(queue), c.call.failure))
}

// QueueUsed is what pods on nodes use of a queue's: cpu in milli, everything else in whole units.
func (c *Cluster) QueueUsed(queue QueueID, resource string) int64 {
	given, ok := c.name(resource)
	if !ok {
		return 0
	}
	used := C.gangsched_cluster_queue_used(c.c, cQueue(queue), given)
	runtime.KeepAlive(c)
	return int64(used)
}

// SetAllocatable sets how much a node has of resources that its spec does not name, for example what follows from its load; 0: none. An amount stays
// through UpdateNode until it is set again, or until a new spec names the resource.
func (c *Cluster) SetAllocatable(node NodeID, amounts []Amount) error {
	a := c.hand()
	given := a.amounts(amounts)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_set_allocatable(c.c, cNode(node), given, c.call.failure))
}

// SetNamespace adds a namespace or replaces its labels.
func (c *Cluster) SetNamespace(name string, labels map[string]string) error {
	a := c.hand()
	given, pairs := a.text(name), a.pairs(labels)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_set_namespace(c.c, given, pairs, c.call.failure))
}

// RemoveNamespace removes a namespace: its labels are none then.
func (c *Cluster) RemoveNamespace(name string) error {
	a := c.hand()
	given := a.text(name)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_remove_namespace(c.c, given, c.call.failure))
}

// SetPriorityClass adds a priority class or replaces it.
func (c *Cluster) SetPriorityClass(class PriorityClass) error {
	a := c.hand()
	given := one[C.gangsched_priority_class_spec](a)
	given.struct_size = C.size_t(unsafe.Sizeof(*given))
	given.name, given.value, given.global_default = a.text(class.Name), C.int32_t(class.Value), C.bool(class.GlobalDefault)
	if class.NeverPreempts {
		given.preemption = C.GANGSCHED_PREEMPT_NEVER
	}
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_set_priority_class(c.c, given, c.call.failure))
}

// RemovePriorityClass removes a priority class; pods keep the priority that they were added with.
func (c *Cluster) RemovePriorityClass(name string) error {
	a := c.hand()
	given := a.text(name)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_remove_priority_class(c.c, given, c.call.failure))
}

// AddNodeColumn makes a column of numbers beside nodes, which plugins go by.
func (c *Cluster) AddNodeColumn(column string) error {
	a := c.hand()
	given := a.text(column)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_add_node_column(c.c, given, c.call.failure))
}

// SetNodeColumn sets a word of a column.
func (c *Cluster) SetNodeColumn(node NodeID, column string, value int64) error {
	a := c.hand()
	given := a.text(column)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_set_node_column(c.c, cNode(node), given, C.int64_t(value), c.call.failure))
}

// FindNode, FindPod, FindGroup and FindQueue are 0 if there is none of that name.
func (c *Cluster) FindNode(name string) NodeID {
	given, ok := c.name(name)
	if !ok {
		return 0
	}
	id := C.gangsched_cluster_find_node(c.c, given)
	runtime.KeepAlive(c)
	return NodeID(id.value)
}
func (c *Cluster) FindPod(namespace, name string) PodID {
	ns, given, ok := c.names(namespace, name)
	if !ok {
		return 0
	}
	id := C.gangsched_cluster_find_pod(c.c, ns, given)
	runtime.KeepAlive(c)
	return PodID(id.value)
}
func (c *Cluster) FindGroup(namespace, name string) GroupID {
	ns, given, ok := c.names(namespace, name)
	if !ok {
		return 0
	}
	id := C.gangsched_cluster_find_group(c.c, ns, given, false)
	runtime.KeepAlive(c)
	return GroupID(id.value)
}
func (c *Cluster) FindQueue(name string) QueueID {
	given, ok := c.name(name)
	if !ok {
		return 0
	}
	id := C.gangsched_cluster_find_queue(c.c, given)
	runtime.KeepAlive(c)
	return QueueID(id.value)
}

// NodeName and PodName are empty if there is no such object.
func (c *Cluster) NodeName(node NodeID) string {
	name := goText(C.gangsched_cluster_node_name(c.c, cNode(node)))
	runtime.KeepAlive(c)
	return name
}
func (c *Cluster) PodName(pod PodID) string {
	name := goText(C.gangsched_cluster_pod_name(c.c, cPod(pod)))
	runtime.KeepAlive(c)
	return name
}

// PodNode is where the pod runs or is assumed; 0 if nowhere.
func (c *Cluster) PodNode(pod PodID) NodeID {
	id := C.gangsched_cluster_pod_node(c.c, cPod(pod))
	runtime.KeepAlive(c)
	return NodeID(id.value)
}

// NominatedNode is the node that is meant for a pending pod, or reserved for it; 0 if none.
func (c *Cluster) NominatedNode(pod PodID) NodeID {
	id := C.gangsched_cluster_nominated_node(c.c, cPod(pod))
	runtime.KeepAlive(c)
	return NodeID(id.value)
}

// ReservationOf is the reservation on its node that the pod draws from, which is written down to say so after a restart (PodSpec.DrawsFrom); 0 if none.
func (c *Cluster) ReservationOf(pod PodID) PodID {
	id := C.gangsched_cluster_reservation_of(c.c, cPod(pod))
	runtime.KeepAlive(c)
	return PodID(id.value)
}

// ReservedFrom is the time from which the nominated node is expected to have room for the pod, if it is reserved for the pod (Options.Backfill). False:
// it is not reserved, or the time is not known.
func (c *Cluster) ReservedFrom(pod PodID) (int64, bool) {
	at := int64(C.gangsched_cluster_reserved_from(c.c, cPod(pod)))
	runtime.KeepAlive(c)
	return at, at != math.MaxInt64
}

// PodState is where a pod is in its life.
type PodState int32

const (
	NoPod   PodState = C.GANGSCHED_POD_NONE
	Pending PodState = C.GANGSCHED_POD_PENDING
	Assumed PodState = C.GANGSCHED_POD_ASSUMED
	Bound   PodState = C.GANGSCHED_POD_BOUND
)

func (c *Cluster) PodState(pod PodID) PodState {
	state := C.gangsched_cluster_pod_state(c.c, cPod(pod))
	runtime.KeepAlive(c)
	return PodState(state)
}

// Allocatable and Requested of a node: cpu in milli, everything else in whole units.
func (c *Cluster) Allocatable(node NodeID, resource string) int64 {
	given, ok := c.name(resource)
	if !ok {
		return 0
	}
	amount := C.gangsched_cluster_allocatable(c.c, cNode(node), given)
	runtime.KeepAlive(c)
	return int64(amount)
}
func (c *Cluster) Requested(node NodeID, resource string) int64 {
	given, ok := c.name(resource)
	if !ok {
		return 0
	}
	amount := C.gangsched_cluster_requested(c.c, cNode(node), given)
	runtime.KeepAlive(c)
	return int64(amount)
}

// Digest is over the whole state: equal states, equal digests.
func (c *Cluster) Digest() uint64 {
	digest := C.gangsched_cluster_digest(c.c)
	runtime.KeepAlive(c)
	return uint64(digest)
}
