#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/queues/kueue/spec.hpp"
#include "gangsched/queues/queue_tree.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

using resource_index = std::uint32_t;
using flavor_index = std::uint32_t;
/// A resource in a flavor for which some node has quota (FlavorResource).
using fr_index = std::uint32_t;
inline constexpr std::uint32_t none = ~std::uint32_t{0};

/// Whether Kueue 0.19 processes the resource @p a of a pod set before @p b: it sorts them by the 64-bit FNV-1a hashes of their names. Which
/// flavors are tried can depend on it.
[[nodiscard]] GANGSCHED_API bool looked_at_before(std::string_view a, std::string_view b) noexcept;

/// A resource group in numbers.
struct flavor_choice {
  std::vector<resource_index> resources;
  std::vector<flavor_index> flavors;  ///< in order of preference
};

/// Flavors, cohorts and queues, checked and numbered. Immutable: a host that changes more than a quota makes another. Resources are in the
/// order of `looked_at_before`.
class GANGSCHED_API configuration {
 public:
  /// The maximum depth of cohorts.
  static constexpr std::uint32_t max_depth = 1000;

  configuration() = default;
  /// Errors name the flavor, cohort or queue: `malformed` (no name; cohorts below themselves; a group with
  /// quotas for more or fewer than it has), `duplicate` (a name; a flavor in two groups, a resource twice in one), `unknown` (a flavor),
  /// `out_of_range` (a negative quota or limit; a weight that is negative or no number; cohorts too deep). O(n log n).
  static result<configuration> make(const configuration_spec& from);

  /// Cohorts and queues, each below its cohort; names are "cohort NAME" and "queue NAME".
  [[nodiscard]] const queue_tree& tree() const noexcept { return tree_; }
  [[nodiscard]] bool is_queue(queue_index node) const noexcept { return node >= first_queue_; }
  /// Queues are the nodes from here to the end of the tree, in the host's order.
  [[nodiscard]] queue_index first_queue() const noexcept { return first_queue_; }
  [[nodiscard]] std::size_t queue_count() const noexcept { return tree_.size() - first_queue_; }
  [[nodiscard]] std::optional<queue_index> find_queue(std::string_view name) const;
  [[nodiscard]] std::optional<queue_index> find_cohort(std::string_view name) const;
  /// Without "cohort " and "queue ".
  [[nodiscard]] std::string_view name(queue_index node) const;
  [[nodiscard]] double weight(queue_index node) const { return weight_[node]; }

  [[nodiscard]] std::size_t resource_count() const noexcept { return resources_.size(); }
  [[nodiscard]] const std::string& resource(resource_index of) const { return resources_[of]; }
  /// `none` if no node has quota of it.
  [[nodiscard]] resource_index find_resource(std::string_view name) const noexcept;
  [[nodiscard]] std::size_t flavor_count() const noexcept { return flavors_.size(); }
  [[nodiscard]] const flavor_spec& flavor(flavor_index of) const { return flavors_[of]; }
  /// `none` if there is no such flavor.
  [[nodiscard]] flavor_index find_flavor(std::string_view name) const noexcept;

  /// Sorted by resource, then flavor.
  [[nodiscard]] std::size_t fr_count() const noexcept { return fr_resource_.size(); }
  [[nodiscard]] resource_index resource_of(fr_index of) const { return fr_resource_[of]; }
  [[nodiscard]] flavor_index flavor_of(fr_index of) const { return fr_flavor_[of]; }
  /// `none` if no node has quota of it.
  [[nodiscard]] fr_index find_fr(flavor_index flavor, resource_index resource) const {
    return fr_of_[std::size_t{flavor} * resources_.size() + resource];
  }

  struct own_quota {
    fr_index of;
    quota amounts;
  };
  /// The node's own quotas, in the order of fr_index.
  [[nodiscard]] std::span<const own_quota> quotas(queue_index node) const {
    return std::span{quotas_}.subspan(first_quota_[node], first_quota_[node + 1] - first_quota_[node]);
  }

  /// For queues, here and below.
  [[nodiscard]] queueing_strategy strategy(queue_index queue) const { return rules_[queue - first_queue_].strategy; }
  [[nodiscard]] bool by_local_usage(queue_index queue) const { return rules_[queue - first_queue_].by_local_usage; }
  [[nodiscard]] const preemption_rules& preemption(queue_index queue) const {
    return rules_[queue - first_queue_].preemption;
  }
  [[nodiscard]] const flavor_fungibility& fungibility(queue_index queue) const {
    return rules_[queue - first_queue_].fungibility;
  }
  [[nodiscard]] std::span<const flavor_choice> groups(queue_index queue) const {
    return rules_[queue - first_queue_].groups;
  }
  /// The first group that has the resource; `none` if the queue has no quota of it.
  [[nodiscard]] std::uint32_t group_of(queue_index queue, resource_index resource) const {
    return rules_[queue - first_queue_].group_of[resource];
  }

 private:
  struct queue_rules {
    queueing_strategy strategy;
    preemption_rules preemption;
    flavor_fungibility fungibility;
    std::vector<flavor_choice> groups;
    std::vector<std::uint32_t> group_of;  ///< by resource_index
    bool by_local_usage = false;
  };

  result<void> number_names(const configuration_spec& from);
  result<void> make_tree(const configuration_spec& from);
  result<void> add_node(const std::string& object, double weight, const std::vector<resource_group>& groups,
                        std::vector<flavor_choice>* numbered);

  queue_tree tree_;
  queue_index first_queue_ = 0;
  std::vector<double> weight_;
  std::vector<std::string> resources_;
  std::vector<std::uint64_t> resource_hashes_;
  std::vector<flavor_spec> flavors_;
  std::vector<flavor_index> flavors_by_name_;
  std::vector<resource_index> fr_resource_;
  std::vector<flavor_index> fr_flavor_;
  std::vector<fr_index> fr_of_;  ///< by flavor and resource
  std::vector<own_quota> quotas_;
  std::vector<std::uint32_t> first_quota_;  ///< by node, and the end
  std::vector<queue_rules> rules_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/configuration.cpp"
#endif
