package mirror

import (
	"errors"
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
	"k8s.io/klog/v2"

	"gangsched"
	"gangsched/kube"
)

// devices are what drivers say is in nodes, and what pods claim of it.
type devices struct {
	slices  map[string]map[string]*resourcev1.ResourceSlice // by node, then by name
	classes map[string]*resourcev1.DeviceClass
	claims  map[types.NamespacedName]*claim
	// tolerated are the lists of tolerations that claims have, by what devices say of each.
	tolerated map[string][]resourcev1.DeviceToleration
	// late claims are gone, or not as the library has them, which cannot be told while pods use them.
	late map[*claim]struct{}
	// on are those that are allocated, by node; came are nodes that came since that was looked at.
	on   map[string]map[*claim]struct{}
	came map[string]struct{}
}

type claim struct {
	object *resourcev1.ResourceClaim
	id     gangsched.ResourceClaimID    // 0 while the library has not been told of it
	told   *resourcev1.AllocationResult // what it had when the library was told of it
	bare   bool                         // the library knows nothing of it but that: the rest is not as the library takes it
	gone   bool
	node   string // where it is allocated
	users  []*Pod // that kept it from being taken out of the library
}

func newDevices() devices {
	return devices{
		slices:  map[string]map[string]*resourcev1.ResourceSlice{},
		classes: map[string]*resourcev1.DeviceClass{},
		claims:  map[types.NamespacedName]*claim{},
		late:    map[*claim]struct{}{},

		on: map[string]map[*claim]struct{}{}, came: map[string]struct{}{},
		tolerated: map[string][]resourcev1.DeviceToleration{},
	}
}

// of a node; nil: no driver says anything about it.
func (d *devices) of(node string) (*gangsched.NodeDevices, error) {
	if len(d.slices[node]) == 0 {
		return nil, nil
	}
	var all []*resourcev1.ResourceSlice
	for _, name := range slices.Sorted(maps.Keys(d.slices[node])) { // in one order, so that what is the same is not told again
		all = append(all, d.slices[node][name])
	}
	var tolerated [][]resourcev1.DeviceToleration
	for _, name := range slices.Sorted(maps.Keys(d.tolerated)) {
		tolerated = append(tolerated, d.tolerated[name])
	}
	return kube.Devices(all, tolerated...)
}

// SetSlice says that a slice came or changed, or with gone that it is no more. Those of devices that several nodes reach are left out.
func (m *Mirror) SetSlice(object *resourcev1.ResourceSlice, gone bool) {
	if object.Spec.NodeName == nil {
		return
	}
	node := *object.Spec.NodeName
	there := m.devices.slices[node]
	if there == nil {
		there = map[string]*resourcev1.ResourceSlice{}
	}
	keep(there, object.Name, object, gone)
	keep(m.devices.slices, node, there, len(there) == 0)
	if n := m.nodes[node]; n != nil {
		m.tellNode(n)
	}
	m.changed = true
}

// SetDeviceClass says the same of a class. What is allocated stays as it is; who asks for devices of the class does so by what it says now.
func (m *Mirror) SetDeviceClass(object *resourcev1.DeviceClass, gone bool) {
	before := m.devices.classes[object.Name]
	keep(m.devices.classes, object.Name, object, gone)
	if before != nil && !gone && equality.Semantic.DeepEqual(before.Spec.Selectors, object.Spec.Selectors) {
		return
	}
	for _, c := range m.devices.claims {
		if c.object.Status.Allocation == nil && asksFor(c.object, object.Name) || c.id == 0 {
			m.settleClaim(c)
		}
	}
	m.changed = true
}

// asksFor says whether a claim names a class.
func asksFor(claim *resourcev1.ResourceClaim, class string) bool {
	return slices.ContainsFunc(claim.Spec.Devices.Requests, func(one resourcev1.DeviceRequest) bool {
		return one.Exactly != nil && one.Exactly.DeviceClassName == class ||
			slices.ContainsFunc(one.FirstAvailable, func(each resourcev1.DeviceSubRequest) bool { return each.DeviceClassName == class })
	})
}

// SetClaim says that a claim came or changed. Its spec never changes; what is allocated to it does.
func (m *Mirror) SetClaim(object *resourcev1.ResourceClaim) {
	name := nameOf(object)
	c := m.devices.claims[name]
	if c != nil && c.object.UID != object.UID {
		m.RemoveClaim(c.object)
		c = nil
	}
	if c == nil {
		c = &claim{}
		m.devices.claims[name] = c
	}
	ends := object.DeletionTimestamp != nil && (c.object == nil || c.object.DeletionTimestamp == nil)
	c.object = object
	m.tolerate(object)
	m.devices.locate(c)
	if ends {
		m.holdBack(c)
	}
	switch {
	case c.id == 0:
		m.tellClaim(c)
	case object.Status.Allocation == nil && c.bare:
		m.settleClaim(c)
	case object.Status.Allocation == nil && m.cluster.ClaimNode(c.id) != 0:
		// Nobody uses it any more; if a pod of ours is about to, the allocation is only not written yet.
		if err := m.cluster.Deallocate(c.id); !errors.Is(err, gangsched.ErrWrongState) {
			report(err, "a claim cannot be deallocated", object)
		}
	case object.Status.Allocation != nil && !m.hasClaim(c):
		m.settleClaim(c) // somebody else has allocated it
	case object.Status.Allocation != nil && m.late(c):
		delete(m.devices.late, c) // what a pod of ours was to get it has
		m.changed = true
	}
}

