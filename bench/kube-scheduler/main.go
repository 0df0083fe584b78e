// kube-scheduler measures what kube-scheduler takes to place a pod: `kube-scheduler LABEL...` prints one line of JSON for each workload that is named, of those that
// bench/kube_workloads.cpp has, too, with the processor's time of a pod in microseconds, on one thread, garbage collection included.
//
// Timed as there: bring the snapshot up to date, filter, score, choose, book the pod on its node. Nodes, pods that run already and 20 pods to warm up,
// which are taken back, are outside the clock. The best of three runs counts.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

const (
	warmUp  = 20
	hostKey = "kubernetes.io/hostname"
	zoneKey = "topology.kubernetes.io/zone"
)

type workload struct {
	nodes    int
	running  string
	bound    int
	measured string
	pods     int
	small    bool // 4 cores and 32 Gi instead of 32 and 64
	oneZone  bool
}

// A label with "-all" is the same with every node scored, and as many pods as `all` says.
var (
	workloads = map[string]workload{
		"basic-500":            {500, "plain", 500, "plain", 5000, false, false},
		"basic-5000":           {5000, "plain", 5000, "plain", 5000, false, false},
		"basic-20000":          {20000, "plain", 20000, "plain", 2000, false, false},
		"basic-5000-50k":       {5000, "plain", 5000, "plain", 50000, false, false},
		"basic-5000-smallnode": {5000, "plain", 1000, "plain", 5000, true, false},
		"one-per-node-default": {5000, "plain", 0, "filler", 3000, false, false},
		"anti-affinity":        {5000, "anti", 1000, "anti", 1000, false, false},
		"prefer-affinity":      {5000, "prefer", 5000, "prefer", 500, false, false},
		"prefer-anti-affinity": {5000, "prefer-anti", 5000, "prefer-anti", 500, false, false},
		"zone-affinity":        {5000, "zone", 5000, "zone", 500, false, false},
		"zone-affinity-1zone":  {5000, "zone", 5000, "zone", 500, false, true},
		"spread-hard":          {5000, "plain", 5000, "spread-hard", 2000, false, false},
		"spread-soft":          {5000, "plain", 5000, "spread-soft", 2000, false, false},
		"node-affinity":        {5000, "node-aff", 5000, "node-aff", 2000, false, false},
		"mixed":                {5000, "plain", 5000, "mixed", 1400, false, false},
	}
	all = map[string]int{
		"basic-500": 2500, "basic-5000": 500, "basic-20000": 100, "anti-affinity": 300, "prefer-affinity": 250, "prefer-anti-affinity": 250,
		"zone-affinity": 250, "spread-hard": 300, "spread-soft": 300, "node-affinity": 400, "mixed": 280,
	}
	colours = map[string]string{
		"anti": "green", "prefer": "red", "prefer-anti": "yellow", "zone": "blue", "spread-hard": "black", "spread-soft": "white",
	}
	mixedKinds = []string{"anti", "prefer", "prefer-anti", "zone", "spread-hard", "spread-soft", "node-aff"}
)

func nodeOf(i int, of workload) *v1.Node {
	cores, memory, zone := "32", "64Gi", i%3+1
	if of.small {
		cores, memory = "4", "32Gi"
	}
	if of.oneZone {
		zone = 1
	}
	name := fmt.Sprintf("node-%05d", i)
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cores), v1.ResourceMemory: resource.MustParse(memory), v1.ResourcePods: resource.MustParse("110")}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name),
			Labels: map[string]string{hostKey: name, zoneKey: fmt.Sprintf("zone%d", zone), "example.com/rack": fmt.Sprintf("rack%04d", i/32)}},
		Status: v1.NodeStatus{Capacity: amounts, Allocatable: amounts, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
}

