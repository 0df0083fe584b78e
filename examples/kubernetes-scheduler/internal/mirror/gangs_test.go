package mirror

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gangsched"
)

// podGroupOf is the PodGroup g of Kubernetes, of pods that start together; 0: they need not.
func podGroupOf(uid string, minimum int32) *schedulingv1alpha2.PodGroup {
	made := &schedulingv1alpha2.PodGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1alpha2", Kind: "PodGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: types.UID(uid)},
	}
	if minimum == 0 {
		made.Spec.SchedulingPolicy.Basic = &schedulingv1alpha2.BasicSchedulingPolicy{}
	} else {
		made.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: minimum}
	}
	return made
}

// coschedulingOf is one of scheduler-plugins, as Koordinator reads it.
func coschedulingOf(t *testing.T, uid, mode string, minimum int) described {
	return queueOf(t, uid, fmt.Sprintf(`{"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "default",
		"annotations": {"gang.scheduling.koordinator.sh/mode": %q}}, "spec": {"minMember": %d}}`, mode, minimum))
}

func volcanoGroup(t *testing.T, class string) described {
	return queueOf(t, "g", fmt.Sprintf(`{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "default"},
		"spec": {"minMember": 1, "priorityClassName": %q}}`, class))
}

func memberOf(group, name string) *corev1.Pod {
	pod := podOf(name, "1")
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	return pod
}

// saying is a pod of the group g that says itself how many of them start together.
func saying(name, minimum string) *corev1.Pod {
	pod := podOf(name, "1")
	pod.Labels = map[string]string{groupLabels[2]: "g", minimumLabels[0]: minimum}
	return pod
}

func priorityClassOf(name string) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 100}
}

// Groups and classes come from different watches, in any order.
func TestAGroupWaitsForItsPriorityClass(t *testing.T) {
	kubes := podGroupOf("g", 1)
	kubes.Spec.PriorityClassName = "high"
	for name, set := range map[string]func(*world){
		"Kubernetes'": func(w *world) { w.SetPodGroup(kubes) },
		"Volcano's":   func(w *world) { w.SetGroup(volcanoGroup(t, "high")) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.SetNode(nodeOf("n", "4"))
			set(w)
			hundred, pod := int32(100), memberOf("g", "p")
			pod.Spec.Priority, pod.Spec.PriorityClassName = &hundred, "high"
			w.SetPod(pod)
			w.want(w.turn(), "[]")
			w.SetPriorityClass(priorityClassOf("other"), false)
			w.want(w.turn(), "[]")
			w.SetPriorityClass(priorityClassOf("high"), false)
			w.want(w.turn(), "[p bind]")
			w.want(len(w.refused), "0")
		})
	}
}

// It is as if it had come only then, which it has after a restart.
func TestAGroupThatIsRefusedWhenItChangesIsNotThere(t *testing.T) {
	w := newWorld(t)
	group := podGroupOf("g", 1)
	w.SetPodGroup(group)
	hundred, pod := int32(100), memberOf("g", "p")
	pod.Spec.Priority, pod.Spec.PriorityClassName = &hundred, "high"
	w.SetPod(pod)
	group = podGroupOf("g", 1)
	group.Spec.PriorityClassName = "high"
	w.SetPodGroup(group)
	w.SetNode(nodeOf("n", "4"))
	w.want(w.turn(), "[]")
	w.SetPriorityClass(priorityClassOf("high"), false)
	w.want(w.turn(), "[p bind]")
}

func TestAGroupThatIsGoneIsNotTriedAgain(t *testing.T) {
	for _, labelled := range []bool{false, true} {
		t.Run(fmt.Sprint("labelled ", labelled), func(t *testing.T) {
			w := newWorld(t)
			w.SetNode(nodeOf("n", "4"))
			if labelled {
				w.SetPod(saying("p", "1"))
			} else {
				w.SetPod(memberOf("g", "p"))
			}
			w.SetGroup(volcanoGroup(t, "high"))
			w.RemoveGroup(volcanoGroup(t, "high"))
			w.want(len(w.refused), "0")
			w.SetPriorityClass(priorityClassOf("high"), false)
			w.want(len(w.turn()) == 1, fmt.Sprint(labelled)) // what its pods say counts
		})
	}
}

