package fit_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gangsched/examples/operator/internal/fit"
)

func node(name, cpu string) corev1.Node {
	made := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("110")}
	return made
}

func pod(name, cpu, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
		Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}}}
}

func TestAGroupFitsAsAWholeOrNotAtAll(t *testing.T) {
	nodes := []corev1.Node{node("a", "4"), node("b", "4")}
	there := []corev1.Pod{*pod("busy", "2", "a"), *pod("elsewhere", "2", "gone"), *pod("waits", "4", "")}
	var group []*corev1.Pod
	for i := range 3 {
		group = append(group, pod(fmt.Sprint("g-", i), "2", ""))
	}
	answer, err := fit.Ask(nodes, there, group)
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]int{}
	for _, name := range answer.Nodes {
		on[name]++
	}
	if !answer.Fits() || on["a"] != 1 || on["b"] != 2 {
		t.Errorf("three fit as %v: %s", answer.Nodes, answer.Why)
	}
	answer, err = fit.Ask(nodes, there, append(group, pod("g-3", "2", "")))
	if err != nil {
		t.Fatal(err)
	}
	if answer.Fits() || !strings.Contains(answer.Why, "3 of 4 members fit") {
		t.Errorf("four fit as %v: %q", answer.Nodes, answer.Why)
	}
}

func TestNobodyIsEvictedForWhatIsOnlyAsked(t *testing.T) {
	urgent := pod("g-0", "4", "")
	high := int32(1000)
	urgent.Spec.Priority = &high
	answer, err := fit.Ask([]corev1.Node{node("a", "4")}, []corev1.Pod{*pod("busy", "2", "a")}, []*corev1.Pod{urgent})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Fits() {
		t.Errorf("it fits on %v", answer.Nodes)
	}
}
