package cluster_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"gangsched/tests/cluster/harness"
)

// expectation is a case of kube-scheduler's own end-to-end and integration tests, of those that need no kubelet: testdata/expectations.yaml.
type expectation struct {
	Test string `json:"test"` // where upstream has it, and what it is called there
	step `json:",inline"`
	Then []step `json:"then"`
}

// step is what happens, and where pods are after it.
type step struct {
	Nodes   []simpleNode                 `json:"nodes"`   // that come, or change
	Objects []*unstructured.Unstructured `json:"objects"` // of any other kind
	There   []simplePod                  `json:"there"`   // pods that run
	Delete  []string                     `json:"delete"`  // pods that go
	Pods    []simplePod                  `json:"pods"`    // pods that come, one after the other
	Want    map[string][]string          `json:"want"`    // on which of these nodes each pod is; on none: it finds no node
	Gone    []string                     `json:"gone"`    // who is there no more
	Groups  map[string]string            `json:"groups"`  // the reason of each PodGroup's condition PodGroupScheduled
	// The same of gangsched alone. kube-scheduler asks its watch whether the condition is True already (updatePodGroupCondition): a member that is tried
	// again before the watch says so has it write False over its own True.
	OurGroups map[string]string `json:"ourGroups"`
}

type simpleNode struct {
	Name   string                  `json:"name"`
	Labels map[string]string       `json:"labels"`
	Taints []corev1.Taint          `json:"taints"`
	Has    map[string]string       `json:"has"`
	Images []corev1.ContainerImage `json:"images"`
	Closed bool                    `json:"closed"` // unschedulable
}

type simplePod struct {
	Name   string                 `json:"name"`
	Node   string                 `json:"node"`
	Labels map[string]string      `json:"labels"`
	Asks   map[string]string      `json:"asks"`
	Ports  []corev1.ContainerPort `json:"ports"`
	Image  string                 `json:"image"`
	Spec   corev1.PodSpec         `json:"spec"`
}

func (n *simpleNode) node() *corev1.Node {
	has := []string{"cpu", "8", "memory", "32Gi"}
	for name, quantity := range n.Has {
		has = append(has, name, quantity)
	}
	made := harness.NodeOf(n.Name, has...)
	for key, value := range n.Labels {
		made.Labels[key] = value
	}
	made.Spec.Taints, made.Spec.Unschedulable, made.Status.Images = n.Taints, n.Closed, n.Images
	return made
}

func (p *simplePod) pod(namespace string) *corev1.Pod {
	var asks []string
	for name, quantity := range p.Asks {
		asks = append(asks, name, quantity)
	}
	made := harness.PodOf(namespace, p.Name, asks...)
	container, grace := made.Spec.Containers, made.Spec.TerminationGracePeriodSeconds
	made.Spec = p.Spec
	made.Spec.NodeName = p.Node
	container[0].Ports = p.Ports
	if p.Image != "" {
		container[0].Image = p.Image
	}
	made.Spec.Containers, made.Spec.TerminationGracePeriodSeconds = append(container, p.Spec.Containers...), grace
	made.Labels = p.Labels
	return made
}

func TestExpectationsOfKubeScheduler(t *testing.T) {
	text, err := os.ReadFile("testdata/expectations.yaml")
	must(t, err)
	var file struct {
		Shared any           `json:"shared"` // what cases refer to
		Cases  []expectation `json:"cases"`
	}
	must(t, yaml.UnmarshalStrict(text, &file))
	both := []*world{newPlane(t, harness.Options{}), newPlane(t, harness.Options{})}
	both[0].start("")
	_, err = both[1].plane.KubeScheduler("")
	must(t, err)
	for _, w := range both {
		w.classes(100, 200, 300)
	}
	preemption := 0
	for i := range file.Cases {
		one := &file.Cases[i]
		t.Run(one.Test, func(t *testing.T) {
			var here [2]*world
			for k, w := range both {
				copied := *w
				copied.T = t
				here[k] = &copied
			}
			defer together(func(k int) { here[k].clear() })
			for i, now := range append([]step{one.step}, one.Then...) {
				preemption += play(here, i, &now)
				if t.Failed() {
					for _, w := range here {
						t.Logf("%s: %s", w.who(), w.conditions())
					}
					return
				}
			}
		})
	}
	if !t.Failed() && preemption < 20 {
		t.Errorf("only %d pods are told why preemption does not help", preemption)
	}
}

