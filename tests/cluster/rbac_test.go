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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"gangsched/tests/cluster/harness"
)

// account is that of the manifests.
const account = "system:serviceaccount:kube-system:gangsched"

func TestTheRulesOfTheManifestsAreEnough(t *testing.T) {
	w := newPlane(t, harness.Options{Users: []string{account}})
	deploy := "../../examples/kubernetes-scheduler/deploy/"
	text, err := os.ReadFile(deploy + "rbac.yaml")
	must(t, err)
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(&object.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		here := *w
		here.namespace = object.GetNamespace()
		must(t, here.create(object))
	}
	file := filepath.Join(w.plane.Folder, "account")
	must(t, harness.WriteKubeconfig(file, w.plane.Server(), account))
	configuration, err := os.ReadFile(deploy + "configuration.yaml")
	must(t, err)
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
	if log := w.scheduler.Log(); strings.Contains(log, "forbidden") {
		t.Error("something is not allowed")
	}
}
