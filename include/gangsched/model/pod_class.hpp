#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/interner.hpp"
#include "gangsched/devices/cpu_bind_policy.hpp"
#include "gangsched/devices/numa_container.hpp"
#include "gangsched/model/affinity_spec.hpp"
#include "gangsched/model/fwd.hpp"
#include "gangsched/model/group_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {

struct reservation_affinity;
struct reservation_terms;
enum class priority_band : std::uint8_t;
enum class qos_class : std::uint8_t;

/// Index of a resource in a node's amounts. The first six are fixed; every other resource gets the next one on first use.
using resource_kind = std::uint32_t;
namespace kinds {
inline constexpr resource_kind cpu = 0;  ///< milli-cores
inline constexpr resource_kind memory = 1;
inline constexpr resource_kind ephemeral_storage = 2;
inline constexpr resource_kind pods = 3;           ///< allocatable: allowed number; used: number on the node
inline constexpr resource_kind scored_cpu = 4;     ///< used only: cpu with 100m for every container that names none
inline constexpr resource_kind scored_memory = 5;  ///< used only: memory with 200Mi for every container that names none
inline constexpr resource_kind first_other = 6;
}  // namespace kinds

struct amount {
  resource_kind kind;
  std::int64_t value;
  friend bool operator==(const amount&, const amount&) = default;
};

/// A label, taint, … whose strings are symbols of the cluster's interner.
struct label_symbols {
  symbol key, value;
  friend bool operator==(const label_symbols&, const label_symbols&) = default;
};
struct taint_symbols {
  symbol key, value;
  taint_effect effect;
  friend bool operator==(const taint_symbols&, const taint_symbols&) = default;
};
struct toleration_symbols {
  symbol key, value;
  toleration_operator op;
  std::optional<taint_effect> effect;

  /// Toleration.ToleratesTaint: effect equal or unset; key equal or unset; Exists, or Equal and the values are the same.
  [[nodiscard]] bool tolerates(const taint_symbols& taint) const noexcept {
    return (!effect || *effect == taint.effect) && (!key || key == taint.key) &&
           (op == toleration_operator::exists || value == taint.value);
  }
};

/// One requirement of a node selector. `bound` is the parsed number of gt and lt.
struct node_requirement {
  symbol key;
  selector_operator op;
  std::vector<symbol> values;
  std::optional<std::int64_t> bound;
};
struct node_term {
  std::vector<node_requirement> expressions;
  std::vector<node_requirement> fields;
  bool broken = false;  ///< an expression does not parse (node_selector.hpp): the term matches nothing
};
struct weighted_node_term {
  std::int32_t weight;
  node_term term;
};

/// A host port in use or requested: protocol, port, address ("0.0.0.0" is the wildcard, symbol 0).
struct host_port {
  gangsched::protocol protocol;
  std::uint16_t port;
  symbol address;
  friend auto operator<=>(const host_port&, const host_port&) = default;
  /// NodePorts: same protocol and port, and the same address or a wildcard on either side.
  [[nodiscard]] bool conflicts(const host_port& other) const noexcept {
    return protocol == other.protocol && port == other.port && (address == other.address || !address || !other.address);
  }
};

/// A zone or region label of a volume, with the values that will do.
struct zone_choice {
  symbol key;
  std::vector<symbol> values;
  friend bool operator==(const zone_choice&, const zone_choice&) = default;
};
/// The constraints of volumes on nodes, as far as they are the same for many pods. Disks, claims and attachments are stored per pod.
struct volume_needs {
  bool unbound_claims = false;
  bool disks = false;  ///< has disks or exclusive claims
  bool attachments = false;
  std::optional<std::vector<symbol>> nodes;           ///< ascending
  std::optional<std::vector<symbol>> bindable_nodes;  ///< ascending
  symbol claim_problem{};
  std::vector<zone_choice> zones;
  friend bool operator==(const volume_needs&, const volume_needs&) = default;
};

/// The requests of one container, as far as a kubelet aligns them: of a pod that is Guaranteed, binds CPUs or requests devices.
struct container_needs {
  container_kind kind = container_kind::app;
  /// by kind: cpu and memory only where the pod is Guaranteed or binds CPUs, and what is beyond the first kinds
  std::vector<amount> requests;
};

/// What one container requests, and what it may use at most: of cpu, memory and resources of Kubernetes' own domain (kubernetes.io/…),
/// those that are given. Zeros are there, too.
struct container_bounds {
  container_kind kind = container_kind::app;
  std::vector<amount> requests, limits;  ///< by kind
};

using counter_id = std::uint32_t;

/// A counter and the weight of one count.
struct weighted_counter {
  counter_id counter;
  std::int32_t weight;
};

/// A spread constraint with the counter of its pods.
struct spread_rule {
  counter_id counter;
  symbol key;
  std::int32_t max_skew;
  std::int32_t min_domains;
  when_unsatisfiable action;
};

/// The counters of the cluster that concern a class (counters.hpp).
struct pod_counters {
  std::vector<counter_id> named;    ///< the counters that it makes live, ascending
  std::vector<counter_id> matched;  ///< live ones with it in their scope, ascending
  std::vector<counter_id> counted;  ///< what goes up where it is placed: matched that count pods, and its own terms'
  std::vector<counter_id> minded;   ///< matched ones that count terms: the terms of other pods that concern it

