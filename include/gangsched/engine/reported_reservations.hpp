#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/decision_list.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Reservations that the host was told of (`wait`, `bind`), and that are open: the host has not answered, and was told
/// of no end. If the host's own doing ends one, by removing a node for instance, it is told so once, in the next call.
class GANGSCHED_API reported_reservations {
 public:
  explicit reported_reservations(const model::cluster_state& state) noexcept : state_(&state) {}

  /// The host hears of the pod's reservation, and so will of its end.
  void add(row_t pod);
  /// It is answered, or the host hears of its end elsewhere.
  void remove(row_t pod);
  /// What the host did to the cluster took it back.
  void end(row_t pod);
  /// The log does not say any more what became of them: looks at the cluster. O(reservations).
  void look_again();
  /// Decides a `revoke` for each that has ended. Of a pod that is gone since there is nobody to speak of.
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
  void note_change(row_t pod);
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
