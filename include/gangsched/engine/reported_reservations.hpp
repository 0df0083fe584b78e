#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/decision_list.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Open reservations that were reported to the host (`wait`, `bind`): the host has not answered, and no end was reported. If the host's own
/// change ends one, by removing a node for example, that is reported once, in the next call.
class GANGSCHED_API reported_reservations {
 public:
  explicit reported_reservations(const model::cluster_state& state) noexcept : state_(&state) {}

  /// The pod's reservation is reported to the host, and so will be its end.
  void add(row_t pod);
  /// It is answered, or its end is reported elsewhere.
  void remove(row_t pod);
  /// A change of the cluster by the host ended it.
  void end(row_t pod);
  /// The log does not cover them any more: reads the cluster. O(reservations).
  void look_again();
  /// Decides a `revoke` for each that has ended. None for a pod that is gone since.
  void report_ended(decision_list& decisions);

  // For a call that may be abandoned: `recall` puts back what was there when `remember` was called.
  void remember() noexcept {
    changes_.clear(), reported_.clear();
    ended_before_ = ended_.size();
  }
  void recall() noexcept;

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed. O(what it holds).
  [[nodiscard]] saved_reported save() const;
  [[nodiscard]] std::optional<error> restore(const saved_reported& from);

 private:
  struct reservation {
    pod_id pod;
    node_id node;
    bind_attempt attempt;
  };
  struct change {
    change(row_t row, const reservation* one) noexcept : pod(row), was_there(one != nullptr) {
      if (was_there) before = *one;
    }
    row_t pod;
    bool was_there;
    reservation before{};
  };
  [[nodiscard]] bool has(row_t pod) const noexcept { return pod < place_.size() && place_[pod] != 0; }
  void note_change(row_t pod) { changes_.emplace_back(pod, place_[pod] != 0 ? &all_[place_[pod] - 1] : nullptr); }
  void grow(row_t pod);
  void erase(row_t pod) noexcept;

  peer<const model::cluster_state> state_;
  std::vector<std::uint32_t> place_;  ///< by pod row: 1 + its place among those
  std::vector<reservation> all_;
  std::vector<reservation> ended_;
  std::size_t ended_before_ = 0;       ///< how many, when the call began
  std::vector<reservation> reported_;  ///< of them, if they were reported since
  std::vector<change> changes_;        ///< in this call
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/reported_reservations.cpp"
#endif
