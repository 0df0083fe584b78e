package loop

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

// device is one in a node, of the class that claimOfDevice names.
func (w *world) device(node string, device resourcev1.Device) {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}}
	slice.Spec = resourcev1.ResourceSliceSpec{Driver: "cards", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}, Devices: []resourcev1.Device{device}}
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "card"}}
	class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "cards"`}}}
	w.box.Put(func() {
		w.mirror.SetSlice(slice, false)
		w.mirror.SetDeviceClass(class, false)
	})
}

func claimOfDevice(name string) *resourcev1.ResourceClaim {
	made := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Finalizers: []string{resourcev1.Finalizer}}}
	made.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "card", Count: 1}}}
	return made
}

func allocatedOn(node string, claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	claim.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}}
	claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "cards", Pool: node, Device: "one"}}
	return claim
}

func claiming(claim string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim}}
	}
}

// A pod is bound when its device can be used on the node, and not before.
func TestAPodWaitsForItsDevice(t *testing.T) {
	w := newWorld(t)
	w.node("n", "4")
	w.device("n", resourcev1.Device{Name: "one", BindingConditions: []string{"attached"}, BindingFailureConditions: []string{"broken"}})
	claim := claimOfDevice("c")
	must(t, w.client.Tracker().Add(claim))
	w.box.Put(func() { w.mirror.SetClaim(claim) })
	w.pod("p", "2", claiming("c"))
	claims := w.client.ResourceV1().ResourceClaims("default")
	read := func() *resourcev1.ResourceClaim {
		made, err := claims.Get(t.Context(), "c", metav1.GetOptions{})
		must(t, err)
		return made
	}
	w.eventually("it is allocated", func() bool { return read().Status.Allocation != nil })
	w.turns()
	if on := w.on("p"); on != "" {
		t.Error("it is bound to ", on)
	}
	is := read()
	is.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "cards", Pool: "n", Device: "one", Conditions: []metav1.Condition{{Type: "attached", Status: metav1.ConditionTrue}}}}
	_, err := claims.UpdateStatus(t.Context(), is, metav1.UpdateOptions{})
	must(t, err)
	w.eventually("it is bound", func() bool { return w.on("p") == "n" })
}

// A claim that stayed allocated for a pod that was not bound is given up if the pod finds no node with it, unless it may be another pod's.
func TestAnAllocationThatIsLeftOverIsGivenUp(t *testing.T) {
	for name, now := range map[string]struct {
		users []string
		other func(*corev1.Pod) // a pod that names it, too; nil: there is none
		freed bool
	}{
		"reserved for it":          {[]string{"p"}, nil, true},
		"for nothing":              {nil, nil, true},
		"for a pod that is gone":   {[]string{"gone"}, nil, false},
		"for it and another":       {[]string{"p", "other"}, nil, false},
		"for one that runs":        {nil, func(pod *corev1.Pod) { pod.Spec.NodeName = "full" }, false},
		"for one that waits, too":  {[]string{"p"}, func(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }, true},
		"for one of another claim": {[]string{"p"}, func(pod *corev1.Pod) { pod.Spec.ResourceClaims, pod.Spec.NodeName = nil, "full" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("full", "1")
			w.node("free", "4")
			w.device("full", resourcev1.Device{Name: "one"})
			w.device("free", resourcev1.Device{Name: "one"})
			claim := allocatedOn("full", claimOfDevice("c"))
			for _, user := range now.users {
				claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: user, UID: types.UID(user)})
			}
			must(t, w.client.Tracker().Add(claim))
			w.box.Put(func() { w.mirror.SetClaim(claim) })
			if now.other != nil {
				w.pod("other", "0", claiming("c"), now.other)
			}
			w.pod("p", "2", claiming("c"))
			read := func() *resourcev1.ResourceClaim {
				made, err := w.client.ResourceV1().ResourceClaims("default").Get(t.Context(), "c", metav1.GetOptions{})
				must(t, err)
				return made
			}
			if !now.freed {
				w.eventually("it is tried", func() bool {
					is, err := w.client.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{})
					return err == nil && len(is.Status.Conditions) != 0
				})
				w.turns()
				if is := read(); is.Status.Allocation == nil || len(is.Status.ReservedFor) != len(now.users) {
					t.Error(is.Status)
				}
				return
			}
			w.eventually("it is given up", func() bool { return read().Status.Allocation == nil })
			if is := read(); len(is.Status.ReservedFor) != 0 {
				t.Error(is.Status)
			}
			w.box.Put(func() { w.mirror.SetClaim(read()) })
			w.eventually("it is bound", func() bool { return w.on("p") == "free" })
			if is := read(); is.Status.Allocation == nil || is.Status.Allocation.Devices.Results[0].Pool != "free" || len(is.Status.ReservedFor) != 1 {
				t.Error(is.Status)
			}
		})
	}
}

// The node where it is may be gone, too: then no pod could ever use it.
func TestAnAllocationOnANodeThatIsGoneIsGivenUp(t *testing.T) {
	w := newWorld(t)
	w.node("free", "4")
	w.device("free", resourcev1.Device{Name: "one"})
	claim := allocatedOn("gone", claimOfDevice("c"))
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p"}}
	must(t, w.client.Tracker().Add(claim))
	w.box.Put(func() { w.mirror.SetClaim(claim) })
	w.pod("p", "2", claiming("c"))
	read := func() *resourcev1.ResourceClaim {
		made, err := w.client.ResourceV1().ResourceClaims("default").Get(t.Context(), "c", metav1.GetOptions{})
		must(t, err)
		return made
	}
	w.eventually("it is given up", func() bool { return read().Status.Allocation == nil })
	w.box.Put(func() { w.mirror.SetClaim(read()) })
	w.eventually("it is bound", func() bool { return w.on("p") == "free" })
}

// What could not be written is written again, though nothing else is to be said of the pod.
func TestAClaimWhoseDeallocationFailedIsGivenUpAgain(t *testing.T) {
	w := newWorld(t)
	var failed atomic.Bool
	w.client.PrependReactor("update", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		if failed.Swap(true) {
			return false, nil, nil
		}
		return true, nil, errors.New("the API server is not there")
	})
	w.node("free", "4")
	w.device("free", resourcev1.Device{Name: "one"})
	claim := allocatedOn("gone", claimOfDevice("c"))
	must(t, w.client.Tracker().Add(claim))
	w.box.Put(func() {
		w.Loop.patience = 10 * time.Millisecond
		w.mirror.SetClaim(claim)
	})
	w.pod("p", "2", claiming("c"))
	w.eventually("it is given up", func() bool {
		w.turns()
		made, err := w.client.ResourceV1().ResourceClaims("default").Get(t.Context(), "c", metav1.GetOptions{})
		must(t, err)
		return made.Status.Allocation == nil
	})
	if !failed.Load() {
		t.Error("it did not fail")
	}
}
