#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/core/references.hpp"
#include "gangsched/src/kube/queues/yunikorn.hpp"

/// Queues between being read and being made: what one object says of another is known only when everything was read.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// What a queue_spec cannot say of a ClusterQueue.
struct cluster_queue_rules {
  std::optional<label_selector> namespaces = {};  ///< that may use it; absent: none
  bool weighs_local_queues = false;               ///< admission fair sharing
};

struct local_queue {
  std::string ns, name;
  std::string cluster_queue = {};
  queue_state state = queue_state::open;
  std::optional<double> weight = {};
  origin from = {};
};

/// Volcano's path of a queue, with the weight of each part: `root/eng/prod`, 1/2/8.
struct queue_path {
  std::size_t queue = 0;  ///< in queue_objects::queues
  std::vector<std::string> parts = {};
  std::vector<double> weights = {};
};

/// What a LimitRange says of containers, or of pods as a whole.
struct limit_range_item {
  bool counts = true;  ///< false: it is about claims of volumes
  bool of_pod = false;
  resource_list limits = {}, requests = {};  ///< of containers that have none
  resource_list least = {}, most = {}, ratio = {};
};
struct limit_range {
  std::string ns, name;
  std::vector<limit_range_item> items = {};
  origin from = {};
};

enum class scope_kind : std::uint8_t {
  terminating,
  not_terminating,
  best_effort,
  not_best_effort,
  priority_class,
  cross_namespace_affinity,
  volume_attributes_class
};
struct quota_scope {
  scope_kind what = scope_kind::terminating;
  selector_operator op = selector_operator::exists;
  std::vector<std::string> values = {};
};
struct resource_quota {
  std::string ns, name;
  resource_list hard = {};         ///< by the pods' resources
  resource_list hard_claims = {};  ///< of claims of volumes, by Kubernetes' words for that
  std::vector<std::pair<std::string, bool>> needed =
      {};                                ///< what each container has to have a request of, or (true) a limit
  std::vector<quota_scope> scopes = {};  ///< all of them hold
  origin from = {};

  [[nodiscard]] std::string queue_name() const { return ns + "/" + name; }
};

struct hived_draft {
  queues::hived::configuration configuration = {};
  std::vector<std::size_t> devices = {};  ///< of each virtual cluster
  origin from = {};
};
inline constexpr const char* hived_word = "hivedscheduler.microsoft.com/pod-scheduling-spec";
/// An annotation that a pod with the one above gets.
inline constexpr const char* hived_cluster_word = "hivedscheduler.microsoft.com/virtual-cluster";

/// Everything about queues that was read.
struct queue_objects {
  std::vector<flavor_manifest> flavors;
  std::vector<queue_manifest> queues;
  std::map<std::string, cluster_queue_rules> cluster_queues;
  std::vector<local_queue> local_queues;
  std::map<std::string, std::int32_t> workload_priorities;  ///< WorkloadPriorityClass
  std::vector<queue_path> paths;
  std::vector<limit_range> limit_ranges;
  std::vector<resource_quota> resource_quotas;
  std::optional<yunikorn_draft> yunikorn;
  std::string yunikorn_map = {};                         ///< the ConfigMap that it is of, if it is of one
  std::map<std::string, label_map> yunikorn_namespaces;  ///< by name: YuniKorn's annotations
  std::set<std::string> spared_classes;                  ///< priority classes whose pods YuniKorn preempts last
  std::optional<hived_draft> hived;
  /// By namespace and name: the queue that a LocalQueue is, or is a name for. Known when queues are linked.
  std::map<std::pair<std::string, std::string>, std::string> local_names;
};

/// What a Cohort is called as a queue: a ClusterQueue may have the same name.
std::string cohort_queue(std::string_view name);

// --- readers. `from` of what they make is set by the caller.

/// Reads an object about queues; nothing if it is of no such kind.
std::optional<bool> read_queue_object(reader& read, const place& of, std::string_view api_group, std::string_view kind,
                                      origin from, queue_objects& out);

