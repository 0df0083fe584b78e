package kube_test

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gangsched"
	"gangsched/kube"
)

func quantities(all ...string) corev1.ResourceList {
	made := corev1.ResourceList{}
	for i := 0; i < len(all); i += 2 {
		made[corev1.ResourceName(all[i])] = resource.MustParse(all[i+1])
	}
	return made
}

func container(requests corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: "c", Image: "registry/app:v1", Resources: corev1.ResourceRequirements{Requests: requests}}
}

// nodes and pods with every field that is converted.
func objects() (nodes []*corev1.Node, pods []*corev1.Pod) {
	for i := range 6 {
		node := &corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}}
		node.Name = fmt.Sprint("node-", i)
		node.Labels = map[string]string{"zone": fmt.Sprint("z", i%3), "kubernetes.io/hostname": node.Name}
		node.Status.Allocatable = quantities("cpu", fmt.Sprint(2+i, "500m"), "memory", "16Gi", "pods", "20", "nvidia.com/gpu", fmt.Sprint(i%2))
		node.Status.Images = []corev1.ContainerImage{{Names: []string{"registry/app:v1"}, SizeBytes: int64(i) << 27}}
		node.Spec.Unschedulable = i == 5
		if i%2 == 1 {
			node.Spec.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
		}
		nodes = append(nodes, node)
	}
	never, always, ignore, honor := corev1.PreemptNever, corev1.ContainerRestartPolicyAlways, corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor
	two, priority := int32(2), int32(7)
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	notOther := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"other"}}}}
	for i := range 24 {
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
		pod.Name, pod.Namespace = fmt.Sprint("pod-", i), "team"
		pod.Labels = map[string]string{"app": []string{"web", "other"}[i%2]}
		pod.Spec.SchedulerName = "default-scheduler"
		pod.Spec.Containers = []corev1.Container{container(quantities("cpu", "250m", "memory", "0.5Gi"))}
		switch i % 12 {
		case 0:
			pod.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
			pod.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
		case 1:
			pod.Spec.NodeSelector = map[string]string{"zone": "z1"}
			pod.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Value: "yes"}}
		case 2:
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"z0", "z2"}}}}}},
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 50, Preference: corev1.NodeSelectorTerm{
					MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-2"}}}}}}}}
		case 3:
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname", LabelSelector: notOther, NamespaceSelector: &metav1.LabelSelector{}}},
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 9, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: web}}}}}
		case 4:
			pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone", LabelSelector: web, Namespaces: []string{"team"}}}}}
		case 5:
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: notOther, MinDomains: &two, NodeAffinityPolicy: &ignore, NodeTaintsPolicy: &honor},
				{MaxSkew: 2, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: notOther}}
		case 6:
			pod.Spec.Priority, pod.Spec.PreemptionPolicy = &priority, &never
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
		case 7:
			pod.Spec.InitContainers = []corev1.Container{container(quantities("cpu", "1")), container(quantities("cpu", "100m"))}
			pod.Spec.InitContainers[1].RestartPolicy, pod.Spec.InitContainers[1].Name = &always, "sidecar"
			pod.Spec.Overhead = quantities("cpu", "10m")
		case 8:
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
		case 9:
			pod.Spec.NodeName = "node-0"
		case 10:
			pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}
		pods = append(pods, pod)
	}
	return nodes, pods
}

// The typed objects and the same as JSON make the same cluster and the same decisions.
func TestTypedObjectsSayWhatTheirJSONSays(t *testing.T) {
	typed, text := gangsched.NewCluster(), gangsched.NewCluster()
	defer typed.Close()
	defer text.Close()
	set := func(object any) {
		t.Helper()
		given, err := json.Marshal(object)
		if err == nil {
			_, err = text.SetObject(given, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	nodes, pods := objects()
	for _, node := range nodes {
		set(node)
		if _, err := typed.AddNode(kube.Node(node)); err != nil {
			t.Fatal(err)
		}
	}
	for _, pod := range pods {
		set(pod)
		spec, err := kube.Pod(pod, typed, kube.Options{})
		if err == nil {
			_, err = typed.AddPod(spec)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if typed.Digest() != text.Digest() {
		t.Error("the clusters differ")
	}
	run := func(on *gangsched.Cluster) (told []string) {
		scheduler, err := gangsched.NewScheduler(on, gangsched.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer scheduler.Close()
		decisions, err := scheduler.Run(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range decisions {
			told = append(told, fmt.Sprint(on.PodName(d.Pod), d.Kind, on.NodeName(d.Node), d.Score))
		}
		return told
	}
	first, second := run(typed), run(text)
	if len(first) < 15 || fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("%v\nis not\n%v", first, second)
	}
}

func TestWhatHasNoWordsIsAnError(t *testing.T) {
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	_, pods := objects()
	pod := pods[11]
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	if _, err := kube.Pod(pod, cluster, kube.Options{}); err == nil {
		t.Error("a claim was converted")
	}
	pod.Spec.Volumes = nil
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	if _, err := kube.Pod(pod, cluster, kube.Options{}); err == nil {
		t.Error("a claim of devices was converted")
	}
	pod.Spec.ResourceClaims = nil
	pod.Spec.NodeName = "nowhere"
	if _, err := kube.Pod(pod, cluster, kube.Options{}); err == nil {
		t.Error("a node was made up")
	}
	pod.Status.Phase = corev1.PodFailed
	if !kube.Ended(pod) {
		t.Error("a pod that failed goes on")
	}
}

func TestAGroupIsJoinedBeforeItIsThere(t *testing.T) {
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	_, pods := objects()
	spec, err := kube.Pod(pods[11], cluster, kube.Options{Group: "train", Queue: "q"})
	if err != nil || spec.Group == 0 || spec.Group != cluster.FindGroup("team", "train") || spec.Queue != "q" {
		t.Error(spec, err)
	}
}
