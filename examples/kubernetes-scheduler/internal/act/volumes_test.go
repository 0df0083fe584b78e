package act

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// What makes it impossible that a claim gets its volume on the node ends the wait for it.
func TestAwaitingAVolumeEndsWhenItCannotCome(t *testing.T) {
	onNode := func(claim *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
		claim.Annotations = map[string]string{selectedNode: "n"}
	}
	bound := func(claim *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
		claim.Spec.VolumeName, claim.Status.Phase = "v", corev1.ClaimBound
	}
	inZone := func(zone string) func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
		return func(_ *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) {
			volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}}}}
		}
	}
	type change = func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume)
	for name, now := range map[string]struct {
		changes []change
		taken   bool
		wrong   string // "": it has its volume
	}{
		"made":              {changes: []change{onNode, bound}},
		"made in reach":     {changes: []change{onNode, bound, inZone("a")}},
		"made out of reach": {changes: []change{onNode, bound, inZone("b")}, wrong: `pv "v" node affinity doesn't match node "n"`},
		"not to be made":    {wrong: `provisioning failed for PVC "c"`},
		"to be made elsewhere": {changes: []change{func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.Annotations = map[string]string{selectedNode: "m"}
		}}, wrong: "provisioning failed"},
		"being made":         {changes: []change{onNode}, wrong: "has no volume after"},
		"gone":               {changes: []change{func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { c.Name = "other" }}, wrong: "not found"},
		"another":            {changes: []change{func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { c.UID = "other" }}, wrong: "another claim"},
		"taken":              {changes: []change{bound}, taken: true},
		"being taken":        {taken: true, wrong: "has no volume after"},
		"taken out of reach": {changes: []change{inZone("b")}, taken: true, wrong: "node affinity"},
		"taken back":         {changes: []change{func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil }}, taken: true, wrong: "ClaimRef got reset"},
		"taken and gone":     {changes: []change{func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Name = "other" }}, taken: true, wrong: "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c"}}
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
			volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "c", UID: "c"}
			asked, taken := claim.DeepCopy(), volume.DeepCopy()
			if !now.taken {
				taken = nil
			}
			for _, one := range now.changes {
				one(claim, volume)
			}
			w := NewWriter(fake.NewClientset(claim, volume), 8, time.Second)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}}
			err := w.AwaitVolume(t.Context(), asked, taken, node, time.Millisecond)
			if now.wrong == "" && err != nil || now.wrong != "" && (err == nil || !strings.Contains(err.Error(), now.wrong)) {
				t.Error(err)
			}
		})
	}
}
