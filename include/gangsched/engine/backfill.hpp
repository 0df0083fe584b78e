#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/admission_checks.hpp"
#include "gangsched/engine/decision_list.hpp"
#include "gangsched/engine/group_search.hpp"
#include "gangsched/engine/queue.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Of a reservation that is planned for later (`reservation_spec::starts`).
inline constexpr const char* starts_later = "the time that it starts at has not come";

/// Reserves nodes for an entity that finds no room, so that later entities do not delay it: the nodes that it fits on at the *shadow time*
/// of EASY backfilling, the first time at which enough running pods are expected to have ended (`pod_table::expected_end`). A reservation
/// is a nomination from that time on; `nominated_pass` decides which pods it keeps out. An entity that has waited longer than
/// `max_overtake`, and for which no such time is known, gets the nodes that need the least freed, from now on.
///
/// Reservations are made in queue order, each beside the earlier ones; backfill_rule::easy makes only one, for the first waiting entity. A
/// holder is tried again after anything that may change its reservation: a pod ended early, runs longer than expected, or was placed by
/// another scheduler, or a node changed. If there are several, all are made again. If there is none, the first waiting entity is tried
/// again. A holder whose time has come is tried when any pod leaves, whatever its backoff; one that may not be tried any more, such as a
/// gang that lost members, holds nothing. When a reservation ends or moves, all waiting entities are tried in turn, as EASY goes through
/// its queue: the first without room gets the reservation, and entities that it kept out may start.
class GANGSCHED_API backfill {
 public:
  /// @p options, @p statistics, @p now: the scheduler's, read and written at each call.
  backfill(model::cluster_state& state, const entity_view& entities, group_parts& parts, picker& picks,
           group_search& search, const admission_checks& admission, queue& places, decision_list& decisions,
           const scheduler_options& options, engine_statistics& statistics, const instant& now) noexcept
      : state_(&state),
        entities_(&entities),
        parts_(&parts),
        picks_(&picks),
        search_(&search),
        admission_(&admission),
        places_(&places),
        decisions_(&decisions),
        options_(&options),
        statistics_(&statistics),
        now_(&now) {}

  [[nodiscard]] bool on() const noexcept {
    return options_->backfill != backfill_rule::none || options_->max_overtake != instant::max();
  }
  /// For an entity that found no room a moment ago: makes, moves or ends its reservation, and decides `nominate`
  /// for pods whose node changed. Returns the admission hook's refusal if the entity may not start that late: it
  /// has no reservation then. O(pods) to find when they end, and O(log pods) attempts of the entity.
  [[nodiscard]] refusal reserve(entity e);
  /// Nothing is kept for it any more, and the next may have a reservation.
  void end_reservation(entity e);
  /// An entity was rejected before its attempt. If nothing can help it, for example because it is too late for it, its reservation ends.
  void refused(entity e, const refusal& why) {
    if (why.said.code == code::unresolvable && on()) end_reservation(e);
  }
  /// When the entity is to start, if that is later than now: a reservation with a start time, or a group of them. O(its pods).
  [[nodiscard]] std::optional<instant> planned_start(entity e) const;
  /// Whether it is a reservation whose time is over, or a group with one. O(its pods).
  [[nodiscard]] bool is_over(entity e) const;
  /// Plans such an entity for its start @p then: nominates it where it fits once the pods that are expected to end by then are gone;
  /// nowhere if it fits on no nodes. (`reserve` is for other entities: those that wait for room.) O(pods), and one attempt of the entity.
  void plan(entity e, instant then);
  /// With backfill_rule::easy, for an entity that finds no room: moves the reservation to other nodes if the entity has room then, and the
  /// reservation's holder starts no later than before. Returns whether it moved. This is EASY's second condition, for nodes instead of a
  /// count: a pod that does not end in time may use what the holder leaves, on any node. O(pods), or as `reserve` if amounts leave enough.
  bool make_way(entity e);
  /// Reads the log since the last call. O(records).
  void read_log();
  /// Before an entity is popped: activates holders whose reservations may change, and one that may start since a reservation ended or
  /// moved. O(records of the log since the last call + pods nominated); O(waiting · log waiting) when one did.
  void offer();
  /// The earliest time at which `offer` may activate an entity: a pod is expected to end, or an entity has waited for `max_overtake`.
  /// O(waiting) with max_overtake.
  [[nodiscard]] std::optional<instant> next_time() const;

