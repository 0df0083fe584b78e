package gangsched

/*
#include "binding.h"
*/
import "C"

import "unsafe"

// Amount is so much of a resource: Quantity as Kubernetes writes it ("1500m", "64Gi"), or, if that is empty, Value * 10^Scale.
type Amount struct {
	Resource string
	Quantity string
	Value    int64
	Scale    int32
}

// Resources makes amounts of names and quantities: Resources("cpu", "16", "memory", "64Gi").
func Resources(namesAndQuantities ...string) []Amount {
	made := make([]Amount, 0, len(namesAndQuantities)/2)
	for i := 0; i+1 < len(namesAndQuantities); i += 2 {
		made = append(made, Amount{Resource: namesAndQuantities[i], Quantity: namesAndQuantities[i+1]})
	}
	return made
}

// Effect is that of a taint; of a toleration AnyEffect is every one.
type Effect int32

const (
	AnyEffect        Effect = 0
	NoSchedule       Effect = C.GANGSCHED_NO_SCHEDULE
	PreferNoSchedule Effect = C.GANGSCHED_PREFER_NO_SCHEDULE
	NoExecute        Effect = C.GANGSCHED_NO_EXECUTE
)

type Taint struct {
	Key, Value string
	Effect     Effect
}

type Toleration struct {
	Key, Value string
	Effect     Effect
	Exists     bool // operator Exists; else Equal
}

type Image struct {
	Names     []string
	SizeBytes int64
}

// NodeSpec is a node as the host describes it.
type NodeSpec struct {
	Name             string
	Labels           map[string]string
	Taints           []Taint
	Allocatable      []Amount
	Images           []Image
	DeclaredFeatures []string // status.declaredFeatures; a set
	Unschedulable    bool
	VolumeLimits     []Amount     // volumes it can attach, by driver
	Devices          *NodeDevices // nil: not known; then counted resources are all that is looked at
	Cookie           uint64       // the host's own word, handed back with every decision
}

type Protocol int32

const (
	TCP  Protocol = C.GANGSCHED_TCP
	UDP  Protocol = C.GANGSCHED_UDP
	SCTP Protocol = C.GANGSCHED_SCTP
)

type Port struct {
	HostPort int32
	Protocol Protocol
	HostIP   string
}

type Container struct {
	Requests, Limits []Amount
	Image            string
	Ports            []Port
	Sidecar          bool // an init container with restartPolicy Always
}

type Operator int32

const (
	In           Operator = C.GANGSCHED_IN
	NotIn        Operator = C.GANGSCHED_NOT_IN
	Exists       Operator = C.GANGSCHED_EXISTS
	DoesNotExist Operator = C.GANGSCHED_DOES_NOT_EXIST
	Gt           Operator = C.GANGSCHED_GT
	Lt           Operator = C.GANGSCHED_LT
)

type Requirement struct {
	Key    string
	Op     Operator
	Values []string
}

// Selector is a metav1.LabelSelector. A nil one matches nothing, an empty one everything.
type Selector struct {
	MatchLabels      map[string]string
	MatchExpressions []Requirement
}

// NodeTerm is a term of a node selector; Weight counts where terms are preferred.
type NodeTerm struct {
	MatchExpressions, MatchFields []Requirement
	Weight                        int32
}

// PodTerm is a term of affinity to, or from, pods; Weight counts where terms are preferred.
type PodTerm struct {
	TopologyKey       string
	Selector          *Selector
	Namespaces        []string
	NamespaceSelector *Selector
	Weight            int32
}

type Spread struct {
	TopologyKey         string
	MaxSkew, MinDomains int32 // 0: 1
	ScheduleAnyway      bool
	Selector            *Selector
	IgnoreNodeAffinity  bool
	HonorNodeTaints     bool
	MatchLabelKeys      []string
}

type ControllerKind int32

const (
	NoController          ControllerKind = C.GANGSCHED_NO_CONTROLLER
	ReplicationController ControllerKind = C.GANGSCHED_REPLICATION_CONTROLLER
	ReplicaSet            ControllerKind = C.GANGSCHED_REPLICA_SET
	StatefulSet           ControllerKind = C.GANGSCHED_STATEFUL_SET
	DaemonSet             ControllerKind = C.GANGSCHED_DAEMON_SET
)

