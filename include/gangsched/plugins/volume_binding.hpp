#pragma once
#include <algorithm>
#include <vector>

#include "gangsched/framework/past.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The pod's claims are bound, or can be bound, on the node, as the host reports it (pod_volumes::nodes, bindable_nodes, unbound_claims,
/// claim_problem); with Kubernetes' reasons.
class volume_binding {
 public:
  static constexpr std::string_view name = "VolumeBinding";
  using points = implements<point::requeue, point::pre_filter, point::filter>;
  static constexpr events wakes_on = events::node_added | events::node_labels | events::pod_updated;

  [[nodiscard]] hint requeue(const event& e, const pod_info& pod) const { return hint_of_volumes(e, pod); }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    const volume_needs& volumes = pod.spec().volumes;
    if (volumes.claim_problem != symbol{}) return status::unresolvable("", volumes.claim_problem);
    if (volumes.unbound_claims) return status::unresolvable("pod has unbound immediate PersistentVolumeClaims");
    return volumes.nodes || volumes.bindable_nodes ? status::success() : status::skip();
  }
  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::name> node) const {
    const volume_needs& volumes = pod.spec().volumes;
    if (!will_do(volumes.nodes, node)) return status::unresolvable(out_of_reach);
    return will_do(volumes.bindable_nodes, node) ? status::success() : status::unresolvable(nothing_to_bind);
  }
  void filter_reasons(const pod_view& pod, node_view<reads::name> node, std::vector<status>& out) const {
    const volume_needs& volumes = pod.spec().volumes;
    if (!will_do(volumes.nodes, node)) out.push_back(status::unresolvable(out_of_reach));
    if (!will_do(volumes.bindable_nodes, node)) out.push_back(status::unresolvable(nothing_to_bind));
  }

 private:
  static constexpr const char* out_of_reach = "node(s) didn't match PersistentVolume's node affinity";
  static constexpr const char* nothing_to_bind = "node(s) didn't find available persistent volumes to bind";

  /// @p allowed: ascending; absent: all nodes.
  static bool will_do(const std::optional<std::vector<symbol>>& allowed, node_view<reads::name> node) {
    return !allowed || std::binary_search(allowed->begin(), allowed->end(), node.name_symbol());
  }
};

static_assert(requeue_plugin<volume_binding> && pre_filter_plugin<volume_binding> && filter_plugin<volume_binding>);

}  // namespace gangsched::inline GANGSCHED_ABI
