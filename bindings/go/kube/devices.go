package kube

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"gangsched"
)

// Devices is what the ResourceSlices of one node say is inside it: those of the newest generation of each pool. A device is called
// driver/pool/name, and its class is its driver. One with taints is kept from requests that do not tolerate them, if their tolerations are among
// those that are given here (TolerationsOf): before a claim with others is added, Devices has to be asked again. Errors, with what is in order beside
// them: a slice of devices that several nodes reach, an amount that is no whole number, a device that is shared and uses counters, or counters that no
// slice of its pool has.
func Devices(slices []*resourcev1.ResourceSlice, tolerated ...[]resourcev1.DeviceToleration) (*gangsched.NodeDevices, error) {
	newest := map[[2]string]int64{}
	for _, slice := range slices {
		pool := [2]string{slice.Spec.Driver, slice.Spec.Pool.Name}
		if known, ok := newest[pool]; !ok || slice.Spec.Pool.Generation > known {
			newest[pool] = slice.Spec.Pool.Generation
		}
	}
	made := &gangsched.NodeDevices{}
	var wrong []error
	counters := map[string]bool{}
	current := func(slice *resourcev1.ResourceSlice) bool {
		return slice.Spec.Pool.Generation == newest[[2]string{slice.Spec.Driver, slice.Spec.Pool.Name}]
	}
	for _, slice := range slices {
		if !current(slice) {
			continue
		}
		for _, set := range slice.Spec.SharedCounters {
			all, err := countersOf(&slice.Spec, set.Name, set.Counters)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("resource slice %s: %w", slice.Name, err))
				continue
			}
			for _, one := range all {
				if !counters[one.Name] {
					made.Counters = append(made.Counters, one)
				}
				counters[one.Name] = true
			}
		}
	}
	for _, slice := range slices {
		spec := &slice.Spec
		if !current(slice) {
			continue
		}
		if spec.NodeName == nil {
			wrong = append(wrong, fmt.Errorf("resource slice %s: devices that several nodes reach are not modelled", slice.Name))
			continue
		}
		for i := range spec.Devices {
			device, err := device(spec, &spec.Devices[i])
			for _, one := range device.Consumes {
				if err == nil && !counters[one.Name] {
					err = fmt.Errorf("no slice of its pool has the counter %s", one.Name)
				}
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("resource slice %s: device %s: %w", slice.Name, spec.Devices[i].Name, err))
				continue
			}
			device.Attributes = append(device.Attributes, refusals(spec.Devices[i].Taints, tolerated)...)
			made.Others = append(made.Others, device)
		}
	}
	return made, errors.Join(wrong...)
}

func device(in *resourcev1.ResourceSliceSpec, from *resourcev1.Device) (gangsched.OtherDevice, error) {
	made := gangsched.OtherDevice{ID: in.Driver + "/" + in.Pool.Name + "/" + from.Name, Class: in.Driver}
	made.Shared = from.AllowMultipleAllocations != nil && *from.AllowMultipleAllocations
	for name, attribute := range from.Attributes {
		one := gangsched.Attribute{Name: Qualified(in.Driver, string(name))}
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
		amount, err := whole(&capacity.Value)
		one := gangsched.Capacity{Name: Qualified(in.Driver, string(name)), Amount: amount}
		if err == nil && capacity.RequestPolicy != nil {
			one.Policy, err = policy(capacity.RequestPolicy)
		}
		if err != nil {
			return made, fmt.Errorf("capacity %s: %w", name, err)
		}
		made.Capacities = append(made.Capacities, one)
	}
	for i := range from.ConsumesCounters {
		all, err := countersOf(in, from.ConsumesCounters[i].CounterSet, from.ConsumesCounters[i].Counters)
		if err != nil {
			return made, err
		}
		made.Consumes = append(made.Consumes, all...)
	}
	if made.Shared && len(made.Consumes) != 0 {
		return made, fmt.Errorf("counters of a device that is shared are not modelled")
	}
	sort.Slice(made.Attributes, func(i, k int) bool { return made.Attributes[i].Name < made.Attributes[k].Name })
	sort.Slice(made.Capacities, func(i, k int) bool { return made.Capacities[i].Name < made.Capacities[k].Name })
	return made, nil
}

// whole is an amount as the cluster counts it.
func whole(amount *resource.Quantity) (int64, error) {
	made, fine := amount.AsInt64()
	if !fine || made < 0 {
		return 0, fmt.Errorf("%s is too much, or no whole number", amount)
	}
	return made, nil
}

// countersOf are those of a set, by their names in the node.
func countersOf(in *resourcev1.ResourceSliceSpec, set string, from map[string]resourcev1.Counter) (made []gangsched.NamedCount, err error) {
	for name, counter := range from {
		amount, err := whole(&counter.Value)
		if err != nil {
			return nil, fmt.Errorf("counter %s of %s: %w", name, set, err)
		}
		made = append(made, gangsched.NamedCount{Name: in.Driver + "/" + in.Pool.Name + "/" + set + "/" + name, Amount: amount})
	}
	sort.Slice(made, func(i, k int) bool { return made[i].Name < made[k].Name })
	return made, nil
}

func policy(from *resourcev1.CapacityRequestPolicy) (*gangsched.CapacityPolicy, error) {
	made := &gangsched.CapacityPolicy{}
	var wrong error
	read := func(amount *resource.Quantity) *int64 {
		if amount == nil {
			return nil
		}
		made, err := whole(amount)
		if err != nil {
			wrong = err
		}
		return &made
	}
	made.Standard = read(from.Default)
	for i := range from.ValidValues {
		made.Values = append(made.Values, *read(&from.ValidValues[i]))
	}
	sort.Slice(made.Values, func(i, k int) bool { return made.Values[i] < made.Values[k] })
	if valid := from.ValidRange; valid != nil {
		made.Least, made.Most, made.Step = read(valid.Min), read(valid.Max), read(valid.Step)
	}
	return made, wrong
}

// TolerationsOf are the lists of tolerations that a claim's requests have.
func TolerationsOf(claim *resourcev1.ResourceClaim) (made [][]resourcev1.DeviceToleration) {
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if one := request.Exactly; one != nil && len(one.Tolerations) != 0 {
			made = append(made, one.Tolerations)
		}
		for k := range request.FirstAvailable {
			if one := &request.FirstAvailable[k]; len(one.Tolerations) != 0 {
				made = append(made, one.Tolerations)
			}
		}
	}
	return made
}

// Tolerating is a name for a list of tolerations, by which lists can be told apart: the attribute of devices that a request with it may not have.
func Tolerating(all []resourcev1.DeviceToleration) string {
	made := "gangsched.dev/not-tolerated-by"
	for i := range all {
		made += fmt.Sprintf(" %s %s %s:%s", all[i].Key, all[i].Operator, all[i].Value, all[i].Effect)
	}
	return made
}

