package loop

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

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
			const driver, class, claimed = "cards", "card", "c"
			for _, node := range []string{"full", "free"} {
				cpu := map[string]string{"full": "1", "free": "4"}[node]
				w.node(node, cpu)
				slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}}
				slice.Spec = resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "one"}}}
				w.box.Put(func() { w.mirror.SetSlice(slice, false) })
			}
			w.box.Put(func() {
				w.mirror.SetDeviceClass(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: resourcev1.DeviceClassSpec{
					Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "cards"`}}}}}, false)
			})
			claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claimed, UID: claimed, Finalizers: []string{resourcev1.Finalizer}}}
			claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, Count: 1}}}
			claim.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"full"}}}}}}}
			claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: driver, Pool: "full", Device: "one"}}
			for _, user := range now.users {
				claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: user, UID: types.UID(user)})
			}
			must(t, w.client.Tracker().Add(claim))
			w.box.Put(func() { w.mirror.SetClaim(claim) })
			claims := func(pod *corev1.Pod) {
				name := claimed
				pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: &name}}
			}
			if now.other != nil {
				w.pod("other", "0", claims, now.other)
			}
			w.pod("p", "2", claims)
			read := func() *resourcev1.ResourceClaim {
				made, err := w.client.ResourceV1().ResourceClaims("default").Get(t.Context(), claimed, metav1.GetOptions{})
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
