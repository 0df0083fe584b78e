#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gangsched/kube/manifests.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {

/// The name of the PersistentVolumeClaim that a volume of @p pod refers to; empty if it refers to none.
[[nodiscard]] GANGSCHED_API std::string claim_name(const pod_manifest& pod, const pod_volume& volume);

/// Which claim has which volume while pods are placed: the state that kube-scheduler's VolumeBinding keeps, and what the volume controllers
/// do, without delay. At the start the claims are as they were read, and those that do not wait for a consumer have got their volumes. Not
/// for several threads.
class GANGSCHED_API volume_binder {
 public:
  /// @p of must outlive the binder, and what it has of nodes, volumes, claims and classes must not change. O(claims · volumes of their
  /// class).
  explicit volume_binder(const manifests& of);
  volume_binder(volume_binder&&) noexcept;
  volume_binder& operator=(volume_binder&&) noexcept;
  ~volume_binder();

  /// A pod that has come since: it uses its claims, and those that templates of its volumes say are made if they are not there. O(claims ·
  /// volumes of their class).
  void add(const pod_manifest& pod);
  /// What the pod's volumes ask of nodes now. Claims that are alike are evaluated once for each `version`: O(volumes of their classes ·
  /// nodes that reach them), then O(nodes in the answer).
  [[nodiscard]] pod_volumes needs(const pod_manifest& pod) const;
  /// The pod is placed on @p node: each of its claims without a volume gets one. False if some claim cannot get one; then no claim changes.
  /// To be called once for each placement: it makes final what was reserved for an earlier pod of the same name.
  bool reserve(const pod_manifest& pod, std::string_view node);
  /// The pod is not placed after all: its claims become as they were before its last `reserve`.
  void unreserve(const pod_manifest& pod);
  /// Grows whenever the answer of `needs` for another pod may have changed.
  [[nodiscard]] std::uint64_t version() const noexcept;
  /// Whether `needs` of the pod can change: it has a claim without a volume.
  [[nodiscard]] bool may_change(const pod_manifest& pod) const;
  /// If the files have no StorageClass: the classes whose volumes are presumed to be provisioned on any node, sorted; the default class has
  /// an empty name.
  [[nodiscard]] std::vector<std::string> presumed_classes() const;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube
