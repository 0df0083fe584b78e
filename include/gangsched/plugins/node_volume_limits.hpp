#pragma once
#include <vector>

#include "gangsched/framework/points.hpp"

namespace gangsched {

/// The node can attach the pod's volumes: per driver with a limit, volumes attached there plus the pod's new ones ≤ limit. A volume
/// counts once on a node, and one that is attached already is not new (Kubernetes' NodeVolumeLimits). O(volumes on the node) for a
/// pod with attachments, others are skipped.
class node_volume_limits {
 public:
  static constexpr std::string_view name = "NodeVolumeLimits";
  using points = implements<point::pre_filter, point::filter>;

  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    return pod.spec().volumes.attachments ? status::success() : status::skip();
  }
  [[nodiscard]] status filter(const pod_info& pod, node_info node) const {
    if (node.volume_limits().empty()) return status::success();
    std::vector<pod_disks::attachment> there;
    node.each_pod([&](const pod_info& other) {
      if (other.disks() == nullptr) return;
      for (const pod_disks::attachment& one : other.disks()->attachments) {
        if (!among(one, there)) there.push_back(one);
      }
    });
    for (const volume_limit& limit : node.volume_limits()) {
      std::int64_t attached = 0, fresh = 0;
      for (const pod_disks::attachment& one : there) attached += one.driver == limit.driver;
      for (const pod_disks::attachment& one : pod.disks()->attachments) {
        fresh += one.driver == limit.driver && !among(one, there);
      }
      if (fresh != 0 && attached + fresh > limit.most) return status::unschedulable("node(s) exceed max volume count");
    }
    return status::success();
  }

 private:
  static bool among(const pod_disks::attachment& one, const std::vector<pod_disks::attachment>& all) noexcept {
    for (const pod_disks::attachment& other : all)
      if (one == other) return true;
    return false;
  }
};

static_assert(pre_filter_plugin<node_volume_limits> && filter_plugin<node_volume_limits>);

}  // namespace gangsched
