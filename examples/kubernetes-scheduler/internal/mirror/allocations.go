package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"gangsched"
	"gangsched/kube"
)

// ClaimAllocation is what a claim gets on the node that its pod goes to.
type ClaimAllocation struct {
	Claim      *resourcev1.ResourceClaim
	Allocation *resourcev1.AllocationResult
}

// Allocations are those of a pod's claims on the node that the library has placed it on. Error: a claim is not what it was when that was decided.
func (m *Mirror) Allocations(p *Pod, node string) (made []ClaimAllocation, err error) {
	for _, name := range claimNames(p.Object) {
		c := m.devices.claims[types.NamespacedName{Namespace: p.Name.Namespace, Name: name}]
		if c == nil || c.id == 0 || m.late(c) {
			return nil, fmt.Errorf("resourceclaim %q has changed", name)
		}
		if has := c.object.Status.Allocation; has != nil {
			if !m.hasClaim(c) || !equality.Semantic.DeepEqual(has.NodeSelector, onlyNode(node)) {
				return nil, fmt.Errorf("resourceclaim %q is allocated elsewhere", name)
			}
			made = append(made, ClaimAllocation{c.object, has})
			continue
		}
		allocation := &resourcev1.AllocationResult{NodeSelector: onlyNode(node)}
		asked := m.chosen(c)
		if allocation.Devices.Results, err = m.devices.results(asked, node, m.cluster.ClaimDevices(c.id)); err != nil {
			return nil, fmt.Errorf("resourceclaim %q: %w", name, err)
		}
		allocation.Devices.Config = m.devices.configuration(c.object, asked)
		made = append(made, ClaimAllocation{c.object, allocation})
	}
	return made, nil
}

// LeftOver is a claim that keeps a pod which waits from nodes, because it is allocated, and that is for no other pod; nil if there is none. Its scheduler was
// stopped before the pod was bound, or the pods that used it are gone. A pod that waits for something else, of which the library is not told, is kept only
// by a claim that is allocated on a node which is gone.
func (m *Mirror) LeftOver(p *Pod) *resourcev1.ResourceClaim {
	for _, name := range claimNames(p.Object) {
		c := m.devices.claims[types.NamespacedName{Namespace: p.Name.Namespace, Name: name}]
		if c == nil || c.node == "" || m.nodes[c.node] != nil && (p.ID == 0 || len(m.nodes) == 1) {
			continue
		}
		others := slices.ContainsFunc(c.object.Status.ReservedFor, func(one resourcev1.ResourceClaimConsumerReference) bool { return one.UID != p.Object.UID })
		if !others && !m.isUsed(c) { // what is reserved for a pod of ours may not be written yet
			return c.object
		}
	}
	return nil
}

// isUsed says whether a pod has a node, as far as we know, and names a claim. O(pods).
func (m *Mirror) isUsed(c *claim) bool {
	for _, p := range m.byID {
		if !p.Waits() && p.Name.Namespace == c.object.Namespace && claims(p.Object, c.object.Name) {
			return true
		}
	}
	return false
}

// chosenRequest is a request of a claim, or the one of its alternatives that devices were chosen for.
type chosenRequest struct {
	name        string // "request", or "request/alternative"
	class       string
	adminAccess *bool // true, or nil
	tolerations []resourcev1.DeviceToleration
}

// chosen are the requests of a claim that the library has allocated, in order.
func (m *Mirror) chosen(c *claim) (made []chosenRequest) {
	for i := range c.object.Spec.Devices.Requests {
		request := &c.object.Spec.Devices.Requests[i]
		one := chosenRequest{name: request.Name}
		if exactly := request.Exactly; exactly != nil {
			one.class, one.tolerations = exactly.DeviceClassName, exactly.Tolerations
			if exactly.AdminAccess != nil && *exactly.AdminAccess { // as Kubernetes' allocator writes it
				one.adminAccess = exactly.AdminAccess
			}
		} else if place := int(m.cluster.ClaimAlternative(c.id, int32(i))); place >= 0 && place < len(request.FirstAvailable) {
			sub := &request.FirstAvailable[place]
			one.name, one.class, one.tolerations = request.Name+"/"+sub.Name, sub.DeviceClassName, sub.Tolerations
		}
		made = append(made, one)
	}
	return made
}

// results are the devices as they are written. After one that is shared the library says how much the claim has of each of its capacities.
func (d *devices) results(of []chosenRequest, node string, chosen []gangsched.Device) (made []resourcev1.DeviceRequestAllocationResult, err error) {
	for len(chosen) != 0 {
		device, parts := chosen[0], 1
		for parts < len(chosen) && chosen[parts].ID == device.ID && chosen[parts].Request == device.Request {
			parts++
		}
		one, ok := deviceResult(of, device)
		if !ok {
			return nil, fmt.Errorf("it cannot have the device %q", device.ID)
		}
		is := d.find(node, &one)
		if is != nil {
			one.BindingConditions, one.BindingFailureConditions = is.BindingConditions, is.BindingFailureConditions
		}
		if is != nil && is.AllowMultipleAllocations != nil && *is.AllowMultipleAllocations && one.AdminAccess == nil {
			names := capacities(one.Driver, is)
			if len(names) != parts-1 {
				return nil, fmt.Errorf("the device %q has changed", device.ID)
			}
			share := uuid.NewUUID()
			one.ShareID, one.ConsumedCapacity = &share, map[resourcev1.QualifiedName]resource.Quantity{}
			for i, name := range names {
				one.ConsumedCapacity[name] = *resource.NewQuantity(chosen[1+i].Amount, is.Capacity[name].Value.Format)
			}
		} else if parts != 1 {
			return nil, fmt.Errorf("the device %q has changed", device.ID)
		}
		made, chosen = append(made, one), chosen[parts:]
	}
	return made, nil
}

// capacities of a device, in the library's order.
func capacities(driver string, of *resourcev1.Device) []resourcev1.QualifiedName {
	return slices.SortedFunc(maps.Keys(of.Capacity), func(a, b resourcev1.QualifiedName) int {
		return strings.Compare(kube.Qualified(driver, string(a)), kube.Qualified(driver, string(b)))
	})
}

// find is a device as its slice of the newest generation has it; nil: it is gone.
func (d *devices) find(node string, of *resourcev1.DeviceRequestAllocationResult) (made *resourcev1.Device) {
	newest := int64(-1)
	for _, slice := range d.slices[node] {
		if slice.Spec.Driver != of.Driver || slice.Spec.Pool.Name != of.Pool || slice.Spec.Pool.Generation < newest {
			continue
		}
		if slice.Spec.Pool.Generation > newest {
			newest, made = slice.Spec.Pool.Generation, nil
		}
		for i := range slice.Spec.Devices {
			if slice.Spec.Devices[i].Name == of.Device {
				made = &slice.Spec.Devices[i]
			}
		}
	}
	return made
}

func deviceResult(of []chosenRequest, device gangsched.Device) (resourcev1.DeviceRequestAllocationResult, bool) {
	driver, rest, ok := strings.Cut(device.ID, "/")
	last := strings.LastIndex(rest, "/") // pools may have more of them
	if !ok || last < 0 || device.Request < 0 || int(device.Request) >= len(of) || of[device.Request].class == "" {
		return resourcev1.DeviceRequestAllocationResult{}, false
	}
	request := &of[device.Request]
	return resourcev1.DeviceRequestAllocationResult{
		Request: request.name, Driver: driver, Pool: rest[:last], Device: rest[last+1:], AdminAccess: request.adminAccess, Tolerations: request.tolerations,
	}, true
}

// configuration is what classes and the claim say to the driver, classes first: what comes later wins. As Kubernetes' allocator writes it: a class once,
// for all its requests; what the claim says of some requests once for each of them.
func (d *devices) configuration(of *resourcev1.ResourceClaim, asked []chosenRequest) (made []resourcev1.DeviceAllocationConfiguration) {
	type span struct{ begin, end int }
	known := map[string]span{}
	for i := range asked {
		class := d.classes[asked[i].class]
		if class == nil {
			continue
		}
		if its, again := known[class.Name]; again {
			for k := its.begin; k < its.end; k++ {
				made[k].Requests = append(made[k].Requests, asked[i].name)
			}
			continue
		}
		begin := len(made)
		for _, one := range class.Spec.Config {
			made = append(made, resourcev1.DeviceAllocationConfiguration{
				Source: resourcev1.AllocationConfigSourceClass, Requests: []string{asked[i].name}, DeviceConfiguration: one.DeviceConfiguration,
			})
		}
		known[class.Name] = span{begin, len(made)}
	}
	for _, one := range of.Spec.Devices.Config {
		its := resourcev1.DeviceAllocationConfiguration{Source: resourcev1.AllocationConfigSourceClaim, Requests: one.Requests, DeviceConfiguration: one.DeviceConfiguration}
		if len(one.Requests) == 0 {
			made = append(made, its)
			continue
		}
		for i := range asked {
			if slices.Contains(one.Requests, of.Spec.Devices.Requests[i].Name) || slices.Contains(one.Requests, asked[i].name) {
				made = append(made, its)
			}
		}
	}
	return made
}

func onlyNode(name string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
	}}}
}
