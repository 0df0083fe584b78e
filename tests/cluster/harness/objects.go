package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// NodeOf makes a node with names and quantities of what it has: NodeOf("a", "cpu", "8", "memory", "32Gi").
func NodeOf(name string, has ...string) *corev1.Node {
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}
	made.Status.Allocatable = ResourcesOf(has...)
	if _, ok := made.Status.Allocatable[corev1.ResourcePods]; !ok {
		made.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	}
	made.Status.Capacity = made.Status.Allocatable
	return made
}

// ResourcesOf are names and quantities as Kubernetes has them.
func ResourcesOf(namesAndQuantities ...string) corev1.ResourceList {
	made := corev1.ResourceList{}
	for i := 0; i+1 < len(namesAndQuantities); i += 2 {
		made[corev1.ResourceName(namesAndQuantities[i])] = resource.MustParse(namesAndQuantities[i+1])
	}
	return made
}

// PodOf makes a pod that asks for so much.
func PodOf(namespace, name string, asks ...string) *corev1.Pod {
	requests := ResourcesOf(asks...)
	limits := corev1.ResourceList{}
	for name, quantity := range requests {
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory { // extended resources need both, and the same
			limits[name] = quantity
		}
	}
	none := int64(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}},
			TerminationGracePeriodSeconds: &none,
		},
	}
}

// AddNodes creates nodes, and then says what they have, which a node that is created loses. KWOK writes their status, too.
func AddNodes(ctx context.Context, client kubernetes.Interface, nodes ...*corev1.Node) error {
	return Each(16, nodes, func(node *corev1.Node) error {
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return err
		}
		status := node.Status
		status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
		patch, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			return err
		}
		if _, err = client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
		// A new node is tainted as not ready until a controller comes by, which would make tests wait.
		if patch, err = json.Marshal(map[string]any{"spec": map[string]any{"taints": node.Spec.Taints}}); err != nil {
			return err
		}
		_, err = client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// AddPods creates pods.
func AddPods(ctx context.Context, client kubernetes.Interface, pods ...*corev1.Pod) error {
	return Each(16, pods, func(pod *corev1.Pod) error {
		_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// Namespace makes a namespace of a new name that begins so.
func Namespace(ctx context.Context, client kubernetes.Interface, begins string) (string, error) {
	made, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: begins + "-"}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return made.Name, nil
}

// Each does something with each of a list, so many at once, and returns the first error.
func Each[T any](parallel int, all []T, do func(T) error) error {
	next := make(chan T)
	var workers sync.WaitGroup
	var mu sync.Mutex
	var first error
	for range parallel {
		workers.Go(func() {
			for one := range next {
				if err := do(one); err != nil {
					mu.Lock()
					if first == nil {
						first = fmt.Errorf("%w", err)
					}
					mu.Unlock()
				}
			}
		})
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	workers.Wait()
	return first
}
