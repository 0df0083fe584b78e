package mirror

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gangsched"
)

type world struct {
	*testing.T
	*Mirror
	now int64
}

func newWorld(t *testing.T) *world {
	cluster := gangsched.NewCluster()
	t.Cleanup(cluster.Close)
	scheduler, err := gangsched.NewScheduler(cluster, gangsched.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(scheduler.Close)
	return &world{t, New(cluster, scheduler, map[string]bool{"default-scheduler": true}), 0}
}

func nodeOf(name, cpu string) *corev1.Node {
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("110")}
	return made
}

func podOf(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Generation: 1},
		Spec: corev1.PodSpec{SchedulerName: "default-scheduler", Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}},
	}
}

func on(node string, pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.NodeName = node
	return pod
}

// turn decides and notes binds as the loop does.
func (w *world) turn() (said []string) {
	w.Helper()
	w.Settle()
	w.now += 60e9
	decisions, err := w.scheduler.Run(w.now)
	if err != nil {
		w.Fatal(err)
	}
	for i := range decisions {
		d := &decisions[i]
		said = append(said, fmt.Sprint(w.cluster.PodName(d.Pod), " ", d.Kind))
		if p := w.Pod(d.Pod); p != nil && d.Kind == gangsched.Bind {
			p.Attempt, p.Node = d.Attempt, w.cluster.NodeName(d.Node)
		}
	}
	return said
}

func (w *world) want(got any, expected string) {
	w.Helper()
	if fmt.Sprint(got) != expected {
		w.Errorf("got %v, not %s", got, expected)
	}
}

func TestAPodThatIsBoundStaysBoundWhateverOlderNewsSays(t *testing.T) {
	w := newWorld(t)
	w.SetNode(nodeOf("n", "4"))
	pod := podOf("p", "4")
	w.SetPod(pod)
	w.want(w.turn(), "[p bind]")
	w.Confirm(w.Find(nameOf(pod)))
	older := pod.DeepCopy()
	older.Labels = map[string]string{"changed": "before"}
	w.SetPod(older)
	w.SetPod(podOf("q", "1"))
	w.want(w.turn(), "[q reject]")
	w.SetPod(on("n", older))
	w.RemovePod(older)
	w.want(w.turn(), "[q bind]")
}

func TestAPodThatAVoidAttemptHasBoundCounts(t *testing.T) {
	w := newWorld(t)
	w.SetNode(nodeOf("n", "4"))
	pod := podOf("p", "4")
	w.SetPod(pod)
	w.want(w.turn(), "[p bind]")
	p := w.Find(nameOf(pod))
	if err := w.scheduler.Fail(p.ID, p.Attempt, "void"); err != nil {
		t.Fatal(err)
	}
	w.Confirm(p) // the answer comes all the same
	w.SetPod(podOf("q", "1"))
	w.want(w.turn(), "[q reject]")
	w.SetPod(on("n", pod))
	w.RemovePod(pod)
	w.want(w.turn(), "[q bind]")
}

func TestPodsCountWhenTheirNodeComes(t *testing.T) {
	w := newWorld(t)
	first := on("n", podOf("first", "3"))
	w.SetPod(first)
	w.SetNode(nodeOf("n", "4"))
	w.SetPod(podOf("second", "2"))
	w.want(w.turn(), "[second reject]")
	w.RemoveNode("n")
	w.SetNode(nodeOf("n", "4")) // it was away for a moment: what ran there does
	w.want(w.turn(), "[]")
	w.RemovePod(first)
	w.want(w.turn(), "[second bind]")
}

func TestAPodThatIsGoneDoesNotComeBackWithItsNode(t *testing.T) {
	w := newWorld(t)
	w.SetNode(nodeOf("n", "4"))
	pod := podOf("p", "4")
	w.SetPod(pod)
	w.want(w.turn(), "[p bind]")
	w.Confirm(w.Find(nameOf(pod))) // and the watch has not said so
	w.RemoveNode("n")
	w.RemovePod(pod)
	w.SetNode(nodeOf("n", "4"))
	w.want(w.turn(), "[]")
}

