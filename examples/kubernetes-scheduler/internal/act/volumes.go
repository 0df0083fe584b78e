package act

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	volumehelpers "k8s.io/component-helpers/storage/volume"
)

// selectedNode is the annotation by which a provisioner learns where a volume is needed.
const selectedNode = "volume.kubernetes.io/selected-node"

// boundByController tells the controller of volumes that a binding was asked for by a scheduler, so that it may take it back.
const boundByController = "pv.kubernetes.io/bound-by-controller"

const volumePause = 250 * time.Millisecond

// TakeVolume binds a claim to a volume that is there: the controller of volumes does the rest.
func (w *Writer) TakeVolume(ctx context.Context, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) error {
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	made := volume.DeepCopy()
	made.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion}
	metav1.SetMetaDataAnnotation(&made.ObjectMeta, boundByController, "yes")
	_, err := w.client.CoreV1().PersistentVolumes().Update(limited, made, metav1.UpdateOptions{}) // refused if it has changed: another claim may have it
	return err
}

// MakeVolume asks for a volume on a node; an empty name takes that back.
func (w *Writer) MakeVolume(ctx context.Context, claim *corev1.PersistentVolumeClaim, node string) error {
	var value any
	if node != "" {
		value = node
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": claim.UID, "annotations": map[string]any{selectedNode: value}}})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	_, err = w.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(limited, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// AwaitVolume returns when a claim has its volume, or an error when that takes too long or comes to nothing: when the claim is gone, when it is not to
// get its volume on the node any more, or when the node does not reach the volume. What was taken for it is nil if the volume is made.
func (w *Writer) AwaitVolume(ctx context.Context, claim *corev1.PersistentVolumeClaim, taken *corev1.PersistentVolume, node *corev1.Node, most time.Duration) error {
	for until := time.Now().Add(most); ; sleep(ctx, volumePause) {
		bound, err := w.hasVolume(ctx, claim, taken, node)
		switch {
		case bound || err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(until):
			return fmt.Errorf("persistentvolumeclaim %q has no volume after %v", claim.Name, most)
		}
	}
}

// hasVolume is what kube-scheduler's checkBindings says. An API server that does not answer says nothing.
func (w *Writer) hasVolume(ctx context.Context, claim *corev1.PersistentVolumeClaim, taken *corev1.PersistentVolume, node *corev1.Node) (bound bool, err error) {
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	now, err := w.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Get(limited, claim.Name, metav1.GetOptions{})
	if err != nil {
		return false, onlyGone(err)
	}
	if now.UID != claim.UID {
		return false, fmt.Errorf("there is another claim called %s", claim.Name)
	}
	if taken == nil && now.Annotations[selectedNode] != node.Name { // who provisions takes that back if it fails
		return false, fmt.Errorf("provisioning failed for PVC %q", now.Name)
	}
	name := now.Spec.VolumeName
	if name == "" && taken != nil {
		name = taken.Name
	}
	if name != "" {
		volume, err := w.client.CoreV1().PersistentVolumes().Get(limited, name, metav1.GetOptions{})
		if err != nil {
			if taken != nil {
				err = onlyGone(err)
			} else {
				err = nil // if it is gone its claim will be lost, and if not it comes
			}
			return false, err
		}
		if err := volumehelpers.CheckNodeAffinity(volume, node.Labels); err != nil {
			return false, fmt.Errorf("pv %q node affinity doesn't match node %q: %w", volume.Name, node.Name, err)
		}
		if taken != nil && (volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID == "") {
			return false, fmt.Errorf("ClaimRef got reset for pv %q", volume.Name)
		}
	}
	return now.Status.Phase == corev1.ClaimBound, nil
}

// onlyGone is an error that says that an object is not there; others are nil.
func onlyGone(err error) error {
	if apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
