package gangsched

/*
#include "binding.h"
*/
import "C"

import "unsafe"

// document is a copy of a text of any length, with a zero behind it.
func (a *arena) document(text []byte) *C.char {
	given := a.bytes(len(text) + 1)
	copy(unsafe.Slice((*byte)(given), len(text)), text)
	return (*C.char)(given)
}

// AddManifests adds all objects of a file of Kubernetes', JSON or YAML, or none. It returns what was left out, a line each.
func (c *Cluster) AddManifests(name string, text []byte) (warnings string, err error) {
	a := c.hand()
	given, its := a.document(text), a.text(name)
	if err := a.check(); err != nil {
		return "", err
	}
	var told *C.char
	code := C.gangsched_cluster_add_manifests(c.c, given, C.size_t(len(text)), its, 0, &told, c.call.failure)
	warnings = C.GoString(told)
	C.gangsched_free(told)
	return warnings, c.done(code)
}

// SetObject adds a Node, Pod, Reservation (of Koordinator), PodGroup, Namespace, Service, ReplicationController, ReplicaSet, StatefulSet or
// PodDisruptionBudget as an API server has it, in JSON, or updates the one of that name. It returns the id of a node, pod or group.
func (c *Cluster) SetObject(text []byte, cookie uint64) (uint64, error) {
	given := c.hand().document(text)
	return made[uint64](c, C.binding_set_object(c.c, given, C.size_t(len(text)), C.uint64_t(cookie), c.call.failure))
}

// RemoveObject removes the one of that name; of the text only apiVersion, kind, name and namespace count. ErrUnknown: it is not there, or of another
// kind or API group.
func (c *Cluster) RemoveObject(text []byte) error {
	given := c.hand().document(text)
	return c.done(C.gangsched_cluster_remove_object(c.c, given, C.size_t(len(text)), c.call.failure))
}

// SetQueues makes the cluster's queues those of a file, which has all of them: Kueue's ClusterQueues, Cohorts, LocalQueues and ResourceFlavors, the
// Queues of Volcano and KAI, ElasticQuotas. Those that are new are added, those that are there updated, those that are not in the file removed; or
// nothing of it.
func (c *Cluster) SetQueues(name string, text []byte) error {
	a := c.hand()
	given, its := a.document(text), a.text(name)
	if err := a.check(); err != nil {
		return err
	}
	return c.done(C.gangsched_cluster_set_queues(c.c, given, C.size_t(len(text)), its, nil, c.call.failure))
}

// SetQueuesLeavingOut is SetQueues as if objects with mistakes were not in the file; leftOut has a line for each. The 101st that cannot be read is an error.
func (c *Cluster) SetQueuesLeavingOut(name string, text []byte) (leftOut string, err error) {
	a := c.hand()
	given, its := a.document(text), a.text(name)
	if err := a.check(); err != nil {
		return "", err
	}
	var told *C.char
	code := C.gangsched_cluster_set_queues(c.c, given, C.size_t(len(text)), its, &told, c.call.failure)
	leftOut = C.GoString(told)
	C.gangsched_free(told)
	return leftOut, c.done(code)
}
