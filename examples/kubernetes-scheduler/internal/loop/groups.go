package loop

import (
	"slices"

	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

// sayOfGroups writes of each PodGroup of Kubernetes whose members found no node in a turn that it is not scheduled, as kube-scheduler does: the condition
// PodGroupScheduled. That it is scheduled is said when a member's bind is sent, and stays.
func (l *Loop) sayOfGroups(decisions []gangsched.Decision, said *news) {
	if !l.mirror.HasPodGroups() {
		return
	}
	notes := map[gangsched.PodID]string{}
	for i := range said.all {
		if said.all[i].Reason == "FailedScheduling" {
			notes[said.all[i].About] = said.all[i].Note
		}
	}
	var tried []*mirror.PodGroup
	conditions := map[*mirror.PodGroup]metav1.Condition{}
	for i := range decisions {
		d := &decisions[i]
		if d.Kind != gangsched.Nominate && d.Kind != gangsched.Reject {
			continue
		}
		p := l.mirror.Pod(d.Pod)
		if p == nil {
			continue
		}
		group := l.mirror.PodGroup(p)
		if group == nil {
			continue
		}
		known, some := conditions[group]
		condition := metav1.Condition{Status: metav1.ConditionFalse, Reason: schedulingv1alpha2.PodGroupReasonUnschedulable, Message: notes[d.Pod]}
		switch {
		case d.Failed():
			condition.Reason, condition.Message = schedulingv1alpha2.PodGroupReasonSchedulerError, d.Reason()
		case some && known.Reason == schedulingv1alpha2.PodGroupReasonSchedulerError:
			continue
		case d.Kind == gangsched.Nominate:
			condition.Message = "pod group is waiting for preemption to complete"
		case some:
			continue
		}
		if !some {
			tried = append(tried, group)
		}
		conditions[group] = condition
	}
	for _, group := range tried {
		l.sayOfGroup(group, conditions[group])
	}
}

// sayScheduled says it of the PodGroup of a pod whose bind is sent.
func (l *Loop) sayScheduled(p *mirror.Pod) {
	if group := l.mirror.PodGroup(p); group != nil {
		l.sayOfGroup(group, metav1.Condition{Status: metav1.ConditionTrue, Reason: "Scheduled"})
	}
}

// sayOfGroup writes whether a group is scheduled, unless it has said so last, or that it is.
func (l *Loop) sayOfGroup(group *mirror.PodGroup, condition metav1.Condition) {
	if group.Said != nil && group.Said.Status == metav1.ConditionTrue {
		return
	}
	condition.Type, condition.ObservedGeneration = schedulingv1alpha2.PodGroupScheduled, group.Object.Generation
	condition.LastTransitionTime = metav1.NewTime(l.clock.Wall())
	all := slices.Clone(group.Object.Status.Conditions)
	if group.Said != nil {
		meta.SetStatusCondition(&all, *group.Said)
	}
	if meta.IsStatusConditionTrue(all, condition.Type) && condition.Status != metav1.ConditionTrue || !meta.SetStatusCondition(&all, condition) {
		return
	}
	group.Said = meta.FindStatusCondition(all, condition.Type).DeepCopy()
	name := types.NamespacedName{Namespace: group.Object.Namespace, Name: group.Object.Name}
	l.writer.SetGroupCondition(name, act.GroupCondition{UID: group.Object.UID, Condition: *group.Said})
}
