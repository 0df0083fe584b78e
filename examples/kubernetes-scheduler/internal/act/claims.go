package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// finalizer keeps a claim as long as something is allocated to it.
const finalizer = resourcev1.Finalizer

// ErrDeclined is what errors are by errors.Is that say why a claim was left as it is.
var ErrDeclined = errors.New("a claim was left as it is")

// declined is such an error, in kube-scheduler's words.
type declined string

func (d declined) Error() string      { return string(d) }
func (declined) Is(target error) bool { return target == ErrDeclined }

// Reserve allocates a claim to a pod: the devices if it has none yet, and the pod among those that may use it. ErrDeclined: it has others by now, or is to
// go. After other errors it may have been allocated.
func (w *Writer) Reserve(ctx context.Context, claim *resourcev1.ResourceClaim, what *resourcev1.AllocationResult, pod types.NamespacedName, uid types.UID) error {
	user := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: uid}
	return w.changeClaim(ctx, claim, func(now *resourcev1.ResourceClaim) (bool, error) {
		if now.UID != claim.UID {
			return false, declined(fmt.Sprintf("claim %s got replaced by another one of its name in the meantime", claim.Name))
		}
		if now.DeletionTimestamp != nil {
			return false, declined(fmt.Sprintf("claim %s got deleted in the meantime", claim.Name))
		}
		if has := now.Status.Allocation; has != nil && !sameAllocation(has, what) {
			return false, declined(fmt.Sprintf("claim %s got allocated elsewhere in the meantime", claim.Name))
		}
		if slices.Contains(now.Status.ReservedFor, user) {
			return false, nil
		}
		if now.Status.Allocation == nil {
			now.Status.Allocation = what.DeepCopy()
		}
		if now.Status.Allocation.AllocationTimestamp == nil {
			at := metav1.Now()
			now.Status.Allocation.AllocationTimestamp = &at
		}
		now.Status.ReservedFor = append(now.Status.ReservedFor, user)
		return true, nil
	})
}

// sameAllocation says whether two are of the same devices, for the same nodes; what else they say the API server may fill in.
func sameAllocation(a, b *resourcev1.AllocationResult) bool {
	return equality.Semantic.DeepEqual(a.NodeSelector, b.NodeSelector) && slices.Equal(resultsOf(a), resultsOf(b))
}

func resultsOf(of *resourcev1.AllocationResult) (made []string) {
	for _, one := range of.Devices.Results {
		made = append(made, fmt.Sprint(one.Request, " ", one.Driver, "/", one.Pool, "/", one.Device))
	}
	slices.Sort(made)
	return made
}

// Unreserve takes that back, unless another scheduler has allocated the claim otherwise by now; what no pod is to use any more is free.
func (w *Writer) Unreserve(ctx context.Context, claim *resourcev1.ResourceClaim, what *resourcev1.AllocationResult, uid types.UID) error {
	return w.changeClaim(ctx, claim, func(now *resourcev1.ResourceClaim) (bool, error) {
		if has := now.Status.Allocation; has != nil && !sameAllocation(has, what) {
			return false, nil
		}
		before := len(now.Status.ReservedFor)
		now.Status.ReservedFor = slices.DeleteFunc(now.Status.ReservedFor, func(one resourcev1.ResourceClaimConsumerReference) bool { return one.UID == uid })
		if now.UID != claim.UID || len(now.Status.ReservedFor) == before {
			return false, nil
		}
		if len(now.Status.ReservedFor) == 0 {
			now.Status.Allocation, now.Status.Devices = nil, nil
		}
		return true, nil
	})
}

// Waits says whether there is a device in an allocation that has to be waited for before a pod is bound.
func Waits(what *resourcev1.AllocationResult) bool {
	return slices.ContainsFunc(what.Devices.Results, func(one resourcev1.DeviceRequestAllocationResult) bool { return len(one.BindingConditions) != 0 })
}

// AwaitDevices returns when the drivers of a claim's devices say that all their binding conditions hold, or an error when one says that a device has
// failed, when the claim is not allocated any more, or when they do not hold until that time. It asks the API server less and less often.
func (w *Writer) AwaitDevices(ctx context.Context, claim *resourcev1.ResourceClaim, until time.Time) error {
	for pause := w.pause; ; pause = min(2*pause, longestPause) {
		ready, err := w.hasDevices(ctx, claim)
		switch {
		case ready || err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(until):
			return fmt.Errorf("device binding timeout: claim=%s", claim.Name)
		}
		sleep(ctx, pause)
	}
}

