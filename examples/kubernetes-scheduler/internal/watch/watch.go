// Package watch follows the API server and puts what it says into the inbox of the goroutine that owns the cluster. Lost watches, compacted versions
// and lists that have to be made anew are the informers' business: what comes of them are the same adds, updates and deletes.
package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/inbox"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

// Watcher is the informers and how far they are.
type Watcher struct {
	client   kubernetes.Interface
	typed    informers.SharedInformerFactory
	pods     *stream
	shared   informers.SharedInformerFactory // nil: no other replica is active
	dynamic  dynamicinformer.DynamicSharedInformerFactory
	box      *inbox.Inbox
	mirror   *mirror.Mirror
	wrong    error // see failure
	synced   []cache.InformerSynced
	others   map[schema.GroupVersionResource][]cache.InformerSynced // the same of kinds that a server need not have
	absent   map[schema.GroupVersionResource]func()                 // what the server had not when it was asked last, and how it is followed
	pause    time.Duration                                          // until it is asked again
	patience time.Duration                                          // with kinds that it has and does not list

	mu     sync.Mutex
	stores []cache.Store
}

// askAgain is how long it is between questions which kinds the server has. What it does not have any more is not noticed.
const askAgain = 15 * time.Second

// longestWait is how long the start waits for kinds that a server need not have: one whose objects cannot be read as they are stored, or may not be, would
// hold up all scheduling.
const longestWait = 30 * time.Second

// New prepares informers for all kinds that the server has. With queues also for the queue objects that are installed.
func New(ctx context.Context, client kubernetes.Interface, others dynamic.Interface, queues bool, box *inbox.Inbox, m *mirror.Mirror) (*Watcher, error) {
	w := &Watcher{
		client:   client,
		typed:    informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trim)),
		dynamic:  dynamicinformer.NewDynamicSharedInformerFactory(others, 0),
		box:      box,
		mirror:   m,
		pause:    askAgain,
		patience: longestWait,
		others:   map[schema.GroupVersionResource][]cache.InformerSynced{},
	}
	w.core()
	w.storage()
	w.optional(queues)
	if _, err := w.ask(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// Replicas follows what replicas that are all active tell each other, in an object of that name.
func (w *Watcher) Replicas(namespace, name string, hear func(*corev1.ConfigMap)) error {
	w.shared = informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithTransform(trim), informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(which *metav1.ListOptions) { which.FieldSelector = "metadata.name=" + name }))
	follow(w, w.shared.Core().V1().ConfigMaps().Informer(), hear, func(*corev1.ConfigMap) {})
	w.stores = w.stores[:len(w.stores)-1] // no part of a snapshot
	return w.failure()
}

// Start begins; it returns when everything that there is has been put into the inbox, or the context ends. What a server need not have may come later.
func (w *Watcher) Start(ctx context.Context) error {
	w.typed.Start(ctx.Done())
	w.dynamic.Start(ctx.Done())
	if w.shared != nil {
		w.shared.Start(ctx.Done())
	}
	go w.pods.run(ctx, w.client)
	if !cache.WaitForCacheSync(ctx.Done(), w.synced...) {
		return errors.New("the API server has not said yet what there is")
	}
	w.awaitOthers(ctx)
	go w.askOn(ctx)
	return nil
}

// awaitOthers waits for kinds that a server need not have, and not for ever.
func (w *Watcher) awaitOthers(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	if cache.WaitForCacheSync(limited.Done(), slices.Concat(slices.Collect(maps.Values(w.others))...)...) || ctx.Err() != nil {
		return
	}
	for kind, all := range w.others {
		if slices.ContainsFunc(all, func(synced cache.InformerSynced) bool { return !synced() }) {
			klog.ErrorS(nil, "the API server has a kind and does not say what there is of it: it counts when it does", "kind", kind.String())
		}
	}
}

// trim drops what scheduling never reads and what takes most of an object's memory.
func trim(object any) (any, error) {
	if of, err := meta.Accessor(object); err == nil {
		of.SetManagedFields(nil)
	}
	return object, nil
}

// follow hands what an informer says to functions of the mirror, in its goroutine.
func follow[T any](w *Watcher, from cache.SharedIndexInformer, set, remove func(T)) {
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if one, ok := object.(T); ok {
				w.box.Put(func() { set(one) })
			}
		},
		UpdateFunc: func(_, object any) {
			if one, ok := object.(T); ok {
				w.box.Put(func() { set(one) })
			}
		},
		DeleteFunc: func(object any) {
			if lost, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = lost.Obj
			}
			if one, ok := object.(T); ok {
				w.box.Put(func() { remove(one) })
			}
		},
	}
	registered, err := from.AddEventHandler(handler)
	if err != nil {
		w.wrong = err
		return
	}
	w.synced = append(w.synced, registered.HasSynced)
	w.keep(from.GetStore())
}

// keep has a store be part of snapshots.
func (w *Watcher) keep(store cache.Store) {
	w.mu.Lock()
	w.stores = append(w.stores, store)
	w.mu.Unlock()
}

