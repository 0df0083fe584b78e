package cluster_test

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gangsched/tests/cluster/harness"
)

// localVolume is a volume on one node, of a class whose claims are bound where their pods go.
func (w *world) localVolume(name, node string) {
	w.Helper()
	waits := storagev1.VolumeBindingWaitForFirstConsumer
	_, err := w.client.StorageV1().StorageClasses().Create(w.ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"},
		Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &waits}, metav1.CreateOptions{})
	must(w.T, err)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	volume.Spec = corev1.PersistentVolumeSpec{
		Capacity: harness.ResourcesOf("storage", "10Gi"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: "local",
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}},
	}
	_, err = w.client.CoreV1().PersistentVolumes().Create(w.ctx, volume, metav1.CreateOptions{})
	must(w.T, err)
	w.eventually(func() string { // a controller says that nobody has it
		now, err := w.client.CoreV1().PersistentVolumes().Get(w.ctx, name, metav1.GetOptions{})
		must(w.T, err)
		if now.Status.Phase != corev1.VolumeAvailable {
			return "the volume is " + string(now.Status.Phase)
		}
		return ""
	})
}

// claimOfVolume is a claim of that class.
func (w *world) claimOfVolume(name string) {
	w.Helper()
	class := "local"
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	claim.Spec = corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: harness.ResourcesOf("storage", "5Gi")}}
	_, err := w.client.CoreV1().PersistentVolumeClaims(w.namespace).Create(w.ctx, claim, metav1.CreateOptions{})
	must(w.T, err)
}

// volumeDriver is one that attaches volumes to nodes.
const volumeDriver = "disks.example.com"

// attachable says how many volumes of the driver a node attaches at most.
func (w *world) attachable(node string, most int32) {
	w.Helper()
	_, err := w.client.StorageV1().CSINodes().Create(w.ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: volumeDriver, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &most}}}}}, metav1.CreateOptions{})
	must(w.T, err)
}

// attachedVolume is a volume of that driver, and a claim that is bound to it.
func (w *world) attachedVolume(name string) {
	w.Helper()
	class, room := "", harness.ResourcesOf("storage", "1Gi")
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: room, AccessModes: modes,
		ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: w.namespace, Name: name},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: volumeDriver, VolumeHandle: name}}}}
	_, err := w.client.CoreV1().PersistentVolumes().Create(w.ctx, volume, metav1.CreateOptions{})
	must(w.T, err)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, VolumeName: name, AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: room}}}
	claims := w.client.CoreV1().PersistentVolumeClaims(w.namespace)
	_, err = claims.Create(w.ctx, claim, metav1.CreateOptions{})
	must(w.T, err)
	w.eventually(func() string {
		now, err := claims.Get(w.ctx, name, metav1.GetOptions{})
		must(w.T, err)
		if now.Status.Phase != corev1.ClaimBound {
			return "claim " + name + " is " + string(now.Status.Phase)
		}
		return ""
	})
}

// storing is a pod with a claim of a volume of its own name.
func (w *world) storing(name string) *corev1.Pod {
	pod := w.pod(name, "cpu", "1")
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	return pod
}

const driver = "gpu.example.com"

// cards are devices of a driver in one node, with their class and a template of claims of one.
func (w *world) cards(node string, names ...string) {
	w.Helper()
	v1 := w.client.ResourceV1()
	_, err := v1.DeviceClasses().Create(w.ctx, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "card"}, Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.example.com"`}}}}}, metav1.CreateOptions{})
	must(w.T, err)
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "cards"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: "pool/a", Generation: 1, ResourceSliceCount: 1}}}
	for _, name := range names {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: name})
	}
	_, err = v1.ResourceSlices().Create(w.ctx, slice, metav1.CreateOptions{})
	must(w.T, err)
	spec := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "one",
		Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "card", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}}}
	_, err = v1.ResourceClaimTemplates(w.namespace).Create(w.ctx, &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "card"},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec}}, metav1.CreateOptions{})
	must(w.T, err)
}

// claiming is a pod that claims a card.
func (w *world) claiming(name string) *corev1.Pod {
	template := "card"
	pod := w.pod(name, "cpu", "1")
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	return pod
}
