package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/inbox"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
	"gangsched/examples/kubernetes-scheduler/internal/share"
)

// world is a loop that runs, with an API server of which the test says how it answers binds.
type world struct {
	*testing.T
	*Loop
	client  *fake.Clientset
	stepped *steppedClock

	mu    sync.Mutex
	bound map[string]string
	binds func(pod, node string) error // nil: all are fine; it may wait
}

// steppedClock is one whose wall time is set now and then.
type steppedClock struct {
	start time.Time
	mu    sync.Mutex
	off   time.Duration
}

func (c *steppedClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.off)
}

func (c *steppedClock) Elapsed() time.Duration { return time.Since(c.start) }

func (c *steppedClock) step(how time.Duration) {
	c.mu.Lock()
	c.off += how
	c.mu.Unlock()
}

func newWorld(t *testing.T) *world {
	cluster := gangsched.NewCluster()
	t.Cleanup(cluster.Close)
	scheduler, err := gangsched.NewScheduler(cluster, gangsched.Options{EventsKept: 1 << 10})
	must(t, err)
	t.Cleanup(scheduler.Close)
	w := &world{T: t, client: fake.NewClientset(), stepped: &steppedClock{start: time.Now()}, bound: map[string]string{}}
	w.client.PrependReactor("create", "pods", w.bind)
	box := inbox.New()
	known := mirror.New(cluster, scheduler, map[string]bool{"default-scheduler": true})
	writer := act.NewWriter(w.client, 8, 10*time.Second)
	ctx, end := context.WithCancel(context.Background())
	recorder, err := act.NewRecorder(ctx, writer)
	must(t, err)
	w.Loop = New(cluster, scheduler, known, box, writer, recorder, time.Minute)
	w.Loop.clock = w.stepped
	var all sync.WaitGroup
	all.Go(func() { w.Loop.Run(ctx) })
	all.Go(func() { writer.Run(ctx) })
	t.Cleanup(func() { end(); all.Wait(); recorder.Close() })
	w.Lead()
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) bind(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	what := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
	w.mu.Lock()
	decide := w.binds
	w.mu.Unlock()
	if decide != nil {
		if err := decide(what.Name, what.Target.Name); err != nil {
			return true, nil, err
		}
	}
	w.mu.Lock()
	w.bound[what.Name] = what.Target.Name
	w.mu.Unlock()
	return true, what, nil
}

// answers says how binds are answered from now on.
func (w *world) answers(how func(pod, node string) error) {
	w.mu.Lock()
	w.binds = how
	w.mu.Unlock()
}

func (w *world) node(name, cpu string) {
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("110")}
	w.box.Put(func() { w.mirror.SetNode(made) })
}

func (w *world) pod(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Generation: 1, ResourceVersion: "1"},
		Spec: corev1.PodSpec{SchedulerName: "default-scheduler", Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}},
	}
	for _, one := range change {
		one(made)
	}
	must(w.T, w.client.Tracker().Add(made))
	w.box.Put(func() { w.mirror.SetPod(made) })
	return made
}

func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	for until := time.Now().Add(15 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	w.Fatal("never: ", what)
}

func (w *world) on(pod string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bound[pod]
}

// attempts says how often the pod was tried.
func (w *world) attempts(pod string) int {
	made, err := Ask(w.Context(), w.Loop, func(_ *gangsched.Cluster, scheduler *gangsched.Scheduler, m *mirror.Mirror) (int, error) {
		standing, err := scheduler.Standing(m.Find(types.NamespacedName{Namespace: "default", Name: pod}).ID)
		return int(standing.Attempts), err
	})
	must(w.T, err)
	return made
}

// turns waits until the loop has decided a few times more.
func (w *world) turns() {
	for range 3 {
		_, err := Ask(w.Context(), w.Loop, func(*gangsched.Cluster, *gangsched.Scheduler, *mirror.Mirror) (int, error) { return 0, nil })
		must(w.T, err)
		time.Sleep(20 * time.Millisecond)
	}
}

