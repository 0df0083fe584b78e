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

// Devices is what ResourceSlices say is inside a node: those of the newest generation of each pool. A device is called driver/pool/name, and its class is
// its driver. The slices are all those of the pools that have devices in the node, whatever node a slice is for: nothing is given out of a pool that has
// not as many slices as it says, or two devices of one name. A device with taints is kept from requests that do not tolerate them, if their tolerations are
// among those that are given here (TolerationsOf): before a claim with others is added, Devices has to be asked again. Errors, with what is in order beside
// them: a slice of devices that several nodes reach, two devices of one name, an amount that is no whole number, a device that is shared and uses
// counters, or counters that no slice of its pool has.
func Devices(node string, slices []*resourcev1.ResourceSlice, tolerated ...Tolerations) (*gangsched.NodeDevices, error) {
	made := &gangsched.NodeDevices{}
	var wrong []error
	pools := poolsOf(slices)
	here := func(slice *resourcev1.ResourceSlice) bool {
		return slice.Spec.NodeName != nil && *slice.Spec.NodeName == node && pools[poolOf(slice)].generation == slice.Spec.Pool.Generation
	}
	counters := map[string]bool{}
	for _, slice := range slices {
		if !here(slice) {
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
	named := map[string]bool{}
	for _, slice := range slices {
		spec := &slice.Spec
		if spec.NodeName == nil && len(spec.Devices) != 0 {
			wrong = append(wrong, fmt.Errorf("resource slice %s: devices that several nodes reach are not modelled", slice.Name))
		}
		if !here(slice) {
			continue
		}
		for i := range spec.Devices {
			device, err := device(spec, &spec.Devices[i])
			for _, one := range device.Consumes {
				if err == nil && !counters[one.Name] {
					err = fmt.Errorf("no slice of its pool has the counter %s", one.Name)
				}
			}
			if err == nil && named[device.ID] {
				err = errors.New("another device of its pool has this name: nothing of the pool is given out")
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("resource slice %s: device %s: %w", slice.Name, spec.Devices[i].Name, err))
				continue
			}
			named[device.ID] = true
			device.Attributes = append(device.Attributes, attributesFor(spec.Devices[i].Taints, pools[poolOf(slice)].whole(), tolerated)...)
			made.Others = append(made.Others, device)
		}
	}
	return made, errors.Join(wrong...)
}

// Pool is all that Devices of a node depends on of a pool's slices of other nodes.
type Pool struct {
	Generation int64 // the newest
	Whole      bool  // all slices of that are there, and no two devices have one name
}

// PoolOf is what the slices of one pool say of it. O(devices).
func PoolOf(slices []*resourcev1.ResourceSlice) (made Pool) {
	for _, its := range poolsOf(slices) {
		made = Pool{its.generation, its.whole()}
	}
	return made
}

// pool is what slices say of a pool in its newest generation.
type pool struct {
	generation, slices, count int64
	names                     map[string]bool // of devices
	twice                     bool            // two devices have one name
}

func poolOf(slice *resourcev1.ResourceSlice) [2]string {
	return [2]string{slice.Spec.Driver, slice.Spec.Pool.Name}
}

func poolsOf(slices []*resourcev1.ResourceSlice) map[[2]string]*pool {
	made := map[[2]string]*pool{}
	for _, slice := range slices {
		spec := &slice.Spec
		its := made[poolOf(slice)]
		if its == nil || its.generation < spec.Pool.Generation {
			its = &pool{generation: spec.Pool.Generation, count: spec.Pool.ResourceSliceCount, names: map[string]bool{}}
			made[poolOf(slice)] = its
		}
		if its.generation > spec.Pool.Generation {
			continue
		}
		its.slices++
		for i := range spec.Devices {
			its.twice = its.twice || its.names[spec.Devices[i].Name]
			its.names[spec.Devices[i].Name] = true
		}
	}
	return made
}

// whole says whether all slices of a pool are there, and tell its devices apart. (A count of 0 is none.)
func (p *pool) whole() bool { return (p.count == 0 || p.slices == p.count) && !p.twice }

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
// A request whose selectors name no driver is for devices of the only one: drivers are those that have slices.
// Error: it names a DeviceClass that does not exist, requests more devices than possible, or names no driver where there are several.
// Selectors that are not understood are refused only when the claim is added to the cluster.
func Claim(from *resourcev1.ResourceClaim, classes Classes, in Names, drivers ...string) (*gangsched.ResourceClaimSpec, error) {
	made := &gangsched.ResourceClaimSpec{Name: from.Name, Namespace: from.Namespace}
	numbers := map[string]int32{}
	for i := range from.Spec.Devices.Requests {
		request, err := deviceRequest(&from.Spec.Devices.Requests[i], classes, drivers)
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
	made.Constraints = append(made.Constraints, tolerateAll(from)...)
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
// No pod may be placed with it that it is not allocated for. Nil: nothing is allocated.
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

func deviceRequest(from *resourcev1.DeviceRequest, classes Classes, drivers []string) (gangsched.DeviceRequest, error) {
	if from.Exactly != nil {
		made, err := exactRequest(from.Exactly, classes, drivers)
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
		}, classes, drivers)
		if err != nil {
			return made, fmt.Errorf("alternative %s: %w", sub.Name, err)
		}
		one.Name = sub.Name
		made.FirstOf = append(made.FirstOf, one)
	}
	return made, nil
}

func exactRequest(exactly *resourcev1.ExactDeviceRequest, classes Classes, drivers []string) (made gangsched.DeviceRequest, err error) {
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
	driver := driverOf(made.CEL)
	if driver == "" && len(drivers) == 1 {
		driver = drivers[0]
		made.Class = driver
	}
	if driver == "" {
		return made, fmt.Errorf("device class %q and its selectors name no driver, and there is not just one", exactly.DeviceClassName)
	}
	if !made.All { // else it is a constraint
		for _, name := range []string{heldBack, Tolerations{List: exactly.Tolerations}.Attribute()} {
			made.Selectors = append(made.Selectors, gangsched.AttributeSelector{Attribute: name, Op: gangsched.HasNot})
		}
	}
	if exactly.Capacity == nil {
		return made, nil
	}
	for name, amount := range exactly.Capacity.Requests {
		asked, err := whole(&amount)
		if err != nil {
			return made, fmt.Errorf("capacity %s: %w", name, err)
		}
		made.Capacities = append(made.Capacities, gangsched.NamedCount{Name: Qualified(driver, string(name)), Amount: asked})
	}
	sort.Slice(made.Capacities, func(i, k int) bool { return made.Capacities[i].Name < made.Capacities[k].Name })
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

// ResourceClaimOf is the name of the ResourceClaim that an entry of a pod's spec.resourceClaims stands for; of one with a template what its status says.
// "": none is needed. False: it is not made yet.
func ResourceClaimOf(pod *corev1.Pod, entry *corev1.PodResourceClaim) (name string, made bool) {
	if entry.ResourceClaimName != nil {
		return *entry.ResourceClaimName, true
	}
	for i := range pod.Status.ResourceClaimStatuses {
		if one := &pod.Status.ResourceClaimStatuses[i]; one.Name == entry.Name {
			if one.ResourceClaimName == nil { // of the template there was nothing to make
				return "", true
			}
			return *one.ResourceClaimName, true
		}
	}
	return "", false
}

// claims are the ids of a pod's claims. Error: one is not there.
func claims(of *corev1.Pod, in Names) ([]gangsched.ResourceClaimID, error) {
	var made []gangsched.ResourceClaimID
	for i := range of.Spec.ResourceClaims {
		name, is := ResourceClaimOf(of, &of.Spec.ResourceClaims[i])
		if !is {
			return nil, fmt.Errorf("pod %s/%s: claim %s is not made yet", of.Namespace, of.Name, of.Spec.ResourceClaims[i].Name)
		}
		if name == "" {
			continue
		}
		id := in.FindResourceClaim(of.Namespace, name)
		if id == 0 {
			return nil, fmt.Errorf("pod %s/%s: there is no claim %q", of.Namespace, of.Name, name)
		}
		made = append(made, id)
	}
	return made, nil
}
