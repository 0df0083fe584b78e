#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/scheduling/attempt.hpp"

/// The entities of a scheduler's queue, as it lists them.
namespace gangsched::inline GANGSCHED_ABI {

/// An entity of the queue: a pod, or a group whose members are tried as one.
struct queued_entity {
  pod_id pod;              ///< of a group, its first member that waits
  group_id group;          ///< set if it is a group
  std::uint32_t pods = 1;  ///< waiting pods of the entity
  queue_standing standing;
  /// Why it waits: the text of its last attempt if reasons are counted (`why_rejected::text`); if that found a node, what the host said at
  /// `fail` or `reject`; else the group's own reason. Empty if there is none.
  std::string why;
};

/// How many pods without a node are in each place of the queue; each member of a group that is queued as one counts.
struct pending_pods {
  std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0, in_flight = 0, kept_back = 0;
  /// Of those in the queue, how many each plugin rejected in their last attempt: a pod that several plugins rejected counts for each.
  struct rejected {
    std::string profile;  ///< `scheduler_name`
    std::string plugin;
    std::size_t pods = 0;
  };
  std::vector<rejected> by_plugin;
  /// Events that are kept for the attempts under way of the host, by Kubernetes' names.
  struct kept_event {
    std::string_view event;
    std::size_t number = 0;
  };
  std::vector<kept_event> in_flight_events;
};

/// A pod that waits in permit.
struct waiting_pod {
  /// A plugin that has not allowed the pod yet, and when its timeout ends; `instant::max()`: never.
  struct holder {
    std::string plugin;
    instant until{};
    friend bool operator==(const holder&, const holder&) = default;
  };
  pod_id pod;
  node_id node;
  bind_attempt attempt = bind_attempt::none;
  std::int64_t score = 0;                 ///< of its node, as decided
  std::vector<holder> holders;            ///< in profile order; none: it is bound at the next `permit`
  std::vector<std::string> allowed = {};  ///< plugins for which the host has allowed it
  bool rejected = false;                  ///< it returns to the queue at the next `permit`
};

}  // namespace gangsched::inline GANGSCHED_ABI
