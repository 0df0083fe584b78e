#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/core/quantity.hpp"
#include "gangsched/core/sorted_map.hpp"
#include "gangsched/devices/device_spec.hpp"
#include "gangsched/model/affinity_spec.hpp"
#include "gangsched/model/group_spec.hpp"
#include "gangsched/model/reservation_spec.hpp"

/// What a host passes to a `cluster`: plain structs with Kubernetes' names and meaning. They are checked when they are passed.
namespace gangsched::inline GANGSCHED_ABI {

/// Amounts by resource name: "cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "nvidia.com/gpu", …
using resource_list = sorted_map<quantity>;

/// A port of a container, as far as it takes one of its node's.
struct container_port {
  std::int32_t host_port = 0;  ///< 0: none
  gangsched::protocol protocol = gangsched::protocol::tcp;
  std::string host_ip = {};  ///< "" and "0.0.0.0": every address
};

/// A container of a pod.
struct container {
  resource_list requests = {};
  std::string image = {};
  std::vector<container_port> ports = {};
  bool sidecar = false;  ///< an init container with restartPolicy Always
  /// Its limits. Scheduling reserves nothing for them; load-aware plugins read them. May be below the request.
  resource_list limits = {};
};

/// A pod's own estimate of its load, which LoadAwareScheduling uses in place of the general one if it is configured to.
struct load_estimate {
  std::optional<std::int64_t> cpu_percent = {}, memory_percent = {};    ///< of the larger of request and limit
  std::optional<instant> after_scheduled = {}, after_initialized = {};  ///< so long it counts whatever was measured
  friend bool operator==(const load_estimate&, const load_estimate&) = default;
};
/// A zone or region label of a volume: the node must have one of the values.
struct volume_zone {
  std::string key;
  std::vector<std::string> values;
};
/// A disk that pods on one node cannot share, unless both only read. The id is the host's: equal ids, equal disks.
struct used_disk {
  std::string id;
  bool read_only = false;
};
/// A volume that its driver attaches to the node.
struct attached_volume {
  std::string driver;
  std::string id;
};

/// The constraints of a pod's volumes on nodes. The library has no PersistentVolumeClaims: the host resolves them into this.
struct pod_volumes {
  bool unbound_claims = false;                         ///< a claim has to be bound first: no node is feasible
  std::optional<std::vector<std::string>> nodes = {};  ///< where the claims are, or can be, bound; absent: everywhere
  std::vector<volume_zone> zones = {};
  std::vector<used_disk> disks = {};
  std::vector<std::string> exclusive_claims = {};  ///< ReadWriteOncePod, by name: one pod in the whole cluster
  std::vector<attached_volume> attachments = {};
  /// Where its claims without a volume find or get one; absent: everywhere. `nodes` is then about those that are bound.
  std::optional<std::vector<std::string>> bindable_nodes = {};
  /// Why no node is feasible, in kube-scheduler's words: a claim that is missing, lost or being deleted. Empty: no such reason.
  std::string claim_problem = {};
};

/// Devices that pods share (Kubernetes' ResourceClaim). All are on one node: they are allocated where the first pod that names the claim is
/// placed, later pods go there too, and when the last pod has left the node they are released.
struct resource_claim_spec {
  std::string name;
  std::string ns = "default";
  std::vector<device_request> devices = {};
  std::vector<device_constraint> constraints = {};
  std::int32_t most_pods = 256;  ///< on nodes at once, as in Kubernetes; 0: any number (KEP-5729: it is a group's)
  std::vector<held_device> held_devices = {};  ///< its devices if others bound its pods; empty: the library guesses
  /// where it is allocated before a pod uses it: it stays allocated until a pod that uses it runs, or it is deallocated
  node_id node = {};
};

/// Everything that a scheduler reads of a pod.
struct pod_spec {
  std::string name;
  std::string ns = "default";
  label_map labels = {};
  std::vector<container> containers = {};
  std::vector<container> init_containers = {};
  std::vector<std::string> image_volumes = {};
  pod_volumes volumes = {};
  std::optional<resource_list> resources = {};  ///< pod-level requests
  resource_list overhead = {};
  bool guaranteed = false;     ///< status.qosClass is Guaranteed: where NUMA cells are known it gets CPUs and memory
  cpu_binding bind_cpus = {};  ///< there, CPUs for the pod as one, from the scheduler (NodeNUMAResource)
  std::vector<device_request> devices = {};                ///< beside the resources that containers request by number
  std::vector<device_constraint> device_constraints = {};  ///< on `devices`
  std::vector<resource_claim_id> resource_claims = {};     ///< of its namespace, each once: devices that it shares
  std::vector<held_device> held_devices = {};  ///< with `node`: its devices there; empty: the library guesses
  label_map node_selector = {};
  node_affinity affinity = {};              ///< affinity.nodeAffinity
  pod_affinity affinity_to_pods = {};       ///< affinity.podAffinity
  pod_affinity anti_affinity_to_pods = {};  ///< affinity.podAntiAffinity
  std::vector<toleration> tolerations = {};
  std::vector<topology_spread> topology_spread_constraints = {};
  std::optional<std::int32_t> priority = {};  ///< absent: of the priority class, of the default class, else 0
  std::string priority_class = {};
  /// Used without a priority class; with one, the class's policy counts, and `never` here beside another policy is an error.
  gangsched::preemption_policy preemption = gangsched::preemption_policy::preempt_lower_priority;
  std::string scheduler_name = "default-scheduler";  ///< of the profile that is for the pod
  std::vector<std::string> scheduling_gates = {};
  std::vector<std::string> required_features = {};  ///< that its node has to declare; a set
  std::string required_node = {};         ///< spec.nodeName of a pod that is still to be scheduled: what NodeName reads
  group_id group = {};                    ///< its gang or basic group; it may be only expected
  std::string role = {};                  ///< its role in the group ("head", "worker"), for minimums by role
  std::optional<std::int32_t> rank = {};  ///< its index in the group: neighbours in rank are placed close to each other
  node_id node = {};                      ///< the node that it is bound to (by others, or before a restart)
  node_id nominated_node = {};
  std::string queue = {};      ///< empty: that of the nearest group above it that names one, else its namespace's
  std::string held_room = {};  ///< the room that is held for it, by name (`held_room_spec`); there need not be any
  std::optional<reservation_spec> reservation = {};  ///< it is one: what it requests is held for others
  std::optional<gangsched::reservation_affinity> reservation_affinity = {};  ///< the reservation that it must be in
  std::vector<std::string> exact_reservation = {};  ///< resources that its reservation must match exactly
  bool ignores_reservations = false;  ///< what reservations have left is free to it, and it draws from none
  pod_id draws_from = {};             ///< with `node`: the reservation there that it was allocated from
  bool terminating = false;
  bool preempted = false;  ///< beside terminating: condition DisruptionTarget is true, reason PreemptionByScheduler
  std::optional<instant> start_time = {};
  /// How long it is expected to run, from `start_time`, or else from when a scheduler assigned its node, if this was said by then; 0:
  /// unknown. Backfill relies on it (`scheduler_options::backfill`); pods that run longer are left alone.
  instant expected_run_time{0};
  /// `deadline`: the time by which it should have ended, so that it has to start by `deadline − expected_run_time`. `max_wait`: the longest
  /// time to wait, from when it entered the queue (0: no limit). If unset, the nearest group above sets it. For LeastSlackSort and Deadline
  /// (docs/deadlines.md); a pod that runs longer is left alone.
  std::optional<instant> deadline = {};
  instant max_wait{0};
  load_estimate load = {};
  controller_ref controller = {};
  std::uint64_t cookie = 0;  ///< the host's own number, returned with every decision
};

/// Room on nodes that is held for its owners, the pods that name it (Koordinator's Reservation, without its life cycle): for all other pods
/// it is used. What an owner requests on such a node is drawn from it, and returns to it when the pod leaves; beyond that owners use what
/// is free there, like all pods.
struct held_room_spec {
  struct part {
    node_id node;
    resource_list amounts = {};
  };
  std::string name;
  std::vector<part> parts = {};  ///< each node once
};

/// A removed pod.
struct removed_pod {
  pod_id id;  ///< no longer valid
  std::string ns, name;
  std::uint64_t cookie = 0;
};

/// An image that a node has (status.images), by all of its names.
struct node_image {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
};

/// Everything that a scheduler reads of a node.
struct node_spec {
  std::string name;
  label_map labels = {};
  std::vector<taint> taints = {};
  resource_list allocatable = {};
  resource_list capacity = {};                  ///< for information; scheduling reads allocatable
  sorted_map<std::int32_t> volume_limits = {};  ///< volumes it can attach, by driver
  std::vector<node_image> images = {};
  std::vector<std::string> declared_features = {};  ///< status.declaredFeatures; a set
  node_devices devices = {};                        ///< empty: unknown; then only counted resources are checked
  bool unschedulable = false;
  std::uint64_t cookie = 0;
};

/// A PriorityClass.
struct priority_class_spec {
  std::string name;
  std::int32_t value = 0;
  bool global_default = false;  ///< of pods that name no class
  gangsched::preemption_policy preemption = gangsched::preemption_policy::preempt_lower_priority;
  /// PreemptionToleration: preemptors of at least this priority (absent: above `value`) preempt its pods at once, others only after so many
  /// seconds, or never, if that is negative.
  std::optional<std::int32_t> minimum_preemptable = {};
  std::int64_t toleration_seconds = 0;
};

/// A Service, as far as scheduling reads it.
struct service_spec {
  std::string name;
  std::string ns = "default";
  label_map selector = {};  ///< empty: selects nothing
};

/// A ReplicationController, ReplicaSet or StatefulSet.
struct controller_spec {
  controller_kind kind = controller_kind::replica_set;
  std::string name;
  std::string ns = "default";
  std::optional<label_selector> selector = {};
};

/// A Namespace: its labels, for namespace selectors.
struct namespace_spec {
  std::string name;
  label_map labels = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI
