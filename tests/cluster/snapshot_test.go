package cluster_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"gangsched/tests/cluster/harness"
)

// asListed are the kinds that `kubectl get all,nodes,…` lists, in its order.
var asListed = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "replicationcontrollers"}, {Version: "v1", Resource: "services"},
	{Group: "apps", Version: "v1", Resource: "daemonsets"}, {Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Version: "v1", Resource: "replicasets"}, {Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
	{Group: "batch", Version: "v1", Resource: "cronjobs"}, {Group: "batch", Version: "v1", Resource: "jobs"},
	{Version: "v1", Resource: "nodes"}, {Version: "v1", Resource: "namespaces"}, {Version: "v1", Resource: "persistentvolumeclaims"},
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "events"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
	{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}, {Group: "storage.k8s.io", Version: "v1", Resource: "csinodes"},
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"}, {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
}

// snapshot is what `kubectl get … -A -o yaml` prints.
func (w *world) snapshot() []byte {
	w.Helper()
	client, err := dynamic.NewForConfig(w.plane.Config)
	must(w.T, err)
	items := []any{}
	for _, kind := range asListed {
		list, err := client.Resource(kind).List(w.ctx, metav1.ListOptions{})
		must(w.T, err)
		for i := range list.Items {
			items = append(items, list.Items[i].Object)
		}
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	must(w.T, err)
	return text
}

// simulated are the pods of a run of gangsched-simulate, by namespace and name.
func (w *world) simulated(manifests []byte, arguments ...string) map[string]map[string]any {
	w.Helper()
	command := exec.CommandContext(w.ctx, *simulate, append([]string{"--output", "json", "--all", "-"}, arguments...)...)
	command.Stdin = strings.NewReader(string(manifests))
	var mistakes strings.Builder
	command.Stderr = &mistakes
	said, err := command.Output()
	if command.ProcessState == nil || command.ProcessState.ExitCode() > 1 { // 1: some pod finds no node
		w.Fatalf("%v: %s", err, mistakes.String())
	}
	var result struct{ Pods []map[string]any }
	must(w.T, json.Unmarshal(said, &result))
	made := map[string]map[string]any{}
	for _, pod := range result.Pods {
		name := fmt.Sprintf("%v/%v", pod["namespace"], pod["name"])
		if made[name] != nil {
			w.Errorf("%s is there twice", name)
		}
		made[name] = pod
	}
	return made
}

// says makes the phase of pods of an app that have a node, as its kubelet would, until enough have one.
func (w *world) says(app string, phase corev1.PodPhase, count int) {
	w.Helper()
	w.eventually(func() string {
		list, err := w.client.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{LabelSelector: "app=" + app})
		must(w.T, err)
		said := 0
		for i := range list.Items {
			pod := &list.Items[i]
			if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" && said < count {
				pod.Status.Phase = phase
				_, err := w.client.CoreV1().Pods(w.namespace).UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
				must(w.T, err)
				count--
				continue
			}
		}
		if count > 0 {
			return fmt.Sprintf("%d pods of %s are missing that could be %s", count, app, phase)
		}
		return ""
	})
}

// TestASnapshotIsSimulatedAsItIs has controllers in all states that they can be in, and asks the simulator about what the API server lists then: every
// pod has the node that it has, and no controller makes another one.
func TestASnapshotIsSimulatedAsItIs(t *testing.T) {
	w := newPlane(t, harness.Options{})
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 4, "cpu", "16")...))
	tainted := harness.NodeOf("apart", "cpu", "16")
	tainted.Spec.Taints = []corev1.Taint{{Key: "apart", Effect: corev1.TaintEffectNoSchedule}}
	must(t, harness.AddNodes(w.ctx, w.client, tainted))
	_, err := w.plane.KubeScheduler("")
	must(t, err)
	apps, batch, opts := w.client.AppsV1(), w.client.BatchV1(), metav1.CreateOptions{}
	deploy := func(name string, replicas int32, asks ...string) {
		_, err := apps.Deployments(w.namespace).Create(w.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(name), Template: template(name, asks...)}}, opts)
		must(t, err)
	}
	roll := func(name string) {
		_, err := apps.Deployments(w.namespace).Patch(w.ctx, name, types.MergePatchType,
			[]byte(`{"spec": {"template": {"metadata": {"annotations": {"rolled": "yes"}}}}}`), metav1.PatchOptions{})
		must(t, err)
	}
	job := func(name string, change func(*batchv1.JobSpec), owners ...metav1.OwnerReference) {
		one := template(name, "cpu", "100m")
		one.Spec.RestartPolicy = corev1.RestartPolicyNever
		made := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}, Spec: batchv1.JobSpec{Template: one}}
		change(&made.Spec)
		_, err := batch.Jobs(w.namespace).Create(w.ctx, made, opts)
		must(t, err)
	}
	ended := func(name string, kind batchv1.JobConditionType) {
		w.eventually(func() string {
			now, err := batch.Jobs(w.namespace).Get(w.ctx, name, metav1.GetOptions{})
			must(t, err)
			for _, one := range now.Status.Conditions {
				if one.Type == kind && one.Status == corev1.ConditionTrue {
					return ""
				}
			}
			return fmt.Sprintf("the job %s is not %s", name, kind)
		})
	}
	number := func(count int32) *int32 { return &count }
	yes, two := true, int32(2)

	deploy("web", 4, "cpu", "1")
	deploy("rolled", 3, "cpu", "1")
	deploy("gone", 2, "cpu", "1")
	_, err = apps.StatefulSets(w.namespace).Create(w.ctx, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{Replicas: number(3), Selector: selector("db"), Template: template("db", "cpu", "1")}}, opts)
	must(t, err)
	_, err = apps.DaemonSets(w.namespace).Create(w.ctx, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec: appsv1.DaemonSetSpec{Selector: selector("agent"), Template: template("agent", "cpu", "100m")}}, opts)
	must(t, err)
	_, err = apps.ReplicaSets(w.namespace).Create(w.ctx, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "alone"},
		Spec: appsv1.ReplicaSetSpec{Replicas: &two, Selector: selector("alone"), Template: template("alone", "cpu", "1")}}, opts)
	must(t, err)
	one := template("nightly", "cpu", "1")
	one.Spec.RestartPolicy = corev1.RestartPolicyNever
	for name, suspended := range map[string]bool{"nightly": false, "paused": true} {
		made, err := batch.CronJobs(w.namespace).Create(w.ctx, &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.CronJobSpec{
			Schedule: "0 3 29 2 *", Suspend: &suspended, JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: one}}}}, opts)
		must(t, err)
		if name == "nightly" { // a run by hand
			job("nightly-by-hand", func(*batchv1.JobSpec) {}, metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob", Name: name, UID: made.UID, Controller: &yes})
		}
	}
	job("done", func(of *batchv1.JobSpec) { of.Completions, of.Parallelism = number(3), number(3) })
	job("suspended", func(of *batchv1.JobSpec) { of.Suspend, of.Completions = &yes, number(2) })
	w.add(w.pod("bare", "cpu", "1"))
	w.runs("web", 4)
	w.runs("rolled", 3)
	w.runs("gone", 2)
	w.runs("db", 3)
	w.runs("agent", 4)
	w.runs("alone", 2)
	ended("done", batchv1.JobComplete)
	ended("nightly-by-hand", batchv1.JobComplete)
	roll("rolled")
	w.eventually(func() string {
		now, err := apps.Deployments(w.namespace).Get(w.ctx, "rolled", metav1.GetOptions{})
		must(t, err)
		if now.Status.ObservedGeneration < now.Generation || now.Status.UpdatedReplicas != 3 || now.Status.Replicas != 3 {
			return fmt.Sprintf("its rollout: %+v", now.Status)
		}
		return ""
	})
	orphan := metav1.DeletePropagationOrphan
	must(t, apps.Deployments(w.namespace).Delete(w.ctx, "gone", metav1.DeleteOptions{PropagationPolicy: &orphan}))

	// From here on no kubelet says that a pod runs, but this test: rollouts stand still, and jobs are in the middle.
	w.plane.End(w.plane.Process("kwok"))
	roll("web")
	job("half", func(of *batchv1.JobSpec) { of.Completions, of.Parallelism = number(5), number(2) })
	w.says("half", corev1.PodSucceeded, 2)
	w.says("half", corev1.PodRunning, 2)
	job("broken", func(of *batchv1.JobSpec) { of.BackoffLimit = number(0) })
	w.says("broken", corev1.PodFailed, 1)
	ended("broken", batchv1.JobFailed)
	job("again", func(*batchv1.JobSpec) {})
	w.says("again", corev1.PodFailed, 1)
	w.says("again", corev1.PodRunning, 1) // after a backoff of ten seconds
	deploy("huge", 2, "cpu", "100")
	list, err := w.client.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{LabelSelector: "app=alone"})
	must(t, err)
	leaving := list.Items[0].Name
	_, err = w.client.CoreV1().Pods(w.namespace).Patch(w.ctx, leaving, types.MergePatchType, []byte(`{"metadata": {"finalizers": ["gangsched.dev/test"]}}`), metav1.PatchOptions{})
	must(t, err)
	must(t, w.client.CoreV1().Pods(w.namespace).Delete(w.ctx, leaving, metav1.DeleteOptions{}))

	expected := map[string]int{"web": 5, "rolled": 3, "gone": 2, "db": 3, "agent": 4, "alone": 3, "half": 4, "broken": 1, "again": 2, "huge": 2, "done": 3, "nightly-by-hand": 1}
	w.eventually(func() string {
		count := map[string]int{}
		for _, pod := range w.pods() {
			app := pod.Labels["app"]
			count[app]++
			if tried := condition(&pod, corev1.PodScheduled); pod.Spec.NodeName == "" && tried.Reason != corev1.PodReasonUnschedulable {
				return pod.Name + " was not tried"
			}
		}
		for _, app := range slices.Sorted(maps.Keys(expected)) {
			if count[app] != expected[app] {
				return fmt.Sprintf("there are %d pods of %s, not %d", count[app], app, expected[app])
			}
		}
		return ""
	})

	text := w.snapshot()
	for _, arguments := range [][]string{nil, {"--controllers", "live", "--until", "1h", "--start", time.Now().UTC().Format(time.RFC3339)}} {
		found := w.simulated(text, arguments...)
		for _, pod := range w.pods() {
			name := pod.Namespace + "/" + pod.Name
			said := found[name]
			delete(found, name)
			over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			switch {
			case over && said != nil:
				t.Errorf("%v: %s has ended, and the simulator has it: %v", arguments, name, said)
			case over:
			case said == nil:
				t.Errorf("%v: the simulator has lost %s, on %q", arguments, name, pod.Spec.NodeName)
			case pod.Spec.NodeName == "":
				// kube-scheduler goes on about preemption.
				message, reason := condition(&pod, corev1.PodScheduled).Message, fmt.Sprint(said["reason"])
				if said["status"] != "unscheduled" || !strings.HasPrefix(message, reason) {
					t.Errorf("%v: %s waits: %q, and the simulator says %v", arguments, name, message, said)
				}
			case said["node"] != pod.Spec.NodeName || said["status"] != map[bool]string{false: "running", true: "ended"}[pod.DeletionTimestamp != nil]:
				t.Errorf("%v: %s is on %s, and the simulator says %v", arguments, name, pod.Spec.NodeName, said)
			}
		}
		for name, pod := range found {
			t.Errorf("%v: the simulator makes %s: %v", arguments, name, pod)
		}
	}
}
