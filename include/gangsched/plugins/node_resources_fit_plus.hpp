#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/percent.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Koordinator's NodeResourcesFitPlus: a strategy of its own for each resource. Score: Σ s·w / Σ w over
/// the configured resources that the pod requests, 100 if there are none; most s = 100·requested/capacity, least s =
/// 100·(capacity − requested)/capacity; a node without the resource has s = 0. For cpu and memory the 100m/200Mi defaults count, on
/// the node and in the pod. Sums are Kubernetes' (exact, rounded once; sidecars before init containers), where Koordinator rounds
/// per container and reads cpu overhead in whole cores.
class node_resources_fit_plus {
 public:
  static constexpr std::string_view name = "NodeResourcesFitPlus";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::pre_score, point::score>;

  enum class strategy : std::uint8_t { least_allocated, most_allocated };
  struct resource {
    std::string name;
    node_resources_fit_plus::strategy strategy = strategy::least_allocated;
    std::int64_t weight = 1;  ///< 1 to 10^6
  };

  node_resources_fit_plus() = default;
  /// @pre check(resources) finds nothing.
  explicit node_resources_fit_plus(std::vector<resource> resources) : resources_(std::move(resources)) {
    GANGSCHED_ASSERT(!check(resources_));
  }
  /// The first resource whose weight is not in 1 to 10^6. O(resources).
  [[nodiscard]] GANGSCHED_API static std::optional<error> check(const std::vector<resource>& resources);
  /// Arguments: Koordinator's NodeResourcesFitPlusArgs, `resources: {<name>: {type, weight}}`.
  [[nodiscard]] GANGSCHED_API static result<node_resources_fit_plus> from(const argument& args);

  struct scored_resource {
    resource_kind kind;
    resource_kind used;
    std::int64_t request;
    node_resources_fit_plus::strategy strategy;
    std::int64_t weight;
  };
  struct data {
    std::vector<scored_resource> scored;
  };

  [[nodiscard]] status pre_score(const pod_view& pod, data& d) const {
    for (const resource& one : resources_) {
      const std::optional<resource_kind> kind = pod.find_kind(one.name);
      if (!kind || pod.request(*kind) == 0) continue;
      const resource_kind used = *kind == kinds::cpu      ? kinds::scored_cpu
                                 : *kind == kinds::memory ? kinds::scored_memory
                                                          : *kind;
      d.scored.push_back({*kind, used, pod.spec().score_request(*kind), one.strategy, one.weight});
    }
    return status::success();
  }

  [[nodiscard]] std::int64_t score(const pod_view&, const data& d,
                                   node_view<reads::allocatable | reads::usage> node) const {
    std::int64_t sum = 0;
    std::int64_t weights = 0;
    for (const scored_resource& one : d.scored) {
      const std::int64_t capacity = node.allocatable(one.kind);
      weights += one.weight;
      if (capacity == 0) continue;
      const std::int64_t free = capacity - node.used(one.used);
      const std::int64_t left = one.request > free ? 0 : free - one.request;
      sum += one.weight * percent(one.strategy == strategy::most_allocated ? capacity - left : left, capacity);
    }
    return weights == 0 ? max_node_score : sum / weights;
  }

 private:
  std::vector<resource> resources_;
};

static_assert(pre_score_plugin<node_resources_fit_plus> && score_plugin<node_resources_fit_plus>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/node_resources_fit_plus.cpp"
#endif
