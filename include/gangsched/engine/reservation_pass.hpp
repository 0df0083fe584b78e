#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gangsched/core/status.hpp"
#include "gangsched/model/state.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

class picker;
struct picked;

/// Takes reservations off their node during its life: filters then see the node as it is for pods that may use them. Or takes pods off that
/// a reservation may be allocated around: filters then see the node as it is for that reservation.
class GANGSCHED_API reservation_pass {
 public:
  /// @p pod: the pod that is evaluated, whose cycle-level plugins are updated by @p asks; null: none. O(what those @p gone have).
  reservation_pass(picker* asks, model::cluster_state& state, row_t pod, std::vector<row_t> gone);
  reservation_pass(const reservation_pass&) = delete;
  reservation_pass& operator=(const reservation_pass&) = delete;
  ~reservation_pass();

 private:
  picker* asks_;
  model::cluster_state* state_;
  row_t pod_, node_;
  bool before_;
  std::vector<row_t> gone_;
  transaction pass_;
};

/// During its life, filters see nodes in their present state: what reservations hold counts as used.
class without_reservations {
 public:
  explicit without_reservations(model::cluster_state& state) noexcept
      : state_(&state), before_(state.reserved.aside()) {
    state.reserved.set_aside(true);
  }
  without_reservations(const without_reservations&) = delete;
  without_reservations& operator=(const without_reservations&) = delete;
  ~without_reservations() { state_->reserved.set_aside(before_); }

 private:
  model::cluster_state* state_;
  bool before_;
};

/// Whether pods of the class are to be evaluated with what reservations hold, and are not yet. O(1).
[[nodiscard]] inline bool look_into_reservations(const model::cluster_state& state, class_id cls) noexcept {
  return !state.reserved.aside() && state.reserved.concerns(state.classes[cls]);
}
/// The reservations that pods of a class may use, on one node or, if @p node is no_row, on all nodes @p
/// within (ascending; null: on any), with enough left of what is restricted. Sorted by order (0: last), then
/// by score_reservation, the fullest first, then by arrival. O(reservations for it · log reservations).
[[nodiscard]] GANGSCHED_API std::vector<row_t> usable_reservations(const model::cluster_state& state, class_id cls,
                                                                   row_t node, const std::vector<row_t>* within);
/// How full a reservation would be with one more pod of the class: the mean over what it holds of ⌊100 · (drawn + requested) / held⌋, or
/// nothing where that would be more than 100 (Koordinator's ScoreReservation).
[[nodiscard]] GANGSCHED_API std::int64_t score_reservation(const model::cluster_state& state, row_t reservation,
                                                           const pod_class& cls);
/// Those of a node that hold something which pods of @p cls, which ignore reservations, may take: their devices are never taken. O(pods of
/// the node).
[[nodiscard]] GANGSCHED_API std::vector<row_t> reservations_to_pass_over(const model::cluster_state& state, row_t node,
                                                                         const pod_class& cls);

/// The best of the reservations that the pod may use on the node (no_row: on any) with which filters accept it, or no_row.
/// O(reservations there · hooks).
[[nodiscard]] GANGSCHED_API row_t fitting_reservation(picker& asks, model::cluster_state& state, row_t pod, row_t node);
/// The same for a node that was picked for the pod: @p found, or no_row where it has room there beside all reservations. Not success:
/// neither is the case, because a hook failed or returned another result than before.
[[nodiscard]] GANGSCHED_API status find_reservation(picker& asks, model::cluster_state& state, row_t pod, row_t node,
                                                    row_t& found);
inline constexpr const char* no_pods_to_allocate_around = "node(s) no pod(s) to meet the pre-allocation requirements";
/// The pods on the node that a reservation would be allocated around, if it may be (`reservation_spec::pre_allocation`): as few as needed
/// so that it fits, those first that would make it fullest; empty if it does not fit. O(pods there · (log pods there + hooks)).
[[nodiscard]] GANGSCHED_API std::optional<std::vector<row_t>> pods_to_allocate_around(picker& asks,
                                                                                      model::cluster_state& state,
                                                                                      row_t reservation, row_t node);
/// The nodes where it fits so, ascending. O(reservations · hooks).
[[nodiscard]] GANGSCHED_API std::vector<row_t> nodes_by_reservation(picker& asks, model::cluster_state& state,
                                                                    row_t pod);
/// Why a pod of the class, which has to be in a reservation, fits in none on the node (no_row: on any).
[[nodiscard]] GANGSCHED_API status no_reservation(const model::cluster_state& state, const pod_class& cls, row_t node);

/// `picker::pick` for a pod that reservations concern: the node of the best reservation that it fits in; else, if it need not be in one,
/// the best of all nodes as they are; else, if it ignores them, the first node where what reservations hold makes room;
/// and if it is one that may be allocated around pods, the first with the fewest of these.
[[nodiscard]] GANGSCHED_API picked pick_with_reservations(picker& asks, model::cluster_state& state, row_t pod,
                                                          const std::vector<row_t>* within);
/// The same for `picker::filter`.
[[nodiscard]] GANGSCHED_API status filter_with_reservations(picker& asks, model::cluster_state& state, row_t pod,
                                                            row_t node, std::uint8_t* by);
/// And for `picker::passes_locally`.
[[nodiscard]] GANGSCHED_API bool passes_with_reservations(picker& asks, model::cluster_state& state, class_id cls,
                                                          row_t node);

}  // namespace gangsched::inline GANGSCHED_ABI::engine

// Its body comes with picker.hpp, which it needs whole.