// mostTolerated lists of tolerations are kept without a look at which claims have them still.
const mostTolerated = 64

// tolerate has tainted devices say whether they are for the requests of a claim, if its tolerations are new.
func (m *Mirror) tolerate(claim *resourcev1.ResourceClaim) {
	fresh := false
	for _, list := range kube.TolerationsOf(claim) {
		name := kube.Tolerating(list)
		if _, known := m.devices.tolerated[name]; !known {
			m.devices.tolerated[name], fresh = list, true
		}
	}
	if !fresh {
		return
	}
	if len(m.devices.tolerated) > mostTolerated { // of claims that are gone nobody asks any more
		clear(m.devices.tolerated)
		for _, c := range m.devices.claims {
			for _, list := range kube.TolerationsOf(c.object) {
				m.devices.tolerated[kube.Tolerating(list)] = list
			}
		}
	}
	tainted := func(one resourcev1.Device) bool { return len(one.Taints) != 0 }
	for node, all := range m.devices.slices {
		n := m.nodes[node]
		for _, slice := range all {
			if n != nil && slices.ContainsFunc(slice.Spec.Devices, tainted) {
				m.tellNode(n)
				break
			}
		}
	}
}

// RemoveClaim says that a claim is gone.
func (m *Mirror) RemoveClaim(object *resourcev1.ResourceClaim) {
	name := nameOf(object)
	c := m.devices.claims[name]
	delete(m.devices.claims, name)
	if c != nil {
		c.gone = true
		m.devices.locate(c)
		m.settleClaim(c)
	}
}

// locate notes where a claim is allocated.
func (d *devices) locate(c *claim) {
	if c.node != "" {
		keepIn(d.on, c.node, c, struct{}{}, true)
	}
	c.node = ""
	if has := c.object.Status.Allocation; has != nil && !c.gone {
		c.node = kube.NodeOf(has.NodeSelector)
	}
	if c.node != "" {
		keepIn(d.on, c.node, c, struct{}{}, false)
	}
}

// settleNodes tells the library of claims again that were allocated on a node before that came. (Devices may come after both: the library knows whose they
// are.)
func (m *Mirror) settleNodes() {
	for node := range m.devices.came {
		delete(m.devices.came, node)
		if n := m.nodes[node]; n == nil || n.id == 0 {
			continue
		}
		for c := range m.devices.on[node] {
			if c.id == 0 || m.cluster.ClaimNode(c.id) == 0 {
				m.settleClaim(c)
			}
		}
	}
}

// hasClaim says whether the library has a claim where it is allocated. Of devices that it was told of it may know only some.
func (m *Mirror) hasClaim(c *claim) bool {
	is := c.object.Status.Allocation
	node := m.cluster.ClaimNode(c.id)
	if node == 0 || !equality.Semantic.DeepEqual(is.NodeSelector, onlyNode(m.cluster.NodeName(node))) {
		return false
	}
	missing := map[string]bool{}
	for _, one := range is.Devices.Results {
		missing[one.Driver+"/"+one.Pool+"/"+one.Device] = true
	}
	for _, device := range m.cluster.ClaimDevices(c.id) {
		if _, known := missing[device.ID]; !known {
			return false
		}
		missing[device.ID] = false
	}
	for _, one := range missing {
		if one && (c.told == nil || !equality.Semantic.DeepEqual(c.told.Devices.Results, is.Devices.Results)) {
			return false
		}
	}
	return true
}

func (m *Mirror) late(c *claim) bool {
	_, late := m.devices.late[c]
	return late
}

// settleClaim tells the library of a claim as it is now, and of the pods that name it; if pods use it, when they do not any more.
func (m *Mirror) settleClaim(c *claim) {
	if c.id != 0 && !m.withoutClaim(c) {
		m.devices.late[c] = struct{}{}
		return
	}
	delete(m.devices.late, c)
	if c.gone {
		c = m.devices.claims[nameOf(c.object)] // one of that name may have come since
	}
	if c != nil && c.id == 0 {
		m.tellClaim(c)
	}
}

// settleClaims tries those that pods used when they went, or changed.
func (m *Mirror) settleClaims() {
	m.settleNodes()
	for c := range m.devices.late {
		if !slices.ContainsFunc(c.users, func(p *Pod) bool { return p.ID != 0 && m.byID[p.ID] == p && !p.Waits() }) {
			m.settleClaim(c)
		}
	}
}