  std::vector<counter_id> affinity;         ///< pods that match all its required affinity terms, per topology key
  std::vector<counter_id> anti_affinity;    ///< pods that match a required anti-affinity term, per term
  std::vector<weighted_counter> preferred;  ///< pods that match a preferred term, per term; negative for anti-affinity
  std::vector<spread_rule> spread;          ///< its own constraints
  std::vector<std::vector<spread_rule>> default_spread;  ///< by registered set of defaults; without own constraints
};

/// (Code that makes, copies or destroys one, or reads its devices, includes devices/device_demand.hpp.)
/// Everything that plugins can read of a pod, shared by all pods that are equal in it: its class. Names do not count, labels only through
/// the live selectors of the cluster.
struct pod_class {
  symbol ns;
  symbol scheduler_name;
  symbol required_node;  ///< spec.nodeName while pending
  symbol held_room;      ///< the held room that it owns (held_rooms.hpp)
  queue_id queue = {};   ///< that the pod is in
  std::int32_t priority = 0;
  priority_band band{};  ///< Koordinator's class of priority, never none (service_class.hpp)
  qos_class qos{};       ///< and that of service, never none
  gangsched::preemption_policy preemption = gangsched::preemption_policy::preempt_lower_priority;

  std::vector<amount> requests;  ///< PodRequests (component-helpers) as integers, non-zero ones, by kind
  std::vector<amount>
      score_requests;           ///< the same without pod-level requests, with the defaults for cpu and memory (Fit)
  std::int64_t scored_cpu = 0;  ///< what a placed pod adds to kinds::scored_cpu / scored_memory
  std::int64_t scored_memory = 0;

  std::vector<device_demand> devices;        ///< beside the requests of resources that nodes' devices are counted by
  std::vector<device_match> device_matches;  ///< among them
  std::vector<resource_claim_id> claims;     ///< of devices that it shares with other pods
  bool guaranteed = false;  ///< its QoS class; false if it has pod-level resources, which no kubelet aligns
  cpu_binding bind_cpus;
  std::vector<container_needs>
      containers;  ///< init containers first; empty unless it is Guaranteed, binds CPUs or wants devices

  /// Init containers first; empty if it is like a pod of one container, or none, with `requests` and no limit (policies/pod_bounds.hpp).
  std::vector<container_bounds> bounds;
  std::vector<amount> overhead;                           ///< beside `bounds`
  bool of_daemon_set = false;                             ///< its controller is one
  std::shared_ptr<const struct load_estimate> load = {};  ///< of itself; null: nothing

  std::vector<toleration_symbols> tolerations;
  std::vector<label_symbols> node_selector;
  std::optional<std::vector<node_term>> required_nodes;
  std::vector<weighted_node_term> preferred_nodes;
  std::vector<host_port> ports;
  std::vector<symbol> required_features;  ///< of its node, ascending, each once
  std::vector<symbol> images;             ///< of init containers, containers and image volumes, normalised
  std::uint32_t image_containers = 0;     ///< init containers and containers
  volume_needs volumes;

  pod_affinity affinity_to_pods;
  pod_affinity anti_affinity_to_pods;
  std::vector<topology_spread> spread;                ///< match_label_keys are in the selectors
  std::shared_ptr<const reservation_terms> reserves;  ///< null: it is no reservation
  std::shared_ptr<const gangsched::reservation_affinity> reservation_affinity;  ///< null: it need not be in one
  std::vector<std::string> exact_reservation;  ///< resources, in its own order (reservation_table::lets)
  /// Resources that a part of its spec requests 0 of, so they count as present. For reservations, and pods with `exact_reservation`.
  std::vector<std::string> requests_none;
  bool ignores_reservations = false;
  /// The sets of owners of reservations that contain it, ascending (reservation_table.hpp).
  std::vector<std::uint32_t> owned = {};
  /// Of its services and its controller, if some profile's default spread constraints read it.
  std::optional<label_selector> default_selector;
  pod_counters counters;

  std::shared_ptr<const struct pod_spec> said = {};  ///< what makes it again, without what is a pod's own
  std::string key;                                   ///< canonical bytes: equal iff the class is equal
  std::size_t key_prefix = 0;                        ///< the part of `key` before the matched counters

  /// What it requests of @p kind, 0 if nothing. O(kinds requested).
  [[nodiscard]] std::int64_t request(resource_kind kind) const noexcept {
    for (const amount& a : requests)
      if (a.kind == kind) return a.value;
    return 0;
  }
  /// Whether it requests resources beyond Kubernetes' own, which nodes may count their devices by. O(1).
  [[nodiscard]] bool requests_others() const noexcept {
    return !requests.empty() && requests.back().kind >= kinds::first_other;
  }
  [[nodiscard]] std::int64_t score_request(resource_kind kind) const noexcept {
    for (const amount& a : score_requests)
      if (a.kind == kind) return a.value;
    return 0;
  }
};

using class_id = std::uint32_t;
inline constexpr class_id no_class = 0xffffffffu;

}  // namespace gangsched::inline GANGSCHED_ABI
