package mirror

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"

	"gangsched"
	"gangsched/kube"
)

type node struct {
	object *corev1.Node
	id     gangsched.NodeID
	spec   *gangsched.NodeSpec // what the library was told last
}

// SetNode says that a node came or changed. Kubelets report every few seconds: what does not matter for scheduling ends here.
func (m *Mirror) SetNode(object *corev1.Node) {
	n := m.nodes[object.Name]
	if n == nil {
		n = &node{}
		m.nodes[object.Name] = n
	} else if sameNode(n.object, object) {
		n.object = object
		return
	}
	relabelled := n.object == nil || !maps.Equal(n.object.Labels, object.Labels)
	n.object = object
	if relabelled {
		m.storage.setNode(object.Name, object)
	}
	m.tellNode(n)
	m.changed = m.changed || relabelled // where volumes can be bound goes by labels
}

func sameNode(a, b *corev1.Node) bool {
	return maps.Equal(a.Labels, b.Labels) && a.Spec.Unschedulable == b.Spec.Unschedulable &&
		equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) && equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable) &&
		equality.Semantic.DeepEqual(a.Status.Images, b.Status.Images) && slices.Equal(a.Status.DeclaredFeatures, b.Status.DeclaredFeatures)
}

func (m *Mirror) tellNode(n *node) {
	spec := kube.Node(n.object)
	spec.DeclaredFeatures = n.object.Status.DeclaredFeatures
	var err error
	if spec.Devices, err = m.devices.of(n.object.Name); err != nil {
		klog.ErrorS(err, "devices of a node are not as the library takes them", "node", n.object.Name)
	}
	spec.VolumeLimits = m.storage.limits(n.object.Name)
	known := n.id != 0
	if known && reflect.DeepEqual(spec, n.spec) {
		return
	}
	n.spec = spec
	err = m.handNode(n, spec)
	if err != nil && spec.Devices != nil { // its pods count, whatever is wrong with its devices
		klog.ErrorS(err, "devices of a node are not as the library takes them: it has none", "node", n.object.Name)
		without := *spec
		without.Devices = nil
		err = m.handNode(n, &without)
	}
	if report(err, "a node is not as the library takes it", n.object); err != nil || known {
		return
	}
	m.devices.came[n.object.Name] = struct{}{}
	waiting := m.absent[n.object.Name]
	delete(m.absent, n.object.Name)
	for p := range waiting {
		m.tell(p)
	}
}

// handNode tells the library of a node.
func (m *Mirror) handNode(n *node, spec *gangsched.NodeSpec) (err error) {
	if n.id != 0 {
		return m.cluster.UpdateNode(n.id, spec)
	}
	n.id, err = m.cluster.AddNode(spec)
	return err
}

// RemoveNode says that a node is gone. Its pods are gone from the library with it; if it comes back before they are deleted they count again.
func (m *Mirror) RemoveNode(name string) {
	n := m.nodes[name]
	delete(m.nodes, name)
	m.storage.setNode(name, nil)
	if n == nil || n.id == 0 {
		return
	}
	var there []*Pod
	for _, p := range m.pods {
		if p.ID != 0 && (p.Object.Spec.NodeName == name || p.Bound == name) {
			there = append(there, p)
		}
		if p.Nominated == name && p.Waits() {
			keepIn(m.absent, name, p, struct{}{}, false)
		}
	}
	report(m.cluster.RemoveNode(n.id), "a node cannot be removed", n.object)
	m.lostReservations()
	for _, p := range there {
		delete(m.byID, p.ID)
		held := p.held
		p.ID, p.Bound, p.held = 0, "", false
		if held { // nobody is known to have bound it
			m.tell(p)
			continue
		}
		keepIn(m.absent, name, p, struct{}{}, false)
	}
	for c := range m.devices.on[name] { // what is allocated there is for no other node
		m.holdBack(c)
	}
}

// HasNode says whether there is a node of that name.
func (m *Mirror) HasNode(name string) bool { return m.nodes[name] != nil }

// Nodes is how many there are.
func (m *Mirror) Nodes() int { return len(m.nodes) }
