#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/is_among.hpp"
#include "gangsched/core/percent.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Whether a node has room for a pod's requests, and how much of it is left (kube-scheduler's NodeResourcesFit).
///
/// Filter: a slot for the pod, and request ≤ allocatable − used for each resource; unresolvable if one request is larger than the
/// whole allocatable. Score: Σ s·w / Σ w over the configured resources, without those of capacity 0 and scalars that the pod does
/// not request; with the 100m/200Mi defaults for cpu and memory, and without pod-level requests (upstream's quirk):
///   LeastAllocated s = 100·(capacity − requested)/capacity; MostAllocated s = 100·requested/capacity;
///   RequestedToCapacityRatio s = shape(100·requested/capacity), only s > 0 count, and the mean is rounded.
/// A placement's score is MostAllocated over the sums of all its nodes, whatever the strategy (KEP-5732).
class node_resources_fit {
 public:
  static constexpr std::string_view name = "NodeResourcesFit";
  using points = implements<point::requeue, point::pre_filter, point::filter, point::pre_score, point::score,
                            point::score_placement>;
  static constexpr bool ignores_group_identity = true;
  static constexpr events wakes_on =
      events::node_added | events::node_allocatable | events::pod_removed | events::pod_scaled_down;

  enum class strategy : std::uint8_t { least_allocated, most_allocated, requested_to_capacity_ratio };
  struct weighted_resource {
    std::string name;
    std::int64_t weight = 1;  ///< 1 to 100
  };
  struct shape_point {
    std::int64_t utilization = 0;  ///< 0 to 100, increasing
    std::int64_t score = 0;        ///< 0 to 10
  };
  struct options {
    node_resources_fit::strategy strategy = strategy::least_allocated;
    std::vector<weighted_resource> resources = {{"cpu", 1}, {"memory", 1}};
    std::vector<shape_point> shape = {};              ///< for requested_to_capacity_ratio: at least one
    std::vector<std::string> ignored_resources = {};  ///< extended resources that the filter ignores
    std::vector<std::string> ignored_groups = {};     ///< likewise, by the prefix before the '/'
  };

  node_resources_fit() : node_resources_fit(options{}) {}
  /// @pre check(chosen) finds nothing.
  explicit node_resources_fit(options chosen) : options_(std::move(chosen)) {
    GANGSCHED_ASSERT(!check(options_));
    for (shape_point& corner : options_.shape) corner.score *= max_node_score / 10;
  }
  /// The first option out of range, if any.
  [[nodiscard]] GANGSCHED_API static std::optional<error> check(const options& chosen);
  /// Arguments: Kubernetes' NodeResourcesFitArgs.
  [[nodiscard]] GANGSCHED_API static result<node_resources_fit> from(const argument& args);

  struct scored_resource {
    resource_kind kind;
    resource_kind used;  ///< the amount that counts as used: for cpu and memory with defaults
    std::int64_t request;
    std::int64_t weight;
  };
  struct data {
    std::vector<resource_kind> ignored;
    std::vector<scored_resource> scored;
  };
  using room = node_view<reads::allocatable | reads::usage>;

  /// Woken by a pod that leaves or requests less of what this pod needs; by a new or grown node that would fit this pod if empty.
  [[nodiscard]] GANGSCHED_API hint requeue(const event& e, const pod_info& pod) const;
  [[nodiscard]] status pre_filter(const pod_view& pod, data& d) const {
    for (const amount& wanted : pod.requests()) {
      if (is_ignored(pod.kind_name(wanted.kind))) d.ignored.push_back(wanted.kind);
    }
    return status::success();
  }

  [[nodiscard]] status filter(const pod_view& pod, const data& d, room node) const {
    status first;
    const auto keep = [&](const status& failed) {
      if (first.ok() || (first.code != code::unresolvable && failed.code == code::unresolvable)) first = failed;
      return first.code != code::unresolvable;
    };
    each_shortage(pod, d, node, keep);
    return first;
  }
  [[nodiscard]] GANGSCHED_API bool filter_block(const pod_view& pod, const data& d, filtered_block& nodes) const;
  [[nodiscard]] GANGSCHED_API block_verdict filter_bound(const pod_view& pod, const data& d,
                                                         const amount_block& nodes) const;
  /// How many such pods still fit, by the scarcest resource.
  [[nodiscard]] std::int64_t capacity(const pod_view& pod, const data& d, room node) const {
    std::int64_t most = node.free(kinds::pods);
    for (const auto& [kind, wanted] : pod.requests())
      if (wanted > 0 && node.free(kind) / wanted < most && !is_among(kind, d.ignored)) most = node.free(kind) / wanted;
    return most;
  }
  /// A pod slot, and the pod's requests that are not ignored.
  [[nodiscard]] GANGSCHED_API std::vector<amount> least_free(const pod_view& pod, const data& d) const;
  /// Every lacking resource, each with the code of the verdict.
  void filter_reasons(const pod_view& pod, const data& d, room node, std::vector<status>& out) const {
    const std::size_t start = out.size();
    code verdict = code::unschedulable;
    each_shortage(pod, d, node, [&](const status& failed) {
      out.push_back(failed);
      if (failed.code == code::unresolvable) verdict = code::unresolvable;
      return true;
    });
    for (std::size_t i = start; i < out.size(); ++i) out[i].code = verdict;
  }

