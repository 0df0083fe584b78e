#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/model/fwd.hpp"
#include "gangsched/model/queue_spec.hpp"
#include "gangsched/model/requests.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The counts of a queue and all queues below it. Amounts are in the units of `integer_resources`, without zeros.
struct queue_usage {
  integer_resources used = {};       ///< by pods on nodes
  integer_resources requested = {};  ///< by all of its pods, those on nodes included; not counted by flavor
  std::uint32_t running =
      0;  ///< groups (a tree of them is one) and single pods with a pod on a node; not counted by flavor
};

/// Questions about the queues of a cluster (`cluster::queues`): a handle, valid as long as the cluster.
class GANGSCHED_API queue_questions {
 public:
  explicit queue_questions(const model::cluster_state& of) noexcept : state_(&of) {}

  /// The queue of that name; one that was only named so far has an id, too. O(length).
  [[nodiscard]] std::optional<queue_id> find(std::string_view name) const;
  /// Whether there is such a queue, added or only named. O(1).
  [[nodiscard]] bool contains(queue_id queue) const noexcept;
  /// The spec of the last add or update; null for an unknown id, and while the queue is only named. Valid until it is updated or removed.
  /// O(1).
  [[nodiscard]] const queue_spec* spec_of(queue_id queue) const noexcept;
  /// Valid until the queue is removed; "" for an unknown id. O(1).
  [[nodiscard]] std::string_view name_of(queue_id queue) const noexcept;
  /// All queues, those only named included: parents first, siblings by name. O(queues).
  [[nodiscard]] std::vector<queue_id> all() const;
  /// The queue of a pod: the one it names, else that of the nearest group above it that names one, else the one that takes its namespace; a
  /// default id if it is in none. O(1).
  [[nodiscard]] queue_id queue_of(pod_id pod) const noexcept;
  /// The queue of a group. If no group on the way up names one, it is that of its first pod with a queue. O(depth of its tree + its pods).
  [[nodiscard]] queue_id queue_of(group_id group) const noexcept;
  /// Nothing for an unknown id. O(kinds).
  [[nodiscard]] queue_usage usage_of(queue_id queue) const;
  /// What it uses on nodes of a flavor; nothing if there is no such flavor. O(kinds).
  [[nodiscard]] queue_usage usage_of(queue_id queue, std::string_view flavor) const;
  /// The spec of the last set_flavor; null if there is no flavor of that name. Valid until it is set again or removed. O(length).
  [[nodiscard]] const flavor_spec* find_flavor(std::string_view name) const noexcept;
  /// The name of a node's flavor: the first by name whose labels it has; "" if it has none. O(1).
  [[nodiscard]] std::string_view flavor_of(node_id node) const noexcept;

 private:
  const model::cluster_state* state_;
};

/// Queues and flavors of a cluster, and their changes. A call takes full effect, or returns an error and changes nothing. Errors as of
/// `cluster`; each call names its own beside busy and those of `check` (validate.hpp).
class GANGSCHED_API cluster_queues : public queue_questions {
 public:
  explicit cluster_queues(model::cluster_state& of) noexcept : queue_questions(of), state_(&of) {}

  /// Adds a queue, or gives one that was only named its spec. The parent need not exist. Pods in its namespaces that name no queue
  /// themselves are in it from then on. Error: duplicate, for a name that exists, and a namespace that another queue takes; unknown, for a
  /// flavor; malformed, if it would be below itself, or a queue would have more than 1000 above it; overflow, if what pods request would
  /// not fit into 64 bits above it. O(size of the spec + depth · kinds · flavors + siblings + queues below it), and O(pods) if it takes
  /// namespaces.
  result<queue_id> add(const queue_spec& spec);
  /// Replaces the spec; the name must stay, and the queue must have been added, not only named (wrong_state). As add; the parent may
  /// change, and all counts move along. Error: unknown.
  result<void> update(queue_id queue, const queue_spec& spec);
  /// Pods that are in it by its namespaces are then in no queue. While pods, groups or queues name it, it remains as a name only: its pods
  /// stay, and waiting ones go on waiting. Error: unknown. O(depth · kinds · flavors), and O(pods) if it takes namespaces.
  result<void> remove(queue_id queue);
  /// Adds a flavor or replaces it. A node belongs to the first flavor by name whose labels it has; to one without labels every node can
  /// belong. Cached results are dropped. O(nodes · flavors · labels + pods on nodes whose flavor changes).
  result<void> set_flavor(const flavor_spec& spec);
  /// Error: unknown; wrong_state, while a queue has quota of it. As set_flavor.
  result<void> remove_flavor(std::string_view name);

 private:
  model::cluster_state* state_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/cluster_queues.cpp"
#endif
