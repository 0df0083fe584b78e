package loop

import (
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

// What kube-scheduler says of a PodGroup, in the condition PodGroupScheduled; what its members lack is in theirs.
const (
	groupUnschedulable = "pod group is unschedulable"
	groupPreempts      = groupUnschedulable + ", pod group is waiting for preemption to complete"
	memberFailed       = "failed to schedule other pod from a pod group: "
)

// sayOfGroups writes, as kube-scheduler does, into each PodGroup of Kubernetes of which no member found a node in a turn that it is not scheduled: the
// condition PodGroupScheduled. That it is scheduled is said when a member's bind is sent, which other replicas are told of first, and stays.
func (l *Loop) sayOfGroups(decisions []gangsched.Decision) {
	if !l.mirror.HasPodGroups() {
		return
	}
	starts := map[*mirror.PodGroup]bool{}
	for i := range decisions {
		if d := &decisions[i]; d.Kind == gangsched.Bind || d.Kind == gangsched.Wait {
			starts[l.groupOf(d)] = true
		}
	}
	var tried []*mirror.PodGroup
	conditions := map[*mirror.PodGroup]metav1.Condition{}
	for i := range decisions {
		d := &decisions[i]
		if d.Kind != gangsched.Nominate && d.Kind != gangsched.Reject {
			continue
		}
		group := l.groupOf(d)
		if group == nil || starts[group] {
			continue
		}
		known, some := conditions[group]
		condition := metav1.Condition{
			Type: schedulingv1alpha2.PodGroupScheduled, Status: metav1.ConditionFalse, Reason: schedulingv1alpha2.PodGroupReasonUnschedulable, Message: groupUnschedulable,
		}
		switch {
		case d.Failed():
			condition.Reason, condition.Message = schedulingv1alpha2.PodGroupReasonSchedulerError, memberFailed+d.Reason()
		case some && known.Reason == schedulingv1alpha2.PodGroupReasonSchedulerError:
			continue
		case d.Kind == gangsched.Nominate:
			condition.Message = groupPreempts
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

// groupOf is the PodGroup of Kubernetes that a decision is about; nil if there is none.
func (l *Loop) groupOf(d *gangsched.Decision) *mirror.PodGroup {
	if p := l.mirror.Pod(d.Pod); p != nil {
		return l.mirror.PodGroup(p)
	}
	return nil
}

// sayScheduled says it of the PodGroup of a pod whose bind is sent. One that was evicted runs again.
func (l *Loop) sayScheduled(p *mirror.Pod) {
	group := l.mirror.PodGroup(p)
	if group == nil {
		return
	}
	if now := group.Condition(schedulingv1alpha2.DisruptionTarget); now != nil && now.Status == metav1.ConditionTrue {
		l.sayOfGroup(group, metav1.Condition{Type: schedulingv1alpha2.DisruptionTarget, Status: metav1.ConditionFalse, Reason: "Scheduled"})
	}
	l.sayOfGroup(group, metav1.Condition{Type: schedulingv1alpha2.PodGroupScheduled, Status: metav1.ConditionTrue, Reason: "Scheduled"})
}

// sayDisrupted writes of the PodGroup of a victim, if it is disrupted as a whole, what its pods are told: the condition DisruptionTarget.
func (l *Loop) sayDisrupted(victim *mirror.Pod, message string) {
	group := l.mirror.PodGroup(victim)
	if group == nil || group.Object.Spec.DisruptionMode == nil || *group.Object.Spec.DisruptionMode != schedulingv1alpha2.DisruptionModePodGroup {
		return
	}
	l.sayOfGroup(group, metav1.Condition{
		Type: schedulingv1alpha2.DisruptionTarget, Status: metav1.ConditionTrue, Reason: schedulingv1alpha2.PodGroupReasonPreemptionByScheduler, Message: message,
	})
}

// sayOfGroup writes a condition of a group, unless it is so already. That it is scheduled stays.
func (l *Loop) sayOfGroup(group *mirror.PodGroup, condition metav1.Condition) {
	now := group.Condition(condition.Type)
	if now != nil && now.Status == metav1.ConditionTrue && condition.Type == schedulingv1alpha2.PodGroupScheduled {
		return
	}
	condition.ObservedGeneration, condition.LastTransitionTime = group.Object.Generation, metav1.NewTime(l.clock.Wall())
	var made []metav1.Condition
	if now != nil {
		made = append(made, *now)
	}
	if !meta.SetStatusCondition(&made, condition) {
		return
	}
	meta.SetStatusCondition(&group.Said, made[0])
	name := types.NamespacedName{Namespace: group.Object.Namespace, Name: group.Object.Name}
	l.writer.SetGroupConditions(name, act.GroupConditions{UID: group.Object.UID, Conditions: made})
}
