#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"

/// What a host that pops entities and tries them itself exchanges with the queue.
namespace gangsched::inline GANGSCHED_ABI {

/// A pod, or a group that is queued as one, that was popped and not yet returned to the queue.
struct attempt {
  pod_id pod;                 ///< of a group, its first pending member that is neither being deleted nor gated
  group_id group;             ///< set if the group is tried as one
  std::uint32_t number = 1;   ///< attempts with this entity, this one included
  bool from_backoff = false;  ///< popped before its backoff ended, because the active queue was empty
};

/// The plugins that rejected an attempt. Both lists empty: the attempt ended in an error.
struct rejected_by {
  std::vector<std::string> unschedulable_plugins = {};
  std::vector<std::string> pending_plugins = {};  ///< that only wait for an event, which ends the backoff early
};

/// Where in the queue a pod or group is.
enum class queue_place : std::uint8_t {
  none,           ///< in no queue: placed, being deleted, or given up with `done`
  active,         ///< may be popped
  backoff,        ///< backing off; may be popped early if nothing is active
  error_backoff,  ///< waits for a time only, by no means always after an error (docs/why-pending.md); never popped early
  unschedulable,  ///< rejected; waits for a change that can help, or for the end of `unschedulable_timeout`
  gated,          ///< rejected by a pre_enqueue plugin
  in_flight,      ///< popped; its attempt is under way
  kept_back,      ///< in no queue: its group already has nodes for as many members as its maximum or its ratios allow
};

/// Where a pod stood in the queue, for `scheduler::restore` after a restart.
struct queue_position {
  std::uint32_t failures = 0;  ///< attempts that were rejected
  instant since{};             ///< of its last failure, or of its first entry
  std::uint32_t errors = 0;    ///< attempts in a row that ended in an error
  std::uint32_t attempts = 0;  ///< in all
};

/// The state of a pod in the queue; of a member of a group that is queued as one, the state of that group.
struct queue_standing {
  queue_place place = queue_place::none;
  std::uint32_t attempts = 0;
  std::uint32_t failures = 0;                 ///< attempts that were rejected
  std::uint32_t errors = 0;                   ///< attempts in a row that ended in an error
  instant since{};                            ///< when it entered the queue, or last failed
  std::optional<instant> backoff_until = {};  ///< when the backoff after its last failure ends, or ended
  [[nodiscard]] queue_position position() const noexcept { return {failures, since, errors, attempts}; }
  rejected_by rejected = {};  ///< of the last rejected attempt; plugins that the profile no longer has are left out
};

}  // namespace gangsched::inline GANGSCHED_ABI
