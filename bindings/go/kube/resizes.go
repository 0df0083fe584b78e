package kube

import corev1 "k8s.io/api/core/v1"

// effective is what a container counts as while it is resized in place (component-helpers' resource.PodRequests with UseStatusResources): of each
// resource the largest of what the spec requests, what kubelet has allocated and what runs; if the resize is infeasible, of the last two.
func effective(infeasible bool, spec, allocated corev1.ResourceList, actuated *corev1.ResourceRequirements) corev1.ResourceList {
	if actuated == nil {
		return spec
	}
	made := corev1.ResourceList{}
	takeLarger := func(other corev1.ResourceList) {
		for name, value := range other {
			if now, some := made[name]; !some || value.Cmp(now) > 0 {
				made[name] = value
			}
		}
	}
	if !infeasible {
		takeLarger(spec)
	}
	takeLarger(actuated.Requests)
	takeLarger(allocated)
	return made
}

func infeasible(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if one := &pod.Status.Conditions[i]; one.Type == corev1.PodResizePending {
			return one.Reason == corev1.PodReasonInfeasible
		}
	}
	return false
}

// ContainerRequests is what each container of the pod counts as, and each init container: its requests, and while it is resized in place (of init
// containers only sidecars are) what it was allocated and has as well.
func ContainerRequests(pod *corev1.Pod) (containers, inits []corev1.ResourceList) {
	never := infeasible(pod)
	of := func(one *corev1.Container, statuses []corev1.ContainerStatus) corev1.ResourceList {
		for i := range statuses {
			if statuses[i].Name == one.Name {
				return effective(never, one.Resources.Requests, statuses[i].AllocatedResources, statuses[i].Resources)
			}
		}
		return one.Resources.Requests
	}
	for i := range pod.Spec.Containers {
		containers = append(containers, of(&pod.Spec.Containers[i], pod.Status.ContainerStatuses))
	}
	for i := range pod.Spec.InitContainers {
		one := &pod.Spec.InitContainers[i]
		if isSidecar(one) {
			inits = append(inits, of(one, pod.Status.InitContainerStatuses))
		} else {
			inits = append(inits, one.Resources.Requests)
		}
	}
	return containers, inits
}

func isSidecar(one *corev1.Container) bool {
	return one.RestartPolicy != nil && *one.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