// Controller is what made a pod, in its namespace.
type Controller struct {
	Kind ControllerKind
	Name string
}

// PodSpec is all of a pod that a scheduler reads.
type PodSpec struct {
	Name, Namespace            string // an empty namespace is "default"
	Labels                     map[string]string
	Containers, InitContainers []Container
	Resources                  []Amount // pod-level requests; nil: none
	Overhead                   []Amount
	NodeSelector               map[string]string
	NodeTerms                  []NodeTerm // required: one must hold. Nil: none are; empty: nothing matches
	PreferredNodes             []NodeTerm
	Near, PreferNear           []PodTerm // affinity to pods
	Apart, PreferApart         []PodTerm // anti-affinity
	Tolerations                []Toleration
	Spread                     []Spread
	Priority                   *int32 // nil: of the priority class
	PriorityClass              string
	NeverPreempts              bool
	SchedulerName              string // empty: "default-scheduler"
	SchedulingGates            []string
	RequiredFeatures           []string // that its node has to declare; a set
	Group                      GroupID
	Role                       string
	Rank                       *int32
	Queue                      string
	Node, NominatedNode        NodeID
	DrawsFrom                  PodID // with Node: the reservation there that it was allocated from
	Terminating, Preempted     bool
	Guaranteed                 bool            // status.qosClass is Guaranteed
	StartTime                  *int64          // nanoseconds
	ExpectedRunTime            int64           // nanoseconds, for backfill; 0: not known
	Deadline                   *int64          // by when it should have ended, for LeastSlackSort and Deadline
	MaxWait                    int64           // nanoseconds that it should wait at most, for LeastSlackSort; 0: it does not matter
	Controller                 Controller      // what spreading by default goes by
	Devices                    []DeviceRequest // beside the resources that containers request by number
	DeviceConstraints          []DeviceConstraint
	ResourceClaims             []ResourceClaimID // of its namespace, each once: devices that it shares with others
	HeldDevices                []HeldDevice      // with Node: what it holds there; nil: the library's guess
	Volumes                    *PodVolumes       // nil: none that say where it can run
	ImageVolumes               []string          // images that it mounts
	CPUBind                    CPUBind           // CPUs of its own for the pod as one, where NUMA cells are known
	CPUBindRequired            bool              // false: if it can be
	CPUExclusive               CPUExclusive
	Load                       LoadEstimate // what LoadAwareScheduling is to think of it, where it lets pods say so
	Cookie                     uint64
}

// LoadEstimate is what LoadAwareScheduling thinks that a pod uses, instead of what it thinks of all.
type LoadEstimate struct {
	CPUPercent, MemoryPercent int64  // of the larger of request and limit; 0: as of all
	AfterScheduled            *int64 // nanoseconds: so long that counts whatever was measured
	AfterInitialized          *int64 // the same from when its init containers had ended
}

// GroupSpec is a group of pods; with a MinCount a gang, whose members start together.
type GroupSpec struct {
	Name, Namespace                 string
	MinCount                        int32 // 0: no gang, one member is enough
	DesiredCount, MaxCount          int32 // 0: no such number
	PermitRoom                      bool  // members are placed one by one and wait in the permit room
	Timeout                         int64 // nanoseconds that a member waits there; 0: five minutes
	Atomic, Strict, Composite, Done bool
	Parent                          GroupID
	Priority                        *int32
	Queue                           string
	Within                          []string // node labels: all members share one domain of the first that has room
	OrAnywhere                      bool
	Deadline                        *int64 // of its pods that have none; and so with the longest wait
	MaxWait                         int64
	Cookie                          uint64
}

type Quota struct {
	Flavor                                          string // empty: of all nodes together
	Guaranteed, Limit, BorrowingLimit, LendingLimit []Amount
}

type QueueState int32

const (
	Open  QueueState = C.GANGSCHED_QUEUE_OPEN
	Hold  QueueState = C.GANGSCHED_QUEUE_HOLD
	Drain QueueState = C.GANGSCHED_QUEUE_DRAIN
)

// QueueSpec is a queue: how much of the cluster its pods may use.
type QueueSpec struct {
	Name, Parent string
	Quotas       []Quota
	Weight       float64 // 0: 1
	Priority     int32
	State        QueueState
	Strict       bool
	Namespaces   []string
	Cookie       uint64
}