func TestAGangIsWholeAfterARestart(t *testing.T) {
	w := newWorld(t)
	member := func(i int) *corev1.Pod {
		pod := podOf(fmt.Sprint("g-", i), "2")
		pod.Labels = map[string]string{groupLabels[2]: "g", "pod-group.scheduling.sigs.k8s.io/min-available": "3"}
		return pod
	}
	w.SetPod(on("n", member(0))) // bound before the restart
	w.SetPod(member(1))
	w.SetNode(nodeOf("n", "4"))
	w.want(w.turn(), "[]") // two of three
	w.SetPod(member(2))
	for _, said := range w.turn() {
		if said == "g-1 bind" || said == "g-2 bind" {
			t.Error("a member starts where the others have no room: ", said)
		}
	}
	w.SetNode(nodeOf("m", "4"))
	if said := w.turn(); len(said) != 2 {
		t.Errorf("the others: %v", said)
	}
	for i := range 3 {
		w.RemovePod(member(i))
	}
	if len(w.gangs) != 0 || w.cluster.FindGroup("default", "g") != 0 {
		t.Error("the group of nobody is still there")
	}
}

func TestWhatRunsCountsThoughItsClaimIsMissing(t *testing.T) {
	w := newWorld(t)
	w.SetNode(nodeOf("n", "4"))
	claim := "lost"
	running := on("n", podOf("running", "3"))
	running.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim}}
	w.SetPod(running)
	w.SetPod(podOf("p", "2"))
	w.want(w.turn(), "[p reject]")
	waiting := podOf("waiting", "1")
	waiting.Spec.ResourceClaims = running.Spec.ResourceClaims
	w.SetPod(waiting)
	w.turn()
	if p := w.Find(nameOf(waiting)); p.ID != 0 || p.Refused == "" {
		t.Errorf("a pod waits for nothing: %+v", p)
	}
}

func TestAPodGroupIsReadAgainWhenItSaysSomethingElse(t *testing.T) {
	w := newWorld(t)
	group := &schedulingv1alpha2.PodGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1alpha2", Kind: "PodGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "u"},
	}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: 2}
	w.SetPodGroup(group)
	before := w.cluster.Digest()
	for _, change := range []struct {
		how  func(*schedulingv1alpha2.PodGroup)
		read bool
	}{
		{func(g *schedulingv1alpha2.PodGroup) {
			g.Status.Conditions = []metav1.Condition{{Type: "PodGroupScheduled"}}
		}, false},
		{func(g *schedulingv1alpha2.PodGroup) {
			g.Annotations = map[string]string{"gangsched.dev/queue": "other"}
		}, true},
		{func(g *schedulingv1alpha2.PodGroup) {
			g.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: 3}
		}, true},
	} {
		group = group.DeepCopy()
		change.how(group)
		w.SetPodGroup(group)
		w.want(w.cluster.Digest() != before, fmt.Sprint(change.read))
		before = w.cluster.Digest()
	}
	w.RemovePodGroup(group)
	w.want(w.HasPodGroups(), "false")
}

func TestWhatWasWrittenOfAPodGroupCountsUntilTheWatchKnowsBetter(t *testing.T) {
	const scheduled, disrupted = schedulingv1alpha2.PodGroupScheduled, schedulingv1alpha2.DisruptionTarget
	at := metav1.Now()
	one := func(kind string, status metav1.ConditionStatus, message string, later time.Duration) *metav1.Condition {
		return &metav1.Condition{Type: kind, Status: status, Message: message, LastTransitionTime: metav1.NewTime(at.Add(later))}
	}
	for name, now := range map[string]struct {
		said, read *metav1.Condition
		want       string
		left       int
	}{
		"not there yet":          {one(scheduled, "False", "a", 0), nil, "False a", 1},
		"caught up":              {one(scheduled, "False", "a", 0), one(scheduled, "False", "a", 0), "False a", 0},
		"older":                  {one(scheduled, "False", "b", 0), one(scheduled, "False", "a", 0), "False b", 1},
		"overtaken":              {one(disrupted, "True", "a", 0), one(disrupted, "False", "b", time.Minute), "False b", 0},
		"scheduled by another":   {one(scheduled, "False", "a", 0), one(scheduled, "True", "b", -time.Minute), "True b", 0},
		"scheduled, not so read": {one(scheduled, "True", "a", 0), one(scheduled, "False", "b", time.Minute), "True a", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			object := &schedulingv1alpha2.PodGroup{
				TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1alpha2", Kind: "PodGroup"},
				ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "u"},
			}
			w.SetPodGroup(object)
			group := w.groups[nameOf(object)]
			group.Said = []metav1.Condition{*now.said}
			object = object.DeepCopy()
			if now.read != nil {
				object.Status.Conditions = []metav1.Condition{*now.read}
			}
			w.SetPodGroup(object)
			is := group.Condition(now.said.Type)
			w.want(fmt.Sprint(is.Status, " ", is.Message), now.want)
			if len(group.Said) != now.left {
				t.Errorf("still said: %v", group.Said)
			}
		})
	}
}

