package act

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"

	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

// Reservations are Koordinator's.
var Reservations = schema.GroupVersionResource{Group: "scheduling.koordinator.sh", Version: "v1alpha1", Resource: "reservations"}

// Custom is how objects are written that are no part of Kubernetes. Before Run.
func (w *Writer) Custom(client dynamic.Interface) { w.custom = client }

// Place writes where a reservation is, as Koordinator's scheduler does, and says whether it is there, once that is known. It writes only over the version
// for which this was decided, or one that is the same for scheduling.
func (w *Writer) Place(of *unstructured.Unstructured, node string, done func(error)) {
	w.binds.add(func(ctx context.Context) {
		w.refusals.settle(keyOf(of)) // one that is placed must not be called unschedulable after it
		status := map[string]any{"phase": "Available", "nodeName": node}
		if asked, found, _ := unstructured.NestedMap(of.Object, "spec", "template"); found {
			var template corev1.PodTemplateSpec
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(asked, &template); err == nil {
				status["allocatable"] = resourcehelper.PodRequests(&corev1.Pod{Spec: template.Spec}, resourcehelper.PodResourcesOptions{})
			}
		}
		if placed, err := w.place(ctx, of, node, status); placed {
			done(err)
		}
	})
}

// place returns false if the scheduler ends before the result is known. A request without an answer may arrive late: then the reservation is changed by a
// condition that says so, and its new version refuses the late request. A conflict is an answer: if only conditions differ, such as that it found no
// node, the reservation is placed over the new version.
func (w *Writer) place(ctx context.Context, of *unstructured.Unstructured, node string, status map[string]any) (known bool, failed error) {
	over := func(now *unstructured.Unstructured) error {
		status["conditions"] = withConditions(now, reservationCondition("Scheduled", "True", "Scheduled"), reservationCondition("Ready", "True", "Available"))
		return w.setReservation(ctx, of, now.GetResourceVersion(), status)
	}
	certain := func() bool { return failed == nil || Denied(failed) || apierrors.IsNotFound(failed) }
	if failed = over(of); certain() {
		return true, failed
	}
	conflicts := 0
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		limited, cancel := context.WithTimeout(ctx, w.timeout)
		now, err := w.custom.Resource(Reservations).Get(limited, of.GetName(), metav1.GetOptions{})
		cancel()
		if apierrors.IsNotFound(err) || err == nil && now.GetUID() != of.GetUID() {
			return true, failed
		}
		if err == nil {
			at, _, _ := unstructured.NestedString(now.Object, "status", "nodeName")
			if at == node {
				return true, nil
			}
			if at != "" {
				return true, failed
			}
			if apierrors.IsConflict(failed) {
				if conflicts++; conflicts == mostConflicts || !mirror.SameReservation(of, now) {
					return true, failed
				}
				if failed = over(now); certain() {
					return true, failed
				}
				continue
			}
			fence := withConditions(now, reservationCondition("Scheduled", "False", "NotAnswered"))
			err = w.setReservation(ctx, of, now.GetResourceVersion(), map[string]any{"conditions": fence})
		}
		if err == nil || Denied(err) { // what may not be asked cannot be known
			return true, failed
		}
		klog.ErrorS(err, "it is not known yet whether a reservation is placed", "reservation", of.GetName())
		sleep(ctx, pause)
	}
	return false, nil
}

// unschedulable is the reason of a reservation's condition Scheduled, if no node has room for it.
const unschedulable = "Unschedulable"

// refusal is why a reservation finds no node.
type refusal struct {
	of  types.UID
	why string
}

func keyOf(of *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Name: of.GetName()}
}

// Refused says whether a reservation says already why it finds no node.
func Refused(of *unstructured.Unstructured, why string) bool {
	had := conditionOf(of, "Scheduled")
	return had["status"] == "False" && had["reason"] == unschedulable && had["message"] == why
}

// Refuse writes why a reservation finds no node, as Koordinator's scheduler does: its phase stays.
func (w *Writer) Refuse(of *unstructured.Unstructured, why string) {
	w.refusals.set(keyOf(of), refusal{of.GetUID(), why})
}

