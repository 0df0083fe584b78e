#pragma once
#include <cstdint>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Releases whose decisions differ for the same input.
enum class kube_release : std::uint8_t {
  v1_35,  ///< NodeResourcesBalancedAllocation scores how even the node becomes, not whether it becomes more so
  v1_36,  ///< groups are queued pod by pod and preempt as in their alpha: no member is nominated to a node where it would fit, …
  v1_37,
};

/// Behaviour of kube-scheduler that its documentation does not describe, or that its developers call a defect.
enum class quirk : std::uint8_t {
  /// A namespace selector of only NotIn and DoesNotExist, in an affinity term of the pod that is placed, matches every namespace
  /// (InterPodAffinity).
  negative_namespace_selectors,
  /// NodeResourcesFit scores without the pod's own `resources`; its filter honours them.
  scores_without_pod_level_requests,
  /// In preemption's trials a port is free once one pod that uses it is removed, even if another one uses it too.
  trials_know_ports_once,
  /// In these trials, removing a terminating pod lowers the counts of PodTopologySpread, which never included it.
  trials_count_terminating_pods,
  /// InterPodAffinity ignores the anti-affinity of nominated pods, unless that of some placed pod matches the pod.
  idle_affinity_filter,
};

/// The behaviour that is followed: that of a release, with its defects unless they are excluded one by one. The default follows upstream
/// exactly; for the documented meaning, exclude the quirks in question.
/// @code
/// gangsched::cluster cluster{{.semantics = gangsched::kube_semantics{}.without(gangsched::quirk::negative_namespace_selectors)}};
/// @endcode
class kube_semantics {
 public:
  constexpr kube_semantics() = default;
  constexpr explicit kube_semantics(kube_release release) noexcept : release_(release) {}

  [[nodiscard]] constexpr kube_release release() const noexcept { return release_; }
  [[nodiscard]] constexpr bool has(quirk one) const noexcept { return (quirks_ & bit(one)) != 0; }
  [[nodiscard]] constexpr kube_semantics without(quirk one) const noexcept {
    kube_semantics made = *this;
    made.quirks_ &= static_cast<std::uint8_t>(~bit(one));
    return made;
  }
  friend constexpr bool operator==(const kube_semantics&, const kube_semantics&) = default;

 private:
  [[nodiscard]] static constexpr unsigned bit(quirk one) noexcept { return 1u << static_cast<unsigned>(one); }
  kube_release release_ = kube_release::v1_37;
  std::uint8_t quirks_ = 0xff;
};

}  // namespace gangsched::inline GANGSCHED_ABI
