#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/devices/device_grant.hpp"
#include "gangsched/model/cluster_questions.hpp"
#include "gangsched/model/fwd.hpp"
#include "gangsched/model/kube_semantics.hpp"
#include "gangsched/model/pod_state.hpp"
#include "gangsched/model/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What a cluster is made with; nothing of it can be changed later.
struct cluster_options {
  static constexpr std::size_t most_log_bound = std::size_t{1} << 40;  ///< more is as this
  std::size_t log_bound = std::size_t{1} << 16;   ///< change records kept at least; a reader further behind rebuilds
  kube_semantics semantics = {};                  ///< whose behaviour is followed where releases differ
  gangsched::device_matcher device_matcher = {};  ///< evaluates expressions on devices; none: nothing may have any
  /// Attempts are numbered above this: after a restart, the largest number that late answers may still name, which no new one has then.
  std::uint64_t attempts_after = 0;
  bool keep_specs = false;  ///< of pods and nodes, for `cluster_listing::spec_of`: a copy each
};

namespace detail {
[[nodiscard]] cluster copy_of(const model::cluster_state& state);
}  // namespace detail

/// Roughly how many objects of each kind there will be.
struct cluster_size {
  std::uint32_t nodes = 0;
  std::uint32_t pods = 0;  ///< at a time: rows of pods that are gone are used again
  std::uint32_t groups = 0;
};

/// Nodes, pods and groups as the host knows them. The host owns this value and tells it what happened; every call either does all it
/// says and appends to the change log, or returns an error and changes nothing. If a call throws std::bad_alloc, nothing changed either;
/// made again, with memory, it does what it would have done. No other exception is thrown. Const access is thread-safe, writing is not.
///
/// Errors, everywhere: `unknown` (an id or name that nothing has), `duplicate` (a name that exists), `wrong_state` (does not apply
/// to what the object is doing), `malformed` (disagrees with what it refers to), `overflow` (a node's usage, or what a queue's pods
/// request, would not fit into 64 bits), `busy` (called from inside a hook), and those of `check` in validate.hpp.
///
/// Costs: O(size of the arguments) if none is named; *selectors* are those of pod affinity, anti-affinity and spread constraints in use.
class GANGSCHED_API cluster : public cluster_questions {
 public:
  explicit cluster(const cluster_options& options = {});
  cluster(cluster&&) noexcept;
  cluster& operator=(cluster&&) noexcept;
  ~cluster();

  /// A copy with the same ids. Changes to one do not show in the other; told the same, both decide the same. To copy schedulers too, use
  /// `scheduler::fork`. Hosts on several threads may each have a fork, if `device_matcher` may be called concurrently. Error: busy
  /// (a transaction is open). O(state).
  [[nodiscard]] result<cluster> fork() const;

  /// Makes room for so many objects now. Tables grow by themselves, but a call in which a large one moves takes up to milliseconds longer,
  /// a few times per table. The numbers are no limits: more objects may come, or fewer. O(sizes).
  result<void> reserve(const cluster_size& expected);

  // --- nodes
  /// O(size of the spec + zones + selectors); with devices also O(kinds of machines).
  result<node_id> add_node(const node_spec& spec);
  /// Replaces the whole spec; the name must stay. Pods on it stay, even if they no longer fit. As add_node; where its labels change
  /// O(nodes) more, where its domains or devices do O(pods on it · selectors that they match), where devices do also O(resource claims).
  result<void> update_node(node_id node, const node_spec& spec);
  /// Sets what the node has of resources that its spec has none of, such as amounts worked out from its load (model/colocation.hpp);
  /// 0: none. An amount stays until it is set again, or until update_node has a spec with more than 0 of it. Pods stay, even if they no
  /// longer fit. Error: wrong_state, if the spec names more than 0 of one. O(size of the node's spec).
  result<void> set_allocatable(node_id node, const resource_list& amounts);
  /// Marks one device, by id, as healthy or unhealthy; an unhealthy one is hidden at once. Returns the pods that have some of it, by row;
  /// they keep it until they are removed. Error: unknown, if the node has no such device. O(devices of the node + its pods).
  result<std::vector<pod_id>> set_device_health(node_id node, std::string_view device, bool healthy);
  /// Removes the node and the pods bound to it, which are returned by row. Pods assumed on it are pending again, and a scheduler revokes
  /// what it had decided for it at its next call. O(nodes + selectors + resource claims + held rooms + pods there · their selectors).
  result<std::vector<removed_pod>> remove_node(node_id node);

