package act

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
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

// A pod never uses a claim that has other devices than it was placed for.
func TestAClaimThatIsAllocatedElsewhereIsNotReserved(t *testing.T) {
	at := metav1.Now()
	one := types.NamespacedName{Namespace: "default", Name: "one"}
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
		"another node":                 {has: allocationOn("m", "a", "b"), users: []string{"other"}, wrong: "elsewhere"},
		"other devices":                {has: allocationOn("n", "a", "c"), users: []string{"other"}, wrong: "elsewhere"},
		"fewer devices":                {has: allocationOn("n", "a"), users: []string{"other"}, wrong: "elsewhere"},
		"any node":                     {has: &resourcev1.AllocationResult{Devices: allocationOn("n", "a", "b").Devices}, wrong: "elsewhere"},
		"reserved for what was before": {has: allocationOn("m", "a", "b"), users: []string{"one"}, wrong: "elsewhere"},
		"deleted":                      {gone: true, wrong: "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c", Finalizers: []string{finalizer}}}
			decided := claim.DeepCopy()
			claim.Status.Allocation = now.has
			for _, user := range now.users {
				claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: user, UID: types.UID(user)})
			}
			if now.gone {
				claim.DeletionTimestamp = &at
			}
			client := fake.NewClientset(claim)
			w := NewWriter(client, 8, time.Second)
			err := w.Reserve(t.Context(), decided, allocationOn("n", "a", "b"), one, "one")
			if now.wrong == "" && err != nil || now.wrong != "" && (err == nil || !strings.Contains(err.Error(), now.wrong)) {
				t.Error(err)
			}
			is, err := client.ResourceV1().ResourceClaims("default").Get(t.Context(), "c", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			users := map[string]bool{}
			for _, user := range now.users {
				users[user] = true
			}
			if now.wrong == "" {
				users["one"] = true
			}
			has := map[string]bool{}
			for _, user := range is.Status.ReservedFor {
				has[user.Name] = true
			}
			if fmt.Sprint(has) != fmt.Sprint(users) || len(is.Status.ReservedFor) != len(users) {
				t.Errorf("reserved for %v, not %v", has, users)
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
			claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c", Finalizers: []string{finalizer}}}
			claim.Status.Allocation = now.has
			for _, user := range now.users {
				claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: user, UID: types.UID(user)})
			}
			client := fake.NewClientset(claim)
			if err := NewWriter(client, 8, time.Second).Unreserve(t.Context(), claim, allocationOn("n", "a"), "one"); err != nil {
				t.Fatal(err)
			}
			is, err := client.ResourceV1().ResourceClaims("default").Get(t.Context(), "c", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			left := "free"
			if is.Status.Allocation != nil {
				left = "allocated"
			}
			users := []string{}
			for _, user := range is.Status.ReservedFor {
				users = append(users, user.Name)
			}
			if left = fmt.Sprint(left, " ", users); left != now.left {
				t.Errorf("it is %s, not %s", left, now.left)
			}
		})
	}
}
