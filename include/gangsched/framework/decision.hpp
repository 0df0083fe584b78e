#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "gangsched/core/id.hpp"
#include "gangsched/core/status.hpp"
#include "gangsched/devices/device_grant.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What the host is to do about the pod of a decision.
enum class decision_kind : std::uint8_t {
  bind,      ///< run the pod on the node, then confirm or fail
  wait,      ///< the node is reserved; the pod waits in the permit room
  nominate,  ///< the node is the pod's once its victims are gone; of an evicted pod: the node of its replacement
  evict,     ///< delete this (running) pod, then remove it from the cluster
  reject,    ///< no node; why: scheduler::why
  revoke,    ///< a reservation was taken back: a wait or bind that the host has not confirmed is void
  notice,    ///< this (running) pod is evicted after `scheduler_options::eviction_notice`, if that is still of use then
  withdraw,  ///< the eviction is called off: a pod that had notice may stay
};
[[nodiscard]] constexpr std::string_view to_string(decision_kind kind) noexcept {
  switch (kind) {
    case decision_kind::bind: return "bind";
    case decision_kind::wait: return "wait";
    case decision_kind::nominate: return "nominate";
    case decision_kind::evict: return "evict";
    case decision_kind::reject: return "reject";
    case decision_kind::revoke: return "revoke";
    case decision_kind::notice: return "notice";
    case decision_kind::withdraw: return "withdraw";
  }
  return "";
}

/// What the host is to do. Ids, and the host's own cookies on them.
struct decision {
  decision_kind kind;
  gangsched::code code = gangsched::code::success;  ///< of a reject
  /// Of a reject, revoke, notice or evict, if one text says it; else null. A copy of the decision does not copy the text, which is valid
  /// until the next `schedule_cycle`, `permit` or `pop`.
  const char* reason = nullptr;
  pod_id pod;
  node_id node;                   ///< the pod's, the one that it had (revoke), or the nominated one; of a reject none
  group_id group;                 ///< that the pod is a member of, if any
  std::uint64_t pod_cookie = 0;   ///< of `pod`
  std::uint64_t node_cookie = 0;  ///< of `node`; 0 without one
  std::int32_t rank = -1;         ///< of the pod in its group, if it has one
  std::int64_t score = 0;         ///< of bind and wait: the node's weighted sum
  std::uint64_t annotation = 0;   ///< for pre_bind and bind hooks to fill in
  bind_attempt attempt = bind_attempt::none;  ///< of bind, wait and revoke: the reservation, which answers name
  /// Of bind, wait and evict: the devices of its own that the pod has on the node (those of claims that it shares: `cluster::claims_of`);
  /// `cluster::name_of` says what they are called. Valid as `reason` is; later `cluster::devices_of(pod)` has them.
  std::span<const device_grant> devices = {};
};

/// A member and where it would go.
struct assignment {
  pod_id pod;
  node_id node;
};

}  // namespace gangsched::inline GANGSCHED_ABI
