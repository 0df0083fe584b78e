package gangsched

/*
#include "binding.h"
*/
import "C"

// ResourceClaimID names a claim of devices that pods share.
type ResourceClaimID uint64

// NamedCount is a name and how much of it: a counter, a capacity.
type NamedCount struct {
	Name   string
	Amount int64
}

// AttributeValue is a text, a number or a truth.
type AttributeValue struct {
	kind   int32
	text   string
	number int64
}

func TextValue(text string) AttributeValue {
	return AttributeValue{C.GANGSCHED_ATTRIBUTE_TEXT, text, 0}
}
func NumberValue(number int64) AttributeValue {
	return AttributeValue{C.GANGSCHED_ATTRIBUTE_NUMBER, "", number}
}
func TruthValue(truth bool) AttributeValue {
	made := AttributeValue{kind: C.GANGSCHED_ATTRIBUTE_TRUTH}
	if truth {
		made.number = 1
	}
	return made
}

// Attribute of a device.
type Attribute struct {
	Name  string
	Value AttributeValue
}

// MIGMode is how a GPU is divided.
type MIGMode int32

const (
	MIGOff     MIGMode = C.GANGSCHED_MIG_OFF     // it is used as a whole, or shared
	MIGFixed   MIGMode = C.GANGSCHED_MIG_FIXED   // it is divided into the listed instances
	MIGDynamic MIGMode = C.GANGSCHED_MIG_DYNAMIC // instances are made where a pod needs one
)

// MIGInstance exists on a GPU: its profile ("1g.5gb") and first memory slice.
type MIGInstance struct {
	Profile string
	Start   int32
}

// GPU of a node.
type GPU struct {
	ID         string // what decisions call it; empty: its index
	Unhealthy  bool
	NUMA, PCIe *int32 // NUMA cell and PCIe switch; nil: not known
	MIG        MIGMode
	Instances  []MIGInstance
}

// Path between two GPUs over PCIe, from farthest to closest: the codes of `nvidia-smi topo -m`.
type Path int32

const (
	PathSYS   Path = C.GANGSCHED_PATH_SYS
	PathNODE  Path = C.GANGSCHED_PATH_NODE
	PathPHB   Path = C.GANGSCHED_PATH_PHB
	PathPXB   Path = C.GANGSCHED_PATH_PXB
	PathPIX   Path = C.GANGSCHED_PATH_PIX
	PathBoard Path = C.GANGSCHED_PATH_BOARD
)

// Link of two GPUs.
type Link struct {
	NVLinks int32
	Path    Path
}

// Partition is GPUs that an NVSwitch machine can cut off from the others: bit i for the GPU with index i.
type Partition struct {
	GPUs  uint32
	Score int32 // the more the better
}

// CapacityPolicy is what may be asked of a capacity: an amount is rounded up to Least and whole steps above it, or to one of Values.
type CapacityPolicy struct {
	Standard, Least, Most, Step *int64
	Values                      []int64 // ascending
}

// Capacity is how much of something ("driver/name") a device has.
type Capacity struct {
	Name   string
	Amount int64
	Policy *CapacityPolicy // nil: any amount may be asked for
}

// OtherDevice is anything that is no GPU of the node's model: a NIC, an FPGA, a device of a DRA driver.
type OtherDevice struct {
	ID, Class  string
	Units      int64 // how much of it can be handed out; 0: 1
	Unhealthy  bool
	NUMA, PCIe *int32
	Attributes []Attribute
	Consumes   []NamedCount // of counters of the node, per unit
	Capacities []Capacity
	Shared     bool // by pods, as long as its capacities last
}

// GPUMemoryRule is what a share needs of a GPU's memory.
type GPUMemoryRule int32

const (
	GPUMemoryMiB     GPUMemoryRule = C.GANGSCHED_GPU_MEMORY_MIB      // as many MiB as it comes to
	GPUMemoryAsAsked GPUMemoryRule = C.GANGSCHED_GPU_MEMORY_AS_ASKED // room in what it asks by, MiB or hundredths: Koordinator's rule
)

// NodeDevices is all devices of a node: at most 16 GPUs, which are of one model, and 1,024 others; with NUMA 256 of each class.
type NodeDevices struct {
	Model             string // "NVIDIA-A100-SXM4-40GB"
	MemoryMiB         int64  // of each GPU; 0: not known
	ComputeCapability int32  // 80: 8.0
	Replicas          int32  // pods that one GPU is handed to by time-slicing or MPS; 0: 1
	Resource          string // that counts them; empty: "nvidia.com/gpu"
	GPUs              []GPU
	Links             []Link // row by row, GPUs × GPUs; nil: what PCIe switches and NUMA cells say
	Partitions        []Partition
	HonorPartitions   bool // GPUs are never taken apart from partitions; else when none of the size is free
	Others            []OtherDevice
	Counters          []NamedCount
	MIGTable          *MIGTable // nil: that of Model, if it is known
	NUMA              *NodeNUMA // pods get CPUs, memory and devices as kubelet would give them; nil: it is not known
	MemoryRule        GPUMemoryRule
}