func priority(value int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = &value }
}

// A bind was sent and is not answered when its attempt is taken back: until it is known what became of it nobody else gets the room.
func TestTheRoomOfABindThatIsTakenBackIsHeldUntilItIsAnswered(t *testing.T) {
	for variant := range 4 {
		happens, node := variant%2 == 0, variant/2 == 0
		t.Run(fmt.Sprintf("happens %v, node %v", happens, node), func(t *testing.T) {
			w := newWorld(t)
			w.node("n", "1")
			sent, answer := make(chan string, 8), make(chan error)
			defer close(answer)
			w.answers(func(pod, _ string) error {
				sent <- pod
				if pod == "slow" {
					return <-answer
				}
				return nil
			})
			w.pod("slow", "1")
			if first := <-sent; first != "slow" {
				t.Fatal(first)
			}
			w.box.Put(func() {
				if node { // it is gone, and comes back
					w.mirror.RemoveNode("n")
					return
				}
				p := w.mirror.Find(types.NamespacedName{Namespace: "default", Name: "slow"})
				w.revoke(w.flights[p.Attempt])
				w.takeBack(p, p.Attempt, "it is taken back")
			})
			w.turns()
			w.node("n", "1")
			w.pod("urgent", "1", priority(100))
			w.turns()
			if at := w.on("urgent"); at != "" {
				t.Fatalf("it is on %s, where the other may be", at)
			}
			if happens {
				answer <- nil
				w.eventually("it is bound", func() bool { return w.on("slow") == "n" })
				w.turns()
				if at := w.on("urgent"); at != "" {
					t.Fatalf("it is on %s, where the other is", at)
				}
				return
			}
			answer <- apierrors.NewForbidden(corev1.Resource("pods"), "slow", nil)
			w.eventually("the other is bound", func() bool { return w.on("urgent") == "n" })
		})
	}
}

// Who was bound though its attempt was void, and has another one already, counts where it is.
func TestWhoIsDecidedAnewAndBoundByWhatWasTakenBackCountsThere(t *testing.T) {
	w := newWorld(t)
	w.node("n", "1")
	sent, answer := make(chan string, 8), make(chan error)
	w.answers(func(pod, _ string) error {
		if sent <- pod; pod == "slow" {
			return <-answer
		}
		return nil
	})
	slow := w.pod("slow", "1")
	<-sent
	find := func() *mirror.Pod { return w.mirror.Find(types.NamespacedName{Namespace: "default", Name: "slow"}) }
	w.box.Put(func() {
		p := find()
		w.revoke(w.flights[p.Attempt])
		w.takeBack(p, p.Attempt, "it is taken back")
		p.Attempt, p.Node = 1<<40, "elsewhere"
	})
	w.turns()
	answer <- nil
	w.eventually("it is bound", func() bool { return w.on("slow") == "n" })
	w.turns()
	w.pod("urgent", "1", priority(100))
	w.turns()
	if at := w.on("urgent"); at != "" {
		t.Errorf("another is on %s, where it is", at)
	}
	there := slow.DeepCopy()
	there.Spec.NodeName, there.ResourceVersion = "n", "2"
	w.box.Put(func() { w.mirror.SetPod(there) })
	w.turns()
	left, err := Ask(t.Context(), w.Loop, func(*gangsched.Cluster, *gangsched.Scheduler, *mirror.Mirror) (int, error) { return len(w.void), nil })
	must(t, err)
	if left != 0 {
		t.Error("it is remembered for ever")
	}
}

// claims has a pod claim a volume that is made when it has a node, and that nobody makes.
func (w *world) claims(name string) func(*corev1.Pod) {
	waits, class := storagev1.VolumeBindingWaitForFirstConsumer, "made"
	made := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}}
	made.Spec.StorageClassName = &class
	made.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	must(w.T, w.client.Tracker().Add(made))
	w.box.Put(func() {
		w.mirror.SetStorageClass(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "disks", VolumeBindingMode: &waits}, false)
		w.mirror.SetClaimOfVolume(made, false)
	})
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
}

