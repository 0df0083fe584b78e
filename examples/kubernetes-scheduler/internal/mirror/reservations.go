package mirror

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"gangsched"
)

// Reservation is one of Koordinator's: in the library a pod, that holds room for others.
type Reservation struct {
	Object  *unstructured.Unstructured
	ID      gangsched.PodID // 0 while the library has not been told of it
	Attempt gangsched.Attempt
	Node    string // that it is being placed on, or was
}

func (r *Reservation) said(path ...string) string {
	value, _, _ := unstructured.NestedString(r.Object.Object, path...)
	return value
}

// Waits says whether it has no node, as far as we know.
func (r *Reservation) Waits() bool {
	return r.said("status", "nodeName") == "" && r.Attempt == 0 && r.Node == ""
}

// SetReservation says that a reservation came or changed. Those that name another scheduler, and where several replicas are active all, count where they
// are placed, and are placed by others.
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
	if before == nil || r.ID == 0 || !sameReservation(before, object) {
		m.tellReservation(r)
	}
}

// sameReservation says whether two versions of a reservation are one for scheduling: conditions are not read.
func sameReservation(a, b *unstructured.Unstructured) bool {
	one, other := Reservation{Object: a}, Reservation{Object: b}
	return a.GetGeneration() == b.GetGeneration() && b.GetGeneration() != 0 && (a.GetDeletionTimestamp() == nil) == (b.GetDeletionTimestamp() == nil) &&
		one.said("status", "nodeName") == other.said("status", "nodeName") && one.said("status", "phase") == other.said("status", "phase") &&
		maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations())
}

func (m *Mirror) tellReservation(r *Reservation) {
	r.lookUp(m)
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
		_, err = m.cluster.SetObject(text, 0)
	}
	if errors.Is(err, gangsched.ErrWrongState) { // it was waiting, and is placed now
		if err = m.cluster.RemoveObject(text); err == nil {
			_, err = m.cluster.SetObject(text, 0)
		}
	}
	if err != nil {
		klog.V(2).InfoS("a reservation is not counted yet", "reservation", r.Object.GetName(), "reason", err.Error())
	}
	r.lookUp(m)
}

// lookUp finds out what the library calls it now.
func (r *Reservation) lookUp(m *Mirror) {
	delete(m.reserved, r.ID)
	if r.ID = m.cluster.FindPod(r.said("spec", "template", "metadata", "namespace"), r.Object.GetName()); r.ID != 0 {
		m.reserved[r.ID] = r
	}
}

// RemoveReservation says that it is gone. Pods that draw from it run on.
func (m *Mirror) RemoveReservation(object *unstructured.Unstructured) {
	if r := m.reservations[object.GetName()]; r != nil && r.Object.GetUID() == object.GetUID() {
		delete(m.reserved, r.ID)
		delete(m.reservations, object.GetName())
		if r.ID != 0 {
			m.RemoveObject(object)
		}
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
