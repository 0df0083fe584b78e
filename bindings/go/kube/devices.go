package kube

import (
	"fmt"
	"math"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"gangsched"
)

// Devices is what the ResourceSlices of one node say is inside it: those of the newest generation of each pool. A device is called
// driver/pool/name, and its class is its driver. Error: a slice of devices that several nodes reach, a capacity that is no whole number.
func Devices(slices []*resourcev1.ResourceSlice) (*gangsched.NodeDevices, error) {
	newest := map[[2]string]int64{}
	for _, slice := range slices {
		pool := [2]string{slice.Spec.Driver, slice.Spec.Pool.Name}
		if known, ok := newest[pool]; !ok || slice.Spec.Pool.Generation > known {
			newest[pool] = slice.Spec.Pool.Generation
		}
	}
	made := &gangsched.NodeDevices{}
	for _, slice := range slices {
		spec := &slice.Spec
		if spec.Pool.Generation != newest[[2]string{spec.Driver, spec.Pool.Name}] {
			continue
		}
		if spec.NodeName == nil {
			return nil, fmt.Errorf("resource slice %s: devices that several nodes reach are not modelled", slice.Name)
		}
		for i := range spec.Devices {
			device, err := device(spec, &spec.Devices[i])
			if err != nil {
				return nil, fmt.Errorf("resource slice %s: device %s: %w", slice.Name, spec.Devices[i].Name, err)
			}
			made.Others = append(made.Others, device)
		}
	}
	return made, nil
}

func device(in *resourcev1.ResourceSliceSpec, from *resourcev1.Device) (gangsched.OtherDevice, error) {
	made := gangsched.OtherDevice{ID: in.Driver + "/" + in.Pool.Name + "/" + from.Name, Class: in.Driver}
	for name, attribute := range from.Attributes {
		one := gangsched.Attribute{Name: qualified(in.Driver, string(name))}
		switch {
		case attribute.IntValue != nil:
			one.Value = gangsched.NumberValue(*attribute.IntValue)
		case attribute.BoolValue != nil:
			one.Value = gangsched.TruthValue(*attribute.BoolValue)
		case attribute.StringValue != nil:
			one.Value = gangsched.TextValue(*attribute.StringValue)
		case attribute.VersionValue != nil:
			one.Value = gangsched.TextValue(*attribute.VersionValue)
		}
		made.Attributes = append(made.Attributes, one)
	}
	for name, capacity := range from.Capacity {
		amount, whole := capacity.Value.AsInt64()
		if !whole || amount < 0 {
			return made, fmt.Errorf("capacity %s: %s is too much, or no whole number", name, capacity.Value.String())
		}
		made.Capacities = append(made.Capacities, gangsched.Capacity{Name: qualified(in.Driver, string(name)), Amount: amount})
	}
	sort.Slice(made.Attributes, func(i, k int) bool { return made.Attributes[i].Name < made.Attributes[k].Name })
	sort.Slice(made.Capacities, func(i, k int) bool { return made.Capacities[i].Name < made.Capacities[k].Name })
	return made, nil
}

// qualified: "model" of the driver gpu.example.com is gpu.example.com/model.
func qualified(driver, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return driver + "/" + name
}

// Classes leads from the name of a DeviceClass to it; nil if there is none.
type Classes func(name string) *resourcev1.DeviceClass

// Claim is a ResourceClaim as the cluster takes it, with what is allocated. It is allocated on the node of its devices, if the cluster has that node.
// Error: it names a DeviceClass that does not exist, requests more devices than possible, or has alternatives (firstAvailable).
// Selectors that are not understood are refused only when the claim is added to the cluster.
func Claim(from *resourcev1.ResourceClaim, classes Classes, in Names) (*gangsched.ResourceClaimSpec, error) {
	made := &gangsched.ResourceClaimSpec{Name: from.Name, Namespace: from.Namespace}
	numbers := map[string]int32{}
	for i := range from.Spec.Devices.Requests {
		request, err := deviceRequest(&from.Spec.Devices.Requests[i], classes)
		if err != nil {
			return nil, fmt.Errorf("resource claim %s/%s: request %s: %w", from.Namespace, from.Name, request.Name, err)
		}
		numbers[request.Name] = int32(i)
		made.Devices = append(made.Devices, request)
	}
	for _, constraint := range from.Spec.Devices.Constraints {
		one := gangsched.DeviceConstraint{}
		if constraint.MatchAttribute != nil {
			one.Attribute = string(*constraint.MatchAttribute)
		}
		for _, name := range constraint.Requests {
			number, known := numbers[name]
			if !known {
				return nil, fmt.Errorf("resource claim %s/%s: a constraint is about %s, which it does not request", from.Namespace, from.Name, name)
			}
			one.Requests = append(one.Requests, number)
		}
		made.Constraints = append(made.Constraints, one)
	}
	made.MostPods = mostPods(from)
	if from.Status.Allocation != nil {
		for i := range from.Status.Allocation.Devices.Results {
			result := &from.Status.Allocation.Devices.Results[i]
			held := gangsched.HeldDevice{ID: idOf(result)}
			if number, known := numbers[result.Request]; known {
				held.Request = &number
			}
			made.HeldDevices = append(made.HeldDevices, held)
		}
		if node := nodeOf(from.Status.Allocation.NodeSelector); node != "" {
			made.Node = in.FindNode(node)
		}
	}
	return made, nil
}