// also is follow for functions that are told with a flag that an object is gone.
func also[T any](w *Watcher, from cache.SharedIndexInformer, set func(T, bool)) {
	follow(w, from, func(one T) { set(one, false) }, func(one T) { set(one, true) })
}

// objects is follow for what the library reads as Kubernetes writes it. Typed informers leave out of an object what kind it is.
func objects[T runtime.Object](w *Watcher, from cache.SharedIndexInformer) {
	follow(w, from, func(one T) { w.mirror.SetObject(named(one)) }, func(one T) { w.mirror.RemoveObject(named(one)) })
}

// named is a copy that says what kind it is.
func named(one runtime.Object) runtime.Object {
	made := one.DeepCopyObject()
	if kinds, _, err := scheme.Scheme.ObjectKinds(made); err == nil {
		made.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	return made
}

func (w *Watcher) core() {
	v1, m := w.typed.Core().V1(), w.mirror
	follow(w, v1.Nodes().Informer(), m.SetNode, func(one *corev1.Node) { m.RemoveNode(one.Name) })
	w.pods = newStream(w.box, m.SetPod, m.RemovePod, m.SawPods)
	w.synced = append(w.synced, w.pods.HasSynced)
	w.keep(w.pods.Store)
	also(w, v1.Namespaces().Informer(), m.SetNamespace)
	also(w, w.typed.Scheduling().V1().PriorityClasses().Informer(), m.SetPriorityClass)
	objects[*policyv1.PodDisruptionBudget](w, w.typed.Policy().V1().PodDisruptionBudgets().Informer())
	spreadBy(w, v1.Services().Informer())
	spreadBy(w, v1.ReplicationControllers().Informer())
	spreadBy(w, w.typed.Apps().V1().ReplicaSets().Informer())
	spreadBy(w, w.typed.Apps().V1().StatefulSets().Informer())
}

// spreadBy follows what pods are spread by that say nothing of it themselves: only selectors count, and statuses change all the time.
func spreadBy(w *Watcher, from cache.SharedIndexInformer) {
	told := versions{} // of the mirror's goroutine
	follow(w, from, func(one runtime.Object) {
		if told.news(one) {
			w.mirror.SetObject(selectorOf(one))
		}
	}, func(one runtime.Object) {
		told.forget(one)
		w.mirror.RemoveObject(selectorOf(one))
	})
}

// versions are those that the mirror was told last, by the objects' names: one that is deleted and made anew may come as a change, with another uid.
type versions map[types.NamespacedName]version

type version struct {
	uid        types.UID
	generation int64
}

// news notes a version, and says whether it is another one.
func (v versions) news(object runtime.Object) bool {
	of, err := meta.Accessor(object)
	if err != nil {
		return true
	}
	name, now := types.NamespacedName{Namespace: of.GetNamespace(), Name: of.GetName()}, version{of.GetUID(), of.GetGeneration()}
	before, known := v[name]
	v[name] = now
	return !known || before != now || now.generation == 0
}

func (v versions) forget(object runtime.Object) {
	if of, err := meta.Accessor(object); err == nil {
		delete(v, types.NamespacedName{Namespace: of.GetNamespace(), Name: of.GetName()})
	}
}

func (w *Watcher) storage() {
	v1, m := w.typed.Core().V1(), w.mirror
	also(w, v1.PersistentVolumeClaims().Informer(), m.SetClaimOfVolume)
	also(w, v1.PersistentVolumes().Informer(), m.SetVolume)
	also(w, w.typed.Storage().V1().StorageClasses().Informer(), m.SetStorageClass)
	also(w, w.typed.Storage().V1().CSINodes().Informer(), m.SetCSINode)
	also(w, w.typed.Storage().V1().CSIDrivers().Informer(), m.SetCSIDriver)
	also(w, w.typed.Storage().V1().CSIStorageCapacities().Informer(), m.SetStorageCapacity)
}

func (w *Watcher) devices() {
	v1, m := w.typed.Resource().V1(), w.mirror
	also(w, v1.ResourceSlices().Informer(), m.SetSlice)
	also(w, v1.DeviceClasses().Informer(), m.SetDeviceClass)
	follow(w, v1.ResourceClaims().Informer(), m.SetClaim, m.RemoveClaim)
}

var (
	// groupKinds are groups of pods by other schedulers' objects.
	groupKinds = []schema.GroupVersionResource{
		{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "podgroups"},
		{Group: "scheduling.sigs.k8s.io", Version: "v1alpha1", Resource: "podgroups"},
		{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "podgroups"},
	}
	// queueKinds are what describes queues.
	queueKinds = []schema.GroupVersionResource{
		{Group: "kueue.x-k8s.io", Version: "v1beta1", Resource: "clusterqueues"},
		{Group: "kueue.x-k8s.io", Version: "v1beta1", Resource: "cohorts"},
		{Group: "kueue.x-k8s.io", Version: "v1beta1", Resource: "localqueues"},
		{Group: "kueue.x-k8s.io", Version: "v1beta1", Resource: "resourceflavors"},
		{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"},
		{Group: "scheduling.run.ai", Version: "v2", Resource: "queues"},
		{Group: "scheduling.sigs.k8s.io", Version: "v1alpha1", Resource: "elasticquotas"},
		{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "elasticquotas"},
	}
)

// optional says how kinds are followed that a server need not have.
func (w *Watcher) optional(queues bool) {
	m := w.mirror
	w.absent = map[schema.GroupVersionResource]func(){
		resourcev1.SchemeGroupVersion.WithResource("resourceclaims"): w.devices,
		resourcev1beta2.SchemeGroupVersion.WithResource("devicetaintrules"): func() {
			also(w, w.typed.Resource().V1beta2().DeviceTaintRules().Informer(), m.SetTaintRule)
		},
		schedulingv1alpha2.SchemeGroupVersion.WithResource("podgroups"): func() {
			follow(w, w.typed.Scheduling().V1alpha2().PodGroups().Informer(),
				func(one *schedulingv1alpha2.PodGroup) { m.SetPodGroup(named(one).(*schedulingv1alpha2.PodGroup)) },
				func(one *schedulingv1alpha2.PodGroup) { m.RemovePodGroup(named(one).(*schedulingv1alpha2.PodGroup)) })
		},
	}
	custom := func(kind schema.GroupVersionResource, set, remove func(*unstructured.Unstructured)) {
		w.absent[kind] = func() { follow(w, w.dynamic.ForResource(kind).Informer(), set, remove) }
	}
	custom(act.Reservations, m.SetReservation, m.RemoveReservation)
	for _, kind := range groupKinds {
		custom(kind, func(one *unstructured.Unstructured) { m.SetGroup(one) }, func(one *unstructured.Unstructured) { m.RemoveGroup(one) })
	}
	if queues {
		for _, kind := range queueKinds {
			custom(kind, m.SetQueue, m.RemoveQueue)
		}
	}
}

// ask prepares informers for what the server has by now, and says whether that is anything new.
func (w *Watcher) ask(ctx context.Context) (news bool, err error) {
	served, err := served(ctx, w.client.Discovery())
	if err != nil {
		return false, err
	}
	inOrder := func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) } // so that snapshots have one
	for _, kind := range slices.SortedFunc(maps.Keys(w.absent), inOrder) {
		if served[kind] {
			core := len(w.synced)
			w.absent[kind]()
			w.others[kind] = slices.Clone(w.synced[core:])
			w.synced = w.synced[:core]
			delete(w.absent, kind)
			news = true
		}
	}
	return news, w.failure()
}