func (w *Writer) writeRefusal(ctx context.Context, name types.NamespacedName, what refusal) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		limited, cancel := context.WithTimeout(ctx, w.timeout)
		defer cancel()
		now, err := w.custom.Resource(Reservations).Get(limited, name.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		at, _, _ := unstructured.NestedString(now.Object, "status", "nodeName")
		phase, _, _ := unstructured.NestedString(now.Object, "status", "phase")
		over := phase == "Succeeded" || phase == "Failed" || now.GetDeletionTimestamp() != nil
		if now.GetUID() != what.of || at != "" || over || Refused(now, what.why) {
			return nil
		}
		made := reservationCondition("Scheduled", "False", unschedulable)
		made["message"] = what.why
		if had := conditionOf(now, "Scheduled"); had["status"] == made["status"] {
			made["lastTransitionTime"] = had["lastTransitionTime"]
		}
		return w.setReservation(ctx, now, now.GetResourceVersion(), map[string]any{"conditions": withConditions(now, made)})
	})
	if apierrors.IsConflict(err) { // others write all the time: it is tried again later
		return fmt.Errorf("a reservation changes again and again: %v", err)
	}
	return err
}

// Expire says of a reservation that it is over.
func (w *Writer) Expire(of *unstructured.Unstructured) {
	w.evicted.add(func(ctx context.Context) { w.tryExpire(ctx, of, firstPause) })
}

func (w *Writer) tryExpire(ctx context.Context, of *unstructured.Unstructured, pause time.Duration) {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return w.expire(ctx, of) })
	switch {
	case err == nil || apierrors.IsNotFound(err):
	case apierrors.IsConflict(err) || passing(err): // conflict: others write all the time
		klog.ErrorS(err, "a reservation cannot be ended yet", "reservation", of.GetName())
		w.evicted.later(pause, func(ctx context.Context) { w.tryExpire(ctx, of, min(2*pause, longestPause)) })
	default:
		klog.ErrorS(err, "a reservation cannot be ended", "reservation", of.GetName())
	}
}

// expire writes over the version that is there now: a merge patch has all conditions, those of others, too.
func (w *Writer) expire(ctx context.Context, of *unstructured.Unstructured) error {
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	now, err := w.custom.Resource(Reservations).Get(limited, of.GetName(), metav1.GetOptions{})
	if err != nil || now.GetUID() != of.GetUID() {
		return err
	}
	conditions := withConditions(now, reservationCondition("Ready", "False", "Expired"))
	return w.setReservation(ctx, now, now.GetResourceVersion(), map[string]any{"phase": "Failed", "conditions": conditions})
}

func (w *Writer) setReservation(ctx context.Context, of *unstructured.Unstructured, version string, status map[string]any) error {
	meta := map[string]any{"uid": of.GetUID()}
	if version != "" {
		meta["resourceVersion"] = version
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta, "status": status})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	_, err = w.custom.Resource(Reservations).Patch(limited, of.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// withConditions are those of a reservation with others in place of those of their type.
func withConditions(of *unstructured.Unstructured, made ...map[string]any) (all []any) {
	before, _, _ := unstructured.NestedSlice(of.Object, "status", "conditions")
	for _, one := range before {
		had, _ := one.(map[string]any)
		if !slices.ContainsFunc(made, func(other map[string]any) bool { return other["type"] == had["type"] }) {
			all = append(all, one)
		}
	}
	for _, one := range made {
		all = append(all, one)
	}
	return all
}

// conditionOf is a reservation's condition of such a type; without one there is nothing in it.
func conditionOf(of *unstructured.Unstructured, kind string) map[string]any {
	all, _, _ := unstructured.NestedSlice(of.Object, "status", "conditions")
	for _, one := range all {
		if one, ok := one.(map[string]any); ok && one["type"] == kind {
			return one
		}
	}
	return nil
}

func reservationCondition(kind, status, reason string) map[string]any {
	now := metav1.Now().UTC().Format("2006-01-02T15:04:05Z")
	return map[string]any{"type": kind, "status": status, "reason": reason, "lastProbeTime": now, "lastTransitionTime": now}
}