// unsettled says why a pod that waits cannot be told of by what it claims: the library would take another claim for it.
func (m *Mirror) unsettled(pod *corev1.Pod) error {
	for _, name := range claimNames(pod) {
		c := m.devices.claims[types.NamespacedName{Namespace: pod.Namespace, Name: name}]
		if c == nil || c.id == 0 {
			return fmt.Errorf("pod %s/%s: there is no claim %q", pod.Namespace, pod.Name, name)
		}
		if c.object.DeletionTimestamp != nil {
			return fmt.Errorf("pod %s/%s: resourceclaim %q is being deleted", pod.Namespace, pod.Name, name)
		}
		if m.late(c) {
			return fmt.Errorf("pod %s/%s: claim %q has changed, and a pod uses it as it was", pod.Namespace, pod.Name, name)
		}
	}
	return nil
}

// tellClaim tells the library of a claim. One that it does not take is told of by what it has: who asks for what is allocated need not be known.
func (m *Mirror) tellClaim(c *claim) {
	classes := func(name string) *resourcev1.DeviceClass { return m.devices.classes[name] }
	spec, err := kube.Claim(c.object, classes, m.cluster)
	if err == nil {
		c.id, err = m.cluster.AddResourceClaim(spec)
	}
	c.told, c.bare = c.object.Status.Allocation, err != nil
	if err != nil {
		klog.V(2).InfoS("a claim of devices is not as the library takes it", "claim", klog.KObj(c.object), "reason", err.Error())
		if spec = kube.AllocatedClaim(c.object, m.cluster); spec == nil || spec.Node == 0 {
			return
		}
		if c.id, err = m.cluster.AddResourceClaim(spec); err != nil {
			klog.ErrorS(err, "devices of a claim are not counted", "claim", klog.KObj(c.object))
			return
		}
	}
	m.changed = true
}

// withoutClaim takes a claim out of the library; the pods that name it and wait are stuck from then on. False: pods that run, or are being bound, use it.
func (m *Mirror) withoutClaim(c *claim) bool {
	c.users = nil
	for _, p := range m.byID {
		if p.Name.Namespace != c.object.Namespace || !claims(p.Object, c.object.Name) {
			continue
		}
		if p.Waits() {
			m.forget(p)
			m.stuck[p] = struct{}{}
		} else {
			c.users = append(c.users, p)
		}
	}
	m.changed = true
	err := m.cluster.RemoveResourceClaim(c.id)
	if err == nil {
		c.id, c.users = 0, nil
	}
	return err == nil
}

// holdBack tells again of the pods that wait and name a claim: it is being deleted.
func (m *Mirror) holdBack(c *claim) {
	var waiting []*Pod
	for _, p := range m.byID {
		if p.Waits() && p.Name.Namespace == c.object.Namespace && claims(p.Object, c.object.Name) {
			waiting = append(waiting, p)
		}
	}
	for _, p := range waiting {
		m.tell(p)
	}
}

// claimNames are the names of a pod's claims; of one that is made of a template, what it was made to.
func claimNames(pod *corev1.Pod) (made []string) {
	for i := range pod.Spec.ResourceClaims {
		name := pod.Spec.ResourceClaims[i].ResourceClaimName
		for k := range pod.Status.ResourceClaimStatuses {
			if name == nil && pod.Status.ResourceClaimStatuses[k].Name == pod.Spec.ResourceClaims[i].Name {
				name = pod.Status.ResourceClaimStatuses[k].ResourceClaimName
			}
		}
		if name != nil {
			made = append(made, *name)
		}
	}
	return made
}

func claims(pod *corev1.Pod, claim string) bool {
	for _, name := range claimNames(pod) {
		if name == claim {
			return true
		}
	}
	return false
}

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

// chosenRequest is a request of a claim, or the one of its alternatives that devices were chosen for.
type chosenRequest struct {
	name        string // "request", or "request/alternative"
	class       string
	adminAccess *bool
	tolerations []resourcev1.DeviceToleration
}

// chosen are the requests of a claim that the library has allocated, in order.
func (m *Mirror) chosen(c *claim) (made []chosenRequest) {
	for i := range c.object.Spec.Devices.Requests {
		request := &c.object.Spec.Devices.Requests[i]
		one := chosenRequest{name: request.Name}
		if exactly := request.Exactly; exactly != nil {
			one.class, one.adminAccess, one.tolerations = exactly.DeviceClassName, exactly.AdminAccess, exactly.Tolerations
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
		if is != nil && is.AllowMultipleAllocations != nil && *is.AllowMultipleAllocations && (one.AdminAccess == nil || !*one.AdminAccess) {
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

// find is a device as its slice has it; nil: it is gone.
func (d *devices) find(node string, of *resourcev1.DeviceRequestAllocationResult) (made *resourcev1.Device) {
	newest := int64(-1)
	for _, slice := range d.slices[node] {
		if slice.Spec.Driver != of.Driver || slice.Spec.Pool.Name != of.Pool || slice.Spec.Pool.Generation < newest {
			continue
		}
		newest = slice.Spec.Pool.Generation
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
