#pragma once
#include <vector>

#include "gangsched/framework/past.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The node can attach the pod's volumes: per driver with a limit, volumes attached there plus the pod's new ones ≤ limit. A volume
/// counts once on a node, and one that is attached already is not new (Kubernetes' NodeVolumeLimits). O(volumes on the node) for a
/// pod with attachments, others are skipped.
class node_volume_limits {
 public:
  static constexpr std::string_view name = "NodeVolumeLimits";
  using points = implements<point::requeue, point::pre_filter, point::filter>;
  // Limits are in another object upstream (CSINode), so changes of a node's taints are skipped.
  static constexpr events wakes_on =
      events::node_added | events::node_volume_limits | events::node_taints | events::pod_removed;

  /// Any new node; a limit that grew; a pod that leaves attachments.
  [[nodiscard]] hint requeue(const event& e, const pod_info&) const {
    if (e.what == events::node_taints) return hint::skip;
    if (e.old_pod != nullptr) {
      return e.old_pod->disks() != nullptr && !e.old_pod->disks()->attachments.empty() ? hint::queue : hint::skip;
    }
    if (e.old_node == nullptr) return hint::queue;
    for (const volume_limit& limit : e.new_node->volume_limits()) {
      std::int32_t before = 0;
      for (const volume_limit& old : e.old_node->volume_limits())
        before = old.driver == limit.driver ? old.most : before;
      if (limit.most > before) return hint::queue;
    }
    return hint::skip;
  }
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

static_assert(requeue_plugin<node_volume_limits> && pre_filter_plugin<node_volume_limits> &&
              filter_plugin<node_volume_limits>);

}  // namespace gangsched::inline GANGSCHED_ABI
