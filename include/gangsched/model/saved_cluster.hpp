#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/devices/device_grant.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/pod_state.hpp"
#include "gangsched/model/queue_spec.hpp"
#include "gangsched/model/saved_tables.hpp"

/// A cluster as plain data: objects as their specs, in their rows, and their state. Derived data is not included. Names and resources are
/// texts, in the order of their numbers.
namespace gangsched::inline GANGSCHED_ABI::model {

class cluster_saver;

/// The reason for refusing invalid data.
[[nodiscard]] inline error damaged(const char* what) { return {errc::malformed, "snapshot", what, "is damaged"}; }

/// An object of a table of names and specs only. @p expected: it was not added yet.
template <class Spec>
struct saved_object {
  row_t row = no_row;
  Spec spec = {};
  bool expected = false;
};

struct saved_grant {
  device_grant::form kind = {};
  std::uint8_t request = 0;
  std::uint16_t device = 0;
  std::int32_t milli = 0;
  std::int32_t mig_start = -1;
  std::string mig_profile;
  std::int64_t amount = 0;
};
/// What a pod, or a claim that pods share, has of a node's devices.
struct saved_devices {
  std::vector<saved_grant> grants;
  std::int32_t link_points = 0;
  std::vector<held_device> absent = {};
};

struct saved_node {
  row_t row = no_row;
  node_spec spec = {};        ///< without devices
  std::uint32_t machine = 0;  ///< its devices: 0 for none, else 1 + their place among `saved_cluster::machines`
  std::vector<std::string> devices = {};     ///< ids of its GPUs, then of the others
  std::vector<std::uint8_t> unhealthy = {};  ///< the same
  std::uint64_t arrival = 0;
  std::optional<node_spec> kept = {};         ///< the host's spec, if that is kept
  std::vector<std::string> beside_spec = {};  ///< of the resources in `spec`: those of `cluster::set_allocatable`
};

/// A class of pods: the spec of the first of them, without the pod's own parts.
struct saved_class {
  pod_spec spec = {};
  row_t queue = no_row;  ///< that pods of it are in
};

/// The volumes that are a pod's own.
struct saved_disks {
  std::vector<used_disk> disks = {};
  std::vector<std::string> exclusive_claims = {};
  std::vector<attached_volume> attachments = {};
};

/// The times in a pod's spec, and its data in `pod_times`.
struct saved_times {
  std::optional<instant> start_time = {};
  instant expected_run_time{0};
  std::optional<instant> deadline = {};
  instant max_wait{0};
  instant started = instant::max(), reserved_from = instant::max();
};

/// The reservation data of a pod on a node.
struct saved_reservation {
  row_t from = no_row;                      ///< that it draws from
  bool was_there = false;                   ///< it was on the node before the reservation
  bool used_up = false;                     ///< of a reservation with `once`: an owner has run
  std::optional<saved_devices> holds = {};  ///< of a reservation: everything that it has, while others have some of it
};

struct saved_pod {
  row_t row = no_row;
  std::uint32_t cls = 0;  ///< its place among `saved_cluster::classes`
  std::string name = {};
  label_map labels = {};
  std::vector<std::string> gates = {};
  saved_times times = {};
  controller_ref controller = {};
  saved_disks disks = {};
  std::string role = {};
  std::optional<std::int32_t> rank = {};
  std::string queue = {};  ///< that it names
  std::uint64_t cookie = 0;
  std::string priority_class = {};
  row_t group = no_row;
  std::uint64_t arrival = 0;
  pod_state state = pod_state::pending;
  bool terminating = false, preempted = false;
  row_t node = no_row;
  bind_attempt attempt = bind_attempt::none;
  std::optional<saved_devices> devices = {};
  saved_reservation reserved = {};
  std::optional<pod_spec> kept = {};
};

struct saved_group {
  row_t row = no_row;
  group_spec spec = {};
  bool expected = false, satisfied = false;
  std::uint64_t arrival = 0;
};

struct saved_claim {
  row_t row = no_row;
  resource_claim_spec spec = {};
  row_t node = no_row;
  bool kept = false;
  std::optional<saved_devices> devices = {};
};

struct saved_room {
  struct part {
    row_t node = no_row, row = no_row;
    std::vector<std::pair<std::string, std::int64_t>> amounts = {};
  };
  row_t row = no_row;
  std::string name;
  std::vector<part> parts = {};
};

/// The pods of one tree of groups in one queue, where they count as one job.
struct saved_queue_part {
  row_t row = no_row, root = no_row, queue = no_row;
};

/// A record of the change log.
struct saved_change {
  std::uint8_t kind = 0, flags = 0;
  std::uint32_t author = 0, facets = 0;
  row_t row = no_row;
  std::uint32_t before = no_row, after = no_row;
};
struct saved_log {
  std::uint64_t begin = 0, first = 0;  ///< positions of the log's begin and of the first record here
  std::vector<saved_change> records;   ///< up to its end
  std::uint64_t truncations = 0, forgotten = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> cuts;
  std::uint32_t authors = 0;
};

struct saved_cluster {
  std::uint64_t log_bound = 0;
  kube_semantics semantics = {};
  bool matches_devices = false;
  std::uint64_t attempts_after = 0;
  bool keeps_specs = false, have_limits = false;
  std::vector<std::string> names, kinds;

  std::vector<saved_object<namespace_spec>> namespaces;
  std::vector<saved_object<priority_class_spec>> priority_classes;
  std::vector<saved_object<pod_disruption_budget_spec>> budgets;
  std::vector<saved_object<service_spec>> services;
  std::vector<saved_object<controller_spec>> controllers;
  std::vector<saved_object<flavor_spec>> flavors;
  std::vector<saved_object<queue_spec>> queues;
  std::vector<saved_queue_part> queue_parts;  ///< in order of creation
  std::vector<node_devices> machines;
  std::vector<saved_node> nodes;                                  ///< zone by zone, in the order round the zones
  std::vector<std::pair<std::string, std::int64_t>> image_sizes;  ///< that are not what the first of `nodes` says
  std::vector<saved_group> groups;                                ///< parents first
  std::vector<saved_claim> claims;
  std::vector<saved_class> classes;
  std::vector<saved_pod> pods;  ///< in order of arrival
  std::vector<row_t> placed;    ///< pods with a node, node by node, in the order in which they were put there
  std::vector<std::pair<row_t, row_t>> nominated;  ///< pods and nodes, as they were nominated
  std::vector<saved_room> rooms;
  saved_columns columns;
  /// Rows of nodes, pods, groups, namespaces, priority classes, budgets, services, controllers, flavors, queues, parts of queues, claims,
  /// held rooms and their parts.
  std::vector<saved_rows> tables;
  saved_log log;
  std::uint64_t arrivals = 0;
  std::uint64_t digest = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model