// selected is where a claim's volume is to be made.
func (w *world) selected(claim string) string {
	made, err := w.client.CoreV1().PersistentVolumeClaims("default").Get(w.Context(), claim, metav1.GetOptions{})
	must(w.T, err)
	return made.Annotations["volume.kubernetes.io/selected-node"]
}

// What was decided and not sent is no reason to wait, and nobody who runs: it is void at once, and nobody is deleted.
func TestWhoIsPreemptedBeforeItsBindIsSentIsNotDeleted(t *testing.T) {
	for _, waits := range []string{"for its volume", "for its turn"} {
		t.Run(waits, func(t *testing.T) {
			w := newWorld(t)
			answer := make(chan struct{})
			w.answers(func(pod, _ string) error {
				if strings.HasPrefix(pod, "before") {
					<-answer
				}
				return nil
			})
			var change []func(*corev1.Pod)
			if waits == "for its volume" {
				change = append(change, w.claims("c"))
			} else { // all who write are busy
				w.node("busy", "8")
				for i := range 8 {
					w.pod(fmt.Sprint("before", i), "1", priority(1000))
				}
				w.turns()
			}
			w.node("n", "1")
			w.pod("slow", "1", change...)
			if w.turns(); len(change) != 0 {
				w.eventually("its volume is asked for", func() bool { return w.selected("c") == "n" })
			}
			since := time.Now()
			w.pod("urgent", "1", priority(100))
			w.turns()
			close(answer)
			w.eventually("it is bound", func() bool { return w.on("urgent") == "n" })
			if took := time.Since(since); took > 5*time.Second {
				t.Errorf("that took %v", took)
			}
			if len(change) != 0 {
				w.eventually("its volume is not asked for any more", func() bool { return w.selected("c") == "" })
			}
			w.turns()
			if _, err := w.client.CoreV1().Pods("default").Get(t.Context(), "slow", metav1.GetOptions{}); err != nil || w.on("slow") != "" {
				t.Errorf("on %q: %v", w.on("slow"), err)
			}
		})
	}
}

// Who sets the machine's clock changes nothing but what others read.
func TestTheClockIsSet(t *testing.T) {
	w := newWorld(t)
	w.node("n", "100")
	for i, step := range []time.Duration{0, time.Hour, -2 * time.Hour, time.Hour} {
		w.stepped.step(step)
		if err := w.Alive(); err != nil {
			t.Errorf("after %v: %v", step, err)
		}
		name := fmt.Sprintf("p%d", i)
		w.pod(name, "1")
		w.eventually(name+" is bound", func() bool { return w.on(name) == "n" })
	}
	// A backoff begins before the step, and ends when it would.
	for i, step := range []time.Duration{time.Hour, -2 * time.Hour} {
		name := fmt.Sprintf("refused%d", i)
		var once sync.Once
		refused := make(chan time.Time, 1)
		w.answers(func(pod, _ string) (err error) {
			once.Do(func() {
				refused <- time.Now()
				err = apierrors.NewForbidden(corev1.Resource("pods"), pod, nil)
			})
			return err
		})
		w.pod(name, "1")
		since := <-refused
		w.stepped.step(step)
		w.eventually(name+" is tried again", func() bool { return w.on(name) == "n" })
		if took := time.Since(since); took < 500*time.Millisecond || took > 5*time.Second {
			t.Errorf("its backoff of a second took %v", took)
		}
	}
	// What others read says what the clock says.
	w.pod("large", "200")
	w.eventually("it is told", func() bool {
		pod, err := w.client.CoreV1().Pods("default").Get(t.Context(), "large", metav1.GetOptions{})
		must(t, err)
		for _, one := range pod.Status.Conditions {
			if one.Type == corev1.PodScheduled {
				return time.Until(one.LastTransitionTime.Time) < -30*time.Minute
			}
		}
		return false
	})
}

