#pragma once
#include "gangsched/core/is_among.hpp"
#include "gangsched/framework/past.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// No disk is used by another pod on the node, unless both only read it; and no ReadWriteOncePod claim by any pod (Kubernetes'
/// VolumeRestrictions). Disks are stored per pod, so that pods with different disks share a class; a pod with any is checked node by node,
/// O(pods on the node), others are skipped.
class volume_restrictions {
 public:
  static constexpr std::string_view name = "VolumeRestrictions";
  using points = implements<point::requeue, point::pre_filter, point::filter>;
  static constexpr events wakes_on = events::node_added | events::pod_removed;

  /// Woken by any new node; by a pod of its namespace that leaves a disk or claim that this pod needs.
  [[nodiscard]] hint requeue(const event& e, const pod_info& pod) const {
    if (e.what == events::node_added) return hint::queue;
    const pod_disks* own = pod.disks();
    const pod_disks* left = e.old_pod->disks();
    if (own == nullptr || left == nullptr || e.old_pod->spec().ns != pod.spec().ns) return hint::skip;
    bool helps = shares(*own, left);
    for (const symbol claim : left->exclusive_claims) helps = helps || is_among(claim, own->exclusive_claims);
    return helps ? hint::queue : hint::skip;
  }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    return pod.spec().volumes.disks ? status::success() : status::skip();
  }
  [[nodiscard]] status filter(const pod_info& pod, node_info node) const {
    const pod_disks& own = *pod.disks();
    bool conflict = false;
    if (!own.disks.empty())
      node.each_pod([&](const pod_info& other) { conflict = conflict || shares(own, other.disks()); });
    if (conflict) return status::unschedulable("node(s) had no available disk");
    for (const symbol claim : own.exclusive_claims) {
      if (pod.claim_users(claim) == 0) continue;
      return status::unschedulable(
          "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode");
    }
    return status::success();
  }

 private:
  static bool shares(const pod_disks& own, const pod_disks* other) noexcept {
    if (other == nullptr) return false;
    for (const pod_disks::disk& mine : own.disks) {
      for (const pod_disks::disk& theirs : other->disks)
        if (mine.id == theirs.id && !(mine.read_only && theirs.read_only)) return true;
    }
    return false;
  }
};

static_assert(requeue_plugin<volume_restrictions> && pre_filter_plugin<volume_restrictions> &&
              filter_plugin<volume_restrictions>);

}  // namespace gangsched::inline GANGSCHED_ABI
