#pragma once
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gangsched/src/kube/core/objects.hpp"

/// Groups between being read and being made: objects may refer to others that stand further down, or in another file, so
/// that what they mean is known only when everything was read.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// Of pods, as the APIs count them.
inline constexpr std::size_t most_sub_groups = 10'000;  // of one group; each is compared with all others
inline constexpr std::int64_t most_count = std::numeric_limits<std::int32_t>::max();

/// A network layer that Koordinator's gather strategy names.
struct asked_layer {
  std::string name;
  bool must = false;          ///< MustGather; else PreferGather
  std::int32_t multiple = 1;  ///< podCountMultiple
};

/// Where a group wants to be, in words that other objects explain: levels of a Topology, tiers of HyperNodes, layers of a
/// ClusterNetworkTopology.
struct asked_topology {
  std::string topology = {};  ///< the Topology object meant (KAI); empty: the one that has the level
  std::string required = {};  ///< node labels
  std::string preferred = {};
  bool unconstrained = false;
  std::vector<topology_slice> slices = {};
  bool soft_tiers = false;  ///< Volcano
  std::optional<std::int32_t> highest_tier = {};
  std::string highest_tier_name = {};
  std::vector<asked_layer> layers = {};
  std::string field = {};        ///< the manifest's, for messages
  std::string slice_field = {};  ///< where slices have several layers

  [[nodiscard]] bool empty() const {
    return required.empty() && preferred.empty() && !unconstrained && slices.empty() && !soft_tiers && !highest_tier &&
           highest_tier_name.empty() && layers.empty();
  }
  /// Whether both ask for the same.
  [[nodiscard]] bool agrees(const asked_topology& other) const;
};

/// Volcano's: pods with the same values of `keys` are a sub-group.
struct sub_group_policy {
  std::string name = {};
  std::optional<label_selector> selector = {};
  std::vector<std::string> keys = {};  ///< labels
  std::int64_t size = 1;               ///< members without which a sub-group does not start
  std::int64_t least = 0;              ///< sub-groups without which the group does not
  asked_topology asks = {};            ///< of each
  std::string field = {};              ///< the manifest's, for messages
};

/// A group as far as it is known.
struct group_draft {
  group_manifest made;
  asked_topology asks;
  std::vector<sub_group_policy> sub_groups = {};
  std::string template_name = {};  ///< of the Workload that `made.spec.workload` names
  bool has_policy = false;
  label_map annotations = {};                 ///< that say more of it, in Koordinator's words
  std::optional<full_domain> when_full = {};  ///< that and the next one count once policy and topology are known
  std::optional<instant> stale_after = {};
};

/// A Workload: templates by name, parents first; `made.parent` is the template above.
struct workload_templates {
  std::string name, ns;
  std::vector<group_draft> templates;
  bool embedded = false;  ///< 1.35: the groups themselves
  origin from;
};

// --- objects that explain topology

/// Kueue's and KAI's Topology: labels from the widest level to the narrowest.
struct topology_levels {
  std::string name;
  std::vector<std::string> labels;
  origin from;
};
struct hyper_node_member {
  bool is_node = true;
  std::string exact;
  std::string pattern;  ///< a regular expression that names of nodes are searched for
  std::optional<label_selector> labels;
};
struct hyper_node {
  std::string name;
  std::int32_t tier = 0;
  std::string tier_name;
  std::vector<hyper_node_member> members;
  origin from;
};
struct network_layer {
  std::string name, parent;
  std::string label;
};

struct topology_objects {
  std::vector<topology_levels> levels;
  std::vector<hyper_node> hyper_nodes;
  std::vector<network_layer> layers;  ///< of all ClusterNetworkTopologies
};

// --- workloads that are several kinds of pods

/// Pods that a workload makes from one template.
struct planned_pod {
  std::size_t pod_set = 0;
  std::string name;
  bool suffix = false;  ///< a random one is appended
  label_map labels = {};
  label_map node_selector = {};  ///< beside its template's
  std::int32_t rank = 0;
  std::optional<std::size_t> group = {};  ///< in workload_plan::groups
};
struct pod_set {
  std::string role = {};
  pod_manifest pod = {};
  admission_words admission = {};
  std::size_t weight = 1;  ///< what a copy counts, `weight_of`
  std::int64_t count = 0;  ///< members that there should be
  std::int64_t least = 0;  ///< without which the workload does not start
  bool members = true;     ///< of the workload's gang
};
struct workload_plan {
  std::string kind, ns, name;
  origin from;
  label_map annotations = {}, labels = {};
  std::string owner_kind = {}, owner_name = {};
  std::string member_label = {};  ///< pods that are there already and have it, with the workload's name, are members
  std::string group_label = {};   ///< and what says in which group, by index; empty: in the first
  std::string made_by = {};       ///< kind of the controllers in between: those that are in the files make their pods
  std::vector<pod_set> sets;
  std::vector<group_draft> groups;
  std::vector<planned_pod> pods;
  std::size_t planned_before = 0;  ///< pods of the plans before this one
};

/// Volcano's JobTemplate, or CronJob, and JobFlow: Jobs are made of them when all files were read.
struct job_template {
  std::string name, ns;
  value spec;
  origin from;
};
struct job_flow_step {
  std::string job_template;
  std::vector<std::string> after;  ///< templates of steps
};
struct job_flow {
  std::string name, ns;
  std::vector<job_flow_step> steps;
  origin from;
};

/// Kubeflow Trainer's runtimes and TrainJobs: JobSets are made of them when all files were read.
struct training_runtime {
  std::string name, ns;  ///< of no namespace: for all
  std::optional<std::int64_t> nodes = {};
  bool mpi = false, launcher_is_node = false;
  value spec = {};  ///< of the JobSet
  origin from = {};
};
struct train_job {
  std::string name, ns;
  value meta = {};
  std::string runtime = {};
  bool own_runtime = false;  ///< of its namespace
  std::optional<std::int64_t> nodes = {};
  std::optional<value> resources = {};  ///< of each node
  bool suspended = false, ended = false;
  origin from = {};
};

/// A DisaggregatedSet: LeaderWorkerSets for each role, in each of its slices.
struct disaggregated_set {
  std::string name, ns;
  std::int64_t slices = 1;
  std::vector<std::pair<std::string, value>> roles = {};  ///< with the template of the LeaderWorkerSet
  std::string topology = {};  ///< the label of nodes by whose value slices keep together, and apart; empty: none
  bool alone = false;         ///< and slices of other sets keep away
  bool ended = false;
  origin from = {};
};

/// Everything about groups that was read.
struct group_objects {
  std::vector<group_draft> groups;
  std::vector<workload_templates> workloads;
  std::vector<workload_plan> plans;
  std::set<std::tuple<std::string, std::string, std::string, std::string>>
      known_plans;          ///< kind, namespace, name, member label
  std::size_t planned = 0;  ///< pods of all plans
  topology_objects topologies;
  std::vector<job_template> job_templates, cron_jobs;
  std::vector<job_flow> job_flows;
  std::vector<training_runtime> training_runtimes;
  std::vector<train_job> train_jobs;
  std::vector<disaggregated_set> disaggregated_sets;
  std::set<std::pair<std::string, std::string>> jobs;       ///< Kubernetes' Jobs in the files: namespace, name
  std::set<std::pair<std::string, std::string>> completed;  ///< Volcano's Jobs that are Completed
  /// Sub-groups of KAI's pod groups, by namespace, pod group and sub-group: the groups that they became.
  std::map<std::tuple<std::string, std::string, std::string>, std::string> sub_groups;
};

// --- readers. `from.file` of what they make is set by the caller.

/// Reads an object of one of the families of groups; nothing if it is of no such kind.
std::optional<bool> read_group_object(reader& read, const place& of, std::string_view api_group, std::string_view kind,
                                      origin from, group_objects& out, const read_options& how);
/// A PodGroup or CompositePodGroup, of whichever family.
std::optional<bool> read_any_group(reader& read, const place& of, std::string_view api_group, std::string_view kind,
                                   group_draft& out);

/// @p annotations: where they go; null if they say nothing of the group.
bool read_group_meta(reader& read, const place& of, group_draft& out, label_map* annotations = nullptr);
/// What annotations of ours say of the group. @p meta: its metadata.
bool read_own_words(reader& read, const place& meta, const label_map& annotations, group_draft& out);
bool read_kube_group(reader& read, const place& of, bool composite, group_draft& out);
bool read_workload(reader& read, const place& of, workload_templates& out);
bool read_coscheduling_group(reader& read, const place& of, group_draft& out);
bool read_volcano_group(reader& read, const place& of, group_draft& out);
bool read_volcano_network_topology(reader& read, const place& of, asked_topology& out);
bool read_sub_group_policy(reader& read, const place& of, sub_group_policy& out);
bool read_kai_group(reader& read, const place& of, group_objects& out);
bool read_topology(reader& read, const place& of, topology_levels& out);
bool read_hyper_node(reader& read, const place& of, hyper_node& out);
bool read_network_topology(reader& read, const place& of, std::vector<network_layer>& out);
/// The apiVersion of the only plans whose kind Kubernetes has, too: Volcano's Jobs.
inline constexpr std::string_view volcano_version = "batch.volcano.sh/v1alpha1";
bool read_volcano_job(reader& read, const place& of, workload_plan& out, const read_options& how);
/// Its plan, to @p out.
bool add_volcano_job(reader& read, const place& of, origin from, group_objects& out, const read_options& how);
bool add_job_set(reader& read, const place& of, origin from, group_objects& out, const read_options& how);
bool read_volcano_cron_job(reader& read, const place& of, origin from, group_objects& out);
bool read_job_template(reader& read, const place& of, origin from, group_objects& out);
bool read_job_flow(reader& read, const place& of, origin from, group_objects& out);
/// The Jobs of all flows, and of each CronJob one, to the plans.
std::optional<error> plan_job_flows(manifests& into, group_objects& groups, const read_options& how,
                                    pod_budget& budget);
