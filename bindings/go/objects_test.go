package gangsched_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gangsched"
)

func (w *world) set(object string) {
	w.t.Helper()
	_, err := w.cluster.SetObject([]byte(object), 0)
	want(w.t, err, nil)
}

func TestABudgetSaysWhomPreemptionSpares(t *testing.T) {
	w := newWorld(t, gangsched.Options{LowestRowTies: true}, 2)
	var pods []gangsched.PodID
	for i, name := range []string{"spared", "other"} {
		spec := podOf(name, 8)
		spec.Labels, spec.Node = map[string]string{"app": name}, w.cluster.FindNode([]string{"n0", "n1"}[i])
		pod, err := w.cluster.AddPod(spec)
		want(t, err, nil)
		pods = append(pods, pod)
	}
	w.set(`{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "default"},
		"spec": {"selector": {"matchLabels": {"app": "spared"}}}, "status": {"disruptionsAllowed": 0}}`)
	high := podOf("high", 8)
	high.Priority = new(int32)
	*high.Priority = 10
	_, err := w.cluster.AddPod(high)
	want(t, err, nil)
	want(t, w.run(0), "high nominate n1; other evict n1")

	gone := []byte(`{"kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "default"}}`)
	want(t, w.cluster.RemoveObject(gone), nil)
	want(t, errors.Is(w.cluster.RemoveObject(gone), gangsched.ErrUnknown), true)
	want(t, w.cluster.PodState(pods[0]), gangsched.Bound)
}

func TestQueuesFollowTheirObjects(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	both := `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: a}
spec: {capability: {cpu: 2}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: b}
spec: {weight: 3}
`
	want(t, w.cluster.SetQueues("queues.yaml", []byte(both)), nil)
	a, b := w.cluster.FindQueue("a"), w.cluster.FindQueue("b")
	want(t, a != 0 && b != 0, true)
	only := "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: b}\nspec: {weight: 1}\n"
	want(t, w.cluster.SetQueues("queues.yaml", []byte(only)), nil)
	want(t, w.cluster.FindQueue("a"), gangsched.QueueID(0))
	want(t, w.cluster.FindQueue("b"), b)
	before := w.cluster.Digest()
	wrong := "kind: Queue\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {name: c}\nspec: {weight: [1]}\n"
	err := w.cluster.SetQueues("queues.yaml", []byte(wrong))
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
	want(t, w.cluster.Digest(), before)
	own := "---\nkind: Queue\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {name: b}\nspec: {parent: b}\n"
	leftOut, err := w.cluster.SetQueuesLeavingOut("queues.yaml", []byte(wrong+own+"---\n"+strings.ReplaceAll(only, "name: b", "name: d")))
	want(t, err, nil)
	want(t, strings.Count(leftOut, "\n"), 2)
	want(t, w.cluster.FindQueue("b"), gangsched.QueueID(0))
	want(t, w.cluster.FindQueue("d") != 0, true)
}

// A pod goes only where all features are declared that it requires, in whatever order.
func TestAPodGoesWhereTheFeaturesAreThatItRequires(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 1)
	pod := podOf("p", 1)
	pod.RequiredFeatures = []string{"X", "Y"}
	if _, err := w.cluster.AddPod(pod); err != nil {
		t.Fatal(err)
	}
	want(t, w.run(0), "p reject")
	node := &gangsched.NodeSpec{Name: "n0", Allocatable: cpu(8), DeclaredFeatures: []string{"Y", "X", "Y"}}
	if err := w.cluster.UpdateNode(w.cluster.FindNode("n0"), node); err != nil {
		t.Fatal(err)
	}
	want(t, w.run(int64(time.Minute)), "p bind n0")
}