  [[nodiscard]] saved_backfill save() const;
  /// Into one that has nothing yet. Error: what is given cannot be of this cluster.
  [[nodiscard]] std::optional<error> restore(const saved_backfill& from);

  // For a call that may be abandoned: O(entities to be tried or planned again).
  void remember() {
    if (!on()) return;
    before_ = offers_;
    ends_.reserve(state_->pods.rows.room());  // `read_log` runs at the end of the call as well, where nothing may throw
  }
  void recall() noexcept {
    if (!on()) return;
    std::swap(before_, offers_);
    offers_.next_end = std::min(offers_.next_end, before_.next_end);  // (`ends_` stays as it is)
  }

 private:
  struct offers {
    bool held = false;       ///< there was a reservation at the last look
    bool moved = false;      ///< one ended or moved since
    bool stale = true;       ///< room changed unexpectedly, or may have: true at first
    bool left = false;       ///< a pod left its node since the last look
    std::uint64_t seen = 0;  ///< position in the log: what changed before is known
    instant looked = instant::min();
    instant next_end = instant::max();  ///< the first expected end after `looked`
    /// Entities whose reservations are to be made again, and the times from which these held.
    std::vector<std::pair<entity, instant>> again;
    std::vector<entity> next;  ///< entities to try, the next one last
  };
  struct found {
    instant from{};
    std::vector<assignment> places;
  };
  /// When a pod is expected to end. `no_row` stands for a pod that has yet to start, by its reservation.
  struct ending {
    instant when;
    row_t pod;
  };
  [[nodiscard]] bool one_at_a_time() const noexcept { return options_->backfill != backfill_rule::conservative; }
  [[nodiscard]] bool stands_before(entity a, entity b) const;
  [[nodiscard]] queued standing(entity e) const;
  [[nodiscard]] std::vector<row_t> pods_of(entity e) const;
  template <class Visit>
  void each_holder(const Visit& visit) const;
  template <class Which>
  [[nodiscard]] std::vector<entity> holders(const Which& which) const;
  template <class Visit>
  void each_spec(entity e, const Visit& visit) const;
  [[nodiscard]] std::optional<entity> holder() const;
  void look_again();
  void end_hopeless();
  void try_due_holders();
  void try_first_waiting();
  void try_in_turn(std::vector<entity> all);
  [[nodiscard]] bool anybody_late();
  [[nodiscard]] instant overtaken_at(entity e) const;
  [[nodiscard]] std::vector<entity> overtaken_since(instant before) const;
  [[nodiscard]] bool covers_minimum(entity e) const;
  [[nodiscard]] std::optional<instant> reserved_from(entity e) const;
  void keep(entity e, const found& what, std::optional<instant> before);
  [[nodiscard]] std::optional<found> when_others_end(entity e);
  [[nodiscard]] std::optional<found> where_least_has_to_go(entity e);
  [[nodiscard]] bool enough_beside(entity e, entity holder, instant then) const;
  [[nodiscard]] bool fits(entity e, std::span<const row_t> without, instant at, found& out);

  peer<model::cluster_state> state_;
  peer<const entity_view> entities_;
  peer<group_parts> parts_;
  peer<picker> picks_;
  peer<group_search> search_;
  peer<const admission_checks> admission_;
  peer<queue> places_;
  peer<decision_list> decisions_;
  peer<const scheduler_options> options_;
  peer<engine_statistics> statistics_;
  peer<const instant> now_;
  offers offers_;
  offers before_;  ///< when the call began
  /// By pod row: when the running pod is expected to end. (After an abandoned call, reading the log again corrects it.)
  std::vector<instant> ends_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/backfill.cpp"
#endif
