#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gangsched/src/kube/devices/device_taints.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"

/// Devices: what nodes' labels and other objects say of them, and what pods ask for in the words of one ecosystem or another.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// The GPUs that labels of discovery daemons and the annotations of this library tell of. After the rest of the node.
bool read_gpu_labels(reader& read, const place& of, const label_map& annotations, node_spec& out);

/// What @p out asks for beside counted resources: by resources and annotations of systems that share GPUs, and by our own annotation.
/// After the rest of the pod; @p of has its metadata and spec.
bool read_device_requests(reader& read, const place& of, pod_manifest& out);
/// As if that had not been read: containers request again what devices stood for.
void forget_device_requests(pod_manifest& pod);

/// What a running pod's claim for extended resources is called among its claims: as upstream does, no name that it could have given.
inline constexpr std::string_view extended_claim_name = "<extended-resources>";

// --- objects beside nodes and pods

/// Koordinator's Device: what is in the node of its name.
struct device_object {
  std::string node;
  node_devices has;
  std::map<std::pair<std::string, std::int64_t>, std::string> ids;  ///< by type and minor
  origin from;
};
bool read_device_object(reader& read, const place& of, device_object& out);
/// Those of NVSwitch machines whose GPUs koord-scheduler knows by the node's labels, which then also say whether they are honored.
void add_known_partitions(node_spec& node);

/// A NodeResourceTopology: the NUMA cells of the node of its name.
struct node_topology_object {
  std::string node;
  node_numa has;
  std::map<std::string, std::map<std::uint32_t, std::int64_t>> counted;  ///< devices: how many of a resource a cell has
  origin from;
};
bool read_node_topology(reader& read, const place& of, node_topology_object& out);
/// koord-scheduler's words on a node: how CPUs are bound there, and by how much CPU is amplified. After its NodeResourceTopology.
std::optional<error> read_cpu_rules(const node_manifest& node, std::string object, node_numa& to);
/// And on a pod: whether it has CPUs of its own. @p of has its metadata.
bool read_cpu_binding(reader& read, const place& of, pod_manifest& out);
/// The numbers of "0-3,8"; nothing if it is no such list.
std::optional<std::vector<std::uint32_t>> parse_cpu_list(std::string_view list);

/// A ResourceSlice (DRA), as far as one node has the devices.
struct resource_slice {
  std::string name, node, driver, pool;
  std::int64_t generation = 0;
  std::int64_t pool_slices = 0;  ///< how many slices the pool has in that generation; 0: it is not said
  std::vector<other_device> devices;
  std::vector<std::vector<device_taint>> taints;  ///< of each device
  sorted_map<std::int64_t> counters;
  origin from;
};
bool read_resource_slice(reader& read, const place& of, resource_slice& out);

/// A DeviceTaintRule: a taint of all devices that it selects.
struct device_taint_rule {
  /// What it does not say selects all; absent: it selects none.
  struct selector {
    std::string driver, pool, device;
  };
  std::optional<selector> selects = {};
  std::vector<device_taint> taints = {};  ///< one, or none
  [[nodiscard]] bool is_about(const resource_slice& slice, const other_device& one) const {
    const auto fits = [](const std::string& wanted, const std::string& is) { return wanted.empty() || wanted == is; };
    return selects && fits(selects->driver, slice.driver) && fits(selects->pool, slice.pool) &&
           fits(selects->device, one.id);
  }
  origin from = {};
};
bool read_device_taint_rule(reader& read, const place& of, device_taint_rule& out);

/// Of devices that several claims may have at once (allowMultipleAllocations): an attribute for selectors that ask about it.
inline constexpr const char* shared_attribute = "gangsched.dev/allow-multiple-allocations";

