#pragma once
#include "gangsched/engine/entity_view.hpp"
#include "gangsched/engine/picker.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Assigns nodes to pods: assumed in the model with the devices that the profile chooses, with calls of reserve and unreserve hooks.
class GANGSCHED_API reservations {
 public:
  /// @p now: when hooks are called; read at each call.
  reservations(model::cluster_state& state, const entity_view& entities, picker& picks, const instant& now) noexcept
      : state_(&state), entities_(&entities), picks_(&picks), now_(&now) {}

  /// Assumes the pod there, with devices, in the reservation that it is to draw from. False, with the reason in @p said, if a hook names
  /// devices that cannot be had, or if there is room for it neither in a reservation that it may use nor beside them.
  bool assume(row_t pod, row_t node, status& said);
  /// All reserve hooks in order; at the first that fails or throws all are unreserved in reverse order, also those not reached. What they
  /// noted by then is for the caller's transaction to undo.
  bool reserve(row_t pod, row_t node, status& said);
  void unreserve(row_t pod, row_t node);
  /// The plugin that rejected in the last failed `reserve`; null if none failed.
  [[nodiscard]] const plugin_entry* refused_by() const noexcept { return refused_by_; }
  [[nodiscard]] instant now() const noexcept { return *now_; }
  /// Releases everything that an assumed pod holds.
  void release(row_t pod);

 private:
  bool take(row_t pod, row_t node, status& said);
  [[nodiscard]] const char* wrong_choice(row_t pod, row_t node, const device_rules& rules) const;

  model::cluster_state* state_;
  const entity_view* entities_;
  picker* picks_;
  const instant* now_;
  const plugin_entry* refused_by_ = nullptr;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/reservations.cpp"
#endif
