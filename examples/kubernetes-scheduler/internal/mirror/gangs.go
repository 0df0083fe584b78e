package mirror

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"gangsched"
)

// Labels and annotations by which pods name their group, beside spec.schedulingGroup. The first that is there counts.
var groupLabels = []string{
	"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name", "kueue.x-k8s.io/pod-group-name",
}
var groupAnnotations = []string{
	"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "gang.scheduling.koordinator.sh/name", "pod-group-name",
}

func groupOf(pod *corev1.Pod) string {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return *group.PodGroupName
	}
	return cmp.Or(firstOf(pod.Labels, groupLabels), firstOf(pod.Annotations, groupAnnotations))
}

// PodGroup is one of Kubernetes.
type PodGroup struct {
	Object *schedulingv1alpha2.PodGroup
	Said   []metav1.Condition // what is written, by type, as long as the watch does not know of it
}

// Condition is the group's of such a type, as it was written or read last; nil if it has none. A group that is scheduled stays so, whoever wrote it.
func (g *PodGroup) Condition(kind string) *metav1.Condition {
	said, read := meta.FindStatusCondition(g.Said, kind), meta.FindStatusCondition(g.Object.Status.Conditions, kind)
	if said == nil || stays(read) {
		return read
	}
	return said
}

// stays says whether a condition is that a group is scheduled, which is not taken back.
func stays(one *metav1.Condition) bool {
	return one != nil && one.Type == schedulingv1alpha2.PodGroupScheduled && one.Status == metav1.ConditionTrue
}

// read takes in what the watch says of the group. What was written and is there now, or was changed since by somebody else, counts as it is there.
func (g *PodGroup) read(object *schedulingv1alpha2.PodGroup) {
	g.Object = object
	g.Said = slices.DeleteFunc(g.Said, func(said metav1.Condition) bool {
		now := meta.FindStatusCondition(object.Status.Conditions, said.Type)
		switch {
		case now == nil:
			return false
		case stays(&said) || stays(now):
			return stays(now)
		}
		return now.Status == said.Status && now.Reason == said.Reason && now.Message == said.Message ||
			now.LastTransitionTime.After(said.LastTransitionTime.Time)
	})
}

// SetPodGroup says that a PodGroup is as it is. A change of its status alone is nothing to the library.
func (m *Mirror) SetPodGroup(group *schedulingv1alpha2.PodGroup) {
	name := types.NamespacedName{Namespace: group.Namespace, Name: group.Name}
	known := m.groups[name]
	if known == nil || known.Object.UID != group.UID {
		m.groups[name] = &PodGroup{Object: group}
		m.SetGroup(group)
		return
	}
	before := known.Object
	known.read(group)
	// (The API server counts no generations of it.)
	if !equality.Semantic.DeepEqual(before.Spec, group.Spec) || !maps.Equal(before.Labels, group.Labels) || !maps.Equal(before.Annotations, group.Annotations) {
		m.SetGroup(group)
	}
}

// RemovePodGroup says that it is gone.
func (m *Mirror) RemovePodGroup(group *schedulingv1alpha2.PodGroup) {
	delete(m.groups, types.NamespacedName{Namespace: group.Namespace, Name: group.Name})
	m.RemoveGroup(group)
}

// HasPodGroups says whether there are any of Kubernetes.
func (m *Mirror) HasPodGroups() bool { return len(m.groups) != 0 }

// PodGroup is the one of Kubernetes that a pod is in; nil if there is none.
func (m *Mirror) PodGroup(p *Pod) *PodGroup {
	if group := p.Object.Spec.SchedulingGroup; group == nil || group.PodGroupName == nil {
		return nil
	}
	return m.groups[types.NamespacedName{Namespace: p.Name.Namespace, Name: groupOf(p.Object)}]
}

// Where pods say how many members of their group start together: in a label or an annotation, the first that is there.
var minimumLabels = []string{"pod-group.scheduling.sigs.k8s.io/min-available"}
var minimumAnnotations = []string{
	"gang.scheduling.koordinator.sh/min-available", "pod-group.scheduling.sigs.k8s.io/min-available", "kueue.x-k8s.io/pod-group-total-count",
}

// minimumOf is how many members start together, where pods say so themselves and no object describes their group; 0: they do not.
func minimumOf(pod *corev1.Pod) int32 {
	said := cmp.Or(firstOf(pod.Labels, minimumLabels), firstOf(pod.Annotations, minimumAnnotations))
	count, err := strconv.ParseInt(said, 10, 32)
	if err != nil || count < 1 {
		return 0
	}
	return int32(count)
}

