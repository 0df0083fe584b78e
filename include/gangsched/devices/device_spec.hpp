#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gangsched/core/sorted_map.hpp"
#include "gangsched/devices/cpu_binding.hpp"
#include "gangsched/devices/cpu_manager.hpp"
#include "gangsched/devices/gpu_machines.hpp"
#include "gangsched/devices/gpu_partitions.hpp"
#include "gangsched/devices/mig.hpp"
#include "gangsched/devices/numa_hints.hpp"
#include "gangsched/devices/numa_topology.hpp"

/// The devices of a node and a pod's requests for them, as a host describes them: plain structs, checked when they are passed.
namespace gangsched::inline GANGSCHED_ABI {

/// How close devices have to be: anywhere in the node, at one NUMA cell, behind one PCIe switch, in one NVLink clique.
enum class device_scope : std::uint8_t { node, numa, pcie, nvlink };

/// What a node's GPU is used as.
enum class mig_mode : std::uint8_t {
  off,      ///< the GPU is used as a whole, or shared
  fixed,    ///< it is divided into the listed instances
  dynamic,  ///< instances are made where a pod needs one: the library chooses profile and start
};

/// A GPU instance that exists, by profile name ("1g.5gb") and first memory slice.
struct mig_instance {
  std::string profile;
  std::int32_t start = 0;
};

/// One GPU of a node.
struct gpu_spec {
  std::string id = {};  ///< its name in decisions ("GPU-8a…"); empty: its index
  bool healthy = true;
  std::int32_t numa = -1;  ///< NUMA cell; −1: not known
  std::int32_t pcie = -1;  ///< PCIe switch; −1: not known
  mig_mode mig = mig_mode::off;
  std::vector<mig_instance> instances = {};  ///< of a fixed one
};

/// How a share's memory is counted: in MiB, or in the unit of its request (Koordinator: MiB and hundredths are both counted for every
/// share, hundredths rounded down, so that the part of a hundredth that shares by MiB use may be promised twice).
enum class gpu_memory_rule : std::uint8_t { mib, as_asked };

/// The properties that all GPUs of a node share.
struct gpu_class {
  std::string model = {};                   ///< "NVIDIA-A100-SXM4-40GB": what pods name, and the key of the MIG table
  std::int64_t memory_mib = 0;              ///< of each; 0: unknown, and memory cannot be requested
  std::int32_t compute_capability = 0;      ///< 80: 8.0
  std::int32_t replicas = 1;                ///< pods that share one GPU by time-slicing or MPS
  std::string resource = "nvidia.com/gpu";  ///< the extended resource that counts them
  std::vector<gpu_link> links = {};  ///< row by row, GPUs × GPUs; empty: derived from PCIe switches and NUMA cells
  std::vector<gpu_partition> partitions = {};  ///< that the fabric manager allows; empty: no restriction
  gpu_partition_policy partition_policy = gpu_partition_policy::prefer;
  std::optional<mig_table> mig = {};  ///< of a product that the library does not know by `model`
  gpu_memory_rule memory_rule = gpu_memory_rule::mib;
};

using device_attribute = std::variant<bool, std::int64_t, std::string>;

/// What a device takes of a counter that devices of a node share, per unit (KEP-4815).
struct counter_use {
  std::string counter;  ///< "set/counter"
  std::int64_t amount = 0;
};

/// How requests for a capacity are rounded (KEP-5075): up to `least` and whole steps above it, or to one of `values`. A result above
/// `most`, or above all values, is not served.
struct capacity_policy {
  std::optional<std::int64_t> standard = {};  ///< for requests without an amount; else the total
  std::vector<std::int64_t> values = {};      ///< ascending
  std::optional<std::int64_t> least = {};     ///< a range, instead of values; may have most and step
  std::optional<std::int64_t> most = {};
  std::optional<std::int64_t> step = {};
};

/// How much of something a device has.
struct capacity_spec {
  std::int64_t amount = 0;
  std::optional<capacity_policy> policy = {};  ///< absent: any amount can be requested
};

/// A NIC, an FPGA, a device of a DRA driver: anything that is no GPU of `gpu_class`.
struct other_device {
  std::string id;
  std::string device_class;  ///< "rdma", "fpga", "gpu.example.com"
  std::int64_t units = 1;    ///< how much of it can be assigned: virtual functions, replicas; 1: to one pod
  bool healthy = true;
  std::int32_t numa = -1;
  std::int32_t pcie = -1;
  sorted_map<device_attribute> attributes = {};
  std::vector<counter_use> consumes = {};
  sorted_map<capacity_spec> capacities = {};  ///< "driver/name"; selectors know them as `capacity_attribute`
  bool shared =
      false;  ///< while its capacities last (allowMultipleAllocations), also by requests of one pod: units is 1
};

/// The name of a capacity in selectors: there may be an attribute of the same name.
[[nodiscard]] inline std::string capacity_attribute(std::string_view name) { return "capacity." + std::string{name}; }

/// The host's answer about a device and an expression.
struct device_verdict {
  bool matches = false;
  std::string error = {};  ///< why it cannot be evaluated, or empty; a request that meets the device is unschedulable
};
/// Evaluates `device_request::expressions`, in any language. Must be a pure function that does not use the cluster. Exceptions other than
/// `std::bad_alloc`, which passes through the call, are errors. It is called once for each expression and kind of device: id and health of
/// the device, which differ between nodes, are not passed.
struct device_matcher {
  device_verdict (*ask)(void* context, std::string_view expression,
                        const other_device& device) = nullptr;  ///< null: there is none
  void* context = nullptr;                                      ///< the host's own; lives as long as the cluster
};

/// A node's NUMA cells, and the settings of its kubelet, by their names there.
struct node_numa {
  std::vector<numa_cell> cells = {};
  numa_policy policy = numa_policy::none;    ///< topologyManagerPolicy
  numa_scope scope = numa_scope::container;  ///< topologyManagerScope
  bool prefer_closest = false;               ///< its option prefer-closest-numa-nodes: the cells must have distances
  cpu_policy cpu = {};                       ///< cpuManagerPolicy and its options
  bool static_memory = false;                ///< memoryManagerPolicy Static
  std::vector<std::uint32_t> reserved_cpus = {};  ///< reservedSystemCPUs

