package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"gangsched/tests/cluster/harness"
)

// gang makes pods that say themselves which gang they are of.
func (w *world) gang(name string, size int, asks ...string) (made []*corev1.Pod) {
	for i := range size {
		pod := w.pod(fmt.Sprintf("%s-%d", name, i), asks...)
		pod.Labels = map[string]string{harness.GangLabel: name, harness.MinimumLabel: fmt.Sprint(size)}
		made = append(made, pod)
	}
	return made
}

func names(pods []*corev1.Pod) (made []string) {
	for _, pod := range pods {
		made = append(made, pod.Name)
	}
	return made
}

func TestAControlPlaneStarts(t *testing.T) {
	w := newPlane(t, harness.Options{})
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 1, "cpu", "4")...))
	list, err := w.client.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 1 {
		t.Errorf("there are %d nodes", len(list.Items))
	}
}

func TestPodsRunAndWhoDoesNotFitIsToldWhy(t *testing.T) {
	w := newWorld(t, "", nodes("n", 3, "cpu", "4", "memory", "8Gi")...)
	w.add(w.pod("a", "cpu", "3"), w.pod("b", "cpu", "3"), w.pod("c", "cpu", "3"))
	w.bound("a", "b", "c")
	w.add(w.pod("large", "cpu", "5"))
	said := w.unschedulable("large")
	if want := "0/3 nodes are available: 3 Insufficient cpu."; !strings.HasPrefix(said, want) {
		t.Errorf("%q does not begin with %q", said, want)
	}
	explained, err := w.scheduler.Get(w.ctx, "/debug/explain/"+w.namespace+"/large")
	must(t, err)
	if !strings.Contains(explained, "Insufficient cpu") {
		t.Errorf("explained: %q", explained)
	}
	w.eventually(func() string {
		events, err := w.client.EventsV1().Events(w.namespace).List(w.ctx, metav1.ListOptions{})
		must(t, err)
		found := map[string]string{}
		for _, one := range events.Items {
			found[one.Reason+" "+one.Regarding.Name] = one.Note
		}
		if found["FailedScheduling large"] != said {
			return fmt.Sprint("events: ", found)
		}
		if want := "Successfully assigned " + w.namespace + "/a to "; !strings.HasPrefix(found["Scheduled a"], want) {
			return fmt.Sprint("events: ", found)
		}
		return ""
	})
	must(t, harness.AddNodes(w.ctx, w.client, harness.NodeOf("big", "cpu", "8", "memory", "8Gi")))
	if got := w.bound("large"); got[0] != "big" {
		t.Errorf("large runs on %s", got[0])
	}
	w.eventually(func() string { // the last bind is seen by us before its answer is by the scheduler
		metrics, err := w.scheduler.Get(w.ctx, "/metrics")
		must(t, err)
		if want := `scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} 4`; !strings.Contains(metrics, want) {
			_, after, _ := strings.Cut(metrics, "# TYPE scheduler_schedule_attempts_total")
			return fmt.Sprintf("not in the metrics: %s, but %.300s", want, after)
		}
		return ""
	})
	w.sound()
}

func TestAGangRunsAsAWhole(t *testing.T) {
	w := newWorld(t, "", nodes("n", 2, "cpu", "4")...)
	first, second := w.gang("first", 3, "cpu", "2"), w.gang("second", 3, "cpu", "2")
	w.add(first...)
	w.bound(names(first)...)
	w.add(second...) // one of them would fit
	w.unschedulable("second-0")
	for _, name := range names(second) {
		if node := w.get(name).Spec.NodeName; node != "" {
			t.Errorf("%s runs on %s alone", name, node)
		}
	}
	must(t, harness.AddNodes(w.ctx, w.client, nodes("m", 1, "cpu", "4")...))
	w.bound(names(second)...)
	w.sound()
}

func TestAPodGroupOfKubernetesRunsAsAWhole(t *testing.T) {
	w := newWorld(t, "", nodes("n", 2, "cpu", "4")...)
	var pods []*corev1.Pod
	for i := range 4 {
		pod := w.pod(fmt.Sprintf("p-%d", i), "cpu", "2")
		group := "train"
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
		pods = append(pods, pod)
	}
	w.add(pods...)
	w.add(w.pod("alone", "cpu", "1"))
	w.bound("alone") // nobody of the group goes before it is there, and now it does not fit
	group := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: w.namespace}}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: 4}
	_, err := w.client.SchedulingV1alpha2().PodGroups(w.namespace).Create(w.ctx, group, metav1.CreateOptions{})
	must(t, err)
	w.unschedulable("p-0")
	said := w.groupCondition("train", schedulingv1alpha2.PodGroupScheduled, metav1.ConditionFalse, schedulingv1alpha2.PodGroupReasonUnschedulable)
	if want := "pod group is unschedulable"; said != want {
		t.Errorf("%q is not %q", said, want)
	}
	must(t, w.client.CoreV1().Pods(w.namespace).Delete(w.ctx, "alone", metav1.DeleteOptions{}))
	w.bound(names(pods)...)
	w.groupCondition("train", schedulingv1alpha2.PodGroupScheduled, metav1.ConditionTrue, "Scheduled")
	must(t, w.client.CoreV1().Pods(w.namespace).Delete(w.ctx, "p-0", metav1.DeleteOptions{}))
	again := w.pod("p-4", "cpu", "4") // it finds no node, and the group was scheduled all the same
	again.Spec.SchedulingGroup = pods[0].Spec.SchedulingGroup
	w.add(again)
	w.unschedulable("p-4")
	w.groupCondition("train", schedulingv1alpha2.PodGroupScheduled, metav1.ConditionTrue, "Scheduled")
	w.sound()
}

