#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/src/kube/documents/reader.hpp"

/// Kubernetes' own objects: nodes, pods and the controllers that make them, and the parts that others have too.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

bool read_label_selector(reader& read, const place& of, label_selector& out);
bool read_node_selector(reader& read, const place& of, std::vector<node_selector_term>& out);
bool read_node_term(reader& read, const place& of, node_selector_term& out);
/// matchLabelKeys and mismatchLabelKeys of a term of affinity, until the pod has all its labels.
struct term_label_keys {
  bool anti = false, preferred = false;
  std::size_t term = 0;  ///< in that list
  std::vector<std::string> match = {}, mismatch = {};
};
/// With what goes by the pod's labels in @p keys.
bool read_affinity(reader& read, const place& of, pod_spec& out, std::vector<term_label_keys>& keys);
/// As an API server does with a new pod: what its labels have of the keys becomes part of the terms' selectors.
void merge_label_keys(pod_spec& pod, const std::vector<term_label_keys>& keys);
bool read_spread(reader& read, const place& of, topology_spread& out);

/// Whether the pod of that spec is in its node's network. What is no boolean `read_pod` refuses.
bool has_host_network(const value& spec);
/// What of a pod's spec is for its admission.
struct admission_words {
  std::vector<term_label_keys> label_keys = {};  ///< merged when it has all labels
  std::string runtime_class = {};                ///< its name
};
/// A template of pods, which have more labels when they are made and admitted.
bool read_template_pod(reader& read, const place& of, pod_manifest& out, bool& over, const read_options& how,
                       admission_words& words);
bool read_pod(reader& read, const place& of, pod_manifest& out, bool& over, const read_options& how);
/// Of a pod that is read by itself: it shares the claims of devices that it names, and those made for it; one to be made it waits for.
void settle_alone(reader& read, const place& of, pod_manifest& out);
/// What its labels and annotations say is read anew, when they have changed; @p line: of the pod, for messages.
bool read_words_again(reader& read, std::uint32_t line, pod_manifest& out);
/// A Reservation of Koordinator: the pod that it is. @p over: it holds nothing any more.
bool read_reservation(reader& read, const place& of, pod_manifest& out, bool& over, const read_options& how);
/// Gives Reservations that are called as a pod of their template's namespace another name, with a warning: in the model they are pods.
/// Pods that name one get the new name. O(n log n).
void name_reservations(manifests& all);
/// What a pod says of the reservations that it is to use, or not, and of the one that it was allocated from.
bool read_reservation_words(reader& read, const place& of, pod_manifest& out);
/// Of a taint, or of a toleration, which may be about every effect.
bool read_effect(reader& read, const place& of, std::optional<taint_effect>& out);
/// @p since, if it is not null, is its `timeAdded`.
bool read_taint(reader& read, const place& of, taint& out, std::optional<instant>* since = nullptr);
/// @p seconds, if it is not null, is its `tolerationSeconds`.
bool read_toleration(reader& read, const place& of, toleration& out, std::optional<std::int64_t>* seconds = nullptr);
bool read_tolerations(reader& read, const place& of, pod_manifest& out);
bool read_node(reader& read, const place& of, node_manifest& out, const read_options& how);

/// Of an object that lives in a namespace; without one it is the default one.
bool read_names(reader& read, const place& of, std::string& name, std::string& ns);
/// What the metadata of a pod or a group says in our own words: gangsched.dev/deadline, a time, and gangsched.dev/max-wait, a duration.
bool read_time_limits(reader& read, const place& meta, std::optional<instant>& deadline, instant& max_wait);
/// The requests of a pod that is resized in place become what it counts as.
bool read_resizes(reader& read, const place& of, pod_manifest& out);
/// How a pod says that LoadAwareScheduling is to estimate it. What cannot be read is left out with a warning. Always true.
bool read_load_estimate(reader& read, const place& of, pod_manifest& out);
/// Whether there are limits for CPU and memory, and the requests are the same (kubelet's QoS class Guaranteed; 0 counts as none).
bool is_guaranteed(const resource_list& requests, const resource_list& limits);

bool read_namespace(reader& read, const place& of, namespace_spec& out);
bool read_priority_class(reader& read, const place& of, priority_class_spec& out);
bool read_service(reader& read, const place& of, service_manifest& out);
bool read_budget(reader& read, const place& of, disruption_budget_manifest& out);

/// A workload controller as it was read: what it keeps running, and what it is called.
struct controller_of_pods {
  std::string kind;
  object_meta meta;
  std::optional<label_selector> selector;
  pod_manifest pod;  ///< its template
  admission_words admission;
  std::size_t weight = 1;       ///< what a copy of it counts, `weight_of`
  std::string pod_hash;         ///< of the template
  cron_job_manifest cron = {};  ///< of a CronJob
  std::int64_t replicas = 1;    ///< of a job: the parallelism
  std::optional<std::int64_t> completions;
  job_manifest job = {};                 ///< of a Job, as its spec says
  std::optional<instant> started = {};   ///< the Job
  std::int64_t succeeded = 0, lost = 0;  ///< pods, by its status
  std::string completed,
      failed;  ///< of an Indexed Job: the indices that succeeded, and those that failed for good ("0-2,5")
  std::int64_t first_ordinal = 0;
  std::vector<pod_volume> claim_templates;  ///< of a StatefulSet
  bool one_by_one = true;                   ///< of a StatefulSet
  bool indexed = false;
  bool bears_disruptions = false;  ///< of a Job: evicted pods do not count as failed
  bool suspended = false;
  bool paused = false;        ///< a Deployment: no ReplicaSet is made
  bool host_network = false;  ///< of its template
  bool ended = false;         ///< `has_ended`
  origin from;
};
bool read_controller(reader& read, const place& of, std::string_view kind, controller_of_pods& out,
                     const read_options& how);

