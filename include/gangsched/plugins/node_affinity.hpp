#pragma once
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/normalize.hpp"
#include "gangsched/framework/past.hpp"
#include "gangsched/framework/pod_part.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/model/node_selector.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// nodeSelector and node affinity (kube's NodeAffinity). Filter: every pair of the selector and one required term; before that one
/// required term of the profile's added affinity. Score: the weights of the preferred terms that match, the pod's and the added
/// ones', as 100·sum/max. Terms that all name their nodes (metadata.name In) narrow the nodes; added ones never do.
class node_affinity_plugin {
 public:
  static constexpr std::string_view name = "NodeAffinity";
  static constexpr std::int64_t default_weight = 2;
  using points = implements<point::requeue, point::pre_filter, point::filter, point::pre_score, point::score>;
  static constexpr bool reads_population = false;
  static constexpr events wakes_on = events::node_added | events::node_labels;
  using choosy = pod_part<pod_reads::node_affinity>;
  using words = node_view<reads::labels | reads::name>;

  node_affinity_plugin() = default;
  /// With an affinity that applies to every pod in addition. Its terms must satisfy `check`, like a pod's.
  explicit node_affinity_plugin(node_affinity added) : added_(std::move(added)) {}
  /// Arguments: `addedAffinity`, with Kubernetes' names.
  [[nodiscard]] GANGSCHED_API static result<node_affinity_plugin> from(const argument& args);

  /// Woken by a node that matches now, and did not before. As upstream, a term that does not parse wakes the pod, too.
  [[nodiscard]] hint requeue(const event& e, const pod_info& pod) const {
    if (added_.required && !any_matches(*added_.required, *e.new_node)) return hint::skip;
    if (!matches_required(pod.spec(), *e.new_node)) return broken(pod.spec(), *e.new_node) ? hint::queue : hint::skip;
    return e.old_node == nullptr || !matches_required(pod.spec(), *e.old_node) ? hint::queue : hint::skip;
  }
  [[nodiscard]] status pre_filter(const pod_view& pod, node_names& narrowed) const {
    const pod_class& spec = pod.spec();
    if (!spec.required_nodes)
      return spec.node_selector.empty() && !added_.required ? status::skip() : status::success();
    if (spec.required_nodes->empty()) return status::success();
    std::vector<symbol> names;
    for (const node_term& term : *spec.required_nodes) {
      const std::optional<named_node> chosen = node_named_by(term);
      if (!chosen) return status::success();
      if (!chosen->conflict) names.push_back(chosen->name);
    }
    if (names.empty()) return status::unresolvable("pod affinity terms conflict");
    narrowed.only(std::move(names));
    return status::success();
  }

  [[nodiscard]] status filter(const choosy& pod, words node) const {
    if (added_.required && !any_matches(*added_.required, node))
      return status::unresolvable("node(s) didn't match scheduler-enforced node affinity");
    if (!matches_required(pod.node_selector(), pod.required_nodes(), node))
      return status::unresolvable("node(s) didn't match Pod's node affinity/selector");
    return status::success();
  }

  [[nodiscard]] GANGSCHED_API bool filter_label_keys(const choosy& pod, std::vector<symbol>& keys) const;

  [[nodiscard]] status pre_score(const pod_view& pod) const {
    const auto& preferred = pod.spec().preferred_nodes;
    for (const weighted_node_term& one : preferred) {
      if (one.weight != 0 && one.term.broken) return status::error("a preferred node affinity term does not parse");
    }
    return preferred.empty() && added_.preferred.empty() ? status::skip() : status::success();
  }

  /// The sum of the weights of the preferred terms that match.
  [[nodiscard]] std::int64_t score(const choosy& pod, words node) const {
    std::int64_t sum = 0;
    for (const weighted_node_term& one : pod.preferred_nodes()) sum += matches(one.term, node) ? one.weight : 0;
    for (const preferred_node_term& one : added_.preferred) sum += matches(one.term, node) ? one.weight : 0;
    return sum;
  }
  [[nodiscard]] GANGSCHED_API bool score_label_keys(const choosy& pod, std::vector<symbol>& keys) const;
  void normalize_score(const pod_view&, std::span<scored_group> groups) const { normalize(groups, better::higher); }

 private:
  /// Whether the node meets nodeSelector, and a required term of the pod does not parse.
  static bool broken(const pod_class& pod, const past_node& node) {
    for (const label_symbols& pair : pod.node_selector)
      if (node.label(pair.key) != pair.value) return false;
    if (!pod.required_nodes) return false;
    for (const node_term& term : *pod.required_nodes)
      if (term.broken) return true;
    return false;
  }
  template <class Node>
  static bool any_matches(const std::vector<node_selector_term>& terms, const Node& node) {
    for (const node_selector_term& term : terms)
      if (matches(term, node)) return true;
    return false;
  }

  node_affinity added_;
};

static_assert(requeue_plugin<node_affinity_plugin> && pre_filter_plugin<node_affinity_plugin> &&
              filter_plugin<node_affinity_plugin>);
static_assert(pre_score_plugin<node_affinity_plugin> && score_plugin<node_affinity_plugin>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/node_affinity.cpp"
#endif
