package loop

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

// reserved is an API server with one reservation, of 2 cores, whose watch says nothing that the test does not pass on.
type reserved struct {
	*world
	mu       sync.Mutex
	now      *unstructured.Unstructured
	requests []string // "get", or what is written
}

func newReserved(t *testing.T) *reserved {
	r := &reserved{world: newWorld(t), now: &unstructured.Unstructured{}}
	must(t, json.Unmarshal([]byte(`{"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation",
  "metadata": {"name": "r", "uid": "r", "generation": 1, "resourceVersion": "1"}, "spec": {"ttl": "0s", "owners": [{"labelSelector": {}}],
    "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}}}`), r.now))
	custom := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{act.Reservations: "ReservationList"})
	custom.PrependReactor("get", "reservations", func(clienttesting.Action) (bool, runtime.Object, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests = append(r.requests, "get")
		return true, r.now.DeepCopy(), nil
	})
	custom.PrependReactor("patch", "reservations", func(action clienttesting.Action) (bool, runtime.Object, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		var asked struct {
			Metadata struct{ ResourceVersion string }
			Status   map[string]any
		}
		if err := json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &asked); err != nil {
			return true, nil, err
		}
		if asked.Metadata.ResourceVersion != r.now.GetResourceVersion() {
			return true, nil, apierrors.NewConflict(act.Reservations.GroupResource(), "r", nil)
		}
		for field, value := range asked.Status {
			_ = unstructured.SetNestedField(r.now.Object, value, "status", field)
		}
		r.touch()
		said, _ := json.Marshal(asked.Status)
		r.requests = append(r.requests, string(said))
		return true, r.now.DeepCopy(), nil
	})
	r.writer.Custom(custom)
	return r
}

// touch gives it another version.
func (r *reserved) touch() {
	version, _ := strconv.Atoi(r.now.GetResourceVersion())
	r.now.SetResourceVersion(strconv.Itoa(version + 1))
}

// watch has the watch say how it is.
func (r *reserved) watch() {
	now := r.object()
	r.box.Put(func() { r.mirror.SetReservation(now) })
}

func (r *reserved) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// wrote asks whether the last request has such a part.
func (r *reserved) wrote(part string) func() bool {
	return func() bool {
		all := r.asked()
		return len(all) != 0 && strings.Contains(all[len(all)-1], part)
	}
}

// That it found no node has changed its version, which the watch has not said yet.
func TestAReservationThatFoundNoNodeIsPlacedWhenOneComes(t *testing.T) {
	r := newReserved(t)
	r.node("small", "1")
	r.watch()
	r.eventually("it finds no node", r.wrote("Unschedulable"))
	r.node("large", "2")
	r.eventually("it is placed", r.wrote(`"nodeName":"large"`))
	if all := r.asked(); len(all) != 4 || all[0] != "get" || all[2] != "get" {
		t.Errorf("requests: %q", all) // to say why it waits, and after the conflict
	}
}

// That a bind comes to nothing is no reason why it finds no node.
func TestAReservationThatChangedMeanwhileIsNotCalledUnschedulable(t *testing.T) {
	r := newReserved(t)
	r.watch()
	r.turns()
	r.mu.Lock()
	r.now.SetGeneration(2)
	r.touch()
	r.requests = nil
	r.mu.Unlock()
	r.node("n", "2")
	r.eventually("it is looked at", r.wrote("get"))
	r.turns()
	r.watch()
	r.eventually("it is placed", r.wrote(`"nodeName":"n"`))
	for _, one := range r.asked() {
		if strings.Contains(one, "binding failed") {
			t.Error(one)
		}
	}
}

// What it says already is not asked for, unless something else is on its way.
func TestWhyAReservationFindsNoNodeIsWrittenOnce(t *testing.T) {
	r := newReserved(t)
	r.box.Put(func() { r.leads = false })
	r.watch()
	says := func(why string, expected int) {
		t.Helper()
		before := len(r.asked())
		r.box.Put(func() { r.sayUnreserved(r.mirror.FindReservation(r.object()), why) })
		r.turns()
		if all := r.asked(); len(all) != before+expected {
			t.Errorf("%s: requests %q", why, all[before:])
		}
	}
	says("a", 2)
	r.watch()
	says("a", 0)
	says("b", 2)
	says("a", 2) // the watch says so still
	r.watch()
	says("a", 0)
	r.box.Put(func() { *r.mirror.FindReservation(r.object()) = mirror.Reservation{Object: r.object()} }) // a scheduler that starts anew
	says("a", 0)
}

// After a restart nothing else says from which one a pod was allocated.
func TestAnOwnerIsBoundWithTheNameOfItsReservation(t *testing.T) {
	r := newReserved(t)
	said := make(chan map[string]string, 8)
	r.client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if of, ok := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding); ok {
			said <- of.Annotations
		}
		return false, nil, nil
	})
	r.node("n", "2")
	r.watch()
	r.eventually("it is placed", r.wrote(`"nodeName":"n"`))
	r.watch()
	r.pod("owner", "2")
	r.eventually("it is bound", func() bool { return r.on("owner") == "n" })
	if got := (<-said)["scheduling.koordinator.sh/reservation-allocated"]; got != `{"name":"r","uid":"r"}` {
		t.Errorf("it is bound with %q", got)
	}
}

func (r *reserved) object() *unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.DeepCopy()
}
