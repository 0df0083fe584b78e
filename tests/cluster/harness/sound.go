package harness

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Gang labels of pods that say themselves which gang they are of.
const (
	GangLabel    = "pod-group.scheduling.sigs.k8s.io/name"
	MinimumLabel = "pod-group.scheduling.sigs.k8s.io/min-available"
)

// Unsound is what is wrong with where pods are: a node that has more than it can, a gang of which some run and fewer than have to.
func Unsound(ctx context.Context, client kubernetes.Interface) (wrong []string) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	used := map[string]corev1.ResourceList{}
	gangs := map[string][2]int{} // how many are placed, how many have to be
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.Spec.NodeName == "" {
			continue
		}
		if name := pod.Labels[GangLabel]; name != "" {
			least, err := strconv.Atoi(pod.Labels[MinimumLabel])
			if err != nil {
				return []string{err.Error()}
			}
			gang := gangs[pod.Namespace+"/"+name]
			gangs[pod.Namespace+"/"+name] = [2]int{gang[0] + 1, least}
		}
		sum := used[pod.Spec.NodeName]
		if sum == nil {
			sum = corev1.ResourceList{}
			used[pod.Spec.NodeName] = sum
		}
		add(sum, corev1.ResourcePods, resource.MustParse("1"))
		for c := range pod.Spec.Containers {
			for name, quantity := range pod.Spec.Containers[c].Resources.Requests {
				add(sum, name, quantity)
			}
		}
	}
	for i := range nodes.Items {
		for name, quantity := range used[nodes.Items[i].Name] {
			if has := nodes.Items[i].Status.Allocatable[name]; quantity.Cmp(has) > 0 {
				wrong = append(wrong, fmt.Sprintf("node %s has %s of %s, and %s is used", nodes.Items[i].Name, &has, name, &quantity))
			}
		}
	}
	for name, gang := range gangs {
		if gang[0] < gang[1] {
			wrong = append(wrong, fmt.Sprintf("gang %s is torn: %d of %d have a node", name, gang[0], gang[1]))
		}
	}
	return wrong
}

func add(to corev1.ResourceList, name corev1.ResourceName, quantity resource.Quantity) {
	sum := to[name]
	sum.Add(quantity)
	to[name] = sum
}