  // koord-scheduler's settings
  cpu_bind_policy cpu_bind = cpu_bind_policy::none;  ///< required of Guaranteed pods and those that bind CPUs anyway
  /// The cells that bound CPUs come from.
  numa_allocate_strategy cpu_strategy = numa_allocate_strategy::least_allocated;
  std::int32_t cpu_amplification_percent = 100;  ///< allocatable CPU of the real amount; a bound CPU counts as much
};

/// All devices of a node. At most 16 GPUs, and 1,024 others; where `numa` is told 256 of each class.
struct node_devices {
  gpu_class gpu = {};
  std::vector<gpu_spec> gpus = {};
  std::vector<other_device> others = {};
  sorted_map<std::int64_t> counters = {};  ///< "set/counter" and its total
  std::optional<node_numa> numa = {};      ///< set: pods get CPUs, memory and devices as from a kubelet
};

/// The GPUs of a known machine: links, PCIe switches and NUMA cells are filled in, the host adds the rest.
[[nodiscard]] GANGSCHED_API node_devices make_node_devices(gpu_machine machine, std::string model = {},
                                                           std::int64_t memory_mib = 0);

enum class attribute_operator : std::uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  exists,
  absent
};

/// A condition on a device: attributes are compared by their types; different types never match.
struct attribute_selector {
  std::string attribute;
  attribute_operator op = attribute_operator::exists;
  std::vector<device_attribute> values = {};  ///< one, or for `in` any number
};

/// Some devices of one kind, all on the pod's node. GPUs are requested as a whole, as a share, or as MIG instances.
struct device_request {
  std::string name = {};             ///< the host's own name, never read: decisions have the request's number
  std::string device_class = "gpu";  ///< "gpu", or the class of other devices
  /// The number of different devices (for MIG: of instances). The whole GPUs must be as many as containers request by number, if they do.
  std::int32_t count = 1;

  // GPUs
  std::int32_t milli = 1000;             ///< thousandths of each; 1000: exclusive
  std::int64_t memory_mib = 0;           ///< of each, for a share
  std::int32_t memory_percent = 0;       ///< or in hundredths of its memory, rounded down to MiB
  std::string mig_profile = {};          ///< "1g.5gb"; then milli and memory are ignored
  std::vector<std::string> models = {};  ///< any of these; empty: every model
  std::int64_t least_memory_mib = 0;     ///< how much memory the GPU must have in all
  std::int32_t least_compute_capability = 0;
  device_scope within = device_scope::node;  ///< all of them inside one
  bool within_preferred = false;             ///< if there is one, else anywhere

  // other devices
  std::int64_t units = 1;  ///< of each
  bool all = false;        ///< every device that matches the selectors, however many (DRA allocationMode All)
  bool admin = false;      ///< access without using up anything (DRA adminAccess)
  std::vector<attribute_selector> selectors = {};
  std::vector<std::string> expressions = {};      ///< all must hold, after selectors: the host's `device_matcher` says
  sorted_map<std::int64_t> capacities = {};       ///< how much of each every device must have; of a shared one: uses up
  device_scope beside_gpus = device_scope::node;  ///< where the pod's GPUs are: one per switch or cell, then per GPU
  bool beside_preferred = false;

  std::vector<device_request> first_of = {};  ///< DRA firstAvailable: these in turn instead of the fields above
  std::uint16_t container = 0;  ///< the one that uses them, among `containers`: kubelets align container by container
};

/// A constraint on the devices of several requests of one pod, or of one claim (DRA's constraints). A device without the attribute does not
/// satisfy it. GPUs have none.
struct device_constraint {
  std::string attribute;                    ///< "driver/name"
  std::vector<std::int32_t> requests = {};  ///< numbers of its requests; empty, without alternatives: all others
  bool distinct = false;  ///< no two have the same value (distinctAttribute); else all do (matchAttribute)
  struct alternative {
    std::int32_t request;
    std::int32_t place;  ///< index in its `first_of`
  };
  std::vector<alternative> alternatives = {};  ///< requests that it also covers, where these were chosen
};

/// A device that a pod which others bound already holds. The request says how much of it. Exclusive CPUs have the id "cpu", memory in NUMA
/// cells "memory" or "hugepages-2Mi"; there the request is the container (init containers come first).
struct held_device {
  std::string id;
  std::int32_t request = -1;    ///< number among the pod's `devices`; −1: the first unserved one about such devices
  std::int32_t mig_start = -1;  ///< of a MIG instance: its first memory slice
  std::vector<std::uint32_t> places = {};    ///< the CPUs; of memory the ids of its NUMA cells
  std::uint64_t bytes = 0;                   ///< of memory
  sorted_map<std::int64_t> capacities = {};  ///< of a shared device; empty: what the request says
};

}  // namespace gangsched::inline GANGSCHED_ABI