// labelledGang is a group that its pods describe themselves: it is there as long as one of them is. While an object describes it that counts.
type labelledGang struct {
	name    types.NamespacedName
	id      gangsched.GroupID // 0: an object describes it
	minimum int32             // that the library was told
	said    map[int32]int     // how many pods say each minimum: the least counts, whichever came first
}

// join makes the group of a pod that describes its group itself, or has it be what this one says, too.
func (m *Mirror) join(p *Pod) {
	group, minimum := groupOf(p.Object), minimumOf(p.Object)
	if group == "" || minimum == 0 {
		return
	}
	name := types.NamespacedName{Namespace: p.Name.Namespace, Name: group}
	gang := m.gangs[name]
	if gang == nil {
		gang = &labelledGang{name: name, said: map[int32]int{}}
		m.gangs[name] = gang
	}
	p.gang, p.minimum = gang, minimum
	gang.said[minimum]++
	m.describe(gang)
}

// describe has the library make a group as its pods describe it.
func (m *Mirror) describe(gang *labelledGang) {
	spec := &gangsched.GroupSpec{Namespace: gang.name.Namespace, Name: gang.name.Name, MinCount: slices.Min(slices.Collect(maps.Keys(gang.said)))}
	var err error
	switch {
	case gang.id == 0:
		if gang.id, err = m.cluster.AddGroup(spec); err != nil { // an object describes it
			gang.id = 0
		}
	case gang.minimum != spec.MinCount:
		if err = m.cluster.UpdateGroup(gang.id, spec); err != nil {
			klog.ErrorS(err, "a group is not as its pods say", "group", gang.name)
			return
		}
	}
	gang.minimum = spec.MinCount
}

// leave says that a pod which said such a minimum is not in a group any more.
func (m *Mirror) leave(gang *labelledGang, minimum int32) {
	if gang == nil {
		return
	}
	if gang.said[minimum]--; gang.said[minimum] == 0 {
		delete(gang.said, minimum)
	}
	if len(gang.said) != 0 {
		m.describe(gang)
		return
	}
	if gang.id != 0 {
		if err := m.cluster.RemoveGroup(gang.id); err != nil {
			klog.ErrorS(err, "a group cannot be removed", "group", gang.name)
		}
	}
	delete(m.gangs, gang.name)
}

// rejoin has a pod that names its group otherwise than before be in that one.
func (m *Mirror) rejoin(p *Pod) {
	gang, minimum := p.gang, p.minimum
	p.gang = nil
	m.join(p)
	m.leave(gang, minimum)
}

// described is an object that describes a group, as clients hand it over.
type described interface {
	runtime.Object
	metav1.Object
}

// SetGroup is SetObject for objects that describe groups, whichever system's they are. What the pods of such a group say themselves does not count then.
func (m *Mirror) SetGroup(object described) {
	key := keyOf(object)
	if before, known := m.uids[key]; known && before != object.GetUID() {
		m.RemoveGroup(object)
	}
	m.uids[key] = object.GetUID()
	m.SetObject(object)
}

// RemoveGroup says that such an object is gone: what the pods say themselves counts again.
func (m *Mirror) RemoveGroup(object described) {
	delete(m.uids, keyOf(object))
	if m.describesItself(object) { // it was refused when it came
		delete(m.refused, keyOf(object))
		return
	}
	m.RemoveObject(object)
	m.describedBy(object, false)
}

// gangOf is the group that an object describes, if its pods do so themselves; else nil.
func (m *Mirror) gangOf(object runtime.Object) *labelledGang {
	if key := keyOf(object); key.kind == "PodGroup" {
		return m.gangs[key.name]
	}
	return nil
}

// describesItself says whether the library has the group that an object describes as its pods do.
func (m *Mirror) describesItself(object runtime.Object) bool {
	gang := m.gangOf(object)
	return gang != nil && gang.id != 0
}

// describedBy notes that the library took an object, or did not. If it describes a group, what the pods of that say does not count; without it that does.
func (m *Mirror) describedBy(object runtime.Object, taken bool) {
	gang := m.gangOf(object)
	switch {
	case gang == nil:
	case taken:
		gang.id = 0
	case gang.id == 0:
		m.describe(gang)
	}
}
