package loop

import (
	"testing"
	"time"

	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

func TestAGroupThatIsScheduledStaysSo(t *testing.T) {
	// Nobody writes here: what the watch says of the group is behind what was said.
	l := &Loop{writer: act.NewWriter(fake.NewClientset(), 8, time.Second), clock: machineClock{time.Now()}}
	group := &mirror.PodGroup{Object: &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "u"}}}
	last := func() string { return string(group.Said.Status) + " " + group.Said.Reason + " " + group.Said.Message }
	refused := func(message string) {
		l.sayOfGroup(group, metav1.Condition{Status: metav1.ConditionFalse, Reason: schedulingv1alpha2.PodGroupReasonUnschedulable, Message: message})
	}
	want := func(expected string) {
		t.Helper()
		if last() != expected {
			t.Errorf("said %q, not %q", last(), expected)
		}
	}
	refused("one")
	want("False Unschedulable one")
	since := group.Said.LastTransitionTime
	l.clock = &steppedClock{start: time.Now(), off: time.Hour}
	refused("two")
	want("False Unschedulable two")
	if group.Said.LastTransitionTime != since {
		t.Error("the status has not changed, and the time has")
	}
	l.sayOfGroup(group, metav1.Condition{Status: metav1.ConditionTrue, Reason: "Scheduled"})
	want("True Scheduled ")
	refused("three")
	want("True Scheduled ")

	group.Object.Status.Conditions = []metav1.Condition{*group.Said} // a scheduler that starts anew knows that from the API server
	group.Said = nil
	refused("four")
	if group.Said != nil {
		t.Error("said", last())
	}
}
