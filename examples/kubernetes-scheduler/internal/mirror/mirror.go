// Package mirror keeps the library's cluster as the API server has it. It belongs to the goroutine that owns the cluster.
package mirror

import (
	"k8s.io/apimachinery/pkg/types"

	"gangsched"
)

// Mirror is the objects that decisions go by, and what the library calls them.
type Mirror struct {
	cluster   *gangsched.Cluster
	scheduler *gangsched.Scheduler
	ours      map[string]bool // names of schedulers whose pods are ours

	pods  map[types.NamespacedName]*Pod
	byID  map[gangsched.PodID]*Pod
	nodes map[string]*node
	// absent are nodes that pods run on, or that are meant for them, and that have not come, or are gone: these are told of when the node comes.
	absent map[string]map[*Pod]struct{}
	// stuck pods wait for an object that they name: a claim, a volume, a class. They are tried again when one of those changes.
	stuck   map[*Pod]struct{}
	changed bool
	refused map[objectKey]refusal // what else waits for an object that it names

	devices devices
	storage Storage
	gangs   map[types.NamespacedName]*labelledGang
	groups  map[types.NamespacedName]*PodGroup
	uids    map[objectKey]types.UID // of objects that describe groups
	queues  queues
	classes map[string]gangsched.PriorityClass

	reservations map[string]*Reservation
	reserved     map[gangsched.PodID]*Reservation
	owners       map[string]map[*Pod]struct{} // pods that were allocated from a reservation of that name which is not there

	// forgotten are attempts of pods that the library knows no more, so that it does not say that they are void.
	forgotten []gangsched.Attempt

	seen uint64                // all changes of pods up to this resource version have come
	mine func(key string) bool // nil: all pods are this replica's to schedule
}

// New makes a mirror of nothing yet.
func New(cluster *gangsched.Cluster, scheduler *gangsched.Scheduler, ours map[string]bool) *Mirror {
	return &Mirror{
		cluster: cluster, scheduler: scheduler, ours: ours,
		pods:    map[types.NamespacedName]*Pod{},
		byID:    map[gangsched.PodID]*Pod{},
		nodes:   map[string]*node{},
		absent:  map[string]map[*Pod]struct{}{},
		stuck:   map[*Pod]struct{}{},
		refused: map[objectKey]refusal{},
		devices: newDevices(),
		storage: newStorage(),
		gangs:   map[types.NamespacedName]*labelledGang{},
		groups:  map[types.NamespacedName]*PodGroup{},
		uids:    map[objectKey]types.UID{},
		queues:  newQueues(),
		classes: map[string]gangsched.PriorityClass{},

		reservations: map[string]*Reservation{},
		reserved:     map[gangsched.PodID]*Reservation{},
		owners:       map[string]map[*Pod]struct{}{},
	}
}

// Pod is the pod that the library calls so; nil if there is none.
func (m *Mirror) Pod(id gangsched.PodID) *Pod { return m.byID[id] }

// Find is the pod of that name; nil if none counts.
func (m *Mirror) Find(name types.NamespacedName) *Pod { return m.pods[name] }

// Settle does what several changes together lead to, once for all of them: before each turn.
func (m *Mirror) Settle() {
	m.settleQueues()
	m.settleClaims()
	if !m.changed {
		return
	}
	m.changed = false
	m.settleObjects()
	m.settleVolumes()
	m.settleReservations()
	for p := range m.stuck {
		delete(m.stuck, p)
		m.tell(p)
	}
}

// Forgotten are the attempts that ended since it was asked last and that the library says nothing of.
func (m *Mirror) Forgotten() []gangsched.Attempt {
	made := m.forgotten
	m.forgotten = nil
	return made
}

// Stuck are pods that wait for an object which is not there, with the reason.
func (m *Mirror) Stuck(each func(*Pod)) {
	for p := range m.stuck {
		each(p)
	}
}

// Waiting are the pods that have no node, with what is known of each: the node that is meant for it, or the object that it waits for.
func (m *Mirror) Waiting() map[string]string {
	made := map[string]string{}
	for name, p := range m.pods {
		if p.Waits() {
			made[name.String()] = p.Refused
			if p.Nominated != "" {
				made[name.String()] = "nominated to " + p.Nominated
			}
		}
	}
	return made
}