// AttributeOperator compares an attribute.
type AttributeOperator int32

const (
	Equal        AttributeOperator = C.GANGSCHED_EQUAL
	NotEqual     AttributeOperator = C.GANGSCHED_NOT_EQUAL
	Less         AttributeOperator = C.GANGSCHED_LESS
	LessEqual    AttributeOperator = C.GANGSCHED_LESS_EQUAL
	Greater      AttributeOperator = C.GANGSCHED_GREATER
	GreaterEqual AttributeOperator = C.GANGSCHED_GREATER_EQUAL
	OneOf        AttributeOperator = C.GANGSCHED_ONE_OF
	Has          AttributeOperator = C.GANGSCHED_HAS
	HasNot       AttributeOperator = C.GANGSCHED_HAS_NOT
)

// AttributeSelector is what a device must have: one value, or for OneOf any number.
type AttributeSelector struct {
	Attribute string
	Op        AttributeOperator
	Values    []AttributeValue
}

// Scope is how close devices have to be.
type Scope int32

const (
	ScopeNode   Scope = C.GANGSCHED_SCOPE_NODE
	ScopeNUMA   Scope = C.GANGSCHED_SCOPE_NUMA
	ScopePCIe   Scope = C.GANGSCHED_SCOPE_PCIE
	ScopeNVLink Scope = C.GANGSCHED_SCOPE_NVLINK
)

// DeviceRequest is some devices of one kind, all on the node that the pod goes to. GPUs are asked for as a whole, as a share, or as MIG instances.
type DeviceRequest struct {
	Name  string // never read
	Class string // empty: "gpu", or the driver that CEL names
	Count int32  // how many different devices; 0: 1

	Milli                  *int32 // thousandths of each GPU; nil: 1000, it is the pod's own
	MemoryMiB              int64  // of each, for a share
	MemoryPercent          int32  // or in hundredths of its memory
	MIGProfile             string
	Models                 []string // any of these; nil: every model
	LeastMemoryMiB         int64
	LeastComputeCapability int32
	Within                 Scope // all of them inside one
	WithinPreferred        bool

	Units           int64 // of each other device; 0: 1
	All             bool  // every device that the selectors admit
	Admin           bool  // looks at them without using anything up
	Selectors       []AttributeSelector
	CEL             []string // selectors as DRA writes them, in the part of CEL that docs/kubernetes.md names
	Capacities      []NamedCount
	BesideGPUs      Scope
	BesidePreferred bool

	FirstOf   []DeviceRequest // these in turn instead of all the above
	Container uint16          // number of the container that uses them
}

// DeviceConstraint is what the devices of several requests have in common: an attribute ("driver/name"), or no two the same.
type DeviceConstraint struct {
	Attribute    string
	Distinct     bool
	Requests     []int32 // their numbers; nil, without alternatives: all
	Alternatives []Alternative
}

// Alternative is a request, and the place in its FirstOf.
type Alternative struct{ Request, Place int32 }

// HeldDevice is a device that a pod which others bound holds already.
type HeldDevice struct {
	ID         string
	Request    *int32 // number among the requests; nil: the first that is about such devices and has not got all
	MIGStart   *int32
	Capacities []NamedCount
}

// ResourceClaimSpec is devices that pods share, all on one node: where the first pod that names the claim is placed they are allocated.
type ResourceClaimSpec struct {
	Name, Namespace string
	Devices         []DeviceRequest
	Constraints     []DeviceConstraint
	MostPods        *int32 // on nodes at once, 0 any number; nil: 256, as Kubernetes has it
	HeldDevices     []HeldDevice
	Node            NodeID // where it is allocated though no pod uses it yet
}

// VolumeZone is a zone or region label of a volume: the node must have one of the values.
type VolumeZone struct {
	Key    string
	Values []string
}

// UsedDisk is a disk that pods on one node cannot share, unless both only read.
type UsedDisk struct {
	ID       string
	ReadOnly bool
}

// AttachedVolume is a volume that its driver attaches to the node.
type AttachedVolume struct{ Driver, ID string }

// PodVolumes is what a pod's volumes mean for where it can run: claims of volumes are resolved.
type PodVolumes struct {
	UnboundClaims   bool     // a claim has to be bound first: no node will do
	Nodes           []string // where the claims are, or can be, bound; nil: everywhere
	Zones           []VolumeZone
	Disks           []UsedDisk
	ExclusiveClaims []string // ReadWriteOncePod: one pod in the whole cluster
	Attachments     []AttachedVolume
	BindableNodes   []string // where claims without a volume find or get one; nil: everywhere
	ClaimProblem    string   // why no node will do: a claim that is missing, lost or being deleted
}