// Where others live or may come, no more is decided than can be written soon.
func TestNoMoreIsPromisedThanIsBoundSoon(t *testing.T) {
	l := &Loop{mirror: mirror.New(nil, nil, nil), writer: act.NewWriter(fake.NewClientset(), 7, time.Second)}
	ledger := share.New("me", view{l.mirror}, time.Second, time.Minute)
	l.sharing = &sharing{ledger: ledger}
	if got := l.room(); got != 0 {
		t.Errorf("room for %d, and nothing is read yet", got)
	}
	ledger.HasRead(1, &share.Document{Seq: 20, Entries: make([]share.Entry, 20)}, 0)
	if got := l.room(); got != 4*7-20 {
		t.Errorf("room for %d", got)
	}
}

// Memory that C takes from many threads is in as many arenas, and each keeps what is free in it.
func TestTheLoopStaysOnOneThread(t *testing.T) {
	w := newWorld(t)
	var over atomic.Bool
	var others sync.WaitGroup
	for range 4 { // so that a goroutine that may move does
		others.Go(func() {
			for !over.Load() {
				time.Sleep(time.Microsecond)
				for until := time.Now().Add(50 * time.Microsecond); time.Now().Before(until); {
				}
			}
		})
	}
	threads := map[int]bool{}
	for range 500 {
		thread, err := Ask(t.Context(), w.Loop, func(*gangsched.Cluster, *gangsched.Scheduler, *mirror.Mirror) (int, error) { return unix.Gettid(), nil })
		must(t, err)
		threads[thread] = true
	}
	over.Store(true)
	others.Wait()
	if len(threads) != 1 {
		t.Errorf("it has run on %d threads", len(threads))
	}
}

// Why a bind came to nothing is said as an error of the scheduler, once: it is not that the pod finds no node.
func TestABindThatFailsIsNotSaidToFindNoNode(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	var patches []string
	var events []string
	w.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		patches = append(patches, string(action.(clienttesting.PatchAction).GetPatch()))
		return false, nil, nil
	})
	w.client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		said := action.(clienttesting.CreateAction).GetObject().(*eventsv1.Event)
		events = append(events, said.Reason+" "+said.Action)
		return false, nil, nil
	})
	w.answers(func(pod, _ string) error { return apierrors.NewForbidden(corev1.Resource("pods"), pod, nil) })
	w.node("n", "1")
	w.pod("p", "1")
	both := func() (written, said string) {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(patches, "\n"), strings.Join(events, ", ")
	}
	w.eventually("it is said", func() bool { _, said := both(); return strings.Contains(said, "FailedScheduling") })
	w.eventually("it is written", func() bool { written, _ := both(); return strings.Contains(written, corev1.PodReasonSchedulerError) })
	w.turns()
	if written, said := both(); strings.Contains(written, corev1.PodReasonUnschedulable) || strings.Contains(said, "Binding") {
		t.Errorf("written is %s\nsaid is %s", written, said)
	}
}