// groupCondition waits until a PodGroup's condition of such a type is so, and returns its message.
func (w *world) groupCondition(name, kind string, status metav1.ConditionStatus, reason string) (message string) {
	w.Helper()
	w.eventually(func() string {
		group, err := w.client.SchedulingV1alpha2().PodGroups(w.namespace).Get(w.ctx, name, metav1.GetOptions{})
		must(w.T, err)
		found := apimeta.FindStatusCondition(group.Status.Conditions, kind)
		if found != nil && found.Status == status && found.Reason == reason && found.ObservedGeneration == group.Generation {
			message = found.Message
			return ""
		}
		return fmt.Sprintf("the PodGroup %s has not %s %s, %s, but %v", name, kind, status, reason, group.Status.Conditions)
	})
	return message
}

func TestAPodGroupThatIsEvictedAsAWholeSaysSo(t *testing.T) {
	w := newPlane(t, harness.Options{Gates: ",WorkloadAwarePreemption=true"})
	w.classes(1, 100)
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 2, "cpu", "4")...))
	w.start("")
	group := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: w.namespace}}
	mode := schedulingv1alpha2.DisruptionModePodGroup
	group.Spec.DisruptionMode, group.Spec.PriorityClassName = &mode, "p1"
	group.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: 2}
	_, err := w.client.SchedulingV1alpha2().PodGroups(w.namespace).Create(w.ctx, group, metav1.CreateOptions{})
	must(t, err)
	member := func(name string) *corev1.Pod {
		pod := priority(w.pod(name, "cpu", "4"), 1)
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group.Name}
		return pod
	}
	w.add(member("a"), member("b"))
	w.bound("a", "b")
	w.add(priority(w.pod("urgent", "cpu", "4"), 100)) // the room of one of them would do
	w.bound("urgent")
	said := w.groupCondition("train", schedulingv1alpha2.DisruptionTarget, metav1.ConditionTrue, schedulingv1alpha2.PodGroupReasonPreemptionByScheduler)
	if want := "default-scheduler: preempting to accommodate a higher priority pod"; said != want {
		t.Errorf("%q is not %q", said, want)
	}
	w.groupCondition("train", schedulingv1alpha2.PodGroupScheduled, metav1.ConditionTrue, "Scheduled")
	w.remove("urgent")
	w.add(member("c"), member("d"))
	w.bound("c", "d")
	w.groupCondition("train", schedulingv1alpha2.DisruptionTarget, metav1.ConditionFalse, "Scheduled")
	w.sound()
}

func priority(pod *corev1.Pod, value int32) *corev1.Pod {
	pod.Spec.PriorityClassName = fmt.Sprintf("p%d", value)
	return pod
}

func TestPreemptionSparesWhatABudgetProtects(t *testing.T) {
	w := newWorld(t, "", nodes("n", 2, "cpu", "4")...)
	w.classes(1, 100)
	protected, other := priority(w.pod("protected", "cpu", "4"), 1), priority(w.pod("other", "cpu", "4"), 1)
	protected.Labels = map[string]string{"app": "protected"}
	w.add(protected, other)
	w.bound("protected", "other")
	none := intstr.FromInt32(0)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: protected.Labels}}}
	_, err := w.client.PolicyV1().PodDisruptionBudgets(w.namespace).Create(w.ctx, budget, metav1.CreateOptions{})
	must(t, err)
	time.Sleep(2 * time.Second) // both schedulers hear of budgets by a watch of their own
	w.add(priority(w.pod("urgent", "cpu", "4"), 100))
	w.bound("urgent")
	if node := w.get("protected").Spec.NodeName; node == "" {
		t.Error("the protected pod is gone")
	}
	if _, err := w.client.CoreV1().Pods(w.namespace).Get(w.ctx, "other", metav1.GetOptions{}); err == nil {
		t.Error("the other pod is still there")
	}
	if node := w.get("urgent").Status.NominatedNodeName; node != "" {
		t.Errorf("a pod that runs is nominated to %s", node)
	}
	w.sound()
}