// failure is why something could not be followed, if that has not been said.
func (w *Watcher) failure() error {
	said := w.wrong
	w.wrong = nil
	return said
}

// askOn follows what is installed later, until nothing is absent or the context ends.
func (w *Watcher) askOn(ctx context.Context) {
	for len(w.absent) != 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.pause):
		}
		news, err := w.ask(ctx)
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "what was installed cannot be followed")
		}
		if news {
			w.typed.Start(ctx.Done())
			w.dynamic.Start(ctx.Done())
		}
	}
}

// served is what the API server has. An aggregated API that does not answer hides only its own kinds.
func served(ctx context.Context, from discovery.DiscoveryInterface) (map[schema.GroupVersionResource]bool, error) {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		_, lists, err := from.ServerGroupsAndResources()
		if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
			klog.ErrorS(err, "the API server does not say what it has yet")
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		made := map[schema.GroupVersionResource]bool{}
		for _, list := range lists {
			version, err := schema.ParseGroupVersion(list.GroupVersion)
			if err != nil {
				return nil, err
			}
			for _, one := range list.APIResources {
				made[version.WithResource(one.Name)] = true
			}
		}
		return made, nil
	}
}

// selectorOf is an object with its name and selector alone: templates of pods are long, and none of it counts here.
func selectorOf(object runtime.Object) runtime.Object {
	switch of := object.(type) {
	case *corev1.Service:
		return &corev1.Service{TypeMeta: kind("v1", "Service"), ObjectMeta: name(of), Spec: corev1.ServiceSpec{Selector: of.Spec.Selector}}
	case *corev1.ReplicationController:
		return &corev1.ReplicationController{TypeMeta: kind("v1", "ReplicationController"), ObjectMeta: name(of), Spec: corev1.ReplicationControllerSpec{Selector: of.Spec.Selector}}
	case *appsv1.ReplicaSet:
		return &appsv1.ReplicaSet{TypeMeta: kind("apps/v1", "ReplicaSet"), ObjectMeta: name(of), Spec: appsv1.ReplicaSetSpec{Selector: of.Spec.Selector}}
	case *appsv1.StatefulSet:
		return &appsv1.StatefulSet{TypeMeta: kind("apps/v1", "StatefulSet"), ObjectMeta: name(of), Spec: appsv1.StatefulSetSpec{Selector: of.Spec.Selector}}
	}
	return object
}

func kind(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

func name(of metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: of.GetNamespace(), Name: of.GetName()}
}
