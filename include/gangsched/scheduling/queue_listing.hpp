#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/scheduling/attempt.hpp"

/// Who waits for what, as a scheduler lists it.
namespace gangsched::inline GANGSCHED_ABI {

/// Who stands in the queue: a pod, or a group whose members are tried as one.
struct queued_entity {
  pod_id pod;              ///< of a group, its first member that waits
  group_id group;          ///< set if it is a group
  std::uint32_t pods = 1;  ///< that wait with it
  queue_standing standing;
  /// Why it waits: its last attempt's words if reasons are counted (`why_rejected::text`); else the group's own reason, or what the host
  /// said at `fail`; empty if there is no reason.
  std::string why;
};

/// How many pods wait for a node where, members of groups that are queued as one each.
struct pending_pods {
  std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0, in_flight = 0, kept_back = 0;
  /// Of those in the queue, how many a plugin rejected in their last attempt: one that several did counts for each.
  struct rejected {
    std::string profile;  ///< `scheduler_name`
    std::string plugin;
    std::size_t pods = 0;
  };
  std::vector<rejected> by_plugin;
  /// Events that are kept for the host's attempts under way, in Kubernetes' words.
  struct kept_event {
    std::string_view event;
    std::size_t number = 0;
  };
  std::vector<kept_event> in_flight_events;
};

/// A pod in the permit room.
struct waiting_pod {
  /// A plugin that has not let it go, and when its patience ends; `instant::max()`: never.
  struct holder {
    std::string plugin;
    instant until{};
    friend bool operator==(const holder&, const holder&) = default;
  };
  pod_id pod;
  node_id node;
  bind_attempt attempt = bind_attempt::none;
  std::int64_t score = 0;                 ///< of its node, as decided
  std::vector<holder> holders;            ///< in the order of the profile; none: it goes at the next `permit`
  std::vector<std::string> allowed = {};  ///< plugins that the host has answered for
  bool rejected = false;                  ///< it is sent back at the next `permit`
};

}  // namespace gangsched::inline GANGSCHED_ABI
