package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"gangsched/tests/cluster/harness"
)

const (
	batchPool = "batch"
	poolLabel = "example.com/pool"
	gpu       = "nvidia.com/gpu"
)

// furnish makes the nodes, and the kind that describes queues, which has to be there before the scheduler starts.
func (s *show) furnish(ctx context.Context) error {
	var nodes []*corev1.Node
	for i := range 100 {
		node := harness.NodeOf(fmt.Sprintf("node-%02d", i), "cpu", "16", "memory", "64Gi")
		switch {
		case i < 4:
			node.Labels[poolLabel] = batchPool
		case i < 14:
			node = harness.NodeOf(fmt.Sprintf("gpu-%02d", i-4), "cpu", "64", "memory", "256Gi", gpu, "8")
		}
		nodes = append(nodes, node)
	}
	if err := harness.AddNodes(ctx, s.client, nodes...); err != nil {
		return err
	}
	return harness.InstallKind(ctx, s.plane.Config, queues, "Queue", false)
}

var queues = schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"}

// gang makes the pods of one.
func (s *show) gang(name string, size int, asks ...string) (made []*corev1.Pod) {
	for i := range size {
		pod := harness.PodOf(s.namespace, fmt.Sprintf("%s-%d", name, i), asks...)
		pod.Labels = map[string]string{harness.GangLabel: name, harness.MinimumLabel: fmt.Sprint(size)}
		made = append(made, pod)
	}
	return made
}

func (s *show) gangs(ctx context.Context) error {
	fmt.Println("\nTwo gangs: one runs as a whole; the other has no room as a whole, and none of it runs.")
	fits, waits := s.gang("train", 8, "cpu", "100m"), s.gang("wide", 4, "cpu", "100m", gpu, "1000")
	if s.kubeconfig == "" {
		fits, waits = s.gang("train", 16, "cpu", "4", gpu, "4"), s.gang("wide", 6, "cpu", "4", gpu, "4")
	}
	if err := s.add(ctx, fits...); err != nil {
		return err
	}
	if err := s.await(ctx, "train-", len(fits)); err != nil {
		return err
	}
	if err := s.add(ctx, waits...); err != nil {
		return err
	}
	if err := s.await(ctx, "wide-", 0); err != nil {
		return err
	}
	if err := s.print(ctx, ""); err != nil {
		return err
	}
	return s.explain(ctx, "wide-0")
}

func (s *show) urgent(ctx context.Context) error {
	fmt.Println("\nPreemption: four pods fill a pool of four nodes; a pod of higher priority takes the place of one.")
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000}
	if _, err := s.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return err
	}
	pool := map[string]string{poolLabel: batchPool}
	var fill []*corev1.Pod
	for i := range 4 {
		pod := harness.PodOf(s.namespace, fmt.Sprintf("nightly-%d", i), "cpu", "12")
		pod.Spec.NodeSelector = pool
		fill = append(fill, pod)
	}
	if err := s.add(ctx, fill...); err != nil {
		return err
	}
	if err := s.await(ctx, "nightly-", 4); err != nil {
		return err
	}
	pod := harness.PodOf(s.namespace, "urgent", "cpu", "12")
	pod.Spec.NodeSelector, pod.Spec.PriorityClassName = pool, class.Name
	if err := s.add(ctx, pod); err != nil {
		return err
	}
	if err := s.await(ctx, "urgent", 1); err != nil {
		return err
	}
	if err := s.await(ctx, "nightly-", 3); err != nil {
		return err
	}
	for _, begins := range []string{"nightly-", "urgent"} {
		if err := s.print(ctx, begins); err != nil {
			return err
		}
	}
	return nil
}

func (s *show) queue(ctx context.Context) error {
	fmt.Println("\nA queue: research may use 8 cores, and three pods of 4 want to run.")
	client, err := dynamic.NewForConfig(s.plane.Config)
	if err != nil {
		return err
	}
	queue := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": map[string]any{"name": "research"},
		"spec": map[string]any{"capability": map[string]any{"cpu": "8"}},
	}}
	if _, err := client.Resource(queues).Create(ctx, queue, metav1.CreateOptions{}); err != nil {
		return err
	}
	var pods []*corev1.Pod
	for i := range 3 {
		pod := harness.PodOf(s.namespace, fmt.Sprintf("study-%d", i), "cpu", "4")
		pod.Annotations = map[string]string{"scheduling.volcano.sh/queue-name": "research"}
		pods = append(pods, pod)
	}
	if err := s.add(ctx, pods...); err != nil {
		return err
	}
	if err := s.await(ctx, "study-", 2); err != nil {
		return err
	}
	if err := s.print(ctx, "study-"); err != nil {
		return err
	}
	left, err := s.pods(ctx, "study-")
	if err != nil {
		return err
	}
	for i := range left {
		if left[i].Spec.NodeName == "" {
			return s.explain(ctx, left[i].Name)
		}
	}
	return nil
}
