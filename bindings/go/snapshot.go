package gangsched

/*
#include "binding.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Snapshot is the scheduler with its cluster as bytes: all that decisions depend on, ids, attempts, cookies and times among it, and of plugins their
// columns, but not what their values keep. Other schedulers on the cluster are not in it. Nothing is changed by it. Errors: ErrBusy; ErrWrongState,
// where decisions wait that no Run returned yet, as after a Fail, or after a Run that ended in an error.
func (s *Scheduler) Snapshot() ([]byte, error) {
	var bytes *C.char
	var size C.size_t
	if err := s.done(C.gangsched_scheduler_snapshot(s.s, &bytes, &size, s.call.failure)); err != nil {
		return nil, err
	}
	return taken(bytes, size), nil
}

// Snapshot is the cluster alone as bytes. Error: ErrBusy.
func (c *Cluster) Snapshot() ([]byte, error) {
	var bytes *C.char
	var size C.size_t
	if err := c.done(C.gangsched_cluster_snapshot(c.c, &bytes, &size, c.call.failure)); err != nil {
		return nil, err
	}
	return taken(bytes, size), nil
}

func taken(bytes *C.char, size C.size_t) []byte {
	defer C.gangsched_free(bytes)
	made := make([]byte, size)
	copy(made, unsafe.Slice((*byte)(unsafe.Pointer(bytes)), size))
	return made
}

// RestoreSnapshot makes the cluster and the scheduler of Scheduler.Snapshot again: from the same calls follow the same decisions. Of the options it
// reads Registry, Profiles and Configuration, which name the plugins that the scheduler had, and Metrics, Trace, TraceRecords and EventsKept, of which
// everything begins anew; the others are in the snapshot. The bytes may be anything, and are not kept. Errors: ErrMalformed, for what is no
// snapshot, damaged, or of another version; ErrWrongState, for other profiles, or a cluster that was saved alone.
func RestoreSnapshot(snapshot []byte, options Options) (*Fork, error) {
	made := &Scheduler{plugins: options.Registry, call: newCall()}
	a := &made.call.arena
	by, err := configurationOf(&options, made.call)
	if err != nil {
		return nil, err
	}
	defer C.gangsched_configuration_destroy(by)
	given := one[C.gangsched_restore_options](a)
	given.struct_size = C.size_t(unsafe.Sizeof(*given))
	given.metrics, given.trace = C.int32_t(options.Metrics), C.int32_t(options.Trace)
	given.trace_records, given.events_kept = C.uint64_t(options.TraceRecords), C.uint64_t(options.EventsKept)
	var cluster *C.gangsched_cluster
	bytes, size := handed(snapshot)
	code := C.gangsched_scheduler_from_snapshot(bytes, size, by, given, &cluster, &made.s, made.call.failure)
	if code != C.GANGSCHED_OK {
		return nil, made.call.said(code)
	}
	made.cluster = ownCluster(cluster, newCall())
	made.cluster.own.mu.Lock()
	defer made.cluster.own.mu.Unlock()
	made.owned()
	runtime.KeepAlive(options.Registry)
	return &Fork{made.cluster, made}, nil
}

// RestoreCluster makes the cluster of any snapshot again, for a scheduler that begins anew. Error: ErrMalformed, as above.
func RestoreCluster(snapshot []byte) (*Cluster, error) {
	var handle *C.gangsched_cluster
	call := newCall()
	bytes, size := handed(snapshot)
	if code := C.gangsched_cluster_from_snapshot(bytes, size, &handle, call.failure); code != C.GANGSCHED_OK {
		return nil, call.said(code)
	}
	return ownCluster(handle, call), nil
}

// handed is a slice as C reads it; one of no bytes has an address all the same.
func handed(bytes []byte) (unsafe.Pointer, C.size_t) {
	if len(bytes) == 0 {
		return unsafe.Pointer(&none), 0
	}
	return unsafe.Pointer(&bytes[0]), C.size_t(len(bytes))
}

var none byte

// configurationOf is the profiles of options; the caller destroys it.
func configurationOf(options *Options, call *call) (*C.gangsched_configuration, error) {
	a := &call.arena
	profiles := make([]*C.gangsched_profile_spec, len(options.Profiles))
	for i := range options.Profiles {
		profiles[i] = profileOf(&options.Profiles[i], a)
	}
	configuration := a.text(options.Configuration)
	if err := a.check(); err != nil {
		return nil, err
	}
	var by *C.gangsched_configuration
	if code := C.gangsched_configuration_create(&by, call.failure); code != C.GANGSCHED_OK {
		return nil, call.said(code)
	}
	var registry *C.gangsched_registry
	if options.Registry != nil {
		registry = options.Registry.r
	}
	for _, given := range profiles {
		if code := C.gangsched_configuration_add_profile(by, registry, given, call.failure); code != C.GANGSCHED_OK {
			C.gangsched_configuration_destroy(by)
			return nil, call.said(code)
		}
	}
	if configuration != nil {
		if code := C.gangsched_configuration_read(by, registry, configuration, call.failure); code != C.GANGSCHED_OK {
			C.gangsched_configuration_destroy(by)
			return nil, call.said(code)
		}
	}
	return by, nil
}

func profileOf(profile *Profile, a *arena) *C.gangsched_profile_spec {
	given := one[C.gangsched_profile_spec](a)
	given.struct_size = C.size_t(unsafe.Sizeof(*given))
	given.scheduler_name, given.base = a.text(profile.SchedulerName), C.int32_t(profile.Base)
	given.without = a.texts(profile.Without)
	given.percentage_of_nodes_to_score = C.int32_t(profile.PercentageOfNodesToScore)
	plugins := list[C.gangsched_profile_plugin](a, len(profile.Plugins))
	for i, plugin := range profile.Plugins {
		plugins[i] = C.gangsched_profile_plugin{name: a.text(plugin.Name), weight: C.int64_t(plugin.Weight), arguments: a.text(plugin.Arguments)}
	}
	given.plugins, given.plugin_count = (*C.gangsched_profile_plugin)(first(plugins)), C.size_t(len(plugins))
	return given
}
