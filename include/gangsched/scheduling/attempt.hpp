#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"

/// What a host that pops entities and tries them itself exchanges with the queue.
namespace gangsched::inline GANGSCHED_ABI {

/// A pod, or a group as one, that was popped and has not come back.
struct attempt {
  pod_id pod;                 ///< of a group, its first pending member that is neither being deleted nor gated
  group_id group;             ///< set if the group is tried as one
  std::uint32_t number = 1;   ///< how many attempts with this one
  bool from_backoff = false;  ///< popped before its backoff was over, because nobody was active
};

/// The plugins that rejected an attempt. None at all: it ended in an error.
struct rejected_by {
  std::vector<std::string> unschedulable_plugins = {};
  std::vector<std::string> pending_plugins =
      {};  ///< plugins that only wait for an event: that event cuts the backoff short
};

enum class queue_place : std::uint8_t {
  none,           ///< in no queue: placed, being deleted, or given up with `done`
  active,         ///< may be popped
  backoff,        ///< waits for its time, or until nobody is active
  error_backoff,  ///< waits for its time: after an error, or a group; never popped early
  unschedulable,  ///< waits for a change that can help
  gated,          ///< a pre_enqueue plugin says no
  in_flight,      ///< popped, being tried
  kept_back,      ///< in no queue: its group has as many members with a node as its maximum or its ratios allow
};

/// Where a pod stood in the queue, for a restart.
struct queue_position {
  std::uint32_t failures = 0;  ///< attempts that were rejected
  instant since{};             ///< of its last failure, or of its first entry
  std::uint32_t errors = 0;    ///< attempts in a row that ended in an error
  std::uint32_t attempts = 0;  ///< in all
};

/// How a pod stands in the queue; or its group, if that is queued as one.
struct queue_standing {
  queue_place place = queue_place::none;
  std::uint32_t attempts = 0;
  std::uint32_t failures = 0;                 ///< attempts that were rejected
  std::uint32_t errors = 0;                   ///< attempts in a row that ended in an error
  instant since{};                            ///< when it entered, or failed last
  std::optional<instant> backoff_until = {};  ///< when the backoff after its last failure ends, or ended
  [[nodiscard]] queue_position position() const noexcept { return {failures, since, errors, attempts}; }
  rejected_by rejected = {};  ///< in the last attempt that was rejected, as far as the plugins are in the profile
};

}  // namespace gangsched::inline GANGSCHED_ABI