// together does something for both schedulers at once. It must not end the test, as it has goroutines of its own: what is wrong is an error.
func together(what func(k int)) {
	var done sync.WaitGroup
	for k := range 2 {
		done.Go(func() { what(k) })
	}
	done.Wait()
}

// play plays a step for both and returns to how many pods it is said why preemption does not help. Words change as schedulers try again: those that
// differ are asked for again for a while.
func play(both [2]*world, number int, now *step) (preemption int) {
	var words [2][]string
	var errs [2]error
	together(func(k int) {
		if errs[k] = both[k].step(now); errs[k] == nil {
			words[k], errs[k] = both[k].outcome(now, outcomes)
		}
	})
	for until := time.Now().Add(rewording); errors.Join(errs[:]...) == nil && !slices.Equal(words[0], words[1]) && time.Now().Before(until); {
		time.Sleep(200 * time.Millisecond)
		together(func(k int) { words[k], errs[k] = both[k].outcome(now, rewording) })
	}
	for k, err := range errs {
		if err != nil {
			both[k].Errorf("%s: step %d: %v", both[k].who(), number, err)
		}
	}
	said := strings.Join(words[0], "\n")
	if other := strings.Join(words[1], "\n"); errors.Join(errs[:]...) == nil && said != other {
		both[0].Errorf("step %d: kube-scheduler says otherwise:\n%s\n%s", number, said, other)
	}
	return strings.Count(said, " preemption: ")
}

const (
	outcomes  = time.Minute     // until all is as it should be
	rewording = 5 * time.Second // until both say the same
)

// conditions are those of all pods and PodGroups of a case.
func (w *world) conditions() string {
	var all strings.Builder
	list, err := w.client.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, pod := range list.Items {
		fmt.Fprintf(&all, "\npod %s on %q: %+v", pod.Name, pod.Spec.NodeName, pod.Status.Conditions)
	}
	groups, err := w.client.SchedulingV1alpha2().PodGroups(w.namespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, group := range groups.Items {
		fmt.Fprintf(&all, "\nPodGroup %s: %+v", group.Name, group.Status.Conditions)
	}
	return all.String()
}

func (w *world) who() string {
	if w.scheduler != nil {
		return "gangsched"
	}
	return "kube-scheduler"
}

func (w *world) step(now *step) error {
	for i := range now.Nodes {
		node := now.Nodes[i].node()
		err := harness.AddNodes(w.ctx, w.client, node)
		if apierrors.IsAlreadyExists(err) {
			err = w.change(node)
		}
		if err != nil {
			return err
		}
	}
	for _, object := range now.Objects {
		if err := w.create(object.DeepCopy()); err != nil {
			return err
		}
	}
	for i := range now.There {
		if err := harness.AddPods(w.ctx, w.client, now.There[i].pod(w.namespace)); err != nil {
			return err
		}
	}
	for _, name := range now.Delete {
		if err := w.client.CoreV1().Pods(w.namespace).Delete(w.ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	if len(now.Nodes)+len(now.Objects)+len(now.There) != 0 && len(now.Pods) != 0 {
		time.Sleep(settles) // each scheduler hears of each kind by a watch of its own
	}
	for i := range now.Pods {
		if err := harness.AddPods(w.ctx, w.client, now.Pods[i].pod(w.namespace)); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond) // who comes first is tried first
	}
	return nil
}

// settles is how long it takes until both schedulers know what there is.
const settles = 1200 * time.Millisecond

func (w *world) change(node *corev1.Node) error {
	for {
		now, err := w.client.CoreV1().Nodes().Get(w.ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now.Labels, now.Spec.Taints, now.Spec.Unschedulable = node.Labels, node.Spec.Taints, node.Spec.Unschedulable
		if now, err = w.client.CoreV1().Nodes().Update(w.ctx, now, metav1.UpdateOptions{}); err == nil {
			now.Status.Allocatable = node.Status.Allocatable
			_, err = w.client.CoreV1().Nodes().UpdateStatus(w.ctx, now, metav1.UpdateOptions{})
		}
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// create makes an object of any kind, in the namespace of the test if its kind has namespaces.
func (w *world) create(object *unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(w.plane.Config)
	if err != nil {
		return err
	}
	kind := object.GroupVersionKind()
	mapping, err := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(w.client.Discovery())).RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == "namespace" {
		_, err = client.Resource(mapping.Resource).Namespace(w.namespace).Create(w.ctx, object, metav1.CreateOptions{})
	} else {
		_, err = client.Resource(mapping.Resource).Create(w.ctx, object, metav1.CreateOptions{})
	}
	return err
}

// outcome waits until all is as it should be, and returns the words about who found no node.
func (w *world) outcome(now *step, patience time.Duration) (words []string, err error) {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if words, err = w.look(now); err == nil {
			return words, nil
		}
	}
	return words, err
}

func (w *world) look(now *step) (words []string, err error) {
	list, err := w.client.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].Name] = &list.Items[i]
	}
	for _, name := range now.Gone {
		if pods[name] != nil {
			return nil, fmt.Errorf("%s is still there", name)
		}
	}
	groups := maps.Clone(now.Groups)
	if groups == nil {
		groups = map[string]string{}
	}
	if w.scheduler != nil {
		maps.Copy(groups, now.OurGroups)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		group, err := w.client.SchedulingV1alpha2().PodGroups(w.namespace).Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		found, reason := apimeta.FindStatusCondition(group.Status.Conditions, schedulingv1alpha2.PodGroupScheduled), groups[name]
		if found == nil || found.Reason != reason || (found.Status == metav1.ConditionTrue) != (reason == "Scheduled") || found.ObservedGeneration != group.Generation {
			return nil, fmt.Errorf("the PodGroup %s should be %s and has conditions %v", name, reason, group.Status.Conditions)
		}
		if now.Groups[name] != "" {
			words = append(words, fmt.Sprintf("PodGroup %s: %s: %q", name, reason, found.Message))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.Want)) {
		pod, wanted := pods[name], now.Want[name]
		if pod == nil {
			return nil, fmt.Errorf("there is no %s", name)
		}
		scheduled := condition(pod, corev1.PodScheduled)
		switch {
		case len(wanted) == 0 && (pod.Spec.NodeName != "" || scheduled.Status != corev1.ConditionFalse || scheduled.Message == ""):
			return nil, fmt.Errorf("%s is on %q, condition %v, and should find no node", name, pod.Spec.NodeName, scheduled)
		case len(wanted) == 0:
			words = append(words, name+": "+scheduled.Reason+": "+wordsOf(pod, scheduled.Message))
		case !slices.Contains(wanted, pod.Spec.NodeName):
			return nil, fmt.Errorf("%s is on %q, not one of %v: %s", name, pod.Spec.NodeName, wanted, scheduled.Message)
		}
	}
	return words, nil
}

