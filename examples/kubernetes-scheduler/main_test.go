package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"gangsched/examples/kubernetes-scheduler/internal/settings"
)

// A leader whose other requests have used up the rate limit renews its lease.
func TestTheLeaseDoesNotWaitForOtherRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(to, `{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}`)
	}))
	defer server.Close()
	reach := &rest.Config{Host: server.URL, QPS: 0.001, Burst: 1}
	client, err := kubernetes.NewForConfig(reach)
	if err != nil {
		t.Fatal(err)
	}
	client.CoordinationV1().RESTClient().GetRateLimiter().Accept()
	how := &settings.LeaderElection{ResourceNamespace: "kube-system", ResourceName: "l"}
	how.RenewDeadline.Duration = 10 * time.Second
	lease, err := leaseOf(reach, how)
	if err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	record, _, err := lease.Get(limited)
	if err != nil || record.HolderIdentity != "me" {
		t.Error(record, err)
	}
}
