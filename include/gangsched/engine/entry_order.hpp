#pragma once
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/pre_enqueue_gates.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Under kube_release::v1_36, where pods are queued one by one and a group is what is pending of them when one is popped: in which order
/// its members came into the queue.
class GANGSCHED_API entry_order {
 public:
  entry_order(const model::cluster_state& state, pre_enqueue_gates& gates) noexcept : state_(&state), gates_(&gates) {}

  /// Leaves those of @p members, who stand as the group has them, that may enter, by their first entry. Of those that have not entered the
  /// member that completes the minimum is the first, then those that waited for it, then each as it comes. O(members log members).
  void sort(row_t group, std::vector<row_t>& members) const;
  /// From here on they have entered, in that order.
  void enter(row_t group, std::vector<row_t> members);
  /// The row's next pod has not entered.
  void forget(row_t pod) noexcept {
    if (pod < entered_.size()) entered_[pod] = 0;
  }

 private:
  friend class core_saver;
  friend class core_restorer;
  peer<const model::cluster_state> state_;
  peer<pre_enqueue_gates> gates_;
  std::vector<std::uint64_t> entered_;  ///< by pod row: the number of its first entry, or 0
  std::uint64_t entries_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/entry_order.cpp"
#endif
