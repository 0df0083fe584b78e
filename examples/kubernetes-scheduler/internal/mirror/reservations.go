package mirror

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"gangsched"
)

// Reservation is one of Koordinator's: in the library a pod, that holds room for others.
type Reservation struct {
	Object  *unstructured.Unstructured
	ID      gangsched.PodID // 0 while the library has not been told of it
	Attempt gangsched.Attempt
	Node    string // that it is being placed on, or was
	Refused string // why it finds no node, as it was written last
}

func (r *Reservation) said(path ...string) string {
	value, _, _ := unstructured.NestedString(r.Object.Object, path...)
	return value
}

// Waits says whether it has no node, as far as we know.
func (r *Reservation) Waits() bool {
	return r.said("status", "nodeName") == "" && r.Attempt == 0 && r.Node == ""
}

// SetReservation says that a reservation came or changed. Others place a reservation that names another scheduler, and any one while several replicas
// are active; it counts once it is placed.
func (m *Mirror) SetReservation(object *unstructured.Unstructured) {
	r := m.reservations[object.GetName()]
	if r != nil && r.Object.GetUID() != object.GetUID() {
		m.RemoveReservation(r.Object)
		r = nil
	}
	if r == nil {
		r = &Reservation{}
		m.reservations[object.GetName()] = r
	}
	before := r.Object
	r.Object = object
	if at := r.said("status", "nodeName"); at != "" && r.Attempt != 0 && at == r.Node {
		m.Placed(r, nil) // before the answer, which may be lost
	}
	if before == nil || r.ID == 0 || !SameReservation(before, object) {
		m.tellReservation(r)
	}
}

// SameReservation says whether two versions of a reservation are one for scheduling: conditions are not read.
func SameReservation(a, b *unstructured.Unstructured) bool {
	one, other := Reservation{Object: a}, Reservation{Object: b}
	return a.GetGeneration() == b.GetGeneration() && b.GetGeneration() != 0 && (a.GetDeletionTimestamp() == nil) == (b.GetDeletionTimestamp() == nil) &&
		one.said("status", "nodeName") == other.said("status", "nodeName") && one.said("status", "phase") == other.said("status", "phase") &&
		maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations())
}

func (m *Mirror) tellReservation(r *Reservation) {
	scheduler := r.said("spec", "template", "spec", "schedulerName")
	at := r.said("status", "nodeName")
	if at == "" && (r.Attempt != 0 || r.Node != "") {
		return // what the watch says is older
	}
	if at == "" && (m.mine != nil || scheduler != "" && !m.ours[scheduler]) {
		return
	}
	text, err := json.Marshal(r.Object)
	if err == nil {
		err = m.handReservation(r, text)
	}
	if errors.Is(err, gangsched.ErrWrongState) { // it was waiting, and is placed now
		if err = m.cluster.RemoveObject(text); err == nil {
			m.call(r, 0)
			err = m.handReservation(r, text)
		}
	}
	if err != nil && r.ID != 0 && m.cluster.PodNode(r.ID) == 0 { // what it was told as, one that waits, does not hold any more
		report(m.cluster.RemovePod(r.ID), "a reservation cannot be removed", r.Object)
		m.call(r, 0)
	}
	if err != nil {
		klog.V(2).InfoS("a reservation is not counted yet", "reservation", r.Object.GetName(), "reason", err.Error())
	}
}

func (m *Mirror) handReservation(r *Reservation, text []byte) error {
	id, err := m.cluster.SetObject(text, 0)
	if err == nil {
		m.call(r, gangsched.PodID(id))
	}
	return err
}

// call notes what the library calls a reservation; 0: it has none. Its name does not say so, which a pod may have, too.
func (m *Mirror) call(r *Reservation, id gangsched.PodID) {
	delete(m.reserved, r.ID)
	if r.ID = id; id == 0 {
		return
	}
	m.reserved[id] = r
	owners := m.owners[r.Object.GetName()]
	delete(m.owners, r.Object.GetName())
	for p := range owners {
		m.tell(p)
	}
}

// allocatedAnnotations of a pod say which reservation it was allocated from, as Koordinator writes it; so does a bind.
var allocatedAnnotations = []string{"scheduling.koordinator.sh/reservation-allocated"}

// drawn is what that annotation says.
type drawn struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// AllocatedFrom are the annotations of the bind of a pod which draws from a reservation: after a restart that is known by them.
func (m *Mirror) AllocatedFrom(p *Pod) map[string]string {
	r := m.reserved[m.cluster.ReservationOf(p.ID)]
	if r == nil {
		return nil
	}
	text, err := json.Marshal(drawn{r.Object.GetName(), r.Object.GetUID()})
	if err != nil {
		return nil
	}
	return map[string]string{allocatedAnnotations[0]: string(text)}
}

// drawsFrom is the reservation on its node that a pod was allocated from; 0: none. If it is not there the pod is told of again when it is.
func (m *Mirror) drawsFrom(p *Pod, node gangsched.NodeID) gangsched.PodID {
	var from drawn
	if said := firstOf(p.Object.Annotations, allocatedAnnotations); said == "" || json.Unmarshal([]byte(said), &from) != nil || from.Name == "" {
		return 0
	}
	r := m.reservations[from.Name]
	if r == nil || r.ID == 0 || from.UID != "" && from.UID != r.Object.GetUID() || m.cluster.PodNode(r.ID) != node {
		keepIn(m.owners, from.Name, p, struct{}{}, false)
		return 0
	}
	return r.ID
}

// lostReservations notes which ones are gone from the library with their node; they count again when it comes back.
func (m *Mirror) lostReservations() {
	for id, r := range m.reserved {
		if m.cluster.PodState(id) == gangsched.NoPod {
			m.call(r, 0)
		}
	}
}

// RemoveReservation says that it is gone. Pods that draw from it run on.
func (m *Mirror) RemoveReservation(object *unstructured.Unstructured) {
	if r := m.reservations[object.GetName()]; r != nil && r.Object.GetUID() == object.GetUID() {
		if r.ID != 0 {
			m.RemoveObject(object)
		}
		m.call(r, 0)
		delete(m.reservations, object.GetName())
		m.changed = true // a pod may have waited for its name
	}
}

// Reservation is that which the library calls so; nil if it is none.
func (m *Mirror) Reservation(id gangsched.PodID) *Reservation { return m.reserved[id] }

// FindReservation is that of a name and uid; nil if there is none.
func (m *Mirror) FindReservation(object *unstructured.Unstructured) *Reservation {
	if r := m.reservations[object.GetName()]; r != nil && r.Object.GetUID() == object.GetUID() {
		return r
	}
	return nil
}

// Placed says what became of placing it: it is on its node, or why not.
func (m *Mirror) Placed(r *Reservation, failed error) {
	var err error
	if failed == nil {
		err = m.scheduler.Confirm(r.ID, r.Attempt)
	} else {
		r.Node = ""
		err = m.scheduler.Fail(r.ID, r.Attempt, failed.Error())
	}
	r.Attempt = 0
	if err != nil && !errors.Is(err, gangsched.ErrOutdated) {
		report(fmt.Errorf("reservation %s: %w", r.Object.GetName(), err), "what became of it cannot be said", r.Object)
	}
}

// settleReservations tries those again that named a node which was not there.
func (m *Mirror) settleReservations() {
	for _, r := range m.reservations {
		if r.ID == 0 {
			m.tellReservation(r)
		}
	}
}
