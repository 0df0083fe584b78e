package watch

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"gangsched"
)

func TestASnapshotLoadsWhereManifestsDo(t *testing.T) {
	room := corev1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("10")}
	pod := func(namespace, node string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"},
			Spec:       corev1.PodSpec{NodeName: node, SchedulerName: "default-scheduler", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
	}
	group := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
		"metadata": map[string]any{"namespace": "b", "name": "g"}, "spec": map[string]any{"minMember": int64(2)},
	}}
	pods, others := cache.NewStore(cache.MetaNamespaceKeyFunc), cache.NewStore(cache.MetaNamespaceKeyFunc)
	for _, one := range []any{pod("b", "n"), pod("a", "")} {
		if err := pods.Add(one); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []any{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Allocatable: room}}, group} {
		if err := others.Add(one); err != nil {
			t.Fatal(err)
		}
	}
	said, err := listed([]cache.Store{pods, others})
	if err != nil {
		t.Fatal(err)
	}
	again, err := listed([]cache.Store{others, pods})
	if err != nil || string(again) != string(said) {
		t.Fatalf("the same objects in another order: %v\n%s", err, again)
	}
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	if _, err := cluster.AddManifests("snapshot.json", said); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if cluster.PodState(cluster.FindPod("b", "p")) != gangsched.Bound || cluster.PodState(cluster.FindPod("a", "p")) != gangsched.Pending {
		t.Fatalf("the pods are otherwise there than here:\n%s", said)
	}
	if cluster.FindGroup("b", "g") == 0 {
		t.Fatal("the group is not there")
	}
}
