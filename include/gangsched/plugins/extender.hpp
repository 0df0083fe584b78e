#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A part of the decision that the host makes itself: kube-scheduler's HTTP extender as callbacks (extender.go).
///
/// Last in the profile, so that it is asked about what the filters leave: all candidates of a cycle at once. Its scores are 0 to 10
/// and count 10 times the plugin's weight: `weighted{extender{…}, weight}`. With managed resources it is asked about pods that
/// request one of them. When a callback fails, the cycle ends with an error, or goes on without it if it is ignorable.
///
/// Opaque: asked about every candidate in every cycle. Callbacks must give equal answers to equal questions, and must not change the
/// cluster. In a preemption's dry run the filter is asked about one node at a time. The extender's preempt verb is a callback of
/// DefaultPreemption (`default_preemption::extender`), which a host hands to that plugin's constructor.
class extender {
 public:
  static constexpr std::string_view name = "Extender";
  using points = implements<point::pre_filter, point::filter, point::pre_score, point::score, point::bind>;

  /// A candidate that the filter callback judges: success, unschedulable or unresolvable. The verdict's text has static storage, or is made
  /// by `cluster_view::say`.
  struct judged_node {
    node_id node;
    status verdict = {};
  };
  struct rated_node {
    node_id node;
    std::int64_t score = 0;  ///< 0 to 10; another one ends the cycle with an error (errc::contract)
  };
  struct callbacks {
    /// False: the call failed. An absent callback: the extender does not take part at that point.
    std::function<bool(const pod_info&, const cluster_view&, std::span<judged_node>)> filter = {};
    std::function<bool(const pod_info&, const cluster_view&, std::span<rated_node>)> prioritize = {};
    /// Success claims the bind decision, skip leaves it to the next binder, anything else takes the pod back.
    std::function<status(const reservation&, decision&)> bind = {};
    std::vector<std::string> managed_resources = {};  ///< empty: every pod is its business
    bool ignorable = false;
  };

  explicit extender(callbacks host) : host_(std::move(host)) {}

  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    return host_.filter && interested(pod) ? status::success() : status::skip();
  }
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_info node) const { return node.id().row; }
  void finish_filter(const pod_info& pod, const cluster_view& cluster, std::span<filtered_group> groups) const {
    std::vector<judged_node> nodes;
    for (const filtered_group& group : groups) nodes.push_back({id_of(cluster, group.key)});
    const bool fine = host_.filter(pod, cluster, nodes);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (fine)
        groups[i].verdict = nodes[i].verdict;
      else if (!host_.ignorable)
        groups[i].verdict = status::error("the extender's filter failed");
    }
  }

  [[nodiscard]] status pre_score(const pod_view& pod) const {
    return host_.prioritize && interested(pod) ? status::success() : status::skip();
  }
  [[nodiscard]] std::int64_t score_key(const pod_view&, node_info node) const { return node.id().row; }
  /// In Kubernetes a prioritize call that fails is passed over, ignorable or not.
  void finish_score(const pod_info& pod, const cluster_view& cluster, std::span<scored_group> groups) const {
    std::vector<rated_node> nodes;
    for (const scored_group& group : groups) nodes.push_back({id_of(cluster, group.score)});
    const bool fine = host_.prioritize(pod, cluster, nodes);
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i].score = fine ? nodes[i].score * (max_node_score / 10) : 0;
  }

  [[nodiscard]] status bind(const reservation& r, decision& d) {
    return host_.bind && interested(r.pod) ? host_.bind(r, d) : status::skip();
  }

 private:
  static node_id id_of(const cluster_view& cluster, std::int64_t row) {
    return cluster.node_at(static_cast<row_t>(row))->id();
  }
  [[nodiscard]] bool interested(const pod_view& pod) const {
    if (host_.managed_resources.empty()) return true;
    for (const std::string& resource : host_.managed_resources)
      if (pod.request(resource) != 0) return true;
    return false;
  }
  callbacks host_;
};

static_assert(pre_filter_plugin<extender> && filter_plugin<extender>);
static_assert(pre_score_plugin<extender> && score_plugin<extender> && bind_plugin<extender>);

}  // namespace gangsched::inline GANGSCHED_ABI
