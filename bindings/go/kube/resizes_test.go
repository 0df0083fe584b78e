package kube_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"gangsched/kube"
)

// As component-helpers' resource.PodRequests says of pods on nodes.
func TestAPodThatIsResizedCountsAsTheLargestOfWhatItAsksForWasAllocatedAndHas(t *testing.T) {
	status := func(name, allocated, actuated string) corev1.ContainerStatus {
		made := corev1.ContainerStatus{Name: name, Resources: &corev1.ResourceRequirements{Requests: quantities("cpu", actuated)}}
		if allocated != "" {
			made.AllocatedResources = quantities("cpu", allocated)
		}
		return made
	}
	infeasible := corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}
	for _, one := range []struct {
		spec, allocated, actuated string
		conditions                []corev1.PodCondition
		want                      string
	}{
		{"2", "4", "8", nil, "8"}, {"2", "9", "8", nil, "9"}, {"64", "4", "4", nil, "64"}, {"64", "4", "3", []corev1.PodCondition{infeasible}, "4"}, {"3", "", "2", nil, "3"},
	} {
		pod := &corev1.Pod{}
		pod.Spec.Containers = []corev1.Container{container(quantities("cpu", one.spec))}
		pod.Status.Conditions = one.conditions
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{status("other", "77", "77"), status("c", one.allocated, one.actuated)}
		always := corev1.ContainerRestartPolicyAlways
		pod.Spec.InitContainers = []corev1.Container{
			{Name: "once", Resources: corev1.ResourceRequirements{Requests: quantities("cpu", "1")}},
			{Name: "sidecar", RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: quantities("cpu", "1")}},
		}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{status("once", "5", "5"), status("sidecar", "6", "6")}
		containers, inits := kube.ContainerRequests(pod)
		want := quantities("cpu", one.want)["cpu"]
		if now := containers[0]["cpu"]; now.Cmp(want) != 0 {
			t.Errorf("%+v: counts as %v", one, now.String())
		}
		if once, sidecar := inits[0]["cpu"], inits[1]["cpu"]; once.Value() != 1 || sidecar.Value() != 6 {
			t.Errorf("%+v: init containers count as %v and %v", one, once.String(), sidecar.String())
		}
		pod.Status.ContainerStatuses[1].Resources = nil // it has not run yet
		containers, _ = kube.ContainerRequests(pod)
		if now := containers[0]["cpu"]; now.String() != one.spec {
			t.Errorf("%+v: counts as %v before it runs", one, now.String())
		}
	}
}
