#pragma once
#include <cstddef>
#include <vector>

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

  /// In a transaction that is rolled back: pods give up the nodes that they hold, and may be tried on others. Reserve hooks are not called
  /// for them meanwhile, since what a hook keeps outside the cluster is for the pod where it is; what they noted for it counts where it is
  /// tried.
  class GANGSCHED_API supposed_releases {
   public:
    explicit supposed_releases(reservations& of) noexcept : of_(&of), before_(of.tried_.size()) {}
    supposed_releases(const supposed_releases&) = delete;
    supposed_releases& operator=(const supposed_releases&) = delete;
    ~supposed_releases() { clear(); }

    /// @pre it had its node before the transaction began
    void release(row_t pod);
    /// They have their nodes again.
    void clear() noexcept {
      of_->tried_.erase(of_->tried_.begin() + static_cast<std::ptrdiff_t>(before_), of_->tried_.end());
    }

   private:
    reservations* of_;
    std::size_t before_;
  };

 private:
  /// A pod for which hooks hold something on its own node while it is tried on others.
  struct tried_pod {
    row_t pod;
    row_t node;
    std::vector<model::column_use> uses;
  };
  [[nodiscard]] const tried_pod* find_tried(row_t pod) const noexcept;
  void note_there(const tried_pod& one, row_t node);
  bool take(row_t pod, row_t node, status& said);
  [[nodiscard]] const char* wrong_choice(row_t pod, row_t node, const device_rules& rules) const;

  model::cluster_state* state_;
  const entity_view* entities_;
  picker* picks_;
  const instant* now_;
  const plugin_entry* refused_by_ = nullptr;
  std::vector<tried_pod> tried_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/reservations.cpp"
#endif
