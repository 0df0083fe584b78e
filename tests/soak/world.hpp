#pragma once
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/scheduler.hpp"
#include "step.hpp"

/// The model: what a host knows that was told everything. It asks the library nothing.
namespace gangsched::soak {

/// The resources that are counted, in the cluster's units.
inline constexpr std::array<std::string_view, 8> resources{"cpu",
                                                           "memory",
                                                           "pods",
                                                           "example.com/licence",
                                                           "nvidia.com/gpu",
                                                           "nvidia.com/mig-1g.5gb",
                                                           "nvidia.com/mig-3g.20gb",
                                                           "nvidia.com/mig-2g.10gb"};
using amounts = std::array<std::int64_t, resources.size()>;

struct known_node {
  node_id id;
  step made;  ///< what described it last
  node_spec spec;
  amounts allocatable{};
  std::int64_t lent = 0;  ///< "example.com/lent", which is beside the spec
};

struct known_pod {
  pod_id id;
  step made;
  pod_spec spec;
  number group = nobody;
  std::int32_t priority = 0;
  bool may_preempt = true;
  amounts needs{};
  pod_state state = pod_state::pending;
  number node = nobody;
  bind_attempt attempt = bind_attempt::none;  ///< that it has the node by, while it waits or is decided
  bool waiting = false;                       ///< in the permit room
  bool decided = false;                       ///< a bind decision that the host has not answered
  bool terminating = false;
  bool evicted = false;
  std::optional<instant> noticed = {};  ///< since when it has notice
  bool by_others = false;               ///< its place was never the scheduler's to decide
  bool in_flight = false;               ///< popped by the host
  bool refused = false;                 ///< the host tried it and said no: it waits for a change
  bool given_up = false;                ///< `done`: in no queue until it is updated
  bool overruled = false;               ///< the host let it go, whatever its group lacks, for as long as it waits
  bool used_up = false;                 ///< an owner ran that it was there for once
  std::set<std::string> holders = {};   ///< the plugins that make it wait, as was seen last
  instant wait_since{}, wait_most{};

  [[nodiscard]] bool placed() const noexcept { return state == pod_state::assumed || state == pod_state::bound; }
};

struct known_group {
  group_id id;
  step made;
  group_spec spec;
  number above = nobody;
  bool expected = false;
  bool satisfied = false;  ///< it had its minimum once, since it was what it is
  bool overruled = false;  ///< the host let a member go

  [[nodiscard]] const gang* policy() const noexcept { return expected ? nullptr : std::get_if<gang>(&spec.policy); }
  [[nodiscard]] std::int32_t min_count() const noexcept { return policy() != nullptr ? policy()->min_count : 1; }
};

struct known_claim {
  resource_claim_id id;
  resource_claim_spec spec;
};

struct world {
  std::map<number, known_node> nodes;
  std::map<number, known_pod> pods;
  std::map<number, known_group> groups;
  std::map<number, known_claim> claims;
  std::map<number, budget_id> budgets;
  std::map<number, priority_class_spec> classes;
  std::map<number, std::map<number, amounts>> rooms;  ///< by node what is held there
  bool has_columns = false;
  std::map<number, std::int64_t> heat;           ///< of nodes, as the host set it
  std::map<std::string, std::int64_t> licences;  ///< of the rows of a scope
  std::map<std::string, queue_spec> queues;
  std::map<std::string, flavor_spec> flavors;
  std::set<number> namespaces, services, controllers;
  std::vector<pod_id> dead_pods;
  std::vector<node_id> dead_nodes;
  std::vector<group_id> dead_groups;

  [[nodiscard]] std::uint32_t members(number group) const;
  [[nodiscard]] std::uint32_t placed(number group) const;
  [[nodiscard]] std::uint32_t placed(number group, std::string_view role) const;
  /// Members with a node; of a group of groups: those that have their minimum in that sense.
  [[nodiscard]] std::uint32_t ready(number group) const;
  [[nodiscard]] number root(number group) const;
  /// What its owners have not drawn of a room on a node.
  [[nodiscard]] amounts left(number room, number node) const;
  /// What a tree of groups is worth: its root's priority, else that of its most important pod.
  [[nodiscard]] std::int32_t tree_priority(number group) const;
  /// By spec, class, default class; nothing if they disagree or the class is not there.
  [[nodiscard]] std::optional<std::int32_t> priority_of(const pod_spec& spec) const;
  [[nodiscard]] bool may_preempt(const pod_spec& spec) const;
};

[[nodiscard]] amounts needs_of(const pod_spec& spec);
[[nodiscard]] amounts amounts_of(const resource_list& list);
[[nodiscard]] bool tolerates(const pod_spec& pod, const taint& one);
/// Whether hard rules that concern the node alone let the pod on it: taints, labels, features, the switch.
[[nodiscard]] bool admits(const node_spec& node, const pod_spec& pod, kube_release release);
[[nodiscard]] bool selects(const label_selector& selector, const label_map& labels);
/// Whether a required anti-affinity of @p mine is against @p other, where both are.
[[nodiscard]] bool is_against(const pod_spec& mine, const node_spec& my_node, const pod_spec& other,
                              const node_spec& other_node);
/// Nothing but amounts, taints, labels and the switch decides where it may run.
[[nodiscard]] bool is_simple(const pod_spec& spec);

}  // namespace gangsched::soak
