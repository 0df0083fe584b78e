package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"gangsched"
	"gangsched/kube"
)

// devices are what drivers say is in nodes, and what pods claim of it.
type devices struct {
	slices map[string]map[string]*resourcev1.ResourceSlice // of one node each: by node, then by name
	named  map[string]*resourcev1.ResourceSlice            // all slices
	// pools are all slices, by driver and pool, then by name; drivers are how many pools each driver has.
	pools   map[poolName]map[string]*resourcev1.ResourceSlice
	drivers map[string]int
	rules   map[string]*resourcev1beta2.DeviceTaintRule
	classes map[string]*resourcev1.DeviceClass
	claims  map[types.NamespacedName]*claim
	// tolerated are the tolerations that claims have, by what devices say of each.
	tolerated map[string]kube.Tolerations
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
	wrong  error                        // why it is not as the library takes it: the library knows nothing of it but that, or nothing at all
	only   bool                         // it asks for devices of the only driver that there is, without a word of it
	gone   bool
	node   string // where it is allocated
	users  []*Pod // that kept it from being taken out of the library
}

type poolName struct{ driver, pool string }

func poolOf(slice *resourcev1.ResourceSlice) poolName {
	return poolName{slice.Spec.Driver, slice.Spec.Pool.Name}
}

func newDevices() devices {
	return devices{
		slices:  map[string]map[string]*resourcev1.ResourceSlice{},
		named:   map[string]*resourcev1.ResourceSlice{},
		pools:   map[poolName]map[string]*resourcev1.ResourceSlice{},
		drivers: map[string]int{},
		rules:   map[string]*resourcev1beta2.DeviceTaintRule{},
		classes: map[string]*resourcev1.DeviceClass{},
		claims:  map[types.NamespacedName]*claim{},
		late:    map[*claim]struct{}{},

		on: map[string]map[*claim]struct{}{}, came: map[string]struct{}{},
		tolerated: map[string]kube.Tolerations{},
	}
}

// of a node; nil: no driver says anything about it.
func (d *devices) of(node string) (*gangsched.NodeDevices, error) {
	if len(d.slices[node]) == 0 {
		return nil, nil
	}
	waits := map[poolName]int{} // 1: a device of the pool has to be waited for before a pod is bound; such pools come last
	for _, slice := range d.slices[node] {
		its := 0
		if slices.ContainsFunc(slice.Spec.Devices, func(one resourcev1.Device) bool { return len(one.BindingConditions) != 0 }) {
			its = 1
		}
		waits[poolOf(slice)] = max(waits[poolOf(slice)], its)
	}
	inOrder := func(a, b poolName) int {
		return cmp.Or(waits[a]-waits[b], strings.Compare(a.driver, b.driver), strings.Compare(a.pool, b.pool))
	}
	var all []*resourcev1.ResourceSlice
	rules := d.taintRules()
	for _, pool := range slices.SortedFunc(maps.Keys(waits), inOrder) { // in Kubernetes' order, and so that what is the same is not told again
		for _, name := range slices.Sorted(maps.Keys(d.pools[pool])) {
			slice := d.pools[pool][name]
			if d.slices[node][name] != nil {
				slice = tainted(slice, rules)
			}
			all = append(all, slice)
		}
	}
	var tolerated []kube.Tolerations
	for _, name := range slices.Sorted(maps.Keys(d.tolerated)) {
		tolerated = append(tolerated, d.tolerated[name])
	}
	return kube.Devices(node, all, tolerated...)
}

// SetSlice says that a slice came or changed, or with gone that it is no more. Those of devices that several nodes reach count only for whether their pool
// is complete. Which pool and node a slice is of never changes, but one that is made anew may be of others.
func (m *Mirror) SetSlice(object *resourcev1.ResourceSlice, gone bool) {
	d := &m.devices
	before := d.named[object.Name]
	keep(d.named, object.Name, object, gone)
	if before != nil && (gone || poolOf(before) != poolOf(object) || nodeOfSlice(before) != nodeOfSlice(object)) {
		m.fileSlice(before, true)
	}
	if !gone {
		m.fileSlice(object, false)
	}
	m.changed = true
}

// nodeOfSlice is the node whose devices a slice is about; "": it is about those that several nodes reach.
func nodeOfSlice(slice *resourcev1.ResourceSlice) string { return orElse(slice.Spec.NodeName, "") }

// fileSlice keeps a slice with those of its pool and of its node, and tells of the nodes for which that makes a difference.
func (m *Mirror) fileSlice(object *resourcev1.ResourceSlice, gone bool) {
	d, pool := &m.devices, poolOf(object)
	state := func() kube.Pool { return kube.PoolOf(slices.Collect(maps.Values(d.pools[pool]))) }
	before, was := len(d.pools[pool]), state()
	keepIn(d.pools, pool, object.Name, object, gone)
	if (before == 0) != (len(d.pools[pool]) == 0) {
		m.setDriver(object.Spec.Driver, len(d.pools[pool])-before)
	}
	if node := nodeOfSlice(object); node != "" {
		keepIn(d.slices, node, object.Name, object, gone)
	}
	told := map[string]bool{}
	tell := func(slice *resourcev1.ResourceSlice) {
		node := nodeOfSlice(slice)
		if n := m.nodes[node]; n != nil && !told[node] {
			told[node] = true
			m.tellNode(n)
		}
	}
	tell(object)
	if state() != was {
		for _, slice := range d.pools[pool] { // of other nodes
			tell(slice)
		}
	}
}

// setDriver says that a driver has so many pools more. Claims that name no driver are for the devices of the only one.
func (m *Mirror) setDriver(driver string, more int) {
	d := &m.devices
	only := d.only()
	if d.drivers[driver] += more; d.drivers[driver] == 0 {
		delete(d.drivers, driver)
	}
	if slices.Equal(only, d.only()) {
		return
	}
	for _, c := range d.claims {
		if c.only && !m.holds(c) || c.id == 0 {
			m.settleClaim(c)
		}
	}
}

// holds says whether a claim has devices on a node that is there, and so does not go by what its class and the drivers say now.
func (m *Mirror) holds(c *claim) bool {
	return c.object.Status.Allocation != nil && m.cluster.ClaimNode(c.id) != 0
}

// only is the driver of all slices, if there is one alone.
func (d *devices) only() []string {
	if len(d.drivers) != 1 {
		return nil
	}
	return slices.Collect(maps.Keys(d.drivers))
}

// SetDeviceClass says the same of a class. What is allocated stays as it is; claims that ask for devices of the class do so by what it says now.
func (m *Mirror) SetDeviceClass(object *resourcev1.DeviceClass, gone bool) {
	before := m.devices.classes[object.Name]
	keep(m.devices.classes, object.Name, object, gone)
	if before != nil && !gone && equality.Semantic.DeepEqual(before.Spec.Selectors, object.Spec.Selectors) {
		return
	}
	for _, c := range m.devices.claims {
		if !m.holds(c) && asksFor(c.object, object.Name) || c.id == 0 {
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
	if c.object != nil && c.object.Status.Allocation != nil && object.Status.Allocation == nil {
		m.changed = true // pods may wait for the node where it was
	}
	c.object = object
	m.tolerate(object)
	m.devices.locate(c)
	if ends {
		m.holdBack(c)
	}
	switch {
	case c.id == 0:
		m.tellClaim(c)
	case object.Status.Allocation == nil && c.wrong != nil:
		m.settleClaim(c)
	case object.Status.Allocation == nil && m.cluster.ClaimNode(c.id) != 0:
		// No pod uses it any more; if one of ours is about to, the allocation is only not written yet.
		if err := m.cluster.Deallocate(c.id); !errors.Is(err, gangsched.ErrWrongState) {
			report(err, "a claim cannot be deallocated", object)
		}
	case object.Status.Allocation != nil && !m.hasClaim(c):
		m.settleClaim(c) // another scheduler has allocated it
	case object.Status.Allocation != nil && m.late(c):
		delete(m.devices.late, c) // what a pod of ours was to get it has
		m.changed = true
	}
}

// mostTolerated lists of tolerations are kept without a look at which claims have them still.
const mostTolerated = 64

// tolerate has tainted devices say whether they are for the requests of a claim, if its tolerations are new.
func (m *Mirror) tolerate(claim *resourcev1.ResourceClaim) {
	fresh, all := false, false
	for _, one := range kube.TolerationsOf(claim) {
		name := one.Attribute()
		if _, known := m.devices.tolerated[name]; !known {
			m.devices.tolerated[name], fresh, all = one, true, all || one.All
		}
	}
	if !fresh {
		return
	}
	if len(m.devices.tolerated) > mostTolerated { // those of claims that are gone are not asked for any more
		clear(m.devices.tolerated)
		for _, c := range m.devices.claims {
			for _, one := range kube.TolerationsOf(c.object) {
				m.devices.tolerated[one.Attribute()] = one
			}
		}
	}
	some, rules := func(one resourcev1.Device) bool { return len(one.Taints) != 0 }, m.devices.taintRules()
	for node, its := range m.devices.slices {
		n := m.nodes[node]
		for _, slice := range its {
			if n != nil && (all || slices.ContainsFunc(tainted(slice, rules).Spec.Devices, some)) {
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
	for i := range pod.Spec.ResourceClaims {
		name, _ := kube.ResourceClaimOf(pod, &pod.Spec.ResourceClaims[i])
		if name == "" {
			continue
		}
		c := m.devices.claims[types.NamespacedName{Namespace: pod.Namespace, Name: name}]
		if c != nil && c.id == 0 && c.wrong != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, c.wrong)
		}
		if c == nil || c.id == 0 {
			return fmt.Errorf("pod %s/%s: there is no claim %q", pod.Namespace, pod.Name, name)
		}
		if c.object.DeletionTimestamp != nil {
			return fmt.Errorf("pod %s/%s: resourceclaim %q is being deleted", pod.Namespace, pod.Name, name)
		}
		if pod.Spec.ResourceClaims[i].ResourceClaimName == nil && !madeFor(pod, c.object) {
			return fmt.Errorf("ResourceClaim %s/%s was not created for Pod %s/%s (Pod is not owner)", pod.Namespace, name, pod.Namespace, pod.Name)
		}
		if m.late(c) {
			return fmt.Errorf("pod %s/%s: claim %q has changed, and a pod uses it as it was", pod.Namespace, pod.Name, name)
		}
		if c.object.Status.Allocation != nil && !m.holds(c) && c.node == "" {
			return fmt.Errorf("pod %s/%s: resourceclaim %q is allocated for several nodes, which is not supported", pod.Namespace, pod.Name, name)
		}
		if c.object.Status.Allocation != nil && !m.holds(c) {
			return fmt.Errorf("pod %s/%s: resourceclaim %q is allocated on node %q, which is not there", pod.Namespace, pod.Name, name, c.node)
		}
	}
	return nil
}

// madeFor says whether a claim was made of a template for a pod, or for its PodGroup.
func madeFor(pod *corev1.Pod, claim *resourcev1.ResourceClaim) bool {
	owner := metav1.GetControllerOf(claim)
	return owner != nil && (owner.UID == pod.UID || owner.Kind == "PodGroup" && owner.Name == groupOf(pod))
}

// tellClaim tells the library of a claim. One that it does not take is told of by what it has: what asks for what is allocated need not be known.
func (m *Mirror) tellClaim(c *claim) {
	classes := func(name string) *resourcev1.DeviceClass { return m.devices.classes[name] }
	spec, err := kube.Claim(c.object, classes, m.cluster, m.devices.only()...)
	if err == nil {
		c.id, err = m.cluster.AddResourceClaim(spec)
		c.only = slices.ContainsFunc(spec.Devices, ofOnlyDriver)
	}
	c.told, c.wrong = c.object.Status.Allocation, err
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

// ofOnlyDriver says whether a request, or an alternative of it, has its driver by being without a word of it.
func ofOnlyDriver(one gangsched.DeviceRequest) bool {
	return one.Class != "" || slices.ContainsFunc(one.FirstOf, ofOnlyDriver)
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

// claimNames are the names of a pod's claims, as far as they are made.
func claimNames(pod *corev1.Pod) (made []string) {
	for i := range pod.Spec.ResourceClaims {
		if name, _ := kube.ResourceClaimOf(pod, &pod.Spec.ResourceClaims[i]); name != "" {
			made = append(made, name)
		}
	}
	return made
}

func claims(pod *corev1.Pod, claim string) bool { return slices.Contains(claimNames(pod), claim) }
