package mirror

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"gangsched"
	"gangsched/kube"
)

// noProvisioner is the provisioner of classes whose volumes no driver makes.
const noProvisioner = "kubernetes.io/no-provisioner"

// selectedNode is the annotation of a claim that says where its volume is to be made.
const selectedNode = "volume.kubernetes.io/selected-node"

// Storage is what claims of volumes go by.
type Storage struct {
	claims  map[types.NamespacedName]*corev1.PersistentVolumeClaim
	volumes map[string]*volume
	// free are the volumes that name no claim, by class; reserved those that do, by claim.
	free     map[string]map[string]*volume
	reserved map[types.NamespacedName]map[string]*volume
	reaches  map[string]*reach // by what their selectors are as text
	classes  map[string]*storagev1.StorageClass
	drivers  map[string]*storagev1.CSINode
	// limited drivers make volumes only where a capacity says that there is room.
	limited    map[string]bool
	capacities map[types.NamespacedName]capacity
	// promised volumes were chosen for a claim, and nothing on the API server says so yet.
	promised map[string]types.NamespacedName
	// bound claims got their volume since pods that run with them were told of.
	bound map[types.NamespacedName]struct{}
}

type volume struct {
	*corev1.PersistentVolume
	reach *reach // nil: everywhere
}

// reach is from which nodes volumes can be reached that have the same selector.
type reach struct {
	selector *nodeaffinity.NodeSelector // nil: it cannot be read, and is for no node
	nodes    map[string]bool            // nil: not asked for yet
	volumes  int                        // that have it
}

// capacity is what a CSIStorageCapacity says.
type capacity struct {
	class string
	most  resource.Quantity // that a volume can have
	where labels.Selector   // of nodes
}

// capacityOf returns false for one that says nothing.
func capacityOf(object *storagev1.CSIStorageCapacity) (made capacity, says bool) {
	most := object.MaximumVolumeSize
	if most == nil {
		most = object.Capacity
	}
	where, err := metav1.LabelSelectorAsSelector(object.NodeTopology)
	if most == nil || object.NodeTopology == nil || err != nil {
		return capacity{}, false
	}
	return capacity{object.StorageClassName, *most, where}, true
}

func newStorage() Storage {
	return Storage{
		claims:  map[types.NamespacedName]*corev1.PersistentVolumeClaim{},
		volumes: map[string]*volume{},
		free:    map[string]map[string]*volume{}, reserved: map[types.NamespacedName]map[string]*volume{},
		reaches: map[string]*reach{},
		classes: map[string]*storagev1.StorageClass{},
		drivers: map[string]*storagev1.CSINode{},
		limited: map[string]bool{}, capacities: map[types.NamespacedName]capacity{},
		promised: map[string]types.NamespacedName{}, bound: map[types.NamespacedName]struct{}{},
	}
}

// SetClaimOfVolume, and those below, say that an object came or changed, or with gone that it is no more.
func (m *Mirror) SetClaimOfVolume(object *corev1.PersistentVolumeClaim, gone bool) {
	name := nameOf(object)
	if before := m.storage.claims[name]; before != nil && before.Spec.VolumeName != object.Spec.VolumeName {
		m.storage.bound[name] = struct{}{}
	}
	keep(m.storage.claims, name, object, gone)
	m.changed = true
}

func (m *Mirror) SetVolume(object *corev1.PersistentVolume, gone bool) {
	m.storage.setVolume(object, gone)
	if gone || object.Spec.ClaimRef != nil {
		delete(m.storage.promised, object.Name)
	}
	m.changed = true
}

func (s *Storage) setVolume(object *corev1.PersistentVolume, gone bool) {
	if before := s.volumes[object.Name]; before != nil {
		s.index(before, true)
		delete(s.volumes, object.Name)
	}
	if !gone {
		made := &volume{PersistentVolume: object}
		s.volumes[object.Name] = made
		s.index(made, false)
	}
}

func (s *Storage) index(v *volume, gone bool) {
	if ref := v.Spec.ClaimRef; ref != nil {
		keepIn(s.reserved, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, v.Name, v, gone)
	} else {
		keepIn(s.free, v.Spec.StorageClassName, v.Name, v, gone)
	}
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return
	}
	name := v.Spec.NodeAffinity.Required.String()
	if gone {
		if v.reach.volumes--; v.reach.volumes == 0 {
			delete(s.reaches, name)
		}
		return
	}
	if v.reach = s.reaches[name]; v.reach == nil {
		v.reach = &reach{}
		v.reach.selector, _ = nodeaffinity.NewNodeSelector(v.Spec.NodeAffinity.Required)
		s.reaches[name] = v.reach
	}
	v.reach.volumes++
}

// keepIn keeps an object among others, and nothing of those when they are all gone.
func keepIn[A, B comparable, T any](all map[A]map[B]T, of A, name B, object T, gone bool) {
	there := all[of]
	if there == nil {
		there = map[B]T{}
	}
	keep(there, name, object, gone)
	keep(all, of, there, len(there) == 0)
}

// from are the nodes from which it can be reached.
func (r *reach) from(nodes map[string]*node) map[string]bool {
	if r.nodes == nil {
		r.nodes = map[string]bool{}
		for name, n := range nodes {
			r.look(name, n.object)
		}
	}
	return r.nodes
}

func (r *reach) look(name string, node *corev1.Node) {
	keep(r.nodes, name, true, node == nil || r.selector == nil || !r.selector.Match(node))
}

// setNode says that a node came, or has other labels; with nil that it is gone.
func (s *Storage) setNode(name string, node *corev1.Node) {
	for _, one := range s.reaches {
		if one.nodes != nil {
			one.look(name, node)
		}
	}
}

func (m *Mirror) SetStorageClass(object *storagev1.StorageClass, gone bool) {
	keep(m.storage.classes, object.Name, object, gone)
	m.changed = true
}

func (m *Mirror) SetCSINode(object *storagev1.CSINode, gone bool) {
	keep(m.storage.drivers, object.Name, object, gone)
	if n := m.nodes[object.Name]; n != nil {
		m.tellNode(n)
	}
}

func (m *Mirror) SetCSIDriver(object *storagev1.CSIDriver, gone bool) {
	limited := object.Spec.StorageCapacity != nil && *object.Spec.StorageCapacity
	keep(m.storage.limited, object.Name, true, gone || !limited)
	m.changed = true
}

// SetStorageCapacity: drivers write them again and again, and mostly what they said before.
func (m *Mirror) SetStorageCapacity(object *storagev1.CSIStorageCapacity, gone bool) {
	before, known := m.storage.capacities[nameOf(object)]
	made, says := capacityOf(object)
	says = says && !gone
	keep(m.storage.capacities, nameOf(object), made, !says)
	same := known == says
	if known && says {
		same = before.class == made.class && before.most.Cmp(made.most) == 0 && before.where.String() == made.where.String()
	}
	m.changed = m.changed || !same
}

// limits are how many volumes of each driver a node can attach.
func (s *Storage) limits(node string) []gangsched.Amount {
	drivers := s.drivers[node]
	if drivers == nil {
		return nil
	}
	var made []gangsched.Amount
	for _, driver := range drivers.Spec.Drivers {
		if driver.Allocatable != nil && driver.Allocatable.Count != nil {
			made = append(made, gangsched.Amount{Resource: driver.Name, Value: int64(*driver.Allocatable.Count)})
		}
	}
	return made
}

// settleVolumes tells pods anew that wait and have volumes, as where those can be may have changed, and pods that run with a claim which has got its volume.
func (m *Mirror) settleVolumes() {
	bound := m.storage.bound
	m.storage.bound = map[types.NamespacedName]struct{}{}
	for _, p := range m.byID {
		waits := p.Waits()
		if !waits && (len(bound) == 0 || p.Object.Spec.NodeName == "") {
			continue
		}
		if slices.ContainsFunc(p.Object.Spec.Volumes, func(v corev1.Volume) bool {
			claim := kube.ClaimOf(p.Object, &v)
			_, its := bound[types.NamespacedName{Namespace: p.Name.Namespace, Name: claim}]
			return claim != "" && (waits || its)
		}) {
			m.tell(p)
		}
	}
}

// needs is what the volumes of a pod ask; nil if they ask nothing of where it is.
func (s *Storage) needs(pod *corev1.Pod, nodes map[string]*node) (*gangsched.PodVolumes, error) {
	if len(pod.Spec.Volumes) == 0 {
		return nil, nil
	}
	return kube.Volumes(pod, &bindable{Storage: s, nodes: nodes})
}

// bindable answers what kube.Volumes asks.
type bindable struct {
	*Storage
	nodes map[string]*node
}

func (b *bindable) Claim(namespace, name string) *corev1.PersistentVolumeClaim {
	return b.claims[types.NamespacedName{Namespace: namespace, Name: name}]
}

func (b *bindable) Volume(name string) *corev1.PersistentVolume {
	if v := b.Storage.volumes[name]; v != nil {
		return v.PersistentVolume
	}
	return nil
}

func (b *bindable) Matching(selector *corev1.NodeSelector) []string {
	if known := b.reaches[selector.String()]; known != nil { // it is a volume's
		return append([]string{}, slices.Sorted(maps.Keys(known.from(b.nodes)))...)
	}
	parsed, err := nodeaffinity.NewNodeSelector(selector)
	return b.where(func(node *corev1.Node) bool { return err == nil && parsed.Match(node) })
}

func (b *bindable) where(fits func(*corev1.Node) bool) []string {
	made := []string{}
	for name, n := range b.nodes {
		if fits(n.object) {
			made = append(made, name)
		}
	}
	slices.Sort(made)
	return made
}

// Bindable: a claim of a class that waits for its first consumer gets a volume that is free and can be reached from the node, or one that is made there;
// one whose volume is being made already, only there.
func (b *bindable) Bindable(claim *corev1.PersistentVolumeClaim) ([]string, bool) {
	class := b.classOf(claim)
	if class == nil || class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		return nil, false
	}
	made := b.makes(class, claim)
	if where, selected := claim.Annotations[selectedNode]; selected {
		return b.where(func(node *corev1.Node) bool { return node.Name == where && made(node) }), true
	}
	var taken func(*corev1.Node) bool // asked for only if there is a node where none is made
	return b.where(func(node *corev1.Node) bool {
		if made(node) {
			return true
		}
		if taken == nil {
			taken = b.takes(claim, b.nodes)
		}
		return taken(node)
	}), true
}

// Provisioner is that of the claim's class.
func (b *bindable) Provisioner(claim *corev1.PersistentVolumeClaim) string {
	if class := b.classOf(claim); class != nil {
		return class.Provisioner
	}
	return ""
}

func (s *Storage) classOf(claim *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	if claim.Spec.StorageClassName == nil {
		return nil
	}
	return s.classes[*claim.Spec.StorageClassName]
}

// makes says where a volume can be made for a claim, so that the node reaches it.
func (s *Storage) makes(class *storagev1.StorageClass, claim *corev1.PersistentVolumeClaim) func(*corev1.Node) bool {
	limited, rooms := s.limited[class.Provisioner], s.rooms(class.Name, size(claim.Spec.Resources.Requests))
	return func(node *corev1.Node) bool {
		return provisions(class, node) && (!limited || slices.ContainsFunc(rooms, func(one labels.Selector) bool { return one.Matches(labels.Set(node.Labels)) }))
	}
}

// rooms are where there is room for a volume, as kube-scheduler has it: a driver that says where it has how much room makes volumes nowhere else.
func (s *Storage) rooms(class string, asked *resource.Quantity) (made []labels.Selector) {
	for _, one := range s.capacities {
		if one.class == class && one.most.Cmp(*asked) >= 0 {
			made = append(made, one.where)
		}
	}
	return made
}

func provisions(class *storagev1.StorageClass, node *corev1.Node) bool {
	if class.Provisioner == noProvisioner {
		return false
	}
	for _, term := range class.AllowedTopologies {
		all := true
		for _, one := range term.MatchLabelExpressions {
			value, ok := node.Labels[one.Key]
			all = all && ok && slices.Contains(one.Values, value)
		}
		if all {
			return true
		}
	}
	return len(class.AllowedTopologies) == 0
}

// takes says where a volume can be reached that does for a claim.
func (s *Storage) takes(claim *corev1.PersistentVolumeClaim, nodes map[string]*node) func(*corev1.Node) bool {
	reached, seen := map[string]bool{}, map[*reach]bool{}
	for _, v := range s.candidates(claim) {
		if v.reach == nil {
			return func(*corev1.Node) bool { return true }
		}
		if !seen[v.reach] {
			seen[v.reach] = true
			maps.Copy(reached, v.reach.from(nodes))
		}
	}
	return func(node *corev1.Node) bool { return reached[node.Name] }
}

// choose is the smallest volume that no claim has and that does for a claim on a node; nil if there is none.
func (s *Storage) choose(claim *corev1.PersistentVolumeClaim, node string, nodes map[string]*node) *corev1.PersistentVolume {
	var best *corev1.PersistentVolume
	for _, v := range s.candidates(claim) {
		if (v.reach == nil || v.reach.from(nodes)[node]) && (best == nil || smaller(v.PersistentVolume, best)) {
			best = v.PersistentVolume
		}
	}
	return best
}

// candidates are the volumes that do for a claim wherever that is used. If some are meant for it, as their spec.claimRef says, no others do.
func (s *Storage) candidates(claim *corev1.PersistentVolumeClaim) (made []*volume) {
	class := claim.Spec.StorageClassName
	if class == nil {
		return nil
	}
	selector, err := labels.Everything(), error(nil)
	if claim.Spec.Selector != nil {
		selector, err = metav1.LabelSelectorAsSelector(claim.Spec.Selector)
	}
	name, asked := nameOf(claim), size(claim.Spec.Resources.Requests)
	fits := func(v *volume) bool {
		return v.DeletionTimestamp == nil && v.Spec.StorageClassName == *class && size(v.Spec.Capacity).Cmp(*asked) >= 0 &&
			orElse(v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) == orElse(claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) &&
			orElse(v.Spec.VolumeAttributesClassName, "") == orElse(claim.Spec.VolumeAttributesClassName, "")
	}
	for _, v := range s.reserved[name] {
		if ref := v.Spec.ClaimRef; fits(v) && (ref.UID == "" || ref.UID == claim.UID) {
			made = append(made, v)
		}
	}
	if err != nil || len(made) != 0 {
		return made
	}
	for _, v := range s.free[*class] {
		if holder, promised := s.promised[v.Name]; promised && holder != name {
			continue
		}
		if fits(v) && v.Status.Phase == corev1.VolumeAvailable && allows(v, claim.Spec.AccessModes) && selector.Matches(labels.Set(v.Labels)) {
			made = append(made, v)
		}
	}
	return made
}

// allows says whether a volume has all these access modes.
func allows(v *volume, modes []corev1.PersistentVolumeAccessMode) bool {
	return !slices.ContainsFunc(modes, func(mode corev1.PersistentVolumeAccessMode) bool { return !slices.Contains(v.Spec.AccessModes, mode) })
}

func orElse[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

func size(of corev1.ResourceList) *resource.Quantity {
	made := of[corev1.ResourceStorage]
	return &made
}

func smaller(a, b *corev1.PersistentVolume) bool {
	if order := size(a.Spec.Capacity).Cmp(*size(b.Spec.Capacity)); order != 0 {
		return order < 0
	}
	return a.Name < b.Name
}

// VolumeChoice is how a claim gets its volume on a node: one that is there, or one that its provisioner makes.
type VolumeChoice struct {
	Claim  *corev1.PersistentVolumeClaim
	Volume *corev1.PersistentVolume // nil: it is made
	Node   *corev1.Node
}

// ChooseVolumes says how the claims of a pod that have no volume get theirs on a node. What is chosen is not chosen for another claim meanwhile.
// Error: a pod that was placed in the same turn has the last one.
func (m *Mirror) ChooseVolumes(p *Pod, name string) (made []VolumeChoice, err error) {
	n := m.nodes[name]
	for i := range p.Object.Spec.Volumes {
		claimed := types.NamespacedName{Namespace: p.Name.Namespace, Name: kube.ClaimOf(p.Object, &p.Object.Spec.Volumes[i])}
		claim := m.storage.claims[claimed]
		if claim == nil || claim.Spec.VolumeName != "" || n == nil {
			continue
		}
		choice := VolumeChoice{Claim: claim, Node: n.object}
		where, selected := claim.Annotations[selectedNode]
		if !selected {
			choice.Volume = m.storage.choose(claim, name, m.nodes)
		}
		if choice.Volume != nil {
			m.storage.promised[choice.Volume.Name] = claimed
		} else if class := m.storage.classOf(claim); class == nil || selected && where != name || !m.storage.makes(class, claim)(n.object) {
			m.ReleaseVolumes(made)
			return nil, fmt.Errorf("no volume is left on %s for persistentvolumeclaim %q", name, claimed.Name)
		}
		made = append(made, choice)
	}
	return made, nil
}

// ReleaseVolumes says that choices came to nothing.
func (m *Mirror) ReleaseVolumes(choices []VolumeChoice) {
	for _, choice := range choices {
		if choice.Volume != nil {
			delete(m.storage.promised, choice.Volume.Name)
		}
	}
	m.changed = m.changed || len(choices) != 0
}
