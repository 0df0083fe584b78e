package watch

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"gangsched/examples/kubernetes-scheduler/internal/inbox"
)

// stream hands changes of pods over in the order of their resource versions, with the version up to which all have come. Informers put changes of one
// object together, and hand over a list object by object, so that they cannot say that.
type stream struct {
	cache.Store // for snapshots
	box         *inbox.Inbox
	set, remove func(*corev1.Pod)
	saw         func(version string)
	synced      chan struct{} // closed when the first list was handed over
	listed      bool
}

func newStream(box *inbox.Inbox, set, remove func(*corev1.Pod), saw func(string)) *stream {
	return &stream{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), box: box, set: set, remove: remove, saw: saw, synced: make(chan struct{})}
}

// Add and those below are called by a Reflector, one after the other.
func (s *stream) Add(object any) error { return s.change(object, s.Store.Add, s.set) }

func (s *stream) Update(object any) error { return s.change(object, s.Store.Update, s.set) }

func (s *stream) Delete(object any) error { return s.change(object, s.Store.Delete, s.remove) }

func (s *stream) change(object any, keep func(any) error, say func(*corev1.Pod)) error {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil
	}
	pod.ManagedFields = nil
	s.box.Put(func() { say(pod) })
	return keep(pod)
}

// UpdateResourceVersion says how far the watch is: a Reflector calls it after each change, and where nothing changes now and then.
func (s *stream) UpdateResourceVersion(version string) {
	s.box.Put(func() { s.saw(version) })
}

// Replace is told a list: what is not in it any more is gone.
func (s *stream) Replace(list []any, version string) error {
	there := map[string]*corev1.Pod{}
	for _, object := range list {
		if pod, ok := object.(*corev1.Pod); ok {
			pod.ManagedFields = nil
			there[pod.Namespace+"/"+pod.Name] = pod
		}
	}
	var gone []*corev1.Pod
	for _, object := range s.Store.List() {
		if pod, ok := object.(*corev1.Pod); ok {
			if now := there[pod.Namespace+"/"+pod.Name]; now == nil || now.UID != pod.UID {
				gone = append(gone, pod)
			}
		}
	}
	s.box.Put(func() {
		for _, pod := range gone {
			s.remove(pod)
		}
		for _, object := range list {
			if pod, ok := object.(*corev1.Pod); ok {
				s.set(pod)
			}
		}
		s.saw(version)
	})
	if !s.listed {
		s.listed = true
		defer close(s.synced)
	}
	return s.Store.Replace(list, version)
}

// Resync is of no use here.
func (s *stream) Resync() error { return nil }

// HasSynced says whether the first list was handed over.
func (s *stream) HasSynced() bool {
	select {
	case <-s.synced:
		return true
	default:
		return false
	}
}

// run follows all pods until the context ends.
func (s *stream) run(ctx context.Context, client kubernetes.Interface) {
	pods := client.CoreV1().Pods(metav1.NamespaceAll)
	from := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, options)
		},
	}, client)
	cache.NewReflectorWithOptions(from, &corev1.Pod{}, s, cache.ReflectorOptions{Name: "pods"}).RunWithContext(ctx)
}
