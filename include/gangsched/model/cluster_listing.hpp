#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/model/cluster_questions.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Amounts of all nodes in columns, in the units of `integer_resources`, and their sums. Free is allocatable minus requested: below 0 on an
/// overcommitted node. Sums saturate.
struct node_amounts {
  std::vector<std::string> resources;  ///< cpu, memory, ephemeral-storage, pods, then the others by name
  std::vector<node_id> nodes;          ///< by row
  /// One node after another, of each all resources: [node · resources.size() + resource].
  std::vector<std::int64_t> allocatable, requested, free;
  std::vector<std::int64_t> total_allocatable, total_requested, total_free;  ///< by resource
};

/// A group with its members and children.
struct listed_group {
  group_id group;
  group_id parent;                                    ///< a default id at the top of a tree
  bool expected = false;                              ///< it was named, but not added yet
  std::uint32_t pending = 0, assumed = 0, bound = 0;  ///< members
  std::vector<pod_id> members;                        ///< in order of arrival
  std::vector<group_id> children;                     ///< right below it, in order of arrival
};

/// The objects of a cluster (`cluster::list`): a handle, valid as long as the cluster. Orders depend only on the host's calls and their
/// order.
class GANGSCHED_API cluster_listing {
 public:
  explicit cluster_listing(const model::cluster_state& of) noexcept : state_(&of) {}

  /// O(nodes · resources).
  [[nodiscard]] node_amounts amounts() const;
  /// By row. O(groups + members).
  [[nodiscard]] std::vector<listed_group> groups() const;
  /// Nothing for an unknown id. O(members).
  [[nodiscard]] std::optional<listed_group> find(group_id group) const;
  /// The pods that run or are assumed there, and those nominated to it, by row. O(n log n) for n pods.
  [[nodiscard]] std::vector<pod_id> pods_on(node_id node) const;
  [[nodiscard]] std::vector<pod_id> nominated_to(node_id node) const;

  /// The spec of the last add_pod or update_pod, with the pod's present state: the node where it runs, its nominated node, and whether it
  /// is being deleted (`held_devices` as the host gave them). Nothing for an unknown id, and without `cluster_options::keep_specs`. O(size
  /// of the spec).
  [[nodiscard]] std::optional<pod_spec> spec_of(pod_id pod) const;
  /// The spec of the last add_node or update_node, with the present health of its devices. As above.
  [[nodiscard]] std::optional<node_spec> spec_of(node_id node) const;

 private:
  [[nodiscard]] listed_group describe(row_t group) const;
  const model::cluster_state* state_;
};

inline cluster_listing cluster_questions::list() const noexcept { return cluster_listing{*state_}; }

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/cluster_listing.cpp"
#endif
