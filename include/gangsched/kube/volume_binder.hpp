#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gangsched/kube/manifests.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {

/// The name of the claim that a volume of @p pod stands for; empty if it is none.
[[nodiscard]] GANGSCHED_API std::string claim_name(const pod_manifest& pod, const pod_volume& volume);

/// Who has which volume while pods are placed: what kube-scheduler's VolumeBinding keeps, and what the controllers of volumes do, at once.
/// It begins with the claims as they are read: those that do not wait for a consumer get their volumes then.
/// Not for several threads.
class GANGSCHED_API volume_binder {
 public:
  /// @p of has to stay as it is, as long as the binder is used. O(claims · volumes of their class).
  explicit volume_binder(const manifests& of);
  volume_binder(volume_binder&&) noexcept;
  volume_binder& operator=(volume_binder&&) noexcept;
  ~volume_binder();

  /// What the volumes of the pod ask of nodes as things stand. Claims that are alike are looked at once for each version: O(volumes of
  /// their classes · nodes that reach them), then O(nodes that come out).
  [[nodiscard]] pod_volumes needs(const pod_manifest& pod) const;
  /// The pod goes to the node: each of its claims that has no volume gets one. False, and no claim is changed, if none is left for one.
  /// Once each time that it is placed: what was reserved for a pod of its name before is final then.
  bool reserve(const pod_manifest& pod, std::string_view node);
  /// It does not after all: its claims are as they were before its last `reserve`.
  void unreserve(const pod_manifest& pod);
  /// Grows when `needs` of other pods may have become something else.
  [[nodiscard]] std::uint64_t version() const noexcept;
  /// Whether `needs` of the pod can change: it has a claim without a volume.
  [[nodiscard]] bool may_change(const pod_manifest& pod) const;
  /// Where no StorageClass is in the files: the classes whose volumes are presumed to be made wherever they are wanted, sorted; the default
  /// one has no name.
  [[nodiscard]] std::vector<std::string> presumed_classes() const;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube
