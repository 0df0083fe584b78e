package mirror

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"gangsched"
	"gangsched/kube"
)

// Pod is a pod that counts: it has a node, or waits for this scheduler.
type Pod struct {
	Name   types.NamespacedName
	Object *corev1.Pod
	ID     gangsched.PodID // 0 while the library has not been told of it
	// Attempt and Node are those of a bind that was decided and is not answered.
	Attempt gangsched.Attempt
	Node    string
	// Bound is where it was bound, from the answer on: what the watch says of it may be older for a while.
	Bound string
	held  bool // it is not known to be bound there, but may be at any time
	// Nominated is the node that is meant for it, as it was decided or read last.
	Nominated string
	// Lost is how many attempts in a row another replica was faster than.
	Lost int
	// Refused is why the library cannot be told of it yet.
	Refused string

	told    *gangsched.PodSpec // what the library was told last, if it waits
	gang    *labelledGang      // that it describes itself,
	minimum int32              // and as of how many members
}

// counts says whether scheduling goes by the pod at all. One that waits and is being deleted will never run.
func (m *Mirror) counts(object *corev1.Pod) bool {
	if kube.Ended(object) {
		return false
	}
	return object.Spec.NodeName != "" || m.ours[object.Spec.SchedulerName] && object.DeletionTimestamp == nil
}

// SetPod says that a pod came or changed.
func (m *Mirror) SetPod(object *corev1.Pod) {
	name := nameOf(object)
	p := m.pods[name]
	if p != nil && (p.Object.UID != object.UID || !m.counts(object)) {
		m.drop(p)
		p = nil
	}
	if !m.counts(object) {
		return
	}
	if p == nil {
		p = &Pod{Name: name, Object: object, Nominated: object.Status.NominatedNodeName}
		m.pods[name] = p
		m.join(p)
		m.tell(p)
		return
	}
	before := p.Object
	p.Object = object
	if said := object.Status.NominatedNodeName; said != before.Status.NominatedNodeName && said != p.Nominated && object.Spec.NodeName == "" {
		p.Nominated = said // by another program, as an autoscaler
		if p.ID != 0 {
			report(m.cluster.Nominate(p.ID, m.cluster.FindNode(said)), "a pod cannot be nominated", object)
		}
		m.awaitNominated(p)
	}
	if p.ID != 0 && p.Attempt != 0 && object.Spec.NodeName == p.Node {
		m.Confirm(p) // before the answer, which may be lost
	}
	if object.Spec.NodeName != "" {
		p.Bound, p.held = object.Spec.NodeName, false
	}
	if groupOf(before) != groupOf(object) || minimumOf(before) != minimumOf(object) {
		m.rejoin(p)
	}
	if p.ID == 0 || !samePod(before, object) {
		m.tell(p)
	}
}

// RemovePod says that a pod is gone.
func (m *Mirror) RemovePod(object *corev1.Pod) {
	if p := m.pods[nameOf(object)]; p != nil && p.Object.UID == object.UID {
		m.drop(p)
	}
}

// Confirm says that a pod is bound by the attempt that it has.
func (m *Mirror) Confirm(p *Pod) {
	err := m.scheduler.Confirm(p.ID, p.Attempt)
	switch {
	case err == nil:
		p.Bound, p.held, p.Lost = p.Node, false, 0
	default: // its reservation was taken back, and it runs all the same
		if !errors.Is(err, gangsched.ErrOutdated) {
			report(err, "a pod that is bound cannot be confirmed", p.Object)
		}
		node := p.Node
		p.Attempt, p.Node = 0, ""
		m.Ran(p, node)
		return
	}
	p.Attempt, p.Node = 0, ""
}

// Ran says that a pod was bound though its attempt is void. It counts there before the watch says so, unless it has another attempt: that will come to
// nothing.
func (m *Mirror) Ran(p *Pod, node string) {
	if p.Object.Spec.NodeName == "" && (p.Bound == "" || p.held) && p.Attempt == 0 {
		p.Bound, p.held = node, false
		m.tell(p)
	}
}

// Hold counts a waiting pod on a node to which a request that is on its way may bind it at any time. False: it cannot be counted there, so that nothing
// may be decided about the node.
func (m *Mirror) Hold(p *Pod, name string) bool {
	n := m.nodes[name]
	if n == nil || n.id == 0 {
		return true
	}
	there := func() bool { return p.ID != 0 && m.cluster.PodNode(p.ID) == n.id }
	if there() {
		return true
	}
	if p.Attempt == 0 && p.Object.Spec.NodeName == "" && (p.Bound == "" || p.held && p.Bound == name) {
		p.Bound, p.held = name, true
		m.tell(p)
	}
	return there()
}

// Release says that it will not be bound there.
func (m *Mirror) Release(p *Pod, node string) {
	if p.held && p.Bound == node {
		p.Bound, p.held = "", false
		m.tell(p)
	}
}

// Unnominate says that a node is not meant for a pod any more, nor for others of its group, and returns the pods that it was meant for.
func (m *Mirror) Unnominate(p *Pod, node string) (lost []*Pod) {
	for _, one := range m.pods {
		if one.Nominated != node || node == "" || !one.Waits() || one.Together() != p.Together() {
			continue
		}
		one.Nominated = ""
		if one.ID != 0 {
			report(m.cluster.Nominate(one.ID, 0), "a pod cannot lose its nomination", one.Object)
		}
		lost = append(lost, one)
	}
	return lost
}

// On is the node that a pod runs on, as far as we know; "": none.
func (p *Pod) On() string { return cmp.Or(p.Object.Spec.NodeName, p.Bound) }

// Waits says whether a pod has no node, as far as we know.
func (p *Pod) Waits() bool { return p.Object.Spec.NodeName == "" && p.Attempt == 0 && p.Bound == "" }

// samePod says whether two versions of a pod are one for scheduling. Its generation changes with its spec, but not by what the system sets, nor by labels
// and annotations, which controllers of other schedulers add when it is there.
func samePod(a, b *corev1.Pod) bool {
	return a.Generation == b.Generation && b.Generation != 0 &&
		a.Spec.NodeName == b.Spec.NodeName && len(a.Spec.SchedulingGates) == len(b.Spec.SchedulingGates) &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		a.Status.StartTime.Equal(b.Status.StartTime) && a.Status.QOSClass == b.Status.QOSClass &&
		slices.Equal(claimNames(a), claimNames(b)) && equality.Semantic.DeepEqual(metav1.GetControllerOf(a), metav1.GetControllerOf(b)) &&
		preempted(a) == preempted(b) && maps.Equal(a.Labels, b.Labels) && sameRequests(a, b) &&
		sameOf(a.Annotations, b.Annotations, groupAnnotations, minimumAnnotations, queueAnnotations, allocatedAnnotations)
}

// sameRequests says whether both count as the same while they are resized.
func sameRequests(a, b *corev1.Pod) bool {
	containers, inits := kube.ContainerRequests(a)
	others, otherInits := kube.ContainerRequests(b)
	return equality.Semantic.DeepEqual(containers, others) && equality.Semantic.DeepEqual(inits, otherInits)
}

// sameOf says whether the first of each of these keys says the same in both.
func sameOf(a, b map[string]string, all ...[]string) bool {
	return !slices.ContainsFunc(all, func(keys []string) bool { return firstOf(a, keys) != firstOf(b, keys) })
}

func preempted(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if one := &pod.Status.Conditions[i]; one.Type == corev1.DisruptionTarget {
			return one.Status == corev1.ConditionTrue && one.Reason == corev1.PodReasonPreemptionByScheduler
		}
	}
	return false
}

// tell hands a pod to the library as it is now, or notes what it waits for.
func (m *Mirror) tell(p *Pod) {
	delete(m.stuck, p)
	if node := p.Object.Spec.NodeName; node != "" && (m.nodes[node] == nil || m.nodes[node].id == 0) {
		if p.ID != 0 { // it was waiting, and it was bound to a node that we have not seen
			m.forget(p)
		}
		keepIn(m.absent, node, p, struct{}{}, false)
		return
	}
	if m.theirs(p) {
		m.forget(p)
		p.Refused = ""
		return
	}
	m.awaitNominated(p)
	missing, err := m.hand(p)
	if errors.Is(err, gangsched.ErrWrongState) { // what cannot change of a pod did: its group, or the node of one that runs
		bound, held := p.Bound, p.held
		m.forget(p)
		p.Bound, p.held = bound, held
		missing, err = m.hand(p)
	}
	if err == nil {
		err = missing
	} else if p.Object.Spec.NodeName != "" {
		klog.ErrorS(err, "a pod that runs is not counted", "pod", p.Name)
	} else if p.Waits() {
		m.forget(p) // what it was told with does not hold any more
	}
	p.Refused = ""
	if err != nil {
		p.Refused = err.Error()
		m.stuck[p] = struct{}{}
	}
}

// hand tells the library of a pod. One that waits for an object which is missing is not told of; one that runs is, without that object: its room counts,
// and its other volumes and claims.
func (m *Mirror) hand(p *Pod) (missing, err error) {
	spec, missing := m.spec(p, p.Object)
	if missing != nil && p.Object.Spec.NodeName == "" && p.Bound == "" {
		if p.ID != 0 {
			m.forget(p) // what it was told with does not hold any more
		}
		return missing, nil
	}
	if missing != nil {
		if spec, err = m.spec(p, m.known(p.Object)); err != nil {
			return nil, err
		}
	}
	switch {
	case p.ID == 0:
		if p.ID, err = m.cluster.AddPod(spec); err == nil {
			m.byID[p.ID] = p
		}
	case p.told == nil || !reflect.DeepEqual(spec, p.told): // an update without news would have it tried again
		err = m.cluster.UpdatePod(p.ID, spec)
	}
	if err != nil {
		return nil, err
	}
	if p.told = nil; p.Waits() {
		p.told = spec
	}
	return missing, nil
}

// known is a pod without those of its volumes and claims that lead to an object which is not there.
func (m *Mirror) known(pod *corev1.Pod) *corev1.Pod {
	made := pod.DeepCopy()
	made.Spec.Volumes, made.Spec.ResourceClaims = nil, nil
	for i := range pod.Spec.Volumes {
		only := *made
		only.Spec.Volumes = pod.Spec.Volumes[i : i+1]
		if _, err := m.storage.needs(&only, m.nodes); err == nil {
			made.Spec.Volumes = append(made.Spec.Volumes, pod.Spec.Volumes[i])
		}
	}
	for i := range pod.Spec.ResourceClaims {
		name, is := kube.ResourceClaimOf(pod, &pod.Spec.ResourceClaims[i])
		if is && (name == "" || m.cluster.FindResourceClaim(pod.Namespace, name) != 0) {
			made.Spec.ResourceClaims = append(made.Spec.ResourceClaims, pod.Spec.ResourceClaims[i])
		}
	}
	return made
}

// spec is a pod as the library takes it. Error: an object that it names is not there.
func (m *Mirror) spec(p *Pod, object *corev1.Pod) (*gangsched.PodSpec, error) {
	volumes, err := m.storage.needs(object, m.nodes)
	if err != nil {
		return nil, err
	}
	if p.Waits() {
		if err := m.unsettled(object); err != nil {
			return nil, err
		}
	}
	spec, err := kube.Pod(object, m.cluster, kube.Options{Group: groupOf(object), Queue: m.queues.of(object), Volumes: volumes})
	if err != nil {
		return nil, err
	}
	if !m.named(spec) {
		spec.PriorityClass = ""
	}
	if spec.Node == 0 && p.Bound != "" {
		spec.Node = m.cluster.FindNode(p.Bound)
	}
	if spec.Node == 0 {
		spec.NominatedNode = m.cluster.FindNode(p.Nominated)
	} else {
		spec.DrawsFrom = m.drawsFrom(p, spec.Node)
	}
	spec.RequiredFeatures = requiredFeatures(object)
	return spec, nil
}

// awaitNominated has a pod be told of again when the node comes that is meant for it.
func (m *Mirror) awaitNominated(p *Pod) {
	if p.Nominated != "" && p.Waits() && m.cluster.FindNode(p.Nominated) == 0 {
		keepIn(m.absent, p.Nominated, p, struct{}{}, false)
	}
}

// forget takes a pod out of the library; it stays one that counts.
func (m *Mirror) forget(p *Pod) {
	if p.ID == 0 {
		return
	}
	report(m.cluster.RemovePod(p.ID), "a pod cannot be removed", p.Object)
	if p.Attempt != 0 {
		m.forgotten = append(m.forgotten, p.Attempt)
	}
	delete(m.byID, p.ID)
	p.ID, p.Attempt, p.Node, p.Bound, p.held = 0, 0, "", "", false
}

func (m *Mirror) drop(p *Pod) {
	m.forget(p)
	m.leave(p.gang, p.minimum)
	delete(m.stuck, p)
	delete(m.pods, p.Name)
	if r := m.reservations[p.Name.Name]; r != nil && r.ID == 0 {
		m.changed = true // it may have waited for the pod's name
	}
	for _, awaited := range []map[string]map[*Pod]struct{}{m.absent, m.owners} { // it may wait for where it runs, and for where it was bound
		for name, waiting := range awaited {
			if delete(waiting, p); len(waiting) == 0 {
				delete(awaited, name)
			}
		}
	}
}
