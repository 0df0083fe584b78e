package cluster_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"gangsched/tests/cluster/harness"
)

// account is that of the manifests.
const account = "system:serviceaccount:kube-system:gangsched"

// apply creates what a manifest has.
func (w *world) apply(file string) {
	w.Helper()
	text, err := os.ReadFile(file)
	must(w.T, err)
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(&object.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			w.Fatal(err)
		}
		here := *w
		here.namespace = object.GetNamespace()
		must(w.T, here.create(object))
	}
}

func TestTheRulesOfTheManifestsAreEnough(t *testing.T) {
	w := newPlane(t, harness.Options{Users: []string{account}})
	deploy := "../../examples/kubernetes-scheduler/deploy/"
	w.apply(deploy + "rbac.yaml")
	file := filepath.Join(w.plane.Folder, "account")
	must(t, harness.WriteKubeconfig(file, w.plane.Server(), account))
	configuration, err := os.ReadFile(deploy + "configuration.yaml")
	must(t, err)
	all := w.installReservations()
	w.scheduler, err = w.plane.Scheduler(w.ctx, *scheduler, string(configuration), file)
	must(t, err)
	w.classes(1, 100)
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 2, "cpu", "4")...))
	ours := func(pods ...*corev1.Pod) []*corev1.Pod {
		for _, pod := range pods {
			pod.Spec.SchedulerName = "gangsched"
		}
		return pods
	}
	w.add(ours(priority(w.pod("a", "cpu", "4"), 1), priority(w.pod("b", "cpu", "4"), 1))...)
	w.bound("a", "b")
	w.add(ours(priority(w.pod("urgent", "cpu", "4"), 100), priority(w.pod("c", "cpu", "4"), 1))...)
	w.bound("urgent")
	w.unschedulable("c")
	must(t, harness.AddNodes(w.ctx, w.client, nodes("m", 1, "cpu", "4")...))
	w.localVolume("local", "m0")
	w.claimOfVolume("stores")
	w.cards("m0", "card")
	w.add(ours(priority(w.storing("stores"), 100), priority(w.claiming("claims"), 100))...)
	w.bound("stores", "claims")
	w.make(`{apiVersion: scheduling.koordinator.sh/v1alpha1, kind: Reservation, metadata: {name: closed}, spec: {ttl: 0s, owners: [{labelSelector: {}}],
  template: {spec: {schedulerName: gangsched, nodeSelector: {of: nobody}, containers: [{name: held}]}}}}`)
	w.unreserved(all, "closed", "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. "+
		"preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.")
	group, name := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "group", Namespace: w.namespace}}, "group"
	group.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: 1}
	_, err = w.client.SchedulingV1alpha2().PodGroups(w.namespace).Create(w.ctx, group, metav1.CreateOptions{})
	must(t, err)
	member := w.pod("member", "cpu", "100m")
	member.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	w.remove("c")
	w.add(ours(priority(member, 1))...)
	w.groupCondition(name, schedulingv1alpha2.PodGroupScheduled, metav1.ConditionTrue, "Scheduled")
	w.scheduler.Terminate()
	w.apply(deploy + "active-active.yaml")
	replica, err := w.plane.Replica(w.ctx, "replica", *scheduler, string(configuration)+"gangsched: {replicas: active-active}\n", file)
	must(t, err)
	w.remove("a", "b")
	w.add(ours(priority(w.pod("d", "cpu", "1"), 1))...)
	w.bound("d")
	replica.Terminate() // it says that it ends
	if log := replica.Log(); strings.Contains(log, "forbidden") {
		t.Error("something is not allowed to a replica: ", log)
	}
	if log := w.scheduler.Log(); strings.Contains(log, "forbidden") {
		t.Error("something is not allowed")
	}
}
