package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gangsched/tests/cluster/harness"
)

// template is that of a pod that asks for so much, with a label that names its app.
func template(app string, asks ...string) corev1.PodTemplateSpec {
	pod := harness.PodOf("", "", asks...)
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}}, Spec: pod.Spec}
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// running are the pods of an app that run, and where.
func (w *world) running(app string) (nodes map[string]int, count int) {
	w.Helper()
	list, err := w.client.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	must(w.T, err)
	nodes = map[string]int{}
	for i := range list.Items {
		if list.Items[i].Status.Phase == corev1.PodRunning && list.Items[i].DeletionTimestamp == nil {
			nodes[list.Items[i].Spec.NodeName]++
			count++
		}
	}
	return nodes, count
}

func (w *world) runs(app string, count int) (nodes map[string]int) {
	w.Helper()
	w.eventually(func() string {
		var now int
		if nodes, now = w.running(app); now != count {
			return fmt.Sprintf("%d pods of %s run, not %d", now, app, count)
		}
		return ""
	})
	return nodes
}

func TestControllersGetTheirPodsPlaced(t *testing.T) {
	w := newWorld(t, "", nodes("n", 6, "cpu", "8")...)
	apps, opts := w.client.AppsV1(), metav1.CreateOptions{}
	four := int32(4)
	_, err := apps.Deployments(w.namespace).Create(w.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &four, Selector: selector("web"), Template: template("web", "cpu", "1")}}, opts)
	must(t, err)
	_, err = apps.StatefulSets(w.namespace).Create(w.ctx, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{Replicas: &four, Selector: selector("db"), Template: template("db", "cpu", "1")}}, opts)
	must(t, err)
	_, err = apps.DaemonSets(w.namespace).Create(w.ctx, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec: appsv1.DaemonSetSpec{Selector: selector("agent"), Template: template("agent", "cpu", "100m")}}, opts)
	must(t, err)
	work := template("work", "cpu", "1")
	work.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err = w.client.BatchV1().Jobs(w.namespace).Create(w.ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "work"},
		Spec: batchv1.JobSpec{Completions: &four, Parallelism: &four, Template: work}}, opts)
	must(t, err)
	if on := w.runs("web", 4); len(on) != 4 {
		t.Errorf("the deployment is not spread: %v", on)
	}
	w.runs("db", 4)
	if on := w.runs("agent", 6); len(on) != 6 {
		t.Errorf("not every node has the daemon: %v", on)
	}
	w.eventually(func() string { // KWOK ends the pods of jobs
		job, err := w.client.BatchV1().Jobs(w.namespace).Get(w.ctx, "work", metav1.GetOptions{})
		must(t, err)
		if job.Status.Succeeded != 4 {
			return fmt.Sprintf("%d of 4 pods of the job have ended well", job.Status.Succeeded)
		}
		return ""
	})
	w.sound()
}

func TestACronJobGetsItsPodsPlaced(t *testing.T) {
	if testing.Short() {
		t.Skip("its controller looks at the clock once a minute")
	}
	w := newWorld(t, "", nodes("n", 2, "cpu", "8")...)
	nightly := template("nightly", "cpu", "1")
	nightly.Spec.RestartPolicy = corev1.RestartPolicyNever
	two := int32(2)
	_, err := w.client.BatchV1().CronJobs(w.namespace).Create(w.ctx, &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}, Spec: batchv1.CronJobSpec{
		Schedule:    "* * * * *",
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Completions: &two, Parallelism: &two, Template: nightly}}}}, metav1.CreateOptions{})
	must(t, err)
	w.within(2*time.Minute, func() string {
		now, err := w.client.BatchV1().CronJobs(w.namespace).Get(w.ctx, "nightly", metav1.GetOptions{})
		must(t, err)
		if now.Status.LastSuccessfulTime == nil {
			return "no job of it has ended well"
		}
		return ""
	})
	w.sound()
}

func TestANodeTakesAsManyVolumesAsItsDriverAttaches(t *testing.T) {
	w := newPlane(t, harness.Options{})
	must(t, harness.AddNodes(w.ctx, w.client, nodes("n", 2, "cpu", "8")...))
	for i, most := range []int32{1, 2} {
		w.attachable(fmt.Sprintf("n%d", i), most)
	}
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		w.attachedVolume(name)
	}
	w.start("")
	on := map[string]int{}
	for _, name := range names[:3] {
		w.add(w.storing(name))
		on[w.bound(name)[0]]++
	}
	if on["n0"] != 1 || on["n1"] != 2 {
		t.Errorf("n0 attaches one volume and n1 two, and they have %v", on)
	}
	w.add(w.storing("d"))
	if said, want := w.unschedulable("d"), "0/2 nodes are available: 2 node(s) exceed max volume count."; !strings.HasPrefix(said, want) {
		t.Errorf("%q does not begin with %q", said, want)
	}
	w.remove("b")
	w.bound("d")
}

