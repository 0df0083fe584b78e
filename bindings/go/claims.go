package gangsched

/*
#include "binding.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

func cClaim(id ResourceClaimID) C.gangsched_resource_claim_id {
	return C.gangsched_resource_claim_id{value: C.uint64_t(id)}
}

// AddResourceClaim adds a claim of devices that pods share.
func (c *Cluster) AddResourceClaim(spec *ResourceClaimSpec) (ResourceClaimID, error) {
	a := c.hand()
	given := a.claim(spec)
	if err := a.check(); err != nil {
		return 0, err
	}
	return made[ResourceClaimID](c, C.binding_add_resource_claim(c.c, given, c.call.failure))
}

// RemoveResourceClaim: ErrWrongState, while a pod names it.
func (c *Cluster) RemoveResourceClaim(claim ResourceClaimID) error {
	return c.done(C.gangsched_cluster_remove_resource_claim(c.c, cClaim(claim), c.call.failure))
}

// Deallocate says that a claim which is allocated though no pod used it yet has no devices any more. ErrWrongState, while a pod on a node uses it.
func (c *Cluster) Deallocate(claim ResourceClaimID) error {
	return c.done(C.gangsched_cluster_deallocate(c.c, cClaim(claim), c.call.failure))
}

// FindResourceClaim is 0 if there is none of that name.
func (c *Cluster) FindResourceClaim(namespace, name string) ResourceClaimID {
	ns, given, ok := c.names(namespace, name)
	if !ok {
		return 0
	}
	id := C.gangsched_cluster_find_resource_claim(c.c, ns, given)
	runtime.KeepAlive(c)
	return ResourceClaimID(id.value)
}

// SetDeviceHealth says that a device of a node, by id, is healthy or not: an unhealthy one is hidden at once. The pods that have some of it, which
// keep it until they are removed, are returned.
func (c *Cluster) SetDeviceHealth(node NodeID, device string, healthy bool) ([]PodID, error) {
	for room := 16; ; {
		a := c.hand()
		pods, given := list[C.gangsched_pod_id](a, room), a.text(device)
		if err := a.check(); err != nil {
			return nil, err
		}
		got := C.binding_set_device_health(c.c, cNode(node), given, C.bool(healthy), &pods[0], C.size_t(room), c.call.failure)
		if err := c.done(got.code); err != nil {
			return nil, err
		}
		if int(got.count) <= room {
			return copied[PodID](unsafe.Pointer(&pods[0]), got.count), nil
		}
		room = int(got.count)
	}
}

// Device is one that a pod has on its node, or a part of one.
type Device struct {
	ID      string
	Profile string // of a MIG instance: "1g.10gb"
	Milli   int32  // of a share of a GPU: thousandths
	Amount  int64  // of a share: MiB of memory; of another device: units of its capacity
	Request int32  // number of the request that it is for; -1: GPUs that a resource of the pod counts
}

// Devices are those that the pod has; CPUs and memory in NUMA cells, and what claims have that it shares, are not among them.
func (c *Cluster) Devices(pod PodID) []Device {
	return c.devices(func(into *C.gangsched_device, room C.size_t) C.size_t {
		return C.gangsched_cluster_devices(c.c, cPod(pod), into, room)
	})
}

// ClaimDevices are those that a claim has on its node.
func (c *Cluster) ClaimDevices(claim ResourceClaimID) []Device {
	return c.devices(func(into *C.gangsched_device, room C.size_t) C.size_t {
		return C.gangsched_cluster_claim_devices(c.c, cClaim(claim), into, room)
	})
}

// Alternative is which one of a request's FirstOf the pod's devices were chosen for, as its index; of devices that the host named the first that leads to
// them. -1: the request offers none or is about GPUs, the pod has no devices, or no alternative leads to those that the host named.
func (c *Cluster) Alternative(pod PodID, request int32) int32 {
	place := C.gangsched_cluster_alternative(c.c, cPod(pod), C.int32_t(request))
	runtime.KeepAlive(c)
	return int32(place)
}

// ClaimAlternative is the same of a claim's devices.
func (c *Cluster) ClaimAlternative(claim ResourceClaimID, request int32) int32 {
	place := C.gangsched_cluster_claim_alternative(c.c, cClaim(claim), C.int32_t(request))
	runtime.KeepAlive(c)
	return int32(place)
}

// ClaimNode is where a claim is allocated; 0 if nowhere.
func (c *Cluster) ClaimNode(claim ResourceClaimID) NodeID {
	id := C.gangsched_cluster_claim_node(c.c, cClaim(claim))
	runtime.KeepAlive(c)
	return NodeID(id.value)
}

func (c *Cluster) devices(ask func(into *C.gangsched_device, room C.size_t) C.size_t) (made []Device) {
	for room := 16; ; {
		found := list[C.gangsched_device](c.hand(), room)
		count := int(ask(&found[0], C.size_t(room)))
		if count > room {
			room = count
			continue
		}
		for _, one := range found[:count] {
			made = append(made, Device{goText(one.id), goText(one.profile), int32(one.milli), int64(one.amount), int32(one.request)})
		}
		runtime.KeepAlive(c)
		return made
	}
}
