#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/kube/document.hpp"
#include "gangsched/kube/queues.hpp"
#include "gangsched/kube/volume_objects.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/colocation.hpp"
#include "gangsched/model/queue_spec.hpp"

/// Kubernetes objects as the library's specs. Nothing is resolved while reading: names become ids when manifests are
/// applied. Errors name file and line and object ("cluster.yaml:12: Pod default/web"), the path
/// ("spec.tolerations[2].effect") and the reason.
namespace gangsched::inline GANGSCHED_ABI::kube {

/// Something that was read and left out: a field that Kubernetes does not have, or one that the library does not model.
/// One, whose object is "ignored", counts the objects that no scheduler reads.
struct warning {
  std::string object;  ///< "cluster.yaml:12: Pod default/web"
  std::string field;
  std::string reason;
  [[nodiscard]] GANGSCHED_API std::string message() const;
};

/// CPU in thousandths and memory in bytes, or both in whole percent.
struct load_amounts {
  std::optional<std::int64_t> cpu = {}, memory = {};
};

/// A Node, with what other objects and annotations say of it.
struct node_manifest {
  node_spec spec;
  label_map annotations = {};  ///< those about devices
  /// If there is an annotation node.koordinator.sh/reservation: for each of its resources the larger of what it and what kubelet keeps from
  /// pods; and its CPUs. `spec.allocatable` is without what the annotation keeps, unless applyPolicy says that only CPUs are reserved.
  resource_list reserved = {};
  std::vector<std::uint32_t> reserved_cpus = {};
  /// What its annotations say that counts beside a NodeMetric. node.koordinator.sh/raw-allocatable: what there is in truth, where
  /// `spec.allocatable` says more. scheduling.koordinator.sh/usage-thresholds: percentages, for all that is used, for what production
  /// uses, and for a mean or a percentile, named as in `node_metric_manifest::aggregated`, without seconds if it is over the longest
  /// period. node.koordinator.sh/thirdPartyAllocations: what others have given away of what is lent to batch.
  load_amounts raw = {}, thresholds = {}, prod_thresholds = {}, percentile_thresholds = {}, batch_elsewhere = {};
  std::string percentile = {};
  /// Of its CSINode: the labels that say where volumes of a driver can be reached, by driver, and in-tree plugins whose work drivers do.
  sorted_map<std::vector<std::string>> topology_keys = {};
  std::vector<std::string> migrated_plugins = {};
  std::vector<std::optional<instant>> taints_since =
      {};  ///< of each of `spec.taints`: since when, from 1970, if it says so
  origin from = {};
};

/// A claim of a pod's spec.resourceClaims: by name, or made from a template.
struct pod_claim {
  std::string name;
  std::string claim = {};
  std::string claim_template = {};
};

/// A running pod has a device with a NoExecute taint that its claim does not tolerate, or not for ever: Kubernetes deletes the pod.
struct taint_eviction {
  std::int64_t after_seconds = 0;  ///< from `read_options::now` on
  std::string taint = {};          ///< "gpu.example.com/unhealthy=true:NoExecute"
};

/// The scheduling gate of pods that refer to objects which do not exist.
inline constexpr const char* unresolved_gate = "gangsched.dev/unresolved";

/// A pod and the names in it that stand for other objects.
struct pod_manifest {
  pod_spec spec;
  std::string node = {};            ///< spec.nodeName: where it runs
  std::string nominated_node = {};  ///< status.nominatedNodeName
  std::string group = {};           ///< its pod group, in its own namespace, whichever API it names it by
  std::string reservation = {};     ///< the Reservation that a running pod was allocated from
  std::string user = {};            ///< the user that YuniKorn counts it for
  std::vector<std::string> user_groups = {};
  /// Its controller: what spreading by default goes by. A Job or CronJob of another API group than Kubernetes' own has that in its kind:
  /// "Job.batch.volcano.sh".
  std::string owner_kind = {};
  std::string owner_name = {};
  std::optional<instant> scheduled = {},
                         initialized = {};  ///< since when it is, by its conditions (LoadAwareScheduling)
  label_map annotations = {};               ///< those about groups, where their members are to be, queues and devices
  /// Limits of its containers, then of its init containers; empty if none has any. They count for LimitRanges and
  /// ResourceQuotas, and for plugins that go by load: `apply` puts them into the spec.
  std::vector<resource_list> limits = {};
  resource_list pod_limits = {};               ///< spec.resources.limits
  std::vector<held_device> held_devices = {};  ///< of a pod with a node: what it has there, if an object says so
  /// What its containers requested, then its init containers, and became `spec.devices` instead; empty if none did.
  std::vector<resource_list> device_resources = {};
  std::vector<pod_claim> claims = {};  ///< of devices (DRA)
  /// Volumes that are claimed or attached. If all objects are read together, `spec.volumes` has what these volumes ask of nodes before any
  /// pod is placed; later on `volume_binder` knows it.
  std::vector<pod_volume> volumes = {};
  /// The claims that the pod shares, by name: if all objects are read together, in `manifests::claims`, and its own are in `spec.devices`;
  /// of a pod by itself all that it has, in the cluster.
  std::vector<std::string> shared_claims = {};
  /// Why the pod waits: references to objects that do not exist, and requests that are not understood. If there is one, `spec_for` adds the
  /// scheduling gate `unresolved_gate`.
  std::vector<std::string> unresolved = {};
  std::optional<taint_eviction> evicted_for_taint = {};  ///< where all objects are read together
  /// For each of the first `spec.tolerations`: how long it tolerates a NoExecute taint. Absent, and for the other tolerations: for ever.
  std::vector<std::optional<std::int64_t>> toleration_seconds = {};
  std::int64_t grace_seconds = 30;  ///< spec.terminationGracePeriodSeconds: how long it may take to leave
  std::optional<std::int64_t> deadline_seconds =
      {};  ///< spec.activeDeadlineSeconds: it is ended so long after its start
  origin from = {};
};

/// What a group waits for.
struct group_dependency_manifest {
  std::string on;  ///< a group, in the same namespace
  dependency_state until = dependency_state::running;
  bool composite = false;  ///< it is a group of groups
};

/// What a group grows in step with.
struct group_ratio_manifest {
  std::string to;          ///< a group, in the same namespace
  bool composite = false;  ///< it is a group of groups
  std::int32_t mine = 1;
  std::int32_t theirs = 1;
};

/// A group of pods, of whichever kind the object is that describes it.
struct group_manifest {
  group_spec spec;
  std::string kind = "PodGroup";    ///< of the object that describes it
  std::string parent = {};          ///< the composite group it is in, in its own namespace
  std::string priority_class = {};  ///< resolved when applied
  std::vector<group_dependency_manifest> start_after = {};
  std::vector<group_ratio_manifest> ratios = {};
  std::vector<pod_claim> claims = {};  ///< that its members share
  origin from = {};
};

/// A kind of node that has quota of its own: a ResourceFlavor.
struct flavor_manifest {
  flavor_spec spec;
  origin from = {};
};

/// A queue, whichever system describes it.
struct queue_manifest {
  queue_spec spec;
  std::string api = {};  ///< the group of the object that describes it: "kueue.x-k8s.io"
  std::string kind =
      {};  ///< and its kind, namespace and name; of a queue that is only implied those of the object that implies it
  std::string ns = {};
  std::string name = {};
  origin from = {};
};

/// A claim of devices that pods share: one that they name, or what a pod group has of a template.
struct resource_claim_manifest {
  resource_claim_spec spec;
  std::string node = {};  ///< where it is allocated, if no running pod uses it
  origin from = {};
};

/// What Koordinator's agent measured of a node: a NodeMetric.
struct node_metric_manifest {
  struct pod_use {
    std::string ns, name;
    load_amounts used = {};
    std::string band = {};  ///< as of which priority class it was measured
  };
  std::string node;
  std::optional<instant> measured = {};
  std::optional<std::int64_t> interval_seconds = {};
  load_amounts used = {}, system = {}, reclaimable = {};
  std::vector<std::pair<std::string, load_amounts>> aggregated = {};  ///< by how, and over how many seconds: "p95.300"
  std::vector<pod_use> pods = {};
  origin from = {};
};

/// What nodes lend to pods of batch and mid: Koordinator's slo-controller-config.
struct colocation_manifest {
  struct choice {
    std::optional<label_selector> nodes = {};  ///< absent: all of which none before is
    bool enabled = false;
    colocation_strategy strategy = {};
  };
  std::vector<choice> choices = {};
  origin from = {};
};

/// A Service: what spreading by default goes by. An empty selector selects nothing.
struct service_manifest {
  std::string ns, name;
  label_map selector = {};
  origin from = {};
};

/// The selector of a ReplicaSet, ReplicationController or StatefulSet, for the same purpose.
struct controller_manifest {
  std::string kind, ns, name;
  std::optional<label_selector> selector = {};
  origin from = {};
  bool one_by_one = false;  ///< a StatefulSet whose podManagementPolicy is OrderedReady
  std::vector<std::string> made_again =
      {};  ///< its pods that are being deleted and come again under their names, where controllers are expanded
};

/// What the model calls a kind of controller; none for the others.
[[nodiscard]] GANGSCHED_API controller_kind controller_kind_of(std::string_view kind) noexcept;

/// A number, or a part of all in percent.
struct count_or_percent {
  std::int64_t number = 0;
  bool percent = false;
};

/// A CronJob. Of its runs one is among the pods.
struct cron_job_manifest {
  enum class policy : std::uint8_t { allow, forbid, replace };  ///< what happens while an earlier run is not done
  std::string ns, name;
  std::string schedule, time_zone;  ///< as they are written: "*/5 * * * *"
  policy concurrency = policy::allow;
  std::optional<std::int64_t> starting_deadline_seconds = {};  ///< how late a run may begin
  bool suspended = false;
  std::string job = {};                ///< name of the Job of that run, the owner of its pods
  std::vector<std::string> jobs = {};  ///< names of the Jobs of its runs that are in the files
  origin from = {};
};

/// What a Job of Kubernetes' does while time passes; of a CronJob the one of the run that is among the pods.
struct job_manifest {
  std::string ns, name;
  std::optional<std::int64_t> deadline_seconds = {};  ///< when it ends its pods, from `read_options::now` on
  std::int64_t failures_left = 6;  ///< so many of its pods may be evicted; with one more it fails, and ends all of them
  bool by_index = false;           ///< that is of each index, which fails by itself
  bool replaces_gone = false;      ///< it makes another pod when one is gone, not when it is being deleted
  std::int64_t made_again = 0;     ///< so many of its pods that are being deleted it makes again when they are gone
};

/// A HorizontalPodAutoscaler, and how many pods the load needs at which time (annotation gangsched.dev/replicas).
struct autoscaler_manifest {
  struct load {
    instant at{};  ///< from the start
    std::int64_t count = 0;
  };
  std::string ns, name;
  std::string kind, target;  ///< what it scales; of a Deployment, once all objects are read, the ReplicaSet
  std::int64_t min_replicas = 1, max_replicas = 1;
  /// Replicas at the start, within the bounds: by the load at 0, else by its status, else by its target. Absent: none of them says it.
  std::optional<std::int64_t> desired_replicas = {};
  std::vector<load> replicas = {};  ///< in the order of time, within the bounds; none of a target that is not followed
  origin from = {};
};

/// A PodDisruptionBudget.
struct disruption_budget_manifest {
  std::string ns, name;
  std::optional<label_selector> selector = {};
  std::optional<count_or_percent> min_available = {};
  std::optional<count_or_percent> max_unavailable = {};
  std::optional<std::int32_t> disruptions_allowed = {};  ///< status; absent in what a person wrote
  std::vector<std::string> disrupted_pods = {};          ///< by name, sorted
  origin from = {};
};

/// Everything that was read, in the order of the files; workload controllers are pods already.
struct manifests {
  std::vector<std::string> files;
  std::vector<namespace_spec> namespaces;
  std::vector<priority_class_spec> priority_classes;
  std::vector<node_manifest> nodes;
  std::vector<flavor_manifest> flavors;
  std::vector<queue_manifest> queues;
  std::vector<group_manifest> groups;
  std::vector<resource_claim_manifest> claims;
  std::vector<volume_manifest> volumes;
  std::vector<volume_claim_manifest> volume_claims;  ///< those that templates in the files lead to come last
  std::vector<storage_class_manifest> storage_classes;
  std::vector<storage_capacity_manifest> storage_capacities;
  std::vector<std::string>
      capacity_drivers;  ///< CSIDrivers that make volumes only where a capacity has room (storageCapacity)
  std::vector<pod_manifest> pods;
  std::vector<service_manifest> services;
  std::vector<controller_manifest> controllers;
  std::vector<job_manifest> jobs;  ///< those that have not ended
  std::vector<cron_job_manifest> cron_jobs;
  std::vector<autoscaler_manifest> autoscalers;
  std::vector<disruption_budget_manifest> budgets;
  std::optional<yunikorn_queues> yunikorn;  ///< what `queues` have no words for
  std::optional<hived_cells> hived;         ///< the same
  std::vector<node_metric_manifest> node_metrics;
  std::optional<colocation_manifest> colocation;
  std::vector<warning> warnings;
};

/// How many pods of @p budget have to be healthy where its controllers want @p expected in all; all there can be if it says nothing.
[[nodiscard]] GANGSCHED_API std::int64_t healthy_pods_wanted(const disruption_budget_manifest& budget,
                                                             std::int64_t expected);
/// What the status of @p budget would allow: as it was read, or else as the disruption controller counts it among the
/// pods of @p all (those on a node and not terminating are healthy, all of them are expected). O(pods).
[[nodiscard]] GANGSCHED_API std::int32_t disruptions_allowed(const manifests& all,
                                                             const disruption_budget_manifest& budget);
/// The same for each budget of @p all. O(labels of pods · log budgets + pods that a budget looks at: those that have the first label of its
/// selector).
[[nodiscard]] GANGSCHED_API std::vector<std::int32_t> disruptions_allowed(const manifests& all);
/// The same, but only @p pods count, for a host that keeps pods that are gone: indexes into `manifests::pods`, none twice.
[[nodiscard]] GANGSCHED_API std::vector<std::int32_t> disruptions_allowed(const manifests& all,
                                                                          std::span<const std::size_t> pods);

/// How manifests are read.
struct read_options {
  /// What the API server would have done to a new object: requests from limits, host ports from hostNetwork,
  /// allocatable from capacity, matchLabelKeys merged into the selectors of affinity terms. Off: the objects come from
  /// the API server.
  bool defaulting = true;
  /// Turn ReplicaSets, Deployments, StatefulSets, Jobs, CronJobs, JobSets, … into the pods that they lack, and the templates
  /// of Workloads that no group was made of into groups.
  bool expand = true;
  /// The most pods that may be in the files or be made of controllers and workloads, checked before the first one is made. A copy of a long
  /// template counts 1 more for each 4 KiB of the template.
  std::size_t max_pods = 1'000'000;
  /// What time it is, from 1970: the Job of a CronJob is named after that minute, and taints of devices count from `timeAdded` on.
  instant now{};
  /// Also make what controllers make later: as many pods as autoscalers want at any time, and a run of each CronJob even if one is there.
  bool over_time = false;
  /// The files are the whole cluster. Pods whose priority class, or their group's, is in no file wait (`pod_manifest::unresolved`); pods
  /// that run on a node in no file are left out; each with a warning. Off: `apply` looks for both in the cluster, and fails without them.
  bool whole_cluster = false;
  /// Refuse what an API server refuses even where scheduling does not depend on it: containers without a name, or in templates without an
  /// image; mounts of unknown volumes; controllers whose selector does not match their pods. Off: incomplete objects are accepted.
  bool api_server_rules = false;
  /// Namespace of objects that name none, as with `kubectl -n`; empty: the default one.
  std::string ns = {};
  /// Where mistakes in objects are collected, at most 100; one more is returned as the error. An object with a mistake is left out as if it
  /// were not in the files, and so is all of a file that cannot be parsed. Null: the first mistake is returned as the error.
  std::vector<error>* mistakes = nullptr;
  /// The cluster has a device_matcher (`cluster_options`), which evaluates the CEL selectors of devices that are not understood here.
  bool device_matcher = false;
  limits most{};  ///< of each file
};

/// A duration as Go writes it: "90s", "1h2m3.5s", also a negative one. None if it is no duration, or one of more than 285 years.
[[nodiscard]] GANGSCHED_API std::optional<instant> parse_duration(std::string_view text);

/// Reads all files, or says what the first mistake is. Of files of one name the second is called "(2) NAME". O(length + pods made).
[[nodiscard]] GANGSCHED_API result<manifests> read(std::span<const source> files, const read_options& how = {});
[[nodiscard]] GANGSCHED_API result<manifests> read(const source& file, const read_options& how = {});

/// Adds everything to the cluster, or nothing: namespaces, priority classes (and Kubernetes' own two), services, selectors of controllers,
/// flavors, queues, nodes, disruption budgets, groups, claims of devices, pods. What has a name that exists already is an error;
/// namespaces, priority classes, services, selectors and flavors are replaced. Groups that pods or groups name and that are not there are
/// expected: pods in them wait. Measurements are set as columns (model/node_load.hpp), and nodes lend what follows from them, as of when
/// they were measured. O(size).
[[nodiscard]] GANGSCHED_API result<void> apply(cluster& on, const manifests& what);

// One object, for hosts that get their objects elsewhere; `kind` may be missing. @p file is what errors call the place,
// @p warnings may be null. Error: malformed and the like, with file, line and path. O(size of the object).
// What takes several objects to know stays out: gangs that only annotations of pods describe, topology in the words of
// other objects, sub-groups of KAI, where volumes can be used, queues by LocalQueue. Of a claim of devices only the name is known.

[[nodiscard]] GANGSCHED_API result<node_manifest> read_node(const value& object, std::string_view file,
                                                            std::vector<warning>* warnings = nullptr,
                                                            const read_options& how = {});
[[nodiscard]] GANGSCHED_API result<pod_manifest> read_pod(const value& object, std::string_view file,
                                                          std::vector<warning>* warnings = nullptr,
                                                          const read_options& how = {});
/// A Reservation of Koordinator: the pod that it is, in the namespace of its template.
[[nodiscard]] GANGSCHED_API result<pod_manifest> read_reservation(const value& object, std::string_view file,
                                                                  std::vector<warning>* warnings = nullptr,
                                                                  const read_options& how = {});
[[nodiscard]] GANGSCHED_API result<namespace_spec> read_namespace(const value& object, std::string_view file,
                                                                  std::vector<warning>* warnings = nullptr);
[[nodiscard]] GANGSCHED_API result<service_manifest> read_service(const value& object, std::string_view file,
                                                                  std::vector<warning>* warnings = nullptr);
/// A ReplicaSet, ReplicationController or StatefulSet (@p kind): its selector only.
[[nodiscard]] GANGSCHED_API result<controller_manifest> read_controller(const value& object, std::string_view kind,
                                                                        std::string_view file,
                                                                        std::vector<warning>* warnings = nullptr);
[[nodiscard]] GANGSCHED_API result<disruption_budget_manifest> read_disruption_budget(
    const value& object, std::string_view file, std::vector<warning>* warnings = nullptr);
/// A PodGroup or CompositePodGroup of Kubernetes, or a PodGroup of scheduler-plugins or Volcano, as `apiVersion` and `kind` say.
[[nodiscard]] GANGSCHED_API result<group_manifest> read_pod_group(const value& object, std::string_view file,
                                                                  std::vector<warning>* warnings = nullptr);
/// What a cluster is handed of one object: its names as ids. Groups that are not there are expected, as `apply` does; Kubernetes' own
/// priority classes are added when they are first named. Of a pod that runs, claims that are not there are left out. Error: unknown (a
/// node, priority class, or claim of a waiting pod, that is not there). O(size of the spec).
[[nodiscard]] GANGSCHED_API result<pod_spec> spec_for(cluster& on, const pod_manifest& what);
[[nodiscard]] GANGSCHED_API result<group_spec> spec_for(cluster& on, const group_manifest& what);
/// What `spec_for` or a cluster said of @p object, as its reader would have: with file, line, object and path. O(size of the object).
[[nodiscard]] GANGSCHED_API error error_about(const error& wrong, const value& object, std::string_view file);
/// metav1.LabelSelector, and the terms of a v1.NodeSelector. As far as types and operators go; `check` has the other
/// rules.
[[nodiscard]] GANGSCHED_API result<label_selector> read_label_selector(const value& object, std::string_view file);
[[nodiscard]] GANGSCHED_API result<std::vector<node_selector_term>> read_node_selector(const value& object,
                                                                                       std::string_view file);

}  // namespace gangsched::inline GANGSCHED_ABI::kube
