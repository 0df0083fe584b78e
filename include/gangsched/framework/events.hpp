#pragma once
#include <cstdint>

#include "gangsched/core/config.hpp"

/// What happened, as the set of events that plugins register for; past.hpp has the objects as they were then.
namespace gangsched::inline GANGSCHED_ABI {

/// Kubernetes' cluster events, as far as the model has their objects. A set of bits.
enum class events : std::uint32_t {
  nothing = 0,
  node_added = 1u << 0,
  node_removed = 1u << 1,
  node_allocatable = 1u << 2,
  node_labels = 1u << 3,
  node_taints = 1u << 4,  ///< or an unschedulable node became schedulable
  node_volume_limits = 1u << 5,
  node_images = 1u << 6,
  pod_added = 1u << 7,    ///< a pod runs on a node: it was added there, or bound
  pod_removed = 1u << 8,  ///< a pod left its node, or lost the node it was nominated to
  pod_labels = 1u << 9,
  pod_scaled_down = 1u << 10,  ///< it requests less of something
  pod_tolerations = 1u << 11,
  pod_gates_gone = 1u << 12,  ///< the last of its scheduling gates
  pod_updated = 1u << 13,     ///< anything else of a pod
  namespace_changed = 1u << 14,
  column_changed = 1u << 15,  ///< words of a column that the plugin asked for; other plugins do not get this event
  /// A queue was added, removed or changed; or flavors changed; or a queue uses less because a pod left its node or the queue. Only plugins
  /// that read queues (`reads_queues`), or name the event in `wakes_on`, get it.
  queue_changed = 1u << 16,
  node_features = 1u << 17,  ///< it declares others
  anything = (1u << 18) - 1,
};
[[nodiscard]] constexpr events operator|(events a, events b) noexcept {
  return static_cast<events>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
[[nodiscard]] constexpr events operator&(events a, events b) noexcept {
  return static_cast<events>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}
constexpr events& operator|=(events& a, events b) noexcept { return a = a | b; }
[[nodiscard]] constexpr bool any(events set) noexcept { return set != events::nothing; }

class past_node;
class past_pod;

}  // namespace gangsched::inline GANGSCHED_ABI
