package act

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func allocationOn(node string, devices ...string) *resourcev1.AllocationResult {
	made := &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	for _, device := range devices {
		made.Devices.Results = append(made.Devices.Results, resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: "d", Pool: "p", Device: device})
	}
	return made
}

// claimOf is a claim with an allocation, if it is not nil, that is reserved for pods.
func claimOf(has *resourcev1.AllocationResult, users ...string) *resourcev1.ResourceClaim {
	made := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c", Finalizers: []string{finalizer}}}
	made.Status.Allocation = has
	for _, user := range users {
		made.Status.ReservedFor = append(made.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: user, UID: types.UID(user)})
	}
	return made
}

// saysOf is whether the claim is allocated, and which pods it is reserved for.
func saysOf(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	is, err := client.ResourceV1().ResourceClaims("default").Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	state, users := "free", []string{}
	if is.Status.Allocation != nil {
		state = "allocated"
	}
	for _, user := range is.Status.ReservedFor {
		users = append(users, user.Name)
	}
	return fmt.Sprint(state, " ", users)
}

// A pod never uses a claim that has other devices than it was placed for.
func TestAClaimThatIsAllocatedElsewhereIsNotReserved(t *testing.T) {
	at := metav1.Now()
	one := types.NamespacedName{Namespace: "default", Name: "one"}
	const elsewhere = "claim c got allocated elsewhere in the meantime"
	for name, now := range map[string]struct {
		has   *resourcev1.AllocationResult
		users []string
		gone  bool
		wrong string // "": it is reserved
	}{
		"free":                         {},
		"the same":                     {has: allocationOn("n", "a", "b"), users: []string{"other"}},
		"the same, in another order":   {has: allocationOn("n", "b", "a"), users: []string{"other"}},
		"reserved already":             {has: allocationOn("n", "a", "b"), users: []string{"one"}},
		"another node":                 {has: allocationOn("m", "a", "b"), users: []string{"other"}, wrong: elsewhere},
		"other devices":                {has: allocationOn("n", "a", "c"), users: []string{"other"}, wrong: elsewhere},
		"fewer devices":                {has: allocationOn("n", "a"), users: []string{"other"}, wrong: elsewhere},
		"any node":                     {has: &resourcev1.AllocationResult{Devices: allocationOn("n", "a", "b").Devices}, wrong: elsewhere},
		"reserved for what was before": {has: allocationOn("m", "a", "b"), users: []string{"one"}, wrong: elsewhere},
		"deleted":                      {gone: true, wrong: "claim c got deleted in the meantime"},
	} {
		t.Run(name, func(t *testing.T) {
			claim := claimOf(now.has, now.users...)
			if now.gone {
				claim.DeletionTimestamp = &at
			}
			client := fake.NewClientset(claim)
			w := NewWriter(client, 8, time.Second)
			err := w.Reserve(t.Context(), claimOf(nil), allocationOn("n", "a", "b"), one, "one")
			if now.wrong == "" && err != nil || now.wrong != "" && (!errors.Is(err, ErrDeclined) || err.Error() != now.wrong) {
				t.Error(err)
			}
			users := slices.Clone(now.users)
			if now.wrong == "" && !slices.Contains(users, "one") {
				users = append(users, "one")
			}
			state := "allocated"
			if now.has == nil && now.wrong != "" {
				state = "free"
			}
			if said, want := saysOf(t, client), fmt.Sprint(state, " ", users); said != want {
				t.Errorf("it is %s, not %s", said, want)
			}
		})
	}
}

// What is taken back is what this bind wrote: not what another scheduler allocated to the same pod since.
func TestAClaimThatIsAllocatedElsewhereIsNotUnreserved(t *testing.T) {
	for name, now := range map[string]struct {
		has   *resourcev1.AllocationResult
		users []string
		left  string
	}{
		"the same":            {allocationOn("n", "a"), []string{"one"}, "free []"},
		"the same, with more": {allocationOn("n", "a"), []string{"one", "two"}, "allocated [two]"},
		"another node":        {allocationOn("m", "a"), []string{"one"}, "allocated [one]"},
		"nobody's":            {nil, nil, "free []"},
	} {
		t.Run(name, func(t *testing.T) {
			claim := claimOf(now.has, now.users...)
			client := fake.NewClientset(claim)
			if err := NewWriter(client, 8, time.Second).Unreserve(t.Context(), claim, allocationOn("n", "a"), "one"); err != nil {
				t.Fatal(err)
			}
			if left := saysOf(t, client); left != now.left {
				t.Errorf("it is %s, not %s", left, now.left)
			}
		})
	}
}

