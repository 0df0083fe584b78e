#pragma once
#include "gangsched/c/objects.h"

/// Devices of nodes, pods' requests for them, claims and volumes: as in gangsched/devices/device_spec.hpp and gangsched/model/spec.hpp.

#ifdef __cplusplus
extern "C" {
#endif

/// A name and how much of it: a counter, a capacity.
typedef struct gangsched_named_count {
  const char* name;
  int64_t amount;
} gangsched_named_count;

typedef struct gangsched_named_counts {
  const gangsched_named_count* items;
  size_t count;
} gangsched_named_counts;

enum { GANGSCHED_ATTRIBUTE_TEXT = 0, GANGSCHED_ATTRIBUTE_NUMBER = 1, GANGSCHED_ATTRIBUTE_TRUTH = 2 };

typedef struct gangsched_attribute_value {
  int32_t type;      ///< GANGSCHED_ATTRIBUTE_TEXT …
  const char* text;  ///< of a text
  int64_t number;    ///< of a number; of a truth 0 is false
} gangsched_attribute_value;

typedef struct gangsched_attribute {
  const char* name;
  gangsched_attribute_value value;
} gangsched_attribute;

// --- of nodes

enum {
  GANGSCHED_MIG_OFF = 0,     ///< the GPU is used as a whole, or shared
  GANGSCHED_MIG_FIXED = 1,   ///< it is divided into the listed instances
  GANGSCHED_MIG_DYNAMIC = 2  ///< instances are made where a pod needs one
};

typedef struct gangsched_mig_instance {
  const char* profile;  ///< "1g.5gb"
  int32_t start;        ///< its first memory slice
} gangsched_mig_instance;

typedef struct gangsched_gpu {
  size_t struct_size;
  const char* id;  ///< its name in decisions ("GPU-8a…"); empty: its index
  bool unhealthy;
  bool has_numa;
  int32_t numa;  ///< NUMA cell, if `has_numa`
  bool has_pcie;
  int32_t pcie;  ///< PCIe switch, if `has_pcie`
  int32_t mig;   ///< GANGSCHED_MIG_OFF …
  const gangsched_mig_instance* instances;
  size_t instance_count;
} gangsched_gpu;

/// The path between two GPUs over PCIe, from farthest to closest: the codes of `nvidia-smi topo -m`.
enum {
  GANGSCHED_PATH_SYS = 0,
  GANGSCHED_PATH_NODE = 1,
  GANGSCHED_PATH_PHB = 2,
  GANGSCHED_PATH_PXB = 3,
  GANGSCHED_PATH_PIX = 4,
  GANGSCHED_PATH_BOARD = 5
};

typedef struct gangsched_gpu_link {
  int32_t nvlinks;  ///< 0 to 18
  int32_t path;     ///< GANGSCHED_PATH_SYS …
} gangsched_gpu_link;

/// GPUs that an NVSwitch machine can isolate from the others for one tenant.
typedef struct gangsched_gpu_partition {
  uint32_t gpus;  ///< bit i for the GPU with index i
  int32_t score;  ///< higher is better
} gangsched_gpu_partition;

/// How requests for a capacity are rounded: up to `least` and whole steps above it, or to one of `values`.
typedef struct gangsched_capacity {
  size_t struct_size;
  const char* name;  ///< "driver/name"
  int64_t amount;
  bool has_policy;  ///< false: any amount can be requested, and the rest is ignored
  bool has_standard, has_least, has_most, has_step;
  int64_t standard;  ///< for requests without an amount
  int64_t least, most, step;
  const int64_t* values;  ///< ascending
  size_t value_count;
} gangsched_capacity;

/// A NIC, an FPGA, a device of a DRA driver: anything that is no GPU of the node's class.
typedef struct gangsched_other_device {
  size_t struct_size;
  const char* id;
  const char* device_class;  ///< "rdma", "gpu.example.com"
  int64_t units;             ///< how much of it can be assigned; 0: 1
  bool unhealthy;
  bool has_numa;
  int32_t numa;
  bool has_pcie;
  int32_t pcie;
  const gangsched_attribute* attributes;
  size_t attribute_count;
  gangsched_named_counts consumes;  ///< of counters of the node, per unit
  const gangsched_capacity* capacities;
  size_t capacity_count;
  bool shared;  ///< by pods, and requests of one, as long as its capacities last
} gangsched_other_device;

/// Whether GPUs outside partitions may be assigned: if no partition of the size is free, or never.
enum { GANGSCHED_PARTITIONS_PREFER = 0, GANGSCHED_PARTITIONS_HONOR = 1 };

/// An instance's use of its GPU's video engines: none that another could lack, a share, the single set, or all.
enum { GANGSCHED_MEDIA_NONE = 0, GANGSCHED_MEDIA_ANY = 1, GANGSCHED_MEDIA_ONE = 2, GANGSCHED_MEDIA_ALL = 3 };

/// A kind of MIG instance, as `nvidia-smi mig -lgip` and `-lgipp` list them.
typedef struct gangsched_mig_profile {
  size_t struct_size;
  const char* name;          ///< "1g.5gb"
  uint8_t compute_slices;    ///< the g of the name
  uint8_t memory_slices;     ///< adjacent ones
  uint8_t starts;            ///< bit s: an instance may begin at memory slice s
  uint8_t max_instances;     ///< on an empty GPU; 0: as many as the rest allows
  int32_t media;             ///< GANGSCHED_MEDIA_NONE …
  uint16_t multiprocessors;  ///< 0: unknown
  uint32_t memory_mib;       ///< usable memory; 0: unknown
} gangsched_mig_profile;

/// The instances that a GPU can be divided into, of a product that the library does not know by its model.
typedef struct gangsched_mig_table {
  size_t struct_size;
  const char* name;
  uint8_t compute_slices, memory_slices;  ///< of the GPU: 1 to 8
  const gangsched_mig_profile* profiles;  ///< 1 to 64
  size_t profile_count;
} gangsched_mig_table;

typedef struct gangsched_numa_cpu {
  uint32_t id, core, socket;  ///< numbers of cores are different across the whole node
  uint32_t uncore_cache;      ///< the last-level cache that it shares; where none is reported the socket
} gangsched_numa_cpu;

typedef struct gangsched_hugepages {
  uint64_t page_bytes;
  uint64_t bytes;  ///< available to containers
} gangsched_hugepages;

typedef struct gangsched_numa_cell {
  size_t struct_size;
  uint32_t id;
  const gangsched_numa_cpu* cpus;  ///< none: memory only
  size_t cpu_count;
  uint64_t memory_bytes;  ///< available to containers, without huge pages
  const gangsched_hugepages* hugepages;
  size_t hugepage_count;
  const uint32_t* distances;  ///< to every cell by ascending id, 10 to 254; all cells have them or none
  size_t distance_count;
} gangsched_numa_cell;

/// kubelet's topologyManagerPolicy.
enum {
  GANGSCHED_NUMA_NONE = 0,
  GANGSCHED_NUMA_BEST_EFFORT = 1,
  GANGSCHED_NUMA_RESTRICTED = 2,
  GANGSCHED_NUMA_SINGLE_CELL = 3
};
/// How a pod's own CPUs lie on cores (koord-scheduler's bind policies): it has none, whole cores, one of each core.
enum { GANGSCHED_CPUS_NONE = 0, GANGSCHED_CPUS_FULL_CORES = 1, GANGSCHED_CPUS_SPREAD_BY_CORES = 2 };
/// CPUs that they do not share, if possible: no core, or no cell, with CPUs of pods of the same policy.
enum { GANGSCHED_CPUS_TOGETHER = 0, GANGSCHED_CPUS_APART_BY_CORE = 1, GANGSCHED_CPUS_APART_BY_CELL = 2 };

/// A node's NUMA cells, and the settings of its kubelet.
typedef struct gangsched_node_numa {
  size_t struct_size;
  const gangsched_numa_cell* cells;
  size_t cell_count;
  int32_t policy;       ///< GANGSCHED_NUMA_NONE …
  bool whole_pods;      ///< topologyManagerScope pod; false: container
  bool prefer_closest;  ///< its option prefer-closest-numa-nodes: the cells must have distances
  bool static_cpus;     ///< cpuManagerPolicy static; what follows are its options
  bool full_pcpus_only, distribute_cpus_across_numa, align_by_socket, distribute_cpus_across_cores;
  bool strict_cpu_reservation, prefer_align_cpus_by_uncorecache;
  bool static_memory;             ///< memoryManagerPolicy Static
  const uint32_t* reserved_cpus;  ///< reservedSystemCPUs
  size_t reserved_cpu_count;
  int32_t cpu_bind;           ///< GANGSCHED_CPUS_NONE …: required of Guaranteed pods and those that bind CPUs anyway
  bool most_allocated_cells;  ///< bound CPUs come from the cells with the fewest free ones; false: with the most
  int32_t cpu_amplification_percent;  ///< allocatable CPU is so much of the real amount; 0: 100
} gangsched_node_numa;

/// How a share's memory is counted: in MiB, or in the unit of its request, MiB or hundredths (Koordinator's rule).
enum { GANGSCHED_GPU_MEMORY_MIB = 0, GANGSCHED_GPU_MEMORY_AS_ASKED = 1 };

/// All devices of a node. At most 16 GPUs, which are of one model, and 1,024 others; with `numa` 256 of each class.
struct gangsched_node_devices {
  size_t struct_size;
  const char* model;           ///< "NVIDIA-A100-SXM4-40GB": what pods name, and the key of the MIG table
  int64_t memory_mib;          ///< of each GPU; 0: unknown, and memory cannot be requested
  int32_t compute_capability;  ///< 80: 8.0
  int32_t replicas;            ///< pods that share one GPU by time-slicing or MPS; 0: 1
  const char* resource;        ///< the extended resource that counts them; empty: "nvidia.com/gpu"
  const gangsched_gpu* gpus;
  size_t gpu_count;
  const gangsched_gpu_link* links;  ///< row by row, GPUs × GPUs; none: derived from PCIe switches and NUMA cells
  size_t link_count;
  const gangsched_gpu_partition* partitions;  ///< that the fabric manager allows; none: no restriction
  size_t partition_count;
  int32_t partition_policy;  ///< GANGSCHED_PARTITIONS_PREFER …
  const gangsched_other_device* others;
  size_t other_count;
  gangsched_named_counts counters;       ///< "set/counter" and its total
  const gangsched_mig_table* mig_table;  ///< null: that of `model`, if known
  const gangsched_node_numa* numa;       ///< pods get CPUs, memory and devices as from a kubelet; null: unknown
  int32_t memory_rule;                   ///< GANGSCHED_GPU_MEMORY_MIB …
};

// --- of pods and claims

enum {
  GANGSCHED_EQUAL = 0,
  GANGSCHED_NOT_EQUAL = 1,
  GANGSCHED_LESS = 2,
  GANGSCHED_LESS_EQUAL = 3,
  GANGSCHED_GREATER = 4,
  GANGSCHED_GREATER_EQUAL = 5,
  GANGSCHED_ONE_OF = 6,
  GANGSCHED_HAS = 7,
  GANGSCHED_HAS_NOT = 8
};

/// A condition on a device: attributes are compared by their types; different types never match.
typedef struct gangsched_attribute_selector {
  const char* attribute;
  int32_t op;                               ///< GANGSCHED_EQUAL …
  const gangsched_attribute_value* values;  ///< one, or for GANGSCHED_ONE_OF any number
  size_t value_count;
} gangsched_attribute_selector;

/// How close devices have to be: anywhere in the node, at one NUMA cell, behind one PCIe switch, in one NVLink clique.
enum { GANGSCHED_SCOPE_NODE = 0, GANGSCHED_SCOPE_NUMA = 1, GANGSCHED_SCOPE_PCIE = 2, GANGSCHED_SCOPE_NVLINK = 3 };

typedef struct gangsched_device_request gangsched_device_request;
/// Some devices of one kind, all on the pod's node. GPUs are requested as a whole, as a share, or as MIG instances.
struct gangsched_device_request {
  size_t struct_size;
  const char* name;          ///< the host's own name, never read
  const char* device_class;  ///< empty: "gpu", or the driver that `cel` names
  int32_t count;             ///< the number of different devices; 0: 1

  // GPUs
  bool has_milli;
  int32_t milli;            ///< thousandths of each, if `has_milli`; else 1000: exclusive
  int64_t memory_mib;       ///< of each, for a share
  int32_t memory_percent;   ///< or in hundredths of its memory
  const char* mig_profile;  ///< "1g.5gb"
  gangsched_texts models;   ///< any of these; none: every model
  int64_t least_memory_mib;
  int32_t least_compute_capability;
  int32_t within;  ///< GANGSCHED_SCOPE_NODE …: all of them inside one
  bool within_preferred;

  // other devices
  int64_t units;  ///< of each; 0: 1
  bool all;       ///< every device that matches the selectors (DRA allocationMode All)
  bool admin;     ///< access without using up anything (DRA adminAccess)
  const gangsched_attribute_selector* selectors;
  size_t selector_count;
  gangsched_texts
      cel;  ///< selectors as DRA writes them, in the part of CEL that the component kube reads (docs/kubernetes.md)
  gangsched_named_counts capacities;  ///< how much of each every device must have; of a shared one: uses up
  int32_t beside_gpus;                ///< GANGSCHED_SCOPE_NODE …: where the pod's GPUs are
  bool beside_preferred;

  const gangsched_device_request* first_of;  ///< DRA firstAvailable: these in turn instead of the fields above
  size_t first_of_count;
  uint16_t container;  ///< number of the container that uses them
};

/// A request, and one of its `first_of`.
typedef struct gangsched_alternative {
  int32_t request, place;
} gangsched_alternative;

/// A constraint on the devices of several requests (DRA's constraints). A device without the attribute does not satisfy it.
typedef struct gangsched_device_constraint {
  const char* attribute;    ///< "driver/name"
  bool distinct;            ///< no two have the same value; else all do
  const int32_t* requests;  ///< numbers of its requests; none, without alternatives: all
  size_t request_count;
  const gangsched_alternative* alternatives;
  size_t alternative_count;
} gangsched_device_constraint;

/// A device that a pod which others bound already holds.
typedef struct gangsched_held_device {
  size_t struct_size;
  const char* id;
  bool has_request;
  int32_t request;  ///< number among the requests, if `has_request`; else the first unserved one about such devices
  bool has_mig_start;
  int32_t mig_start;                  ///< of a MIG instance: its first memory slice, if `has_mig_start`
  gangsched_named_counts capacities;  ///< of a shared device; none: what the request says
} gangsched_held_device;

/// Devices that pods share (Kubernetes' ResourceClaim), all on one node: they are allocated where the first pod that names the claim is
/// placed, and released when the last one has left.
typedef struct gangsched_resource_claim_spec {
  size_t struct_size;
  const char* name;
  const char* ns;  ///< empty: "default"
  const gangsched_device_request* devices;
  size_t device_count;
  const gangsched_device_constraint* constraints;
  size_t constraint_count;
  bool has_most_pods;
  int32_t most_pods;  ///< on nodes at once, if `has_most_pods`, 0: no limit; else 256, as in Kubernetes
  const gangsched_held_device* held_devices;  ///< its devices if others bound its pods
  size_t held_device_count;
  gangsched_node_id node;  ///< where it is allocated before a pod uses it
} gangsched_resource_claim_spec;

/// A zone or region label of a volume: the node must have one of the values.
typedef struct gangsched_volume_zone {
  const char* key;
  gangsched_texts values;
} gangsched_volume_zone;
/// A disk that pods on one node cannot share, unless both only read it.
typedef struct gangsched_used_disk {
  const char* id;
  bool read_only;
} gangsched_used_disk;
/// A volume that its driver attaches to the node.
typedef struct gangsched_attached_volume {
  const char* driver;
  const char* id;
} gangsched_attached_volume;

/// The constraints of a pod's volumes on nodes, as the host resolved its claims of volumes.
struct gangsched_pod_volumes {
  size_t struct_size;
  bool unbound_claims;  ///< a claim has to be bound first: no node is feasible
  bool has_nodes;
  gangsched_texts nodes;  ///< names of the nodes where the claims are, or can be, bound, if `has_nodes`; else all nodes
  const gangsched_volume_zone* zones;
  size_t zone_count;
  const gangsched_used_disk* disks;
  size_t disk_count;
  gangsched_texts exclusive_claims;  ///< ReadWriteOncePod, by name: one pod in the whole cluster
  const gangsched_attached_volume* attachments;
  size_t attachment_count;
  bool has_bindable_nodes;
  gangsched_texts
      bindable_nodes;  ///< nodes where claims without a volume find or get one, if `has_bindable_nodes`; else all
  const char*
      claim_problem;  ///< why no node is feasible: a claim that is missing, lost or being deleted; null: no such reason
};

#ifdef __cplusplus
}
#endif