  // --- pods
  /// Adds a pod that waits to be scheduled, or runs already (spec.node). O(size of the spec) if it has no selector and differs from a
  /// recent pod only in its name; else O(selectors) more, and O(Services) where a profile has default spread constraints. The first
  /// pod with a selector costs O(nodes + pods on nodes) more, and each pod a comparison later; no priority costs O(priority classes).
  result<pod_id> add_pod(const pod_spec& spec);
  /// Adds pods that wait and are alike but for their names; ranks count up from @p like's, if it has one. All or none. Per pod less
  /// than half of what add_pod costs. O(size of the spec + names).
  result<std::vector<pod_id>> add_pods(const pod_spec& like, std::span<const std::string> names);
  /// Replaces the spec; one that says the same again changes nothing. Name, namespace and group must stay; the queue may change, even of a
  /// running pod. If it names a node, a pending pod is bound there (by others), as is an assumed one, wherever that was; a bound one cannot
  /// move. A pod on a node counts there with its new requests. Under wake_rule::hints a waiting pod is tried again only for what Kubernetes
  /// lets change of it: else call `activate`. O(size of the spec + selectors), for the first with a selector as for add_pod.
  result<void> update_pod(pod_id pod, const pod_spec& spec);
  /// Replaces the specs of several pods, say of a running gang with new requests; all or none. They must fit where they are, but a node
  /// that had too little before may stay so: else wrong_state, naming pod, resource and node. As update_pod for each, and O(kinds).
  result<void> resize_pods(std::span<const pod_id> pods, std::span<const pod_spec> specs);
  /// The pod is gone; what it held is free. If its gang waits, the others keep waiting until their timeout. O(selectors that it matches).
  result<void> remove_pod(pod_id pod);
  /// The pod is being deleted: it is not scheduled any more, and keeps what it holds until it is removed. @p preempted: because of an evict
  /// decision (PreemptionByScheduler in Kubernetes' condition DisruptionTarget): the pod that it makes room for does not preempt again.
  /// O(selectors).
  result<void> set_terminating(pod_id pod, bool preempted = false);

  // --- groups, namespaces, priority classes
  /// O(groups of its tree). Error: a parent below itself, a tree of more than four levels, or one whose groups disagree about what is
  /// the tree's (malformed, out_of_range).
  result<group_id> add_group(const group_spec& spec);
  /// The id of a group that may be added later: pods and groups can join it now, and wait until add_group says what it is.
  /// It goes with its last member or child group, or by remove_group. O(1).
  result<group_id> expect_group(std::string_view ns, std::string_view name, bool composite = false);
  /// Replaces the whole spec, as `spec_of` returns it; name, namespace, parent, the kind of policy and the gang's mode must stay
  /// (wrong_state, as of a group that is only expected). The minimum count may change at any time. O(groups and pods of its tree).
  result<void> update_group(group_id group, const group_spec& spec);
  /// If it has members or child groups left, it becomes an expected group: members with a node keep it, the others wait. As update_group.
  result<void> remove_group(group_id group);
  /// Adds the namespace or replaces its labels. Namespaces that were not added have no labels. O(size of the spec + selectors); if a
  /// namespace selector of some pod starts or stops matching it, O(pods) more, and every pod is compared anew when it is looked at next.
  result<void> set_namespace(const namespace_spec& spec);
  result<void> remove_namespace(std::string_view name);
  /// Services and controllers, for profiles with default spread constraints: what they select is spread, and with such a profile every pod
  /// is compared anew when it is looked at next. Each adds or replaces; a controller is known by its kind too.
  result<void> set_service(const service_spec& spec);
  result<void> remove_service(std::string_view ns, std::string_view name);
  result<void> set_controller(const controller_spec& spec);
  result<void> remove_controller(controller_kind kind, std::string_view ns, std::string_view name);
  /// Pods keep the priority they were added with when a class changes or goes.
  result<void> set_priority_class(const priority_class_spec& spec);
  result<void> remove_priority_class(std::string_view name);

  // --- room held for owners
  /// Holds room on nodes for pods that name it, or changes what is held: others see it as used. A node may have less free than is held
  /// there; its usage then shows that. Only resources that count in requests are held: no devices by id, no pod slots. Error: unknown, for
  /// a node id that nothing has; malformed, for a node named twice; overflow. O(parts · (resources + pods there)).
  result<void> set_held_room(const held_room_spec& spec);
  /// Removes the room: what was left of it is free for all pods. Error: unknown. O(parts · resources).
  result<void> remove_held_room(std::string_view name);