// PriorityClass is a name for a priority.
type PriorityClass struct {
	Name          string
	Value         int32
	GlobalDefault bool
	NeverPreempts bool
}

func (a *arena) amounts(all []Amount) C.gangsched_amounts {
	made := list[C.gangsched_amount](a, len(all))
	for i := range all {
		from := &all[i]
		made[i] = C.gangsched_amount{resource: a.text(from.Resource), quantity: a.text(from.Quantity), value: C.int64_t(from.Value), scale: C.int32_t(from.Scale)}
	}
	return C.gangsched_amounts{items: (*C.gangsched_amount)(first(made)), count: C.size_t(len(all))}
}

func (a *arena) taints(all []Taint) (*C.gangsched_taint, C.size_t) {
	made := list[C.gangsched_taint](a, len(all))
	for i, from := range all {
		made[i] = C.gangsched_taint{key: a.text(from.Key), value: a.text(from.Value), effect: C.int32_t(from.Effect)}
	}
	return (*C.gangsched_taint)(first(made)), C.size_t(len(all))
}

func (a *arena) node(from *NodeSpec) *C.gangsched_node_spec {
	to := one[C.gangsched_node_spec](a)
	to.struct_size = C.size_t(unsafe.Sizeof(*to))
	to.name = a.text(from.Name)
	to.labels = a.pairs(from.Labels)
	to.taints, to.taint_count = a.taints(from.Taints)
	to.allocatable, to.volume_limits = a.amounts(from.Allocatable), a.amounts(from.VolumeLimits)
	images := list[C.gangsched_image](a, len(from.Images))
	for i := range from.Images {
		images[i] = C.gangsched_image{names: a.texts(from.Images[i].Names), size_bytes: C.int64_t(from.Images[i].SizeBytes)}
	}
	to.images, to.image_count = (*C.gangsched_image)(first(images)), C.size_t(len(images))
	to.declared_features = a.texts(from.DeclaredFeatures)
	to.unschedulable = C.bool(from.Unschedulable)
	to.devices = a.devices(from.Devices)
	to.cookie = C.uint64_t(from.Cookie)
	return to
}

func (a *arena) containers(all []Container) (*C.gangsched_container, C.size_t) {
	made := list[C.gangsched_container](a, len(all))
	for i := range all {
		from, to := &all[i], &made[i]
		to.struct_size = C.size_t(unsafe.Sizeof(*to))
		to.requests = a.amounts(from.Requests)
		to.limits = a.amounts(from.Limits)
		to.image = a.text(from.Image)
		to.sidecar = C.bool(from.Sidecar)
		ports := list[C.gangsched_port](a, len(from.Ports))
		for k, port := range from.Ports {
			ports[k] = C.gangsched_port{host_port: C.int32_t(port.HostPort), protocol: C.int32_t(port.Protocol), host_ip: a.text(port.HostIP)}
		}
		to.ports, to.port_count = (*C.gangsched_port)(first(ports)), C.size_t(len(ports))
	}
	return (*C.gangsched_container)(first(made)), C.size_t(len(made))
}

func (a *arena) requirements(all []Requirement) C.gangsched_requirements {
	made := list[C.gangsched_requirement](a, len(all))
	for i := range all {
		made[i] = C.gangsched_requirement{key: a.text(all[i].Key), op: C.int32_t(all[i].Op), values: a.texts(all[i].Values)}
	}
	return C.gangsched_requirements{items: (*C.gangsched_requirement)(first(made)), count: C.size_t(len(all))}
}

func (a *arena) selector(from *Selector) *C.gangsched_selector {
	if from == nil {
		return nil
	}
	to := one[C.gangsched_selector](a)
	to.match_labels = a.pairs(from.MatchLabels)
	to.match_expressions = a.requirements(from.MatchExpressions)
	return to
}

func (a *arena) nodeTerms(all []NodeTerm) (*C.gangsched_node_term, C.size_t) {
	made := list[C.gangsched_node_term](a, len(all))
	for i := range all {
		made[i].match_expressions = a.requirements(all[i].MatchExpressions)
		made[i].match_fields = a.requirements(all[i].MatchFields)
		made[i].weight = C.int32_t(all[i].Weight)
	}
	return (*C.gangsched_node_term)(first(made)), C.size_t(len(all))
}

