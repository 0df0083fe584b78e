package loop

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

func TestAGroupThatIsScheduledStaysSo(t *testing.T) {
	// Nobody writes here: what the watch says of the group is behind what was said.
	l := &Loop{writer: act.NewWriter(fake.NewClientset(), 8, time.Second), clock: machineClock{time.Now()}}
	group := &mirror.PodGroup{Object: &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "u"}}}
	const kind = schedulingv1alpha2.PodGroupScheduled
	last := func() string {
		now := group.Condition(kind)
		return string(now.Status) + " " + now.Reason + " " + now.Message
	}
	refused := func(message string) {
		l.sayOfGroup(group, metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: schedulingv1alpha2.PodGroupReasonUnschedulable, Message: message})
	}
	want := func(expected string) {
		t.Helper()
		if last() != expected {
			t.Errorf("said %q, not %q", last(), expected)
		}
	}
	refused("one")
	want("False Unschedulable one")
	since := group.Condition(kind).LastTransitionTime
	l.clock = &steppedClock{start: time.Now(), off: time.Hour}
	refused("two")
	want("False Unschedulable two")
	if group.Condition(kind).LastTransitionTime != since {
		t.Error("the status has not changed, and the time has")
	}
	l.sayOfGroup(group, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Scheduled"})
	want("True Scheduled ")
	refused("three")
	want("True Scheduled ")

	group.Object.Status.Conditions = group.Said // a scheduler that starts anew knows that from the API server
	group.Said = nil
	refused("four")
	if group.Said != nil {
		t.Error("said", last())
	}
}

// none is what a PodGroup says that has no such condition.
const none = "none"

// group makes a gang of two called g; member has a pod be in it, and says waits for one of its conditions: status, reason and message. That there is
// none has to last for some turns.
func (w *world) group(change func(*schedulingv1alpha2.PodGroupSpec)) (member func(*corev1.Pod), says func(kind, want string)) {
	group := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "g"}}
	group.TypeMeta = metav1.TypeMeta{APIVersion: schedulingv1alpha2.SchemeGroupVersion.String(), Kind: "PodGroup"}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: 2}
	change(&group.Spec)
	must(w.T, w.client.Tracker().Add(group))
	w.box.Put(func() { w.mirror.SetPodGroup(group) })
	member = func(pod *corev1.Pod) {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group.Name}
	}
	return member, func(kind, want string) {
		w.Helper()
		if want == none {
			w.turns()
		}
		w.eventually(kind+": "+want, func() bool { return wordsOf(w.readGroup(), kind) == want })
	}
}

// readGroup is the group as the API server has it.
func (w *world) readGroup() *schedulingv1alpha2.PodGroup {
	w.Helper()
	now, err := w.client.SchedulingV1alpha2().PodGroups("default").Get(w.Context(), "g", metav1.GetOptions{})
	must(w.T, err)
	return now
}

// wordsOf is the status, reason and message of a group's condition.
func wordsOf(group *schedulingv1alpha2.PodGroup, kind string) string {
	if one := meta.FindStatusCondition(group.Status.Conditions, kind); one != nil {
		return fmt.Sprintf("%s %s %s", one.Status, one.Reason, one.Message)
	}
	return none
}

// What another replica has written stays, though this one said otherwise before.
func TestAPodGroupThatAnotherReplicaSchedulesStaysScheduled(t *testing.T) {
	const scheduled, disrupted = schedulingv1alpha2.PodGroupScheduled, schedulingv1alpha2.DisruptionTarget
	w := newWorld(t)
	_, says := w.group(func(*schedulingv1alpha2.PodGroupSpec) {})
	say := func(kind string, status metav1.ConditionStatus, reason string) {
		w.Helper()
		_, err := Ask(t.Context(), w.Loop, func(_ *gangsched.Cluster, _ *gangsched.Scheduler, m *mirror.Mirror) (int, error) {
			name := "g"
			member := &mirror.Pod{Name: types.NamespacedName{Namespace: "default", Name: "p"}, Object: &corev1.Pod{
				Spec: corev1.PodSpec{SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: &name}}}}
			w.sayOfGroup(m.PodGroup(member), metav1.Condition{Type: kind, Status: status, Reason: reason})
			return 0, nil
		})
		must(t, err)
	}
	say(scheduled, metav1.ConditionFalse, "Unschedulable")
	says(scheduled, "False Unschedulable ")
	by := w.readGroup()
	meta.SetStatusCondition(&by.Status.Conditions, metav1.Condition{Type: scheduled, Status: metav1.ConditionTrue, Reason: "Scheduled"})
	_, err := w.client.SchedulingV1alpha2().PodGroups("default").UpdateStatus(t.Context(), by, metav1.UpdateOptions{})
	must(t, err)
	// What the watch says comes later: what is written of one condition says nothing of the others.
	say(disrupted, metav1.ConditionTrue, "PreemptionByScheduler")
	says(disrupted, "True PreemptionByScheduler ")
	says(scheduled, "True Scheduled ")
	by = w.readGroup()
	by.TypeMeta = metav1.TypeMeta{APIVersion: schedulingv1alpha2.SchemeGroupVersion.String(), Kind: "PodGroup"}
	w.box.Put(func() { w.mirror.SetPodGroup(by) })
	say(scheduled, metav1.ConditionFalse, "SchedulerError")
	say(disrupted, metav1.ConditionFalse, "Scheduled")
	says(disrupted, "False Scheduled ")
	says(scheduled, "True Scheduled ")
}