// A victim that may not be evicted stays, and nobody waits for its room.
func TestNobodyWaitsForTheRoomOfAVictimThatMayNotBeEvicted(t *testing.T) {
	w := newWorld(t)
	w.client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), action.(clienttesting.DeleteAction).GetName(), nil)
	})
	w.node("n", "2")
	w.pod("victim", "2", func(pod *corev1.Pod) { pod.Spec.NodeName = "n" })
	w.pod("urgent", "2", priority(100))
	condition := func(pod string, kind corev1.PodConditionType, status corev1.ConditionStatus, part string) func() bool {
		return func() bool {
			now, err := w.client.CoreV1().Pods("default").Get(t.Context(), pod, metav1.GetOptions{})
			must(t, err)
			for _, one := range now.Status.Conditions {
				if one.Type == kind && one.Status == status && strings.Contains(one.Message, part) && now.Status.NominatedNodeName == "" {
					return true
				}
			}
			return false
		}
	}
	w.eventually("it is said", condition("urgent", corev1.PodScheduled, corev1.ConditionFalse, "cannot be preempted"))
	w.eventually("the victim is one no more", condition("victim", corev1.DisruptionTarget, corev1.ConditionFalse, "forbidden"))
	nominated, err := Ask(t.Context(), w.Loop, func(cluster *gangsched.Cluster, _ *gangsched.Scheduler, m *mirror.Mirror) (gangsched.NodeID, error) {
		return cluster.NominatedNode(m.Find(types.NamespacedName{Namespace: "default", Name: "urgent"}).ID), nil
	})
	must(t, err)
	if nominated != 0 {
		t.Error("the node is meant for it still")
	}
}

// A preemption that is given up since an eviction failed again and again is tried anew: what failed may have passed. One that was denied is not.
func TestAPreemptionThatFailedIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(context.DeadlineExceeded)
	})
	w.node("n", "2")
	w.pod("victim", "2", func(pod *corev1.Pod) { pod.Spec.NodeName = "n" })
	w.pod("urgent", "2", priority(100))
	tries := func() int { return w.attempts("urgent") }
	gaveUp := func(why error) {
		w.box.Put(func() {
			find := func(name string) *mirror.Pod {
				return w.mirror.Find(types.NamespacedName{Namespace: "default", Name: name})
			}
			w.stays(find("victim"), find("urgent"), why)
		})
	}
	w.eventually("it is tried", func() bool { return tries() == 1 })
	gaveUp(apierrors.NewInternalError(context.DeadlineExceeded))
	w.eventually("it is tried again", func() bool { return tries() == 2 })
	gaveUp(apierrors.NewForbidden(corev1.Resource("pods"), "victim", nil))
	w.turns()
	if made := tries(); made != 2 {
		t.Errorf("it was tried %d times", made)
	}
}

