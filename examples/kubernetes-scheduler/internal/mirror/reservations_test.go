package mirror

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// reservationOf is one whose pods would be in the namespace default.
func reservationOf(name, cpu string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation",
		"spec": map[string]any{
			"ttl": "0s", "owners": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"owner": name}}}},
			"template": map[string]any{
				"metadata": map[string]any{"namespace": "default"},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "resources": map[string]any{"requests": map[string]any{"cpu": cpu}}}}},
			},
		},
	}}
	made.SetName(name)
	made.SetUID(types.UID(name))
	made.SetGeneration(1)
	return made
}

func placed(node string, reservation *unstructured.Unstructured) *unstructured.Unstructured {
	reservation = reservation.DeepCopy()
	reservation.Object["status"] = map[string]any{"phase": "Available", "nodeName": node}
	return reservation
}

func TestAReservationIsNotTakenForThePodOfItsName(t *testing.T) {
	w := newWorld(t)
	w.SetNode(nodeOf("n", "4"))
	pod := on("n", podOf("web", "1"))
	w.SetPod(pod)
	reservation := reservationOf("web", "1")
	w.SetReservation(reservation) // the library has one of a name
	p := w.Find(nameOf(pod))
	if r := w.Reservation(p.ID); r != nil || w.FindReservation(reservation).ID != 0 {
		t.Errorf("the pod is taken for %+v", r)
	}
	w.RemovePod(pod)
	w.want(w.turn(), "[web bind]")
	if id := w.FindReservation(reservation).ID; id == 0 || w.Reservation(id) == nil {
		t.Error("it is not known by its id")
	}
	w.SetPod(podOf("web", "3"))
	w.want(w.turn(), "[]")
	w.RemoveReservation(reservation)
	w.want(w.turn(), "[web bind]")
}

func TestAReservationCountsWhenItsNodeComesBack(t *testing.T) {
	w := newWorld(t)
	w.SetNode(nodeOf("n", "4"))
	w.SetReservation(placed("n", reservationOf("r", "3")))
	w.RemoveNode("n")
	w.SetNode(nodeOf("n", "4"))
	w.SetPod(podOf("p", "2"))
	w.want(w.turn(), "[p reject]")
}

// Another scheduler has placed it on a node that has not come.
func TestAReservationThatOthersPlacedWaitsForItsNode(t *testing.T) {
	w := newWorld(t)
	reservation := reservationOf("r", "3")
	w.SetReservation(reservation)
	w.SetReservation(placed("n", reservation))
	w.SetNode(nodeOf("m", "4"))
	w.want(w.turn(), "[]") // it is not to be placed again
	w.SetNode(nodeOf("n", "4"))
	w.SetPod(podOf("p", "2"))
	w.SetPod(podOf("q", "4"))
	w.want(len(w.turn()), "2")
	w.want(w.Find(nameOf(podOf("p", "2"))).Node, "m")
}

// Which reservation a pod draws from is known by its annotation, in whatever order all comes.
func TestOwnersDrawFromTheirReservationAfterARestart(t *testing.T) {
	reservation := reservationOf("r", "6")
	_ = unstructured.SetNestedField(reservation.Object, false, "spec", "allocateOnce")
	owner := podOf("owner", "4")
	owner.Labels = map[string]string{"owner": "r"}
	w := newWorld(t)
	w.SetNode(nodeOf("n", "8"))
	w.SetReservation(placed("n", reservation))
	w.SetPod(owner)
	w.want(w.turn(), "[owner bind]")
	owner = on("n", owner)
	owner.Annotations = w.AllocatedFrom(w.Find(nameOf(owner)))
	w.want(owner.Annotations, `map[scheduling.koordinator.sh/reservation-allocated:{"name":"r","uid":"r"}]`)
	set := map[string]func(*world){
		"node":        func(w *world) { w.SetNode(nodeOf("n", "8")) },
		"reservation": func(w *world) { w.SetReservation(placed("n", reservation)) },
		"owner":       func(w *world) { w.SetPod(owner) },
	}
	for _, order := range [][]string{{"node", "reservation", "owner"}, {"node", "owner", "reservation"}, {"owner", "reservation", "node"}, {"reservation", "owner", "node"}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			w := newWorld(t)
			for _, one := range order {
				set[one](w)
				w.Settle()
			}
			w.SetPod(podOf("other", "2"))
			w.want(w.turn(), "[other bind]")
			w.RemovePod(owner)
			w.want(len(w.owners), "0")
			w.SetPod(podOf("more", "1")) // what is reserved is so again
			w.want(w.turn(), "[more reject]")
		})
	}
	t.Run("of another uid", func(t *testing.T) {
		w := newWorld(t)
		w.SetNode(nodeOf("n", "8"))
		anew := placed("n", reservation)
		anew.SetUID("anew")
		w.SetReservation(anew)
		w.SetPod(owner)
		w.want(w.cluster.Requested(w.cluster.FindNode("n"), "cpu"), "10000")
	})
}
