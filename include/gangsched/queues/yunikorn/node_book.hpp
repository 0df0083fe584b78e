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
  bool usable = true;             ///< false: no ask is placed there
  ask_index reserved_for = none;  ///< other asks are not placed there
  instant reserved_at{};
};

/// The node's key in the order: the weighted mean of the used fractions of the types of @p weights that it has; binpacking: 1 minus that.
[[nodiscard]] GANGSCHED_API double node_score(const booked_node& of,
                                              std::span<const std::pair<resource_type, double>> weights, node_order by);

/// The nodes of a partition as in YuniKorn's core: amounts, an order, and reservations. An ask that fits its quotas but no node reserves,
/// once it is old enough, the node where least is missing. Then no other ask is placed there, and the ask is tried there first, unless it
/// is held (`partition::hold`). Only amounts are considered: no affinity, no ports, nothing else.
class GANGSCHED_API node_book : public node_host {
 public:
  struct options {
    node_order order = node_order::fair;
    std::vector<std::pair<resource_type, double>> weights = {};  ///< what the order depends on
    instant reservation_delay =
        std::chrono::seconds{2};  ///< minimum age of an ask that reserves; `instant::max()`: never
    instant reservation_wait =
        std::chrono::hours{1};  ///< how long an ask that no longer fits its quotas keeps a reservation
    bool preempts = true;
    instant preemption_retry = std::chrono::seconds{15};  ///< how long an ask waits between two attempts
  };
  /// @param queues outlives it.
  explicit node_book(partition& queues);
  node_book(partition& queues, options chosen);

  /// Errors: `out_of_range` (below 0), `duplicate`.
  result<node_number> add_node(std::string name, const resources& capacity);
  /// A node that is not usable loses its reservation.
  /// @pre there is such a node.
  void set_usable(node_number node, bool usable);
  [[nodiscard]] const std::vector<booked_node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] partition& queues() const noexcept { return *queues_; }
  [[nodiscard]] const std::optional<preemption_plan>& last_plan() const noexcept { return plan_; }
  /// The node that the ask has reserved; `none` without one. O(nodes).
  [[nodiscard]] node_number reserved_by(ask_index which) const;
  /// The ask's reservation ends. O(nodes).
  void unreserve(ask_index which);

  /// One cycle, with at most one result: an ask with a reservation, by the order of queues and its age, placed there or else on another
  /// node; or `partition::try_allocate`. O(nodes · log nodes) an ask.
  cycle_outcome cycle(instant now);
  /// The ask has that node: after a restart, or because the host has put it there.
  result<void> allocate(ask_index which, node_number node);
  /// An allocation ended.
  result<void> release(ask_index which);
  /// A waiting ask is withdrawn.
  result<void> remove_ask(ask_index which);
  /// With all its asks and allocations.
  result<void> remove_application(application_index which);

  // Room that another object accounts for (`gang_application`).
  /// @pre there is such a node, for both.
  void take(node_number node, const resources& amount) { nodes_[node].available -= amount; }
  void give_back(node_number node, const resources& amount) { nodes_[node].available += amount; }
  /// The first node in the order with room for the ask and without another ask's reservation; `none` without one.
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