// What the API server has written into a pod counts, whatever has become of the class since.
func TestAPodCountsWithItsPriorityThoughItsClassIsGoneOrAnotherOne(t *testing.T) {
	class := func(value int32, never bool) *schedulingv1.PriorityClass {
		made := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Value: value}
		if policy := corev1.PreemptNever; never {
			made.PreemptionPolicy = &policy
		}
		return made
	}
	for name, change := range map[string]func(*world){
		"never there":       func(*world) {},
		"gone":              func(w *world) { w.SetPriorityClass(class(5, false), false); w.SetPriorityClass(class(5, false), true) },
		"the same":          func(w *world) { w.SetPriorityClass(class(5, false), false) },
		"of another value":  func(w *world) { w.SetPriorityClass(class(7, false), false) },
		"of another policy": func(w *world) { w.SetPriorityClass(class(5, true), false) },
		"refused":           func(w *world) { w.SetPriorityClass(class(2_000_000_000, false), false) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			five := int32(5)
			of := func(pod *corev1.Pod) *corev1.Pod {
				pod.Spec.PriorityClassName, pod.Spec.Priority = "c", &five
				return pod
			}
			w.SetNode(nodeOf("n", "4"))
			w.SetPod(on("n", of(podOf("running", "3"))))
			w.SetPod(podOf("low", "2"))
			w.want(w.turn(), "[low reject]")
			w.SetPod(of(podOf("p", "1")))
			w.want(w.turn(), "[p bind]")
		})
	}
}

func TestWhoIsRefusedIsTriedAgainWhenAPriorityClassComes(t *testing.T) {
	w := newWorld(t)
	w.Settle()
	w.SetPriorityClass(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Value: 5}, false)
	w.want(w.changed, "true")
}

// Controllers of other schedulers say which group and queue a pod is in when it is there already.
func TestAnnotationsThatAreAddedLaterAreRead(t *testing.T) {
	w := newWorld(t)
	pod := podOf("p", "1")
	w.SetPod(pod)
	for _, one := range []struct {
		key, value string
		read       bool
	}{
		{"other", "a", false}, {queueAnnotations[0], "a", true}, {groupAnnotations[1], "g", true}, {minimumAnnotations[0], "2", true}, {"other", "b", false},
	} {
		before := w.cluster.Digest()
		pod = pod.DeepCopy()
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, one.key, one.value)
		w.SetPod(pod)
		if read := w.cluster.Digest() != before; read != one.read {
			t.Errorf("%s: read is %v", one.key, read)
		}
	}
	w.SetNode(nodeOf("n", "4"))
	w.want(w.turn(), "[]") // one of two
	pod = pod.DeepCopy()
	pod.Annotations = nil
	w.SetPod(pod)
	w.want(w.turn(), "[p bind]")
	w.want(len(w.gangs), "0")
}

// A group that its pods describe and an object, too, is there as long as either is: while the object is that counts.
func TestAGroupThatAnObjectDescribesTooOutlivesEither(t *testing.T) {
	object := &schedulingv1alpha2.PodGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1alpha2", Kind: "PodGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "u"},
	}
	object.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: 2}
	labelled := podOf("labelled", "1")
	labelled.Labels = map[string]string{groupLabels[2]: "g", minimumLabels[0]: "1"}
	named := podOf("named", "1")
	named.Labels = map[string]string{groupLabels[0]: "g"}
	for _, first := range []string{"pods", "object"} {
		t.Run("first come the "+first, func(t *testing.T) {
			w := newWorld(t)
			if first == "object" {
				w.SetPodGroup(object)
			}
			w.SetPod(labelled)
			w.SetPodGroup(object)
			w.SetNode(nodeOf("n", "4"))
			w.want(w.turn(), "[]") // one of two
			w.RemovePodGroup(object)
			w.want(w.turn(), "[labelled bind]") // one of one
			w.SetPodGroup(object)
			w.RemovePod(labelled)
			w.SetPod(named)
			w.want(w.turn(), "[]")
			w.SetPod(podOf("other", "1"))
			w.RemovePodGroup(object)
			w.want(len(w.gangs), "0")
			w.want(w.turn(), "[other bind]") // its group is not there
		})
	}
}