func podOf(kind string, i int, name, ns string) *v1.Pod {
	if kind == "mixed" {
		kind = "plain"
		if s := 27 * i % 70; s >= 28 {
			kind = mixedKinds[(s-28)/6]
		}
	}
	cpu := "100m"
	if kind == "filler" {
		cpu = "20"
	}
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("500Mi")}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, UID: types.UID(ns + "/" + name)},
		Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{
			Name: "pause", Image: "example.com/pause:1", Ports: []v1.ContainerPort{{ContainerPort: 80, Protocol: v1.ProtocolTCP}},
			Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts},
		}}},
	}
	own := &metav1.LabelSelector{MatchLabels: map[string]string{"color": colours[kind]}}
	if colours[kind] != "" {
		pod.Labels = own.MatchLabels
	}
	term := func(key string) v1.PodAffinityTerm {
		return v1.PodAffinityTerm{LabelSelector: own, TopologyKey: key, Namespaces: []string{"sched-1", "sched-0"}}
	}
	spread := func(action v1.UnsatisfiableConstraintAction) {
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 5, TopologyKey: zoneKey, WhenUnsatisfiable: action, LabelSelector: own}}
	}
	switch kind {
	case "anti":
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term(hostKey)}}}
	case "prefer":
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term(hostKey)}}}}
	case "prefer-anti":
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term(hostKey)}}}}
	case "zone":
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term(zoneKey)}}}
	case "spread-hard":
		spread(v1.DoNotSchedule)
	case "spread-soft":
		spread(v1.ScheduleAnyway)
	case "node-aff":
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: zoneKey, Operator: v1.NodeSelectorOpIn, Values: []string{"zone1", "zone2"}}}}}}}}
	}
	return pod
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube-scheduler:", err)
		os.Exit(1)
	}
}

// cpu is the processor's time of this process.
func cpu() time.Duration {
	var use syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

type rig struct {
	ctx      context.Context
	sched    *scheduler.Scheduler
	snapshot *cache.Snapshot // the scheduler's own, which it does not show
}

func newRig(ctx context.Context, percentage int32) rig {
	client := fake.NewClientset()
	informers := scheduler.NewInformerFactory(client, 0)
	recorders := profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}))
	sched, err := scheduler.New(ctx, client, informers, nil, recorders, scheduler.WithParallelism(1), scheduler.WithPercentageOfNodesToScore(&percentage))
	must(err)
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	field := reflect.ValueOf(sched).Elem().FieldByName("nodeInfoSnapshot")
	return rig{ctx, sched, (*cache.Snapshot)(unsafe.Pointer(field.Pointer()))}
}

// place books the pod where kube-scheduler wants it. The pod is parsed already.
func (r rig) place(info *framework.QueuedPodInfo) {
	logger := klog.FromContext(r.ctx)
	must(r.sched.Cache.UpdateSnapshot(logger, r.snapshot))
	result, err := r.sched.SchedulePod(r.ctx, r.sched.Profiles[v1.DefaultSchedulerName], framework.NewCycleState(), info)
	must(err)
	info.Pod.Spec.NodeName = result.SuggestedHost
	must(r.sched.Cache.AssumePod(logger, info.Pod))
}

func run(of workload, percentage int32) float64 {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := newRig(ctx, percentage)
	logger := klog.FromContext(ctx)
	var nodes, places []*v1.Node
	for i := range of.nodes {
		nodes = append(nodes, nodeOf(i, of))
		r.sched.Cache.AddNode(logger, nodes[i])
		if of.running != "zone" || nodes[i].Labels[zoneKey] == "zone1" && i%3 == 0 {
			places = append(places, nodes[i])
		}
	}
	for i := range of.bound {
		pod := podOf(of.running, i, fmt.Sprintf("init-%06d", i), "sched-0")
		pod.Spec.NodeName = places[i%len(places)].Name
		must(r.sched.Cache.AddPod(logger, pod))
	}
	parsed := func(format string, count int) []*framework.QueuedPodInfo {
		var made []*framework.QueuedPodInfo
		for i := range count {
			info, err := framework.NewPodInfo(podOf(of.measured, i, fmt.Sprintf(format, i), "sched-1"))
			must(err)
			made = append(made, &framework.QueuedPodInfo{PodInfo: info})
		}
		return made
	}
	warm := parsed("warm-%06d", warmUp)
	for _, info := range warm {
		r.place(info)
	}
	for _, info := range warm {
		must(r.sched.Cache.ForgetPod(logger, info.Pod))
	}
	measured := parsed("pod-%06d", of.pods)
	runtime.GC()
	start := cpu()
	for _, info := range measured {
		r.place(info)
	}
	return float64((cpu() - start).Nanoseconds()) / 1e3 / float64(of.pods)
}

func main() {
	runs := flag.Int("runs", 3, "of which the best counts")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	metrics.Register()
	for _, label := range flag.Args() {
		base := strings.TrimSuffix(label, "-all")
		of, known := workloads[base]
		percentage := int32(0)
		if base != label {
			of.pods, percentage = all[base], 100
		}
		if !known || of.pods == 0 {
			must(fmt.Errorf("there is no workload %q", label))
		}
		best := 0.0
		for i := range *runs {
			if took := run(of, percentage); i == 0 || took < best {
				best = took
			}
		}
		must(json.NewEncoder(os.Stdout).Encode(map[string]any{"label": label, "us": best}))
	}
}