// hasDevices is what kube-scheduler's isClaimReadyForBinding says. An API server that does not answer says nothing.
func (w *Writer) hasDevices(ctx context.Context, claim *resourcev1.ResourceClaim) (ready bool, err error) {
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	now, err := w.client.ResourceV1().ResourceClaims(claim.Namespace).Get(limited, claim.Name, metav1.GetOptions{})
	if err != nil {
		return false, onlyGone(err)
	}
	if now.UID != claim.UID || now.Status.Allocation == nil {
		return false, fmt.Errorf("claim %s got deallocated elsewhere in the meantime", claim.Name)
	}
	ready = true
	for _, device := range now.Status.Allocation.Devices.Results {
		if len(device.BindingConditions) == 0 {
			continue
		}
		var said []metav1.Condition
		for _, one := range now.Status.Devices {
			if one.Driver == device.Driver && one.Pool == device.Pool && one.Device == device.Device {
				said = one.Conditions
			}
		}
		for _, failure := range device.BindingFailureConditions {
			if one := meta.FindStatusCondition(said, failure); one != nil && one.Status == metav1.ConditionTrue {
				return false, fmt.Errorf("device binding failed: claim=%s, reason=%s, message=%q", claim.Name, one.Reason, one.Message)
			}
		}
		for _, condition := range device.BindingConditions {
			ready = ready && meta.IsStatusConditionTrue(said, condition)
		}
	}
	return ready, nil
}

// Deallocate frees a claim that is allocated for a pod which finds no node with it, as kube-scheduler does, when the binds of the pod that are under way are
// over: if the pod has no node then, and the claim has this allocation still and is not reserved for any other pod.
func (w *Writer) Deallocate(claim *resourcev1.ResourceClaim, pod types.NamespacedName, uid types.UID) {
	begin, end := w.queueOf(uid)
	w.binds.add(func(ctx context.Context) {
		go func() {
			defer end()
			select {
			case <-begin:
			case <-ctx.Done():
				return
			}
			if err := w.deallocate(ctx, claim, pod, uid); err != nil {
				klog.ErrorS(err, "a claim stays allocated", "claim", klog.KObj(claim))
			}
		}()
	})
}

func (w *Writer) deallocate(ctx context.Context, claim *resourcev1.ResourceClaim, pod types.NamespacedName, uid types.UID) error {
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	is, err := w.client.CoreV1().Pods(pod.Namespace).Get(limited, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // the resource claim controller sees to it
	}
	if err != nil || is.UID != uid || is.Spec.NodeName != "" {
		return err
	}
	return w.changeClaim(ctx, claim, func(now *resourcev1.ResourceClaim) (bool, error) {
		others := slices.ContainsFunc(now.Status.ReservedFor, func(one resourcev1.ResourceClaimConsumerReference) bool { return one.UID != uid })
		if now.UID != claim.UID || now.Status.Allocation == nil || !sameAllocation(now.Status.Allocation, claim.Status.Allocation) || others {
			return false, nil
		}
		now.Status.Allocation, now.Status.ReservedFor, now.Status.Devices = nil, nil, nil
		return true, nil
	})
}

// changeClaim changes the status of a claim as it is now, again while others change it too.
func (w *Writer) changeClaim(ctx context.Context, claim *resourcev1.ResourceClaim, change func(*resourcev1.ResourceClaim) (bool, error)) error {
	claims := w.client.ResourceV1().ResourceClaims(claim.Namespace)
	again := func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err)
	}
	return retry.OnError(retry.DefaultBackoff, again, func() error {
		limited, cancel := context.WithTimeout(ctx, w.timeout)
		defer cancel()
		now, err := claims.Get(limited, claim.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		changed, err := change(now)
		if err != nil || !changed {
			return err
		}
		if now.Status.Allocation != nil && !slices.Contains(now.Finalizers, finalizer) {
			status := now.Status
			now.Finalizers = append(now.Finalizers, finalizer)
			if now, err = claims.Update(limited, now, metav1.UpdateOptions{}); err != nil {
				return err
			}
			now.Status = status
		}
		_, err = claims.UpdateStatus(limited, now, metav1.UpdateOptions{})
		return err
	})
}
