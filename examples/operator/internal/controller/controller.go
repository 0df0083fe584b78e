// Package controller makes the pods of Gangs.
package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gangsched/examples/operator/internal/api"
	"gangsched/examples/operator/internal/fit"
)

// Reconciler asks whether a gang fits, and makes its pods if it does.
type Reconciler struct {
	client.Client
}

// again is when a gang that does not fit is asked about again.
const again = 10 * time.Second

// Labels by which the scheduler knows the pods of a gang.
const (
	nameLabel    = "pod-group.scheduling.sigs.k8s.io/name"
	minimumLabel = "pod-group.scheduling.sigs.k8s.io/min-available"
)

// Setup has the manager call it.
func (r *Reconciler) Setup(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&api.Gang{}).Owns(&corev1.Pod{}).Complete(r)
}

// Reconcile brings a gang one step on.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	gang := &api.Gang{}
	if err := r.Get(ctx, request.NamespacedName, gang); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if gang.DeletionTimestamp != nil || gang.Status.State == api.Created {
		return ctrl.Result{}, nil
	}
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	if err := r.List(ctx, nodes); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.List(ctx, pods); err != nil {
		return ctrl.Result{}, err
	}
	wanted := Pods(gang)
	if len(wanted) == 0 {
		return ctrl.Result{}, r.said(ctx, gang, api.GangStatus{State: api.Created})
	}
	if other := foreign(pods.Items, gang, wanted); other != "" {
		return r.conflict(ctx, gang, other)
	}
	answer, err := fit.Ask(nodes.Items, without(pods.Items, gang), wanted)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !answer.Fits() {
		return ctrl.Result{RequeueAfter: again}, r.said(ctx, gang, api.GangStatus{State: api.Waits, Message: answer.Why})
	}
	for _, pod := range wanted {
		if err := ctrl.SetControllerReference(gang, pod, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		err := r.Create(ctx, pod)
		if apierrors.IsAlreadyExists(err) { // of an attempt that was cut short, or another pod that came meanwhile
			there := &corev1.Pod{}
			if err = r.Get(ctx, client.ObjectKeyFromObject(pod), there); err == nil && !metav1.IsControlledBy(there, gang) {
				return r.conflict(ctx, gang, pod.Name)
			}
		}
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.said(ctx, gang, api.GangStatus{State: api.Created, Nodes: answer.Nodes})
}

// conflict says that a pod which is not the gang's has the name of one of its pods.
func (r *Reconciler) conflict(ctx context.Context, gang *api.Gang, pod string) (ctrl.Result, error) {
	why := fmt.Sprintf("pod %q exists and is not controlled by this gang", pod)
	return ctrl.Result{RequeueAfter: again}, r.said(ctx, gang, api.GangStatus{State: api.Conflict, Message: why})
}

func (r *Reconciler) said(ctx context.Context, gang *api.Gang, status api.GangStatus) error {
	if gang.Status.State == status.State && gang.Status.Message == status.Message {
		return nil
	}
	gang.Status = status
	return r.Status().Update(ctx, gang)
}

// Pods are those of a gang, as they are made.
func Pods(gang *api.Gang) (made []*corev1.Pod) {
	for i := range gang.Spec.Size {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", gang.Name, i), Namespace: gang.Namespace,
			Labels:      map[string]string{nameLabel: gang.Name, minimumLabel: fmt.Sprint(gang.Spec.Size)},
			Annotations: gang.Spec.Template.Annotations,
		}}
		for key, value := range gang.Spec.Template.Labels {
			pod.Labels[key] = value
		}
		gang.Spec.Template.Spec.DeepCopyInto(&pod.Spec)
		made = append(made, pod)
	}
	return made
}

// foreign is the name of a pod that a gang is to have and something else has; "": there is none.
func foreign(pods []corev1.Pod, gang *api.Gang, wanted []*corev1.Pod) string {
	for i := range pods {
		one := &pods[i]
		its := func(pod *corev1.Pod) bool { return pod.Name == one.Name }
		if one.Namespace == gang.Namespace && !metav1.IsControlledBy(one, gang) && slices.ContainsFunc(wanted, its) {
			return one.Name
		}
	}
	return ""
}

// without leaves out the gang's own pods: they are asked about.
func without(pods []corev1.Pod, gang *api.Gang) (made []corev1.Pod) {
	for i := range pods {
		if !metav1.IsControlledBy(&pods[i], gang) {
			made = append(made, pods[i])
		}
	}
	return made
}
