// kubernetes-scheduler schedules the pods of a Kubernetes cluster with gangsched: in place of kube-scheduler, or beside it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/inbox"
	"gangsched/examples/kubernetes-scheduler/internal/loop"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
	"gangsched/examples/kubernetes-scheduler/internal/serve"
	"gangsched/examples/kubernetes-scheduler/internal/settings"
	"gangsched/examples/kubernetes-scheduler/internal/share"
	"gangsched/examples/kubernetes-scheduler/internal/watch"
)

type flags struct {
	configuration, kubeconfig, server, address string
}

func main() {
	var f flags
	klog.InitFlags(nil)
	flag.StringVar(&f.configuration, "config", "", "a file with a KubeSchedulerConfiguration")
	flag.StringVar(&f.kubeconfig, "kubeconfig", "", "how to reach the API server; default: as the configuration says, or as a pod of the cluster")
	flag.StringVar(&f.server, "master", "", "the address of the API server, in place of the kubeconfig's")
	flag.StringVar(&f.address, "bind-address", "127.0.0.1:10251", "where probes, metrics and questions are answered; empty: nowhere")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &f); err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes-scheduler:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, f *flags) error {
	set, err := settings.Read(f.configuration)
	if err != nil {
		return err
	}
	if f.kubeconfig == "" {
		f.kubeconfig = set.ClientConnection.Kubeconfig
	}
	reach, err := clientcmd.BuildConfigFromFlags(f.server, f.kubeconfig)
	if err != nil {
		return err
	}
	set.ClientConnection.Connection(reach)
	reach.UserAgent = "gangsched-kubernetes-scheduler"
	custom, err := dynamic.NewForConfig(reach)
	if err != nil {
		return err
	}
	reach.ContentType = runtime.ContentTypeProtobuf
	reach.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(reach)
	if err != nil {
		return err
	}

	cluster := gangsched.NewCluster()
	defer cluster.Close()
	scheduler, err := gangsched.NewScheduler(cluster, set.Options())
	if err != nil {
		return err
	}
	defer scheduler.Close()

	box := inbox.New()
	known := mirror.New(cluster, scheduler, set.SchedulerNames())
	writer := act.NewWriter(client, set.Gangsched.ParallelWrites, set.Gangsched.RequestTimeout.Duration)
	writer.Custom(custom)
	recorder, err := act.NewRecorder(ctx, writer)
	if err != nil {
		return err
	}
	defer recorder.Close()
	decide := loop.New(cluster, scheduler, known, box, writer, recorder, set.Gangsched.VolumeBindTimeout.Duration)

	var synced atomic.Pointer[watch.Watcher]
	ready := func() error {
		if synced.Load() == nil {
			return errors.New("the API server has not said yet what there is")
		}
		return nil
	}
	snapshot := func() ([]byte, error) {
		if err := ready(); err != nil {
			return nil, err
		}
		return synced.Load().Snapshot()
	}
	if err := answer(ctx, f.address, serve.Handler(serve.State{Loop: decide, Ready: ready, Snapshot: snapshot})); err != nil {
		return err
	}
	watcher, err := watch.New(ctx, client, custom, set.Gangsched.Queues, box, known)
	if err != nil {
		return err
	}

	if set.Gangsched.ActiveActive() {
		// As the lease has: what keeps a replica alive waits for no other request.
		own, err := kubernetes.NewForConfig(reach)
		if err != nil {
			return err
		}
		if err := shareWith(own, watcher, decide, set); err != nil {
			return err
		}
	}

	working, end := context.WithCancel(ctx)
	defer end()
	var all sync.WaitGroup
	all.Go(func() { decide.Run(working) })
	all.Go(func() { writer.Run(working) })
	defer func() { end(); all.Wait() }()
	if err := watcher.Start(ctx); err != nil {
		return err
	}
	synced.Store(watcher)
	if set.Gangsched.ActiveActive() {
		decide.Lead()
		<-ctx.Done()
		end()
		all.Wait()
		decide.Leave(context.WithoutCancel(ctx))
		return nil
	}
	if !set.LeaderElection.Elects() {
		decide.Lead()
		<-ctx.Done()
		return nil
	}
	// The lease is given up when nothing is written any more: the next leader begins at once.
	leading, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	stop := context.AfterFunc(ctx, func() { end(); all.Wait(); release() })
	defer stop()
	lease, err := leaseOf(reach, &set.LeaderElection)
	if err != nil {
		return err
	}
	return lead(leading, lease, &set.LeaderElection, decide.Lead)
}

// shareWith prepares what replicas that are all active tell each other.
func shareWith(client kubernetes.Interface, watcher *watch.Watcher, decide *loop.Loop, set *settings.Settings) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	how := &set.LeaderElection
	page := &share.Page{Client: client, Namespace: how.ResourceNamespace, Name: how.ResourceName, Timeout: set.Gangsched.RequestTimeout.Duration}
	decide.Share(page, fmt.Sprintf("%.40s-%016x", host, rand.Uint64()), how.RetryPeriod.Duration, how.LeaseDuration.Duration)
	return watcher.Replicas(page.Namespace, page.Name, decide.Hear)
}

// answer serves until the context ends.
func answer(ctx context.Context, address string, handler http.Handler) error {
	if address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "the HTTP server has ended", "address", address)
		}
	}()
	return nil
}

// leaseOf is the lease of the leader, with a client of its own, as kube-scheduler has it: a leader that writes as much as its rate limit allows renews the
// lease all the same, and a request that hangs ends before the lease does.
func leaseOf(reach *rest.Config, how *settings.LeaderElection) (resourcelock.Interface, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	identity := fmt.Sprintf("%s_%s", host, uuid.NewUUID()) // in containers on one host all are process 1
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, how.ResourceNamespace, how.ResourceName,
		resourcelock.ResourceLockConfig{Identity: identity}, reach, how.RenewDeadline.Duration)
}

// lead waits until this replica is the leader, and ends when it is not any more: what it has decided and not written is void then.
func lead(ctx context.Context, lease resourcelock.Interface, how *settings.LeaderElection, begin func()) (err error) {
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock:          lease,
		LeaseDuration: how.LeaseDuration.Duration, RenewDeadline: how.RenewDeadline.Duration, RetryPeriod: how.RetryPeriod.Duration,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { begin() },
			OnStoppedLeading: func() {
				if ctx.Err() == nil {
					err = errors.New("another replica leads")
				}
			},
		},
	})
	return err
}
