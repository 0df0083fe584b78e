#pragma once
#include <map>
#include <vector>

#include "gangsched/engine/entity_view.hpp"
#include "gangsched/engine/picker.hpp"

namespace gangsched::engine {

/// Nodes for pods: assumed in the model with the devices that the profile chooses, reserve and unreserve hooks, and what reserve hooks
/// have counted up for each pod, which is given back exactly once.
class GANGSCHED_API reservations {
 public:
  using uses = std::vector<column_use>;

  /// @p now: when hooks are asked; read at each call.
  reservations(cluster_state& state, const entity_view& entities, picker& picks, const instant& now) noexcept
      : state_(&state), entities_(&entities), picks_(&picks), now_(&now) {}

  /// Assumes the pod there, with devices. False, with an error in @p said, if a hook names devices that cannot be had.
  bool assume(row_t pod, row_t node, status& said);
  /// All reserve hooks in order; at the first failure all are unreserved in reverse order, also those not reached.
  bool reserve(row_t pod, row_t node, uses& noted, status& said);
  void unreserve(row_t pod, row_t node);
  /// The reservation stands: what its hooks noted is the pod's until it is released.
  void keep(row_t pod, uses&& noted);
  /// Takes back everything that an assumed pod holds.
  void release(row_t pod);
  /// The same for one that was not kept. Inside the caller's transaction.
  void undo(row_t pod, const uses& noted);

  /// What hooks noted for the pod is given back (@p sign −1), or taken again, while it is away from its node in a trial.
  void count_uses(row_t pod, std::int64_t sign) { count(uses_of(pod), sign); }
  /// The host has taken back what the row's owners up to @p generation held.
  void forget(row_t pod, std::uint32_t generation);
  /// The log does not say any more who was released: gives back what is of pods that hold no node.
  void forget_released();

  // For a call that may be abandoned: `recall` puts back what was noted when `remember` was called; the columns are the undo log's.
  void remember() noexcept { kept_.clear(), dropped_.clear(); }
  void recall() noexcept;
  void end_call() noexcept { dropped_.clear(); }

 private:
  using noted_uses = std::map<pod_id, uses>;
  [[nodiscard]] const char* wrong_choice(row_t pod, row_t node, const device_rules& rules) const;
  [[nodiscard]] std::span<const column_use> uses_of(row_t pod) const;
  void count(std::span<const column_use> noted, std::int64_t sign);
  noted_uses::iterator drop(noted_uses::iterator held);

  cluster_state* state_;
  const entity_view* entities_;
  picker* picks_;
  const instant* now_;
  noted_uses noted_;
  std::vector<pod_id> kept_;                    ///< in this call
  std::vector<noted_uses::node_type> dropped_;  ///< in this call
};

}  // namespace gangsched::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/reservations.cpp"
#endif