// A pod that shrinks in place gives its room away when kubelet has taken it, not before.
func TestAPodThatIsResizedCountsAsWhatItStillHas(t *testing.T) {
	w := newWorld(t)
	w.SetNode(nodeOf("n", "8"))
	status := func(cpu string) []corev1.ContainerStatus {
		has := corev1.ResourceList{"cpu": resource.MustParse(cpu)}
		return []corev1.ContainerStatus{{Name: "c", AllocatedResources: has, Resources: &corev1.ResourceRequirements{Requests: has}}}
	}
	pod := on("n", podOf("large", "7"))
	pod.Status.ContainerStatuses = status("7")
	w.SetPod(pod)
	w.SetPod(podOf("waits", "4"))
	w.want(w.turn(), "[waits reject]")
	pod = pod.DeepCopy()
	pod.Generation++
	pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2")
	w.SetPod(pod)
	w.want(w.turn(), "[]")
	pod = pod.DeepCopy()
	pod.Status.ContainerStatuses = status("2")
	w.SetPod(pod)
	w.want(w.turn(), "[waits bind]")
}

func TestANominatedPodComesBeforeItsNode(t *testing.T) {
	w := newWorld(t)
	ten := int32(10)
	pod := podOf("p", "3")
	pod.Status.NominatedNodeName, pod.Spec.Priority = "n", &ten
	w.SetPod(pod)
	nominated := func() string { return w.cluster.NodeName(w.cluster.NominatedNode(w.Find(nameOf(pod)).ID)) }
	w.SetNode(nodeOf("n", "4"))
	w.want(nominated(), "n")
	w.RemoveNode("n")
	w.want(nominated(), "")
	w.SetNode(nodeOf("n", "4"))
	w.want(nominated(), "n")
	other := pod.DeepCopy()
	other.Status.NominatedNodeName = "m" // by another program, and it comes later, too
	w.SetPod(other)
	w.want(nominated(), "")
	w.SetNode(nodeOf("m", "1"))
	w.want(nominated(), "m")
}

// References to owners do not count as a change of what a pod is to be.
func TestAPodThatIsAdoptedIsSpreadWithItsOwners(t *testing.T) {
	w := newWorld(t)
	pod := podOf("p", "1")
	w.SetPod(pod)
	before, controls := w.cluster.Digest(), true
	pod = pod.DeepCopy()
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "r", Controller: &controls}}
	w.SetPod(pod)
	if w.cluster.Digest() == before {
		t.Error("its owner is not read")
	}
}

// After a lost watch all objects come again.
func TestWhatComesAgainAsItWasWakesNobody(t *testing.T) {
	w := newWorld(t)
	far := corev1.PodAffinityTerm{TopologyKey: "zone", NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, LabelSelector: &metav1.LabelSelector{}}
	apart := podOf("apart", "1")
	apart.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{far}}}
	with := podOf("with", "8")
	with.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	waits, class := storagev1.VolumeBindingWaitForFirstConsumer, "fast"
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	claim.Spec.StorageClassName = &class
	all := func() {
		w.SetNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"a": "c"}}}, false)
		w.SetPriorityClass(priorityClassOf("high"), false)
		w.SetStorageClass(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "disks", VolumeBindingMode: &waits}, false)
		w.SetCSIDriver(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disks"}}, false)
		w.SetClaimOfVolume(claim.DeepCopy(), false)
		w.SetNode(nodeOf("n", "4"))
		w.SetPodGroup(podGroupOf("g", 2))
		w.SetPod(memberOf("g", "one"))
		w.SetPod(apart.DeepCopy())
		w.SetPod(with.DeepCopy())
	}
	all()
	w.want(len(w.turn()), "2")
	digest := w.cluster.Digest()
	all()
	w.want(w.turn(), "[]")
	w.want(w.cluster.Digest() == digest, "true")
}