bool read_autoscaler(reader& read, const place& of, autoscaler_manifest& out);

/// Whether a new pod's spec has what an API server asks of containers: names, mounts that are volumes, in a template images too.
bool check_containers(reader& read, const place& of, bool is_template);
/// Whether the controller selects the pods of its template. A ReplicationController without a selector has the template's labels.
bool check_selector(reader& read, const place& of, std::string_view kind, controller_of_pods& made);
/// Whether the name of a CronJob leaves room for what is added to it in names of its Jobs. Others may have any.
bool check_cron_job_name(reader& read, const place& of, std::string_view kind, const controller_of_pods& made);
/// Whether the object's name, if it has one, may be one.
bool check_object_name(reader& read, const place& of, std::string_view api_group);

/// What a workload says of its queue its pods say too, unless they say it themselves: as annotations.
void inherit_queue_words(const label_map& labels, const label_map& annotations, pod_manifest& to);

/// What of a CronJob's spec, whichever kind of job it makes, scheduling does not read. Always true.
bool ignore_of_cron_job(reader& read, std::string_view key, const place& of);

/// Whether the workload's status says that its controller makes no more pods of it: it is done, or has failed.
bool has_ended(const value& object);

/// Whether Kueue queues it: what it suspends waits for quota, and what it admits starts together.
bool is_queued_by_kueue(const label_map& labels, const label_map& annotations);

/// What a copy of a template counts against `read_options::max_pods`: 1, and 1 more for each 4 KiB.
std::size_t weight_of(const value& pod_template);

/// The pods that there may be still.
class pod_budget {
 public:
  explicit pod_budget(std::size_t most) : most_(most) {}
  /// False, and nothing is taken, if so many copies are too many.
  bool take(std::int64_t copies, std::size_t weight = 1) {
    const auto count = static_cast<std::uint64_t>(copies < 0 ? 0 : copies);
    if (count != 0 && count > (most_ - used_) / weight) return false;
    used_ += static_cast<std::size_t>(count) * weight;
    return true;
  }
  [[nodiscard]] std::size_t most() const noexcept { return most_; }

 private:
  std::size_t most_;
  std::size_t used_ = 0;
};

/// What an API server and its webhooks do with new pods before anyone sees them.
class pod_admission {
 public:
  pod_admission() = default;
  pod_admission(const pod_admission&) = delete;
  pod_admission& operator=(const pod_admission&) = delete;
  virtual ~pod_admission() = default;
  /// One of `manifests::pods`, with the labels that its controller adds.
  virtual void admit(pod_manifest& pod, const admission_words& words) = 0;
};

/// Adds the pods that @p controllers lack to @p into. False, with @p wrong set, if they are too many.
bool expand(std::vector<controller_of_pods>& controllers, manifests& into, const read_options& how, pod_budget& budget,
            pod_admission& admission, error& wrong);

/// What a DaemonSet's pods have in common.
pod_manifest daemon_pod(const controller_of_pods& of);
/// Has it run on that node only.
void keep_to(pod_manifest& pod, const std::string& node);
/// The nodes of the files that lack such a pod and may run one, by name. @p its: the places of the pods that the DaemonSet has. O(nodes ·
/// selectors + its pods).
std::vector<const std::string*> nodes_without_daemon(const pod_manifest& pod, const manifests& all,
                                                     std::span<const std::size_t> its);

/// An item of a pod's volumes.
bool read_pod_volume(reader& read, const place& of, pod_manifest& out);
/// volumeClaimTemplates of a StatefulSet: volumes of its pods.
bool read_claim_templates(reader& read, const place& of, std::vector<pod_volume>& out);
/// Adds them to a pod. A template takes the place of the volume of its name.
void add_claim_templates(const std::vector<pod_volume>& templates, pod_manifest& to);
bool read_claim_spec(reader& read, const place& of, volume_claim_spec& out);
/// volumeMode
bool read_volume_mode(reader& read, const place& of, bool& block);
/// The storage among requests or a capacity.
bool read_storage_amount(reader& read, const place& of, quantity& out);
/// The in-tree plugin that has a volume of such a source ("gcePersistentDisk") attached, and the CSI driver that does its work where it was
/// migrated; empty if there is none.
std::string_view in_tree_plugin_of(std::string_view source);
std::string_view csi_driver_of(std::string_view in_tree);

/// resourceClaims of a pod or pod group.
bool read_pod_claims(reader& read, const place& of, std::vector<pod_claim>& out);

/// Adds all that the tree says to a hash, which begins as 0xcbf29ce484222325.
void add_to_hash(std::uint64_t& state, const value& of);
/// Letters as Kubernetes' random names have them.
std::string safe_letters(std::uint64_t hash, std::size_t count);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
