package loop

import (
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/act"
)

// sayOfGroups writes of each PodGroup of Kubernetes whose members a turn was about whether it was scheduled, as kube-scheduler does: the condition
// PodGroupScheduled, which stays once it is true.
func (l *Loop) sayOfGroups(decisions []gangsched.Decision, said *news) {
	notes := map[gangsched.PodID]string{}
	for i := range said.all {
		if said.all[i].Reason == "FailedScheduling" {
			notes[said.all[i].About] = said.all[i].Note
		}
	}
	var tried []*schedulingv1alpha2.PodGroup
	conditions := map[types.UID]metav1.Condition{}
	for i := range decisions {
		d := &decisions[i]
		p := l.mirror.Pod(d.Pod)
		if p == nil {
			continue
		}
		group := l.mirror.PodGroup(p)
		if group == nil {
			continue
		}
		known, some := conditions[group.UID]
		condition := metav1.Condition{Type: schedulingv1alpha2.PodGroupScheduled, Status: metav1.ConditionFalse, ObservedGeneration: group.Generation}
		switch {
		case d.Kind == gangsched.Bind:
			condition.Status, condition.Reason = metav1.ConditionTrue, "Scheduled"
		case some && known.Status == metav1.ConditionTrue:
			continue
		case d.Kind == gangsched.Nominate:
			condition.Reason, condition.Message = schedulingv1alpha2.PodGroupReasonUnschedulable, "pod group is waiting for preemption to complete"
		case some || d.Kind != gangsched.Reject:
			continue
		case d.Failed():
			condition.Reason, condition.Message = schedulingv1alpha2.PodGroupReasonSchedulerError, d.Reason()
		default:
			condition.Reason, condition.Message = schedulingv1alpha2.PodGroupReasonUnschedulable, notes[d.Pod]
		}
		if !some {
			tried = append(tried, group)
		}
		conditions[group.UID] = condition
	}
	for _, group := range tried {
		condition := conditions[group.UID]
		if meta.IsStatusConditionTrue(group.Status.Conditions, condition.Type) && condition.Status != metav1.ConditionTrue {
			continue
		}
		all := append([]metav1.Condition(nil), group.Status.Conditions...)
		condition.LastTransitionTime = metav1.NewTime(l.clock.Wall())
		if !meta.SetStatusCondition(&all, condition) {
			continue
		}
		name := types.NamespacedName{Namespace: group.Namespace, Name: group.Name}
		l.writer.SetGroupCondition(name, act.GroupCondition{UID: group.UID, Condition: *meta.FindStatusCondition(all, condition.Type)})
	}
}
