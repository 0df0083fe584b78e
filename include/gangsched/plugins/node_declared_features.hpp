#pragma once
#include <algorithm>
#include <span>

#include "gangsched/framework/past.hpp"
#include "gangsched/framework/pod_part.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A pod that requires features of its node fits only nodes that declare all of them (kube-scheduler's NodeDeclaredFeatures; a plugin of
/// the defaults from 1.36 on, and without effect before). Upstream infers from the pod's spec what it requires; here the host says it
/// (`pod_spec::required_features`), and the component kube infers it. Only names count: neither order nor repetition matters.
class node_declared_features {
 public:
  static constexpr std::string_view name = "NodeDeclaredFeatures";
  using points = implements<point::requeue, point::pre_filter, point::filter>;
  static constexpr events wakes_on = events::node_added | events::node_features | events::pod_updated;

  /// Woken by a node that declares other features than before, whichever; by requirements of its own that changed.
  [[nodiscard]] hint requeue(const event& e, const pod_info& pod) const {
    if (e.new_node != nullptr) return hint::queue;
    return e.own && e.old_pod->spec().required_features != pod.spec().required_features ? hint::queue : hint::skip;
  }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    const bool counts = !pod.spec().required_features.empty() && pod.semantics().release() >= kube_release::v1_36;
    return counts ? status::success() : status::skip();
  }
  [[nodiscard]] status filter(const pod_part<pod_reads::features>& pod, node_view<reads::features> node) const {
    const std::span<const symbol> declared = node.declared_features(), required = pod.required_features();
    if (std::includes(declared.begin(), declared.end(), required.begin(), required.end())) return status::success();
    return status::unresolvable("node(s) didn't match Pod's required features");
  }
};

static_assert(requeue_plugin<node_declared_features> && pre_filter_plugin<node_declared_features> &&
              filter_plugin<node_declared_features>);

}  // namespace gangsched::inline GANGSCHED_ABI
