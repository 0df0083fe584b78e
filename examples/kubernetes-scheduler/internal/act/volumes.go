package act

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	_, err := w.client.CoreV1().PersistentVolumes().Update(limited, made, metav1.UpdateOptions{}) // refused if it has changed: somebody else may have it
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

// AwaitVolume returns when a claim has its volume, or an error when that takes too long.
func (w *Writer) AwaitVolume(ctx context.Context, claim *corev1.PersistentVolumeClaim, most time.Duration) error {
	for until := time.Now().Add(most); ; sleep(ctx, volumePause) {
		limited, cancel := context.WithTimeout(ctx, w.timeout)
		now, err := w.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Get(limited, claim.Name, metav1.GetOptions{})
		cancel()
		switch {
		case err == nil && now.UID != claim.UID:
			return fmt.Errorf("there is another claim called %s", claim.Name)
		case err == nil && now.Status.Phase == corev1.ClaimBound:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(until):
			return fmt.Errorf("persistentvolumeclaim %q has no volume after %v", claim.Name, most)
		}
	}
}