func (a *arena) podTerms(all []PodTerm) C.gangsched_pod_terms {
	made := list[C.gangsched_pod_term](a, len(all))
	for i := range all {
		from, to := &all[i], &made[i]
		to.topology_key = a.text(from.TopologyKey)
		to.selector = a.selector(from.Selector)
		to.namespaces = a.texts(from.Namespaces)
		to.namespace_selector = a.selector(from.NamespaceSelector)
		to.weight = C.int32_t(from.Weight)
	}
	return C.gangsched_pod_terms{items: (*C.gangsched_pod_term)(first(made)), count: C.size_t(len(all))}
}

func (a *arena) spread(all []Spread) (*C.gangsched_spread, C.size_t) {
	made := list[C.gangsched_spread](a, len(all))
	for i := range all {
		from, to := &all[i], &made[i]
		to.topology_key = a.text(from.TopologyKey)
		to.max_skew, to.min_domains = C.int32_t(from.MaxSkew), C.int32_t(from.MinDomains)
		to.schedule_anyway = C.bool(from.ScheduleAnyway)
		to.selector = a.selector(from.Selector)
		to.ignore_node_affinity = C.bool(from.IgnoreNodeAffinity)
		to.honor_node_taints = C.bool(from.HonorNodeTaints)
		to.match_label_keys = a.texts(from.MatchLabelKeys)
	}
	return (*C.gangsched_spread)(first(made)), C.size_t(len(all))
}

func (a *arena) pod(from *PodSpec) *C.gangsched_pod_spec {
	to := one[C.gangsched_pod_spec](a)
	to.struct_size = C.size_t(unsafe.Sizeof(*to))
	to.name, to.ns = a.text(from.Name), a.text(from.Namespace)
	to.labels = a.pairs(from.Labels)
	to.containers, to.container_count = a.containers(from.Containers)
	to.init_containers, to.init_container_count = a.containers(from.InitContainers)
	if from.Resources != nil {
		to.resources = one[C.gangsched_amounts](a)
		*to.resources = a.amounts(from.Resources)
	}
	to.overhead = a.amounts(from.Overhead)
	to.node_selector = a.pairs(from.NodeSelector)
	to.node_terms, to.node_term_count = a.nodeTerms(from.NodeTerms)
	to.has_node_terms = C.bool(from.NodeTerms != nil)
	to.preferred_nodes, to.preferred_node_count = a.nodeTerms(from.PreferredNodes)
	to.near, to.prefer_near = a.podTerms(from.Near), a.podTerms(from.PreferNear)
	to.apart, to.prefer_apart = a.podTerms(from.Apart), a.podTerms(from.PreferApart)
	tolerations := list[C.gangsched_toleration](a, len(from.Tolerations))
	for i, t := range from.Tolerations {
		tolerations[i] = C.gangsched_toleration{key: a.text(t.Key), value: a.text(t.Value), effect: C.int32_t(t.Effect), exists: C.bool(t.Exists)}
	}
	to.tolerations, to.toleration_count = (*C.gangsched_toleration)(first(tolerations)), C.size_t(len(tolerations))
	to.spread, to.spread_count = a.spread(from.Spread)
	if from.Priority != nil {
		to.has_priority, to.priority = true, C.int32_t(*from.Priority)
	}
	to.priority_class = a.text(from.PriorityClass)
	if from.NeverPreempts {
		to.preemption = C.GANGSCHED_PREEMPT_NEVER
	}
	to.scheduler_name = a.text(from.SchedulerName)
	to.scheduling_gates = a.texts(from.SchedulingGates)
	to.required_features = a.texts(from.RequiredFeatures)
	to.group.value = C.uint64_t(from.Group)
	to.draws_from.value = C.uint64_t(from.DrawsFrom)
	to.role = a.text(from.Role)
	if from.Rank != nil {
		to.has_rank, to.rank = true, C.int32_t(*from.Rank)
	}
	to.queue = a.text(from.Queue)
	to.node.value, to.nominated_node.value = C.uint64_t(from.Node), C.uint64_t(from.NominatedNode)
	to.terminating, to.preempted = C.bool(from.Terminating), C.bool(from.Preempted)
	to.guaranteed = C.bool(from.Guaranteed)
	to.expected_run_time = C.int64_t(from.ExpectedRunTime)
	if from.Deadline != nil {
		to.has_deadline, to.deadline = true, C.int64_t(*from.Deadline)
	}
	to.max_wait = C.int64_t(from.MaxWait)
	to.load_cpu_percent, to.load_memory_percent = C.int64_t(from.Load.CPUPercent), C.int64_t(from.Load.MemoryPercent)
	if from.Load.AfterScheduled != nil {
		to.has_load_after_scheduled, to.load_after_scheduled = true, C.int64_t(*from.Load.AfterScheduled)
	}
	if from.Load.AfterInitialized != nil {
		to.has_load_after_initialized, to.load_after_initialized = true, C.int64_t(*from.Load.AfterInitialized)
	}
	if from.StartTime != nil {
		to.has_start_time, to.start_time = true, C.int64_t(*from.StartTime)
	}
	to.controller_kind, to.controller_name = C.int32_t(from.Controller.Kind), a.text(from.Controller.Name)
	to.devices, to.device_count = a.requests(from.Devices)
	to.device_constraints, to.device_constraint_count = a.constraints(from.DeviceConstraints)
	to.resource_claims, to.resource_claim_count = ids[C.gangsched_resource_claim_id](a, from.ResourceClaims)
	to.held_devices, to.held_device_count = a.held(from.HeldDevices)
	to.volumes = a.volumes(from.Volumes)
	to.image_volumes = a.texts(from.ImageVolumes)
	to.cpu_bind, to.cpu_bind_required, to.cpu_exclusive = C.int32_t(from.CPUBind), C.bool(from.CPUBindRequired), C.int32_t(from.CPUExclusive)
	to.cookie = C.uint64_t(from.Cookie)
	return to
}