/// What some expressions of CEL, all of which must hold, say of a device.
struct cel_terms {
  std::string driver = {};  ///< empty: any
  std::vector<attribute_selector> selectors = {};
  bool ask_host = false;                      ///< what is not understood becomes expressions
  std::vector<std::string> expressions = {};  ///< for the host to evaluate
  std::string unknown = {};                   ///< what was not understood: pods that use this cannot be placed
  std::string unknown_field = {};             ///< and where it stands
};
/// Adds what @p expression says. Says what of it is not understood; nothing if all of it is.
std::optional<std::string> read_cel(std::string_view expression, cel_terms& out);
/// "model" of the driver gpu.example.com is gpu.example.com/model.
std::string qualified(std::string_view driver, std::string_view name);

struct device_class {
  std::string name;
  std::string resource =
      {};             ///< extended resource that stands for its devices, beside the one that is called after the class
  instant created{};  ///< of several of one resource the newest counts
  cel_terms terms;
  origin from;
};
bool read_device_class(reader& read, const place& of, device_class& out);

/// A request of a claim before its class is known.
struct claimed_request {
  device_request made;  ///< name, count, all, admin, capacities as the claim calls them
  std::string device_class;
  cel_terms terms;
  device_tolerations tolerations = {};
  std::vector<claimed_request> first_available = {};
};
/// A device that a claim has.
struct allocated_device {
  std::string request, device;  ///< the device as its driver, pool and name
  sorted_map<std::int64_t> capacities = {};
  device_tolerations tolerations = {};
};
/// A constraint by the names of its requests.
struct claimed_constraint {
  device_constraint made;  ///< attribute, distinct
  std::vector<std::string> requests = {};
};
/// What a ResourceClaim, or its template, says.
struct claim_object {
  bool is_template = false;
  bool of_group = false;  ///< a pod group has reserved it
  bool ask_host = false;  ///< as in `cel_terms`
  std::string name, ns;
  std::vector<claimed_request> requests;
  std::vector<claimed_constraint> constraints;
  std::vector<allocated_device> allocated;
  origin from;
};
/// Of a claim, AllocationResultsMaxSize in Kubernetes.
inline constexpr std::int64_t most_claimed_devices = 32;
/// The fewest devices that it can be allocated with, but for requests for all of a node's.
std::int64_t fewest_devices(const claim_object& claim);
std::string too_many_devices(std::int64_t fewest);
bool read_claim_object(reader& read, const place& of, claim_object& out);
/// NVIDIA's ComputeDomain: the template that its controller makes for claims of a channel.
bool read_compute_domain(reader& read, const place& of, claim_object& out);

struct device_objects {
  std::vector<device_object> devices;
  std::vector<node_topology_object> topologies;
  std::vector<resource_slice> slices;
  std::vector<device_taint_rule> taint_rules;
  std::vector<device_class> classes;
  std::vector<claim_object> claims;
  std::vector<claim_object> made_templates;  ///< by controllers, unless a template of the name is among the claims
  bool ask_host = false;                     ///< the host evaluates what is not understood of selectors
};

/// Reads an object of one of these kinds; nothing if it is none.
std::optional<bool> read_device_family(reader& read, const place& of, std::string_view api_group, std::string_view kind,
                                       origin from, device_objects& out);
/// The newest generation of each pool, by driver and pool.
using pool_generations = std::map<std::pair<std::string, std::string>, std::int64_t>;
pool_generations newest_generations(const device_objects& objects);
/// Of a pool that is being updated, or has a device twice, upstream gives out nothing (GatherPools of dynamic-resource-allocation): its
/// devices become unhealthy, with a warning, but for those that a claim has, which are in @p held (`full_name`). O(devices · log devices).
void keep_back_pools(manifests& into, device_objects& objects, const pool_generations& newest,
                     const std::set<std::string>& held);
/// "driver/pool/device"
std::string full_name(const resource_slice& in, const other_device& device);

/// Devices go to their nodes, claims to the pods that name them. Error: they do not fit together.
std::optional<error> link_devices(manifests& into, device_objects& objects, instant now);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