// A group that is deleted and made anew while a watch is lost comes as a change, with another uid.
func TestAGroupThatIsMadeAnewReplacesTheOneBefore(t *testing.T) {
	for name, set := range map[string]func(*world, string, int){
		"Kubernetes'": func(w *world, uid string, minimum int) { w.SetPodGroup(podGroupOf(uid, int32(minimum))) },
		"Koordinator's": func(w *world, uid string, minimum int) {
			w.SetGroup(coschedulingOf(t, uid, map[bool]string{true: "Strict", false: "NonStrict"}[minimum != 0], max(1, minimum)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.SetNode(nodeOf("n", "4"))
			set(w, "first", 2)
			w.SetPod(memberOf("g", "p"))
			w.want(w.turn(), "[]") // one of two
			set(w, "second", 0)
			w.want(w.turn(), "[p bind]")
			w.want(len(w.uids), "1")
		})
	}
}

// What cannot change of a group in the library may change on the API server, for annotations may.
func TestAGroupChangesInWhatTheLibraryKeeps(t *testing.T) {
	w := newWorld(t)
	w.SetNode(nodeOf("n", "4"))
	w.SetPodGroup(podGroupOf("g", 2))
	w.SetPod(memberOf("g", "p"))
	w.want(w.turn(), "[]") // one of two
	w.SetPodGroup(podGroupOf("g", 0))
	w.want(w.turn(), "[p bind]")
}

// Pods describe their group before an object does that is of another kind.
func TestAnObjectDescribesAGroupOtherwiseThanItsPods(t *testing.T) {
	for _, first := range []string{"object", "pods"} {
		t.Run("first come the "+first, func(t *testing.T) {
			w := newWorld(t)
			w.SetNode(nodeOf("n", "4"))
			if first == "object" {
				w.SetPodGroup(podGroupOf("g", 0))
			}
			w.SetPod(saying("p", "2"))
			w.SetPodGroup(podGroupOf("g", 0))
			w.want(w.turn(), "[p bind]")
			w.SetPod(saying("q", "2"))
			w.RemovePodGroup(podGroupOf("g", 0))
			w.RemovePod(saying("p", "2"))
			w.want(w.turn(), "[]") // one of two
		})
	}
}

// The least of what its pods say counts, whichever says it and whichever came first.
func TestTheLeastMinimumOfAGangCounts(t *testing.T) {
	for name, order := range map[string][]*corev1.Pod{
		"the same":            {saying("a", "2"), saying("b", "2")},
		"the first says more": {saying("a", "3"), saying("b", "2")},
		"the last says more":  {saying("a", "2"), saying("b", "3")},
		"they change it":      {saying("a", "3"), saying("b", "3"), saying("a", "2"), saying("b", "2")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.SetNode(nodeOf("n", "4"))
			for _, pod := range order {
				w.SetPod(pod)
			}
			w.want(len(w.turn()), "2")
		})
	}
	w := newWorld(t)
	w.SetNode(nodeOf("n", "4"))
	w.SetPod(saying("a", "3"))
	w.SetPod(saying("b", "2"))
	w.RemovePod(saying("b", "2"))
	w.SetPod(saying("c", "3"))
	w.want(w.turn(), "[]") // two of three
	w.SetPod(saying("d", "3"))
	w.want(len(w.turn()), "3")
}

// An object that is wrong in itself waits for nothing.
func TestAMalformedObjectIsNotToldAgain(t *testing.T) {
	w := newWorld(t)
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"not a key": "x"}}}
	w.want(errors.Is(w.handObject(service), gangsched.ErrMalformed), "true")
	w.SetObject(service)
	w.want(len(w.refused), "0")
}
