#pragma once
#include "gangsched/framework/past.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The pod's claims are bound, or can be bound, on the node: the host's word (pod_volumes::nodes, unbound_claims), Kubernetes' reasons.
class volume_binding {
 public:
  static constexpr std::string_view name = "VolumeBinding";
  using points = implements<point::requeue, point::pre_filter, point::filter>;
  static constexpr events wakes_on = events::node_added | events::node_labels | events::pod_updated;

  [[nodiscard]] hint requeue(const event& e, const pod_info& pod) const { return hint_of_volumes(e, pod); }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    const volume_needs& volumes = pod.spec().volumes;
    if (volumes.unbound_claims) return status::unresolvable("pod has unbound immediate PersistentVolumeClaims");
    return volumes.nodes ? status::success() : status::skip();
  }
  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::name> node) const {
    const std::vector<symbol>& allowed = *pod.spec().volumes.nodes;
    std::size_t low = 0, high = allowed.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (allowed[middle] < node.name_symbol())
        low = middle + 1;
      else
        high = middle;
    }
    if (low < allowed.size() && allowed[low] == node.name_symbol()) return status::success();
    return status::unresolvable("node(s) didn't match PersistentVolume's node affinity");
  }
};

static_assert(requeue_plugin<volume_binding> && pre_filter_plugin<volume_binding> && filter_plugin<volume_binding>);

}  // namespace gangsched::inline GANGSCHED_ABI
