package kube

import (
	"fmt"
	"slices"
	"sort"

	resourcev1 "k8s.io/api/resource/v1"

	"gangsched"
)

// Tolerations are those of a request of devices.
type Tolerations struct {
	List []resourcev1.DeviceToleration
	All  bool // it is for all devices that its selectors admit: it fails where it does not tolerate one
}

// TolerationsOf are those of a claim's requests that devices have to know of: lists of tolerations, and those of requests for all devices.
func TolerationsOf(claim *resourcev1.ResourceClaim) (made []Tolerations) {
	add := func(list []resourcev1.DeviceToleration, mode resourcev1.DeviceAllocationMode) {
		if all := mode == resourcev1.DeviceAllocationModeAll; all || len(list) != 0 {
			made = append(made, Tolerations{list, all})
		}
	}
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if one := request.Exactly; one != nil {
			add(one.Tolerations, one.AllocationMode)
		}
		for k := range request.FirstAvailable {
			add(request.FirstAvailable[k].Tolerations, request.FirstAvailable[k].AllocationMode)
		}
	}
	return made
}

// Attribute is a name by which tolerations can be told apart: the attribute of devices that a request with them may not have, or of a request for all
// devices, that all of them must have.
func (t Tolerations) Attribute() string {
	made := "gangsched.dev/not-tolerated-by"
	if t.All {
		made = "gangsched.dev/tolerated-by"
	}
	for i := range t.List {
		made += fmt.Sprintf(" %s %s %s:%s", t.List[i].Key, t.List[i].Operator, t.List[i].Value, t.List[i].Effect)
	}
	return made
}

// heldBack is the attribute of devices of a pool that is not whole. (They are not unhealthy: claims that have one keep it.)
const heldBack = "gangsched.dev/pool-is-not-whole"

// attributesFor are such attributes of a device, for each of these tolerations and for none. Those of a pool that is not whole are for no request.
func attributesFor(taints []resourcev1.DeviceTaint, whole bool, those []Tolerations) (made []gangsched.Attribute) {
	add := func(name string) {
		made = append(made, gangsched.Attribute{Name: name, Value: gangsched.TruthValue(true)})
	}
	if !whole {
		add(heldBack)
	}
	said := map[string]bool{}
	for _, one := range append(those[:len(those):len(those)], Tolerations{}) {
		name, tolerated := one.Attribute(), toleratesAll(one.List, taints)
		if !said[name] && (one.All && tolerated && whole || !one.All && !tolerated) {
			add(name)
		}
		said[name] = true
	}
	sort.Slice(made, func(i, k int) bool { return made[i].Name < made[k].Name })
	return made
}

// tolerateAll is what a claim's requests for all devices have to tolerate, as constraints: a device that one does not tolerate fails it.
func tolerateAll(claim *resourcev1.ResourceClaim) (made []gangsched.DeviceConstraint) {
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if one := request.Exactly; one != nil && one.AllocationMode == resourcev1.DeviceAllocationModeAll {
			made = append(made, gangsched.DeviceConstraint{Attribute: Tolerations{one.Tolerations, true}.Attribute(), Requests: []int32{int32(i)}})
		}
		for k := range request.FirstAvailable {
			if one := &request.FirstAvailable[k]; one.AllocationMode == resourcev1.DeviceAllocationModeAll {
				made = append(made, gangsched.DeviceConstraint{
					Attribute: Tolerations{one.Tolerations, true}.Attribute(), Alternatives: []gangsched.Alternative{{Request: int32(i), Place: int32(k)}},
				})
			}
		}
	}
	return made
}

func toleratesAll(list []resourcev1.DeviceToleration, taints []resourcev1.DeviceTaint) bool {
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != resourcev1.DeviceTaintEffectNoSchedule && taint.Effect != resourcev1.DeviceTaintEffectNoExecute {
			continue
		}
		if !slices.ContainsFunc(list, func(one resourcev1.DeviceToleration) bool { return tolerates(&one, taint) }) {
			return false
		}
	}
	return true
}

func tolerates(one *resourcev1.DeviceToleration, taint *resourcev1.DeviceTaint) bool {
	return (one.Effect == "" || one.Effect == taint.Effect) && (one.Key == "" || one.Key == taint.Key) &&
		(one.Operator == resourcev1.DeviceTolerationOpExists ||
			(one.Operator == "" || one.Operator == resourcev1.DeviceTolerationOpEqual) && one.Value == taint.Value)
}