// What a pod is bound with, or others have allocated or reserved since, is not given up.
func TestAClaimIsDeallocatedOnlyWhileThePodWaits(t *testing.T) {
	for name, now := range map[string]struct {
		has   *resourcev1.AllocationResult
		users []string
		node  string
		uid   types.UID
		left  string
	}{
		"it waits":            {has: allocationOn("n", "a"), users: []string{"one"}, uid: "one", left: "free []"},
		"for nobody":          {has: allocationOn("n", "a"), uid: "one", left: "free []"},
		"it is bound":         {has: allocationOn("n", "a"), users: []string{"one"}, node: "n", uid: "one", left: "allocated [one]"},
		"another of its name": {has: allocationOn("n", "a"), users: []string{"one"}, uid: "other", left: "allocated [one]"},
		"another uses it":     {has: allocationOn("n", "a"), users: []string{"one", "two"}, uid: "one", left: "allocated [one two]"},
		"allocated elsewhere": {has: allocationOn("m", "a"), users: []string{"one"}, uid: "one", left: "allocated [one]"},
		"free":                {uid: "one", left: "free []"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one", UID: now.uid}, Spec: corev1.PodSpec{NodeName: now.node}}
			client := fake.NewClientset(claimOf(now.has, now.users...), pod)
			known := claimOf(allocationOn("n", "a"), now.users...)
			one := types.NamespacedName{Namespace: "default", Name: "one"}
			if err := NewWriter(client, 8, time.Second).deallocate(t.Context(), known, one, "one"); err != nil {
				t.Fatal(err)
			}
			if left := saysOf(t, client); left != now.left {
				t.Errorf("it is %s, not %s", left, now.left)
			}
		})
	}
}

// A pod is bound when all conditions of its devices hold, and not if one has failed.
func TestDevicesAreWaitedFor(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Because", Message: "it is so"}
	}
	attached, warm, broken := condition("attached", metav1.ConditionTrue), condition("warm", metav1.ConditionTrue), condition("broken", metav1.ConditionTrue)
	type said = []metav1.Condition
	for name, now := range map[string]struct {
		says  map[string]said // of devices; nil: nothing of it
		freed bool
		ready bool
		wrong string
	}{
		"nothing is said":    {},
		"one of two":         {says: map[string]said{"a": {attached}}},
		"not any more":       {says: map[string]said{"a": {attached, condition("warm", metav1.ConditionFalse)}}},
		"both":               {says: map[string]said{"a": {attached, warm}}, ready: true},
		"of another device":  {says: map[string]said{"b": {attached, warm}}},
		"it has failed":      {says: map[string]said{"a": {attached, broken}}, wrong: `device binding failed: claim=c, reason=Because, message="it is so"`},
		"it has not failed":  {says: map[string]said{"a": {attached, warm, condition("broken", metav1.ConditionFalse)}}, ready: true},
		"not allocated more": {freed: true, wrong: "claim c got deallocated elsewhere in the meantime"},
	} {
		t.Run(name, func(t *testing.T) {
			claim := claimOf(allocationOn("n", "a", "b"), "one")
			first := &claim.Status.Allocation.Devices.Results[0]
			first.BindingConditions, first.BindingFailureConditions = []string{"attached", "warm"}, []string{"broken"}
			if !Waits(claim.Status.Allocation) || Waits(allocationOn("n", "a")) {
				t.Error("it is not known that it has to be waited for")
			}
			for device, all := range now.says {
				claim.Status.Devices = append(claim.Status.Devices, resourcev1.AllocatedDeviceStatus{Driver: "d", Pool: "p", Device: device, Conditions: all})
			}
			known := claim.DeepCopy()
			if now.freed {
				claim.Status.Allocation = nil
			}
			err := NewWriter(fake.NewClientset(claim), 8, time.Second).AwaitDevices(t.Context(), known, time.Now().Add(-1))
			wanted := now.wrong
			if !now.ready && wanted == "" {
				wanted = "device binding timeout: claim=c"
			}
			if wanted == "" && err != nil || wanted != "" && (err == nil || err.Error() != wanted) {
				t.Error(err)
			}
		})
	}
}

// An API server is not asked all the time for devices that take minutes.
func TestDevicesThatTakeLongAreAskedForLessOften(t *testing.T) {
	claim := claimOf(allocationOn("n", "a"), "one")
	claim.Status.Allocation.Devices.Results[0].BindingConditions = []string{"attached"}
	client := fake.NewClientset(claim)
	var asked atomic.Int32
	client.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked.Add(1)
		return false, nil, nil
	})
	w := NewWriter(client, 8, time.Second)
	w.pause = time.Millisecond
	if err := w.AwaitDevices(t.Context(), claim, time.Now().Add(300*time.Millisecond)); err == nil {
		t.Error("it is ready")
	}
	if made := asked.Load(); made < 2 || made > 11 {
		t.Errorf("%d requests", made)
	}
}

// What drivers said of devices goes with the allocation; when that was made is written with it.
func TestAnAllocationHasItsTimeAndTakesWithItWhatIsSaidOfItsDevices(t *testing.T) {
	client := fake.NewClientset(claimOf(nil))
	w := NewWriter(client, 8, time.Second)
	read := func() *resourcev1.ResourceClaim {
		is, err := client.ResourceV1().ResourceClaims("default").Get(t.Context(), "c", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	what := allocationOn("n", "a")
	if err := w.Reserve(t.Context(), claimOf(nil), what, types.NamespacedName{Namespace: "default", Name: "one"}, "one"); err != nil {
		t.Fatal(err)
	}
	is := read()
	if is.Status.Allocation.AllocationTimestamp == nil || what.AllocationTimestamp != nil {
		t.Error(is.Status.Allocation)
	}
	is.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "d", Pool: "p", Device: "a"}}
	if _, err := client.ResourceV1().ResourceClaims("default").UpdateStatus(t.Context(), is, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Unreserve(t.Context(), claimOf(nil), what, "one"); err != nil {
		t.Fatal(err)
	}
	if is := read(); is.Status.Allocation != nil || len(is.Status.Devices) != 0 {
		t.Error(is.Status)
	}
}