bool read_cluster_queue(reader& read, const place& of, queue_spec& out, cluster_queue_rules& rules);
bool read_cohort(reader& read, const place& of, queue_spec& out);
bool read_resource_flavor(reader& read, const place& of, flavor_spec& out);
bool read_local_queue(reader& read, const place& of, local_queue& out);
bool read_workload_priority(reader& read, const place& of, std::map<std::string, std::int32_t>& out);
/// @p path has parts if the queue says where it is in Volcano's hierarchy.
bool read_volcano_queue(reader& read, const place& of, queue_spec& out, queue_path& path);
bool read_kai_queue(reader& read, const place& of, queue_spec& out);
/// YuniKorn's queues.yaml or HiveD's configuration, which have no kind; nothing if it is neither. Error: there is one already.
std::optional<bool> read_queue_configuration(reader& read, const place& of, origin from, queue_objects& out);
bool read_hived(reader& read, const place& of, hived_draft& out);
/// Keeps YuniKorn's annotations of a namespace or of a priority class.
void note_yunikorn(const value& object, std::string_view kind, queue_objects& out);
bool read_limit_range(reader& read, const place& of, limit_range& out);
bool read_resource_quota(reader& read, const place& of, resource_quota& out);
/// An ElasticQuota of Koordinator or, unless @p of_koordinator, of scheduler-plugins.
bool read_elastic_quota(reader& read, const place& of, bool of_koordinator, queue_manifest& out);

/// Amounts that are not negative.
bool read_quota_amounts(reader& read, const place& of, resource_list& out);

// --- putting it together

/// Queues of YuniKorn's configuration, those that its rules make for pods included, and what its pods say: applications become groups.
std::optional<error> form_applications(manifests& into, queue_objects& queues);
std::optional<error> add_yunikorn_queues(manifests& into, queue_objects& queues);
/// HiveD's virtual clusters as queues, and what its pods say.
std::optional<error> form_affinity_groups(manifests& into, queue_objects& queues);
/// Queues that are only implied, flavors that are named; which queue each pod and group is in. Moves flavors and queues to @p into.
std::optional<error> link_queues(manifests& into, queue_objects& queues);
/// What pods and groups say of their queue, when it is known which queues there are.
std::optional<error> name_queues(manifests& into, const queue_objects& queues);
/// Groups that name no queue are in the one of all their members; says which queues are named and not there.
void settle_group_queues(manifests& into);
/// Pods without a node tolerate what the flavors of their queue have them tolerate.
void tolerate_flavors(manifests& into);

/// Which queue a pod is in: by its own word, its groups', its namespace's; else empty. Refers to the manifests as they are.
class pod_home {
 public:
  explicit pod_home(const manifests& all);
  [[nodiscard]] const std::string& of(const pod_manifest& pod) const;
  [[nodiscard]] const std::string& of_namespace(const std::string& ns) const;
  /// Whether it, or a group of it, names one.
  [[nodiscard]] const std::string& named(const pod_manifest& pod) const;

 private:
  using group_key = std::tuple<bool, std::string, std::string>;  // composite, namespace, name
  const manifests* all_;
  std::map<group_key, std::size_t> groups_;
  std::map<std::string, std::string> namespaces_;
};

/// Gives containers their defaults, and refuses what is outside the bounds. About new pods: those from @p new_from on, made of templates,
/// and of the others, which were read, those without a node if @p read_ones. Reservations are none.
std::optional<error> apply_limit_ranges(manifests& into, const queue_objects& queues, std::size_t new_from,
                                        bool read_ones, mistakes_by_object note);
/// Holds claims of volumes that no controller has looked at yet against the LimitRanges of their namespace.
std::optional<error> check_claims(const manifests& all, const queue_objects& queues, mistakes_by_object note);
/// New claims that a ResourceQuota has no room for are not made; those that pods run with, and that a controller has seen, count first.
/// Pods that want one wait, `pod_manifest::unresolved` has Kubernetes' words. O(claims · quotas of their namespaces + volumes of pods).
void refuse_claims(manifests& into, const queue_objects& queues);
/// Whether a resource of a ResourceQuota counts claims of volumes, or their storage.
bool is_of_claims(std::string_view resource);
/// Whether a quota with the scope is about the claim: one of VolumeAttributesClass may be, all others are about pods.
bool selects_claim(const quota_scope& scope, const volume_claim_manifest& claim);
/// ResourceQuotas become queues. What containers of new pods have to say is as above. O(pods · quotas of their namespaces).
std::optional<error> place_resource_quotas(manifests& into, const queue_objects& queues, std::size_t new_from,
                                           bool read_ones, mistakes_by_object note);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
