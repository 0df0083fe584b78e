#pragma once
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/model/counter_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Pods spread evenly over domains (kube's PodTopologySpread).
/// Filter, per hard constraint in order: the node has the key, and count(domain) + self − least <= maxSkew; self is 1 if the selector
/// matches the pod, least is 0 with fewer than minDomains domains. Domains are those of nodes that have all hard keys and that the
/// inclusion policies allow; pods are those of the pod's namespace there that are not terminating.
/// Score: Σ over soft constraints of count·ln(domains + 2) + maxSkew − 1, rounded; then 100·(max + min − s)/max. Domains are those
/// of feasible nodes. kubernetes.io/hostname counts the node's own pods.
/// The key of a node is its domain per constraint, or the count itself where each of many domains is one node.
class pod_topology_spread {
 public:
  static constexpr std::string_view name = "PodTopologySpread";
  static constexpr std::int64_t default_weight = 2;
  using points = implements<point::requeue, point::pre_filter, point::filter, point::pre_score, point::score>;
  static constexpr events wakes_on = events::node_added | events::node_removed | events::node_labels |
                                     events::node_taints | events::pod_added | events::pod_removed |
                                     events::pod_labels | events::pod_tolerations;
  using words = node_view<reads::labels | reads::taints | reads::name | reads::pods>;

  /// defaultingType System: hostname with skew 3 and zone with skew 5, soft, for pods of a service or controller.
  GANGSCHED_API pod_topology_spread();
  /// defaultingType List: these constraints, which have no selectors, instead.
  explicit pod_topology_spread(std::vector<topology_spread> defaults) : defaults_{std::move(defaults), false} {}
  /// Arguments: `defaultingType`, `defaultConstraints`, with Kubernetes' names.
  [[nodiscard]] GANGSCHED_API static result<pod_topology_spread> from(const argument& args);

  void attach(column_maker& maker) {
    if (!defaults_.constraints.empty()) set_ = maker.add_default_spread(defaults_);
  }

  /// What a constraint reads of a node.
  enum class look : std::uint8_t {
    domain,   ///< its domain
    lenient,  ///< its domain and whether it has the label: nodes without it are in the domain of the empty value
    count,    ///< the count there
  };
  struct part {
    spread_rule rule;
    topology_id topology;
    look how;
    std::int64_t self;
  };
  struct data {
    std::vector<part> hard, soft;
    bool require_all = true;  ///< nodes that lack a key of a soft constraint are left out
  };

  /// Woken by a node with all keys of the hard constraints that is added, removed, or changes in what these read; by a pod of the namespace
  /// that a selector matches, or matched; by the pod's own labels, and its tolerations if a constraint honours taints.
  [[nodiscard]] GANGSCHED_API hint requeue(const event& e, const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API status pre_filter(const pod_view& pod, data& d) const;
  [[nodiscard]] GANGSCHED_API std::int64_t filter_key(const pod_view& pod, const data& d, words node) const;
  GANGSCHED_API void filter_key_reads(const pod_view& pod, const data& d, key_reads& out) const;
  GANGSCHED_API void finish_filter(const pod_view& pod, const data& d, const cluster_view& cluster,
                                   std::span<filtered_group> groups) const;

  [[nodiscard]] GANGSCHED_API status pre_score(const pod_view& pod, data& d) const;
  [[nodiscard]] GANGSCHED_API std::int64_t score_key(const pod_view& pod, const data& d, words node) const;
  GANGSCHED_API void score_key_reads(const pod_view& pod, const data& d, key_reads& out) const;
  GANGSCHED_API void finish_score(const pod_view& pod, const data& d, const cluster_view& cluster,
                                  std::span<scored_group> groups) const;

 private:
  static constexpr std::uint32_t no_set = 0xffffffffu;
  static constexpr std::int64_t absent = INT64_MIN;  ///< in a key: the node lacks the label

  [[nodiscard]] std::vector<part> parts(const pod_view& pod, when_unsatisfiable action) const;
  [[nodiscard]] static std::int64_t key_of(const pod_view& pod, const std::vector<part>& parts, const words& node);
  static void add_key_reads(const std::vector<part>& parts, key_reads& out);

  spread_defaults defaults_;
  std::uint32_t set_ = no_set;
};

static_assert(requeue_plugin<pod_topology_spread> && pre_filter_plugin<pod_topology_spread> &&
              filter_plugin<pod_topology_spread>);
static_assert(pre_score_plugin<pod_topology_spread> && score_plugin<pod_topology_spread>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/pod_topology_spread.cpp"
#endif