// wordsOf is what both schedulers have to say of who finds no node. kube-scheduler speaks of claims to deallocate to a pod that claims nothing, too, and
// lets members of a group preempt one by one, where here the group does.
func wordsOf(pod *corev1.Pod, message string) string {
	if pod.Spec.SchedulingGroup != nil {
		message, _, _ = strings.Cut(message, " preemption: ")
	}
	return strings.Replace(message, " no new claims to deallocate,", "", 1)
}

// clear leaves an empty cluster for the next case, which may have pods, PodGroups and nodes of the same names.
func (w *world) clear() {
	zero := int64(0)
	errs := []error{
		w.client.CoreV1().Pods(w.namespace).DeleteCollection(w.ctx, metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{}),
		w.client.PolicyV1().PodDisruptionBudgets(w.namespace).DeleteCollection(w.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
		w.client.SchedulingV1alpha2().PodGroups(w.namespace).DeleteCollection(w.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
		w.client.CoreV1().Nodes().DeleteCollection(w.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
	}
	for _, err := range errs {
		if err != nil {
			w.Error(err)
		}
	}
	left := errors.New("nobody has looked")
	for until := time.Now().Add(outcomes); left != nil && time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		left = w.left()
	}
	if left != nil {
		w.Errorf("%s: of a case there is left: %v", w.who(), left)
	}
}

// left says what there is still. What keeps PodGroups as long as their controller has not seen that their pods are gone is ended.
func (w *world) left() error {
	pods, err := w.client.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) != 0 {
		return cmp.Or(err, fmt.Errorf("%d pods", len(pods.Items)))
	}
	groups, err := w.client.SchedulingV1alpha2().PodGroups(w.namespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, group := range groups.Items {
		_, err := w.client.SchedulingV1alpha2().PodGroups(w.namespace).Patch(w.ctx, group.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	nodes, err := w.client.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	if err != nil || len(groups.Items)+len(nodes.Items) != 0 {
		return cmp.Or(err, fmt.Errorf("%d PodGroups, %d nodes", len(groups.Items), len(nodes.Items)))
	}
	return nil
}
