#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"
#include "gangsched/queues/yunikorn/preemption.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

enum class node_order : unsigned char { fair, binpacking };  ///< the emptiest first, the fullest first

/// A node of a partition.
struct booked_node {
  std::string name;
  resources capacity = {};
  resources available = {};
  bool usable = true;             ///< false: nobody is placed there
  ask_index reserved_for = none;  ///< nobody else is placed there
  instant reserved_at{};
};

/// Where a node is in the order: the mean of the parts used of each type of @p weights that it has, by weight; binpacking: 1 without that.
[[nodiscard]] GANGSCHED_API double node_score(const booked_node& of,
                                              std::span<const std::pair<resource_type, double>> weights, node_order by);

/// The nodes of a partition as YuniKorn's core knows them: amounts, an order, and reservations. An ask that fits its quotas
/// but no node reserves, once it is old enough, the node where least is missing. Then no other ask is placed there, and the
/// ask is tried there first, unless it is held (`partition::hold`). Only amounts are looked at: no affinity, no ports, nothing
/// else.
class GANGSCHED_API node_book : public node_host {
 public:
  struct options {
    node_order order = node_order::fair;
    std::vector<std::pair<resource_type, double>> weights = {};  ///< what the order looks at
    instant reservation_delay = std::chrono::seconds{2};  ///< how old an ask is that reserves; `instant::max()`: never
    instant reservation_wait =
        std::chrono::hours{1};  ///< how long one that no longer fits its quotas keeps a reservation
    bool preempts = true;
    instant preemption_retry = std::chrono::seconds{15};  ///< how long an ask waits between two attempts
  };
  /// @param queues outlives it.
  explicit node_book(partition& queues);
  node_book(partition& queues, options chosen);

  /// Errors: `out_of_range` (below 0), `duplicate`.
  result<node_number> add_node(std::string name, const resources& capacity);
  /// A node that is not usable is nobody's reservation any more.
  /// @pre there is such a node.
  void set_usable(node_number node, bool usable);
  [[nodiscard]] const std::vector<booked_node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] partition& queues() const noexcept { return *queues_; }
  [[nodiscard]] const std::optional<preemption_plan>& last_plan() const noexcept { return plan_; }
  /// The node that the ask has reserved; `none` without one. O(nodes).
  [[nodiscard]] node_number reserved_by(ask_index which) const;
  /// The ask has none any more. O(nodes).
  void unreserve(ask_index which);

  /// One cycle, at most one thing: an ask with a reservation, by the order of queues and its age, there or else anywhere; or
  /// `partition::try_allocate`. O(nodes · log nodes) an ask.
  cycle_outcome cycle(instant now);
  /// The ask has that node, where it was before, or where the host has put it.
  result<void> allocate(ask_index which, node_number node);
  /// An allocation ended.
  result<void> release(ask_index which);
  /// An ask that waits is withdrawn.
  result<void> remove_ask(ask_index which);
  /// With all that it asks for and has.
  result<void> remove_application(application_index which);

  // Room that somebody else keeps account of (`gang_application`).
  /// @pre there is such a node, for both.
  void take(node_number node, const resources& amount) { nodes_[node].available -= amount; }
  void give_back(node_number node, const resources& amount) { nodes_[node].available += amount; }
  /// The first node by the order with room for the ask, nobody else's reservation; `none` without one.
  [[nodiscard]] node_number find_room(ask_index which) const;

  node_number place(ask_index which) override;
  bool reserve(ask_index which) override;
  bool preempt(ask_index which, bool nodes_tried) override;

 private:
  [[nodiscard]] std::vector<node_number> in_order() const;
  void put(ask_index which, node_number node);
  cycle_outcome try_reserved();
  void leaves_below(queue_index queue, std::vector<queue_index>& leaves) const;

  partition* queues_;
  options options_;
  instant now_{};
  preemptor preemptor_;
  std::vector<booked_node> nodes_ = {};
  std::optional<preemption_plan> plan_ = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/yunikorn/node_book.cpp"
#endif