bool read_training_runtime(reader& read, const place& of, origin from, bool of_cluster, group_objects& out);
bool read_train_job(reader& read, const place& of, origin from, group_objects& out);
/// The JobSets of all TrainJobs, to the plans.
std::optional<error> plan_train_jobs(manifests& into, group_objects& groups, const read_options& how,
                                     pod_budget& budget);
bool add_leader_worker_set(reader& read, const place& of, origin from, group_objects& out, const read_options& how);
bool read_disaggregated_set(reader& read, const place& of, origin from, group_objects& out);
/// The LeaderWorkerSets of all DisaggregatedSets, to the plans.
std::optional<error> plan_disaggregated_sets(manifests& into, group_objects& groups, const read_options& how,
                                             pod_budget& budget);
bool read_kueue_workload(reader& read, const place& of, workload_plan& out, const read_options& how);
/// @p kind: RayCluster, RayJob, RayCronJob or RayService
bool read_ray(reader& read, const place& of, std::string_view kind, workload_plan& out, const read_options& how);
/// Whether it is a job of Kubeflow's, as PyTorchJob is.
bool is_training_job(std::string_view kind);
bool read_training_job(reader& read, const place& of, std::string_view kind, workload_plan& out,
                       const read_options& how);
bool read_spark_application(reader& read, const place& of, workload_plan& out, const read_options& how);
bool read_job_set(reader& read, const place& of, workload_plan& out, const read_options& how);
bool read_leader_worker_set(reader& read, const place& of, workload_plan& out, const read_options& how);
/// A pod template. The pod's namespace becomes @p ns.
bool read_pod_template(reader& read, const place& of, std::string_view ns, pod_set& out, const read_options& how);
/// With small letters for capital ones of ASCII, whatever the locale.
std::string lower_case(std::string_view text);
/// The amounts of a container that an operator adds to pods; null: none of this resource.
struct container_amounts {
  const char* cpu;
  const char* memory;
  const char* ephemeral_storage = nullptr;
};
/// Such a container, as an item of a template's list.
value added_container(const char* name, const container_amounts& requests, const container_amounts& limits,
                      std::uint32_t line);
/// A template with more containers in the list @p where: "containers" or "initContainers".
bool read_template_with(reader& read, const place& of, const char* where, std::vector<value> more, std::string_view ns,
                        pod_set& out, const read_options& how);
/// Whether such an object was read, or made.
bool has_plan(const group_objects& groups, const std::string& kind, const std::string& ns, const std::string& name);
/// What is suspended, or has ended, makes no pods and no groups.
void make_nothing(workload_plan& plan);
/// The one gang of a plan whose sets and counts are known, with a role for each set that has a minimum.
group_draft gang_of(const workload_plan& plan, std::int64_t least);
/// False, and says so, if with @p pods of @p plan more are planned than there may be. Asked before they are planned.
bool affordable(reader& read, const place& of, std::int64_t pods, const workload_plan& plan, const read_options& how);

// --- what pods say

/// The group that a pod names in one way or another, its role and its rank. Error: it names two.
std::optional<error> read_membership(pod_manifest& pod);
/// What its annotations ask of Kueue; nothing if nothing. Error: they contradict each other.
result<asked_topology> kueue_topology(const pod_manifest& pod);
/// Koordinator's, Kueue's and the lightweight gangs, which no object describes, and topology by annotation.
std::optional<error> read_gang_annotations(manifests& pods, group_objects& into);
/// Koordinator's on a group that is read by itself. @p warnings may be null.
std::optional<error> read_own_annotations(group_draft& group, std::string_view file, std::vector<warning>* warnings);

// --- putting it together

/// What the draft says beside policy and topology, as part of them. The error is in the model's words.
std::optional<error> settle_own_words(group_draft& draft);

/// Kueue's Workloads whose owner, or pods, are in the files make none, and say their queue to these.
void settle_kueue_workloads(std::vector<controller_of_pods>& controllers, manifests& into, group_objects& groups);
/// The pods and groups of all plans. Pods know their groups already. @p owned: owners of controllers, as kind, namespace, name.
std::optional<error> carry_out(const std::set<std::tuple<std::string, std::string, std::string>>& owned,
                               manifests& into, group_objects& groups, pod_budget& budget, pod_admission& admission);
/// PodGroups of Volcano whose sub-groups the labels of pods tell become trees.
std::optional<error> make_sub_groups(manifests& into, group_objects& groups);
/// Templates become groups, groups take over what their templates say, asked topologies become labels of nodes.
/// Moves the groups to @p into.
std::optional<error> link_groups(const std::set<std::tuple<std::string, std::string, std::string>>& owned,
                                 manifests& into, group_objects& groups, const read_options& how, pod_budget& budget,
                                 pod_admission& admission);
/// Asked topologies as the model has them; HyperNodes as labels of nodes.
std::optional<error> resolve_topologies(manifests& into, group_objects& groups);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
