package act

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// reservations is an API server with one of them, as far as this goes.
type reservations struct {
	version    int
	generation int64
	node       string
	conditions []any
	late       []byte // what is on its way
	first      string // what becomes of the first request that places it
}

func (r *reservations) patch(text []byte) error {
	var asked struct {
		Metadata struct{ ResourceVersion string }
		Status   struct {
			NodeName   string
			Conditions []any
		}
	}
	if err := json.Unmarshal(text, &asked); err != nil {
		return err
	}
	if said := asked.Metadata.ResourceVersion; said != "" && said != strconv.Itoa(r.version) {
		return apierrors.NewConflict(Reservations.GroupResource(), "r", nil)
	}
	r.version++
	r.node, r.conditions = cmp.Or(asked.Status.NodeName, r.node), asked.Status.Conditions
	return nil
}

func (r *reservations) object() *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{}}
	made.SetName("r")
	made.SetUID("r")
	made.SetResourceVersion(strconv.Itoa(r.version))
	made.SetGeneration(r.generation)
	_ = unstructured.SetNestedField(made.Object, r.node, "status", "nodeName")
	_ = unstructured.SetNestedSlice(made.Object, r.conditions, "status", "conditions")
	return made
}

// A request that is not answered may have placed a reservation, or do so later: it is decided again only when it cannot any more.
func TestAReservationHasOneNodeThoughAnswersAreLost(t *testing.T) {
	for _, one := range []struct{ first, node string }{
		{"done", "n"}, {"done and not answered", "n"}, {"lost", "m"}, {"late", "m"}, {"changed before", "m"}, {"refused before", "n"},
		{"refused before and late", "m"},
	} {
		t.Run(one.first, func(t *testing.T) {
			api := &reservations{version: 7, generation: 1, first: one.first}
			custom := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{Reservations: "ReservationList"})
			custom.PrependReactor("get", "reservations", func(clienttesting.Action) (bool, runtime.Object, error) { return true, api.object(), nil })
			custom.PrependReactor("patch", "reservations", func(action clienttesting.Action) (bool, runtime.Object, error) {
				text, first := action.(clienttesting.PatchAction).GetPatch(), api.first
				api.first = ""
				silence := apierrors.NewTimeoutError("no answer", 1)
				switch first {
				case "done and not answered":
					if err := api.patch(text); err != nil {
						return true, nil, err
					}
					return true, nil, silence
				case "lost":
					return true, nil, silence
				case "late":
					api.late = text
					return true, nil, silence
				case "changed before":
					api.version++
					api.generation++
				case "refused before", "refused before and late": // its conditions are others, and it is the same one for scheduling
					api.version++
					api.conditions = []any{map[string]any{"type": "Scheduled", "status": "False"}, map[string]any{"type": "Other", "status": "True"}}
					if first != "refused before" {
						api.first = "late"
					}
				}
				return true, api.object(), api.patch(text)
			})
			w := NewWriter(fake.NewClientset(), 1, time.Second)
			w.Custom(custom)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			go w.Run(ctx)
			place := func(node string) error {
				said := make(chan error)
				w.Place(api.object(), node, func(err error) { said <- err })
				return <-said
			}
			if err := place("n"); (err == nil) != (one.node == "n") {
				t.Error(err)
			}
			if one.node == "m" { // it is decided again
				if err := place("m"); err != nil {
					t.Error(err)
				}
			}
			if api.late != nil && !apierrors.IsConflict(api.patch(api.late)) {
				t.Error("what comes late is taken")
			}
			if api.node != one.node {
				t.Errorf("it is on %s, not on %s", api.node, one.node)
			}
			if now := api.object(); strings.HasPrefix(one.first, "refused") &&
				(len(api.conditions) != 3 || conditionOf(now, "Scheduled")["status"] != "True" || conditionOf(now, "Other")["status"] != "True") {
				t.Errorf("its conditions are %v", api.conditions)
			}
		})
	}
}

// A reservation that finds no node says why: over what others have written meanwhile, once, and not any more when it has a node.
func TestAReservationThatFindsNoNodeSaysWhy(t *testing.T) {
	of := &unstructured.Unstructured{Object: map[string]any{"apiVersion": Reservations.GroupVersion().String(), "kind": "Reservation"}}
	of.SetName("r")
	of.SetUID("r")
	ready := map[string]any{"type": "Ready", "status": "False", "reason": "Other"}
	_ = unstructured.SetNestedSlice(of.Object, []any{ready}, "status", "conditions")
	custom := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{Reservations: "ReservationList"}, of)
	patches, conflicts := 0, 1
	custom.PrependReactor("patch", "reservations", func(clienttesting.Action) (bool, runtime.Object, error) {
		patches++
		conflicts--
		return conflicts >= 0, nil, apierrors.NewConflict(Reservations.GroupResource(), "r", nil)
	})
	w := NewWriter(fake.NewClientset(), 1, time.Second)
	w.Custom(custom)
	say := func(why string, uid types.UID) {
		t.Helper()
		if err := w.writeRefusal(t.Context(), keyOf(of), refusal{uid, why}); err != nil {
			t.Fatal(err)
		}
	}
	now := func() *unstructured.Unstructured {
		t.Helper()
		object, err := custom.Resource(Reservations).Get(t.Context(), "r", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	scheduled := func(number int) map[string]any {
		t.Helper()
		all, _, _ := unstructured.NestedSlice(now().Object, "status", "conditions")
		if len(all) != 2 || !maps.Equal(all[0].(map[string]any), ready) || patches != number {
			t.Fatalf("after %d requests the conditions are %v", patches, all)
		}
		return all[1].(map[string]any)
	}
	say("0/1 nodes", "r") // conflicts once
	first := scheduled(2)
	if first["type"] != "Scheduled" || first["status"] != "False" || first["reason"] != "Unschedulable" || first["message"] != "0/1 nodes" {
		t.Error(first)
	}
	say("0/1 nodes", "r")
	scheduled(2)
	object := now()
	first["lastTransitionTime"] = "2026-01-02T03:04:05Z"
	_ = unstructured.SetNestedSlice(object.Object, []any{ready, first}, "status", "conditions")
	if _, err := custom.Resource(Reservations).UpdateStatus(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	say("0/2 nodes", "r")
	if second := scheduled(3); second["message"] != "0/2 nodes" || second["lastTransitionTime"] != first["lastTransitionTime"] {
		t.Error(second)
	}
	say("0/3 nodes", "another one")
	scheduled(3)
	conflicts = 5 // as often as it is tried at once
	if err := w.writeRefusal(t.Context(), keyOf(of), refusal{"r", "0/3 nodes"}); err == nil || !passing(err) {
		t.Errorf("it is not tried again: %v", err)
	}
	scheduled(8)
	object = now()
	for _, field := range []string{"nodeName", "phase"} {
		over := object.DeepCopy()
		_ = unstructured.SetNestedField(over.Object, map[string]any{"nodeName": "n", "phase": "Failed"}[field], "status", field)
		if _, err := custom.Resource(Reservations).UpdateStatus(t.Context(), over, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		say("0/3 nodes", "r")
		scheduled(8)
	}
	object.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	if _, err := custom.Resource(Reservations).Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	say("0/3 nodes", "r")
	scheduled(8)
}

// What others say of a reservation stays when it ends.
func TestAReservationThatEndsKeepsItsOtherConditions(t *testing.T) {
	of := &unstructured.Unstructured{Object: map[string]any{"apiVersion": Reservations.GroupVersion().String(), "kind": "Reservation"}}
	of.SetName("r")
	of.SetUID("r")
	now := of.DeepCopy()
	now.SetResourceVersion("2") // it has changed since
	_ = unstructured.SetNestedSlice(now.Object, []any{
		map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Other", "status": "True"},
	}, "status", "conditions")
	custom := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{Reservations: "ReservationList"}, now)
	patches := 0
	custom.PrependReactor("patch", "reservations", func(clienttesting.Action) (bool, runtime.Object, error) {
		patches++
		switch patches {
		case 1:
			return true, nil, apierrors.NewConflict(Reservations.GroupResource(), "r", nil)
		case 2:
			return true, nil, apierrors.NewTimeoutError("no answer", 1)
		}
		return false, nil, nil
	})
	w := NewWriter(fake.NewClientset(), 1, time.Second)
	w.Custom(custom)
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { w.Run(ctx); close(over) }()
	defer func() { end(); <-over }()
	w.Expire(of)
	eventually(t, "it has ended", func() bool {
		object, err := custom.Resource(Reservations).Get(t.Context(), "r", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		now = object
		phase, _, _ := unstructured.NestedString(now.Object, "status", "phase")
		return phase == "Failed"
	})
	if ready, other := conditionOf(now, "Ready"), conditionOf(now, "Other"); ready["status"] != "False" || other["status"] != "True" {
		t.Errorf("it says %v and %v", ready, other)
	}
}
