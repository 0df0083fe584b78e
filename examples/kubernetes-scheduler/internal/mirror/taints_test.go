package mirror

import (
	"fmt"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func ruleOf(which *resourcev1beta2.DeviceTaintSelector) *resourcev1beta2.DeviceTaintRule {
	made := &resourcev1beta2.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "rule"}}
	made.Spec.DeviceSelector = which
	made.Spec.Taint = resourcev1beta2.DeviceTaint{Key: "broken", Effect: resourcev1beta2.DeviceTaintEffectNoSchedule}
	return made
}

// A DeviceTaintRule taints the devices that its selector is about, as long as it says so.
func TestATaintRuleTaintsTheDevicesThatItSelects(t *testing.T) {
	text := func(of string) *string { return &of }
	for name, now := range map[string]struct {
		which  *resourcev1beta2.DeviceTaintSelector
		before string // what the pod gets before the rule is changed or gone
	}{
		"all":            {nil, ""},
		"of the driver":  {&resourcev1beta2.DeviceTaintSelector{Driver: text("cards")}, ""},
		"of another one": {&resourcev1beta2.DeviceTaintSelector{Driver: text("discs")}, "[a/small0]"},
		"of the pool":    {&resourcev1beta2.DeviceTaintSelector{Driver: text("cards"), Pool: text("a")}, ""},
		"of another":     {&resourcev1beta2.DeviceTaintSelector{Pool: text("b")}, "[a/small0]"},
		"of a name":      {&resourcev1beta2.DeviceTaintSelector{Device: text("small0")}, "[a/small1]"},
	} {
		for _, gone := range []bool{false, true} {
			t.Run(fmt.Sprint(name, gone), func(t *testing.T) {
				w := cards(t)
				w.SetSlice(sliceOf("a", "small0", "small1"), false)
				w.SetTaintRule(ruleOf(now.which), false)
				w.SetClaim(claimOf("c", "1"))
				pod := claiming("p", "c")
				w.SetPod(pod)
				if now.before != "" {
					w.want(w.turn(), "[p bind]")
					w.want(w.devices(pod), now.before)
					return
				}
				w.want(w.turn(), "[p reject]")
				if tolerant := claimOf("tolerant", "2"); !gone {
					tolerant.Spec.Devices.Requests[0].Exactly.Tolerations = []resourcev1.DeviceToleration{{Operator: resourcev1.DeviceTolerationOpExists}}
					w.SetClaim(tolerant)
					other := claiming("q", "tolerant")
					w.SetPod(other)
					w.want(w.turn(), "[q bind]")
					w.want(w.devices(other), "[a/small0]")
				}
				if gone {
					w.SetTaintRule(ruleOf(now.which), true)
				} else {
					elsewhere := "b"
					w.SetTaintRule(ruleOf(&resourcev1beta2.DeviceTaintSelector{Pool: &elsewhere}), false)
				}
				w.want(w.turn(), "[p bind]")
			})
		}
	}
}

// A claim for all devices is told to devices that no claim tolerates anything of.
func TestAClaimOfAllDevicesGetsThem(t *testing.T) {
	w := cards(t)
	w.SetSlice(sliceOf("a", "small0", "small1"), false)
	claim, pod := claimOf("c", "1"), claiming("p", "c")
	claim.Spec.Devices.Requests[0].Exactly.AllocationMode, claim.Spec.Devices.Requests[0].Exactly.Count = resourcev1.DeviceAllocationModeAll, 0
	w.SetClaim(claim)
	w.SetPod(pod)
	w.want(w.turn(), "[p bind]")
	w.want(w.devices(pod), "[a/small0 a/small1]")
}

// A pool of two nodes is whole when the last of its slices is there, whichever node that is for.
func TestAPoolOfSeveralNodesIsWholeWithTheLastSlice(t *testing.T) {
	w := cards(t)
	slice := func(node string) *resourcev1.ResourceSlice {
		made := sliceOf(node, "small-"+node)
		made.Spec.Pool.Name, made.Spec.Pool.ResourceSliceCount = "both", 2
		return made
	}
	w.SetSlice(slice("a"), false)
	w.SetClaim(claimOf("c", "1"))
	pod := claiming("p", "c")
	w.SetPod(pod)
	w.want(w.turn(), "[p reject]")
	w.RemoveNode("b")
	w.SetSlice(slice("b"), false)
	w.want(w.turn(), "[p bind]")
	w.want(w.devices(pod), "[both/small-a]")
}

// Took half a minute: each slice of a pool had all its nodes looked at, and for each node all slices.
func TestAPoolOfManyNodesIsReadInAShortTime(t *testing.T) {
	w := newWorld(t)
	const count = 400
	began := time.Now()
	for i := range count {
		name := fmt.Sprint("n", i)
		w.SetNode(nodeOf(name, "4"))
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
		slice.Spec = resourcev1.ResourceSliceSpec{Driver: "cards", NodeName: &name, Pool: resourcev1.ResourcePool{Name: "all", ResourceSliceCount: count}}
		for k := range 8 {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint(name, "-", k)})
		}
		w.SetSlice(slice, false)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Error("it took ", took)
	}
}

// Devices that have to be waited for are written with their conditions, and given after others.
func TestDevicesWithBindingConditionsComeLast(t *testing.T) {
	w := cards(t)
	slow, fast := sliceOf("a", "slow"), sliceOf("a", "fast")
	slow.Name, slow.Spec.Pool.Name = "1", "1"
	fast.Name, fast.Spec.Pool.Name = "2", "2"
	slow.Spec.Devices[0].BindingConditions, slow.Spec.Devices[0].BindingFailureConditions = []string{"attached"}, []string{"broken"}
	w.SetSlice(slow, false)
	w.SetSlice(fast, false)
	for i, wanted := range []string{"2/fast [] []", "1/slow [attached] [broken]"} {
		name := fmt.Sprint("c", i)
		w.SetClaim(claimOf(name, name))
		w.SetPod(claiming("p-"+name, name))
		w.want(w.turn(), "[p-"+name+" bind]")
		made, err := w.Allocations(w.Find(nameOf(claiming("p-"+name))), "a")
		if err != nil {
			t.Fatal(err)
		}
		one := made[0].Allocation.Devices.Results[0]
		w.want(fmt.Sprint(one.Pool, "/", one.Device, " ", one.BindingConditions, " ", one.BindingFailureConditions), wanted)
	}
}

// A class that says nothing of a driver is for the devices of the only one, while there is only one.
func TestAClassWithoutADriverIsForTheOnlyOne(t *testing.T) {
	w := cards(t)
	class := classOf("card", "")
	class.Spec.Selectors = nil
	w.SetDeviceClass(class, false)
	w.SetClaim(claimOf("c", "1"))
	first, second := claiming("p", "c"), claiming("q", "d")
	w.SetPod(first)
	w.want(w.turn(), "[]")
	w.SetSlice(sliceOf("a", "small0", "small1"), false)
	w.want(w.turn(), "[p bind]")
	w.want(w.devices(first), "[a/small0]")
	w.SetClaim(claimOf("d", "2"))
	other := sliceOf("b", "disc0")
	other.Spec.Driver = "discs"
	w.SetSlice(other, false)
	w.SetPod(second)
	w.want(w.turn(), "[]")
	w.want(w.Find(nameOf(second)).Refused, `pod default/q: resource claim default/d: request r: device class "card" and its selectors name no driver, and there is not just one`)
	w.SetSlice(other, true)
	w.want(w.turn(), "[q bind]")
	w.want(w.devices(second), "[a/small1]")
}
