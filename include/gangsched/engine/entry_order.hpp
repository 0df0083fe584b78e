#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/pre_enqueue_gates.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Under kube_release::v1_36 pods are queued one by one, and popping one tries all pending members of its group: the order in which the
/// members came into the queue.
class GANGSCHED_API entry_order {
 public:
  entry_order(const model::cluster_state& state, pre_enqueue_gates& gates) noexcept : state_(&state), gates_(&gates) {}

  /// Reduces @p members (in the group's order) to those that may enter the queue, by their first entry. Of those that have not entered yet,
  /// the member that completes the minimum comes first, then those that waited for it, then later ones in order. O(members log members).
  void sort(row_t group, std::vector<row_t>& members) const;
  /// From here on they have entered, in that order.
  void enter(row_t group, std::vector<row_t> members);
  /// The row's next pod has not entered.
  void forget(row_t pod) noexcept {
    if (pod < entered_.size()) entered_[pod] = 0;
  }

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed. O(what it holds).
  [[nodiscard]] saved_entries save() const;
  [[nodiscard]] std::optional<error> restore(const saved_entries& from);

 private:
  peer<const model::cluster_state> state_;
  peer<pre_enqueue_gates> gates_;
  std::vector<std::uint64_t> entered_;  ///< by pod row: the number of its first entry, or 0
  std::uint64_t entries_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/entry_order.cpp"
#endif