// Other replicas are told of binds before they are sent: until then nothing is said of the group.
func TestAPodGroupOfWhichSomeStartIsNotCalledUnschedulable(t *testing.T) {
	w := newWorld(t)
	member, says := w.group(func(*schedulingv1alpha2.PodGroupSpec) {})
	w.pod("a", "1", member) // they wait: there is no node
	w.pod("b", "1", member)
	says(schedulingv1alpha2.PodGroupScheduled, "False Unschedulable pod group is unschedulable")
	for _, kind := range []gangsched.DecisionKind{gangsched.Bind, gangsched.Wait} {
		count, err := Ask(t.Context(), w.Loop, func(_ *gangsched.Cluster, _ *gangsched.Scheduler, m *mirror.Mirror) (int, error) {
			find := func(name string) *mirror.Pod { return m.Find(types.NamespacedName{Namespace: "default", Name: name}) }
			group := m.PodGroup(find("a"))
			group.Said = nil
			w.sayOfGroups([]gangsched.Decision{{Kind: gangsched.Reject, Pod: find("a").ID}, {Kind: kind, Pod: find("b").ID}})
			return len(group.Said), nil
		})
		must(t, err)
		if count != 0 {
			t.Errorf("%v: it is said", kind)
		}
	}
}

func TestAPodGroupIsSpokenOfInKubeSchedulersWords(t *testing.T) {
	w := newWorld(t)
	w.node("n", "2")
	w.pod("other", "1")
	w.eventually("other runs", func() bool { return w.on("other") == "n" })
	high := int32(100)
	member, says := w.group(func(spec *schedulingv1alpha2.PodGroupSpec) { spec.Priority = &high })
	large := w.pod("large", "3", priority(high), member)
	w.pod("small", "1", priority(high), member)
	says(schedulingv1alpha2.PodGroupScheduled, "False Unschedulable pod group is unschedulable")
	must(t, w.client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "default", "large"))
	w.box.Put(func() { w.mirror.RemovePod(large) })
	w.pod("second", "1", priority(high), member)
	says(schedulingv1alpha2.PodGroupScheduled, "False Unschedulable pod group is unschedulable, pod group is waiting for preemption to complete")
	w.box.Put(func() {
		failed := gangsched.Decision{Kind: gangsched.Reject, Pod: w.mirror.Find(types.NamespacedName{Namespace: "default", Name: "small"}).ID}
		for !failed.Failed() {
			failed.Code++
		}
		w.sayOfGroups([]gangsched.Decision{failed})
	})
	says(schedulingv1alpha2.PodGroupScheduled, "False SchedulerError failed to schedule other pod from a pod group: ")
}

func TestAPodGroupThatIsEvictedAsAWholeSaysSo(t *testing.T) {
	for _, mode := range []schedulingv1alpha2.DisruptionMode{schedulingv1alpha2.DisruptionModePodGroup, schedulingv1alpha2.DisruptionModePod} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t)
			w.node("n", "2")
			member, says := w.group(func(spec *schedulingv1alpha2.PodGroupSpec) { spec.DisruptionMode = &mode })
			both := []*corev1.Pod{w.pod("a", "1", member), w.pod("b", "1", member)}
			w.eventually("the gang runs", func() bool { return w.on("a") == "n" && w.on("b") == "n" })
			says(schedulingv1alpha2.PodGroupScheduled, "True Scheduled ")
			says(schedulingv1alpha2.DisruptionTarget, none)
			urgent := w.pod("urgent", "2", priority(100))
			w.eventually("both are evicted", func() bool {
				list, err := w.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
				must(t, err)
				return len(list.Items) == 1
			})
			want, after := "True PreemptionByScheduler default-scheduler: preempting to accommodate a higher priority pod", "False Scheduled "
			if mode == schedulingv1alpha2.DisruptionModePod {
				want, after = none, none
			}
			says(schedulingv1alpha2.DisruptionTarget, want)
			w.box.Put(func() {
				for _, pod := range both {
					w.mirror.RemovePod(pod)
				}
			})
			w.eventually("urgent runs", func() bool { return w.on("urgent") == "n" })
			says(schedulingv1alpha2.DisruptionTarget, want)
			w.box.Put(func() { w.mirror.RemovePod(urgent) })
			w.pod("c", "1", member)
			w.pod("d", "1", member)
			w.eventually("the gang runs again", func() bool { return w.on("c") == "n" && w.on("d") == "n" })
			says(schedulingv1alpha2.DisruptionTarget, after)
			says(schedulingv1alpha2.PodGroupScheduled, "True Scheduled ")
		})
	}
}