// With one victim that stays the others of its node stay, but not those of another pod's preemption.
func TestOtherVictimsOfAPreemptionThatIsGivenUpStay(t *testing.T) {
	w := newWorld(t)
	var fine atomic.Bool
	var tries atomic.Int32 // of the other victim
	w.client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.DeleteAction).GetName()
		switch name {
		case "denied":
			return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), name, nil)
		case "other":
			tries.Add(1)
		}
		return !fine.Load(), nil, apierrors.NewInternalError(context.DeadlineExceeded)
	})
	on := func(node string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }
	w.node("m", "2")
	w.pod("of-another", "2", on("m"))
	w.pod("another", "2", priority(100))
	says := func(pod string, status corev1.ConditionStatus) func() bool {
		return func() bool {
			now, err := w.client.CoreV1().Pods("default").Get(t.Context(), pod, metav1.GetOptions{})
			return err == nil && slices.ContainsFunc(now.Status.Conditions, func(one corev1.PodCondition) bool {
				return one.Type == corev1.DisruptionTarget && one.Status == status
			})
		}
	}
	w.eventually("it is to go", says("of-another", corev1.ConditionTrue))
	w.node("n", "4")
	w.pod("denied", "2", on("n"))
	w.pod("other", "2", on("n"), priority(10))
	w.pod("urgent", "4", priority(100))
	w.eventually("it stays", says("other", corev1.ConditionFalse))
	if made := tries.Load(); made > 3 {
		t.Errorf("it was tried %d times more", made-1)
	}
	fine.Store(true)
	w.eventually("what another pod preempts goes", func() bool {
		_, err := w.client.CoreV1().Pods("default").Get(t.Context(), "of-another", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if _, err := w.client.CoreV1().Pods("default").Get(t.Context(), "other", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// A pod whose victims end one after another is tried in between, and keeps its node.
func TestANominationStaysWhileVictimsEnd(t *testing.T) {
	w := newWorld(t)
	w.node("n", "4")
	on := func(pod *corev1.Pod) { pod.Spec.NodeName = "n" }
	victims := []*corev1.Pod{w.pod("v0", "2", on), w.pod("v1", "2", on)}
	w.pod("urgent", "4", priority(100))
	status := func() corev1.PodStatus {
		now, err := w.client.CoreV1().Pods("default").Get(t.Context(), "urgent", metav1.GetOptions{})
		must(t, err)
		return now.Status
	}
	w.eventually("it is nominated", func() bool { return status().NominatedNodeName == "n" })
	at := metav1.Now()
	for _, victim := range victims {
		ends := victim.DeepCopy()
		ends.DeletionTimestamp = &at
		ends.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler}}
		w.box.Put(func() { w.mirror.SetPod(ends) })
	}
	tries := func() int { return w.attempts("urgent") }
	before := tries()
	w.box.Put(func() {
		w.mirror.RemovePod(victims[0])
		must(t, w.scheduler.Activate(w.now(), w.mirror.Find(types.NamespacedName{Namespace: "default", Name: "urgent"}).ID))
	})
	w.eventually("it is tried again", func() bool { return tries() > before })
	w.turns()
	kept, err := Ask(t.Context(), w.Loop, func(cluster *gangsched.Cluster, _ *gangsched.Scheduler, m *mirror.Mirror) (string, error) {
		p := m.Find(types.NamespacedName{Namespace: "default", Name: "urgent"})
		return cluster.NodeName(cluster.NominatedNode(p.ID)) + " " + p.Nominated, nil
	})
	must(t, err)
	if said := kept + " " + status().NominatedNodeName; said != "n n n" {
		t.Error(said)
	}
}

// The library does not say what became of an attempt whose pod it does not know any more.
func TestWhoWaitsIsForgottenWithItsPod(t *testing.T) {
	w := newWorld(t)
	w.pod("p", "1")
	left, err := Ask(t.Context(), w.Loop, func(*gangsched.Cluster, *gangsched.Scheduler, *mirror.Mirror) (map[gangsched.Attempt]waiting, error) {
		here := w.mirror.Find(types.NamespacedName{Namespace: "default", Name: "p"}).ID
		w.sharing = &sharing{ledger: share.New("me", view{w.mirror}, time.Second, time.Minute), waits: map[gangsched.Attempt]waiting{1: {here, 3}, 2: {here + 1, 3}}}
		defer func() { w.sharing = nil }()
		w.propose()
		return w.sharing.waits, nil
	})
	must(t, err)
	if len(left) != 1 || left[1].moment != 3 {
		t.Errorf("left is %v", left)
	}
}

// Who may not write what other replicas have to know asks less and less.
func TestWhoMayNotTellOthersTriesLessAndLess(t *testing.T) {
	client := fake.NewClientset()
	var tries atomic.Int32
	client.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		tries.Add(1)
		return true, nil, apierrors.NewForbidden(corev1.Resource("configmaps"), "page", nil)
	})
	l := New(nil, nil, mirror.New(nil, nil, nil), inbox.New(), act.NewWriter(client, 8, time.Second), nil, time.Minute)
	l.Share(&share.Page{Client: client, Namespace: "default", Name: "page", Timeout: time.Second}, "me", time.Second, time.Minute)
	l.leads = true
	ledger := l.sharing.ledger
	for until := time.Now().Add(1500 * time.Millisecond); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		for _, what := range l.box.Take() {
			what()
		}
		if ledger.Ready() && ledger.Pending() == 0 {
			ledger.Propose(&share.Unit{Entries: []share.Entry{{Namespace: "default", Name: "p", UID: "p", Node: "n", Attempt: 1}}})
		}
		l.converse(t.Context())
	}
	if n := tries.Load(); n < 2 || n > 4 { // at 0, 200, 600 and 1,400 ms
		t.Errorf("it has tried %d times", n)
	}
}