// refusals are such attributes, for each of these lists and for none.
func refusals(taints []resourcev1.DeviceTaint, lists [][]resourcev1.DeviceToleration) (made []gangsched.Attribute) {
	said := map[string]bool{}
	for _, list := range append(lists[:len(lists):len(lists)], nil) {
		name := Tolerating(list)
		if !said[name] && !toleratesAll(list, taints) {
			made = append(made, gangsched.Attribute{Name: name, Value: gangsched.TruthValue(true)})
		}
		said[name] = true
	}
	sort.Slice(made, func(i, k int) bool { return made[i].Name < made[k].Name })
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

// Qualified: "model" of the driver gpu.example.com is gpu.example.com/model.
func Qualified(driver, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return driver + "/" + name
}

// Classes leads from the name of a DeviceClass to it; nil if there is none.
type Classes func(name string) *resourcev1.DeviceClass

// Claim is a ResourceClaim as the cluster takes it, with what is allocated. It is allocated on the node of its devices, if the cluster has that node.
// Error: it names a DeviceClass that does not exist, or requests more devices than possible.
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
		switch {
		case constraint.MatchAttribute != nil:
			one.Attribute = string(*constraint.MatchAttribute)
		case constraint.DistinctAttribute != nil:
			one.Attribute, one.Distinct = string(*constraint.DistinctAttribute), true
		}
		for _, name := range constraint.Requests {
			main, alternative, is := strings.Cut(name, "/")
			number, known := numbers[main]
			place := int32(-1)
			if known && is {
				place = int32(slices.IndexFunc(from.Spec.Devices.Requests[number].FirstAvailable, func(each resourcev1.DeviceSubRequest) bool { return each.Name == alternative }))
			}
			switch {
			case !known || is && place < 0:
				return nil, fmt.Errorf("resource claim %s/%s: a constraint is about %s, which it does not request", from.Namespace, from.Name, name)
			case is:
				one.Alternatives = append(one.Alternatives, gangsched.Alternative{Request: number, Place: place})
			default:
				one.Requests = append(one.Requests, number)
			}
		}
		made.Constraints = append(made.Constraints, one)
	}
	made.MostPods = mostPods(from)
	if from.Status.Allocation != nil {
		for i := range from.Status.Allocation.Devices.Results {
			result := &from.Status.Allocation.Devices.Results[i]
			held := gangsched.HeldDevice{ID: idOf(result), Capacities: consumed(result)}
			main, _, _ := strings.Cut(result.Request, "/")
			if number, known := numbers[main]; known {
				held.Request = &number
			}
			made.HeldDevices = append(made.HeldDevices, held)
		}
		if node := NodeOf(from.Status.Allocation.NodeSelector); node != "" {
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
		made.HeldDevices = append(made.HeldDevices, gangsched.HeldDevice{ID: idOf(result), Request: &number, Capacities: consumed(result)})
	}
	if node := NodeOf(from.Status.Allocation.NodeSelector); node != "" {
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

// consumed is what a device that is shared has for a claim. What is no whole number counts as the next one.
func consumed(of *resourcev1.DeviceRequestAllocationResult) (made []gangsched.NamedCount) {
	for name, amount := range of.ConsumedCapacity {
		made = append(made, gangsched.NamedCount{Name: Qualified(of.Driver, string(name)), Amount: amount.Value()})
	}
	sort.Slice(made, func(i, k int) bool { return made[i].Name < made[k].Name })
	return made
}

func idOf(result *resourcev1.DeviceRequestAllocationResult) string {
	return result.Driver + "/" + result.Pool + "/" + result.Device
}

func deviceRequest(from *resourcev1.DeviceRequest, classes Classes) (gangsched.DeviceRequest, error) {
	if from.Exactly != nil {
		made, err := exactRequest(from.Exactly, classes)
		made.Name = from.Name
		return made, err
	}
	made := gangsched.DeviceRequest{Name: from.Name}
	if len(from.FirstAvailable) == 0 {
		return made, fmt.Errorf("it asks for nothing")
	}
	for i := range from.FirstAvailable {
		sub := &from.FirstAvailable[i]
		one, err := exactRequest(&resourcev1.ExactDeviceRequest{
			DeviceClassName: sub.DeviceClassName, Selectors: sub.Selectors, AllocationMode: sub.AllocationMode, Count: sub.Count, Tolerations: sub.Tolerations, Capacity: sub.Capacity,
		}, classes)
		if err != nil {
			return made, fmt.Errorf("alternative %s: %w", sub.Name, err)
		}
		one.Name = sub.Name
		made.FirstOf = append(made.FirstOf, one)
	}
	return made, nil
}

func exactRequest(exactly *resourcev1.ExactDeviceRequest, classes Classes) (made gangsched.DeviceRequest, err error) {
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
	made.Selectors = []gangsched.AttributeSelector{{Attribute: Tolerating(exactly.Tolerations), Op: gangsched.HasNot}}
	if exactly.Capacity != nil {
		for name, amount := range exactly.Capacity.Requests {
			asked, err := whole(&amount)
			full := string(name)
			if driver := driverOf(made.CEL); driver != "" {
				full = Qualified(driver, full)
			}
			if err == nil && !strings.Contains(full, "/") {
				err = fmt.Errorf("it is not known whose it is")
			}
			if err != nil {
				return made, fmt.Errorf("capacity %s: %w", name, err)
			}
			made.Capacities = append(made.Capacities, gangsched.NamedCount{Name: full, Amount: asked})
		}
		sort.Slice(made.Capacities, func(i, k int) bool { return made.Capacities[i].Name < made.Capacities[k].Name })
	}
	return made, nil
}

var namesDriver = regexp.MustCompile(`device\.driver\s*==\s*(?:"([^"]+)"|'([^']+)')`)

// driverOf is the driver that expressions name; "": none, or one of several.
func driverOf(expressions []string) (made string) {
	for _, one := range expressions {
		for _, found := range namesDriver.FindAllStringSubmatch(one, -1) {
			if name := found[1] + found[2]; made == "" || made == name {
				made = name
			} else {
				return ""
			}
		}
	}
	return made
}

func expressions(all []resourcev1.DeviceSelector) (made []string) {
	for i := range all {
		if all[i].CEL != nil {
			made = append(made, all[i].CEL.Expression)
		}
	}
	return made
}

// NodeOf is the only node that a selector selects, "" if it is another selector: allocations of devices inside a node have one like that.
func NodeOf(selector *corev1.NodeSelector) string {
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
		name, needsNone := one.ResourceClaimName, false
		for k := range of.Status.ResourceClaimStatuses { // what was made of a template
			if name == nil && of.Status.ResourceClaimStatuses[k].Name == one.Name {
				name = of.Status.ResourceClaimStatuses[k].ResourceClaimName
				needsNone = name == nil // of the template there was nothing to make
			}
		}
		if needsNone {
			continue
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
