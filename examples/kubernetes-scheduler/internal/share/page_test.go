package share

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestWhoMayNotReadTheDocumentAsksLessAndLess(t *testing.T) {
	client, asked := fake.NewClientset(), 0
	client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		return true, nil, apierrors.NewForbidden(corev1.Resource("configmaps"), "page", nil)
	})
	ctx, end := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer end()
	page := &Page{Client: client, Namespace: "default", Name: "page", Timeout: time.Second}
	if _, _, err := page.Await(ctx); !apierrors.IsForbidden(err) && !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if asked > 5 { // at 0, 200, 600 and 1,400 ms, and when the context has ended
		t.Errorf("it has asked %d times", asked)
	}
}