func TestADrainedNodeIsLeftAndNotUsed(t *testing.T) {
	w := newWorld(t, "", nodes("n", 3, "cpu", "8")...)
	replicas, most := int32(6), metav1.CreateOptions{}
	_, err := w.client.AppsV1().Deployments(w.namespace).Create(w.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector("web"), Template: template("web", "cpu", "1")}}, most)
	must(t, err)
	if on := w.runs("web", 6); on["n0"] != 2 {
		t.Errorf("the deployment is not spread: %v", on)
	}
	node, err := w.client.CoreV1().Nodes().Get(w.ctx, "n0", metav1.GetOptions{})
	must(t, err)
	node.Spec.Unschedulable = true
	_, err = w.client.CoreV1().Nodes().Update(w.ctx, node, metav1.UpdateOptions{})
	must(t, err)
	for _, pod := range w.pods() {
		if pod.Spec.NodeName == "n0" {
			must(t, w.client.PolicyV1().Evictions(w.namespace).Evict(w.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: w.namespace}}))
		}
	}
	w.eventually(func() string {
		if on, count := w.running("web"); count != 6 || on["n0"] != 0 {
			return fmt.Sprint("the deployment runs on ", on)
		}
		return ""
	})
	w.sound()
}

func TestANodeIsLostWhileItsPodsAreBound(t *testing.T) {
	w := newWorld(t, impatient, nodes("n", 4, "cpu", "8")...)
	w.watchOver()
	pods := w.crowd("p", 2)
	w.add(pods[:4]...)
	must(t, w.client.CoreV1().Nodes().Delete(w.ctx, "n0", metav1.DeleteOptions{}))
	w.add(pods[4:]...)
	w.eventually(func() string { // those that were there are deleted by the controller of lost nodes
		for _, pod := range w.pods() {
			if pod.Spec.NodeName == "" {
				return pod.Name + " has no node"
			}
			if pod.Spec.NodeName == "n0" && pod.CreationTimestamp.IsZero() {
				return pod.Name + " is on a node that is gone"
			}
		}
		return ""
	})
	must(t, harness.AddNodes(w.ctx, w.client, harness.NodeOf("n0", "cpu", "8")))
	w.add(w.pod("late", "cpu", "1"))
	w.bound("late")
}

func TestAVolumeIsBoundWhereThePodGoes(t *testing.T) {
	w := newWorld(t, "", nodes("n", 3, "cpu", "8")...)
	w.localVolume("on-n1", "n1")
	w.add(w.storing("first"))
	if said, want := w.unschedulable("first"), `persistentvolumeclaim "first" not found`; said != want {
		t.Errorf("%q is not %q", said, want)
	}
	w.claimOfVolume("first")
	w.claimOfVolume("second")
	if got := w.bound("first"); got[0] != "n1" {
		t.Errorf("the volume is on n1, and the pod on %s", got[0])
	}
	claim, err := w.client.CoreV1().PersistentVolumeClaims(w.namespace).Get(w.ctx, "first", metav1.GetOptions{})
	must(t, err)
	if claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName != "on-n1" {
		t.Errorf("the claim is %s to %q", claim.Status.Phase, claim.Spec.VolumeName)
	}
	w.add(w.storing("second")) // there is no other volume
	w.unschedulable("second")
}

func TestDevicesAreAllocatedToClaims(t *testing.T) {
	w := newWorld(t, "", nodes("n", 2, "cpu", "8")...)
	w.cards("n1", "card-0", "card-1")
	w.add(w.claiming("a"), w.claiming("b"))
	for _, on := range w.bound("a", "b") {
		if on != "n1" {
			t.Errorf("the cards are in n1, and a pod is on %s", on)
		}
	}
	cards := map[string]bool{}
	list, err := w.client.ResourceV1().ResourceClaims(w.namespace).List(w.ctx, metav1.ListOptions{})
	must(t, err)
	for _, claim := range list.Items {
		if claim.Status.Allocation == nil || len(claim.Status.Allocation.Devices.Results) != 1 || len(claim.Status.ReservedFor) != 1 {
			t.Fatalf("claim %s has %+v", claim.Name, claim.Status)
		}
		got := claim.Status.Allocation.Devices.Results[0]
		if got.Request != "one" || got.Driver != driver || got.Pool != "pool/a" {
			t.Errorf("claim %s has %+v", claim.Name, got)
		}
		cards[got.Device] = true
	}
	if len(cards) != 2 {
		t.Errorf("two pods have the cards %v", cards)
	}
	w.add(w.claiming("c"))
	w.unschedulable("c")
	// After a restart the scheduler knows what is allocated.
	w.scheduler.Kill()
	must(t, w.scheduler.Start())
	must(t, w.scheduler.Ready(w.ctx))
	w.add(w.claiming("d"))
	w.unschedulable("d")
	must(t, w.client.CoreV1().Pods(w.namespace).Delete(w.ctx, "a", metav1.DeleteOptions{}))
	w.eventually(func() string {
		if w.get("c").Spec.NodeName == "" && w.get("d").Spec.NodeName == "" {
			return "nobody has the card that is free"
		}
		return ""
	})
}