  [[nodiscard]] status pre_score(const pod_view& pod, data& d) const {
    for (const weighted_resource& one : options_.resources) {
      const std::optional<resource_kind> kind = pod.find_kind(one.name);
      if (!kind || (*kind > kinds::ephemeral_storage && *kind < kinds::first_other)) continue;
      const std::int64_t request = pod.spec().score_request(*kind);
      if (*kind >= kinds::first_other && request == 0) continue;
      const resource_kind used = *kind == kinds::cpu      ? kinds::scored_cpu
                                 : *kind == kinds::memory ? kinds::scored_memory
                                                          : *kind;
      d.scored.push_back({*kind, used, request, one.weight});
    }
    return status::success();
  }

  [[nodiscard]] std::int64_t score(const pod_view&, const data& d, room node) const {
    return score_of(
        d, [&](resource_kind kind) { return node.allocatable(kind); },
        [&](resource_kind kind) { return node.used(kind); });
  }
  [[nodiscard]] GANGSCHED_API bool score_block(const pod_view&, const data& d, scored_block& nodes) const;
  /// An upper bound of the scores of the block's nodes, from its ranges; 100 for RequestedToCapacityRatio. O(resources).
  [[nodiscard]] GANGSCHED_API double score_bound(const pod_view&, const data& d, const amount_block& nodes) const;

  /// O(resources) for the domains of a label, else O(nodes · resources). The bound is the score with all members placed.
  [[nodiscard]] GANGSCHED_API std::int64_t score_placement(const group_view& group, const placement_view& where,
                                                           std::span<const assignment> members) const;
  [[nodiscard]] GANGSCHED_API std::int64_t placement_bound(const placement_view& where,
                                                           const placement_demand& demand) const;

 private:
  /// Calls found(status) for each lacking resource, until it returns false.
  template <class Found>
  static void each_shortage(const pod_view& pod, const data& d, const room& node, const Found& found) {
    if (node.free(kinds::pods) < 1 && !found(status::unschedulable("Too many pods"))) return;
    for (const auto& [kind, wanted] : pod.requests()) {
      if (wanted <= node.free(kind) || is_among(kind, d.ignored)) continue;
      const symbol resource = pod.kind_symbol(kind);
      const bool never = wanted > node.allocatable(kind);
      if (!found(never ? status::unresolvable("Insufficient ", resource)
                       : status::unschedulable("Insufficient ", resource)))
        return;
    }
  }

  [[nodiscard]] GANGSCHED_API bool is_ignored(std::string_view resource) const;

  /// @p allocatable, @p used: of the node, by kind.
  template <class Allocatable, class Used>
  [[nodiscard]] std::int64_t score_of(const data& d, const Allocatable& allocatable, const Used& used) const {
    if (options_.strategy == strategy::least_allocated) return mean_of<strategy::least_allocated>(d, allocatable, used);
    if (options_.strategy == strategy::most_allocated) return mean_of<strategy::most_allocated>(d, allocatable, used);
    return mean_of<strategy::requested_to_capacity_ratio>(d, allocatable, used);
  }
  template <strategy By, class Allocatable, class Used>
  [[nodiscard]] std::int64_t mean_of(const data& d, const Allocatable& allocatable, const Used& used) const {
    constexpr bool by_shape = By == strategy::requested_to_capacity_ratio;
    std::int64_t sum = 0, weights = 0;
    for (const scored_resource& one : d.scored) {
      const std::int64_t capacity = allocatable(one.kind);
      if (capacity == 0) continue;
      // More than fits counts as full, so that no sum can overflow.
      const std::int64_t free = capacity - used(one.used), left = one.request > free ? 0 : free - one.request;
      std::int64_t rating = percent(By == strategy::least_allocated ? left : capacity - left, capacity);
      if (by_shape && (rating = shape_at(rating)) == 0) continue;
      sum += rating * one.weight;
      weights += one.weight;
    }
    if (weights == 0) return 0;
    // kube rounds the double quotient; sums are far below 2^53, where that is the same as rounding the exact one.
    return by_shape ? (2 * sum + weights) / (2 * weights) : sum / weights;
  }

  /// The broken line through the shape's points, truncating toward zero (which is upward on a falling piece).
  [[nodiscard]] GANGSCHED_API std::int64_t shape_at(std::int64_t utilization) const noexcept;

  options options_;
};

static_assert(requeue_plugin<node_resources_fit> && pre_filter_plugin<node_resources_fit> &&
              filter_plugin<node_resources_fit>);
static_assert(pre_score_plugin<node_resources_fit> && score_plugin<node_resources_fit> &&
              score_placement_plugin<node_resources_fit>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/node_resources_fit.cpp"
#endif