func (a *arena) group(from *GroupSpec) *C.gangsched_group_spec {
	to := one[C.gangsched_group_spec](a)
	to.struct_size = C.size_t(unsafe.Sizeof(*to))
	to.name, to.ns = a.text(from.Name), a.text(from.Namespace)
	to.min_count, to.desired_count, to.max_count = C.int32_t(from.MinCount), C.int32_t(from.DesiredCount), C.int32_t(from.MaxCount)
	if from.PermitRoom {
		to.mode = C.GANGSCHED_PERMIT_ROOM
	}
	to.timeout = C.int64_t(from.Timeout)
	to.atomic, to.strict, to.composite, to.done = C.bool(from.Atomic), C.bool(from.Strict), C.bool(from.Composite), C.bool(from.Done)
	to.parent.value = C.uint64_t(from.Parent)
	if from.Priority != nil {
		to.has_priority, to.priority = true, C.int32_t(*from.Priority)
	}
	to.queue = a.text(from.Queue)
	to.within = a.texts(from.Within)
	to.or_anywhere = C.bool(from.OrAnywhere)
	to.cookie = C.uint64_t(from.Cookie)
	if from.Deadline != nil {
		to.has_deadline, to.deadline = true, C.int64_t(*from.Deadline)
	}
	to.max_wait = C.int64_t(from.MaxWait)
	return to
}

func (a *arena) queue(from *QueueSpec) *C.gangsched_queue_spec {
	to := one[C.gangsched_queue_spec](a)
	to.struct_size = C.size_t(unsafe.Sizeof(*to))
	to.name, to.parent = a.text(from.Name), a.text(from.Parent)
	quotas := list[C.gangsched_quota](a, len(from.Quotas))
	for i := range from.Quotas {
		q := &from.Quotas[i]
		quotas[i].flavor = a.text(q.Flavor)
		quotas[i].guaranteed, quotas[i].limit = a.amounts(q.Guaranteed), a.amounts(q.Limit)
		quotas[i].borrowing_limit, quotas[i].lending_limit = a.amounts(q.BorrowingLimit), a.amounts(q.LendingLimit)
	}
	to.quotas, to.quota_count = (*C.gangsched_quota)(first(quotas)), C.size_t(len(quotas))
	to.weight = C.double(from.Weight)
	to.priority, to.state, to.strict = C.int32_t(from.Priority), C.int32_t(from.State), C.bool(from.Strict)
	to.namespaces = a.texts(from.Namespaces)
	to.cookie = C.uint64_t(from.Cookie)
	return to
}
