package act

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"
)

// Reservations are Koordinator's.
var Reservations = schema.GroupVersionResource{Group: "scheduling.koordinator.sh", Version: "v1alpha1", Resource: "reservations"}

// Custom is how objects are written that are no part of Kubernetes. Before Run.
func (w *Writer) Custom(client dynamic.Interface) { w.custom = client }

// Place writes where a reservation is, as Koordinator's scheduler does, and says whether it could.
func (w *Writer) Place(of *unstructured.Unstructured, node string, done func(error)) {
	w.binds.add(func(ctx context.Context) {
		status := map[string]any{
			"phase": "Available", "nodeName": node,
			"conditions": []any{reservationCondition("Scheduled", "True", "Scheduled"), reservationCondition("Ready", "True", "Available")},
		}
		if asked, found, _ := unstructured.NestedMap(of.Object, "spec", "template"); found {
			var template corev1.PodTemplateSpec
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(asked, &template); err == nil {
				status["allocatable"] = resourcehelper.PodRequests(&corev1.Pod{Spec: template.Spec}, resourcehelper.PodResourcesOptions{})
			}
		}
		done(w.setReservation(ctx, of, status))
	})
}

// Expire says of a reservation that it is over.
func (w *Writer) Expire(of *unstructured.Unstructured) {
	w.evicted.add(func(ctx context.Context) {
		status := map[string]any{"phase": "Failed", "conditions": []any{reservationCondition("Ready", "False", "Expired")}}
		pause := firstPause
		for err := w.setReservation(ctx, of, status); err != nil && passing(err) && ctx.Err() == nil; err = w.setReservation(ctx, of, status) {
			klog.ErrorS(err, "a reservation cannot be ended yet", "reservation", of.GetName())
			sleep(ctx, pause)
			pause = min(2*pause, longestPause)
		}
	})
}

func (w *Writer) setReservation(ctx context.Context, of *unstructured.Unstructured, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": of.GetUID()}, "status": status})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	_, err = w.custom.Resource(Reservations).Patch(limited, of.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func reservationCondition(kind, status, reason string) map[string]any {
	now := metav1.Now().UTC().Format("2006-01-02T15:04:05Z")
	return map[string]any{"type": kind, "status": status, "reason": reason, "lastProbeTime": now, "lastTransitionTime": now}
}