// AllocatedClaim is a ResourceClaim by nothing but what is allocated to it, for one that Claim or the cluster does not take: so its devices are in use.
// Nobody may be placed with it that it is not allocated for. Nil: nothing is allocated.
func AllocatedClaim(from *resourcev1.ResourceClaim, in Names) *gangsched.ResourceClaimSpec {
	if from.Status.Allocation == nil {
		return nil
	}
	made := &gangsched.ResourceClaimSpec{Name: from.Name, Namespace: from.Namespace, MostPods: mostPods(from)}
	for i := range from.Status.Allocation.Devices.Results {
		result := &from.Status.Allocation.Devices.Results[i]
		number := int32(i)
		made.Devices = append(made.Devices, gangsched.DeviceRequest{Name: result.Request, Class: result.Driver, Admin: result.AdminAccess != nil && *result.AdminAccess})
		made.HeldDevices = append(made.HeldDevices, gangsched.HeldDevice{ID: idOf(result), Request: &number})
	}
	if node := nodeOf(from.Status.Allocation.NodeSelector); node != "" {
		made.Node = in.FindNode(node)
	}
	return made
}

// mostPods: a pod group reserves a claim once, however many members it has.
func mostPods(of *resourcev1.ResourceClaim) *int32 {
	for _, user := range of.Status.ReservedFor {
		if user.Resource == "podgroups" {
			return new(int32)
		}
	}
	return nil
}

func idOf(result *resourcev1.DeviceRequestAllocationResult) string {
	return result.Driver + "/" + result.Pool + "/" + result.Device
}

func deviceRequest(from *resourcev1.DeviceRequest, classes Classes) (gangsched.DeviceRequest, error) {
	made := gangsched.DeviceRequest{Name: from.Name}
	exactly := from.Exactly
	if exactly == nil {
		return made, fmt.Errorf("alternatives are not modelled")
	}
	made.All = exactly.AllocationMode == resourcev1.DeviceAllocationModeAll
	made.Admin = exactly.AdminAccess != nil && *exactly.AdminAccess
	if exactly.Count < 0 || exactly.Count > math.MaxInt32 {
		return made, fmt.Errorf("a count of %d", exactly.Count)
	}
	made.Count = int32(exactly.Count)
	class := classes(exactly.DeviceClassName)
	if class == nil {
		return made, fmt.Errorf("there is no device class %q", exactly.DeviceClassName)
	}
	made.CEL = append(expressions(class.Spec.Selectors), expressions(exactly.Selectors)...)
	return made, nil
}

func expressions(all []resourcev1.DeviceSelector) (made []string) {
	for i := range all {
		if all[i].CEL != nil {
			made = append(made, all[i].CEL.Expression)
		}
	}
	return made
}

// nodeOf is the only node that a selector selects, "" if it is another selector: allocations of devices inside a node have one like that.
func nodeOf(selector *corev1.NodeSelector) string {
	if selector == nil || len(selector.NodeSelectorTerms) != 1 {
		return ""
	}
	for _, one := range selector.NodeSelectorTerms[0].MatchFields {
		if one.Key == "metadata.name" && one.Operator == corev1.NodeSelectorOpIn && len(one.Values) == 1 {
			return one.Values[0]
		}
	}
	return ""
}

// claims are the ids of a pod's claims. Error: one is not there.
func claims(of *corev1.Pod, in Names) ([]gangsched.ResourceClaimID, error) {
	var made []gangsched.ResourceClaimID
	for i := range of.Spec.ResourceClaims {
		one := &of.Spec.ResourceClaims[i]
		name := one.ResourceClaimName
		for k := range of.Status.ResourceClaimStatuses { // what was made of a template
			if name == nil && of.Status.ResourceClaimStatuses[k].Name == one.Name {
				name = of.Status.ResourceClaimStatuses[k].ResourceClaimName
			}
		}
		if name == nil {
			return nil, fmt.Errorf("pod %s/%s: claim %s is not made yet", of.Namespace, of.Name, one.Name)
		}
		id := in.FindResourceClaim(of.Namespace, *name)
		if id == 0 {
			return nil, fmt.Errorf("pod %s/%s: there is no claim %q", of.Namespace, of.Name, *name)
		}
		made = append(made, id)
	}
	return made, nil
}
