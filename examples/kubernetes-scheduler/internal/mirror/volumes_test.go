package mirror

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A driver that says where it has how much room makes volumes nowhere else.
func TestAVolumeIsMadeWhereItsDriverHasRoom(t *testing.T) {
	w := newWorld(t)
	for _, zone := range []string{"a", "b"} {
		node := nodeOf("n-"+zone, "4")
		node.Labels = map[string]string{"zone": zone}
		w.SetNode(node)
	}
	waits, limited, class := storagev1.VolumeBindingWaitForFirstConsumer, true, "fast"
	w.SetStorageClass(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "disks", VolumeBindingMode: &waits}, false)
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disks"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &limited}}
	w.SetCSIDriver(driver, false)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	claim.Spec.StorageClassName = &class
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	w.SetClaimOfVolume(claim, false)
	pod := podOf("p", "1")
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	capacity := func(name, zone, room, most string) *storagev1.CSIStorageCapacity {
		made := &storagev1.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, StorageClassName: class,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": zone}},
		}
		free := resource.MustParse(room)
		made.Capacity = &free
		if most != "" {
			limit := resource.MustParse(most)
			made.MaximumVolumeSize = &limit
		}
		return made
	}
	w.SetPod(pod)
	w.want(w.turn(), "[p reject]")
	w.SetStorageCapacity(capacity("a", "a", "5Gi", ""), false)
	w.want(w.turn(), "[p reject]")
	w.SetStorageCapacity(capacity("b", "b", "50Gi", "5Gi"), false) // much, but no volume as large
	w.want(w.turn(), "[p reject]")
	w.SetStorageCapacity(capacity("b", "b", "50Gi", "20Gi"), false)
	w.want(w.turn(), "[p bind]")
	w.want(w.Find(nameOf(pod)).Node, "n-b")
	// Without that word of the driver it makes them everywhere its class says.
	w.SetStorageCapacity(capacity("b", "b", "50Gi", ""), true)
	other := pod.DeepCopy()
	other.Name, other.UID = "q", "q"
	w.SetPod(other)
	w.want(w.turn(), "[q reject]")
	w.SetCSIDriver(driver, true)
	w.want(w.turn(), "[q bind]")
}
