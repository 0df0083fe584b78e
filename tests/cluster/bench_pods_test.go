package cluster_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shapes are what pods of a measurement ask for beside room.
var shapes = map[string]func(w *world, i int, pod *corev1.Pod){
	"plain":         func(*world, int, *corev1.Pod) {},
	"spread":        spreadOverZones,
	"anti-affinity": apartFromOthers,
	"gangs":         inGangs,
}

// spreadOverZones is as kube-scheduler's performance tests have it: pod-with-topology-spreading.yaml.
func spreadOverZones(_ *world, _ int, pod *corev1.Pod) {
	pod.Labels = map[string]string{"color": "blue"}
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 5, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
	}}
}

// apartFromOthers has applications of a hundred pods of which no two are on a node.
func apartFromOthers(_ *world, i int, pod *corev1.Pod) {
	const members = 100
	pod.Labels = map[string]string{"app": fmt.Sprintf("app-%d", i/members)}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
	}}}}
}

// inGangs has eight pods in each PodGroup.
func inGangs(w *world, i int, pod *corev1.Pod) {
	const members = 8
	name := fmt.Sprintf("gang-%d", i/members)
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	if i%members != 0 {
		return
	}
	group := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: min(members, int32(*benchPods-i))}
	_, err := w.client.SchedulingV1alpha2().PodGroups(w.namespace).Create(w.ctx, group, metav1.CreateOptions{})
	must(w.T, err)
}
