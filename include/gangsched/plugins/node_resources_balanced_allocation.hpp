#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Whether the pod makes a node's use of its resources more even. With f = min(1, used/capacity) per
/// configured resource and their standard deviation, evenness = trunc(100·(1 − deviation)); score = 50 + (50 + evenness with the
/// pod − evenness without)/2: 75 if nothing changes (up to 1.35: evenness with the pod). Plain requests, pod-level ones included; a pod
/// that requests none of the resources is not scored. Doubles in Kubernetes' order of operations.
class node_resources_balanced_allocation {
 public:
  static constexpr std::string_view name = "NodeResourcesBalancedAllocation";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::pre_score, point::score>;

  node_resources_balanced_allocation() : node_resources_balanced_allocation({"cpu", "memory"}) {}
  /// With the resources to keep in balance.
  explicit node_resources_balanced_allocation(std::vector<std::string> resources) : resources_(std::move(resources)) {}
  /// Arguments: Kubernetes' NodeResourcesBalancedAllocationArgs (every weight is 1).
  [[nodiscard]] GANGSCHED_API static result<node_resources_balanced_allocation> from(const argument& args);

  struct data {
    std::vector<amount> requests;  ///< of the resources that count for this class; zeros too
  };
  using room = node_view<reads::allocatable | reads::usage>;

  [[nodiscard]] status pre_score(const pod_view& pod, data& d) const {
    bool any_request = false;
    for (const std::string& one : resources_) {
      const std::optional<resource_kind> kind = pod.find_kind(one);
      if (!kind || (*kind > kinds::ephemeral_storage && *kind < kinds::first_other)) continue;
      const std::int64_t request = pod.request(*kind);
      if (*kind >= kinds::first_other && request == 0) continue;
      d.requests.push_back({*kind, request});
      any_request = any_request || request != 0;
    }
    return any_request ? status::success() : status::skip();
  }

  [[nodiscard]] std::int64_t score(const pod_view& pod, const data& d, room node) const {
    return score_of(d, gains(pod), node);
  }
  [[nodiscard]] GANGSCHED_API bool score_block(const pod_view& pod, const data& d, scored_block& nodes) const;
  /// An upper bound of the scores of the block's nodes, from its ranges; 100 unless two resources are configured. O(1).
  [[nodiscard]] GANGSCHED_API double score_bound(const pod_view& pod, const data& d, const amount_block& nodes) const;

 private:
  /// True: the score is the gain in evenness; before 1.36 it is the evenness.
  [[nodiscard]] static bool gains(const pod_view& pod) { return pod.semantics().release() >= kube_release::v1_36; }
  // A node is anything with allocatable(kind) and used(kind).
  template <class Node>
  [[nodiscard]] static std::int64_t score_of(const data& d, bool gains, const Node& node) {
    if (d.requests.size() == 2) {  // of two there is no mean to be found first
      const amount &a = d.requests[0], &b = d.requests[1];
      if (node.allocatable(a.kind) != 0 && node.allocatable(b.kind) != 0) {
        const std::int64_t even = evenness(half_apart(fraction(node, a, true), fraction(node, b, true)));
        if (!gains) return even;
        return gain(even, evenness(half_apart(fraction(node, a, false), fraction(node, b, false))));
      }
    }
    fractions with, without;
    for (const amount& one : d.requests) {
      if (node.allocatable(one.kind) == 0) continue;
      with.add(fraction(node, one, true));
      if (gains) without.add(fraction(node, one, false));
    }
    const std::int64_t even = evenness(deviation(d, node, true, with));
    return gains ? gain(even, evenness(deviation(d, node, false, without))) : even;
  }
  [[nodiscard]] static std::int64_t gain(std::int64_t with, std::int64_t without) noexcept {
    return 50 + (50 + with - without) / 2;
  }
  struct fractions {
    double total = 0, last = 0, before_last = 0;
    int count = 0;
    void add(double next) noexcept {
      ++count;
      before_last = last;
      last = next;
      total += next;
    }
  };
  [[nodiscard]] static std::int64_t evenness(double deviation) noexcept {
    return static_cast<std::int64_t>((1.0 - deviation) * static_cast<double>(max_node_score));
  }
  /// The standard deviation of two.
  [[nodiscard]] static double half_apart(double a, double b) noexcept { return (a > b ? a - b : b - a) / 2; }
  template <class Node>
  [[nodiscard]] static double deviation(const data& d, const Node& node, bool with_pod, const fractions& all) {
    if (all.count < 2) return 0;
    if (all.count == 2) return half_apart(all.before_last, all.last);
    const double mean = all.total / all.count;
    double sum = 0;
    for (const amount& one : d.requests) {
      if (node.allocatable(one.kind) == 0) continue;
      const double off = fraction(node, one, with_pod) - mean;
      sum = sum + off * off;
    }
    return __builtin_sqrt(sum / all.count);
  }
  template <class Node>
  [[nodiscard]] static double fraction(const Node& node, const amount& wanted, bool with_pod) {
    const std::int64_t capacity = node.allocatable(wanted.kind);
    const std::int64_t used = node.used(wanted.kind);
    const std::int64_t request = with_pod ? wanted.value : 0;
    if (request > capacity - used) return 1;  // and the sum below cannot overflow
    return static_cast<double>(used + request) / static_cast<double>(capacity);
  }

  std::vector<std::string> resources_;
};

static_assert(pre_score_plugin<node_resources_balanced_allocation> && score_plugin<node_resources_balanced_allocation>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/node_resources_balanced_allocation.cpp"
#endif