  // --- claims of devices that pods share
  /// Of its `held_devices`, what others have is left out, and unhealthy ones are held; what the node does not have yet is held once it is
  /// there. O(size of the spec).
  result<resource_claim_id> add_resource_claim(const resource_claim_spec& spec);
  /// Error: wrong_state, while a pod names it.
  result<void> remove_resource_claim(resource_claim_id claim);
  /// Takes the devices back from a claim that was allocated before any pod used it. Error: wrong_state, while a pod on a node uses it.
  /// O(devices).
  result<void> deallocate(resource_claim_id claim);

  // --- disruption budgets (what preemption would rather not break)
  result<budget_id> add_disruption_budget(const pod_disruption_budget_spec& spec);
  /// Replaces the spec; name and namespace must stay.
  result<void> update_disruption_budget(budget_id budget, const pod_disruption_budget_spec& spec);
  result<void> remove_disruption_budget(budget_id budget);

  // --- columns: numbers beside nodes, groups, pods and the rows of named scopes, for plugins (docs/columns.md)
  /// Makes a column that the host sets. If a plugin has asked for a column of that name, it is the same one. Error: malformed, for
  /// an empty name. O(rows).
  result<void> add_node_column(std::string_view column);
  result<void> add_group_column(std::string_view column);
  result<void> add_pod_column(std::string_view column);
  result<void> add_scope_column(std::string_view scope, std::string_view column);
  /// The row of that name in a scope, made if it is new. Error: malformed, for an empty name. O(length).
  result<scope_row_id> add_scope_row(std::string_view scope, std::string_view row);
  /// Removes the row, with its words and what reserve hooks noted of it. Error: unknown. O(columns).
  result<void> remove_scope_row(scope_row_id row);
  /// Sets a word; any value is allowed. Pods are tried again that were rejected by a plugin which asked for the column. Error: unknown, if
  /// there is no such column or object; wrong_state, for a column that reserve hooks count. O(columns).
  result<void> set_column(node_id node, std::string_view column, std::int64_t value);
  result<void> set_column(group_id group, std::string_view column, std::int64_t value);
  result<void> set_column(pod_id pod, std::string_view column, std::int64_t value);
  result<void> set_column(scope_row_id row, std::string_view column, std::int64_t value);

  // --- queues and flavors: whose what of the cluster is (model/cluster_queues.hpp, docs/queues.md)
  [[nodiscard]] cluster_queues queues() noexcept;
  [[nodiscard]] queue_questions queues() const noexcept;

  // --- what schedulers do: for hosts that decide themselves, and after a restart (docs/embedding.md)
  /// Reserves room on a node for a pending pod that is neither gated nor being deleted. No filter or hook is asked: the node may be
  /// overcommitted. O(what it requests + devices + selectors that it matches), as `release`. Error: overflow of the node's usage.
  result<void> assume(pod_id pod, node_id node);
  /// An assumed pod runs.
  result<void> bind(pod_id pod);
  /// An assumed pod is pending again.
  result<void> release(pod_id pod);
  /// Nominates a pending pod to the node that is meant for it once victims are gone; a default id clears that.
  result<void> nominate(pod_id pod, node_id node);

  /// A number that is the same for pods which differ only in what is a pod's own: what `explain` says of one of them holds
  /// for all, until the cluster changes. O(1); O(selectors) where selectors came or went since. Error: unknown, busy.
  [[nodiscard]] result<std::uint32_t> class_of(pod_id pod);
  /// Sets the listener that hears of each call (model/call_listener.hpp); null: none. The one before is told `ended()`. Error: busy (also
  /// inside a transaction), wrong_state (@p by listens to a cluster already). O(1).
  result<void> listen(call_listener* by);

 private:
  explicit cluster(std::unique_ptr<model::cluster_state> state) noexcept;
  friend cluster detail::copy_of(const model::cluster_state& state);
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/call_listener.cpp"
#include "gangsched/src/model/cluster.cpp"
#include "gangsched/src/model/cluster_budgets.cpp"
#include "gangsched/src/model/cluster_columns.cpp"
#include "gangsched/src/model/cluster_devices.cpp"
#include "gangsched/src/model/cluster_groups.cpp"
#include "gangsched/src/model/cluster_held_rooms.cpp"
#include "gangsched/src/model/cluster_named.cpp"
#include "gangsched/src/model/cluster_placement.cpp"
#include "gangsched/src/model/cluster_pods.cpp"
#include "gangsched/src/model/cluster_resource_claims.cpp"
#include "gangsched/src/model/group_ratios.cpp"
#endif
