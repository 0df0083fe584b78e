package gangsched

/*
#include "binding.h"
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// What C calls (callbacks.c). A panic must not pass through C: it is the plugin's error.

//export gangschedDestroy
func gangschedDestroy(plugin unsafe.Pointer) {
	handle := (*cgo.Handle)(plugin)
	for _, text := range find(plugin).texts {
		C.free(unsafe.Pointer(text))
	}
	handle.Delete()
	C.free(plugin)
}

//export gangschedLess
func gangschedLess(plugin unsafe.Pointer, a, b *C.gangsched_queued) (before C.bool) {
	p := find(plugin)
	held := p.buffers.Get().(*buffer)
	defer p.buffers.Put(held)
	defer func() { _ = recover() }() // an order has no way to say that it failed
	held.a, held.b = queuedOf(a), queuedOf(b)
	return C.bool(p.plugin.(Sorter).Less(&held.a, &held.b))
}

func queuedOf(q *C.gangsched_queued) Queued {
	return Queued{PodID(q.pod.value), GroupID(q.group.value), int32(q.priority), int64(q.since), int64(q.entered), uint64(q.arrival)}
}

//export gangschedQueueOf
func gangschedQueueOf(plugin unsafe.Pointer, pod *C.gangsched_pod_view, queue *C.int64_t) (said C.gangsched_verdict) {
	p := find(plugin)
	defer func() {
		if why := recover(); why != nil {
			said = p.failed(why)
		}
	}()
	*queue = C.int64_t(p.plugin.(QueueOrderer).QueueOf(PodView{pod, p}))
	return said
}

//export gangschedQueueBefore
func gangschedQueueBefore(plugin unsafe.Pointer, a, b *C.gangsched_queue_head, before *C.bool) (said C.gangsched_verdict) {
	p := find(plugin)
	held := p.buffers.Get().(*buffer)
	defer p.buffers.Put(held)
	defer func() {
		if why := recover(); why != nil {
			said = p.failed(why)
		}
	}()
	held.headA = QueueHead{queuedOf(&a.first), int64(a.queue), int64(a.now)}
	held.headB = QueueHead{queuedOf(&b.first), int64(b.queue), int64(b.now)}
	*before = C.bool(p.plugin.(QueueOrderer).QueueBefore(&held.headA, &held.headB))
	return said
}

//export gangschedPreEnqueue
func gangschedPreEnqueue(plugin unsafe.Pointer, pod *C.gangsched_pod_view) (said C.gangsched_verdict) {
	p := find(plugin)
	defer func() {
		if why := recover(); why != nil {
			said = p.failed(why)
		}
	}()
	return p.handed(p.plugin.(PreEnqueuer).PreEnqueue(PodView{pod, p}))
}

//export gangschedFilter
func gangschedFilter(plugin unsafe.Pointer, pod *C.gangsched_pod_view, nodes *C.gangsched_nodes_view, count C.size_t, into *C.gangsched_verdict) {
	p := find(plugin)
	verdicts := unsafe.Slice(into, count)
	defer func() {
		if why := recover(); why != nil {
			for i := range verdicts {
				verdicts[i] = p.failed(why)
			}
		}
	}()
	held := p.buffers.Get().(*buffer)
	defer p.buffers.Put(held)
	if cap(held.verdicts) < int(count) {
		held.verdicts = make([]Verdict, count)
	}
	said := held.verdicts[:count]
	clear(said)
	p.plugin.(Filterer).Filter(PodView{pod, p}, NodesView{nodes, p, int(count)}, said)
	for i := range said {
		if said[i].code != C.GANGSCHED_SUCCESS {
			verdicts[i] = p.handed(said[i])
		}
	}
}

//export gangschedScore
func gangschedScore(plugin unsafe.Pointer, pod *C.gangsched_pod_view, nodes *C.gangsched_nodes_view, count C.size_t, into *C.int64_t) {
	p := find(plugin)
	scores := unsafe.Slice((*int64)(unsafe.Pointer(into)), count)
	defer func() {
		if recover() != nil {
			for i := range scores {
				scores[i] = -1 // none that is allowed
			}
		}
	}()
	p.plugin.(Scorer).Score(PodView{pod, p}, NodesView{nodes, p, int(count)}, scores)
}

//export gangschedReserve
func gangschedReserve(plugin unsafe.Pointer, pod *C.gangsched_pod_view, node *C.gangsched_nodes_view) (said C.gangsched_verdict) {
	p := find(plugin)
	defer func() {
		if why := recover(); why != nil {
			said = p.failed(why)
		}
	}()
	return p.handed(p.plugin.(Reserver).Reserve(PodView{pod, p}, NodesView{node, p, 1}))
}

//export gangschedUnreserve
func gangschedUnreserve(plugin unsafe.Pointer, pod *C.gangsched_pod_view, node *C.gangsched_nodes_view) {
	p := find(plugin)
	defer func() { _ = recover() }() // what is taken back is taken back
	p.plugin.(Reserver).Unreserve(PodView{pod, p}, NodesView{node, p, 1})
}

//export gangschedPermit
func gangschedPermit(plugin unsafe.Pointer, pod *C.gangsched_pod_view, node *C.gangsched_nodes_view, now C.int64_t, timeout *C.int64_t, room *C.gangsched_permit_room) (said C.gangsched_verdict) {
	p := find(plugin)
	defer func() {
		if why := recover(); why != nil {
			said = p.failed(why)
		}
	}()
	verdict, longest := p.plugin.(Permitter).Permit(PodView{pod, p}, NodesView{node, p, 1}, int64(now), PermitRoom{room})
	if longest > 0 {
		*timeout = C.int64_t(longest)
	}
	return p.handed(verdict)
}
