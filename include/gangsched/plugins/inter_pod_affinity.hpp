#pragma once
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Places pods near, or away from, other pods (kube-scheduler's InterPodAffinity). Terminating pods count.
/// Filter: the domains of all required affinity terms hold a pod that matches all of these terms (or no domain does and the pod
/// matches them itself); no domain of an anti-affinity term holds a pod that matches it; no domain holds a pod whose required
/// anti-affinity matches this one.
/// Score: Σ over the node's domains of the weights of its preferred terms times the pods that match, of hardPodAffinityWeight times
/// required affinity terms there that match it, and of the weights of preferred terms there that do; then 100·(s − min)/(max − min).
/// The key of a node is its domain per topology key, with the verdicts and sums of keys that are local as one word before them.
class inter_pod_affinity {
 public:
  static constexpr std::string_view name = "InterPodAffinity";
  static constexpr std::int64_t default_weight = 2;
  using points = implements<point::requeue, point::pre_filter, point::filter, point::pre_score, point::score>;
  static constexpr events wakes_on =
      events::node_added | events::node_labels | events::pod_added | events::pod_removed | events::pod_labels;
  using words = node_view<reads::labels | reads::taints | reads::name | reads::pods>;

  struct options {
    std::int64_t hard_pod_affinity_weight = 1;  ///< 0 to 100
    bool ignore_preferred_terms_of_existing_pods = false;
  };
  inter_pod_affinity() = default;
  explicit inter_pod_affinity(const options& given) : options_(given) {}
  /// Arguments: `hardPodAffinityWeight`, `ignorePreferredTermsOfExistingPods`.
  [[nodiscard]] GANGSCHED_API static result<inter_pod_affinity> from(const argument& args);

  /// A counter, with the place of its topology among the domains of the key, or a mark that it is local.
  struct part {
    counter_id counter;
    topology_id topology;
    std::int64_t weight;
    std::size_t place;
  };
  struct data {
    std::vector<part> affinity, anti_affinity, minded, scored;
    bool self = false;  ///< matches its own required affinity terms
    std::vector<topology_id> filter_domains, score_domains;
  };

  /// As upstream, with its flaw: a pod that leaves must match all of several anti-affinity terms.
  [[nodiscard]] GANGSCHED_API hint requeue(const event& e, const pod_info& pod) const;
  [[nodiscard]] GANGSCHED_API status pre_filter(const pod_view& pod, data& d) const;
  [[nodiscard]] GANGSCHED_API std::int64_t filter_key(const pod_view& pod, const data& d, words node) const;
  GANGSCHED_API void filter_key_reads(const pod_view& pod, const data& d, key_reads& out) const;
  /// Upstream skips a pod without required terms while no pod's anti-affinity matches it, also for the rest of a cycle in which nominated
  /// pods are assumed on nodes.
  [[nodiscard]] GANGSCHED_API bool filter_idle(const pod_view& pod, const data& d, const cluster_view& cluster) const;
  GANGSCHED_API void finish_filter(const pod_view& pod, const data& d, const cluster_view& cluster,
                                   std::span<filtered_group> groups) const;

  [[nodiscard]] GANGSCHED_API status pre_score(const pod_view& pod, data& d) const;
  [[nodiscard]] GANGSCHED_API std::int64_t score_key(const pod_view& pod, const data& d, words node) const;
  GANGSCHED_API void score_key_reads(const pod_view& pod, const data& d, key_reads& out) const;
  /// skip if no pod or term is relevant: the score is then absent, as upstream.
  [[nodiscard]] GANGSCHED_API status finish_score(const pod_view& pod, const data& d, const cluster_view& cluster,
                                                  std::span<scored_group> groups) const;

 private:
  static constexpr std::size_t is_local = 0;                                      ///< domains have places from 1 on
  static constexpr std::int64_t lacks_key = 1, alone = 2, minds = 4, minded = 8;  ///< verdicts of local keys on a node

  [[nodiscard]] static part part_of(const pod_view& pod, counter_id counter, std::int64_t weight,
                                    std::vector<topology_id>& domains);
  [[nodiscard]] static std::int64_t key_of(const pod_view& pod, std::int64_t local,
                                           const std::vector<topology_id>& domains, const words& node);
  static void add_key_reads(const std::vector<part>& parts, key_reads& out);

  options options_;
};

static_assert(requeue_plugin<inter_pod_affinity> && pre_filter_plugin<inter_pod_affinity> &&
              filter_plugin<inter_pod_affinity>);
static_assert(pre_score_plugin<inter_pod_affinity> && score_plugin<inter_pod_affinity>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/inter_pod_affinity.cpp"
#endif
